"""Files of intervals: written, read and proved again; what says more than can be proved is refuted."""

import json
import re

import numpy as np
import pytest

import starcert as sc
from starcert.archive import Archive, read, verify, write
from starcert.claims import intervals
from starcert.classifiers import from_callable, from_node_function
from starcert.math.values import ValueEvidence
from starcert.system.errors import ArchiveError, InvalidParameterError

UNIT = sc.ValueRange(0, 1, 64)
RING = sc.Graph(4, [(i, (i + 1) % 4) for i in range(4)])
STAR = sc.Graph(4, [(0, 1), (0, 2), (0, 3)])
TYPED = sc.Graph(3, [(0, 1), (1, 2)], edge_types=["single", "double"], type_names=("single", "double"))


def density(graphs):
    return graphs.degrees().sum(axis=1) / graphs.frame.n_nodes / 4


def result_of(kind):
    samples = {"samples": 800, "seed": 1}
    if kind == "nodes":
        base = from_node_function(lambda graph: [degree / 4 for _, degree in graph.degree], outputs=UNIT)
        return sc.SmoothedRegressor(base, sc.Noise(all=0.1)).certify([STAR], threat="flips:1", **samples)
    base = from_callable(density, on="batch", outputs=UNIT)
    if kind == "typed":
        noise = sc.Noise(all=sc.Edges(delete=0.2, add=0.1, change=0.2, types=2))
        return sc.SmoothedRegressor(base, noise).certify([TYPED], threat="changes:1", **samples)
    smoothed = sc.SmoothedRegressor(base, sc.Noise(all=sc.Flip(delete=0.2, add=0.0 if kind == "one way" else 0.1)))
    threat = {"listed": "deletions:2", "none": None}.get(kind, "flips:1")
    return smoothed.certify([RING, STAR], threat=threat, family="all" if kind == "listed" else "each", **samples)


