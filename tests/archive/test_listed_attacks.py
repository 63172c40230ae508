"""Threats that list their attacks, in files: sizes are proved from the list, and a list that was changed is found."""

import dataclasses
import io
import json
import zipfile
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from archive_worlds import FILES, LISTED, evidence_world, found, listed_world, low, tampered, written

import starcert as sc
from starcert import archive as archives
from starcert.archive import listed_attacks
from starcert.archive.checker import evidence as checking
from starcert.archive.checker.rows import FileProofs, RowProofs
from starcert.archive.claims import Broken, Size, claims_of
from starcert.archive.evidence_file import ARRAYS, VALUED
from starcert.archive.listed_attacks import AttackIndex
from starcert.archive.threat_texts import StatedThreat
from starcert.claims import question as questions
from starcert.claims.certificate import Certificate
from starcert.math import evidence as engine
from starcert.math.attacked_sites import describe_attack, group_attacks
from starcert.objects import threats
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertWarning

TESTS = Path(__file__).parents[1]
FOLDERS = TESTS / "archive" / "kept", TESTS / "golden" / "archives"
KEPT = [path for folder in FOLDERS for path in sorted(folder.glob("*.evidence.npz"))]


def side_of(path):
    return path.with_name("certificates.evidence.npz")


def arrays_of(path):
    with np.load(side_of(path), allow_pickle=False) as file:
        return dict(file)


def changed(path, edit=None, **arrays):
    """The file with an edited JSON, and with other arrays in its side file, which it vouches for."""
    told = json.loads(path.read_text())
    if arrays:
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays_of(path) | arrays)
        side_of(path).write_bytes(packed.getvalue())
        digest = {"bytes": len(packed.getvalue()), "sha256": sha256(packed.getvalue()).hexdigest()}
        told["evidence"] |= digest
    if edit is not None:
        edit(told)
    path.write_text(json.dumps(told))
    return path


def without(path, number, size, row):
    """The arrays of a file in which one attack is no longer on the list, and the number of its size less by one."""
    arrays = arrays_of(path)
    lists, listed, place = arrays["lists"].copy(), arrays["listed"], 0
    start, at, shapes = 0, 0, []
    told = json.loads(path.read_text())["listed"]
    for each, one in enumerate(told):
        for of_size in range(1, len(one["attacks"]) + 1):
            n_blocks, place = int(lists[place]), place + 1
            for _ in range(n_blocks):
                rows, sites = map(int, lists[place : place + 2])
                if (each, of_size) == (number, size) and not shapes:
                    shapes.append((place, at, rows, sites))
                at, place = at + rows * sites, place + 2
    ((place, start, rows, sites),) = shapes
    kept = np.delete(listed[start : start + rows * sites].reshape(sites, rows), row, axis=1)
    lists[place] -= 1
    return {"lists": lists, "listed": np.concatenate([listed[:start], kept.ravel(), listed[start + rows * sites :]])}


@pytest.mark.parametrize("name", LISTED)
def test_verdicts_are_made_again_from_the_list(tmp_path, name):
    archive = listed_world(name)
    path = written(tmp_path, archive)
    assert {each.name for each in tmp_path.iterdir()} == FILES
    again = archives.read(path)
    assert again == archive
    assert again.threat == archive.threat == json.loads(path.read_text())["threat"]["text"]
    for mine, theirs in zip(archive.certificates, again.certificates, strict=True):
        assert mine.verdicts == theirs.verdicts
        assert theirs.verdicts.sizes == mine.verdicts.sizes
        assert mine.frontier == theirs.frontier
        threat = theirs.asked.threat if isinstance(theirs.asked.threat, StatedThreat) else again.threat
        assert theirs.certified(threat) == mine.certified(mine.asked.threat)
        for ask in ("verdict", "why", "attack"):
            assert getattr(theirs, ask)(threat) == getattr(mine, ask)(mine.asked.threat)
    result = archives.verify(path)
    assert (result.verdict, result.mismatches) == ("proved", ())
    kinds = [verdict.kind for one in archive.certificates for verdict in one.verdicts.sizes.values()]
    proved = [sum(getattr(each, name) for each in result.evidence) for name in ("levels", "broken")]
    assert proved == [kinds.count("certified"), kinds.count("broken")]
    first = path.read_bytes(), side_of(path).read_bytes()
    archives.write(path, again)
    assert (path.read_bytes(), side_of(path).read_bytes()) == first


