"""Evidence that is kept: every verdict is made again from the files; no side file can break that."""

import dataclasses
import io
import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from archive_worlds import (
    EVIDENCE,
    FILES,
    by_numbers,
    evidence_world,
    found,
    many_edges,
    small,
    tampered,
    with_records,
    written,
)
from memory_worlds import command_with_memory

import starcert as sc
from starcert import archive as archives
from starcert.archive import evidence_file, side_arrays, untrusted
from starcert.archive.evidence_file import ARRAYS, HEAD, OWN_VOTES, pack, unpack
from starcert.math.ballots import Ballots
from starcert.methods.own_votes import OwnTally, RecordedVotes
from starcert.sampling.attacked import OWN_CHUNKS, own_chunk
from starcert.sampling.draws import LANES
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertWarning

Arrays = dict[str, np.ndarray]


def side_of(path: Path) -> Path:
    return path.with_name("certificates.evidence.npz")


def replaced(path: Path, data: bytes) -> None:
    """Another side file, which the JSON file vouches for: whoever can change one can change both."""
    told = json.loads(path.read_text())
    told["evidence"] |= {"bytes": len(data), "sha256": sha256(data).hexdigest()}
    path.write_text(json.dumps(told))
    side_of(path).write_bytes(data)


def arrays_of(path: Path) -> Arrays:
    with np.load(side_of(path), allow_pickle=False) as file:
        return dict(file)


def zipped(arrays: Arrays, **changes: np.ndarray) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, array in (arrays | changes).items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=True)
            file.writestr(f"{name}.npy", content.getvalue())
    return packed.getvalue()


@pytest.mark.parametrize("name", [name for name in EVIDENCE if name != "motif"])
def test_verdicts_are_made_again_from_what_was_written(tmp_path, name):
    archive = evidence_world(name)
    path = written(tmp_path, archive)
    assert {each.name for each in tmp_path.iterdir()} == FILES
    again = archives.read(path)
    assert again == archive
    assert (again.alpha, again.counts_alpha) == (0.01, 0.0025)
    assert (again.votes.history == "stopped") is (name == "stopped")
    for mine, theirs in zip(archive.certificates, again.certificates, strict=True):
        assert mine.verdicts == theirs.verdicts
        assert (mine.alpha, mine.any_flips, mine.frontier) == (theirs.alpha, theirs.any_flips, theirs.frontier)
    result = archives.verify(path)
    assert (result.verdict, result.mismatches) == ("proved", ())
    checks = [each for each in result.evidence if each is not None]
    assert len(checks) == 3
    assert sum(each.levels for each in checks) == sum(len(one.verdicts.certified) for one in archive.certificates)
    assert sum(each.broken for each in checks) == sum(len(one.broken) for one in archive.certificates)
    assert "attacks were proved in balls" in str(result)


@pytest.mark.parametrize("name", ["typed edges", "three values", "nodes"])
def test_the_worlds_with_values_and_targets_are_not_empty(name):
    verdicts = [v for one in evidence_world(name).certificates for v in one.verdicts.levels.values()]
    assert "certified" in {v.kind for v in verdicts}
    assert any("by weighing" in v.why for v in verdicts)
    attacks = [v.attack for v in verdicts if v.attack is not None]
    assert all((attack.values == ()) == (name == "nodes") for attack in attacks)


def test_the_worlds_are_not_empty():
    """Levels are certified by weighing, by votes of their own and by flip counts, and some are broken."""
    why = [
        v.why for name in EVIDENCE for one in evidence_world(name).certificates for v in one.verdicts.levels.values()
    ]
    kinds = [
        v.kind for name in EVIDENCE for one in evidence_world(name).certificates for v in one.verdicts.levels.values()
    ]
    assert kinds.count("broken") > 3 < kinds.count("certified")
    for argument in ("by flip counts", "by weighing", "votes of their own", "votes at an attacked object"):
        assert any(argument in each for each in why), argument


