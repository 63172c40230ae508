"""The study of the number of votes, with few of them."""

import pytest
import study_worlds as worlds

import starcert as sc
from starcert_studies import reproduce, trials
from starcert_studies.paper import samples
from starcert_studies.report import Report, published
from starcert_studies.voted import ALPHA

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "motif_machine", worlds.small_machine)
        return reproduce("samples", tmp_path_factory.mktemp("samples"), samples=150, quick=True).folder


def smallest_bound(folder, data, n):
    kept = worlds.part(folder, f"draw-{data}-{n}")
    assert {sum(votes) for votes in kept["estimation"]} == {n}
    return sc.clopper_pearson(sc.Votes(kept["estimation"], selection=kept["selection"]), alpha=ALPHA).p_lower.min()


def test_each_number_of_votes_has_votes_of_its_own(folder):
    table = worlds.table(folder, "samples")
    assert [int(row["votes"]) for row in table] == [10, 100]
    for row in table:
        n = int(row["votes"])
        lower, *others = (smallest_bound(folder, data, n) for data in (0, *range(10_001, 10_005)))
        assert float(row["smallest_p_lower"]) == lower
        assert float(row["published"]) == published("samples")["smallest_p_lower"][str(n)]
        assert float(row["least_of_draws"]) == min(lower, *others)
        assert float(row["greatest_of_draws"]) == max(lower, *others)


def checked(draws):
    report = Report(samples.Samples.texts)
    samples.check_claims(report, draws)
    return report.checks


def draws_around(factor=1.0, spread=1.1):
    told = {int(n): p for n, p in published("samples")["smallest_p_lower"].items()}
    return [{n: 1 - (1 - p) * factor * scale for n, p in told.items()} for scale in (1, spread, 1 / spread)]


def test_claims_hold_where_the_paper_is_among_the_draws_and_fail_where_it_is_not():
    assert [check.holds for check in checked(draws_around())] == [True] * 14
    away = [check.holds for check in checked(draws_around(1.5, 1.001))]
    assert away == [True] + [False] * 13


def test_a_figure_is_taken_as_far_as_it_was_rounded_and_no_further():
    for n, digits in ((10, 3), (100, 3), (1_000, 4), (10_000, 5), (100_000, 5)):
        told = published("samples")["smallest_p_lower"][str(n)]
        for units, holds in ((0.45, True), (-0.45, True), (0.6, False), (-0.6, False)):
            same = [{n: told + units * 10.0**-digits}] * 3
            assert checked(same)[1].holds is holds


def test_ten_votes_alone_show_no_rise():
    assert checked([{10: 0.6}])[0].holds is None
    assert checked([{10: 0.6, 100: 0.5}])[0].holds is False
    # From 10,000 to 20,000 is not ten times as many.
    assert checked([{10_000: 0.9, 20_000: 0.8, 100_000: 0.95}])[0].holds is True
