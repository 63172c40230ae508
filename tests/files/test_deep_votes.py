"""Deep votes that are kept: verdicts are made again from the files, and nothing in a side file gets past the proof."""

import json
from itertools import combinations

import numpy as np
import pytest
from archive_worlds import found, many_edges, small, written
from deep_archives import DEEP_WORLDS, arrays_of, deep_world, replaced

import starcert as sc
from starcert import files as archives
from starcert.files.deep_votes import DEEP, DEEP_HEAD
from starcert.math.deep import UNIT
from starcert.system.errors import ArchiveError

HEAD = {name: place for place, name in enumerate(DEEP_HEAD)}


@pytest.mark.parametrize("name", DEEP_WORLDS)
def test_verdicts_are_made_again_from_what_was_written(tmp_path, name):
    archive = deep_world(name)
    path = written(tmp_path, archive)
    again = archives.read(path)
    assert again == archive
    assert again.deep_votes == archive.deep_votes == json.loads(path.read_text())["deep_votes"] > 0
    for mine, theirs in zip(archive.certificates, again.certificates, strict=True):
        assert mine.verdicts == theirs.verdicts
    result = archives.verify(path)
    assert (result.verdict, result.mismatches) == ("proved", ())
    assert f"{archive.deep_votes:,} deep ones" in str(result)


def test_the_worlds_are_not_empty():
    """Deep votes certify levels by themselves and with own votes, copies break one for certain, and some stay open."""
    verdicts = [
        verdict
        for name in DEEP_WORLDS
        for one in deep_world(name).certificates
        for verdict in (*one.verdicts.levels.values(), *one.verdicts.sizes.values())
    ]
    certified = [each.why for each in verdicts if each.kind == "certified" and "deep votes" in each.why]
    assert len(certified) > 8
    assert any("votes of their own" in why for why in certified)
    assert any("copies with" in why for why in certified)
    assert any(each.kind == "broken" and each.why.startswith("for certain") for each in verdicts)
    assert any(each.kind == "open" and "(deep_samples)" in each.why for each in verdicts)


def test_files_without_deep_votes_have_no_arrays_for_them(tmp_path):
    path = written(tmp_path, small(many_edges, sc.Noise(all=0.1), own_samples=0))
    assert not DEEP.keys() & arrays_of(path).keys()
    assert "deep" not in path.read_text()


def test_the_same_evidence_without_its_deep_votes_proves_less(tmp_path):
    archive = deep_world("two flips")
    path = written(tmp_path, archive)
    arrays = arrays_of(path)
    heads = arrays["deep_heads"].copy()
    heads[1:] = 0
    empty = {name: array[:0] for name, array in arrays.items() if name in DEEP} | {"deep_heads": heads}
    replaced(path, arrays, **empty, deep_votes=0)
    result = archives.verify(path)
    assert (0, "any_flips", "false") in found(result)
    assert "no law of deep votes serves it" in archives.read(path).certificates[0].why(2)


def test_another_law_is_another_proof(tmp_path):
    """The rarest flip numbers are said to be the most frequent ones: votes with all others weigh more."""
    path = written(tmp_path, deep_world("a bet"))
    arrays = arrays_of(path)
    weights, largest = arrays["deep_weights"].copy(), arrays["deep_weights"].argmax()
    weights[-1], weights[largest] = weights[-1] + weights[largest] - 2**40, 2**40
    replaced(path, arrays, deep_weights=weights)
    assert (0, "any_flips", "false") in found(archives.verify(path))


def test_copies_that_were_asked_and_answered_otherwise_prove_less(tmp_path):
    """All pairs of flips are said to be against the class."""
    archive = deep_world("two flips")
    path = written(tmp_path, archive)
    arrays, lost = arrays_of(path), len(archive.evidence[0].deep.asked_against)
    pairs = list(combinations(range(36), 2))
    heads = changed(arrays["deep_heads"], HEAD["asked_against"], lost + len(pairs))
    replaced(
        path,
        arrays,
        deep_heads=heads,
        deep_classes=np.insert(arrays["deep_classes"], 0, [1] * len(pairs)),
        deep_lengths=np.insert(arrays["deep_lengths"], 0, [2] * len(pairs)),
        deep_positions=np.insert(arrays["deep_positions"], 0, np.ravel(pairs)),
    )
    assert lost == 0
    result = archives.verify(path)
    assert (0, "any_flips", "false") in found(result)


def test_an_answer_that_the_votes_on_the_graph_contradict_is_refused(tmp_path):
    """A vote against the class is left out that is among those on the clean graph, too; or its class is another."""
    archive = deep_world("nodes")
    path = written(tmp_path, archive)
    arrays = arrays_of(path)
    lost, flips = len(archive.evidence[0].deep.asked_against), int(arrays["deep_lengths"][0])
    replaced(
        path,
        arrays,
        deep_heads=changed(arrays["deep_heads"], HEAD["asked_against"], lost - 1),
        deep_classes=arrays["deep_classes"][1:],
        deep_lengths=arrays["deep_lengths"][1:],
        deep_positions=arrays["deep_positions"][flips:],
    )
    with pytest.raises(ArchiveError, match="have the same answers for copies that were asked"):
        archives.verify(path)


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def first(name, value):
    """The first number of an array is another one."""
    return lambda arrays: {name: changed(arrays[name], 0, value)}


def head(name, value):
    return lambda arrays: {"deep_heads": changed(arrays["deep_heads"], HEAD[name], value)}


def shorter(name):
    return lambda arrays: {name: arrays[name][:-1]}