def test_targets_of_one_graph_share_its_sites(tmp_path):
    path = written(tmp_path, evidence_world("nodes"))
    arrays = arrays_of(path)
    assert (len(arrays["graphs"]), len(arrays["axes"])) == (3, 15)
    again = archives.read(path)
    assert [graph.sizes for graph in again.evidence] == [(5, 10)] * 3
    heads = arrays["heads"].copy()
    heads[len(HEAD) + HEAD.index("n_sites")] = 14
    replaced(path, zipped(arrays, heads=heads))
    with pytest.raises(ArchiveError, match="have the 15 sites of the graph"):
        archives.read(path)


def test_the_motif_data(tmp_path):
    motif = evidence_world("motif")
    path = written(tmp_path, motif)
    result = archives.verify(path)
    assert (result.verdict, result.mismatches) == ("proved", ())
    assert sum(each.levels for each in result.evidence) > 3
    assert sum(each.attacks for each in result.evidence) > 35
    assert [one.verdicts for one in result.archive.certificates] == [one.verdicts for one in motif.certificates]


def test_equal_evidence_makes_equal_bytes(tmp_path):
    path = written(tmp_path, evidence_world("edges"))
    first = path.read_bytes(), side_of(path).read_bytes()
    archives.write(path, archives.read(path))
    assert (path.read_bytes(), side_of(path).read_bytes()) == first
    assert list(arrays_of(path)) == list(ARRAYS)


def test_stopped_votes_without_evidence(tmp_path):
    archive = small(many_edges, sc.Noise(all=0.1), plan="decided", evidence=False, samples=5_000, max_radius=1)
    path = written(tmp_path, archive)
    assert {each.name for each in tmp_path.iterdir()} == {"certificates.json", "certificates.chunks.npz"}
    assert json.loads(path.read_text())["bounds"] == "anytime"
    again = archives.read(path)
    assert again == archive
    assert again.votes.history == "stopped"
    assert again.bounds.agrees_with(archive.certificates.bounds)
    assert archives.verify(path).verdict == "proved"
    bold = archive.certificates[2].p_lower + 1e-6
    assert found(tampered(path, 2, p_lower=bold)) == [(2, "p_lower")]
    told = json.loads(path.read_text())
    del told["bounds"]  # as if nobody had looked: the bounds of Clopper and Pearson are tighter
    path.write_text(json.dumps(told))
    assert archives.verify(path).verdict == "proved"


def test_bold_claims_are_found(tmp_path):
    archive = evidence_world("edges")
    path = written(tmp_path, archive)
    graph = next(i for i, one in enumerate(archive.certificates) if one.broken)
    claims = json.loads(path.read_text())["graphs"][graph]["claims"]
    (broken, *_), flips = claims["broken"], claims["any_flips"]
    further = [[radius[0] + 1] for radius in claims["frontier"]]
    assert found(tampered(path, graph, frontier=further)) == [(graph, "frontier")]
    assert found(tampered(path, graph, any_flips=flips + 1)) == [(graph, "any_flips")]
    for change in (
        {"level": [broken["level"][0] + 1]},
        {"sites": [broken["sites"][0] + 1, *broken["sites"][1:]]},
        {"votes": [broken["votes"][0] + 64, broken["votes"][1]]},
        {"delta": broken["delta"] / 2},
    ):
        assert found(tampered(path, graph, broken=[broken | change])) == [(graph, "broken")]
    assert found(tampered(path, graph, broken=[])) == []
    robust = next(i for i, one in enumerate(archive.certificates) if one.any_flips)
    assert found(tampered(path, robust, any_flips=0)) == []


def test_flips_decide_and_not_the_claims(tmp_path):
    """Other flips of the same votes: what they no longer prove is a false claim."""
    path = written(tmp_path, evidence_world("no own votes"))
    arrays = arrays_of(path)
    every = np.where(np.arange(len(arrays["bits"])) % 2, 0b11, 0xFF).astype(np.uint8)  # all ten pairs, in each of them
    replaced(path, zipped(arrays, bits=every))
    result = archives.verify(path)
    assert result.verdict == "refuted"
    assert "frontier" in {field for _, field in found(result)}


