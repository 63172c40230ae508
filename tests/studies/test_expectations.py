"""What was expected of methods: confirmed, refuted and not decided, on lines made by hand."""

import pytest
from scipy.stats import norm

pytest.importorskip("torch_geometric")

from starcert_studies.benchmark.expectations import CONFIRMED, REFUTED, UNDECIDED, UNSEEN, expectations_of
from starcert_studies.benchmark.table import Cell, Line

BLIND = 0.7


def line(method, *certified, threat="flips:3", data="D", model="", asked=None, wide=0.1, chosen="a (1)"):
    """A method with shares that are right and certified at sizes 0, 1, 2 and 3; gains have intervals of a width."""
    cells = [Cell(str(size), size, *[None] * 7) if asked is not None and size > asked else
             Cell(str(size), size, share, 0, 0, share - BLIND, share - BLIND - wide, share - BLIND + wide,
                  float(norm.sf(1.96 * (share - BLIND) / wide))) for size, share in enumerate(certified)]  # fmt: skip
    name = f"{method}, {model}" if model else method
    return Line(data, "graphs", threat, name, model, "", None, 1, 10, 0.5, certified[0], 0, BLIND, 3, chosen, 1, 1,
                tuple(cells), (), asked)  # fmt: skip


def found(lines, only=0):
    return {each.name: each for each in expectations_of(lines, only)}


def test_what_holds_in_every_cell_is_confirmed():
    lines = [line("blind", 0.7, 0.7, 0.7, 0.7), line("evidence", 0.6, 0.6, 0.5, 0.1),
             line("p_A, sparsity-aware", 0.6, 0.5, 0.5, 0.1), line("hashed, exact", 0.6, 0.6, 0.5, 0.4),
             line("hashed, counting", 0.6, 0.6, 0.5, 0.1)]  # fmt: skip
    every = found(lines)
    for name in ("evidence ≥ p_A, sparsity-aware", "hashed, exact ≥ hashed, counting"):
        assert (every[name].share, every[name].where, every[name].verdict) == ("3 of 3", "", CONFIRMED)
    blind = every["no method is above the blind model on D"]
    assert (blind.held, blind.of, blind.verdict) == (12, 12, CONFIRMED)
    gain = every["a structure gain above zero at size 1, somewhere"]
    assert (gain.held, gain.of, gain.where, gain.verdict) == (0, 4, "", UNSEEN)


def test_one_cell_refutes_and_the_worst_is_named():
    lines = [line("evidence", 0.6, 0.6, 0.5, 0.1), line("p_A, sparsity-aware", 0.6, 0.6, 0.52, 0.4),
             line("evidence", 0.6, 0.6, threat="rewire:1"), line("p_A, sparsity-aware", 0.6, 0.5, threat="rewire:1"),
             line("hashed, exact", 0.6, 0.5), line("hashed, counting", 0.6, 0.6)]  # fmt: skip
    every = found(lines)
    evidence = every["evidence ≥ p_A, sparsity-aware"]
    assert (evidence.share, evidence.verdict) == ("2 of 4", REFUTED)
    assert evidence.where == "D, flips 3: 10.0 against 40.0%"
    assert every["hashed, exact ≥ hashed, counting"].verdict == REFUTED


def test_lines_of_one_network_are_compared_with_each_other():
    lines = [line("hashed, exact", 0.6, 0.5, model="gin"), line("hashed, counting", 0.6, 0.4, model="gin"),
             line("hashed, exact", 0.6, 0.2, model="gcn"), line("hashed, counting", 0.6, 0.3, model="gcn")]  # fmt: skip
    exact = found(lines)["hashed, exact ≥ hashed, counting"]
    assert (exact.share, exact.where) == ("1 of 2", "D, gcn, flips 1: 20.0 against 30.0%")


def test_sizes_that_a_method_does_not_speak_about_are_left_out():
    lines = [line("hashed, exact", 0.6, 0.5, 0.0, 0.0, asked=1), line("hashed, counting", 0.6, 0.4, 0.3, 0.2)]
    assert found(lines)["hashed, exact ≥ hashed, counting"].share == "1 of 1"


