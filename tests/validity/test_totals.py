"""What a result says in total never exceeds what it says level by level or size by size, nor what is true.

Random tables classify all graphs with three nodes, so the smoothed answer at every attacked graph is known. The totals
are `any_flips`, frontiers, sizes and `certified(threat)`, before and after an archive.
"""

import json
from functools import reduce
from itertools import product

import numpy as np
import pytest

import starcert as sc
from starcert.archive import Archive, read, verify, write
from starcert.claims.verdict import Verdict
from starcert.math.frontier import Frontier, levels_of
from starcert.methods.evidence import extended_frontier
from starcert.models.link_votes import LinkVotes

ALPHA = 0.05
PAIRS = [(0, 1), (0, 2), (1, 2)]
BITS = np.array(list(product([0, 1], repeat=3)))
GRAPHS = [sc.Graph(3, [pair for pair, bit in zip(PAIRS, row, strict=True) if bit]) for row in BITS]
NOISES = {
    "flips": sc.Noise(all=0.3),
    "sparse": sc.Noise(all=sc.Flip(delete=0.3, add=0.2)),
    "regions": sc.Noise(near=0.2, far=0.35),
    "frozen": sc.Noise(near=0.0, far=0.3),
    "one way": sc.Noise(all=sc.Flip(delete=0.4, add=0)),
    "free": sc.Noise(near=0.5, far=0.25),
}
TWO = sc.Partition.from_pairs({"near": PAIRS[:1], "far": PAIRS[1:]})
THREATS = (None, "additions:1", "deletions:2", "flips:1", "flips:2", "rewire:1", "additions:1 | deletions:1")
ROWS = np.array(list(product(range(3), repeat=3)))
CHANGES = (None, "changes:1", "flips:1", "flips:2", "changes:2", "changes:1 & flips:1")
WAYS = {
    "plain": {},
    "decided": {"voting": sc.Voting(plan="decided")},
    "family": {"family": "all"},
    "own votes": {"evidence": sc.Evidence(own_samples=2_000)},
    "counts": {"evidence": False},
    "fallback": {},
}


def classifier(answers):
    return sc.classifiers.from_callable(
        lambda batch: answers[batch.values @ [4, 2, 1]], on="batch", n_classes=3, description=f"table {answers}"
    )


def truth(noise, answers, fallback=None, values=2):
    """The smoothed answer at each object."""
    laws = [noise[region] for region in (("near", "far", "far") if "near" in noise.regions else ("all",) * 3)]
    each = [np.array([[float(p) for p in law.transitions(value)] for value in range(values)]) for law in laws]
    copies = reduce(np.kron, each)
    shares = np.stack([copies @ (answers == label) for label in range(3)], axis=1)
    return shares.argmax(axis=1) if fallback is None else np.where(shares.max(axis=1) > 0.6, shares.argmax(axis=1), 0)


def is_false(one, x, true, rows):
    """Whether something certified in total about object x is not so: of flips anywhere, or of listed attacks."""
    reached = (rows != rows[x]).sum(axis=1) <= one.any_flips
    weights = len(np.unique(rows)) ** np.arange(3)[::-1]
    for blocks in [] if one.asked is None else one.asked.attacks[: one.certified_size]:
        for attack in (each for block in blocks for each in block.tolist()):
            row = rows[x].copy()
            for rank, site in (divmod(number, 3) for number in attack):
                row[site] = rank + (rank >= row[site])
            reached[row @ weights] = True
    return bool((true[reached] != one.label).any())


def within(one, threat):
    """The levels of an object that a statement is about."""
    return [level for k in range(sum(one.capacity) + 1) for level in levels_of(k, one.capacity) if threat(level)]


def check_totals(one):
    """A certificate's totals follow from its verdicts on levels and sizes."""
    certified = {level for level in within(one, lambda _: True) if one.verdict(level) == "certified"}
    assert set(within(one, lambda level: sum(level) <= one.any_flips)) <= certified | {(0,) * len(one.capacity)}
    assert (
        one.abstained
        or set(levels_of(one.any_flips + 1, one.capacity)) - certified
        or one.any_flips == sum(one.capacity)
    )
    for radius in one.frontier.radii:
        assert set(within(one, lambda level, end=radius: all(map(int.__le__, level, end)))) <= certified
    for level in within(one, lambda _: not one.frontier.incomplete):
        is_beyond = any(all(map(int.__le__, other, level)) for other in one.frontier.beyond)
        assert is_beyond is not one.frontier.covers(level)
    for k in range(1, sum(one.capacity) + 1):
        if one.certified(f"flips:{k}") and (one.asked is None or one.asked.size_of(sc.threats.AnyFlips(k)) is None):
            assert k <= one.any_flips
    for size in range(1, (one.certified_size or 0) + 1):
        by_evidence = one.verdicts is not None and size in one.verdicts.sizes
        assert (by_evidence and one.verdicts.sizes[size].kind == "certified") or one.asked.levels[size - 1] <= certified


