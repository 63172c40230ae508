from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from starcert.runs.sweep_levels import beaten_by

few = st.integers(0, 3)  # so that there are ties


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[few] * n), max_size=12)))
def test_the_front_is_what_brute_force_finds(rows):
    found = beaten_by(rows)
    for me, row in enumerate(rows):
        beaters = [
            other
            for other, values in enumerate(rows)
            if all(theirs >= mine for theirs, mine in zip(values, row, strict=True)) and values != row
        ]
        assert found[me] == next((other for other in beaters if found[other] is None), None)
        assert (found[me] is None) == (not beaters)
    if rows:
        assert None in found  # somebody is always unbeaten
        for criterion in range(len(rows[0])):  # and the best by one criterion is, or equals in it one that is
            best = max(row[criterion] for row in rows)
            assert best in [row[criterion] for row, by in zip(rows, found, strict=True) if by is None]


def test_a_whole_grid_has_one_best_corner():
    rows = list(product(range(3), repeat=3))
    assert [row for row, by in zip(rows, beaten_by(rows), strict=True) if by is None] == [(2, 2, 2)]