def test_one_way_noise_is_compared_at_equal_visibility_only():
    names = [f"p_A, one-way ≥ hashed, {rule}, at equal visibility" for rule in ("counting", "exact")]

    def compared(rates, voters, only):
        lines = [line("p_A, one-way", 0.6, 0.6, 0.5, 0.2, chosen=rates),
                 line("hashed, exact", 0.6, 0.6, 0.5, 0.4, chosen=voters),
                 line("hashed, counting", 0.6, 0.5, 0.5, 0.1, chosen=voters)]  # fmt: skip
        return [found(lines, only)[name] for name in names]

    for rates, voters, only, why in (
        ("0.9/0 (5)", "10 voters (5)", 0, "settings were chosen"),
        ("0.9/0 (3), 0.8/0 (2)", "10 voters (5)", 2, "noisy copies keep another share of the edges than voters see"),
        ("0.97/0 (5)", "20 voters (5)", 3, "noisy copies keep another share of the edges than voters see"),
        ("0.7/0 (5)", "5 voters (5)", 1, "noisy copies keep another share of the edges than voters see"),
    ):
        for each in compared(rates, voters, only):
            assert (each.share, each.where, each.verdict) == ("–", "", f"not compared: {why}")
    for rates, voters, only in (("0.8/0 (5)", "5 voters (5)", 1), ("0.97/0 (5)", "30 voters (5)", 3)):
        counting, exact = compared(rates, voters, only)
        assert (counting.share, counting.verdict) == ("3 of 3", CONFIRMED)
        assert (exact.share, exact.verdict) == ("2 of 3", REFUTED)


def test_of_many_cells_one_is_above_zero_by_chance():
    name = "no method is above the blind model on D"
    lines = [line("plain", 0.9, 0.81), *(line(f"method {number}", 0.9, 0.6) for number in range(40))]
    few, many = found(lines[:2]), found(lines)  # an interval above zero, at z = 2.16
    assert [each[name].verdict for each in (few, many)] == [UNDECIDED, UNDECIDED]
    assert found(lines[:1])[name].verdict == REFUTED
    gain = many["a structure gain above zero at size 1, somewhere"]
    assert (gain.share, gain.verdict) == ("1 of 41", UNDECIDED)


def test_methods_that_say_nothing_about_attacks_are_not_compared():
    lines = [line("evidence", 0.6, 0.5, asked=0), line("p_A, sparsity-aware", 0.6, 0.4)]
    (first, *_) = expectations_of(lines)
    assert (first.share, first.verdict) == ("–", "not compared: one of them is not about these attacks")


def test_a_gain_beyond_chance_refutes_that_blind_wins():
    name = "no method is above the blind model on D"
    every = found([line("plain", 0.9, 0.75, 0.7, 0.2), line("blind", 0.7, 0.7, 0.7, 0.7)])
    assert (every[name].share, every[name].verdict) == ("2 of 3", UNDECIDED)
    assert every[name].where.startswith("plain, D, flips 1: +5.0")
    every = found([line("plain", 0.9, 0.85, 0.9, 0.2), line("evidence", 0.9, 0.72, 0.2, 0.1, wide=0.015),
                   line("plain", 0.5, 0.5, data="E")])  # fmt: skip
    assert every[name].verdict == REFUTED
    assert every[name].where.startswith("plain, D, flips 2: +20.0")
    assert every["no method is above the blind model on E"].verdict == CONFIRMED
    gain = every["a structure gain above zero at size 1, somewhere"]
    assert (gain.share, gain.verdict) == ("2 of 3", CONFIRMED)
    assert gain.where == "plain, D, flips 1: +15.0 (+5.0 to +25.0); evidence, D, flips 1: +2.0 (+0.5 to +3.5)"


def test_nothing_is_expected_of_methods_that_were_not_run():
    assert expectations_of([line("blind", 0.7, 0.7)]) == []