def check_found(found, rows, true, path):
    """Totals of one result, before and after an archive; how many say something of attacks, and are false."""
    told, false = 0, 0
    for x, one in enumerate(found):
        check_totals(one)
        if not one.abstained:
            told += one.any_flips > 0 or bool(one.certified_size)
            false += is_false(one, x, true, rows)
    for outcome, one in zip(found.outcomes("flips:3"), found, strict=True):
        assert (outcome.certified or 0) <= one.any_flips or one.any_flips == sum(one.capacity)
    write(path, Archive.from_result(found))
    assert verify(path).verdict == "proved"
    for one, again in zip(found, read(path).certificates, strict=True):
        assert (one.frontier, one.certified_size) == (again.frontier, again.certified_size)
        if again.capacity is not None:
            check_totals(again)
    return told, false


@pytest.mark.parametrize(
    ("noise", "way"),
    [*(("sparse", way) for way in WAYS), *((noise, "plain") for noise in NOISES if noise != "sparse")],
)
def test_totals_of_votes(noise, way, tmp_path):
    rng = np.random.default_rng([ord(noise[0]), ord(way[0])])
    told, false, regions = 0, 0, TWO if "near" in NOISES[noise].regions else None
    fallback = sc.Fallback([0] * 8, threshold=0.6) if way == "fallback" else None
    for number in range(len(THREATS)):
        answers = rng.choice(3, size=8, p=rng.dirichlet([0.6] * 3))
        threat, samples = THREATS[number % len(THREATS)], int(rng.choice([60, 150, 500]))
        smoothed = sc.SmoothedClassifier(classifier(answers), NOISES[noise], regions, fallback=fallback)
        how = {"evidence": True, "alpha": ALPHA} | WAYS[way]
        found = smoothed.certify(GRAPHS, samples=samples, seed=number, threat=threat, **how)
        true = truth(NOISES[noise], answers, fallback)
        more, wrong = check_found(found, BITS, true, tmp_path / "kept.json")
        told, false = told + more, false + wrong
    assert told >= 5
    assert false <= ALPHA * 8 * len(THREATS)


@pytest.mark.parametrize("own", [0, 2_000])
def test_totals_of_votes_on_categories(own, tmp_path):
    """Sites with three values: axes share them, and an attack on one is one of two."""
    noise, rng = sc.Noise(all=sc.Categorical(0.3, values=3)), np.random.default_rng(own)
    told, false = 0, 0
    for number, threat in enumerate(CHANGES):
        answers = rng.choice(3, size=27, p=rng.dirichlet([0.4] * 3))
        base = sc.classifiers.from_callable(
            lambda batch, answers=answers: answers[batch.values @ [9, 3, 1]],
            on="batch",
            n_classes=3,
            description="table",
        )
        found = sc.SmoothedClassifier(base, noise).certify(
            [sc.Categories(tuple(row), values=3) for row in ROWS.tolist()],
            **{"samples": 300, "seed": number, "threat": threat, "alpha": ALPHA, "evidence": sc.Evidence(own)},
        )
        more, wrong = check_found(found, ROWS, truth(noise, answers, values=3), tmp_path / "kept.json")
        told, false = told + more, false + wrong
    assert told >= 10
    assert false <= ALPHA * 27 * len(CHANGES)


def test_an_archive_that_claims_all_levels_beside_a_listed_threat_is_refuted(tmp_path):
    """Evidence certifies the clean graph alone: an empty list of what is not certified claims every attack."""
    answers = np.array([1, 1, 1, 2, 1, 0, 0, 1])
    smoothed = sc.SmoothedClassifier(classifier(answers), NOISES["flips"])
    path, claims = tmp_path / "kept.json", None
    for seed in range(20):
        found = smoothed.certify(GRAPHS, samples=250, seed=seed, threat="additions:1", evidence=True)
        write(path, Archive.from_result(found))
        content = json.loads(path.read_text())
        claims = [each["claims"] for each in content["graphs"] if each["claims"]["frontier"] == [[0]]]
        if claims:
            break
    assert claims[0]["beyond"] == [[1]]
    claims[0]["beyond"] = []
    path.write_text(json.dumps(content))
    assert [each.field for each in verify(path).mismatches] == ["beyond"]


