"""Collective claims in archives: written, read and proved again; what the votes do not show is refuted or refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asking import how_to
from target_worlds import Busy, FirstNode, graphs

import starcert as sc
from starcert.archive.collective_votes import KeptClaims
from starcert.classifiers import Classifier
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertWarning

KEPT = Path(__file__).parent / "kept" / "version_0_2_0"
WHEEL = sc.Graph(9, [(i, i + 1) for i in range(8)] + [(0, 2), (0, 3), (0, 4), (5, 8)])
TYPED = sc.Graph(4, [(0, 1), (1, 2), (2, 3)], edge_types=["a", "b", "a"], type_names=("a", "b"))
TOGETHER = sc.Evidence(own_samples=0)


class Edges(Classifier):
    """Three classes for each of four targets: how many edges there are, less so for later targets."""

    n_classes, description = 3, "edges"

    def n_targets(self, frame):
        return 4

    def classify(self, graphs):
        return np.digitize((graphs.values > 0).sum(axis=1)[:, None] + np.arange(4) / 2, [1.6, 5.1])


def result_of(kind):
    base, given, threat, noise = {
        "nodes": (Busy(), [WHEEL], "deletions:2", sc.Noise(all=sc.Flip(delete=0.3, add=0.03))),
        "graphs": (FirstNode(), graphs(), "flips:1", sc.Noise(all=sc.Flip(delete=0.3, add=0.1))),
        "typed": (Edges(), [TYPED], "flips:1", sc.Noise(all=sc.Edges(delete=0.3, add=0.1, change=0.2, types=2))),
        "one way": (Busy(), [WHEEL], "deletions:1", sc.Noise(all=sc.Flip(delete=0.3, add=0.0))),
    }[kind]
    return sc.SmoothedClassifier(base, noise).certify(
        given, **how_to(samples=2_000, seed=1, threat=threat, evidence=TOGETHER)
    )


KINDS = ("nodes", "graphs", "typed", "one way")


@pytest.fixture(scope="module")
def results():
    return {kind: result_of(kind) for kind in KINDS}


@pytest.fixture(scope="module")
def files(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("collective")
    for kind, result in results.items():
        threats = ["deletions:1", "deletions:2"] if kind == "nodes" else [result.threat]
        claims = [result.at_most_changed(each) for each in threats]
        sc.archive.write(folder / f"{kind}.json", sc.archive.Archive.from_result(result, claims=claims))
    return folder


@pytest.fixture
def changed(files, tmp_path):
    def write(kind, change):
        """A copy of a file in which something is changed; its side files lie beside it."""
        for side in files.glob(f"{kind}.*.npz"):
            shutil.copy(side, tmp_path)
        content = json.loads((files / f"{kind}.json").read_text())
        change(content)
        (tmp_path / f"{kind}.json").write_text(json.dumps(content))
        return tmp_path / f"{kind}.json"

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_and_proved(files, results, kind):
    path, result = files / f"{kind}.json", results[kind]
    archive, found = sc.archive.read(path), sc.archive.verify(path)
    assert (found.verdict, found.mismatches) == ("proved", ())
    claims = archive.collective.claims
    assert [each.proved for each in found.collective] == [True] * len(claims)
    assert [each.smallest for each in found.collective] == [each.k for each in claims]
    assert [each.attacks for each in found.collective] == [sum(each.n_attacks) for each in claims]
    assert str(claims[0]) in str(found)
    for claim in claims:
        assert claim == result.at_most_changed(claim.threat) == archive.certificates.at_most_changed(claim.threat)
    if kind == "nodes":
        assert claims[0].k < claims[1].k < 9
    assert archive == sc.archive.Archive.from_result(result, claims=claims)
    assert archive != sc.archive.Archive.from_result(result)
    assert claims[0].k < claims[0].n_targets


def test_another_k(changed):
    def lower(content, by=-1):
        content["collective"]["claims"][1]["k"] += by

    found = sc.archive.verify(changed("nodes", lower))
    (one,) = found.refuted
    assert (one.name, one.field, one.claimed + 1) == ("all 9 answers", "changed under deletions:2", one.proved)
    assert "1 claim is false" in str(found)
    assert sc.archive.verify(changed("nodes", lambda content: lower(content, by=1))).verdict == "proved"


def test_a_smaller_alpha(changed):
    def less(content):
        content["collective"]["claims"][0] |= {"alpha": 2.0**-99, "alpha_exact": f"1/{2**99}"}

    assert sc.archive.verify(changed("nodes", less)).verdict == "refuted"


def rewritten(archive, path, ballots):
    """The file of the same claims about other votes."""
    votes = replace(archive.collective.votes, votes=replace(archive.collective.votes.votes, ballots=(ballots,)))
    sc.archive.write(path, replace(archive, collective=KeptClaims(votes, archive.collective.claims)))
    return path


def test_votes_that_show_less(files, tmp_path):
    """Flips of a site that are moved to the copies where the most answers changed; and answers that were moved."""
    archive = sc.archive.read(files / "nodes.json")
    together = archive.collective.votes
    (kept,) = together.ballots
    flips = kept.matrix(np.arange(12))
    worst = np.argsort(-(kept.answers != together.labels).sum(axis=1), kind="stable")
    moved = flips.copy()
    moved[:, 3] = False
    moved[worst[: flips[:, 3].sum()], 3] = True
    other = replace(kept, bits=np.packbits(moved, axis=1, bitorder="little"))
    assert sc.archive.verify(rewritten(archive, tmp_path / "a.json", other)).verdict == "refuted"

    by_flips = np.argsort(-flips.sum(axis=1), kind="stable")
    answers = kept.answers.copy()
    for target, label in enumerate(together.labels):  # as many of each, now all where flips are
        lost = (answers[:, target] != label).sum()
        answers[:, target] = label
        answers[by_flips[:lost], target] = 1 - label
    other = replace(kept, answers=answers)
    assert sc.archive.verify(rewritten(archive, tmp_path / "b.json", other)).verdict == "refuted"

    answers = answers.copy()
    answers[by_flips[0], 4] = together.labels[4]
    other = replace(kept, answers=answers)
    with pytest.raises(ArchiveError, match="must be of the votes"):
        sc.archive.verify(rewritten(archive, tmp_path / "c.json", other))


def test_files_of_0_2_have_all_copies(files, tmp_path):
    """They are read as if those on which all targets agree were not there."""
    (old,) = (path for path in KEPT.glob("collective_nodes.json"))
    archive = sc.archive.read(old)
    (kept,) = archive.collective.votes.ballots
    assert len(kept) < kept.n_copies == archive.votes.counts[0].sum()
    assert (kept.answers != archive.votes.labels).any(axis=1).all()
    sc.archive.write(tmp_path / "again.json", archive)
    assert sc.archive.read(tmp_path / "again.json") == archive
    side = "{}.collective.evidence.npz"
    assert (tmp_path / side.format("again")).stat().st_size < old.with_name(side.format(old.stem)).stat().st_size
    assert sc.archive.verify(tmp_path / "again.json").verdict == "proved"


REFUSED = [
    ("nodes", lambda content: content["graphs"].pop(), "numbers of graphs below 8"),
    ("nodes", lambda content: [content["graphs"].pop(), content["evidence"].update(file=None)], "'answers' must be sh"),
    ("nodes", lambda content: [content["graphs"].pop(0), content["evidence"].update(file=None)], "must be all targets"),
    ("graphs", lambda content: content["graphs"].pop(), "must be|no graph"),
    ("nodes", lambda content: content["collective"]["claims"][0].update(k=10), "whole number from 0 to 9"),
    ("nodes", lambda content: content["collective"]["claims"][0].update(alpha=0.02), "be the fraction that 0.02 is"),
    ("nodes", lambda content: content["collective"]["listed"][0]["attacks"].__setitem__(1, 65), "the 65 attacks"),
    ("nodes", lambda content: content["collective"]["threat"].update(text="deletions:1", most=1), "be .1 deletion"),
    ("nodes", lambda content: content["collective"]["evidence"].update(sha256="0"), "other bytes"),
    ("nodes", lambda content: [each.update(selection=None) for each in content["graphs"]], "selection votes"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "problem"), REFUSED)
def test_what_is_refused(changed, kind, change, problem):
    with pytest.raises(ArchiveError, match=problem):
        sc.archive.verify(changed(kind, change))


def test_without_its_side_file(changed):
    path = changed("nodes", lambda content: None)
    path.with_name("nodes.collective.evidence.npz").unlink()
    with pytest.raises(ArchiveError, match="How many answers change together is proved from"):
        sc.archive.verify(path)
    with pytest.warns(StarcertWarning, match="Without it, nothing is claimed about that"):
        assert sc.archive.read(path).collective is None


def test_attacks_are_listed_anew(files):
    smoothed = sc.SmoothedClassifier(Busy(), sc.Noise(all=sc.Flip(delete=0.3, add=0.03)))
    problem, path = smoothed.problem([WHEEL]), files / "nodes.json"
    assert sc.archive.verify(path, sites=problem).verdict == "proved"
    other = smoothed.problem([sc.Graph(9, [*[(i, i + 1) for i in range(8)], (0, 2), (0, 3)])])
    found = sc.archive.verify(path, sites=other)
    assert "listed under 'collective'" in [each.field for each in found.refuted]


def test_only_claims_of_these_votes_are_kept(results):
    result = results["nodes"]
    open_claim = result.at_most_changed("deletions:2", k=0)
    with pytest.raises(InvalidParameterError, match="'claims' must be shown by the votes for the whole threat"):
        sc.archive.Archive.from_result(result, claims=[open_claim])
    other = results["one way"].at_most_changed("deletions:1")
    with pytest.raises(InvalidParameterError, match="'claims' must be shown by the votes"):
        sc.archive.Archive.from_result(result, claims=[replace(other, n_targets=8)])
