"""The synthetic study with few graphs, levels and votes: every number again by loops, every claim made to fail."""

import math
import shutil
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert.claims.metrics import score
from starcert_studies import reproduce, trials
from starcert_studies.paper import synthetic
from starcert_studies.paper.synthetic import Synthetic
from starcert_studies.report import Report, published
from starcert_studies.voted import ALPHA, unanimous_score

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")

ROWS, COLUMNS = (0, 4, 8), (0, 1, 9)
"""Of the paper's grid, p_random 0.45, 0.25, 0.05 and p_motif 0.02, 0.04, 0.2 are enough to see what happens."""

TINY = Synthetic.from_options(50, 1, True)
TABLES = {"grid", "anisotropic", "isotropic", "draws", "base_accuracy"}


@pytest.fixture(scope="module", autouse=True)
def _small():
    paper = published("synthetic")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("score", "accuracy", "smallest_p_lower"):
            patch.setitem(paper, name, [[paper[name][i][j] for j in COLUMNS] for i in ROWS])
        patch.setitem(paper, "p_random", [paper["p_random"][i] for i in ROWS])
        patch.setitem(paper, "p_motif", [paper["p_motif"][j] for j in COLUMNS])
        patch.setattr(trials, "motif_machine", cache(worlds.small_machine))
        yield


@pytest.fixture(scope="module")
def folders(tmp_path_factory, _small):
    """The same study twice, in two folders, the second from the votes of the first; and what it found."""
    made, found = [tmp_path_factory.mktemp("study") for _ in range(2)], []
    findings = synthetic.Findings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "Findings", lambda *args: found.append(findings(*args)) or found[-1])
        reproduce("synthetic", made[0], samples=50, quick=True)
        for name in ("parts", "settings.json"):
            (shutil.copytree if name == "parts" else shutil.copy)(made[0] / name, made[1] / name)
        reproduce("synthetic", made[1], samples=50, quick=True)
    return made, found[0]


@pytest.fixture(scope="module")
def folder(folders):
    return folders[0][0]


@pytest.fixture(scope="module")
def found(folders):
    return folders[1]


def test_two_runs_are_the_same_byte_by_byte(folders, folder):
    for kind in ("tables", "figures", "parts"):
        one, two = ({path.name: path.read_bytes() for path in (folder / kind).iterdir()} for folder in folders[0])
        assert one == two
    assert {path.stem for path in (folder / "tables").iterdir()} == TABLES


def test_the_grid_again_by_loops(folder, found):
    data = worlds.small_data(0)
    table = worlds.table(folder, "grid")
    assert len(table) == 9
    for row in table:
        m, r = float(row["p_motif"]), float(row["p_random"])
        votes = worlds.part(folder, f"0-motif-{m:g}-random-{r:g}-50")
        most = [v.index(max(v)) == label for v, label in zip(votes["estimation"], data.test.labels, strict=True)]
        assert float(row["plurality"]) == sum(most) / 6
        bounds = sc.clopper_pearson(sc.Votes(votes["estimation"], selection=votes["selection"]), alpha=ALPHA)
        certificates = sc.certify(bounds, sc.Noise(motif=m, random=r))
        assert float(row["smallest_p_lower"]) == bounds.p_lower.min()
        answered = zip(certificates, data.test.labels, strict=True)
        assert float(row["accuracy"]) == sum(not one.abstained and one.label == y for one, y in answered) / 6
        good = [
            [
                one.certified(radius) and one.label == label
                for one, label in zip(certificates, data.test.labels, strict=True)
            ]
            for radius in product(range(8), range(8))
        ]
        assert int(row["score"]) == sum(sum(verdicts) > 3 for verdicts in good)
        i, j = published("synthetic")["p_random"].index(r), published("synthetic")["p_motif"].index(m)
        assert found.grids["score"][i, j] == int(row["score"])
        assert float(row["published_score"]) == published("synthetic")["score"][i][j]
    assert {int(row["score"]) for row in table} != {0}
    assert len({row["accuracy"] for row in table}) > 1


def test_the_other_tables(folder, found):
    labels = found.featured[0].labels
    isotropic = worlds.table(folder, "isotropic")
    assert [(float(row["p"]), int(row["radius"])) for row in isotropic] == list(
        product([0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2], range(4))
    )
    for row in isotropic:
        voted = found.isotropic[float(row["p"])]
        assert voted.certificates.capacity == [(190,)] * 6
        assert float(row["share"]) == voted.certificates.certified_accuracy(labels, (int(row["radius"]),))
    anisotropic = worlds.table(folder, "anisotropic")
    assert len(anisotropic) == 5 * 46
    for row in anisotropic[::23]:
        radius = int(row["r_motif"]), int(row["r_random"])
        assert float(row["share"]) == found.featured[0].certificates.certified_accuracy(labels, radius)
    assert [(row["graphs"], float(row["accuracy"])) for row in worlds.table(folder, "base_accuracy")] == [
        ("training", 1), ("validation", 1), ("test", 1)
    ]  # fmt: skip


