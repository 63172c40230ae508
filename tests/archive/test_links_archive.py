"""Archives of link votes: read as written, proved by a second computation, refuted where anything is changed."""

import json
import tracemalloc
from dataclasses import replace
from hashlib import sha256
from itertools import combinations

import numpy as np
import pytest

import starcert as sc
from starcert.archive import Archive, read, rerun, verify, write
from starcert.archive.checker.links import cells_of
from starcert.archive.links import ARRAYS
from starcert.archive.side_arrays import pack_arrays
from starcert.models.link_votes import LinkVotes
from starcert.objects.threats import read_threat
from starcert.system.errors import ArchiveError, InvalidParameterError

N = 9
PAIRS = list(combinations(range(N), 2))
THREATS = [
    "flips:3", "additions:2", "deletions:2", "deletions:1 + additions:2", "local:3,per_node=1", "local:3,per_node=2",
    "controlled:2,nodes=0|3", "rewire:1", "rewire:2",
]  # fmt: skip
EXACT = [threat for threat in THREATS if threat != "rewire:2"]


def world(seed, density=0.4):
    """Small whole numbers, so that ties are frequent; some graphs have isolated or full nodes."""
    rng = np.random.default_rng(seed)
    graph = sc.Graph(N, [pair for pair in PAIRS if rng.random() < density])
    return graph, LinkVotes(rng.integers(-9, 9, (N, 3)), rng.integers(-3, 4, (N, 3)))


def kept(folder, threat="flips:3", seed=0, density=0.4, **about):
    graph, votes = world(seed, density)
    found = votes.certify(graph, threat=threat)
    write(folder / "certificates.json", Archive.from_result(found, labels=[0] * N, settings={"seed": 1}, **about))
    return folder / "certificates.json", found


def changed(file, change):
    """The file with other claims."""
    told = json.loads(file.read_text())
    change(told)
    file.write_text(json.dumps(told))
    return file


def repacked(file, name, change):
    """The file with other arrays, whose size and digest it states."""
    side = file.with_name("certificates.links.npz")
    with np.load(side) as arrays:
        parts = {key: arrays[key].copy() for key in ARRAYS}
    parts[name] = change(parts[name])
    data = pack_arrays(ARRAYS, {key: [each] for key, each in parts.items()})
    side.write_bytes(data)
    return changed(file, lambda told: told["arrays"].update(bytes=len(data), sha256=sha256(data).hexdigest()))


def fields(file):
    return {each.field for each in verify(file).refuted}


@pytest.mark.parametrize("threat", THREATS)
def test_every_claim_is_proved_and_one_more_size_is_refuted(tmp_path, threat):
    """Where broken is known, the proof by sorting is as strong as the closed form."""
    raised = 0
    for seed in range(12):
        file, found = kept(tmp_path, threat, seed, density=(0.1, 0.4, 0.9)[seed % 3])
        assert verify(file).verdict == "proved", verify(file).refuted
        for row in np.flatnonzero(found.proof.broken_sizes).tolist():

            def claim_more(told, row=row):
                one = told["graphs"][row]
                one.update(certified_size=one["broken_size"], broken_size=None, attack=None)

            before = file.read_text()
            assert fields(changed(file, claim_more)) == {"certified_size"}
            file.write_text(before)
            raised += 1
    assert raised > 5


def test_what_is_written_is_read_and_says_the_same(tmp_path):
    file, found = kept(tmp_path, class_names=["a", "b", "c"])
    archive = read(file)
    assert archive.result.outcomes().rows == found.outcomes().rows
    assert [row["attack"] for row in archive.rows()] == [row["attack"] for row in found.rows()]
    assert {row["any_1"] for row in archive.rows()} <= {"certified", "broken"}
    (tmp_path / "again").mkdir()
    write(tmp_path / "again" / "certificates.json", archive)
    for name in ("certificates.json", "certificates.links.npz"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / name).read_bytes()
    assert "every claim about 9 nodes" in str(verify(file)).lower()


