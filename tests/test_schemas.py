"""The schemas in docs/schemas: they are current, and say of run files and archives what the code does."""

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import archive_worlds
import pytest
import runs_worlds
import training_worlds
from json_schemas import faults

import examples
import schemas
import starcert as sc
from fuzz import kinds
from golden import files as golden
from starcert.archive import files
from starcert.objects.threats import AnyFlips
from starcert.runs import run_file
from starcert.runs.example import EXAMPLES, KINDS, files_of
from starcert.runs.folder import RunRecord, run_file_text
from starcert.runs.grid import Grid
from starcert.runs.run_file import RunFileError, read_run_file
from starcert.runs.settings import SETTINGS, run_settings
from starcert.runs.training_run import TRAIN_SETTINGS
from starcert.system.errors import ArchiveError

ROOT = Path(__file__).parent.parent
RUN, ARCHIVE, SETTINGS_OF_BENCHMARKS, _ = (
    json.loads((schemas.FOLDER / name).read_text(encoding="utf-8")) for name in schemas.SCHEMAS
)


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_a_schema_is_what_the_code_says(name):
    if name.startswith("benchmark"):
        pytest.importorskip("torch_geometric")
    assert (schemas.FOLDER / name).read_text(encoding="utf-8") == schemas.text_of(name), "run `make schemas`"
    assert {path.name for path in schemas.FOLDER.iterdir()} == set(schemas.SCHEMAS)


def test_every_setting_is_described():
    tables = {"": RUN, **{name: RUN["properties"][name] for name in ("sweep", "train")}}
    for name, table in tables.items():
        for key, each in table["properties"].items():
            assert len(each["description"]) > 10, (name, key)
    assert RUN["properties"]["samples"]["description"] == SETTINGS["samples"].help
    assert RUN["properties"]["samples"]["default"] == 10_000
    assert RUN["properties"]["split"]["enum"] == ["all", "train", "validation", "test"]


# Run files ----------------------------------------------------------------------------------------------------------


@cache
def run_files() -> dict[str, str]:
    """Those that `starcert init` writes, and those of the pages and of the tests."""
    found = {f"init {name}": files_of(name)["run.toml"] for name in (*EXAMPLES, *KINDS)}
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        for block in examples.blocks_of(page.read_text(encoding="utf-8")):
            if block.language == "toml" and block.file not in ("pyproject.toml", "little.toml"):  # that of a benchmark
                found[f"{page.name}, line {block.line}"] = block.code
    of_tests = (runs_worlds.RUN, runs_worlds.RUN + kinds.SWEEP, training_worlds.RUN, training_worlds.NODES_RUN)
    return found | {f"tests {i}": text for i, text in enumerate([*of_tests, golden.GRAPHS, golden.WORDS])}


@pytest.mark.parametrize("name", run_files())
def test_run_files_are_what_the_schema_says(name):
    assert faults(RUN, tomllib.loads(run_files()[name])) == []
    assert len(run_files()) > 12


def test_a_run_file_that_is_written_is_what_the_schema_says(tmp_path):
    more = {"evidence": True, "own_samples": 9, "family": "all", "threat": AnyFlips(2)}
    settings = run_settings(read_run_file(runs_worlds.project(tmp_path / "project")).values | more)
    grid = Grid.of({"hub": [0.02, 0.05], "rest": {"delete": [0.1], "add": [0.2, 0.3]}})
    for record in (
        RunRecord(settings, dict.fromkeys(run_file.EXPECTED, "00")),
        RunRecord(settings, {"model": "00"}, grid, {"samples": 5}),
    ):
        text = run_file_text(record, folder=tmp_path)
        assert "threat" in text
        assert faults(RUN, tomllib.loads(text)) == []