def test_the_worlds_are_not_empty():
    verdicts = [
        (name, verdict)
        for name in LISTED
        for one in listed_world(name).certificates
        for verdict in one.verdicts.sizes.values()
    ]
    for argument in ("by weighing", "votes of their own", "votes at an attacked object", "no votes are left"):
        assert any(argument in verdict.why for _, verdict in verdicts), argument
    valued = {name for name, verdict in verdicts if verdict.attack is not None and verdict.attack.values}
    assert valued == {"changed types", "three values"}
    assert {2} == {max(one.verdicts.sizes, default=2) for one in listed_world("rewire").certificates[::2]}


@pytest.mark.parametrize("name", ["rewire", "three values", "nodes", "from outside"])
def test_without_evidence_levels_and_numbers_are_stated(tmp_path, name):
    archive = LISTED[name](evidence=False)
    path = written(tmp_path, archive)
    assert {each.name for each in tmp_path.iterdir()} == {"certificates.json", "certificates.chunks.npz"}
    again = archives.read(path)
    assert again == archive
    assert [each.counts for each in again.asked] == [each.counts for each in archive.asked]
    assert [each.attacks for each in again.asked] == [()] * len(again.asked)
    for mine, theirs in zip(archive.certificates, again.certificates, strict=True):
        assert theirs.verdict(theirs.asked.threat) == mine.verdict(mine.asked.threat)
    assert archives.verify(path).verdict == "proved"
    graph = next(i for i, one in enumerate(archive.certificates) if not one.certified(one.asked.threat))
    assert found(tampered(path, graph, certified_size=archive.asked[0].threat.most)) == [(graph, "certified_size")]


def test_a_level_less_is_a_premise_of_a_file_without_a_list(tmp_path):
    """It cannot be found from the file alone: `verify` says that it is taken as stated, and finds it on the objects."""
    path = written(tmp_path, LISTED["rewire"](evidence=False))

    def edit(told):
        told["listed"][0] = {"levels": [[], []], "attacks": [0, 0]}
        told["graphs"][0]["claims"]["certified_size"] = 2

    result = archives.verify(changed(path, edit))
    assert result.verdict == "proved"
    assert "that none is missing is taken as stated" in str(result)
    assert found(archives.verify(path, sites=_sites())) == [(0, "listed")]


def _sites():
    """The sites of the graphs of `small`."""
    graphs = [[(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]]
    complete = [(u, v) for v in range(5) for u in range(v)]
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda graph: 0, n_classes=2), sc.Noise(all=0.1))
    return smoothed.problem([sc.Graph(5, edges) for edges in (*graphs, complete)])


def test_targets_of_one_object_share_its_list(tmp_path):
    path = written(tmp_path, listed_world("nodes"))
    told, arrays = json.loads(path.read_text()), arrays_of(path)
    assert told["listed"] == [{"levels": [[[1, 1]]], "attacks": [26]}]
    assert (arrays["lists"].tolist(), len(arrays["listed"])) == ([1, 26, 2], 52)
    again = archives.read(path)
    assert len({id(graph.attacks) for graph in again.evidence}) == 1
    other = dataclasses.replace(again.evidence[1], attacks=[[block.copy() for block in again.asked[0].attacks[0]]])
    with pytest.raises(InvalidParameterError, match="once for an object"):
        dataclasses.replace(again, evidence=(again.evidence[0], other, again.evidence[2]))


def test_other_files_have_no_further_arrays(tmp_path):
    path = written(tmp_path, evidence_world("edges"))
    assert list(arrays_of(path)) == list(ARRAYS)
    path = written(tmp_path, listed_world("three values"))
    assert list(arrays_of(path)) == [*ARRAYS, *VALUED, "lists", "listed"]


