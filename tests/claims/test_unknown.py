"""What was not asked, or can never be certified, has no share anywhere; a 0 is a finding."""

import csv
from dataclasses import replace

import numpy as np
import pytest

import starcert as sc
from starcert.archive import Archive
from starcert.claims.gains import structure_gains, worth_sentence
from starcert.claims.outcomes import NEVER
from starcert.objects.threats import AnyFlips, Deletions
from starcert.report.comparison import compare
from starcert.report.findings import verdict_cells
from starcert.runs.sweep_levels import measure_level
from starcert.system.output import csv_lines

LABELS, BLIND = [0, 0, 1], [0, 1, 1]
BEYOND = "beyond the threat that was asked about, any 1 flip"
ONE_WAY = sc.Noise(bonds=sc.Flip(delete=0.5, add=0))


def found_under(noise, threat=None, agreeing=990, capacity=(6, 20)):
    votes = sc.Votes([[agreeing, 1000 - agreeing]] * 2 + [[300, 700]], selection=[[9, 1], [9, 1], [3, 7]])
    made = sc.certify(sc.clopper_pearson(votes), noise, capacity=[capacity] * 3)
    return replace(made, threat=threat)


def on_axis(found, axis, flips):
    """How many graphs are certified at 1, 2, … flips on an axis alone, and why that would be unknown."""
    return [(each.n_certified, each.why) for each in found.by_axis(flips)[axis].counts(LABELS)]


def test_flips_beyond_the_threat_have_no_share_and_no_gain():
    """`rest` reaches 2 flips by p_A, `core` 1: two flips in `core` were not asked about."""
    found = found_under(sc.Noise(core=0.1, rest=0.3), AnyFlips(1))
    assert found[0].frontier.radii == ((0, 6), (1, 1))
    assert on_axis(found, "core", 2) == [(2, ""), (None, BEYOND)]
    assert on_axis(found, "rest", 2) == [(2, ""), (2, BEYOND)]  # p_A certifies it all the same
    gains = {each.attacks: each for each in structure_gains(found, LABELS, BLIND, AnyFlips(1))}
    assert (gains["2 flips in core"].certified, gains["2 flips in core"].gain) == (None, None)
    assert (str(gains["2 flips in core"]), gains["2 flips in core"].blind) == (f"– ({BEYOND})", pytest.approx(2 / 3))
    assert (gains["2 flips in rest"].certified, gains["2 flips in rest"].why) == (pytest.approx(2 / 3), BEYOND)
    assert gains["1 flip in core"].why == ""
    verdicts = found.outcomes(sc.threats.Box((2, 0))).counts_at(2, LABELS)
    assert (verdicts.n_by_p_A, verdicts.n_certified, verdicts.n_right) == (None, None, 3)
    share = sc.metrics.certified_share(found, LABELS, max_radius=(2, 2))
    assert np.isnan(share).tolist() == [[False] * 3, [False, False, True], [True] * 3]
    assert sc.metrics.structure_gain(found, LABELS, BLIND, threat="flips:3").gain is None
    assert sc.metrics.structure_gain(found, LABELS, BLIND, radius=(2, 0)).gain is None


def test_what_was_asked_and_is_not_certified_stays_0():
    noise = sc.Noise(core=0.1, rest=0.3)
    for threat in (None, AnyFlips(2), sc.threats.Box((2, 9))):
        found = found_under(noise, threat, agreeing=800)
        assert on_axis(found, "core", 2) == [(0, ""), (0, "")]
        assert [each.n_certified for each in found.counts(LABELS, threat="flips:2")] == [0, 0]
        assert sc.metrics.structure_gain(found, LABELS, BLIND, radius=(1, 0)).certified == 0
        assert {row["reach_core"] for row in found.rows(LABELS)} <= {0, None}
        assert found.rows(LABELS)[0]["reach_core"] == 0


def test_listed_attacks_say_nothing_of_radii():
    listed = found_under(sc.Noise(core=0.1, rest=0.3), Deletions(1), agreeing=800)
    assert on_axis(listed, "core", 1) == [(None, "beyond the threat that was asked about, 1 deletion")]


def test_what_a_noise_never_certifies_has_no_share():
    found = found_under(ONE_WAY)
    assert on_axis(found, "bonds.delete", 1) == [(2, "")]
    assert on_axis(found, "bonds.add", 1) == [(None, NEVER)]
    assert [(each.n_certified, each.n_by_p_A, each.why) for each in found.counts(LABELS)] == [(None, None, NEVER)] * 2
    gains = structure_gains(found, LABELS, BLIND, AnyFlips(1))
    unknown = {each.attacks for each in gains if each.gain is None}
    assert {"any 1 flip", "1 flip in bonds.add"} <= unknown
    assert {"no attack", "1 flip in bonds.delete"}.isdisjoint(unknown)
    assert worth_sentence(gains) == ""
    row = found.rows(LABELS)[0]
    assert (row["reach_bonds.add"], row["reach_bonds.delete"] > 0) == (None, True)
    (line,) = csv.DictReader(csv_lines([row]))
    assert line["reach_bonds.add"] == ""


def test_graphs_without_such_sites_are_no_finding_about_the_others():
    votes = sc.Votes([[990, 10]] * 2, selection=[[9, 1]] * 2)
    mixed = sc.certify(sc.clopper_pearson(votes), ONE_WAY, capacity=[(6, 0), (6, 20)])
    assert mixed.certified((0, 1)).tolist() == [True, False]
    added = mixed.by_axis(1)["bonds.add"].counts_at(1, [0, 0])
    assert (added.n_graphs, added.n_certified, added.why) == (1, None, NEVER)
    half = mixed.counts([0, 0], threat="flips:1")[0]
    assert (half.n_certified, half.n_right) == (1, 2)  # of the other it is a finding