def test_settings_of_a_benchmark_are_what_the_schema_says():
    blocks = examples.blocks_of((ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8"))
    (block,) = [each for each in blocks if each.file == "little.toml"]
    assert faults(SETTINGS_OF_BENCHMARKS, tomllib.loads(block.code)) == []
    for line, fault in (
        ("sample = 1", "$.sample: does not belong there"),
        ('data = "MUTAG"', "$.data: 'MUTAG' is not of the type array"),
        ("folds = 11", "$.folds: 11 is beyond the maximum, 10"),
        ("rates.two-way = [[0.1, 2]]", "$.rates.two-way[0][1]: 2 is beyond the maximum, 1"),
        ('columns = {labels = "y"}', "$.columns.labels: 'labels' is none of"),
    ):
        assert faults(SETTINGS_OF_BENCHMARKS, tomllib.loads(line))[0].startswith(fault)
    assert all(len(each["description"]) > 5 for each in SETTINGS_OF_BENCHMARKS["properties"].values())


TABLES = {
    "": (*SETTINGS, "voting", "sweep", "train", "expected"),
    "voting": run_file.GROUPS["voting"],
    "sweep": ("grid", *(key for key, each in SETTINGS.items() if each.of_sweeps)),
    "train": tuple(TRAIN_SETTINGS),
    "expected": run_file.EXPECTED,
}
SHARES = [0.5, 0.25, 0.25]
LAWS = [
    *(0.1, 0, {"flip": 0.1}, {"flip": 0.1, "added": "graph"}, {"delete": 0.1, "add": 0.2}),
    *({"delete": 0.1, "add": 0.2, "added": SHARES}, {"delete": 0.1, "add": 0.2, "change": 0.3}),
    *({"delete": 0.1, "add": 0.2, "change": 0.3, "types": 3}, {"categorical": 0.1}, {"categorical": 0.1, "values": 4}),
    *([0.1, 0.2], [{"delete": 0.1, "add": 0.2}, {"delete": 0.1, "add": 0.2, "change": 0.3}], {"delete": [0.1, 0.2]}),
    *({"add": 0.1}, {"delete": 0.1, "add": [0.1]}, {"law": "json:JSONDecoder", "p": 0.1}),
]
PROBES = [
    *(True, 0, 1, -1, 1025, 10**12, 0.01, 0.7, 2.5, "text", "all", "nodes", "decided", "cpu", "model.py:f", "flips:2"),
    *(
        [],
        [1, 2],
        ["a"],
        {},
        {"a": "text"},
        {"a": [1, "b"]},
        {"label": "text"},
        {"a": 3},
        {"a": "bits"},
        [0.5, 0.25, 0.25],
    ),
    *({"a": law} for law in LAWS),
]


def table_with(table: str, key: str, value: object) -> dict[str, object]:
    return {table: {key: value}} if table else {key: value}


@pytest.fixture
def refusal(tmp_path, monkeypatch):
    """Why a run file with these values is refused; "" if it is read."""
    (tmp_path / "model.py").write_text("def f():\n    pass\n", encoding="utf-8")

    def read(values: dict[str, object]) -> str:
        monkeypatch.setattr(run_file, "_parsed", lambda _: copy.deepcopy(values))
        try:
            read_run_file(tmp_path / "run.toml")
        except RunFileError as error:
            return str(error)
        return ""

    return read


@pytest.mark.parametrize("table", TABLES)
def test_the_schema_refuses_nothing_that_a_run_file_may_hold(table, refusal):
    schema = RUN["properties"][table] if table else RUN
    for key in TABLES[table]:
        one = schema["properties"][key]
        probes = [*PROBES, *one.get("enum", []), *([one["default"]] if "default" in one else [])]
        right = [values for values in (table_with(table, key, probe) for probe in probes) if not refusal(values)]
        assert right or key == "splits", f"{key}: no probe is right"  # a file that must exist
        assert [values for values in right if faults(RUN, values)] == []


@pytest.mark.parametrize("table", ["", "voting", "sweep", "train"])
def test_the_schema_has_every_key_and_no_other(table, refusal):
    schema = RUN["properties"][table] if table else RUN
    assert set(schema["properties"]) == set(TABLES[table])
    for key in {*TABLES[""], *TABLES["sweep"], *TABLES["train"], "sample"}:
        values, strange = table_with(table, key, []), key not in TABLES[table]
        assert ("There is no setting" in refusal(values)) is strange, key
        assert any(fault.endswith(f".{key}: does not belong there") for fault in faults(RUN, values)) is strange, key


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("sample = 100", "$.sample: does not belong there"),
        ('samples = "many"', "$.samples: 'many' is not of the type integer"),
        ("samples = 0", "$.samples: 0 is beyond the minimum, 1"),
        ("samples = true", "$.samples: True is not of the type integer"),
        ('plan = "fixd"', "$.plan: 'fixd' is none of ['fixed', 'decided']"),
        ('family = "both"', "$.family: 'both' is none of ['each', 'all']"),
        ("evidence = 1", "$.evidence: is none of 2 forms (: 1 is not of the type boolean"),
        ("[evidence]\nsamples = 1", "$.evidence: is none of 2 forms"),
        ("[voting]\nworkers = 1", "$.voting.workers: does not belong there"),
        ("[noise]", "$.noise: has fewer than 1 members"),
        ("[noise]\nall = 1.5", "$.noise.all: is none of 7 forms (: 1.5 is beyond the maximum, 1)"),
        ("[noise]\nall = {delete = 0.1}", "$.noise.all: is none of 7 forms"),
        ("[noise]\nall = {flip = 0.1, added = 'often'}", "$.noise.all: is none of 7 forms"),
        ('[columns]\nlabels = "y"', "$.columns.labels: 'labels' is none of"),
        ("[sweep]\nseed = 1", "$.sweep.seed: does not belong there"),
        ("[sweep.grid]\nall = [2]", "$.sweep.grid.all: is none of 3 forms"),
        ("[train]\nepoch = 3", "$.train.epoch: does not belong there"),
        ('[expected]\nmodels = "00"', "$.expected.models: does not belong there"),
    ],
)
def test_a_wrong_run_file_is_refused_by_the_schema_and_by_the_code(line, fault, tmp_path):
    found = faults(RUN, tomllib.loads(line))
    assert len(found) == 1
    assert found[0].startswith(fault)
    (tmp_path / "run.toml").write_text(line, encoding="utf-8")
    with pytest.raises(RunFileError):
        read_run_file(tmp_path / "run.toml")