def test_draws_have_data_and_machines_of_their_own(folder, found):
    assert TINY.data_seeds == [0, 10_001, 10_002, 10_003, 10_004, 10_005]
    assert (found.draws[0]["score"] == found.grids["score"]).all()  # here all rows are among the drawn ones
    for seed, draw, facts in list(zip(TINY.data_seeds, found.draws, found.machines, strict=True))[1:3]:
        model, data = worlds.small_machine(seed)
        assert facts["support_vectors"] == len(model.svc_.support_)
        kept = worlds.part(folder, f"{seed}-motif-0.2-random-0.45-100")
        assert kept["labels"] == data.test.labels.tolist()
        half = np.rint(np.array(kept["estimation"]) / 2)  # as if there were 50 of 100 votes
        if (half.sum(axis=1) == 50).all():
            bounds = sc.clopper_pearson(sc.Votes(half, selection=kept["selection"]), alpha=ALPHA)
            assert draw["smallest_p_lower"][0, 2] == bounds.p_lower.min()
            assert draw["plurality"][0, 2] == np.mean(half.argmax(axis=1) == data.test.labels)
    table = worlds.table(folder, "draws")
    assert len(table) == 6 * 9
    assert [float(row["smallest_p_lower"]) for row in table] == [
        value for draw in found.draws for value in draw["smallest_p_lower"].ravel()
    ]


def test_the_score_is_known_but_for_the_votes_own_error(found):
    low, high, score = (found.grids[name] for name in ("low", "high", "score"))
    assert (low <= score).all()
    assert (score <= high).all()
    assert (low < high).any()


# ---- the claims


FALLING = np.array([[16.0, 9.0, 4.0], [12.0, 6.0, 2.0], [5.0, 3.0, 1.0]])


@pytest.fixture
def ideal(found):
    """A study in which everything that the paper says is so."""
    right = np.array([[1, 1, 0.5], [1, 1, 0.5], [1, 1, 0.5]])

    def level(noise, counts):
        labels = found.featured[0].labels
        capacity = [tuple(190 if axis == "all" else 45 for axis in noise.axes)] * 6
        return worlds.voted(noise, labels, labels, np.array(counts), capacity=capacity)

    counts = {p: [99_900] * 6 if p == 0.02 else [60_000, *[99_990] * 5] for p in synthetic.ISOTROPIC}
    return replace(
        found,
        grids=found.grids | {"score": FALLING, "low": FALLING, "high": FALLING, "accuracy": right, "plurality": right},
        featured=[level(synthetic.FEATURED, [100_000] * 6), *found.featured[1:]],
        isotropic={p: level(sc.Noise(all=p), counts[p]) for p in synthetic.ISOTROPIC},
        draws=[as_published(1 + 0.01 * k) for k in range(4)],
    ), level


def as_published(factor):
    names = {"score": "score", "plurality": "accuracy", "smallest_p_lower": "smallest_p_lower"}
    return {ours: np.array(published("synthetic")[name], float) * factor for ours, name in names.items()}


def scaled(draws, **factors):
    return [{name: grid * factors.get(name, 1) for name, grid in draw.items()} for draw in draws]


def checks(found, study=Synthetic()):  # noqa: B008
    report = Report(study.texts)
    study.check_claims(report, found)
    return report.checks


def outcome(found, study=Synthetic(), **grids):  # noqa: B008
    return [check.holds for check in checks(replace(found, grids=found.grids | grids), study)]


def described(found, study=Synthetic()):  # noqa: B008
    report = Report(study.texts)
    study.describe(report, found)
    return report


def test_a_study_as_the_paper_has_it(ideal):
    study, _ = ideal
    assert outcome(study) == [True] * 13
    assert all(check.documented for check in checks(study))


def broken(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def changed(found, **grids):
    return {"grids": found.grids | grids}


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, lambda s: {"machines": [{"accuracies": s.machines[0]["accuracies"] | {"validation": 0.999}}]}),
        (1, lambda s: changed(s, low=broken(FALLING, (2, 2), 3.5), high=broken(FALLING, (2, 2), 3.5))),
        (2, lambda s: changed(s, low=broken(FALLING, (1, 0), 17))),
        (3, lambda s: changed(s, score=broken(FALLING, (1, 0), 17))),
        (4, lambda s: changed(s, plurality=broken(s.grids["plurality"], (2, 0), 0.99))),
        (5, lambda s: changed(s, plurality=broken(s.grids["plurality"], (0, 2), 1.0))),
        (10, lambda s: {"draws": scaled(s.draws, score=2)}),
        (11, lambda s: {"draws": scaled(s.draws, plurality=0.7)}),
        (12, lambda s: {"draws": scaled(s.draws, smallest_p_lower=0.8)}),
    ],
)
def test_each_claim_fails_alone(ideal, number, change):
    study, _ = ideal
    expected = [True] * 13
    expected[number] = False
    assert outcome(replace(study, **change(study))) == expected


