"""The study of molecules: splits that do not leak, certificates of given votes, and every claim made to fail."""

import csv
import importlib
import io
import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import starcert as sc
from starcert_studies.outcome import published
from starcert_studies.parts import StudyParts

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")  # brings the molecules
torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

votes = importlib.import_module("starcert_studies.mutag_votes")
judge = importlib.import_module("starcert_studies.mutag")
drawing = importlib.import_module("starcert_studies.mutag")

TINY = votes.MutagSettings(50, 40, 1, (0.04,), (0.02, 0.2), 1, 1)


@pytest.fixture(scope="module")
def data():
    return sc.datasets.tu("MUTAG")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mutag")
    return folder, votes.compute(TINY, StudyParts(folder))


def test_settings_of_the_command_line():
    assert votes.settings(None, 1, False) == votes.MutagSettings()
    assert votes.settings(None, 1, False).sweep_samples == 10_000
    assert votes.settings(500, 2, False) == votes.MutagSettings(500, 500, seed=2)
    assert votes.settings(None, 3, True) == votes.MutagSettings(2_000, 1_000, 100, (0.04,), (0.02, 0.2), 2, 3)


@pytest.mark.parametrize("seed", [1, 5])
def test_nothing_that_is_tested_was_taught(data, seed):
    tested = []
    for fold in (None, *range(10)):
        taught, held, test, numbers = votes.splits_of_fold(data.all, fold, seed)
        groups = [{id(graph) for graph in split.graphs} for split in (taught, held, test)]
        assert [len(group) for group in groups] == [len(taught), len(held), len(test)]
        assert sum(map(len, groups)) == len(set.union(*groups)) == 188
        assert len(held) in (18, 19)
        assert len(test) in (18, 19)
        assert [id(data.graphs[i]) for i in numbers] == [id(graph) for graph in test.graphs]
        assert data.labels[numbers].tolist() == test.labels.tolist()
        tested += numbers if fold is not None else []
    assert sorted(tested) == list(range(188))


def test_training_leaves_the_process_as_it_was_and_depends_on_its_arguments_alone():
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    arguments = ("sum", 0.04, 0.2, 3, 2, 20)
    found = votes.train_and_vote(*arguments, seed=1)
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads
    torch.manual_seed(77)
    assert votes.train_and_vote(*arguments, seed=1) == json.loads(json.dumps(found)) == found
    assert votes.train_and_vote(*arguments, seed=2) != found
    assert {sum(votes) for votes in found["estimation"]} == {20}
    assert len(found["graphs"]) == len(found["clean"]) == len(found["selection"]) == 19


def test_a_tiny_study_from_training_to_figures(tiny):
    folder, found = tiny
    assert {path.stem for path in folder.iterdir()} == {
        "split", "paper-0", "max-0.04-0.02-0", "max-0.04-0.2-0", "sum-0.04-0.02-0", "sum-0.04-0.2-0"
    }  # fmt: skip
    assert (len(found.split.labels), len(found.every.labels)) == (19, 19)
    assert found.every.votes.counts.sum(axis=1).tolist() == [50] * 19
    assert {judged.votes.counts[0].sum() for judged in found.sweep.values()} == {40}
    assert found.tested == "19 molecules, 1 of 10 folds"
    captions = {picture.name: picture.caption for picture in drawing.pictures(found)}
    assert set(captions) == {"split", "every", "sweep", "trade_off"}
    assert "19 molecules, 1 of 10 folds" in captions["every"]
    for picture in drawing.pictures(found):
        drawn = io.BytesIO()
        picture.draw().savefig(drawn, format="svg")
        ElementTree.fromstring(drawn.getvalue())