# Archives -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", schemas.ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_archives_that_the_tests_keep_are_what_the_schema_says(path):
    assert faults(ARCHIVE, json.loads(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("law", [sc.Flip(0.1, added=[3, 1]), sc.Flip(0.1, added="graph"), sc.Flip(delete=0.1, add=0.3)])
def test_archives_that_are_written_now_are_what_the_schema_says(law, tmp_path):
    bounds = sc.clopper_pearson(sc.Votes([[9_900, 100]], selection=[[98, 2]]))
    made = sc.archive.Archive.from_result(sc.certify(bounds, sc.Noise(bonds=law)))
    for archive in (made, archive_worlds.three_classes(family="all"), archive_worlds.four_regions()):
        path = archive_worlds.written(tmp_path, archive)
        assert faults(ARCHIVE, json.loads(path.read_text(encoding="utf-8"))) == []


def test_every_law_is_in_both_schemas():
    public = [getattr(sc, name) for name in sc.__all__]
    laws = {each for each in public if isinstance(each, type) and issubclass(each, sc.Law) and each is not sc.Law}
    assert {type(law) for law in schemas.LAWS} == laws
    for law in schemas.LAWS:
        assert faults(RUN, {"noise": {"all": law.to_json()}}) == []


def changed(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str, tuple[str | int, ...], object]]:
    """A value with one thing changed, at every place of it: members left out, more of them, and null."""
    if at:
        yield "null", at, None
    if isinstance(value, dict):
        yield "more", at, value | {"more": "text"}
        for name in value:
            yield "less", (*at, name), {key: each for key, each in value.items() if key != name}
    for key in value if isinstance(value, dict) else range(len(value[:1])) if isinstance(value, list) else ():
        for what, place, new in changed(value[key], (*at, key)):
            whole = copy.copy(value)
            whole[key] = new
            yield what, place, whole


@pytest.mark.parametrize("path", schemas.ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.filterwarnings("ignore:.*is proved from")
def test_the_schema_and_the_reader_want_the_same_fields(path, monkeypatch):
    n_refused = 0
    unread = [("evidence", "bytes"), ("evidence", "sha256")] if path.stem == "nothing" else []  # there is no such file
    for what, place, archive in changed(json.loads(path.read_text(encoding="utf-8"))):
        found, complaint = faults(ARCHIVE, archive), ""
        monkeypatch.setattr(files, "read_untrusted", lambda *_, value=archive: value)
        try:
            files.read(path)
        except ArchiveError as error:
            complaint = str(error)
        assert complaint or not found or place in unread, (what, place, found)
        about_names = re.search(r"' (is missing|does not belong there)\.", complaint)
        assert found or not about_names, (what, place, complaint)
        n_refused += bool(found)
    assert n_refused > 50


def test_an_archive_without_a_field_is_refused():
    archive = json.loads(schemas.ARCHIVES[0].read_text(encoding="utf-8"))
    del archive["graphs"][0]["claims"]["p_lower"]
    assert faults(ARCHIVE, archive) == ["$.graphs[0].claims.p_lower: is missing"]
    assert faults(ARCHIVE, archive | {"version": 2, "graphs": []}) == ["$.version: 2 is not 1"]


def test_a_word_that_the_check_does_not_know_is_no_success():
    with pytest.raises(ValueError, match="what does 'contains' mean"):
        faults({"contains": "a"}, "b")
