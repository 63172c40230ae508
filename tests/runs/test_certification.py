"""Whole runs, in this process."""

import csv
import shutil
import sys
from pathlib import Path

import pytest
import runs_worlds as worlds

import starcert as sc
from starcert.archive.record import MAX_VOTES
from starcert.runs.certification import certify_run
from starcert.runs.declaration import check_values
from starcert.runs.run_file import read_run_file
from starcert.runs.settings import SETTINGS, run_settings
from starcert.system.errors import StarcertError

BYTES = ("results.csv", "certificates.json")
COLUMNS = [
    "graph",
    "name",
    "true_class",
    "true_name",
    "base_class",
    "class",
    "class_name",
    "right",
    "abstained",
    "p_lower",
]


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def run(tmp_path) -> Path:
    return worlds.project(tmp_path / "project")


def settings_of(run: Path, **changes):
    return run_settings({**read_run_file(run).values, **check_values(changes, SETTINGS, base=run.parent)})


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in BYTES}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    run = worlds.project(tmp_path_factory.mktemp("done") / "project")
    return run, certify_run(run_settings(read_run_file(run).values))


def refuse_votes(monkeypatch) -> None:
    """From here on, whoever draws a vote fails."""

    def drawn(*_args, **_options):
        raise AssertionError("a vote was drawn")

    monkeypatch.setattr("starcert.methods.smoothed.count_votes", drawn)


def test_names_that_no_file_can_hold_are_refused_before_the_first_vote(run, monkeypatch):
    graphs = run.parent / "graphs"
    (graphs / "labels.csv").unlink()
    (graphs / "g1.graphml").rename(graphs / "g\udcff.graphml")
    refuse_votes(monkeypatch)
    with pytest.raises(StarcertError, match=r"'data' must have names that UTF-8 can write\. Got 'g\\udcff' instead"):
        certify_run(settings_of(run))


def test_more_votes_than_an_archive_holds_are_refused_before_the_first_vote(run, monkeypatch):
    refuse_votes(monkeypatch)
    for name in ("samples", "selection_samples"):
        with pytest.raises(StarcertError, match=f"'{name}' must be a whole number from 1 to {MAX_VOTES:,}"):
            certify_run(settings_of(run, **{name: MAX_VOTES + 1}))


PERMUTED = """
import numpy as np

class Nodes(sc.classifiers.Classifier):
    n_classes, description = 2, "nodes"

    def n_targets(self, frame):
        return frame.n_nodes

    def target_nodes(self, frame):
        return np.arange(frame.n_nodes)[::-1]

    def classify(self, graphs):
        return (graphs.degrees()[:, ::-1] > 1).astype(int)

def nodes():
    return Nodes()

def graph():
    path = sc.Graph(4, [(0, 1), (1, 2), (2, 3)])
    return sc.datasets.Dataset(path, [0, 1, 1, 0], label_names=("end", "middle"), name="path")
"""


def test_labels_that_cannot_be_told_apart_are_refused_before_the_first_vote(tmp_path, monkeypatch):
    run = worlds.project(tmp_path / "project", model=worlds.MODEL + PERMUTED)
    changes = {"model": "model.py:nodes", "data": "model.py:graph", "regions": None, "noise": sc.Noise(all=0.1)}
    settings = settings_of(run, **check_values(changes, SETTINGS, base=run.parent), targets="nodes")
    refuse_votes(monkeypatch)
    with pytest.raises(StarcertError, match="'labels' must distinguish rows from nodes"):
        certify_run(settings)