@pytest.mark.parametrize("side", KEPT, ids=lambda path: path.name)
def test_kept_files_are_written_as_they_are(tmp_path, side):
    source = side.with_name(side.name.removesuffix(".evidence.npz").removesuffix(".collective") + ".json")
    path = tmp_path / source.name
    archives.write(path, archives.read(source))
    with zipfile.ZipFile(side) as mine, zipfile.ZipFile(tmp_path / side.name) as theirs:
        assert mine.namelist() == theirs.namelist()
        if ".collective." in side.name:  # those of 0.2 have the copies on which all targets agree, too
            assert archives.read(path) == archives.read(source)
        else:
            assert all(mine.read(name) == theirs.read(name) for name in mine.namelist())
    old, new = (json.loads(each.read_text()) for each in (source, path))
    assert list(old) == list(new)
    assert old["graphs"] == new["graphs"]


def test_bold_claims_are_found(tmp_path):
    path = written(tmp_path, listed_world("changed types"))
    claims = [graph["claims"] for graph in json.loads(path.read_text())["graphs"]]
    assert [each["certified_size"] for each in claims] == [2, 1, 0]
    assert all("any_flips" not in each for each in claims)
    (broken,) = claims[1]["broken"]
    assert broken["size"] == 2
    assert found(tampered(path, 1, certified_size=2)) == [(1, "certified_size")]
    assert found(tampered(path, 2, certified_size=2)) == [(2, "certified_size")]
    assert found(tampered(path, 0, certified_size=1)) == []
    for change in (
        {"size": 1},
        {"sites": [1, 7]},
        {"votes": [broken["votes"][0] - 64, broken["votes"][1] + 64]},
        {"delta": broken["delta"] / 2},
        {"values": [2, 2]},
    ):
        assert found(tampered(path, 1, broken=[broken | change])) == [(1, "broken")]
    assert found(tampered(path, 1, broken=[])) == []
    assert found(tampered(path, 0, broken=[broken])) == [(0, "broken")]
    assert found(tampered(path, 1, frontier=[[1, 1, 1]])) == [(1, "frontier")]


def test_a_shortened_list_is_refused(tmp_path):
    path = written(tmp_path, listed_world("rewire"))
    with pytest.raises(ArchiveError, match=r"have the 20 attacks that the archive counts\. Got 19"):
        archives.verify(changed(path, **without(path, 1, 1, 0)))


@pytest.mark.parametrize("name", ["deletions", "changed types"])
def test_a_list_too_short_for_the_capacities_is_refuted(tmp_path, name):
    """How many sets of changes there are follows from how many sites there are: fewer would be less to prove."""
    path = written(tmp_path, LISTED[name](evidence=sc.Evidence(0)))
    assert archives.verify(path).verdict == "proved"

    def fewer(told):
        told["listed"][0]["attacks"][1] -= 1

    changed(path, fewer, **without(path, 0, 2, 0))
    assert (0, "listed") in found(archives.verify(path))


def test_no_list_at_all_is_refuted(tmp_path):
    """No attacks at all would certify every size, with nothing to prove."""
    path = written(tmp_path, LISTED["deletions"](evidence=False))

    def nothing(told):
        for each, graph in zip(told["listed"], told["graphs"], strict=True):
            each |= {"levels": [[], []], "attacks": [0, 0]}
            graph["claims"]["certified_size"] = 0 if graph["claims"]["abstained"] else 2

    changed(path, nothing)
    assert {field for _, field in found(archives.verify(path))} == {"listed"}


def test_a_list_that_was_shortened_everywhere_is_found_on_the_objects(tmp_path):
    """Two attacks are left out of the list and of its number: nothing in the file can tell."""
    path = written(tmp_path, LISTED["rewire"](own_samples=0))
    assert archives.verify(path, sites=_sites()).verdict == "proved"
    assert "listed anew, they are the same" in str(archives.verify(path, sites=_sites()))

    def fewer(told):
        told["listed"][0]["attacks"][0] -= 1

    changed(path, fewer, **without(path, 0, 1, 3))
    result = archives.verify(path)
    assert result.verdict == "proved"  # fewer attacks are no more to prove
    assert "that none is missing is taken as stated" in str(result)
    assert (0, "listed") in found(archives.verify(path, sites=_sites()))
    assert archives.verify(path, sites=_sites()).verdict == "refuted"


