"""Verification: true files are proved, each claim that is changed is found, and the votes decide, not the claims."""

import json
from pathlib import Path

import pytest

import archive_worlds
import starcert as sc
from starcert import archive as archives
from starcert.archive.verification import Verification
from starcert.errors import ArchiveError


def written(folder: Path, archive: archives.Archive) -> Path:
    path = folder / "certificates.json"
    archives.write(path, archive)
    return path


def tampered(path: Path, graph: int, **changes: object) -> Verification:
    """The verification of a file in which claims about one graph are replaced."""
    told = json.loads(path.read_text())
    assert changes.keys() <= told["graphs"][graph]["claims"].keys()
    told["graphs"][graph]["claims"] |= changes
    other = path.with_name("tampered.json")
    other.write_text(json.dumps(told))
    return archives.verify(other)


def found(result: Verification) -> list[tuple[int, str, str]]:
    return [(each.graph, each.field, each.kind) for each in result.mismatches]


@pytest.mark.parametrize(
    "world",
    [
        archive_worlds.two_classes,
        archive_worlds.three_classes,
        lambda: archive_worlds.three_classes(selection=False),
        archive_worlds.four_regions,
    ],
)
def test_what_starcert_writes_is_proved_again(tmp_path, world):
    result = archives.verify(written(tmp_path, world()))
    assert (result.verdict, result.mismatches) == ("proved", ())
    assert result.listed > 0
    assert "proved. Every claim about" in str(result)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_many_random_votes(tmp_path, n_classes):
    votes = archive_worlds.random_votes(40, n_classes, seed=n_classes)
    noise = sc.Noise(a=0.2, b=sc.Flip(delete=0.3, add=0.4))
    archive = archives.Archive.from_result(sc.certify(sc.clopper_pearson(votes), noise, max_radius=(4, 5, 6)))
    assert archives.verify(written(tmp_path, archive)).verdict == "proved"


FALSE = [
    (0, {"class": 1}, "class"),
    (2, {"abstained": False}, "abstained"),
    (0, {"p_lower": 0.9999}, "p_lower"),
    (0, {"failure": 1e-6}, "failure"),
    (0, {"other": 1e-6}, "other"),
    (0, {"margin": "multi-class"}, "margin"),
    (2, {"frontier": [[0, 0]]}, "frontier"),
    (0, {"frontier": [[10, 28]]}, "frontier"),
    (0, {"frontier": [[1000000000, 1000000000]]}, "frontier"),
    (0, {"beyond": []}, "beyond"),
    (2, {"beyond": [[1, 0]]}, "beyond"),
]


@pytest.mark.parametrize(("graph", "changes", "field"), FALSE)
def test_a_false_claim_is_refuted_whichever_it_is(tmp_path, graph, changes, field):
    path = written(tmp_path, archive_worlds.two_classes())
    result = tampered(path, graph, **changes)
    assert result.verdict == "refuted"
    assert found(result) == [(graph, field, "false")]
    assert [each.field for each in result.refuted] == [field]
    assert result.mismatches[0].name == result.archive.names[graph]
    assert "1 claim is false" in str(result)


WEAKER = [
    (0, {"abstained": True}, "abstained"),
    (0, {"p_lower": 0.99}, "p_lower"),
    (0, {"failure": 0.01}, "failure"),
    (0, {"other": 0.01}, "other"),
    (0, {"frontier": [[0, 0]]}, "frontier"),
    (0, {"frontier": []}, "frontier"),
    (0, {"beyond": [[0, 0]]}, "beyond"),
    (0, {"proved": False}, "proved"),
]


@pytest.mark.parametrize(("graph", "changes", "field"), WEAKER)
def test_a_claim_that_says_less_is_told_apart_from_a_false_one(tmp_path, graph, changes, field):
    result = tampered(written(tmp_path, archive_worlds.two_classes()), graph, **changes)
    assert result.verdict == "weaker"
    assert found(result) == [(graph, field, "weaker")]
    assert (result.refuted, result.weaker) == ((), result.mismatches)
    assert "every claim is true and 1 says less than can be proved" in str(result)