def test_tables(tiny):
    found = tiny[1]
    sweep, ratios = (list(csv.DictReader(io.StringIO(table.to_csv()))) for table in drawing.tables(found))
    assert [(row["delete"], row["add"]) for row in sweep] == [("0.04", "0.02"), ("0.04", "0.2")] * 2
    for row, judged in zip(sweep, found.sweep.values(), strict=True):
        answers = judged.votes.counts.argmax(axis=1)
        given = [not one.abstained and one.label == y for one, y in zip(judged.anisotropic, judged.labels, strict=True)]
        assert float(row["accuracy"]) == np.mean(given) == judged.right / 19
        assert float(row["largest_share_of_answers"]) == max(np.mean(answers), 1 - np.mean(answers))
        assert float(row["majority_share"]) == 125 / 188
        expected = judged.sparsity_aware.certified_accuracy(judged.labels, (1, 1))
        assert float(row["right_and_certified_at_1_1"]) == expected
    assert len(ratios) == 2 * 6 * 11
    here = next(row for row in ratios if (row["molecules"], row["deletions"], row["additions"]) == ("every", "0", "1"))
    right = sc.metrics.right(found.every.anisotropic, found.every.labels)
    for name, column in (("anisotropic", "anisotropic_anchored"), ("sparsity_aware", "sparsity_aware")):
        certified = getattr(found.every, name).certified((0, 1))
        assert float(here[column]) == pytest.approx((certified & right).sum() / right.sum())
        assert float(here[f"published_{column}"]) == published("mutag")[name][0][1]


# ---- the claims


def judged(data, answers, wins, numbers=None, total=100_000):
    """Molecules with these answers, each of them with so many of the votes."""
    numbers = range(188) if numbers is None else numbers
    counts = [[w, total - w] if answer == 0 else [total - w, w] for answer, w in zip(answers, wins, strict=True)]
    found = {"graphs": list(numbers), "clean": list(answers), "estimation": counts, "selection": counts}
    return votes._judged([found], data.graphs, data.labels, 0.04, 0.2)


@pytest.fixture(scope="module")
def ideal(data):
    """A study in which everything is as documented: a constant answer, and a setting of the sweep that is better."""
    majority = int(np.bincount(data.labels).argmax())
    sure = [100_000 if i % 19 < 15 else 60_000 for i in range(188)]
    # One molecule whose 1 − p_lower lies between what the two certificates ask for at one deletion.
    sure[int(np.flatnonzero((data.labels == majority) & (np.arange(188) > 19))[0])] = 97_800
    every = judged(data, [majority] * 188, sure)
    better = judged(data, [1 - label if i % 7 == 0 else label for i, label in enumerate(data.labels)], sure)
    split = judged(data, [majority] * 19, sure[:19], range(19))
    sweep = {("max", 0.04, 0.2): every, ("sum", 0.04, 0.02): better, ("sum", 0.1, 0.02): better}
    return votes.MutagResults(votes.MutagSettings(), data.all.majority_share, split, every, sweep)


def outcome(found):
    return [check.holds for check in judge.checks(found)]


def test_a_study_as_documented(ideal):
    assert outcome(ideal) == [False, True, True, True, True, True, True, False, True]
    assert all(check.as_documented for check in judge.checks(ideal))
    assert judge.checks(ideal)[0].measured.endswith("fewer at (1, 0)")
    assert ideal.tested == "all 188 molecules by 10-fold cross-validation"


def test_unanimous_votes_reach_exactly_as_far_as_in_the_paper(data, ideal):
    unanimous = judged(data, data.labels, [100_000] * 188)
    for name in ("anisotropic", "sparsity_aware"):
        # The regions of the largest molecules are large enough that only the noise matters.
        reached = [
            [bool(getattr(unanimous, name).certified((i, j)).all()) for j in range(11)] for i in range(6)
        ]  # fmt: skip
        assert reached == [[share > 0 for share in row] for row in published("mutag")[name]]


def test_what_is_anchored_says_so(ideal):
    assert all("edges" in reason for reason in ideal.every.anisotropic.anchored)
    assert not any(ideal.every.sparsity_aware.anchored)
    assert "anisotropic one is anchored" in judge.summary(ideal)[0]


