"""Votes drawn again with model and data: honest archives are as they were, forged chunks are refuted one by one."""

import json
import shutil
from hashlib import sha256
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from archive_worlds import many_edges, sized
from asking import how_to
from target_worlds import Busy

import starcert as sc
from starcert.archive import Archive, read, rerun, verify, write
from starcert.archive.side_arrays import drawn_form, pack_arrays
from starcert.classifiers import Classifier, from_callable
from starcert.classifiers.base import Scores
from starcert.math import votes as by_chunk
from starcert.system.errors import ArchiveError, InvalidParameterError

ROWS = sc.Bits.rows([[1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0], [1, 1, 0, 1, 0, 0]])
GRAPHS = [sc.Graph.from_networkx(graph) for graph in (nx.path_graph(5), nx.complete_graph(5), nx.star_graph(4))]
TYPED = sc.Graph(4, [(0, 1), (1, 2), (2, 3)], edge_types=["a", "b", "a"], type_names=("a", "b"))
WHEEL = sc.Graph(9, [(i, i + 1) for i in range(8)] + [(0, 2), (0, 3), (0, 4), (5, 8)])
APART = sc.Noise(all=sc.Flip(delete=0.1, add=0.2))
TYPES = sc.Noise(all=sc.Edges(delete=0.3, add=0.1, change=0.2, types=2))


def many_bits(rows):
    return (rows.sum(axis=1) > 2).astype(int)


def share(rows):
    return rows.mean(axis=1)


def typed_edges(batch):
    return ((batch.adjacency() == 2).sum(axis=(1, 2)) > 2).astype(int)


def edges(function, noise, n_classes=2, **how):
    return sc.SmoothedClassifier(from_callable(function, n_classes=n_classes), noise, **how)


def of_bits(p=0.1, function=many_bits):
    return sc.SmoothedClassifier(from_callable(function, on="vectors", n_classes=2), sc.Noise(all=p))


def of_numbers():
    base = from_callable(share, on="vectors", outputs=sc.ValueRange(0, 1, 16))
    return sc.SmoothedRegressor(base, sc.Noise(all=0.1))


ALL_TARGETS = {"evidence": sc.Evidence(own_samples=0), "threat": "deletions:2"}
OWN = {"evidence": True, "own_samples": 2_000}
WORLDS = {
    "counts": (of_bits, ROWS, {}),
    "three classes": (lambda: edges(sized, APART, 3), GRAPHS[1:], {}),
    "fallback": (
        lambda: edges(many_edges, APART, fallback=sc.Fallback([1, 0, 1], threshold=0.6)), GRAPHS, {}
    ),
    "evidence": (lambda: edges(many_edges, APART), GRAPHS, OWN),
    "stopped": (lambda: edges(many_edges, APART), GRAPHS, {**OWN, "plan": "decided", "chunk_size": 256}),
    "listed": (lambda: edges(many_edges, APART), GRAPHS, {**OWN, "threat": "deletions:1"}),
    "typed": (
        lambda: sc.SmoothedClassifier(from_callable(typed_edges, on="batch", n_classes=2), TYPES), [TYPED], OWN
    ),
    "nodes": (lambda: sc.SmoothedClassifier(Busy(), APART), [WHEEL], {"evidence": True, "own_samples": 500}),
    "together": (lambda: sc.SmoothedClassifier(Busy(), APART), [WHEEL], ALL_TARGETS),
    "intervals": (of_numbers, ROWS, {}),
    "listed intervals": (of_numbers, ROWS, {"threat": "deletions:1"}),
}  # fmt: skip


def certified(name, folder: Path) -> Path:
    """The archive of a world, in chunks of 256 votes."""
    make, objects, how = WORLDS[name]
    result = make().certify(objects, **how_to(**{"samples": 2_000, "seed": 1, "chunk_size": 256, **how}))
    claims = {"claims": [result.at_most_changed("deletions:2")]} if name == "together" else {}
    write(folder / "certificates.json", Archive.from_result(result, **claims))
    return folder / "certificates.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return {name: certified(name, tmp_path_factory.mktemp("again")) for name in WORLDS}


@pytest.fixture
def copied(made, tmp_path):
    def copy(name) -> Path:
        shutil.copytree(made[name].parent, tmp_path, dirs_exist_ok=True)
        return tmp_path / "certificates.json"

    return copy


