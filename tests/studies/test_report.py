"""Checks with the coverage they promise and verdicts in words; tables whose numbers can be read back exactly."""

import csv
import io
import json
import math
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from starcert_studies.report import PREDICTION, Check, Report, Table, all_texts, failure_within, next_draw, within


@pytest.mark.parametrize("n", [3, 10])
def test_the_next_draw_falls_into_it_as_often_as_promised(n):
    rng = np.random.default_rng(5)
    draws = rng.normal(3.0, 2.0, size=(2000, n + 1))
    hits = 0
    for *values, following in draws.tolist():
        low, high = next_draw(values, 0.9)
        hits += low <= following <= high
    assert abs(hits / 2000 - 0.9) < 4 * math.sqrt(0.9 * 0.1 / 2000)


def test_fewer_than_three_draws_predict_nothing():
    assert next_draw([1.0, 2.0]) == (-math.inf, math.inf)
    check = within("a number", 7.0, [1.0, 2.0])
    assert (check.holds, check.verdict, check.as_documented) == (None, "not decided", True)
    assert "Fewer than three" in check.note


def test_within_compares_a_rounded_number_with_the_draws_and_tells_its_own():
    same = [0.5] * 4  # no spread: the interval is a point
    for value, holds in ((0.5, True), (0.75, True), (0.25, True), (0.75 + 2**-40, False), (0.25 - 2**-40, False)):
        assert within("a number", value, same, rounding=0.25).holds is holds
    draws = [1.1, 0.9, 1.0]
    low, high = next_draw(draws)
    inside = within("x", high - 1e-9, iter(draws), digits=2)
    for value, holds in ((high - 1e-9, True), (high + 1e-9, False), (low - 1e-9, False), (low + 1e-9, True)):
        assert within("x", value, draws).holds is holds
    assert (inside.published, inside.measured) == (f"{high:.2f}", "1.10")
    assert f"3 draws of the data, the study's own among them, predict {low:.2f} to {high:.2f}" in inside.note
    assert f"{PREDICTION:.1%} prediction interval" in inside.note


def test_bounds_near_one_are_compared_by_the_logarithm_of_what_is_missing():
    draws = [0.999, 0.9992, 0.9985, 0.9991]
    low, high = next_draw([math.log10(1 - draw) for draw in draws])
    for nudge, holds in ((1e-6, True), (-1e-6, False)):
        assert failure_within("b", 1 - 10 ** (low + nudge), draws, rounding=0).holds is holds
        assert failure_within("b", 1 - 10 ** (high - nudge), draws, rounding=0).holds is holds
    check = failure_within("b", 0.99916, draws, rounding=5e-6)
    assert (check.published, check.measured, check.holds) == ("0.99916", "0.99900", True)
    assert f"log10(1 − p_lower) from {low:.3f} to {high:.3f}" in check.note


def test_rounding_is_that_of_the_bound_not_of_its_logarithm():
    same = [0.99, 0.99, 0.99]
    for published, holds in ((0.9904, True), (0.9896, True), (0.9907, False), (0.9893, False)):
        assert failure_within("b", published, same, rounding=5e-4).holds is holds


VERDICTS = [
    (True, True, "holds", True),
    (False, False, "does not hold, as documented", True),
    (True, False, "holds, UNLIKE DOCUMENTED", False),
    (False, True, "does not hold, UNLIKE DOCUMENTED", False),
    (None, True, "not decided", True),
    (None, False, "not decided", True),
]


@pytest.mark.parametrize(("holds", "documented", "verdict", "as_documented"), VERDICTS)
def test_verdicts(holds, documented, verdict, as_documented):
    check = Check("c", "p", "m", holds, documented, "note")
    assert (check.verdict, check.as_documented) == (verdict, as_documented)
    assert json.loads(json.dumps(asdict(check))) == {
        "claim": "c", "published": "p", "measured": "m", "holds": holds, "documented": documented, "note": "note"
    }  # fmt: skip


def test_a_check_can_be_left_undecided_with_a_reason():
    claims = {"one": {"claim": "c", "measured": "m", "note": "By a test."}, "two": {"claim": "c", "measured": "m"}}
    report = Report({"few": "Too few {what}.", "claims": claims})
    for name in claims:
        report.check(name, False, enough=False, what="votes")
    check, without_note = report.checks
    assert (check.holds, check.documented, check.note) == (None, True, "By a test. Too few votes.")
    assert check.as_documented
    assert without_note.note == "Too few votes."


def test_numbers_read_back_exactly():
    values = [0.1 + 0.2, np.float64(1 / 3), 1e-300, 5, np.int64(7), True, 'a,b\n"c"', None]
    text = Table("t", "", list("abcdefgh"), [values, values]).to_csv()
    header, *rows = csv.reader(io.StringIO(text))
    assert header == list("abcdefgh")
    assert rows[0] == rows[1]
    assert [float(cell) for cell in rows[0][:5]] == [0.1 + 0.2, 1 / 3, 1e-300, 5, 7]
    assert rows[0][3:] == ["5", "7", "True", 'a,b\n"c"', ""]
    assert "\r" not in text


def test_a_claim_is_filled_with_the_values_of_a_run():
    report = Report(all_texts()["digits"])
    voted = SimpleNamespace(accuracy=0.97, majority=0.1)
    report.check("right", np.bool_(True), model="svc", voted=voted)
    report.check("right", False, enough=False, model="svc", voted=voted)
    check, few = report.checks
    assert (check.published, check.measured, check.holds, check.documented) == (
        "not in the paper",
        "97%; majority 10%",
        True,
        True,
    )
    assert (few.holds, few.note) == (None, "Documented of 5,000 and 50,000 votes on each of 100 images.")
    kernels = Report(all_texts()["kernels"])
    kernels.check("most", False, bounds="")
    assert not kernels.checks[0].documented