KINDS = ("listed", "radius", "none", "typed", "nodes", "one way")
MORE = {
    "listed": [("flips:2", None), ("deletions:1", 0.3)],
    "radius": [((1, 0), 0.4), ((3, 4), None)],
    "none": [("flips:6", 0.5)],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("intervals")
    for kind in KINDS:
        result = result_of(kind)
        names = [f"{kind} {row}" for row in range(len(result))]
        archive = Archive.from_result(result, claims=MORE.get(kind, ()), names=names, labels=[0.5] * len(result))
        write(folder / f"{kind}.json", archive)
    return folder


@pytest.fixture
def changed(files, tmp_path):
    def write(kind, change):
        """A copy of a file in which something is changed; its side file lies beside it."""
        (tmp_path / f"{kind}.evidence.npz").write_bytes((files / f"{kind}.evidence.npz").read_bytes())
        content = json.loads((files / f"{kind}.json").read_text())
        change(content)
        (tmp_path / f"{kind}.json").write_text(json.dumps(content))
        return tmp_path / f"{kind}.json"

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_and_proved(files, kind):
    path, result = files / f"{kind}.json", result_of(kind)
    archive, found = read(path), verify(path)
    assert (found.verdict, found.mismatches) == ("proved", ())
    assert found.weighed > len(archive)
    for row, claim in ((row, each.what) for row, claims in enumerate(archive.claims) for each in claims):
        again, once = (each.proof.interval(each[row], claim, None) for each in (archive.result, result))
        assert (again.low, again.high, again.how) == (once.low, once.high, once.how)
    assert archive.rows()[0]["true"] == 0.5
    assert archive.title(archive.claims[0][0].what) == "mean without attack"
    assert "proved. " in str(found)


def test_intervals_by_radius_alone_need_no_side_file(monkeypatch, tmp_path):
    monkeypatch.setattr("starcert.methods.numbers.MAX_FLIPS", 100)
    archive = Archive.from_result(result_of("none"), claims=[((1, 1), None), ("flips:2", 0.4)])
    write(tmp_path / "a.json", archive)
    assert not (tmp_path / "a.evidence.npz").exists()
    assert verify(tmp_path / "a.json").verdict == "proved"


@pytest.mark.parametrize("kind", ["listed", "radius", "one way"])
@pytest.mark.parametrize("end", [0, 1])
def test_an_interval_that_says_more_is_refuted_and_one_that_says_less_is_true(changed, kind, end):
    """Half of a step closer cannot be proved."""

    def closer(content):
        content["graphs"][1]["intervals"][1][end] -= (1 if end else -1) / 128

    def wider(content):
        content["graphs"][1]["intervals"][1][end] += (1 if end else -1) / 128

    found = verify(changed(kind, closer))
    assert found.verdict == "refuted"
    (one,) = found.refuted
    assert (one.graph, one.name) == (1, f"{kind} 1")
    assert one.field.endswith(("low", "high")[end])
    assert "refuted. " in str(found)
    assert verify(changed(kind, wider)).verdict == "proved"


def test_an_end_between_two_that_can_be_computed_is_proved_by_itself(changed):
    """The next number below a proved end includes the same multiple of 1/ENDS, or one that is not proved."""

    def beyond(content):
        content["graphs"][0]["intervals"][0] = [-5.0, 5.0]

    assert verify(changed("radius", beyond)).verdict == "proved"

    def nothing(content):
        content["graphs"][0]["intervals"][0] = [2.0, -1.0]

    assert len(verify(changed("radius", nothing)).refuted) == 2


def test_an_engine_that_errs_is_refuted(tmp_path, monkeypatch):
    """A negative control: ends that are one percent closer than they may be."""
    honest = ValueEvidence.upper
    monkeypatch.setattr(ValueEvidence, "upper", lambda *given: int(0.98 * honest(*given)))
    write(tmp_path / "a.json", Archive.from_result(result_of("none")))
    assert verify(tmp_path / "a.json").verdict == "refuted"


def test_attacks_that_are_left_out_are_found(files, monkeypatch):
    """A negative control."""

    monkeypatch.setattr(intervals, "group_attacks", lambda *given: [])
    assert verify(files / "listed.json").verdict == "refuted"


def set_to(*path):
    *place, last, value = path

    def change(content):
        for name in place:
            content = content[name]
        content[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (set_to("version", 2), "'version' must be 1"),
        (set_to("alpha", 0.02), "'alpha_exact' must be the fraction"),
        (set_to("alpha", 0.9), "Was a confidence level meant"),
        (set_to("axes", ["a"]), "'axes' must be the axes"),
        (set_to("outputs", "steps", 32), "steps"),
        (set_to("outputs", "steps", True), "'outputs.steps' must be"),
        (set_to("outputs", "high", 2.0), "'outputs.exact.high' must be the fraction"),
        (set_to("outputs", "high", -2.0), "'high' must be more than low"),
        (set_to("together", 1), "'together' must"),
        (set_to("more", 1), "'more' does not belong there"),
        (set_to("claims", 0, "size", 3), "'claims[0].size' must be a whole number"),
        (set_to("claims", 2, "threat", "deletions:1"), "be the text of a threat by radius"),
        (set_to("claims", 2, "threat", "flips:0"), "must"),
        (set_to("claims", []), "'graphs[0].intervals' must be 0, two numbers each"),
        (set_to("graphs", []), "hold at least one graph"),
        (set_to("graphs", 0, "graph", 7), "number graphs from 0"),
        (set_to("graphs", 0, "graph", 1), "be the targets of one graph after the other"),
        (set_to("graphs", 0, "target", 1), "be the targets of one graph after the other"),
        (set_to("graphs", 0, "outputs", "from", 60), "be of at most 4 steps"),
        (set_to("graphs", 0, "outputs", "counts", [800]), "evidence of graph 0"),
        (set_to("graphs", 0, "intervals", 0, [0.1]), "'graphs[0].intervals[0]' must be a list of length 2"),
        (set_to("graphs", 0, "capacity", [1, 2]), "capacity of graph 0 must be"),
        (set_to("graphs", 0, "node", -1), "'graphs[0].node' must be"),
        (set_to("evidence", "sha256", "0"), "is not the file"),
        (set_to("evidence", "file", "../a.evidence.npz"), "be the name of a file in the same folder"),
        (set_to("evidence", {"file": None, "bytes": 0, "sha256": ""}), "must have the flips of graph 0"),
        (set_to("listed", 0, "attacks", [3, 6]), "have the 3 attacks"),
    ],
)
def test_files_that_are_none_are_refused(changed, change, match):
    with pytest.raises(ArchiveError, match=re.escape(match)):
        verify(changed("listed", change))


def test_capacities_are_the_sizes_of_axes_where_radii_are_weighed(changed):
    with pytest.raises(ArchiveError, match="capacity of graph 0 must be the sizes of its axes"):
        verify(changed("radius", set_to("graphs", 0, "capacity", [4, 9])))


def test_what_is_kept_fits_the_result():
    result = result_of("none")
    with pytest.raises(InvalidParameterError, match="'names' must be one for each of 2 rows"):
        Archive.from_result(result, names=["a"])
    assert Archive.from_result(result).names == ("0", "1")
    assert np.isclose(Archive.from_result(result).rows()[0]["estimate"], result[0].estimate)
