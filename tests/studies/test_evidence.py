"""The study of evidence, with few graphs and votes: what it asks, how verdicts are counted, and what it claims."""

import numpy as np
import pytest
import study_worlds as worlds

from starcert_studies import trials
from starcert_studies.paper import evidence
from starcert_studies.voted import median_range

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")

TINY = evidence.Evidence(1_000, 5_000, 3, 4)
RADII = ("(1, 0)", "(0, 1)", "(2, 0)", "(1, 1)", "(0, 2)", "any flip", "any 2 flips")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for module in (evidence, trials):
            patch.setattr(module, "motif_machine", worlds.small_machine)
        return worlds.tiny_run(TINY, tmp_path_factory.mktemp("evidence"))


def test_graphs_are_counted_once_in_every_draw(folder):
    rows = worlds.table(folder, "draws")
    assert [(row["radius"], row["draw"]) for row in rows[:28]] == [(at, str(draw)) for at in RADII for draw in range(4)]
    assert {row["draw"] for row in rows if row["noise_1"] == "0.02"} == {"0", "1"}
    for row in rows:
        right, own, broken, left = (int(row[name]) for name in ("right", "with_own_votes", "broken", "open"))
        assert right == own + broken + left <= int(row["graphs"]) == 3
        assert int(row["by_evidence"]) <= own


def test_tables_have_median_and_range_of_all_draws(folder):
    every, shown = worlds.table(folder, "draws"), worlds.table(folder, "evidence")
    assert len(shown) == 18
    for row in shown:
        draws = [one for one in every if all(one[name] == row[name] for name in ("noise_1", "noise_2", "radius"))]
        assert len(draws) == int(row["draws"]) == (2 if row["noise_1"] == "0.02" else 4)
        for name in ("right", "by_p_A", "by_evidence", "with_own_votes", "broken", "open"):
            assert row[name] == median_range([int(one[name]) for one in draws])


@pytest.mark.parametrize(
    ("told", "holds"),
    [
        ({}, [True] * 12),
        ({"with_own_votes": [False] * 5}, [True] * 5 + [False] + [True] * 5 + [False]),
        ({"by_evidence": [False] * 5}, [False] * 5 + [True] + [False] * 5 + [True]),
    ],
)
def test_claims_fail_where_they_are_not_so(told, holds, monkeypatch):
    monkeypatch.setattr(evidence, "motif_machine", worlds.small_machine)
    study, found = evidence.Evidence(), {}
    for asked in study.questions():
        entry = {"right": True, "own_votes": 1, "broken": [False] * 5}
        entry |= {way: [True] * 5 for way in ("by_p_A", "by_evidence", "with_own_votes")} | told
        labels = np.zeros(asked.graphs, dtype=int)
        for draw in range(asked.draws):
            noise = trials.Noise(motif=asked.rates[0], random=asked.rates[1])
            found[asked, draw] = worlds.voted(noise, labels, labels, judged=[entry] * asked.graphs)
    assert worlds.claims(study, found) == holds
