"""The study of molecules: tables of given votes, two certificates of them, and every claim made to fail."""

import csv
import importlib
import io
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert.objects.binding import bind_all
from starcert.system.parts import PartsFolder
from starcert_studies.report import Report, published
from starcert_studies.trials import model_of, vote_on_block

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")  # brings the molecules
torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

mutag = importlib.import_module("starcert_studies.paper.mutag")

TINY = mutag.Mutag(50, 40, 1, (0.04,), (0.02, 0.2), 1, 1)


@pytest.fixture(scope="module")
def data():
    return sc.datasets.tu("MUTAG")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The folder, the votes and the outcome of a study with little training and few votes."""
    folder = tmp_path_factory.mktemp("mutag")
    found, results = TINY.votes(PartsFolder(folder))
    return folder, found, TINY.report(found, results)


def test_settings_of_the_command_line():
    assert mutag.Mutag.from_options(None, 1, False) == mutag.Mutag()
    assert mutag.Mutag.from_options(500, 2, False) == mutag.Mutag(500, 500, seed=2)
    assert mutag.Mutag.from_options(20_000, 2, False) == mutag.Mutag(20_000, 10_000, seed=2)
    assert mutag.Mutag.from_options(None, 3, True) == mutag.Mutag(2_000, 1_000, 100, (0.04,), (0.02, 0.2), 2, 3)
    assert mutag.Mutag.from_options(50, 3, True).sweep_samples == 50


def test_training_leaves_the_process_as_it_was_and_depends_on_its_arguments_alone():
    study = mutag.Mutag(20, 20, 2, folds=4)
    trial, other = (replace(study, seed=seed).trials()["sum", 0.04, 0.2][3] for seed in (1, 2))
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    found = vote_on_block(study, trial, 0)
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads
    torch.manual_seed(77)
    model_of.cache_clear()
    assert vote_on_block(study, trial, 0)["estimation"] == found["estimation"]
    assert vote_on_block(replace(study, seed=2), other, 0)["estimation"] != found["estimation"]
    assert {sum(votes) for votes in found["estimation"]} == {20}
    assert len(found["numbers"]) == len(found["clean"]) == len(found["selection"]) == 19


def test_a_tiny_study_from_training_to_figures(tiny):
    folder, found, outcome = tiny
    assert {path.stem for path in folder.iterdir()} == {
        "split", "paper-0", "max-0.04-0.02-0", "max-0.04-0.2-0", "sum-0.04-0.02-0", "sum-0.04-0.2-0"
    }  # fmt: skip
    assert (len(found["split"]), len(found["every"])) == (19, 19)
    assert found["every"].votes.counts.sum(axis=1).tolist() == [50] * 19
    assert {voted.votes.counts[0].sum() for at, voted in found.items() if isinstance(at, tuple)} == {40}
    captions = {picture.name: picture.caption for picture in outcome.pictures}
    assert set(captions) == {"split", "every", "sweep"}
    assert "19 molecules, 1 of 10 folds" in captions["every"]
    assert "anisotropic one is anchored" in outcome.summary[0]
    for picture in outcome.pictures:
        drawn = io.BytesIO()
        picture.draw().savefig(drawn, format="svg")
        ElementTree.fromstring(drawn.getvalue())


def test_tables(tiny):
    _, found, outcome = tiny
    sweep, ratios = (list(csv.DictReader(io.StringIO(table.to_csv()))) for table in outcome.tables)
    assert [(row["delete"], row["add"]) for row in sweep] == [("0.04", "0.02"), ("0.04", "0.2")] * 2
    for row, voted in zip(sweep, list(found.values())[2:], strict=True):
        answers = voted.votes.counts.argmax(axis=1)
        given = [not one.abstained and one.label == y for one, y in zip(voted.certificates, voted.labels, strict=True)]
        assert float(row["accuracy"]) == np.mean(given) == voted.right.sum() / 19
        assert float(row["largest_share_of_answers"]) == max(np.mean(answers), 1 - np.mean(answers))
        assert float(row["majority_share"]) == 125 / 188
        assert float(row["right_and_certified_at_1_1"]) == voted.certificates.certified_accuracy(voted.labels, (1, 1))
    assert len(ratios) == 2 * 6 * 11
    here = next(row for row in ratios if (row["molecules"], row["deletions"], row["additions"]) == ("every", "0", "1"))
    for name, column in (("anisotropic", "anisotropic_anchored"), ("sparsity_aware", "sparsity_aware")):
        voted = found["every"].anchored_too()[name]
        certified = voted.certificates.certified((0, 1))
        assert float(here[column]) == pytest.approx((certified & voted.right).sum() / voted.right.sum())
        assert float(here[f"published_{column}"]) == published("mutag")[name][0][1]


# ---- the claims


def voted(data, answers, wins, numbers=None, total=100_000):
    """Molecules with these answers, each of them with some of the votes."""
    numbers = np.arange(188) if numbers is None else np.asarray(numbers)
    noise = sc.Noise(pairs=sc.Flip(delete=0.04, add=0.2))
    problem = bind_all([data.graphs[i] for i in numbers], noise, None)
    more = {"capacity": problem.capacities, "anchored": problem.anchored, "clean": np.asarray(answers)}
    return worlds.voted(noise, data.labels[numbers], np.asarray(answers), np.asarray(wins), total, **more)


@pytest.fixture(scope="module")
def ideal(data):
    """A study in which everything is as documented: a constant answer, and a setting of the sweep that is better."""
    majority = int(np.bincount(data.labels).argmax())
    sure = [100_000 if i % 19 < 15 else 60_000 for i in range(188)]
    # One molecule whose 1 − p_lower lies between what the two certificates ask for at one deletion.
    sure[int(np.flatnonzero((data.labels == majority) & (np.arange(188) > 19))[0])] = 97_800
    every = voted(data, [majority] * 188, sure)
    better = voted(data, [1 - label if i % 7 == 0 else label for i, label in enumerate(data.labels)], sure)
    split = voted(data, [majority] * 19, sure[:19], range(19))
    sweep = {("max", 0.04, 0.2): every, ("sum", 0.04, 0.02): better, ("sum", 0.1, 0.02): better}
    return {"split": split, "every": every} | sweep


def checks(found, study=mutag.Mutag()):  # noqa: B008
    report = Report(study.texts)
    study.check_claims(report, found, {at: each for at, each in found.items() if isinstance(at, tuple)}, 125 / 188)
    return report.checks


def outcome(found, study=mutag.Mutag()):  # noqa: B008
    return [check.holds for check in checks(found, study)]


def test_a_study_as_documented(ideal):
    assert outcome(ideal) == [False, True, True, True, True, True, True, False, True]
    assert all(check.as_documented for check in checks(ideal))
    assert checks(ideal)[0].measured.endswith("fewer at (1, 0)")


def test_unanimous_votes_reach_exactly_as_far_as_in_the_paper(data):
    for name, unanimous in voted(data, data.labels, [100_000] * 188).anchored_too().items():
        # The regions of the largest molecules are large enough that only the noise matters.
        reached = [[bool(unanimous.certificates.certified((i, j)).all()) for j in range(11)] for i in range(6)]
        assert reached == [[share > 0 for share in row] for row in published("mutag")[name]]


def test_what_is_anchored_says_so(data, ideal):
    found = ideal["every"].anchored_too()
    regions = sc.Partition.from_present_edges(data.graphs[0], present="bonds", absent="gaps")
    assert set(found["anisotropic"].certificates.anchored) == {regions.sites(data.graphs[0]).reason}
    assert not any(found["sparsity_aware"].certificates.anchored)


def test_capacities_are_bonds_and_gaps(data, ideal):
    two, one = (each.certificates.capacity for each in ideal["every"].anchored_too().values())
    for place, graph in enumerate(data.graphs):
        bonds, pairs = len(graph.edges), graph.n_nodes * (graph.n_nodes - 1) // 2
        assert two[place] == one[place] == (bonds, pairs - bonds)
        regions = sc.Partition.from_present_edges(graph, present="bonds", absent="gaps")
        assert regions.sites(graph).capacity(sc.Noise(bonds=0.04, gaps=0.2)) == two[place]


def test_claims_that_come_out_otherwise(data, ideal):
    perfect = outcome(ideal | {"every": voted(data, data.labels, [100_000] * 188)})
    assert perfect[4:] == [False, False, False, True, True]  # too accurate, too certain, better than a constant
    weak = ideal | {"every": voted(data, ideal["every"].clean, [99_990] * 188)}
    assert outcome(weak)[1:3] == [False, False]
    assert outcome(weak)[5:7] == [False, False]  # certified at (1, 3): all or none, where the paper has 79%
    constant = {at: ideal["every"] if isinstance(at, tuple) else each for at, each in ideal.items()}
    assert outcome(constant)[8] is False


def test_smaller_studies_decide_less(ideal, data):
    for study in (mutag.Mutag(folds=9), mutag.Mutag(epochs=499)):
        found = checks(ideal, study)
        assert [check.holds for check in found] == [None, True, True, True, None, True, True, None, None]
        assert all("Fewer folds or epochs" in found[i].note for i in (4, 7, 8))
    assert outcome(ideal, mutag.Mutag(samples=99_999))[:7] == [None, None, None, True, True, None, None]
    for wins in (10, 5):  # not a single flip is certified; not even the answers are
        few = ideal | {"every": voted(data, [1] * 188, [wins] * 188, total=10)}
        assert outcome(few, mutag.Mutag(samples=10))[3] is None


def test_an_abstention_is_not_a_right_answer(data, ideal):
    found = voted(data, data.labels, [100_000 if i % 4 else 50_100 for i in range(188)])
    assert (found.votes.counts.argmax(axis=1) == data.labels).all()
    assert found.right.sum() == sum(i % 4 > 0 for i in range(188)) == 141
    claims = checks(ideal | {"every": found})
    assert claims[4].measured == "141 of 188, 75.0%"
    assert all("of 141: p" in claim.note for claim in claims[5:7])