def test_without_the_side_file_there_is_p_a(tmp_path):
    archive = evidence_world("edges")
    path = written(tmp_path, archive)
    side_of(path).unlink()
    with pytest.warns(StarcertWarning, match=r"certificates\.evidence\.npz, which is not beside .*p_A"):
        again = archives.read(path)
    assert again.counts_alpha == 0.0025
    for mine, theirs in zip(archive.certificates, again.certificates, strict=True):
        assert theirs.verdicts is None
        assert theirs.frontier.radii == mine.frontier_by_p_A.radii
    with pytest.raises(ArchiveError, match=r"certificates\.evidence\.npz, which is not beside"):
        archives.verify(path)
    archives.write(path, again)
    assert not side_of(path).exists()
    assert archives.read(path) == again


@pytest.mark.parametrize("place", [0, 1 / 3, 2 / 3, 1])
def test_one_flipped_bit_is_refused(tmp_path, place):
    path = written(tmp_path, evidence_world("edges"))
    data = bytearray(side_of(path).read_bytes())
    data[int(place * (len(data) - 1))] ^= 1
    side_of(path).write_bytes(data)
    for look in (archives.read, archives.verify):
        with pytest.raises(ArchiveError, match=r"is not the file that certificates\.json was written with"):
            look(path)
    side_of(path).write_bytes(data[:-1])
    with pytest.raises(ArchiveError, match="is not the file that"):
        archives.read(path)


@pytest.mark.parametrize(
    "name", ["../certificates.evidence.npz", "/tmp/x.evidence.npz", "other.npz", "", 7, "\0.evidence.npz"]
)
def test_side_files_are_beside_the_file(tmp_path, name):
    path = written(tmp_path, evidence_world("edges"))
    told = json.loads(path.read_text())
    told["evidence"]["file"] = name
    path.write_text(json.dumps(told))
    with pytest.raises(ArchiveError, match=r"'evidence\.file' must"):
        archives.read(path)


def test_a_pipe_is_no_side_file(tmp_path):
    path = written(tmp_path, evidence_world("edges"))
    side_of(path).unlink()
    os.mkfifo(side_of(path))
    with pytest.raises(ArchiveError, match="not a plain file"):
        archives.read(path)


def _head(name: str, value: int) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        heads = arrays["heads"].copy()
        heads[HEAD.index(name)] = value
        return {"heads": heads}

    return change


def _first(name: str, value: int) -> Callable[[Arrays], Arrays]:
    def change(arrays: Arrays) -> Arrays:
        changed = arrays[name].copy()
        changed[0] = value
        return {name: changed}

    return change