def test_radii_beside_a_listed_threat_come_from_counts_alone(tmp_path):
    """Evidence about listed attacks has spent its share of alpha on them: it proves no level besides."""
    smoothed, path = sc.SmoothedClassifier(classifier(np.array([0] + [2] * 7)), NOISES["flips"]), tmp_path / "kept.json"
    how = {"samples": 250, "seed": 1, "evidence": sc.Evidence(own_samples=0)}
    (alone,), found = (smoothed.certify(GRAPHS[:1], threat=threat, **how) for threat in (None, "additions:1"))
    assert (alone.frontier.radii, found[0].frontier.radii, found[0].certified_size) == (((3,),), ((0,),), 1)
    write(path, Archive.from_result(found))
    for radius in (1, 3):
        content = json.loads(path.read_text())
        content["graphs"][0]["claims"] |= {"frontier": [[radius]], "beyond": [[radius + 1]][: 3 - radius]}
        (tmp_path / "kept.json").write_text(json.dumps(content))
        assert "frontier" in {each.field for each in verify(path).mismatches}


def test_no_more_flips_are_claimed_than_there_are_sites(tmp_path):
    """There is no level of so many flips: that none of them is uncertified proves nothing."""
    smoothed, path = sc.SmoothedClassifier(classifier(np.zeros(8, dtype=int)), NOISES["flips"]), tmp_path / "kept.json"
    write(path, Archive.from_result(smoothed.certify(GRAPHS[:1], samples=2_000, seed=1, evidence=sc.Evidence(0))))
    content = json.loads(path.read_text())
    assert content["graphs"][0]["claims"]["any_flips"] == 3
    content["graphs"][0]["claims"]["any_flips"] = 4
    path.write_text(json.dumps(content))
    assert [each.field for each in verify(path).mismatches] == ["any_flips"]


def test_totals_that_say_too_much_are_found_by_verify(tmp_path, monkeypatch):
    smoothed, path = sc.SmoothedClassifier(classifier(np.zeros(8, dtype=int)), NOISES["sparse"]), tmp_path / "kept.json"
    for threat, total in ((None, "any_flips"), ("deletions:1 | additions:1", "certified_size")):
        how = {"threat": threat, "evidence": sc.Evidence(own_samples=0)}
        write(path, Archive.from_result(smoothed.certify(GRAPHS[:1], samples=60, seed=1, **how)))
        assert verify(path).verdict == "proved"
        for more, found in ((1, [total]), (-1, [])):
            content = json.loads(path.read_text())
            content["graphs"][0]["claims"][total] += more
            (tmp_path / "other.json").write_text(json.dumps(content))
            (tmp_path / "other.evidence.npz").write_bytes((tmp_path / "kept.evidence.npz").read_bytes())
            mismatches = verify(tmp_path / "other.json").mismatches
            assert [each.field for each in mismatches] == found
    write(path, Archive.from_result(smoothed.certify(GRAPHS[:1], samples=60, seed=1, evidence=sc.Evidence(0))))
    monkeypatch.setattr("starcert.claims.certificate.flips_covered", lambda *_: 3)
    write(path, Archive.from_result(smoothed.certify(GRAPHS[:1], samples=60, seed=1, evidence=sc.Evidence(0))))
    assert [each.field for each in verify(path).mismatches] == ["any_flips"]


@pytest.mark.parametrize("threat", [each for each in THREATS if each])
def test_totals_of_trials_and_voters(threat, tmp_path):
    rng = np.random.default_rng(len(threat))
    for _ in range(4):
        answers = rng.choice(3, size=8, p=rng.dirichlet([0.6] * 3))
        base = sc.classifiers.from_callable(
            lambda g, answers=answers: answers[sum(4 >> PAIRS.index(pair) for pair in g.edges)], n_classes=3
        )
        results = [sc.ExactClassifier(base).certify(GRAPHS, threat=threat)]
        write(tmp_path / "exact.json", Archive.from_result(results[0]))
        results.append(read(tmp_path / "exact.json").result)
        if "rewire" not in threat and "|" not in threat:
            results.append(sc.HashedVotes(base, groups=2).certify(GRAPHS, threat=threat))
        for found in results:
            for size in range(1, found.threat.most + 1):
                kinds = [one.verdict(size) for one in found]
                assert kinds == [
                    "certified"
                    if one.certified_size >= size
                    else "broken"
                    if 0 < (one.broken_size or 9) <= size
                    else "open"
                    for one in found
                ]
                right = [(kind, one.label) == ("certified", 0) for kind, one in zip(kinds, found, strict=True)]
                assert found.certified_accuracy([0] * 8, size) == np.mean(right)