def all_flip(arrays):
    """In the first vote all sites flip."""
    flips = arrays["deep_positions"][int(arrays["deep_lengths"][0]) :]
    return {
        "deep_lengths": changed(arrays["deep_lengths"], 0, 36),
        "deep_positions": np.concatenate([np.arange(36), flips]),
    }


HOSTILE = {
    "a vote is missing": (shorter("deep_classes"), "'deep_classes' must be longer"),
    "the flips of a vote are missing": (shorter("deep_positions"), "'deep_positions' must be longer"),
    "a chance is missing": (shorter("deep_weights"), "'deep_weights' must be longer"),
    "a chance was changed": (first("deep_weights", 5), f"have chances of deep votes that add up to {UNIT}"),
    "a chance is below 0": (
        lambda arrays: {
            "deep_weights": arrays["deep_weights"]
            + np.eye(1, len(arrays["deep_weights"]), dtype=int)[0] * -UNIT
            + np.eye(1, len(arrays["deep_weights"]), 1, dtype=int)[0] * UNIT
        },
        "have chances of deep votes that add up",
    ),
    "more votes": (head("most", 12_000), "'deep_votes' must be the 12,000 of the side file"),
    "more votes than bets can count": (head("most", 2**40), "'deep_heads' must be most, asked, drawn"),
    "votes below 0": (head("most", -5), "'deep_heads' must be most, asked, drawn"),
    "fewer votes than copies asked": (head("most", 600), "'deep_numbers' must ask at most 600 copies"),
    "more votes against than there are": (head("drawn_against", 10**6), "have at most 9,334 votes against the class"),
    "no numbers are drawn": (head("drawn", 0), "have at most 9,334 votes against the class"),
    "too many numbers": (head("asked", 10**6), "'deep_heads' must be most, asked, drawn"),
    "a number twice": (first("deep_numbers", 2), "name each flip number of deep votes once, in ascending order"),
    "a number beyond all sites": (
        lambda arrays: {"deep_numbers": changed(arrays["deep_numbers"], -1, 37)},
        r"have at most 512 flips in deep votes, on axes of \[36\] sites",
    ),
    "a number beyond all limits": (first("deep_numbers", 10**6), "'deep_numbers' must be at most 512"),
    "flips that the law does not make": (all_flip, "have deep votes with flip numbers of their law"),
    "a site that is not there": (first("deep_positions", 36), "positions"),
    "a class that is not there": (first("deep_classes", 2), "be of votes against class 0 of 2"),
    "the class itself": (first("deep_classes", 0), "be other classes than 0"),
    "values of sites with two": (
        lambda arrays: {"deep_shown": np.ones(3, dtype=np.uint8)},
        "'deep_shown' must be shorter: 3 numbers",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_damaged_side_file_ends_in_one_message(tmp_path, name):
    change, message = HOSTILE[name]
    path = written(tmp_path, deep_world("two flips"))
    arrays = arrays_of(path)
    replaced(path, arrays, **change(arrays))
    with pytest.raises(ArchiveError, match=message):
        archives.verify(path)


def test_copies_are_asked_where_sites_have_two_values(tmp_path):
    """The clean object itself is said to have been asked."""
    path = written(tmp_path, deep_world("three values"))
    arrays = arrays_of(path)
    _, asked, drawn, *_ = arrays["deep_heads"].tolist()
    assert (asked, arrays["deep_numbers"][:2].any()) == (0, False)
    heads = changed(changed(arrays["deep_heads"], HEAD["asked"], 1), HEAD["drawn"], drawn - 1)
    weights = changed(arrays["deep_weights"], 1, arrays["deep_weights"][:2].sum())
    replaced(path, arrays, deep_heads=heads, deep_weights=weights[1:])
    with pytest.raises(ArchiveError, match="ask copies only where all sites have two values"):
        archives.read(path)


def test_deep_votes_need_all_sites_on_axes():
    """Sites on no axis may flip as well, and a law of flip numbers knows nothing of them."""
    deep = deep_world("two flips").evidence[0].deep
    with pytest.raises(sc.InvalidParameterError, match="have all 37 sites on axes"):
        deep._check_law("evidence", np.array([36]), 37)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"deep_votes": 9_999}, "'deep_votes' must be the 10,000 of the side file"),
        ({"deep_votes": -1}, "'deep_votes' must be a whole number"),
        ({"evidence": None}, "must have 'deep_votes' with evidence alone"),
    ],
)
def test_what_a_file_says_of_deep_votes_is_checked(tmp_path, change, message):
    path = written(tmp_path, deep_world("two flips"))
    told = json.loads(path.read_text()) | change
    told = {key: value for key, value in told.items() if key != "evidence" or value}
    path.write_text(json.dumps(told))
    with pytest.raises(ArchiveError, match=message):
        archives.read(path)


@pytest.mark.parametrize("change", [{"delta": 0.5}, {"sites": [0, 1]}, {"sites": [0]}, {"votes": [0, 0]}])
def test_an_attack_that_breaks_for_certain_is_the_one_that_was_found(tmp_path, change):
    path = written(tmp_path, deep_world("for certain"))
    told = json.loads(path.read_text())
    (broken,) = told["graphs"][0]["claims"]["broken"]
    assert (broken["votes"], broken["delta"]) == ([], 0)
    broken |= change
    path.write_text(json.dumps(told))
    if change == {"delta": 0.5}:  # votes are left out only where nothing is left to chance
        with pytest.raises(ArchiveError, match="be a list of 2 whole numbers"):
            archives.verify(path)
    else:
        assert (0, "broken", "false") in found(archives.verify(path))