def _other_sums(arrays: Arrays) -> Arrays:
    """Chunks that add up to as many votes modulo 2⁶⁴."""
    samples = np.concatenate([arrays["samples"], np.full(2048, 2**53)])
    against = np.concatenate([arrays["against"], np.zeros(2048, dtype=np.int64)])
    chunks = len(arrays["samples"]) // 3
    kept = slice(0, chunks)
    heads = arrays["heads"].copy()
    heads[HEAD.index("chunks")] += 2048
    return {
        "heads": heads,
        "samples": np.concatenate([arrays["samples"][kept], samples[-2048:], arrays["samples"][chunks:]]),
        "against": np.concatenate([arrays["against"][kept], against[-2048:], arrays["against"][chunks:]]),
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda arrays: {"graphs": arrays["graphs"][::-1]}, "'graphs' must be numbers"),
        (lambda arrays: {"graphs": arrays["graphs"] + 1}, "'graphs' must be numbers"),
        (lambda arrays: {"graphs": arrays["graphs"].astype(np.int32)}, "of the type <i8"),
        (lambda arrays: {"graphs": arrays["graphs"][:, None]}, "one row of numbers"),
        (lambda arrays: {"graphs": np.array([{}], dtype=object)}, "of the type <i8"),
        (lambda arrays: {"bits": arrays["bits"][:-1]}, "'bits' must be longer"),
        (lambda arrays: {"bits": np.append(arrays["bits"], arrays["bits"][:1])}, "'bits' must be shorter"),
        (lambda arrays: {"more": arrays["bits"]}, "its arrays must be graphs, heads"),
        (_head("n_sites", 2**40), "be label, n_sites"),
        (_head("n_sites", -1), "be label, n_sites"),
        (_head("n_sites", 2**22), "'axes' must be longer"),
        (_head("votes", -5), "be of the votes"),
        (_head("votes", 2**62), "be of the votes"),
        (_head("chunks", -1), "be of the votes"),
        (_head("label", 2), "be of the votes"),
        (_head("form", 7), "be label, n_sites"),
        (_head("form", 1), "'lengths' must be longer"),
        (_head("attacks", 2**61), "attacks with votes of their own"),
        (_head("attacks", -1), "attacks with votes of their own"),
        (_head("most", -1), "have at most 0 attacks with votes of their own"),
        (_head("most", 640), "be at most 640 votes in all"),
        (_head("most", -2), "be label, n_sites"),
        (_head("label", 1), "the evidence of graph 0"),
        (_first("axes", 1), "'axes'"),
        (_first("samples", 10), "be at most the samples"),
        (_first("samples", 1999), "be of"),
        (_first("classes", 0), "classes"),
        (_first("bits", 255), "evidence|cannot be proved again"),
        (_first("own_counts", 200), "evidence|'own_numbers'"),
        (_first("own_chunks", 0), "own_chunks"),
        (_first("own_sizes", -1), "'own_sites' must be longer"),
        (_first("own_chunks", 2**60), "be 1 or more, for at most"),
        (_first("own_sites", 77), "attack sites of the axes"),
        (_first("own_numbers", 11), "count flips on axes"),
        (_other_sums, "be of the votes"),
    ],
)
def test_hostile_arrays_are_refused(tmp_path, change, said):
    path = written(tmp_path, evidence_world("edges"))
    arrays = arrays_of(path)
    replaced(path, zipped(arrays, **change(arrays)))
    if said.startswith("evidence|"):  # what is wrong shows when it is used, if at all
        try:
            assert archives.verify(path).verdict in ("proved", "refuted")
        except ArchiveError:
            return
    else:
        with pytest.raises(ArchiveError, match=said):
            archives.read(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda arrays: {"shown": arrays["shown"][:-1]}, "'shown' must be longer"),
        (lambda arrays: {"values": np.append(arrays["values"], arrays["values"][:1])}, "'values' must be shorter"),
        (_first("shown", 3), "show values that their sites have"),
        (_first("values", 0), "have the clean values"),
        (_first("values", 200), "have the clean values"),
        (_first("axes", 2), "evidence|'capacity'|clean values|be the sizes"),
        (_first("own_sites", 2**31), "attack sites of the axes"),
    ],
)
def test_hostile_values_are_refused(tmp_path, change, said):
    path = written(tmp_path, evidence_world("typed edges"))
    arrays = arrays_of(path)
    assert list(arrays) == [*ARRAYS, *evidence_file.VALUED]
    replaced(path, zipped(arrays, **change(arrays)))
    with pytest.raises(ArchiveError, match=said):
        archives.read(path)


def test_values_belong_to_laws_on_more_than_two(tmp_path):
    """Neither file is read with the arrays of the other."""
    for name, arrays in (("typed edges", ARRAYS), ("flips of typed edges", ARRAYS | evidence_file.VALUED)):
        path = written(tmp_path, evidence_world(name))
        kept = arrays_of(path)
        replaced(path, zipped({each: kept.get(each, np.zeros(0, dtype=np.uint8)) for each in arrays}))
        with pytest.raises(ArchiveError, match="its arrays must be graphs, heads"):
            archives.read(path)