def test_a_rise_counts_only_beyond_the_votes_error_and_where_every_answer_is_right(ideal):
    study, _ = ideal
    shaky = broken(FALLING, (1, 1), 13.0)  # more than its left and upper neighbours
    assert outcome(study, low=shaky, high=shaky)[1:3] == [False, False]
    assert outcome(study, low=FALLING, high=shaky)[1:3] == [True, True]
    last = broken(FALLING, (2, 2), 3.0)  # less p_random, more score, but with wrong answers
    assert outcome(study, low=last, high=last)[1:3] == [True, True]
    told = checks(replace(study, **changed(study, low=shaky, high=shaky)))[1]
    assert told.measured == "1 of 6 neighbouring cells rise"


@pytest.mark.parametrize("samples", [10, 200, 2_000, 20_000])
def test_scores_are_judged_only_where_unanimous_votes_reach_the_papers(ideal, found, samples):
    study, _ = ideal
    paper, votes = published("synthetic"), sc.Votes([[samples, 0]], selection=[[1, 0]])
    bounds, reached = sc.clopper_pearson(votes, alpha=ALPHA), True
    for (i, r), (j, m) in product(enumerate(paper["p_random"]), enumerate(paper["p_motif"])):
        noise = sc.Noise(motif=m, random=r)
        best = score(sc.certify(bounds, noise), [0], max_radius=(7, 7))
        assert unanimous_score(noise, samples, (7, 7)) == best
        reached &= best >= paper["score"][i][j]
    assert reached is (samples == 20_000)
    # The score is all wrong, and a run with few votes cannot tell.
    rising = FALLING[:, ::-1]
    wrong = replace(study, **changed(study, score=rising, low=rising, high=rising))
    told = checks(wrong, Synthetic(samples))[1:4]
    assert [check.holds for check in told] == ([False, True, False] if reached else [None] * 3)
    assert all(("unanimous votes" in check.note) != reached for check in told)
    assert outcome(found, TINY)[1:4] == [None] * 3


def test_every_graph_means_every_graph(ideal):
    study, level = ideal
    needed = sc.slack(synthetic.FEATURED, (1, 45))
    below = math.floor(100_000 * (1 - needed))
    worst, best = (level(synthetic.FEATURED, [*[100_000] * 5, wins]) for wins in (below, below + 100))
    assert worst.smallest_p_lower < 1 - needed
    assert outcome(replace(study, featured=[worst, *study.featured[1:]]))[6] is False
    assert outcome(replace(study, featured=[best, *study.featured[1:]]))[6] is True
    assert outcome(study, Synthetic(featured_samples=99_999))[6] is None


def test_isotropic_claims(ideal):
    study, level = ideal

    def with_level(p, counts):
        return outcome(replace(study, isotropic=study.isotropic | {p: level(sc.Noise(all=p), counts)}))[7:10]

    assert with_level(0.1, [100_000] * 6) == [True, False, True]  # another p certifies all
    assert with_level(0.02, [*[100_000] * 5, 97_000]) == [True, False, True]  # not even 0.02 does
    assert with_level(0.1, [50_000, *[99_990] * 5]) == [False, True, True]  # one graph abstains
    few = {p: level(sc.Noise(all=p), [60_000] * 6) for p in synthetic.ISOTROPIC}
    few[0.02] = study.isotropic[0.02]
    assert outcome(replace(study, isotropic=few))[7:10] == [True, True, False]


def test_few_votes_decide_no_number(ideal):
    study, _ = ideal
    assert outcome(study, Synthetic(samples=99_999))[10:] == [None] * 3
    assert outcome(replace(study, draws=study.draws[:2]))[10:] == [None] * 3


def test_the_headline_is_counted_over_the_draws(ideal, found):
    study, _ = ideal
    assert len(found.certified) == len(found.draws)
    for seed, share in zip(TINY.data_seeds[:3], found.certified, strict=False):
        model, data = worlds.small_machine(seed)
        smoothed = sc.SmoothedClassifier(sc.classifiers.from_sklearn(model), synthetic.FEATURED, data.partition)
        again = smoothed.certify(data.test.graphs, samples=TINY.featured_samples, seed=TINY.seed)
        assert share == again.certified_accuracy(data.test.labels, (1, 45))
    sure, weak = study.featured[0], replace(study.featured[0], votes=found.featured[1].votes)
    mixed = replace(study, featured=[sure, weak, sure], draws=study.draws[:3], machines=study.machines[:3])
    assert sum("2 of 3 draws" in check.note for check in checks(mixed)) == 1
    said = " ".join(described(mixed, Synthetic(draws=2)).summary)
    assert "Of 3 draws of the data, this one among them, 2 have" in said