class Tables(sc.classifiers.Classifier):
    """Three targets, each with a table of its own."""

    n_classes, description = 3, "three tables"

    def __init__(self, tables):
        self.tables = tables

    def n_targets(self, frame):
        return len(self.tables)

    def classify(self, graphs):
        return self.tables[:, graphs.values @ [4, 2, 1]].T


def test_totals_of_collective_claims(tmp_path):
    """No attack changes more of the stated answers than is claimed, and more flips change no fewer."""
    rng, told, false = np.random.default_rng(3), 0, 0
    for number in range(16):
        tables = np.array([rng.choice(3, size=8, p=rng.dirichlet([0.4] * 3)) for _ in range(3)])
        true, x = np.array([truth(NOISES["sparse"], each) for each in tables]), number % 8
        how = {"samples": 400, "seed": number, "alpha": ALPHA, "evidence": sc.Evidence(0)}
        found = sc.SmoothedClassifier(Tables(tables), NOISES["sparse"]).certify([GRAPHS[x]], threat="flips:2", **how)
        claims = [found.at_most_changed(f"flips:{most}") for most in (1, 2)]
        changed = (true != found.labels[:, None]).sum(axis=0)
        for claim in claims:
            reached = (BITS[x] != BITS).sum(axis=1) <= max(claim.size, 0)
            told += claim.k < 3
            false += claim.size >= 0 and changed[reached].max() > claim.k
        assert claims[0].k <= claims[1].k
        write(tmp_path / "kept.json", Archive.from_result(found, claims=claims))
        assert verify(tmp_path / "kept.json").verdict == "proved"
        kept = read(tmp_path / "kept.json").collective.claims
        assert [(one.k, one.size) for one in kept] == [(one.k, one.size) for one in claims]
    assert told >= 5
    assert false <= ALPHA * 32


def test_totals_of_link_votes():
    """What survives an attack survives every smaller one, and every answer at an attacked graph is the same."""
    kept = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        votes = LinkVotes(rng.integers(-4, 4, (3, 3)), rng.integers(-2, 3, (3, 3)))
        every = np.array([votes.answers(graph) for graph in GRAPHS])
        for x, graph in enumerate(GRAPHS):
            added, deleted = ((BITS[x] != BITS) & (BITS[x] == value) for value in (0, 1))
            for a, d in product(range(3), repeat=2):
                found = votes.survives(graph, additions=a, deletions=d)
                reached = (added.sum(axis=1) <= a) & (deleted.sum(axis=1) <= d)
                assert found.tolist() == (every[reached] == every[x]).all(axis=0).tolist()
                kept += found.sum() * (a + d > 0)
    assert kept > 100


def test_a_frontier_of_evidence_never_claims_more_than_counts_and_levels_together():
    """What the counts leave open stays beyond, and an empty list of what is open needs the corner of the capacity."""
    counted, proved = Frontier(((0,),), ((1,),), verified=True), Verdict("certified", "by evidence")
    found = extended_frontier(counted, {(0,): proved}, (3,), "")
    assert (found.radii, found.beyond) == (((0,),), ((1,),))
    found = extended_frontier(counted, {(level,): proved for level in range(4)}, (3,), "")
    assert (found.radii, found.beyond) == (((3,),), ())
    for levels in ([0, 1], [1], [0, 1, 2]):
        with pytest.raises(ArithmeticError, match="without its corner"):
            extended_frontier(counted, {(level,): proved for level in levels}, (3,), "")


def test_no_size_is_certified_where_the_clean_answer_is_not():
    """Own votes may prove the class at every attacked graph: without the clean answer that certifies nothing."""
    smoothed = sc.SmoothedClassifier(classifier(np.zeros(8, dtype=int)), NOISES["flips"])
    how = {"alpha": ALPHA, "seed": 1, "threat": "additions:1", "evidence": sc.Evidence(own_samples=2_000)}
    (few,), (many,) = (smoothed.certify(GRAPHS[:1], samples=n, **how) for n in (4, 400))
    assert (few.abstained, few.certified_size or 0, few.any_flips, dict(few.verdicts.sizes)) == (True, 0, 0, {})
    assert (many.abstained, many.certified_size) == (False, 1)