def test_claims_about_other_values_are_found(tmp_path):
    archive = evidence_world("typed edges")
    path = written(tmp_path, archive)
    graph = next(i for i, one in enumerate(archive.certificates) if one.broken)
    (broken, *_) = json.loads(path.read_text())["graphs"][graph]["claims"]["broken"]
    other = [2 if value == 1 else 1 for value in broken["values"]]
    for change in ({"values": other}, {"values": []}):
        assert found(tampered(path, graph, broken=[broken | change])) == [(graph, "broken")]


def test_votes_that_are_not_there_are_not_made_up(tmp_path):
    archive = evidence_world("edges")
    path = written(tmp_path, archive)
    lost = [graph and type(graph)(graph.record, graph.sites, graph.most, {}) for graph in archive.evidence]
    replaced(path, pack(lost))
    assert "broken" in {field for _, field in found(archives.verify(path))}
    with pytest.raises(
        InvalidParameterError, match="written by an earlier version that drew other votes: certify the graphs again"
    ):
        RecordedVotes(1000, 2, {}).count([(1, 2)], 0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a file of arrays"),
        (b"PK\x05\x06" + bytes(18), "its arrays must be"),
        (b"\x93NUMPY" + bytes(500), "not a file of arrays"),
    ],
)
def test_what_is_no_side_file_is_refused(tmp_path, data, said):
    path = written(tmp_path, evidence_world("edges"))
    replaced(path, data)
    with pytest.raises(ArchiveError, match=said):
        archives.read(path)


def test_bombs_are_not_unpacked(tmp_path, monkeypatch):
    path = written(tmp_path, evidence_world("edges"))
    arrays = arrays_of(path)
    bomb = zipped(arrays, bits=np.zeros(2**24, dtype=np.uint8))
    assert len(bomb) < 2**17
    replaced(path, bomb)
    monkeypatch.setattr(side_arrays, "MAX_UNPACKED", 2**20)
    with pytest.raises(ArchiveError, match="more than 1,048,576 are not unpacked"):
        archives.read(path)
    # It may say to be small: no more than it says is unpacked.
    member = zipfile.ZipFile(io.BytesIO(bomb)).getinfo("bits.npy")
    at = bomb.index(b"bits.npy", member.header_offset + 100) - 46
    assert bomb[at : at + 4] == b"PK\x01\x02"
    liar = bomb[: at + 24] + (1000).to_bytes(4, "little") + bomb[at + 28 :]
    replaced(path, liar)
    with pytest.raises(ArchiveError, match=r"cannot be unpacked|as long as it says"):
        archives.read(path)
    # A list of members without end is not read either.
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as file:
        for number in range(1000):
            file.writestr(f"{number}.npy", b"")
    replaced(path, many.getvalue())
    with pytest.raises(ArchiveError, match="not a file of arrays"):
        archives.read(path)


def _as_long_as(name: str, length: int) -> Callable[[Arrays], Arrays]:
    """One array that is far longer than the votes are many."""
    return lambda arrays: {name: np.zeros(length, dtype=arrays[name].dtype)}


def _with_head(name: str, value: int, *longer: str) -> Callable[[Arrays], Arrays]:
    """A head that claims as much, and the arrays that it speaks of."""

    def change(arrays: Arrays) -> Arrays:
        more = {each: np.append(arrays[each], np.ones(value, dtype=arrays[each].dtype)) for each in longer}
        return _head(name, value)(arrays) | more

    return change