def test_capacities_are_bonds_and_gaps(data, ideal):
    for graph, two, one in zip(
        data.graphs, ideal.every.anisotropic.capacity, ideal.every.sparsity_aware.capacity, strict=True
    ):
        bonds, pairs = len(graph.edges), graph.n_nodes * (graph.n_nodes - 1) // 2
        assert two == one == (bonds, pairs - bonds)


def test_claims_that_come_out_otherwise(data, ideal):
    right = judged(data, data.labels, [100_000] * 188)
    perfect = outcome(replace(ideal, every=right))
    assert perfect[4:] == [False, False, False, True, True]  # too accurate, too certain, better than a constant
    weak = replace(ideal, every=judged(data, ideal.every.clean, [99_990] * 188))
    assert outcome(weak)[1:3] == [False, False]
    assert outcome(weak)[5:7] == [False, False]  # certified at (1, 3): all or none, where the paper has 79%
    constant = dict.fromkeys(ideal.sweep, ideal.every)
    assert outcome(replace(ideal, sweep=constant))[8] is False


def test_fewer_certified_molecules_of_the_anisotropic_kind_are_told(ideal):
    swapped = replace(ideal.every, anisotropic=ideal.every.sparsity_aware, sparsity_aware=ideal.every.anisotropic)
    first, five, two, *_ = judge.checks(replace(ideal, every=swapped))
    assert (five.holds, two.holds) == (False, False)
    assert (five.measured, two.measured) == (two.published, five.published)
    assert five.published == "(0, 6) (0, 7) (0, 8) (0, 9) (1, 5)"
    assert first.claim.startswith("where both certificates reach")


def test_smaller_studies_decide_less(ideal, data):
    short = "Fewer folds or epochs"
    for settings in (votes.MutagSettings(folds=9), votes.MutagSettings(epochs=499)):
        found = judge.checks(replace(ideal, settings=settings))
        assert [check.holds for check in found] == [None, True, True, True, None, True, True, None, None]
        assert all(short in found[i].note for i in (4, 7, 8))
    assert outcome(replace(ideal, settings=votes.MutagSettings(samples=99_999)))[:7] == [
        None, None, None, True, True, None, None
    ]  # fmt: skip
    ten = replace(ideal, every=judged(data, [1] * 188, [10] * 188, total=10), settings=votes.MutagSettings(samples=10))
    assert outcome(ten)[3] is None  # not a single flip is certified
    none = replace(ideal, every=judged(data, [1] * 188, [5] * 188, total=10), settings=votes.MutagSettings(samples=10))
    assert outcome(none)[3] is None  # not even the answers are


def test_an_abstention_is_no_right_answer(data, ideal):
    torn = [100_000 if i % 4 else 50_100 for i in range(188)]
    found = judged(data, data.labels, torn)
    assert (found.votes.counts.argmax(axis=1) == data.labels).all()
    assert found.right == sum(i % 4 > 0 for i in range(188)) == 141
    claims = judge.checks(replace(ideal, every=found))
    assert claims[4].measured == "141 of 188, 75.0%"
    assert all("of 141: p" in claim.note for claim in claims[5:7])


def test_clearly_better_is_a_binomial_tail(data, ideal):
    share = 125 / 188
    for n_right in (124, 140, 141, 142, 143, 144, 145, 188):
        found = judged(
            data, [label if i < n_right else 1 - label for i, label in enumerate(data.labels)], [9] * 188, None, 9
        )
        assert found.right == n_right
        tail = math.fsum(math.comb(188, k) * share**k * (1 - share) ** (188 - k) for k in range(n_right, 189))
        verdict, p = judge.clearly_better(found, share)
        assert p == pytest.approx(tail, rel=1e-9)
        assert verdict == (tail < 0.01)
        assert judge.clearly_better(found, share, 18) == (18 * tail < 0.01, pytest.approx(min(1, 18 * tail)))


def test_the_best_setting_is_the_most_accurate_then_the_noisiest(ideal):
    assert judge.best(ideal) == ("sum", 0.1, 0.02)
