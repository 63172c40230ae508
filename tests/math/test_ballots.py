"""Ballots: both forms of flips hold the same, targets share them, and nothing that cannot be is taken in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from starcert.math import flips as flips_module
from starcert.math.ballots import Ballots
from starcert.math.flips import ListedFlips, ShownFlips, flip_bytes
from starcert.system.errors import InvalidParameterError


def listed(flips) -> ListedFlips:
    return ListedFlips(np.concatenate([[0], np.cumsum(flips.sum(axis=1))]), np.nonzero(flips)[1].astype(np.uint32))


def packed(flips) -> np.ndarray:
    return np.packbits(flips, axis=1, bitorder="little")


def records_of(chunks, form=packed) -> list[Ballots]:
    """A record for each chunk, given as its flips: 5 more votes are for the class, 1; those against are for 0 or 2."""
    return [
        Ballots.of_chunk([1], flips.shape[1], len(flips) + 5, 2 * (np.arange(len(flips)) % 2)[:, None], [form(flips)])
        for flips in chunks
    ]


@st.composite
def worlds(draw):
    """Some chunks of votes against a class, as matrices of flips, few of them or many."""
    n_sites = draw(st.integers(0, 70) | st.integers(250, 400))
    rows = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    rate = draw(st.sampled_from([0.01, 0.1, 0.5, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return [rng.random((n, n_sites)) < rate for n in rows]


@given(worlds())
def test_bits_and_positions_hold_the_same(chunks):
    flips = np.concatenate(chunks)
    sites = np.arange(flips.shape[1])
    records = [Ballots.joined(records_of(chunks, form)) for form in (packed, listed)]
    assert records[0].agrees_with(records[1])  # however they came, they are kept in the smaller form
    for record in records:
        np.testing.assert_array_equal(record.matrix(sites), flips)
        assert record.n_flips == flips.sum()
        assert record.kept.tolist() == [len(chunk) for chunk in chunks]
        assert record.samples.tolist() == [len(chunk) + 5 for chunk in chunks]
    form = [array.nbytes for array in (records[0].bits, records[0].starts, records[0].positions) if array is not None]
    assert sum(form) == flip_bytes(len(flips), flips.sum(), flips.shape[1]) == records[0].flip_bytes


@given(worlds(), st.data())
def test_sites_are_asked_for_in_any_order_and_twice(chunks, data):
    n_sites = chunks[0].shape[1]
    sites = data.draw(st.lists(st.integers(0, n_sites - 1)) if n_sites else st.just([]))
    record = Ballots.joined(records_of(chunks))
    np.testing.assert_array_equal(record.matrix(sites), np.concatenate(chunks)[:, np.array(sites, dtype=int)])


@given(worlds(), st.data())
def test_numbers_count_the_flips_on_each_axis(chunks, data):
    flips = np.concatenate(chunks)
    axes = data.draw(hnp.arrays(np.int64, flips.shape[1], elements=st.integers(-1, 3)))
    lists = [np.flatnonzero(axes == axis) for axis in range(4)]
    expected = np.stack([flips[:, sites].sum(axis=1) for sites in lists], axis=1)
    record = Ballots.joined(records_of(chunks))
    np.testing.assert_array_equal(record.numbers(lists), expected)
    np.testing.assert_array_equal(record.numbers(axes, 4), expected)
    np.testing.assert_array_equal(record.by_numbers(axes, 4).numbers(lists), expected)
    np.testing.assert_array_equal(record.numbers([lists[0], [], lists[0]])[:, 2], expected[:, 0])


@given(worlds())
def test_the_first_chunks_are_what_they_were(chunks):
    records = records_of(chunks)
    record = Ballots.joined(records)
    for n in range(1, len(records) + 1):
        assert record.first(n).agrees_with(Ballots.joined(records[:n]))
        rest = [Ballots.joined(records[:n]), *records[n:]]
        assert Ballots.joined(rest).agrees_with(record)
    assert len(record.first(0)) == 0


@given(worlds(), st.booleans())
def test_arrays_give_the_record_back(chunks, complete):
    record = Ballots.joined(records_of(chunks))
    if not complete:
        record = record.by_numbers([np.arange(record.n_sites)[::2], np.arange(record.n_sites)[1::2]])
    again = Ballots.from_arrays(record.to_arrays())
    assert again.agrees_with(record)
    assert {name: array.dtype for name, array in again.to_arrays().items()} == {
        name: array.dtype for name, array in record.to_arrays().items()
    }


def test_large_records_are_unpacked_in_blocks(monkeypatch):
    few, many = (np.random.default_rng(1).random((50, 300)) < rate for rate in (0.01, 0.5))
    whole = [Ballots.joined(records_of([flips, few, many], form)) for flips in (few, many) for form in (packed, listed)]
    monkeypatch.setattr(flips_module, "BLOCK", 700)
    for record, (flips, form) in zip(whole, [(f, form) for f in (few, many) for form in (packed, listed)], strict=True):
        assert Ballots.joined(records_of([flips, few, many], form)).agrees_with(record)
    assert Ballots.joined(records_of([few], packed)).positions is not None
    assert Ballots.joined(records_of([many], listed)).bits is not None


def test_what_is_not_complete_says_so():
    record = Ballots.joined(records_of([np.eye(9, dtype=bool)])).by_numbers([range(4), range(4, 9)])
    assert not record.complete
    assert record.n_flips == 9
    assert record.first(1).agrees_with(record)
    assert Ballots.joined([record, record]).numbers([range(4), range(4, 9)]).sum(axis=0).tolist() == [8, 10]
    with pytest.raises(InvalidParameterError, match="must be complete where single sites are asked for"):
        record.matrix([0])
    with pytest.raises(InvalidParameterError, match=r"must have \[4, 5\] sites"):
        record.numbers([range(5), range(5, 9)])
    with pytest.raises(InvalidParameterError, match="'ballots' must be of one object, against the same classes"):
        Ballots.joined([record, *records_of([np.eye(9, dtype=bool)])])


def test_records_of_other_classes_or_sites_are_not_joined():
    one, other = (records_of([np.eye(n, dtype=bool)])[0] for n in (9, 8))
    with pytest.raises(InvalidParameterError, match="'ballots' must be of one object, against the same classes"):
        Ballots.joined([one, other])
    other = Ballots.of_chunk([0], 9, 20, np.array([[1]]), [packed(np.eye(9, dtype=bool)[:1])])
    with pytest.raises(InvalidParameterError, match="'ballots' must be of one object, against the same classes"):
        Ballots.joined([one, other])


def arrays_of(form) -> dict[str, np.ndarray]:
    """Three copies on which one of two targets is not of its class, 1 and 0, on 10 sites: flips (0, 9), none, (3)."""
    head = {"labels": [1, 0], "n_sites": 10, "samples": [3, 5], "kept": [2, 1], "answers": [[0, 0], [1, 2], [2, 1]]}
    forms = {
        "bits": {"bits": [[1, 2], [0, 0], [8, 0]]},
        "positions": {"starts": [0, 2, 2, 3], "positions": [0, 9, 3]},
        "by_axis": {"by_axis": [[1, 1], [0, 0], [1, 0]], "sizes": [5, 5]},
    }
    return {name: np.array(value) for name, value in (head | forms[form]).items()}


@pytest.mark.parametrize(
    ("form", "name", "value", "problem"),
    [
        ("bits", "labels", [1, 2**16], "'labels' must be from 0 to 65535"),
        ("bits", "labels", [0, 0], r"'answers' must differ from the classes \(0, 0\)"),
        ("bits", "labels", [1], r"'answers' must differ from the classes \(1,\)"),
        ("bits", "labels", 1, "'labels' must be an array of whole numbers with 1 dimensions"),
        ("bits", "n_sites", 2**40, "'n_sites' must be from 0 to"),
        ("bits", "n_sites", 9, "'bits' must be 0 beyond the 9 sites"),
        ("bits", "n_sites", 17, r"'bits' must have the shape \(3, 3\)"),
        ("bits", "bits", [[1, 2], [0, 0], [8, 4]], "'bits' must be 0 beyond the 10 sites"),
        ("bits", "bits", [[1, 2], [0, 0]], "'bits' must have the shape"),
        ("bits", "bits", [[1, 2], [0, 0], [256, 0]], "'bits' must be from 0 to 255"),
        ("bits", "bits", [[1.0, 2], [0, 0], [8, 0]], "'bits' must be an array of whole numbers"),
        ("bits", "samples", [3, 0], "'samples' must be from 1"),
        ("bits", "samples", [3, 5, 1], "'kept' must be at most the samples"),
        ("bits", "kept", [4, 1], "'kept' must be at most the samples of each chunk"),
        ("bits", "kept", [2, 2], "on each of 4 copies"),
        ("bits", "kept", [2, -1], "'kept' must be from 0"),
        ("bits", "answers", [[0, 0], [1, 0], [2, 1]], "'answers' must differ from the classes"),
        ("bits", "answers", [[0, 0], [1, 2**16], [2, 1]], "'answers' must be from 0 to 65535"),
        ("bits", "answers", [["a"]], "'answers' must be an array of whole numbers"),
        ("bits", "starts", [0, 1], "'arrays' must have one form"),
        ("bits", "sites", [3, 12], "'sites' must be from 0 to 9"),
        ("bits", "sites", [3, 2], "'sites' must ascend"),
        ("bits", "sites", [2, 3], "'bits' must have the shape"),
        ("positions", "positions", [9, 0, 3], "'positions' must be sites that ascend in each vote"),
        ("positions", "positions", [0, 0, 3], "'positions' must be sites that ascend in each vote"),
        ("positions", "positions", [0, 10, 3], "'positions' must be from 0 to 9"),
        ("positions", "positions", [0, 9], "'starts' must ascend from 0 to 2"),
        ("positions", "n_sites", 0, "'positions' must be"),
        ("positions", "starts", [0, 2, 1, 3], "'starts' must ascend"),
        ("positions", "starts", [1, 2, 2, 3], "'starts' must ascend"),
        ("positions", "starts", [0, 2, 3], "'starts' must ascend"),
        ("by_axis", "by_axis", [[1, 6], [0, 0], [1, 0]], "'by_axis' must have 3 rows"),
        ("by_axis", "by_axis", [[1], [0], [1]], "'by_axis' must have 3 rows"),
        ("by_axis", "sizes", [5, 6], "'sizes' must add up to at most the 10 sites"),
    ],
)
def test_arrays_that_cannot_be_are_refused(form, name, value, problem):
    good = arrays_of(form)
    assert len(Ballots.from_arrays(good)) == 3
    with pytest.raises(InvalidParameterError, match=problem):
        Ballots.from_arrays(good | {name: np.array(value)})


def test_all_forms_of_the_same_votes_agree():
    axes = [range(5), range(5, 10)]
    records = [Ballots.from_arrays(arrays_of(form)) for form in ("bits", "positions", "by_axis")]
    for record in records:
        assert record.numbers(axes).tolist() == [[1, 1], [0, 0], [1, 0]]
        assert record.flip_bytes == 6
    np.testing.assert_array_equal(records[0].matrix(range(10)), records[1].matrix(range(10)))
    assert repr(records[0]) == "Ballots(3 of 8 copies against the classes (1, 0), 3 flips of 10 sites)"
    assert repr(records[2]) == "Ballots(3 of 8 copies against the classes (1, 0), flips by 2 axes of 10 sites)"


def test_sites_that_are_not_there_are_refused():
    record = Ballots.from_arrays(arrays_of("bits"))
    for wrong in ([10], [-1], [0.5], [[1]]):
        with pytest.raises(InvalidParameterError, match="'sites' must be"):
            record.matrix(wrong)
    with pytest.raises(InvalidParameterError, match="'chunks' must be a number of chunks from 0 to 2"):
        record.first(3)
    with pytest.raises(InvalidParameterError, match="'axes' must name the axis of each of 10 sites"):
        record.numbers(np.zeros(9, dtype=int))


@st.composite
def valued_worlds(draw):
    """Some chunks of votes as matrices of values, −1 where a site did not flip, and which form they come in."""
    chunks = draw(worlds())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    form = draw(st.sampled_from([packed, listed]))
    return [np.where(flips, rng.integers(0, 256, flips.shape), -1) for flips in chunks], form


def valued_records(chunks, form):
    return [
        Ballots.of_chunk(
            [1],
            values.shape[1],
            len(values) + 5,
            2 * (np.arange(len(values)) % 2)[:, None],
            [ShownFlips(form(values >= 0), values[values >= 0].astype(np.uint8))],
        )
        for values in chunks
    ]


@given(valued_worlds(), st.data())
def test_what_flips_show_is_kept_beside_them(world, data):
    chunks, form = world
    values, records = np.concatenate(chunks), valued_records(chunks, form)
    record, sites = Ballots.joined(records), np.arange(chunks[0].shape[1])
    np.testing.assert_array_equal(record.values(sites), values)
    np.testing.assert_array_equal(record.values(sites[::-1]), values[:, ::-1])
    np.testing.assert_array_equal(record.matrix(sites), values >= 0)
    np.testing.assert_array_equal(record.flipped, np.nonzero(values >= 0)[1])
    assert record.flip_bytes == flip_bytes(len(values), record.n_flips, len(sites)) + record.n_flips
    assert Ballots.from_arrays(record.to_arrays()).agrees_with(record)
    n = data.draw(st.integers(1, len(chunks)))
    np.testing.assert_array_equal(record.first(n).values(sites), np.concatenate(chunks[:n]))
    assert record.by_numbers([sites]).shown is None


@given(valued_worlds(), st.data(), st.integers(1, 4))
def test_targets_share_what_is_kept(world, data, n_targets):
    """Of each target the copies on which it disagrees, as if there were no others; at some sites, or by axis, too."""
    chunks, form = world
    n_sites, labels = chunks[0].shape[1], list(range(n_targets))
    every = [data.draw(hnp.arrays(np.int64, (len(each), n_targets), elements=st.integers(0, 2))) for each in chunks]

    def made(which):
        """Those of the copies with these answers; no labels: all."""
        parts = []
        for values, answers in zip(chunks, every, strict=True):
            rows = (
                np.arange(len(values)) if which is None else np.flatnonzero((answers != labels)[:, which].any(axis=1))
            )
            flips = ShownFlips(form(values[rows] >= 0), values[rows][values[rows] >= 0].astype(np.uint8))
            some = answers[rows] if which is None else answers[rows][:, which]
            of = None if which is None else [labels[target] for target in which]
            parts.append(Ballots.of_chunk(of, n_sites, len(values) + 5, some, [flips]))
        return Ballots.joined(parts)

    whole, axes = made(list(range(n_targets))), np.arange(n_sites) % 2
    assert made(None).disagreeing_with(labels).agrees_with(whole)
    sites = np.array(sorted(data.draw(st.sets(st.integers(0, n_sites - 1)) if n_sites else st.just(set()))), dtype=int)
    for target in range(n_targets):
        alone = made([target])
        assert whole.of_target(target).agrees_with(alone)
        assert whole.at(sites).of_target(target).agrees_with(alone.at(sites))
        assert whole.by_numbers(axes, 2).of_target(target).agrees_with(alone.by_numbers(axes, 2))
    assert whole.of_target(n_targets) is None
    few = whole.at(sites)
    np.testing.assert_array_equal(few.values(sites[::-1]), whole.values(sites[::-1]))
    np.testing.assert_array_equal(few.flipped, whole.flipped[np.isin(whole.flipped, sites)])
    assert Ballots.from_arrays(few.to_arrays()).agrees_with(few)
    np.testing.assert_array_equal(few.renumbered().values(np.arange(len(sites))), whole.values(sites))
    with pytest.raises(InvalidParameterError, match="know the flips of all sites"):
        few.numbers(axes, 2)
    if len(sites) < n_sites:
        with pytest.raises(InvalidParameterError, match="among those whose flips were kept"):
            few.matrix(np.setdiff1d(np.arange(n_sites), sites)[:1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shown": np.zeros(1, dtype=np.uint8)}, "be a value for each of"),
        ({"shown": np.full(9, 300)}, "be from 0 to 255"),
        ({"shown": np.zeros((3, 3), dtype=np.uint8)}, "with 1 dimensions"),
        ({"shown": np.zeros(9)}, "whole numbers"),
    ],
)
def test_values_that_cannot_be_are_refused(change, said):
    record = valued_records([np.full((3, 3), 7)], packed)[0]
    with pytest.raises(InvalidParameterError, match=said):
        Ballots.from_arrays(record.to_arrays() | change)
    numbers = record.by_numbers([[0, 1, 2]]).to_arrays()
    with pytest.raises(InvalidParameterError, match="one form"):
        Ballots.from_arrays(numbers | {"shown": record.shown})
    with pytest.raises(InvalidParameterError, match="know what flips show"):
        records_of([np.ones((2, 3), dtype=bool)])[0].values([0])
    with pytest.raises(InvalidParameterError, match="of one object, against the same classes"):
        Ballots.joined([record, records_of([np.ones((2, 3), dtype=bool)])[0]])