def test_another_attack_in_place_of_one_is_found_on_the_objects(tmp_path):
    path = written(tmp_path, LISTED["rewire"](own_samples=0))
    listed = arrays_of(path)["listed"].copy()
    listed[0:18], listed[18:36] = 0, np.arange(1, 19) % 9 + 1  # the columns of eighteen rows, some of them twice
    with pytest.raises(ArchiveError, match="list each attack once"):
        archives.read(changed(path, listed=listed))
    path = written(tmp_path, LISTED["rewire"](own_samples=0))
    first, second = arrays_of(path)["listed"][[0, 18]]
    listed = arrays_of(path)["listed"].copy()
    listed[[0, 18]] = (0, 9) if (first, second) != (0, 9) else (0, 8)
    changed(path, listed=listed)
    assert (0, "listed") in found(archives.verify(path, sites=_sites()))


def test_one_more_attack_has_to_pass_too(tmp_path):
    """An attack that does harm is put on the list: the size is no longer certified."""
    path = written(tmp_path, LISTED["nodes"](own_samples=0))
    more = np.append(arrays_of(path)["listed"], [0, 1, 2]).astype(np.uint32)  # node 0 loses three of four neighbours

    def edit(told):
        told["listed"] = [{"levels": [[[1, 1], [3, 0]]], "attacks": [27]}]

    changed(path, edit, lists=np.array([2, 26, 2, 1, 3]), listed=more)
    assert (0, "certified_size") in found(archives.verify(path))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda told: told.pop("threat"), "'threat' and 'listed' must both be there"),
        (lambda told: told.pop("listed"), "'threat' and 'listed' must both be there"),
        (lambda told: told["threat"].update(most=3), "'threat.most' must be 2, as the text says"),
        (lambda told: told["threat"].update(text="rewire:1", most=1), "must be '1 rewired edge', as the text says"),
        (lambda told: told["threat"].update(text="flips:2"), "text of a threat that lists its attacks"),
        (lambda told: told["threat"].update(text="rewire:2 "), "text of a threat that lists its attacks"),
        (lambda told: told["threat"].update(text=" | ".join(["rewire:2"] * 10**4)), "be read wherever it has"),
        (lambda told: told["threat"].update(most=0), "'threat.most' must be a whole number from 1"),
        (lambda told: told["threat"].update(more=0), "does not belong there"),
        (lambda told: told["listed"].pop(), "have an entry for each of 3 graphs"),
        (lambda told: told["listed"].append(told["listed"][0]), "have an entry for each of 3 graphs"),
        (lambda told: told["listed"][0]["levels"].pop(), "have an entry for each of 2 sizes"),
        (lambda told: told["listed"][0]["levels"].__setitem__(0, []), "be different levels"),
        (lambda told: told["listed"][0]["levels"].__setitem__(0, [[0]]), "be different levels"),
        (lambda told: told["listed"][0]["levels"].__setitem__(0, [[2], [2]]), "be different levels"),
        (lambda told: told["listed"][0]["levels"].__setitem__(0, [[11]]), "have levels within"),
        (lambda told: told["listed"][0]["levels"].__setitem__(0, [[1]]), "on the levels"),
        (lambda told: told["listed"][0]["levels"].__setitem__(1, [[2]]), "on the levels"),
        (lambda told: told["listed"][0]["levels"].__setitem__(1, [[2], [3], [4]]), "on the levels"),
        (lambda told: told["listed"][0]["attacks"].__setitem__(0, 17), "have the 17 attacks"),
        (lambda told: told["listed"][0]["attacks"].__setitem__(0, 2**21 + 1), "must be a whole number up to 2,097,152"),
        (lambda told: told["listed"][0]["attacks"].__setitem__(1, -1), "must be a whole number from 0"),
        (lambda told: told["graphs"][0]["claims"].pop("certified_size"), "be about sizes if"),
        (lambda told: told["graphs"][0]["claims"].update(any_flips=1), "be about sizes if"),
    ],
)
def test_changed_questions_are_refused(tmp_path, edit, said):
    path = changed(written(tmp_path, listed_world("rewire")), edit)
    with pytest.raises(ArchiveError, match=said):
        archives.read(path)