def test_names_of_nodes_are_kept_where_they_say_more(tmp_path):
    _, votes = world(1)
    named = sc.Graph(N, world(1)[0].edges, nodes="abcdefghi")
    found = votes.certify(named, threat="controlled:1,nodes=b|h", nodes=[2, 5, 7])
    write(tmp_path / "certificates.json", Archive.from_result(found))
    assert read(tmp_path / "certificates.json").result.nodes.names == ("c", "f", "h")
    assert verify(tmp_path / "certificates.json").verdict == "proved"


def first_broken(told):
    return next(one for one in told["graphs"] if one["broken_size"])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda told: told["graphs"][0].update({"class": (told["graphs"][0]["class"] + 1) % 3}), "class"),
        (lambda told: first_broken(told).update(certified_size=3), "certified_size"),
        (lambda told: first_broken(told).update(certified_size=3), "broken_size"),
        (lambda told: told["graphs"][4].update(certified_size=0, broken_size=1, attack=[[0, 1]]), "attack"),
        (lambda told: first_broken(told).update(attack=[[0, 1], [0, 2], [0, 3], [0, 4]]), "attack"),
    ],
)
def test_false_claims_are_refuted(tmp_path, change, field):
    file, found = kept(tmp_path, seed=1)
    assert found.proof.broken_sizes.any()
    assert found.certified_sizes[4] == 3  # no attack on it is known
    assert field in fields(changed(file, change))


def test_more_changes_than_a_node_has_pairs_are_proved_and_refuted_in_no_time(tmp_path):
    graph, _ = world(0)
    mine = LinkVotes(np.full((N, 2), (1000, 0)), np.full((N, 2), (0, 1)))  # no links outweigh it
    write(
        tmp_path / "certificates.json", Archive.from_result(mine.certify(graph, threat="deletions:40 + additions:40"))
    )
    assert verify(tmp_path / "certificates.json").verdict == "proved"
    file, _ = kept(tmp_path)

    def claim_more(told):
        told["threat"] = {"text": "flips:1000000", "label": "any 1,000,000 flips", "most": 10**6}
        for one in told["graphs"]:
            one.update(certified_size=10**6, broken_size=None, attack=None)

    assert fields(changed(file, claim_more)) == {"certified_size"}
    assert {each.proved < 10 for each in verify(file).refuted} == {True}


def test_a_claim_that_says_less_is_true(tmp_path):
    file, _ = kept(tmp_path)
    assert not fields(changed(file, lambda told: told["graphs"][0].update(certified_size=0)))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("own", lambda own: own - 20 * (np.arange(len(own)) % 3 == 0)),
        ("votes", lambda votes: -votes),
        ("links", lambda links: links[2:]),
    ],
)
def test_changed_scores_votes_and_links_are_refuted(tmp_path, name, change):
    refuted = 0
    for seed in range(4):
        file, _ = kept(tmp_path, seed=seed)
        side = file.with_name("certificates.links.npz")
        assert not fields(repacked(file, name, lambda array: array))
        refuted += bool(fields(repacked(file, name, change)))
        side.write_bytes(side.read_bytes() + b"0")
        with pytest.raises(ArchiveError, match="other bytes"):
            verify(file)
    assert refuted >= 3


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("own", lambda own: own[:-1], "must be longer"),
        ("votes", lambda votes: votes * 2**59, "64 bits"),
        ("own", lambda own: np.full_like(own, -(2**63)), "64 bits"),
        ("links", lambda links: links[::-1], "ascending pairs"),
        ("links", lambda links: np.concatenate([links[:2], links]), "ascending pairs"),
        ("links", lambda links: links + N, "ascending pairs"),
        ("links", lambda links: links[1:], "must be shorter"),
    ],
)
def test_arrays_that_no_graph_has_are_named(tmp_path, name, change, says):
    file, _ = kept(tmp_path)
    with pytest.raises(ArchiveError, match=says):
        verify(repacked(file, name, change))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda told: told["arrays"].update(file=None), "arrays.file"),
        (lambda told: told.update(alpha=0.5), "alpha"),
        (lambda told: told.update(n_nodes=N - 1), "."),
        (lambda told: told["graphs"][0].update(node=N), r"graphs\[0\].node"),
        (lambda told: told["graphs"][0].update(node=1), r"graphs\[1\].node"),
        (lambda told: told["graphs"][0].update(certified_size=4), "certified_size"),
        (lambda told: told["graphs"][4].update(attack=[[0, 1]]), "broken_size"),
        (lambda told: first_broken(told).update(attack=[[1, 0]]), "ascending pairs"),
        (lambda told: first_broken(told).update(attack=[]), "ascending pairs"),
        (lambda told: told["threat"].update(text="delete_node:1", label="1 removed node", most=1), "threat"),
        (lambda told: told.update(node_names=["a"] * N), "node_names"),
    ],
)
def test_forms_that_nothing_has_are_named(tmp_path, change, says):
    file, _ = kept(tmp_path, seed=1)
    with pytest.raises(ArchiveError, match=says):
        verify(changed(file, change))