def forge(path: Path, suffix: str, change) -> None:
    """Changes arrays of a side file; its digest in the JSON file is right again."""
    side = path.with_name(f"certificates{suffix}")
    with np.load(side) as file:
        arrays = {name: file[name].copy() for name in file.files}
    change(arrays)
    data = pack_arrays({name: each.dtype.str for name, each in arrays.items()}, {n: [a] for n, a in arrays.items()})
    old = sha256(side.read_bytes()).hexdigest()
    side.write_bytes(data)
    content = json.loads(path.read_text())
    collective, drawn = content.get("collective") or {}, content["drawn"]
    for entry in (content.get("evidence"), collective.get("evidence"), drawn["counts"]):
        if entry and entry["sha256"] == old:
            entry |= {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    path.write_text(json.dumps(content))


def again(path: Path, world: str, n: int = 10**6, **how):
    make, objects, _ = WORLDS[world]
    return rerun(path, make(), objects, n, **how)


def fields(found) -> set[str]:
    return {each.field for each in found.mismatches}


@pytest.mark.parametrize("name", WORLDS)
def test_what_was_drawn_comes_out_again(made, name):
    found = again(made[name], name)
    assert found.verdict == "proved"
    assert found.mismatches == ()
    assert (found.rerun.chunks, found.rerun.tied) == (found.rerun.of, 0)


@pytest.mark.parametrize("name", WORLDS)
def test_counts_that_are_moved_between_chunks_are_refuted_by_chunk(copied, name):
    """Their sums, and so all claims, stay as they were: only who has the model can tell."""
    path = copied(name)
    archive = read(path)
    counts = archive.votes.chunks.estimation[0]
    n, targets, classes = counts.shape
    one, other = n - 3, n - 2
    places = product(range(targets), range(classes - 1))
    target, column = next(each for each in places if counts[one, each[0], -1] and counts[(other, *each)])

    def move(arrays):
        of_object = arrays["estimation"][: n * targets * (classes - 1)].reshape(n, targets, classes - 1)
        of_object[one, target, column] += 1
        of_object[other, target, column] -= 1

    forge(path, ".chunks.npz", move)
    assert verify(path).verdict == "proved"
    found = again(path, name)
    assert found.verdict == "refuted"
    assert {int(each.rsplit(" ", 1)[1]) for each in fields(found)} == {one, other}


@pytest.mark.parametrize("name", ["evidence", "stopped", "listed", "typed", "nodes"])
def test_forged_flips_and_own_votes_are_refuted(copied, name):
    path = copied(name)
    evidence = next(each for each in read(path).evidence if each is not None and len(each.record))

    def flip(arrays):
        arrays["bits"][0] ^= 1

    if evidence.record.shown is None:
        forge(path, ".evidence.npz", flip)
        found = again(path, name)
        assert any(each.startswith("flips of estimation chunk 0") for each in fields(found))
    path = copied(name)
    own = np.load(path.with_name("certificates.evidence.npz"))["own_numbers"]
    place = int(np.argmax(own > 0))

    def fewer(arrays):
        arrays["own_numbers"][place] -= 1

    forge(path, ".evidence.npz", fewer)
    assert any("of votes at attack" in each for each in fields(again(path, name)))


@pytest.mark.parametrize("name", ["together", "intervals", "listed intervals"])
def test_forged_votes_of_all_targets_are_refuted(copied, name):
    path, suffix = copied(name), ".collective.evidence.npz" if name == "together" else ".evidence.npz"

    def swap(arrays):
        answers = arrays["classes"]
        other = int(np.argmax(answers != answers[0]))
        answers[[0, other]] = answers[[other, 0]]

    forge(path, suffix, swap)
    assert "flips or answers of estimation chunk 0" in fields(again(path, name))
    path = copied(name)
    forge(path, suffix, lambda arrays: arrays["bits"].__setitem__(0, arrays["bits"][0] ^ 1))
    assert "flips or answers of estimation chunk 0" in fields(again(path, name))


def test_another_model_is_refuted_and_another_seed_too(copied):
    path = copied("counts")
    found = rerun(path, of_bits(function=lambda rows: 1 - many_bits(rows)), ROWS, 5, seed=1)
    assert found.verdict == "refuted"
    assert len(found.mismatches) == 5
    content = json.loads(path.read_text())
    content["drawn"]["seed"] = 2
    path.write_text(json.dumps(content))
    assert again(path, "counts", 5, seed=1).verdict == "refuted"


def test_what_cannot_be_compared_is_refused(copied, made, tmp_path):
    path, smoothed = copied("counts"), of_bits()
    with pytest.raises(InvalidParameterError, match="other content of object 1"):
        rerun(path, smoothed, [ROWS[0], ROWS[0], ROWS[2]])
    with pytest.raises(InvalidParameterError, match="be the 3 of the file"):
        rerun(path, smoothed, ROWS[:2])
    with pytest.raises(InvalidParameterError, match="have the noise of the file"):
        rerun(path, of_bits(0.2), ROWS)
    with pytest.raises(InvalidParameterError, match="be a SmoothedClassifier"):
        rerun(path, of_numbers(), ROWS)
    with pytest.raises(InvalidParameterError, match="be that of a row, such as '0'"):
        rerun(path, smoothed, ROWS, name="nobody")
    content = json.loads(path.read_text())
    content["drawn"]["backend"] = "cuda"
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidParameterError, match="work on 'cuda', as in the file"):
        rerun(path, smoothed, ROWS)
    copied("counts").with_name("certificates.chunks.npz").unlink()
    assert verify(path).verdict == "proved"
    with pytest.raises(ArchiveError, match="is without the votes of its chunks"):
        rerun(path, smoothed, ROWS)
    by_hand = sc.certify(sc.clopper_pearson(sc.Votes([[90, 10]] * 3, selection=[[9, 1]] * 3)), sc.Noise(all=0.1))
    write(path, Archive.from_result(by_hand))
    with pytest.raises(ArchiveError, match="does not say how its votes were drawn"):
        rerun(path, smoothed, ROWS)