def _first(name, value):
    return lambda arrays: {name: np.concatenate([[value], arrays[name][1:]]).astype(arrays[name].dtype)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_first("lists", -1), "'lists' must be longer"),
        (_first("lists", 2**62), "'lists' must be longer"),
        (_first("lists", 0), "have the 18 attacks that the archive counts. Got 0"),
        (lambda arrays: {"lists": np.concatenate([[1, 18, 11], arrays["lists"][3:]])}, "change from 1 to 10 sites"),
        (lambda arrays: {"lists": np.concatenate([[1, -18, 2], arrays["lists"][3:]])}, "change from 1 to 10 sites"),
        (lambda arrays: {"lists": np.concatenate([[1, 2**62, 2], arrays["lists"][3:]])}, "have the 18 attacks"),
        (lambda arrays: {"listed": arrays["listed"][:-1]}, "'listed' must be longer"),
        (lambda arrays: {"listed": np.append(arrays["listed"], arrays["listed"][:1])}, "'listed' must be shorter"),
        (lambda arrays: {"listed": arrays["listed"].astype(np.int64)}, "of the type <u4"),
        (_first("listed", 10), "attack sites of the axes"),
        (_first("listed", 2**32 - 1), "attack sites of the axes"),
        (lambda arrays: _first("listed", arrays["listed"][18])(arrays), "attack each site once"),
        (lambda arrays: {"more": arrays["listed"]}, "its arrays must be"),
    ],
)
def test_hostile_lists_are_refused(tmp_path, change, said):
    path = written(tmp_path, listed_world("rewire"))
    changed(path, **change(arrays_of(path)))
    with pytest.raises(ArchiveError, match=said):
        archives.read(path)


def test_without_the_side_file_there_are_sizes_by_p_a(tmp_path):
    archive = listed_world("rewire")
    path = written(tmp_path, archive)
    side_of(path).unlink()
    with pytest.warns(StarcertWarning, match="p_A"):
        again = archives.read(path)
    assert [one.verdict("rewire:2") for one in again.certificates] == ["open", "open", "certified"]
    with pytest.raises(ArchiveError, match="which is not beside"):
        archives.verify(path)


def test_a_threat_that_cannot_be_read_is_stated(tmp_path):
    path = written(tmp_path, listed_world("from outside"))
    (asked, *_) = archives.read(path).asked
    assert asked.threat == StatedThreat("AtNodeZero(most=1)", 1, "a flip at node 0")
    assert "AtNodeZero(most=1)" in str(archives.verify(path))
    with pytest.raises(InvalidParameterError, match="list its attacks"):
        archives.verify(path, sites=_sites())
    (asked, *_) = archives.read(written(tmp_path, listed_world("by a function"))).asked
    assert (str(asked.threat), asked.threat.most) == ("where:2,name=low", 2)
    assert isinstance(asked.threat, StatedThreat)
    assert asked.threat != threats.Where(low, 2)


@dataclasses.dataclass(frozen=True)
class FewerRewired(threats.Rewire):
    """It goes by the text of another threat, and lists less."""

    def attacks(self, sites, size):
        return threats.Attacks.from_lists(list(super().attacks(sites, size))[:1])


def test_a_threat_is_not_read_from_the_text_of_another(tmp_path):
    assert str(FewerRewired(1)) == "rewire:1"
    archive = LISTED["rewire"](threat=FewerRewired(1), evidence=False)
    (one, *_) = archives.read(written(tmp_path, archive)).certificates
    assert str(one.asked.threat) == "FewerRewired(most=1)"
    with pytest.raises(InvalidParameterError, match="be the one that was asked about"):
        one.certified("rewire:1")


def test_the_list_is_what_is_broken_or_certified():
    """An attack that breaks a size has to be on its list, and among those that look most dangerous there."""
    archive = LISTED["changed types"]()
    rows = RowProofs(FileProofs(archive), 1)
    again, (broken,) = rows.evidence, [each for each in claims_of(archive.certificates[1]) if isinstance(each, Broken)]
    sizes = range(4)
    breaks = [again.breaks(broken._replace(level=(size,)), rows.by_counts) for size in sizes]
    assert breaks == [False, False, True, False]
    others = (describe_attack(again.axes, attack) for attack in again.graph.own if len(attack) == 2)
    sites, values = next(each for each in others if each != (broken.sites, broken.values))
    assert not again.breaks(broken._replace(sites=sites, values=values), rows.by_counts)  # other votes
    assert not again.breaks(broken._replace(delta=broken.delta / 2), rows.by_counts)
    assert again.breaks(broken._replace(delta=broken.delta * 2), rows.by_counts)  # says less
    again.graph.attacks[1][0][:] = again.graph.attacks[1][0][:1]  # the attack is no longer on the list
    assert not again.breaks(broken, rows.by_counts)