def test_without_its_side_file_nothing_is_proved(tmp_path):
    file, _ = kept(tmp_path)
    file.with_name("certificates.links.npz").unlink()
    with pytest.raises(ArchiveError, match="which is not beside the file"):
        verify(file)


def test_what_no_file_can_prove_is_refused(tmp_path):
    graph, votes = world(0)
    with pytest.raises(InvalidParameterError, match="link votes that a file can prove"):
        Archive.from_result(votes.certify(graph, threat="swap:1"))
    found = votes.certify(graph, threat="flips:1")
    with pytest.raises(InvalidParameterError, match="link votes that a file can prove"):
        Archive.from_result(replace(found, proof=replace(found.proof, find=None)))
    file, _ = kept(tmp_path)
    with pytest.raises(ArchiveError, match="verify proves all of it"):
        rerun(file, None, [graph], 3)


def test_threats_have_the_changes_at_one_node_that_they_allow():
    assert cells_of(read_threat("flips:2"), 2) == [(0, 2), (1, 1), (2, 0)]
    assert cells_of(read_threat("local:3,per_node=1"), 3) == [(0, 1), (1, 0)]
    assert cells_of(read_threat("deletions:1 + additions:2"), 2) == [(0, 2), (1, 1)]
    assert cells_of(read_threat("rewire:2"), 2) == [(2, 2)]
    for unknown in ("deletions:1 | additions:2", "delete_node:1", "inject:2", "swap:1", "valence:1"):
        assert cells_of(read_threat(unknown), 1) is None


def test_a_number_of_nodes_without_scores_takes_no_memory(tmp_path):
    file, _ = kept(tmp_path)
    changed(file, lambda told: told.update(n_nodes=10**7))
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError, match="'own' must be longer"):
            read(file)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_an_attack_beyond_the_budget_of_a_node_breaks_nothing(tmp_path):
    tried = 0
    for seed in range(12):
        file, found = kept(tmp_path, "local:3,per_node=1", seed)
        graph, votes = world(seed)
        wider = votes.certify(graph, threat="flips:2")
        for row in np.flatnonzero((found.certified_sizes == 3) & (wider.broken_sizes == 2)).tolist():
            sites = wider[row].attack().sites
            pairs = sorted(PAIRS[site] for site in sites)

            def claim_broken(told, row=row, pairs=pairs):
                told["graphs"][row].update(certified_size=0, broken_size=2, attack=pairs)

            before = file.read_text()
            assert fields(changed(file, claim_broken)) == {"attack"}
            file.write_text(before)
            tried += 1
    assert tried