def _with_many_own_votes(arrays: Arrays) -> Arrays:
    """As many votes at attacked graphs as are allowed, all of them at the same one."""
    attacks = 2**18
    heads = arrays["heads"].copy()
    heads[[HEAD.index("attacks"), HEAD.index("most")]] = attacks, 2**60
    ones = np.ones(attacks, dtype=np.int64)
    counts = np.tile(np.array([64, 0], dtype=np.uint8), attacks)
    return {
        "heads": heads,
        "own_sizes": ones,
        "own_chunks": ones,
        "own_sites": ones.astype(np.uint32),
        "own_counts": counts,
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_as_long_as("bits", 2**27), "more than 16,777,216 are not unpacked of a file of"),
        (_as_long_as("bits", 2**23), "'bits' must be shorter"),
        (_as_long_as("graphs", 2**20), "'graphs' must be numbers of graphs"),
        (_as_long_as("heads", 2**20), "be of the votes"),
        (_with_head("chunks", 2**19, "samples", "against"), "be of the votes"),
        (_with_head("votes", 2**22, "classes"), "be of the votes"),
        (_with_head("n_sites", 2**22 + 1, "axes"), "be label, n_sites"),
        (_with_head("attacks", 2**19, "own_sizes", "own_chunks"), "attacks with votes of their own"),
        (_with_many_own_votes, "name each attack once"),
    ],
    ids=["ratio", "bits", "graphs", "heads", "chunks", "votes", "sites", "attacks", "own votes"],
)
def test_no_side_file_takes_more_memory_than_its_votes_do(tmp_path, change, said):
    """Arrays of 8 to 128 MiB in a few kilobytes: none of it is unpacked."""
    path = written(tmp_path, evidence_world("edges"))
    arrays = arrays_of(path)
    replaced(path, zipped(arrays, **change(arrays)))
    done = command_with_memory(2**25, "verify", path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"Error: {side_of(path)}: ")
    assert said in done.stderr