def test_sizes_are_proved_one_by_one():
    rows = RowProofs(FileProofs(listed_world("changed types")), 1)
    assert rows.evidence.certifies_size(1, rows.by_counts)[:3] == (1, 0, 5)
    assert rows.evidence.certifies_size(2, rows.by_counts) is None
    assert rows.evidence.certifies_size(2, lambda level: level == (0, 0, 2)) == (0, 0, 0, 0)  # if counts proved it
    assert [each[0] for each in rows.size(Size(2))] == ["certified_size"]
    assert list(rows.size(Size(1))) == []


def test_all_of_alpha_that_evidence_has_is_for_each_size():
    archive = listed_world("rewire")
    rows = RowProofs(FileProofs(archive), 0)
    again = rows.evidence
    assert again.alpha == Fraction(0.01) / 2
    assert again.certifies_size(1, rows.by_counts)[2:] == (18, 13)
    assert again.certifies_size(2, rows.by_counts)[2:] == (87, 86)
    again.alpha /= 10**12
    assert again.certifies_size(1, rows.by_counts) is None


@pytest.mark.parametrize("most", [2**14, 0])
def test_an_engine_that_leaves_out_attacks_is_refuted(tmp_path, monkeypatch, most):
    def some(axes, blocks):
        return [part._replace(rows=part.rows[:1]) for part in group_attacks(axes, blocks)]

    monkeypatch.setattr(questions, "group_attacks", some)
    monkeypatch.setattr(checking, "group_attacks", some)
    monkeypatch.setattr(checking, "MAX_AGAIN", most)
    path = written(tmp_path, LISTED["rewire"](own_samples=0, threat="rewire:1"))
    assert archives.read(path).certificates[0].certified("rewire:1")
    assert (0, "certified_size") in found(archives.verify(path))
    monkeypatch.undo()
    assert (0, "certified_size") in found(archives.verify(path))


@pytest.mark.parametrize("most", [2**14, 0])
def test_an_engine_that_proves_too_much_is_refuted(tmp_path, monkeypatch, most):
    monkeypatch.setattr(engine, "needed", lambda delta: -(10**15))
    monkeypatch.setattr(checking, "MAX_AGAIN", most)
    path = written(tmp_path, LISTED["rewire"](own_samples=0, threat="rewire:1"))
    assert (0, "certified_size") in found(archives.verify(path))


def test_counts_that_prove_too_much_are_refuted(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Certificate, "proves", lambda self, level: True)
        path = written(tmp_path, LISTED["rewire"](evidence=False))
    assert found(archives.verify(path)) == [(0, "certified_size"), (1, "certified_size")]


def test_of_many_attacks_the_nearest_and_the_open_ones_are_weighed_again(tmp_path, monkeypatch):
    path = written(tmp_path, listed_world("rewire"))
    monkeypatch.setattr(checking, "MAX_AGAIN", 20)
    monkeypatch.setattr(checking, "NEAREST", 3)
    result = archives.verify(path)
    assert result.verdict == "proved"
    assert result.evidence[0] == (2, 0, 18 + 86, 13 + 86)


def test_the_index_of_attacks():
    archive = listed_world("three values")
    graph = archive.evidence[0]
    index = AttackIndex(graph.axes(archive.noise))
    assert len(index.numbers) == 12
    found = index.by_level(graph.attacks[1])
    assert {level: sum(map(len, rows)) for level, rows in found.items()} == {(2, 0): 12, (1, 1): 36, (0, 2): 12}
    with pytest.raises(InvalidParameterError, match="attack sites of the axes"):
        AttackIndex(()).places(np.array([[1]]))


def test_what_the_command_says(tmp_path):
    result = archives.verify(written(tmp_path, listed_world("nodes")))
    assert "By evidence 1 sizes are certified and 2 broken" in str(result)
    assert result.premise == (
        "What is certified under rewire:1 is about the 26 attacks listed: that none is missing is taken as stated."
    )
    assert archives.verify(written(tmp_path, evidence_world("edges"))).premise == ""
    told = json.loads((tmp_path / "certificates.json").read_text())
    assert "threat" not in told
    assert set(listed_attacks.LISTED).isdisjoint(told)
