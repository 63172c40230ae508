"""An archive holds what certificates are made from, checked, and makes them afresh."""

import csv
import io
import json

import archive_worlds
import pytest

import starcert as sc
from starcert.archive import Archive
from starcert.system.errors import InvalidParameterError


def test_the_votes_of_a_smoothed_classifier_come_with_its_certificates():
    base = sc.classifiers.from_callable(lambda batch: (batch.degrees().max(axis=1) >= 3).astype(int), on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.25))
    graphs = [sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(5, [])]
    votes = smoothed.vote(graphs, samples=500, seed=3)
    result = smoothed.certify(graphs, samples=500, seed=3, alpha=0.02)
    assert result.votes.counts.tolist() == votes.counts.tolist()
    assert result.votes.selection.tolist() == votes.selection.tolist()
    assert result[1].bounds.votes.counts.tolist() == votes.counts[1:].tolist()
    archive = Archive.from_result(result, labels=[0, 1])
    assert (archive.alpha, archive.capacities, archive.names) == (0.02, ((6,), (10,)), ("0", "1"))
    for again, before in zip(archive.certificates, result, strict=True):
        assert str(again) == str(before)
        assert again.frontier == before.frontier


def test_an_archive_takes_its_word_from_the_kind():
    base = sc.classifiers.from_callable(lambda rows: rows[:, 0], on="vectors", n_classes=2)
    result = sc.SmoothedClassifier(base, sc.Noise(all=0.1)).certify([sc.Bits([1, 0, 1])], samples=100, seed=0)
    archive = Archive.from_result(result, settings={"seed": 0})
    assert (archive.word, archive.settings) == ("row", {"objects": "rows", "seed": 0})
    assert repr(Archive.from_result(result)).startswith("Archive(1 rows, ")
    with pytest.raises(InvalidParameterError, match="'settings' must be"):
        Archive.from_result(result, settings=[1])


def test_bounds_without_votes_cannot_be_archived():
    with pytest.raises(InvalidParameterError, match="needs bounds from votes"):
        Archive.from_result(sc.certify(sc.Bounds.certain([0.9]), sc.Noise(a=0.1)))
    with pytest.raises(InvalidParameterError, match="'result' must be Certificates"):
        Archive.from_result([])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"names": ["one"]}, "names"),
        ({"names": ["one", 2, "three"]}, r"names\[1\]"),
        ({"labels": [0, 1, 2]}, r"labels\[2\]"),
        ({"labels": [0, -1, 1]}, r"labels\[1\]"),
        ({"labels": [0, "1", 1]}, r"labels\[1\]"),
        ({"class_names": ["only"]}, "class_names"),
        ({"class_names": ["same", "same"]}, "'class_names' must be different"),
        ({"settings": {"x": float("nan")}}, "settings"),
        ({"settings": {"x": object()}}, "settings"),
    ],
)
def test_what_does_not_fit_is_refused(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        Archive.from_result(archive_worlds.two_classes().certificates, **changes)


def test_bounds_with_other_votes_are_refused():
    bounds = sc.clopper_pearson(sc.Votes([[9, 1]]))
    with pytest.raises(InvalidParameterError, match="votes"):
        sc.Bounds(bounds.labels, bounds.failure, bounds.other, 0.01, 2, sc.Votes([[9, 1], [8, 2]]))


def test_settings_are_a_copy():
    settings = {"noise": (1, 2)}
    archive = Archive.from_result(archive_worlds.two_classes().certificates, settings=settings)
    settings["noise"] = None
    assert archive.settings == {"noise": [1, 2]}


def test_archives_are_equal_if_all_they_hold_is():
    one, other = archive_worlds.two_classes(), archive_worlds.two_classes()
    assert one == other
    assert one != Archive.from_result(one.certificates, names=one.names)
    assert one != archive_worlds.three_classes()


def test_rows_say_what_the_certificates_say_and_fit_a_csv_file():
    archive = archive_worlds.two_classes()
    rows = archive.rows()
    assert [row["right"] for row in rows] == [True, None, False]
    assert [row["abstained"] for row in rows] == [False, False, True]
    assert (rows[1]["class"], rows[1]["class_name"], rows[1]["votes_0"]) == (1, "toxic", 1_000)
    assert rows[1]["anchored"].startswith("The rule")
    for row, one in zip(rows, archive.certificates, strict=True):
        assert tuple(map(tuple, json.loads(row["frontier"]))) == one.frontier.radii
        if not one.abstained:
            reach = row["reach_random"]
            assert one.certified((0, reach))
            assert reach == one.capacity[1] or not one.certified((0, reach + 1))
    assert rows[2]["reach_motif"] is None
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    assert next(csv.DictReader(io.StringIO(file.getvalue())))["p_lower"] == repr(archive.certificates[0].p_lower)


def test_frames_have_one_row_a_graph():
    pd = pytest.importorskip("pandas")
    archive = archive_worlds.three_classes()
    frame = archive.to_frame()
    assert frame["frontier"].tolist() == [one.frontier.radii for one in archive.certificates]
    assert frame["margin"].tolist() == ["multi-class", "two-class"]
    assert frame["votes_2"].tolist() == [1_500, 0]
    about = {"names": archive.names, "class_names": archive.class_names}
    pd.testing.assert_frame_equal(archive.certificates.to_frame(archive.labels, **about), frame)


def test_certificates_from_bounds_alone_have_rows_too():
    (row,) = sc.certify(sc.Bounds.certain([0.9995]), sc.Noise(a=0.1)).rows()
    assert not any(name.startswith("votes") for name in row)
    assert row["frontier"] == ((row["reach_a"],),)


def test_certificates_are_handed_on_with_their_proofs():
    result = sc.certify(sc.clopper_pearson(sc.Votes([[990, 10]], selection=[[98, 2]])), sc.Noise(a=0.3))
    assert Archive.from_result(result).certificates is result
    bounds = result.bounds
    better = sc.Bounds(bounds.labels, bounds.failure / 2, bounds.other / 2, bounds.alpha, 2, bounds.votes)
    kept = Archive.from_result(sc.certify(better, sc.Noise(a=0.3)))  # not what its votes say
    assert kept.certificates.bounds.failure.tolist() == bounds.failure.tolist()