def test_every_radius_one_step_further_is_refuted(tmp_path):
    """Three classes and four regions: each maximal radius, one more on each axis where the box has room."""
    for world in (archive_worlds.three_classes, archive_worlds.four_regions):
        archive = world()
        path = written(tmp_path, archive)
        for graph, one in enumerate(archive.certificates):
            for radius in one.frontier.radii[:3]:
                for axis in range(len(radius)):
                    further = [count + (i == axis) for i, count in enumerate(radius)]
                    result = tampered(path, graph, frontier=[*map(list, one.frontier.radii), further])
                    assert found(result) == [(graph, "frontier", "false")]
                    assert result.mismatches[0].claimed == [tuple(further)]


def test_a_radius_outside_of_the_box_does_not_stand_on_the_capacity(tmp_path):
    """The capacity of the second graph is certified whole; no flips beyond it are claimed by the library."""
    noise = sc.Noise(a=0.4)
    bounds = sc.clopper_pearson(sc.Votes([[9_990, 10]], selection=[[99, 1]]))
    path = written(tmp_path, archives.Archive.from_result(sc.certify(bounds, noise, capacity=[1])))
    assert json.loads(path.read_text())["graphs"][0]["claims"]["frontier"] == [[1]]
    assert found(tampered(path, 0, frontier=[[2]])) == [(0, "frontier", "false")]


def test_the_same_down_set_in_other_words_is_no_mismatch(tmp_path):
    archive = archive_worlds.two_classes()
    path = written(tmp_path, archive)
    radii = [list(radius) for radius in archive.certificates[0].frontier.radii]
    assert len(radii) > 1
    assert tampered(path, 0, frontier=[[0, 0], *radii[::-1]]).verdict == "proved"


def test_the_last_digit_of_another_platform_is_no_mismatch(tmp_path):
    archive = archive_worlds.two_classes()
    path = written(tmp_path, archive)
    p_lower = archive.certificates[0].p_lower
    assert tampered(path, 0, p_lower=p_lower - 1e-15).verdict == "proved"
    assert found(tampered(path, 0, p_lower=p_lower + 1e-12)) == [(0, "p_lower", "false")]


def test_the_verdict_follows_the_votes(tmp_path):
    path = written(tmp_path, archive_worlds.two_classes())
    told = json.loads(path.read_text())
    told["graphs"][0]["estimation"] = [9_000, 1_000]
    path.write_text(json.dumps(told))
    result = archives.verify(path)
    fields = [each.field for each in result.refuted]
    assert fields[:3] == ["p_lower", "failure", "other"]
    assert "frontier" in fields
    told["graphs"][0]["estimation"] = [10_000, 0]
    path.write_text(json.dumps(told))
    result = archives.verify(path)
    # More votes prove more: what is claimed is true, but for what is said to lie beyond.
    assert {each.kind for each in result.mismatches} == {"weaker"}
    told["graphs"][0]["selection"] = [1, 99]
    path.write_text(json.dumps(told))
    assert (0, "class", "false") in found(archives.verify(path))


def test_the_verdict_follows_the_noise_and_alpha(tmp_path):
    path = written(tmp_path, archive_worlds.two_classes())
    for change in (
        lambda told: told["noise"][1].update(flip=0.25, exact={"flip": "1/4"}),
        lambda told: told.update(alpha=0.5**20, alpha_exact="1/1048576"),
        lambda told: [graph.update(selection=None) for graph in told["graphs"]],  # the choice costs a share of alpha
    ):
        told = json.loads(path.read_text())
        change(told)
        path.with_name("other.json").write_text(json.dumps(told))
        assert archives.verify(path.with_name("other.json")).verdict == "refuted"


def test_a_box_without_end_is_an_error_that_names_the_file(tmp_path):
    path = written(tmp_path, archive_worlds.three_classes())
    told = json.loads(path.read_text())
    told["max_radius"] = None
    told["noise"][0] |= {"flip": 0.5, "exact": {"flip": "1/2"}}
    path.write_text(json.dumps(told))
    with pytest.raises(ArchiveError, match=r"certificates\.json: 'max_radius' must be given"):
        archives.verify(path)


def test_a_proof_that_disagrees_with_the_other_is_not_hidden(tmp_path, monkeypatch):
    path = written(tmp_path, archive_worlds.two_classes())
    with monkeypatch.context() as patch:
        patch.setattr("starcert.archive.verification.bounds_the_rest", lambda *_: None)
        with pytest.raises(ArithmeticError, match="two proofs disagree about the bounds of graph 0"):
            archives.verify(path)
    monkeypatch.setattr("starcert.archive.listing.Listing.certifies", lambda *_: True)
    with pytest.raises(ArithmeticError, match="two proofs disagree at radius"):
        archives.verify(path)