def test_counts_that_do_not_add_up_are_refused(copied):
    path = copied("counts")
    forge(path, ".chunks.npz", lambda arrays: arrays["estimation"].__setitem__(0, arrays["estimation"][0] + 1))
    with pytest.raises(ArchiveError, match="add up to the estimation votes"):
        verify(path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda told: told.pop("keys"), "'drawn' and 'keys' must both be there"),
        (lambda told: told["keys"].pop(), "'keys' must be one for each graph"),
        (lambda told: told["drawn"].update(chunk_size=0), "chunk_size' must be a whole number from 1"),
        (lambda told: told["drawn"].update(chunk_size=1), "'selection' must be longer"),
        (lambda told: told["drawn"].update(first_chunk=0), "first_chunk' must be a whole number from 1"),
        (lambda told: told["drawn"]["counts"].update(sha256="0"), "other bytes"),
        (
            lambda told: told["drawn"]["counts"].update(file="../a.chunks.npz"),
            "same folder that ends in .chunks.npz",
        ),
    ],
)
def test_malformed_premises_are_refused(copied, change, problem):
    path = copied("counts")
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ArchiveError, match=problem):
        verify(path)


def test_a_seed_chooses_chunks_and_a_name_their_row(made):
    found = again(made["evidence"], "evidence", 6, seed=5)
    assert (found.rerun.chunks, found.rerun.seed) == (6, 5)
    assert "6 of " in str(found)
    assert "chosen by the seed 5" in str(found)
    of_one = again(made["evidence"], "evidence", 10**6, name="1")
    assert 9 <= of_one.rerun.of < found.rerun.of
    assert again(made["counts"], "counts", 1).rerun.seed != again(made["counts"], "counts", 1).rerun.seed


def test_the_chance_to_find_a_forgery_is_what_is_said(copied):
    """One forged chunk of nine for each of three rows: how often n of 27 chunks find one of the two that differ."""
    path, found = copied("counts"), 0

    def move(arrays):
        arrays["estimation"][[0, 1]] += np.array([1, -1], dtype=np.int16).astype(np.uint16)

    forge(path, ".chunks.npz", move)
    tries = [again(path, "counts", 9, seed=seed) for seed in range(60)]
    found = sum(each.verdict == "refuted" for each in tries)
    assert abs(found / 60 - (1 - (18 * 17) / (27 * 26))) < 4 * np.sqrt(0.25 / 60)


class Close(Classifier):
    """Two classes that tie on half of the copies; which wins there is a matter of rounding."""

    n_classes, description = 2, "close"

    def __init__(self, winner: int) -> None:
        self.winner = winner

    def scored(self, graphs):
        odd = graphs.values.sum(axis=1) % 2
        numbers = np.stack([odd, np.zeros(len(odd))], axis=1).astype(float)
        return Scores(np.where(odd == 0, self.winner, 0), numbers, 1e-9)

    def classify(self, graphs):
        return self.scored(graphs).answers


def test_ties_are_counted_apart(tmp_path):
    one, other = (sc.SmoothedClassifier(Close(winner), sc.Noise(all=0.1)) for winner in (0, 1))
    result = one.certify(ROWS, samples=1_000, seed=1, evidence=sc.Evidence(own_samples=0))
    write(tmp_path / "close.json", Archive.from_result(result))
    found = rerun(tmp_path / "close.json", other, ROWS, 100)
    assert (found.verdict, found.rerun.tied) == ("proved", found.rerun.chunks)
    assert "votes differ only where classes tie" in str(found)


def test_counts_that_would_take_too_much_are_not_kept(monkeypatch, tmp_path):
    monkeypatch.setattr("starcert.voting.vote_loop.MAX_CHUNK_COUNTS", 10)
    result = of_bits().certify(ROWS, samples=1_000, seed=1)
    assert result.votes.chunks.estimation is None
    write(tmp_path / "a.json", Archive.from_result(result))
    assert {each.name for each in tmp_path.iterdir()} == {"a.json"}
    assert read(tmp_path / "a.json").votes.chunks.keys == result.votes.chunks.keys


def test_a_large_run_takes_a_megabyte(tmp_path):
    """10,000 graphs with 100 chunks of 1,000 votes each."""
    rng, n = np.random.default_rng(1), 100
    counts = rng.binomial(1_000, rng.beta(1, 20, size=(10_000, 1)), size=(10_000, n))
    arrays = tuple(np.stack([1_000 - row, row], axis=1)[:, None].astype(np.uint16) for row in counts)
    keys = tuple(f"{number:064x}" for number in range(10_000))
    drawn = by_chunk.ChunkCounts(1, 1_000, None, "cpu", keys, None, arrays)
    totals = counts.sum(axis=1)
    votes = sc.Votes(np.stack([1_000 * n - totals, totals], axis=1), chunks=drawn)
    sides = {}
    entry = drawn_form("large.chunks.npz", votes, sides)
    assert entry["drawn"].counts.bytes == len(sides["large.chunks.npz"]) < 1.5e6
