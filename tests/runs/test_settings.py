from pathlib import Path

import pytest
import runs_worlds as worlds
from msgspec import NODEFAULT

import starcert as sc
from starcert.cli import loaded
from starcert.objects.threats import AnyFlips, Box, read_threat
from starcert.runs.declaration import check_options, check_values, set_values
from starcert.runs.folder import RunRecord, differences, run_file_text
from starcert.runs.run_file import RunFileError, read_run_file
from starcert.runs.settings import SETTINGS, SWEEP_SETTINGS, run_settings
from starcert.runs.training_run import TRAIN_SETTINGS
from starcert.system.errors import InvalidParameterError


@pytest.fixture
def run(tmp_path):
    return worlds.project(tmp_path / "project")


def changed(run: Path, line: str, by: str) -> Path:
    text = run.read_text()
    assert line in text
    run.write_text(text.replace(line, by))
    return run


def test_a_run_file_is_read_with_paths_relative_to_itself(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    settings = run_settings(read_run_file(Path("project/run.toml")).values)
    assert settings.model.file == run.parent / "model.py"
    assert settings.data == run.parent / "graphs"
    assert settings.regions.name == "four"
    assert settings.out == run.parent / "results"
    assert settings.noise == sc.Noise(hub=0.02, motif=0.03, rest=sc.Flip(delete=0.3, add=0.2), bridge=0.45)
    assert (settings.samples, settings.selection_samples, settings.alpha, settings.workers) == (400, 100, 0.01, 1)
    assert settings.family == "each"


def test_what_is_written_back_reads_as_the_same_settings(run, tmp_path):
    noise = {"a": 0.1 + 0.2, "b-c": {"delete": 1e-100, "add": 1 / 3}, "ü": 0.5}
    values = read_run_file(run).values | {
        "threat": read_threat("box:3,1,4,1 & flips:5", "threat"),
        "alpha": 1e-9,
        "noise": sc.Noise.from_dict(noise),
    }
    values |= {"seed": 2**63, "limit": 5, "device": "cuda:1", "store": tmp_path / "votes.db"}
    (tmp_path / "s.json").touch()
    values |= {"splits": tmp_path / "s.json", "columns": {"part": "the split", "label": 'a "y"'}}
    settings = run_settings(values)
    folder = tmp_path / "else" / "where"
    folder.mkdir(parents=True)
    digests = {"model": "m", "data": "d", "classifier": 'a "b" \n c', "regions": "r"}
    (folder / "run.toml").write_text(run_file_text(RunRecord(settings, digests), folder=folder))
    back = read_run_file(folder / "run.toml")
    assert back.expected == digests
    assert run_settings(back.values | {"out": settings.out, "store": settings.store}) == settings
    assert differences(back, RunRecord(settings, digests)) == []
    assert str(tmp_path) not in (folder / "run.toml").read_text()


def test_differences_name_what_differs_and_let_the_rest_pass(run, tmp_path):
    values = read_run_file(run).values
    settings, folder = run_settings(values), run.parent / "results"
    folder.mkdir()
    (folder / "run.toml").write_text(run_file_text(RunRecord(settings, {"data": "1"}), folder=folder))
    there = read_run_file(folder / "run.toml")
    other = run_settings(values | {"workers": 3, "store": tmp_path / "v.db", "out": tmp_path / "o"})
    assert differences(there, RunRecord(other, {"data": "1"})) == []
    more = run_settings(
        values
        | {
            "samples": 401,
            "alpha": 0.02,
            "family": "all",
            "noise": sc.Noise.from_dict(settings.noise.to_dict() | {"hub": 0.020000000000000004}),
        }
    )
    found = " ".join(differences(there, RunRecord(more, {"data": "2"})))
    for words in (
        "samples: there 400, now 401",
        "alpha: there 0.01",
        "family: there each",
        "hub=0.020000000000000004",
        "content of data",
    ):
        assert words in found
    assert "seed" not in found


BAD = [
    ("samples = 400", "sampels = 400", "There is no setting 'sampels'. Did you mean samples?"),
    ("samples = 400", 'samples = "many"', "'samples' must be a whole number from 1"),
    ("samples = 400", "samples = true", "'samples' must be a whole number"),
    ("seed = 3", "seed = -1", "'seed' must be a whole number from 0"),
    ("seed = 3", "alpha = 0.99", "Was a confidence level meant?"),
    ("seed = 3", 'alpha = "low"', "'alpha' must be a failure probability"),
    ("seed = 3", 'family = "every"', "'family' must be one of each, all"),
    ("seed = 3", 'device = "tpu"', "'device' must name a device of torch"),
    ("seed = 3", 'evidence = "yes"', "'evidence' must be true or false"),
    ("model.py:classifier", "model.py", "'model' must name a Python file and a function in it"),
    ("model.py:classifier", "modell.py:classifier", "Did you mean model.py?"),
    ("model.py:classifier", "nowhere/model.py:classifier", "There is no folder"),
    ("model.py:four", "models.py:four", "'regions' must name a Python file that exists"),
    ('"graphs"', '"./grahps"', "graphs?"),
    ("[noise]", "[sweep]\nsmaples = 3\n[noise]", "There is no setting 'sweep.smaples'. "),
    ('"graphs"', '"grahps/x"', "'data' must name a file or a folder that exists"),
    ("hub = 0.02", "hub = 1.5", "'noise.hub' must be a probability from 0 to 1"),
    ("hub = 0.02", 'hub = "much"', "'noise.hub' must be a probability, or the named numbers of a law"),
    ("hub = 0.02", '"h.b" = 0.1', "'noise' must have region names without"),
    ("seed = 3", "seed = ", "is not TOML: "),
    ("[noise]", "[expected]\nfoo = 1\n[noise]", "'expected' must be the table that a run wrote"),
]


@pytest.mark.parametrize(("line", "by", "words"), BAD)
def test_bad_run_files_name_the_file_and_the_key(run, line, by, words):
    with pytest.raises(RunFileError) as caught:
        read_run_file(changed(run, line, by))
    assert str(caught.value).startswith(f"{run}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(RunFileError, match=r"run\.toml: there is no such file\. `starcert init`"):
        read_run_file(tmp_path / "run.toml")
    with pytest.raises(RunFileError, match=r"is a folder\. Give the run file in it"):
        read_run_file(tmp_path)


@pytest.mark.parametrize("key", ["model", "data", "noise"])
def test_what_must_be_given_is_asked_for(run, key):
    values = {name: value for name, value in read_run_file(run).values.items() if name != key}
    with pytest.raises(InvalidParameterError, match=f"Missing setting: {key}.*--{key}"):
        run_settings(values)


def test_a_box_must_fit_the_noise_and_regions_must_be_said(run):
    values = read_run_file(run).values
    with pytest.raises(InvalidParameterError, match=r"motif, rest\.delete"):
        run_settings(values | {"threat": Box({"hub": 1})})
    with pytest.raises(InvalidParameterError, match=r"Missing setting: regions.*4 regions.*hub, motif"):
        run_settings(values | {"regions": None})


def test_options_are_called_by_their_names():
    with pytest.raises(InvalidParameterError, match="'--split-seed' must be a whole number"):
        check_options({"split_seed": "-1"}, SETTINGS)


def test_a_folder_goes_before_a_tu_name(tmp_path):
    assert check_values({"data": "MUTAG"}, SETTINGS, base=tmp_path) == {"data": "MUTAG"}
    (tmp_path / "MUTAG").mkdir()
    assert check_values({"data": "MUTAG"}, SETTINGS, base=tmp_path) == {"data": tmp_path / "MUTAG"}


@pytest.mark.parametrize(
    ("command", "own", "known"),
    [
        ("certify", {"--json", "--dry-run", "--quick"}, SETTINGS),
        ("sweep", {"--grid", "--json"}, SWEEP_SETTINGS),
        (
            "train",
            {"--again", "--json"},
            TRAIN_SETTINGS | {k: each for k, each in SETTINGS.items() if each.in_training},
        ),
    ],
)
def test_every_setting_is_an_option_and_the_main_ones_are_in_the_help(command, own, known):
    options = {each.opts[0]: each for each in loaded().commands[command].params}
    given = {each.option for each in known.values()}
    assert set(options) - {"run", "--debug", "--quiet", "--set"} == given | own
    shown = [each for name, each in options.items() if name in given and not each.hidden]
    assert 10 < len(shown) <= 16
    assert [each.opts[0] for each in shown][:3] == ["--model", "--data", "--noise"]


def test_any_setting_can_be_set():
    texts = ["family=all", "fractions=[0.5,0.25,0.25]", "columns.label='y'", "columns.name='id'", "noise=a=0.1,b=0.2",
             "samples = 300", "evidence=true"]  # fmt: skip
    found = set_values(texts, SETTINGS)
    assert found["columns"] == {"label": "y", "name": "id"}
    assert (found["family"], found["samples"], found["evidence"]) == ("all", 300, True)
    assert found["fractions"] == {"train": 0.5, "validation": 0.25, "test": 0.25}
    assert found["noise"] == sc.Noise(a=0.1, b=0.2)
    for text, words in (
        ("sample=3", "There is no setting 'sample'. Did you mean samples?"),
        ("samples", "'--set' must be KEY=VALUE"),
        ("samples=0", "'--set samples' must be a whole number from 1"),
        ("family=both", "'--family' must be one of each, all. Got 'both'"),
        ("columns.labels='y'", "Did you mean label?"),
    ):
        with pytest.raises(InvalidParameterError) as caught:
            set_values([text], SETTINGS)
        assert words in str(caught.value)


def test_defaults_are_shown_as_they_are():
    assert SETTINGS["samples"].shown == "10,000"
    assert (SETTINGS["alpha"].shown, SETTINGS["family"].shown, SETTINGS["seed"].shown) == ("0.01", "each", "0")
    for key, setting in SETTINGS.items():
        assert bool(setting.example) == (setting.default is NODEFAULT), key  # asked for if there is no default


def test_a_threat_is_read_written_and_compared(run, tmp_path):
    file = read_run_file(run)
    assert run_settings(file.values).threat is None
    assert "threat" not in run_file_text(RunRecord(run_settings(file.values), {}), folder=tmp_path)
    asked = run_settings(file.values, check_options({"threat": "flips:2"}, SETTINGS))
    assert asked.threat == AnyFlips(2)
    again = tmp_path / "again.toml"
    again.write_text(run_file_text(RunRecord(asked, {}), folder=tmp_path))
    assert 'threat = "flips:2"' in again.read_text()
    assert read_run_file(again).values["threat"] == AnyFlips(2)
    assert differences(read_run_file(again), RunRecord(run_settings(file.values), {})) == [
        "threat: there flips:2, now None"
    ]
    with pytest.raises(InvalidParameterError, match=r"'--threat' must be a threat with its number, .*\. Got 'two'"):
        check_options({"threat": "two"}, SETTINGS)


def test_evidence_is_asked_for_and_goes_without_saying_where_it_is_not(run, tmp_path):
    values = read_run_file(run).values
    plain = run_settings(values)
    assert (plain.evidence, plain.own_samples, plain.plan) == (False, None, "fixed")
    text = run_file_text(RunRecord(plain, {}), folder=tmp_path)
    for word in ("evidence", "own_samples", "plan"):
        assert word not in text
    asked = {"evidence": True, "own_samples": 0, "plan": "decided"}
    settings = run_settings(values, check_options(asked, SETTINGS))
    text = run_file_text(RunRecord(settings, {}), folder=run.parent)
    for line in ("evidence = true", "own_samples = 0", 'plan = "decided"'):
        assert line in text.splitlines()
    run.write_text(text)
    back = read_run_file(run)
    assert run_settings({**back.values, "out": settings.out}) == settings
    found = " ".join(differences(back, RunRecord(plain, {})))
    for words in ("evidence: there True, now False", "own_samples: there 0, now None", "plan: there decided"):
        assert words in found
    # Without evidence a run file's own samples mean nothing; those of the command line are a mistake.
    assert run_settings(back.values, check_options({"evidence": False}, SETTINGS)).own_samples is None
    for given in ({"own_samples": 5}, {"own_samples": 0, "evidence": False}):
        with pytest.raises(InvalidParameterError, match=r"'own_samples' needs evidence = true"):
            run_settings(values, check_options(given, SETTINGS))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("label", "'--columns' must be WHAT=COLUMN, separated by commas, such as label=activity"),
        ("label=a,label=b", "'--columns' must name 'label' once"),
        (
            "labels=a",
            "must have no keys but smiles, label, name, part, skip. Got 'labels' instead. Did you mean label?",
        ),
        ("activity=label", 'such as label = "activity".'),
    ],
)
def test_columns_that_mean_nothing(text, words):
    with pytest.raises(InvalidParameterError) as caught:
        check_options({"columns": text}, SETTINGS)
    assert words in str(caught.value)