@pytest.mark.parametrize(("delete", "first"), [(0.5, 1), (0.6, 2), (0.8, 4)])
def test_never_is_the_first_count_that_unanimous_votes_do_not_certify(delete, first):
    noise = sc.Noise(bonds=sc.Flip(delete=delete, add=0))
    found = sc.certify(sc.Bounds.certain([1 - 1e-12]), noise, capacity=[(6, 20)])
    added = found.by_axis(5)["bonds.add"].counts()
    assert [each.why for each in added] == [""] * (first - 1) + [NEVER] * (6 - first)
    assert all(sc.metrics.votes_needed(noise, 0.01, 2, radius=(0, n)) is not None for n in range(1, first))
    assert sc.metrics.votes_needed(noise, 0.01, 2, radius=(0, first)) is None


def test_votes_at_attacked_objects_may_certify_what_clean_ones_never_show():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 8), n_classes=2)
    graph = sc.Graph(4, [(0, 1)])
    how = {"samples": 300, "seed": 0, "threat": "flips:1", "voting": sc.Voting(progress=False)}
    smoothed = sc.SmoothedClassifier(base, sc.Noise(bonds=sc.Flip(delete=0.5, add=0)))
    shares = {
        own: smoothed.certify([graph], evidence=sc.Evidence(own_samples=own), **how).counts([0])[0].n_certified
        for own in (0, 2, 300)
    }
    assert shares == {0: None, 2: 0, 300: 1}  # with a few it was tried


def test_tables_have_a_dash_and_its_reason():
    table = found_under(ONE_WAY).accuracy_table(LABELS, threat="flips:1")
    assert table.rows[1]["by p_A"] is None
    assert table.caption.endswith(f"A dash: any 1 flip ({NEVER}).")
    assert r"any 1 flip & 3 & 100.0 & -- \\" in table.to_latex()
    assert "<td>–</td>" in table._repr_html_()


def test_figures_end_where_nothing_is_known():
    found = found_under(ONE_WAY)
    curves = sc.display.AccuracyCurves.from_certificates(found, LABELS, max_flips=2).shares
    assert np.isnan(curves["bonds.add"]).tolist() == np.isnan(curves["anywhere"]).tolist() == [False, True, True]
    assert not np.isnan(curves["bonds.delete"]).any()


def test_a_level_of_a_sweep_has_no_mean_radius_where_none_can_be():
    kept = found_under(ONE_WAY)
    level = measure_level(kept, LABELS, LABELS, [(6, 20)] * 3, counted=AnyFlips(1))
    assert (level.mean_radii[0] > 0, level.mean_radii[1]) == (True, None)
    assert [each.share(each.n_certified) for each in level.by_size] == [None]
    less = found_under(sc.Noise(bonds=sc.Flip(delete=0.1, add=0.1)), agreeing=600)
    other = measure_level(less, LABELS, LABELS, [(6, 20)] * 3)
    assert other.mean_radii == (0.0, 0.0)


def test_compared_runs_are_not_compared_where_one_was_not_asked():
    noise = sc.Noise(core=0.15, rest=0.3)
    names = ["a", "b", "c"]
    asked, all_radii = (
        Archive.from_result(found_under(noise, threat, agreeing=n), labels=LABELS, names=names)
        for threat, n in ((AnyFlips(1), 990), (None, 999))
    )
    found = compare({"all": all_radii, "one": asked}, threat="flips:2")
    by_flips = {each.flips: each for each in found.differences}
    beyond = by_flips["2 in core"]
    assert (beyond.share, beyond.by) == (None, None)
    assert beyond.cells == ("2 in core", "–", "–", "–")
    assert by_flips["1 in core"].by is not None
    assert by_flips["any 2 flips"].share is None
    assert any("one against 2 in core" in note and BEYOND in note for note in found.notes)
    (row,) = [row for run, row, _ in found.verdicts if run == "one" and row.label == "any 2 flips"]
    assert verdict_cells(row, weighed=False)["certified by p_A"] == "–"
    lines = [line for panel in found.panels for line in panel.lines if panel.x_title == "flips in core"]
    assert [line.x for line in lines if line.name == "one"] == [[0, 1]]


def test_a_size_that_was_not_examined_is_a_dash_beside_one_that_was():
    graphs = [sc.Graph(4, [(0, 1)]), sc.Graph(4, [(0, 1), (1, 2), (2, 3), (0, 2), (0, 3)])]
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 2), n_classes=2)
    how = {"labels": [0, 1], "names": ["few", "many"]}
    tried = sc.ExactClassifier(base).certify(graphs, threat="flips:2", progress=False)
    votes = sc.SmoothedClassifier(base, sc.Noise(all=ONE_WAY["bonds"])).certify(
        graphs, samples=1_000, seed=1, threat="flips:2"
    )
    runs = {"plain": Archive.from_result(tried, **how), "one way": Archive.from_result(votes, **how)}
    rows = {name: cells for name, *cells in compare(runs, threat="flips:2").rows}
    assert rows == {"few": ["0", "0", "1", "0", "–"], "many": ["1", "1", "2", "abstains", "–"]}