def test_reading_takes_at_most_twice_the_arrays(tmp_path):
    votes, n_sites = 1_600, 2**16
    rng = np.random.default_rng(0)
    samples, ones = np.array([2 * votes]), np.ones(votes, dtype=np.int64)
    counts = {"labels": np.array([0]), "n_sites": np.array(n_sites), "samples": samples, "kept": np.array([votes])}
    bits = rng.integers(256, size=(votes, n_sites // 8), dtype=np.uint8)
    record = Ballots.from_arrays(counts | {"answers": ones[:, None], "bits": bits})
    own = {
        (int(site),): [
            OwnTally(np.array([32, 32]), rng.integers(n_sites, size=(32, 1), dtype=np.int64)) for _ in range(20)
        ]
        for site in range(200)
    }
    kept = evidence_file.GraphEvidence(record, (np.arange(n_sites),), 2**20, own)
    data = pack([kept])
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        size = sum(member.file_size for member in file.infolist())
    (tmp_path / "side").write_bytes(data)
    with (tmp_path / "side").open("rb") as file:
        tracemalloc.start()
        again = unpack(file, counts=[[votes, votes]], noise=sc.Noise(all=0.1))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert again == [kept]
    assert peak < 1.5 * size


def test_no_file_of_random_bytes_breaks_it():
    archive = evidence_world("edges")
    good = pack(archive.evidence)
    rng = np.random.default_rng(0)
    for _ in range(200):
        data = bytearray(good)
        for place in rng.integers(len(data), size=3):
            data[place] = rng.integers(256)
        try:
            unpack(io.BytesIO(data), counts=archive.votes.counts.tolist(), noise=archive.noise)
        except untrusted.MalformedError:
            continue


@pytest.mark.parametrize("capacity", [9, 11])
def test_evidence_is_of_the_votes_beside_it(tmp_path, capacity):
    path = written(tmp_path, evidence_world("edges"))
    told = json.loads(path.read_text())
    counts = told["graphs"][0]["estimation"]
    told["graphs"][0]["estimation"] = [counts[0] - 1, counts[1] + 1]
    path.write_text(json.dumps(told))
    with pytest.raises(ArchiveError, match="be of the votes"):
        archives.read(path)
    told["graphs"][0] |= {"estimation": counts, "capacity": [capacity]}
    path.write_text(json.dumps(told))
    with pytest.raises(ArchiveError, match="be the sizes of its axes"):
        archives.read(path)


def _listed(graph: evidence_file.GraphEvidence) -> Ballots:
    flips = graph.record.matrix(np.arange(graph.record.n_sites))
    arrays = graph.record.to_arrays()
    del arrays["bits"]
    starts = np.concatenate([[0], np.cumsum(flips.sum(axis=1))])
    return Ballots.from_arrays(arrays | {"starts": starts, "positions": np.nonzero(flips)[1]})


def test_flips_as_positions_prove_the_same(tmp_path):
    archive = evidence_world("by region")
    path = written(tmp_path, with_records(archive, _listed))
    again = archives.read(path)
    assert again.evidence[0].record.positions is not None
    assert again.evidence != archive.evidence
    assert [one.verdicts for one in again.certificates] == [one.verdicts for one in archive.certificates]
    assert archives.verify(path).verdict == "proved"


def test_flip_numbers_alone_prove_what_is_certified_by_them(tmp_path):
    base = small(many_edges, sc.Noise(all=sc.Flip(delete=0.25, add=0.0)), own_samples=0)
    archive = by_numbers(base)
    path = written(tmp_path, archive)
    assert archives.read(path) == archive
    result = archives.verify(path)
    assert result.verdict == "proved"
    assert sum(each.levels for each in result.evidence) > 1
    assert {v.why for one in archive.certificates for v in one.verdicts.levels.values() if v.kind == "certified"} == {
        "by flip counts"
    }


def test_a_confirmed_archive_keeps_its_verdicts(tmp_path):
    archive = evidence_world("a box")
    again = archives.read(written(tmp_path, archive))
    confirmed = again.confirmed()
    assert confirmed.capacities == archive.capacities
    assert [one.verdicts for one in confirmed.certificates] == [one.verdicts for one in archive.certificates]


def test_names_of_files_are_kept(tmp_path):
    path = tmp_path / ".run:1 é.x.json"
    archives.write(path, evidence_world("edges"))
    assert {each.name for each in tmp_path.iterdir()} == {path.name, ".run:1 é.x.evidence.npz", ".run:1 é.x.chunks.npz"}
    assert archives.read(path) == evidence_world("edges")


def test_evidence_of_other_graphs_is_refused():
    archive = evidence_world("edges")
    for wrong, said in (
        (archive.evidence[:2], "have one entry"),
        (archive.evidence[::-1], r"evidence\[0\]"),
    ):
        with pytest.raises(InvalidParameterError, match=said):
            dataclasses.replace(archive, evidence=wrong)


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    path = written(tmp_path, evidence_world("edges"))
    told = json.loads(path.read_text())
    for name in ("x" * 10_000 + ".evidence.npz", "a\0b.evidence.npz", "../certificates.evidence.npz"):
        told["evidence"]["file"] = name
        path.write_text(json.dumps(told))
        with pytest.raises(ArchiveError, match=r"'evidence.file' must be the name of a file in the same folder"):
            archives.verify(path)


def test_a_header_is_read_no_further_than_headers_are_long(tmp_path):
    """Version 2.0 of numpy's format has four bytes for the length of a header: up to 4 GB of spaces."""
    path = written(tmp_path, evidence_world("edges"))
    packed, arrays = io.BytesIO(), arrays_of(path)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name in arrays:
            header = str({"descr": "<i8", "fortran_order": False, "shape": (0,)}).ljust(2**20 - 1) + "\n"
            file.writestr(f"{name}.npy", b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header.encode())
    replaced(path, packed.getvalue())
    with pytest.raises(ArchiveError, match="a header of 1,048,576 bytes; more than 10,000 are not read"):
        archives.read(path)


def test_chunks_of_own_votes_are_such_as_samplers_draw():
    assert (min(OWN_CHUNKS), LANES) == OWN_VOTES
    assert all(OWN_VOTES[0] <= len(own_chunk(chunk)) <= OWN_VOTES[1] for chunk in range(20))