def test_columns_of_an_option_join_those_of_a_run_file(run):
    run.write_text(run.read_text() + '\n[columns]\nlabel = "y"\nname = "id"\n')
    values = read_run_file(run).values
    joined = run_settings(values, check_options({"columns": "label=z,part=fold"}, SETTINGS))
    assert joined.columns == {"label": "z", "name": "id", "part": "fold"}
    assert run_settings(values).columns == {"label": "y", "name": "id"}
    alone = {key: value for key, value in values.items() if key != "columns"}
    assert run_settings(alone, check_options({"columns": "label=z"}, SETTINGS)).columns == {"label": "z"}


def test_columns_of_an_option_and_of_a_run_file(run):
    assert check_options({"columns": "part=split, label=y"}, SETTINGS)["columns"] == {"label": "y", "part": "split"}
    run.write_text(run.read_text() + '\n[columns]\nlabel = "y"\n')
    assert read_run_file(run).values["columns"] == {"label": "y"}
    run.write_text(run.read_text().replace('label = "y"', "label = 3"))
    with pytest.raises(RunFileError, match=r"'columns.label' must be text"):
        read_run_file(run)


def in_tables(run, lines, tables):
    """The run file with more lines above its tables, and more tables at its end."""
    run.write_text(lines + run.read_text() + tables)
    return read_run_file(run).values