def test_three_classes_and_four_regions_go_all_the_way(done):
    run, _ = done
    folder = run.parent / "results"
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificates.chunks.npz",
        "certificates.json",
        "report.html",
        "results.csv",
        "run.toml",
        "votes.db",
    ]
    assert not (run.parent / "results.partial").exists()
    archive = sc.archive.read(folder / "certificates.json")
    assert archive.class_names == ("clique", "ring", "star")
    assert archive.noise.axes == ("hub", "motif", "rest.delete", "rest.add", "bridge")
    assert archive.names == tuple(f"g{number}" for number in range(1, 7))
    assert archive.boxes[0] == (4, 6, 2, 1, 15)
    assert archive.votes.counts.sum(axis=1).tolist() == [400] * 6
    assert sc.archive.verify(folder / "certificates.json").verdict == "proved"
    with open(folder / "results.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == list(archive.names)
    assert [row["base_class"] for row in rows] == ["0", "1", "2"] * 2
    assert [row["class_name"] for row in rows] == ["clique", "ring", "star"] * 2
    assert [row["true_name"] for row in rows] == ["clique", "ring", "star"] * 2
    axes = [f"reach_{axis}" for axis in archive.noise.axes]
    assert list(rows[0]) == [*COLUMNS, "votes_0", "votes_1", "votes_2", "margin", *axes, "frontier", "anchored"]
    assert "g1" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_columns_of_the_results_keep_their_names_and_order_with_evidence():
    archive = sc.archive.read(Path(__file__).parents[1] / "archive" / "kept" / "values.json")
    reach = [f"reach_all.{move}" for move in ("delete", "add", "change")]
    more = ["frontier_by_p_A", "broken", "any_flips", "any_1", "any_2"]
    (first, *_) = archive.rows([0, 0, 0])
    assert list(first) == [*COLUMNS, "votes_0", "votes_1", "margin", *reach, "frontier", *more, "attack", "anchored"]


def test_it_is_what_the_library_gives(done):
    run, outcome = done
    data = outcome.archive
    module = {}
    exec(compile(worlds.MODEL, "model.py", "exec"), module)
    from starcert.datasets.graph_files import read_folder  # noqa: PLC0415

    graphs = read_folder(run.parent / "graphs").graphs
    smoothed = sc.SmoothedClassifier(module["classifier"](), data.noise, module["four"])
    expected = smoothed.certify(graphs, samples=400, alpha=0.01, seed=3)
    assert expected.votes.counts.tolist() == data.votes.counts.tolist()
    assert [one.frontier.radii for one in expected] == [one.frontier.radii for one in data.certificates]


def test_the_written_run_file_repeats_the_run_to_the_byte(done, tmp_path):
    run, outcome = done
    project = tmp_path / "elsewhere"
    shutil.copytree(run.parent, project)  # a whole project can move
    again = read_run_file(project / "results" / "run.toml")
    certify_run(run_settings({**again.values, "out": tmp_path / "again"}), expected=again.expected)
    assert contents(tmp_path / "again") == contents(outcome.folder)


def test_comments_in_the_run_file_of_a_finished_run_stay(done, tmp_path, monkeypatch):
    monkeypatch.setattr("starcert.runs.user_code.available_cores", lambda: 1)  # no worker needs to start
    run, outcome = done
    project = tmp_path / "elsewhere"
    shutil.copytree(run.parent, project)
    written = project / "results" / "run.toml"
    mine = "# the one for the paper\n" + written.read_text().replace("seed = 3", "seed = 3  # not tuned")
    written.write_text(mine)
    again = read_run_file(written)
    certify_run(run_settings({**again.values, "out": project / "results", "workers": 2}), expected=again.expected)
    assert written.read_text() == mine
    before = {name: content for name, content in contents(outcome.folder).items() if name != "run.toml"}
    assert {name: content for name, content in contents(project / "results").items() if name != "run.toml"} == before


def test_what_a_run_file_expects_must_be_there(done, tmp_path):
    run, _ = done
    project = tmp_path / "elsewhere"
    shutil.copytree(run.parent, project)
    model = project / "model.py"
    model.write_text(model.read_text().replace(">= 16", ">= 14"))
    again = read_run_file(project / "results" / "run.toml")
    with pytest.raises(StarcertError, match=r"Changed since this run was recorded: model\. Restore it, or delete"):
        certify_run(run_settings({**again.values, "out": tmp_path / "again"}), expected=again.expected)
    assert not (tmp_path / "again").exists()
    assert not (tmp_path / "again.partial").exists()


def test_workers_make_no_difference_and_classifiers_of_the_file_travel(run, done):
    certify_run(settings_of(run, workers=2, samples=1200))
    two = contents(run.parent / "results")
    shutil.rmtree(run.parent / "results")
    certify_run(settings_of(run, samples=1200))
    assert contents(run.parent / "results") == two


def test_a_classifier_that_cannot_travel_stays_with_a_note(run, done):
    run.write_text(run.read_text().replace("model.py:classifier", "model.py:local"))
    notes = []
    outcome = certify_run(settings_of(run, workers=2), note=notes.append)
    assert len(notes) == 1
    assert "counted in one process: the classifier cannot be pickled" in notes[0]
    assert outcome.archive.votes.counts.tolist() == done[1].archive.votes.counts.tolist()


STOPS = worlds.MODEL.replace(
    "def shapes(batch):",
    "import pathlib\ncalls = pathlib.Path(__file__).with_name('calls')\n\ndef shapes(batch):\n"
    "    with calls.open('a') as file: file.write('x')\n"
    "    if len(calls.read_text()) == LIMIT: raise KeyboardInterrupt",
)


def test_an_interrupted_run_goes_on_and_ends_as_if_nothing_had_been(run, done):
    limit = 30  # near the end of the votes: every graph that is continued is asked again
    (run.parent / "model.py").write_text(STOPS.replace("LIMIT", str(limit)))
    calls = run.parent / "calls"
    with pytest.raises(KeyboardInterrupt):
        certify_run(settings_of(run))
    assert not (run.parent / "results").exists()
    assert (run.parent / "results.partial" / "votes.db").exists()
    interrupted = len(calls.read_text())
    certify_run(settings_of(run))
    in_all = len(calls.read_text()) - interrupted
    shutil.rmtree(run.parent / "results")
    calls.write_text("x" * (limit + 6))
    outcome = certify_run(settings_of(run))
    assert in_all < len(calls.read_text()) - (limit + 6)  # the second half was shorter than a whole run
    assert outcome.archive.votes.counts.tolist() == done[1].archive.votes.counts.tolist()


def test_a_finished_run_is_not_drawn_again(run):
    (run.parent / "model.py").write_text(STOPS.replace("LIMIT", "-1"))
    certify_run(settings_of(run))
    before, drawn = contents(run.parent / "results"), len((run.parent / "calls").read_text())
    (run.parent / "results" / "report.html").write_text("spoiled")
    certify_run(settings_of(run))
    # The clean graphs are tried again, and one chunk of votes: a model that has changed must not go on.
    assert len((run.parent / "calls").read_text()) - drawn < drawn
    assert contents(run.parent / "results") == before
    assert "spoiled" not in (run.parent / "results" / "report.html").read_text(encoding="utf-8")


def test_a_store_can_be_shared_between_runs(run, tmp_path):
    store = tmp_path / "votes.db"
    certify_run(settings_of(run, store=store))
    outcome = certify_run(settings_of(run, store=store, out=tmp_path / "more", alpha=0.05))
    assert store.exists()
    assert not (tmp_path / "more" / "votes.db").exists()
    assert outcome.archive.alpha == 0.05


def test_limits_and_parts(run, tmp_path):
    outcome = certify_run(settings_of(run, limit=2, out=tmp_path / "two"))
    assert outcome.archive.names == ("g1", "g2")
    worlds.graphs(tmp_path / "many", n=30)
    outcome = certify_run(settings_of(run, data=tmp_path / "many", split="test", split_seed=5, out=tmp_path / "test"))
    assert len(outcome.archive) == 3
    assert sorted(outcome.archive.labels) == [0, 1, 2]


def test_data_without_classes_are_certified_too(run):
    (run.parent / "graphs" / "labels.csv").unlink()
    outcome = certify_run(settings_of(run))
    assert outcome.archive.labels == (None,) * 6
    assert outcome.archive.class_names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"regions": "comunities"}, "Did you mean communities?"),
        (
            {"split": "test", "limit": 1, "data": "NO_SUCH_DATA"},
            "NO_SUCH_DATA is not a TU data set that could be found",
        ),
    ],
)
def test_what_cannot_work_leaves_nothing_behind(run, change, words, monkeypatch, tmp_path):
    from starcert.datasets.tu_files import _CannotDownloadError  # noqa: PLC0415

    def no_download(name):
        raise _CannotDownloadError("no network in tests")

    monkeypatch.setattr(sys.modules["starcert.datasets.tu_files"], "_download", no_download)
    before = sorted(run.parent.rglob("*"))
    with pytest.raises(StarcertError) as caught:
        certify_run(settings_of(run, **change))
    assert words in str(caught.value)
    assert sorted(path for path in run.parent.rglob("*") if "__pycache__" not in str(path)) == before


def test_an_estimator_whose_classes_are_large_numbers_is_measured_by_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    labels = ["name,label"]
    for i in range(4):
        (graphs / f"g{i}.edges").write_text("a b\nb c\nc d\n" + "a c\na d\nb d\n" * (i % 2))
        labels.append(f"g{i},{(1000, 2000)[i % 2]}")
    (graphs / "labels.csv").write_text("\n".join(labels))
    (tmp_path / "m.py").write_text(
        "import starcert as sc\n"
        "def f(data): return sc.models.vertex_histogram_svm().fit(data.graphs, [1000, 2000, 1000, 2000])\n"
    )
    values = {"model": "m.py:f", "data": "graphs", "noise": {"all": 0.01}, "samples": 200, "out": "out"}
    done = certify_run(run_settings(check_values(values, SETTINGS, base=tmp_path)))
    assert done.archive.class_names == ("1000", "2000")
    assert [row["right"] for row in done.archive.rows()] == [True] * 4
