"""Whole sweeps, in this process."""

import csv
import shutil
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import runs_worlds as worlds

import starcert as sc
from starcert.methods.smoothed import SmoothedClassifier
from starcert.runs.certification import certify_run, run_sweep
from starcert.runs.declaration import check_values
from starcert.runs.grid import parse_grid, sweep_settings
from starcert.runs.inputs import read_inputs, try_model
from starcert.runs.run_file import read_run_file
from starcert.runs.settings import SETTINGS
from starcert.runs.sweep_report import tie_sentence
from starcert.system.errors import StarcertError

GRID = "hub=0.02,0.2,bridge=0.3,0.45"


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def run(tmp_path):
    return worlds.project(tmp_path / "project")


def settings_of(run, grid=GRID, **options):
    given = check_values({"samples": 150, "out": run.parent / "sweep", **options}, SETTINGS, base=run.parent)
    return sweep_settings(read_run_file(run), given, parse_grid([grid]))


def table(folder):
    with open(folder / "sweep.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    run = worlds.project(tmp_path_factory.mktemp("done") / "project")
    return run, run_sweep(settings_of(run))


def test_three_classes_and_four_regions_go_all_the_way(done):
    run, found = done
    folder = run.parent / "sweep"
    assert sorted(path.name for path in folder.iterdir()) == ["run.toml", "sweep.csv", "sweep.html", "votes"]
    assert sorted(path.name for path in (folder / "votes").iterdir()) == [f"level-{n}.db" for n in (1, 2, 3, 4)]
    assert not (run.parent / "sweep.partial").exists()
    assert found.class_names == ("clique", "ring", "star")
    rows = table(folder)
    wanted = [f"hub={hub},motif=0.03,rest=0.3/0.2,bridge={bridge}" for hub, bridge in product((0.02, 0.2), (0.3, 0.45))]
    assert [row["noise"] for row in rows] == wanted
    assert [row["p_rest.delete"] for row in rows] == ["0.3"] * 4
    assert {row["graphs"] for row in rows} == {"6"}
    assert {row["samples"] for row in rows} == {"150"}
    assert {float(row["majority_share"]) for row in rows} == {1 / 3}
    criteria = [
        (float(row["accuracy"]), *(float(value) for name, value in row.items() if name.startswith("mean_radius_")))
        for row in rows
    ]
    assert len(criteria[0]) == 6
    for row, mine in zip(rows, criteria, strict=True):
        beaten = any(all(x >= y for x, y in zip(other, mine, strict=True)) and other != mine for other in criteria)
        assert row["unbeaten"] == str(not beaten)
    # More noise on the pairs that the classifier ignores certifies more of them.
    assert float(rows[1]["mean_radius_bridge"]) > float(rows[0]["mean_radius_bridge"])


def test_it_is_what_the_library_gives_with_votes_of_its_own(done):
    _, found = done
    ready = try_model(found.settings.run, read_inputs(found.settings.run))
    noise = found.settings.levels[3]
    smoothed = sc.SmoothedClassifier(ready.base, noise, ready.rule)
    drawn = smoothed.certify(ready.data.graphs, samples=150, seed=found.settings.seed)
    assert found.levels[3].n_right == np.sum(drawn.certified((0,) * 5) & (drawn.labels == ready.data.labels))
    reach = [row["reach_bridge"] or 0 for row in drawn.rows()]
    assert found.levels[3].mean_radii[4] == np.mean(np.where(drawn.labels == ready.data.labels, reach, 0))
    # A certification with the same seed must not see the votes that its noise was chosen on.
    certified = smoothed.certify(ready.data.graphs, samples=150, seed=found.settings.run.seed)
    assert certified.votes.counts.tolist() != drawn.votes.counts.tolist()


def test_workers_make_no_difference(run, done):
    run_sweep(settings_of(run, workers=2))
    assert (run.parent / "sweep/sweep.csv").read_bytes() == (done[0].parent / "sweep/sweep.csv").read_bytes()


ASKED = worlds.MODEL.replace(
    "def four(graph):",
    "import pathlib\nasked = pathlib.Path(__file__).with_name('asked')\n\ndef four(graph):\n"
    "    with asked.open('a') as file: file.write('x')",
)


@pytest.mark.parametrize("model", [ASKED, ASKED.replace("def classifier():", "def classifier(noise):")])
def test_a_rule_is_asked_once_for_every_graph_whatever_the_levels_and_models(tmp_path, model):
    run = worlds.project(tmp_path / "project", model=model)
    found = run_sweep(settings_of(run))
    assert len(found.levels) == 4
    assert (run.parent / "asked").read_text() == "x" * 6


STOPS = worlds.MODEL.replace(
    "def shapes(batch):",
    "import pathlib\ncalls = pathlib.Path(__file__).with_name('calls')\n\ndef shapes(batch):\n"
    "    with calls.open('a') as file: file.write('x')\n"
    "    if len(calls.read_text()) == LIMIT: raise KeyboardInterrupt",
)


def test_an_interrupted_sweep_goes_on_and_ends_as_if_nothing_had_been(run, done):
    calls = run.parent / "calls"
    (run.parent / "model.py").write_text(STOPS.replace("LIMIT", "-1"))
    run_sweep(settings_of(run))
    whole = len(calls.read_text())  # the clean graphs, and for each level and graph its chunks, and copies asked alone
    shutil.rmtree(run.parent / "sweep")
    calls.unlink()
    (run.parent / "model.py").write_text(STOPS.replace("LIMIT", str(whole - 10)))
    with pytest.raises(KeyboardInterrupt):
        run_sweep(settings_of(run))
    assert not (run.parent / "sweep").exists()
    assert (run.parent / "sweep.partial/votes/level-4.db").exists()
    run_sweep(settings_of(run))
    again = len(calls.read_text()) - (whole - 10)
    assert again < whole  # the clean graphs, a check of each graph and level, and what was left of the last level
    assert (run.parent / "sweep/sweep.csv").read_bytes() == (done[0].parent / "sweep/sweep.csv").read_bytes()
    # Finished, it is not drawn again; what is spoiled is written anew.
    (run.parent / "sweep/sweep.csv").write_text("spoiled")
    before = len(calls.read_text())
    run_sweep(settings_of(run))
    assert len(calls.read_text()) - before < again
    assert (run.parent / "sweep/sweep.csv").read_bytes() == (done[0].parent / "sweep/sweep.csv").read_bytes()


def test_the_written_run_file_repeats_the_sweep(done, tmp_path):
    run, _ = done
    shutil.copytree(run.parent, tmp_path / "moved")
    written = read_run_file(tmp_path / "moved/sweep/run.toml")
    again = sweep_settings(written, {"out": tmp_path / "again"}, None)
    run_sweep(again, expected=written.expected)
    assert (tmp_path / "again/sweep.csv").read_bytes() == (run.parent / "sweep/sweep.csv").read_bytes()
    (tmp_path / "moved/model.py").write_text(worlds.MODEL + "\n# changed")
    again = sweep_settings(read_run_file(tmp_path / "moved/sweep/run.toml"), {"out": tmp_path / "third"}, None)
    with pytest.raises(StarcertError, match=r"Changed since this run was recorded: model\."):
        run_sweep(again, expected=written.expected)
    assert not list(tmp_path.glob("third*"))


def test_the_written_run_file_certifies_what_the_sweep_advises(done, run):
    _, found = done
    assert found.suggested not in (0, None)
    written = read_run_file(found.folder / "run.toml")
    assert written.values["noise"] == found.levels[found.suggested].noise
    assert written.values["samples"] == read_run_file(run).values["samples"] == 400
    assert written.sweep["samples"] == 150
    assert "split" not in written.values
    # Run again, the finished folder is the same sweep, and stays as it is.
    before = (found.folder / "run.toml").read_text()
    run_sweep(found.settings)
    assert (found.folder / "run.toml").read_text() == before


def test_without_a_suggestion_the_written_run_file_has_the_user_s_noise(run):
    worlds.graphs(run.parent / "many", n=30)
    found = run_sweep(settings_of(run, data=run.parent / "many", samples=2, split="validation"))
    assert found.suggested is None
    written = read_run_file(found.folder / "run.toml")
    assert written.values["noise"] == read_run_file(run).values["noise"] != found.levels[0].noise
    assert (written.values["split"], written.sweep["split"]) == ("test", "validation")
    assert sweep_settings(written, {}, None).levels == found.settings.levels
    run_sweep(found.settings)


def test_another_sweep_or_run_does_not_go_on_in_the_folder(run):
    run_sweep(settings_of(run))
    with pytest.raises(
        StarcertError, match=r"sweep: holds another run \(grid: there hub=0.02,0.2,bridge=0.3,0.45, now"
    ):
        run_sweep(settings_of(run, "hub=0.02,0.1,bridge=0.3,0.45"))
    with pytest.raises(StarcertError, match=r"holds another run \(samples: there 150, now 160"):
        run_sweep(settings_of(run, samples=160))
    with pytest.raises(StarcertError, match=r"holds another run \(there a sweep\)"):
        certify_run(settings_of(run).run)
    shutil.copy(run.parent / "graphs/g2.graphml", run.parent / "graphs/g1.graphml")
    with pytest.raises(
        StarcertError, match=r"level-1.db: holds votes of another sweep .* Give another --out, or remove"
    ):
        run_sweep(settings_of(run))


ASKS = (
    worlds.MODEL
    + """
made = []

def trained(noise, regions, train=None):
    made.append((noise, regions, train))
    cut = 16 if noise["hub"].add < 0.1 else 99
    def shape_with(batch):
        degrees = batch.adjacency()[:, :5, :5].sum(axis=2)
        return [0 if each.sum() >= cut else 2 if each.max() >= 4 else 1 for each in degrees]
    return sc.classifiers.from_callable(shape_with, n_classes=3, on="batch", description=f"cut at {cut}")
"""
)


def test_a_model_that_asks_for_the_noise_is_made_for_each_level(run):
    (run.parent / "model.py").write_text(ASKS)
    run.write_text(run.read_text().replace("model.py:classifier", "model.py:trained"))
    worlds.graphs(run.parent / "many", n=30)
    settings = settings_of(run, data=run.parent / "many", workers=2)
    notes = []
    found = run_sweep(settings, note=notes.append)
    module = sys.modules[settings.run.model.load().__module__]
    assert [noise for noise, *_ in module.made] == list(settings.levels)
    regions, train = module.made[0][1:]
    assert regions(train.graphs[0]).regions == ("hub", "motif", "rest", "bridge")
    assert len(train) == 24
    assert settings.run.split == "validation"
    assert not found.one_model
    assert [level.n_base_right for level in found.levels] == [3, 3, 2, 2]  # the cliques are lost at the higher levels
    assert len(notes) == 1  # said once, not for each level
    assert "the classifier cannot be pickled" in notes[0]
    certify_run(settings_of(run, data=run.parent / "many", out=run.parent / "certified").run)
    assert module.made[-1][0] == settings.levels[0]


def test_a_model_cannot_be_made_from_regions_that_are_read_off_it(run):
    (run.parent / "model.py").write_text(ASKS)
    settings = settings_of(run, model=settings_of(run).run.model.__class__(run.parent / "model.py", "trained"))

    from starcert.runs.models import call_model  # noqa: PLC0415

    material = read_inputs(settings.run.changed(split="all"))
    offer = replace(material, train=material.everything, rule=None).offered("cpu", settings.levels[0])
    with pytest.raises(StarcertError, match=r"'regions' cannot come from the model of model.py:trained"):
        call_model(settings.run.model, offer)


def test_graphs_without_a_class_are_left_out_and_some_are_needed(run):
    labels = run.parent / "graphs/labels.csv"
    labels.write_text(labels.read_text().replace("g2,ring", "g2,"))
    found = run_sweep(settings_of(run, "hub=0.02"))
    assert (found.levels[0].n_graphs, found.n_unlabelled) == (5, 1)
    labels.unlink()
    with pytest.raises(StarcertError, match=r"no class of these graphs is known. Give data with classes"):
        run_sweep(settings_of(run, out=run.parent / "other"))
    assert not list(run.parent.glob("other*"))


def test_a_sweep_certifies_as_the_certification_will(run, monkeypatch):
    """Alpha for all graphs of a level together, as the run file says."""
    run.write_text(run.read_text().replace("seed = 3", 'seed = 3\nfamily = "all"'))
    seen = []
    before = SmoothedClassifier.certify

    def certify(*given, **named):
        seen.append(before(*given, **named))
        return seen[-1]

    monkeypatch.setattr(SmoothedClassifier, "certify", certify)
    run_sweep(settings_of(run, "hub=0.02"))
    assert [each.bounds.family_size for each in seen] == [6]


def test_the_best_level_is_that_under_the_threat_and_the_run_file_says_so(run):
    found = run_sweep(settings_of(run, samples=1000, threat="box:hub=0,motif=0,rest.delete=0,rest.add=0,bridge=1"))
    shares = [np.mean(level.marks) for level in found.levels]
    assert [each.value for each in found.standings] == pytest.approx(shares)
    assert found.standings[found.suggested].value == max(shares)
    assert f"# {tie_sentence(found)}\n" in (found.folder / "run.toml").read_text()
    again = read_run_file(found.folder / "run.toml")
    assert again.values["noise"] == found.levels[found.suggested].noise
    assert sweep_settings(again, {}, None).run.threat == found.settings.run.threat