def test_settings_in_tables_are_the_settings_above_them(run):
    text, plain = run.read_text(), read_run_file(run).values
    flat = in_tables(
        run, 'selection_samples = 50\nplan = "decided"\nstore = "v.db"\nevidence = true\nown_samples = 9\n', ""
    )
    for tables in (
        '\n[voting]\nselection_samples = 50\nplan = "decided"\nstore = "v.db"\n[evidence]\nown_samples = 9\n',
        '\n[evidence]\nown_samples = 9\n[voting]\nplan = "decided"\nstore = "v.db"\nselection_samples = 50\n',
    ):
        run.write_text(text)
        assert run_settings(in_tables(run, "", tables)) == run_settings(flat)
    run.write_text(text)
    short = in_tables(run, 'evidence = { own_samples = 9 }\nvoting = { selection_samples = 50, store = "v.db" }\n', "")
    assert run_settings(short | {"plan": "decided"}) == run_settings(flat)
    run.write_text(text)
    assert run_settings(in_tables(run, "", "\n[evidence]\n")) == run_settings(plain | {"evidence": True})


@pytest.mark.parametrize(
    ("lines", "tables", "words"),
    [
        ("plan = 'fixed'\n", "\n[voting]\nplan = 'decided'\n", r"'voting\.plan' is set twice: plan stands above"),
        ("own_samples = 1\n", "\n[evidence]\nown_samples = 1\n", r"'evidence\.own_samples' is set twice"),
        (
            "",
            "\n[voting]\nstores = 'v.db'\n",
            r"There is no setting 'voting\.stores'\. There are selection",
        ),
        ("", "\n[voting]\nworkers = 2\n", r"There is no setting 'voting\.workers'\."),
        ("voting = 3\n", "", r"'voting' must be a table\. Got 3 instead\. Write a table: \[voting\], and below it"),
        ("evidence = 3\n", "", r"'evidence' must be true or false\. Got 3"),
        ("", "\n[voting]\nselection_samples = 0\n", "'selection_samples' must be a whole number from 1"),
    ],
)
def test_a_table_with_something_else_is_one_clear_message(run, lines, tables, words):
    with pytest.raises(RunFileError, match=words):
        in_tables(run, lines, tables)
