"""The synthetic study with few graphs, levels and votes: every number again by loops, every claim made to fail."""

import csv
import json
import math
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert.certificates.metrics import score
from starcert.objects.binding import bind_all
from starcert_studies import synthetic_votes
from starcert_studies.levels import ALPHA, Level, as_if, read_votes
from starcert_studies.outcome import published
from starcert_studies.parts import StudyParts
from starcert_studies.reproduce import reproduce
from starcert_studies.synthetic import pictures, tables
from starcert_studies.synthetic_checks import _reachable, checks, summary
from starcert_studies.synthetic_votes import SyntheticSettings

pytest.importorskip("matplotlib")
pytest.importorskip("grakel")

ROWS, COLUMNS = (0, 4, 8), (0, 1, 9)
"""Of the paper's grid, p_random 0.45, 0.25, 0.05 and p_motif 0.02, 0.04, 0.2 are enough to see what happens."""

FIGURES = {
    "graphs", "noise_matrix", "score", "accuracy", "smallest_p_lower", "draws", "anisotropic", "isotropic"
}  # fmt: skip
TABLES = {"grid", "anisotropic", "isotropic", "draws", "base_accuracy"}


@pytest.fixture(scope="module", autouse=True)
def _small():
    paper = published("synthetic")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("score", "accuracy", "smallest_p_lower"):
            patch.setitem(paper, name, [[paper[name][i][j] for j in COLUMNS] for i in ROWS])
        patch.setitem(paper, "p_random", [paper["p_random"][i] for i in ROWS])
        patch.setitem(paper, "p_motif", [paper["p_motif"][j] for j in COLUMNS])
        patch.setattr(synthetic_votes, "draw_of_data", worlds.small_data)
        synthetic_votes._bound.cache_clear()
        yield
        synthetic_votes._bound.cache_clear()


@pytest.fixture(scope="module")
def folders(tmp_path_factory, _small):
    """The same study twice, in two folders."""
    made = [tmp_path_factory.mktemp("study") for _ in range(2)]
    for folder in made:
        reproduce("synthetic", folder, samples=50, quick=True)
    return made


@pytest.fixture(scope="module")
def found(folders):
    return synthetic_votes.compute(synthetic_votes.settings(50, 1, True), StudyParts(folders[0] / "parts"))


def rows_of(folder, name):
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_settings_of_the_command_line():
    assert synthetic_votes.settings(None, 1, False) == SyntheticSettings(100_000, 100_000, 19, 5_000, 1, 0)
    assert synthetic_votes.settings(None, 2, True) == SyntheticSettings(10_000, 100_000, 5, 2_000, 2, 0)
    assert synthetic_votes.settings(5000, 3, False) == SyntheticSettings(5000, 5000, 19, 250, 3, 0)
    assert synthetic_votes.settings(50, 1, True) == SyntheticSettings(50, 50, 5, 100, 1, 0)


def test_every_figure_is_drawn(folders):
    drawn = {path.name for path in (folders[0] / "figures").iterdir()}
    assert drawn == {f"{name}.{ending}" for name in FIGURES for ending in ("svg", "png")}
    for name in FIGURES:
        ElementTree.parse(folders[0] / "figures" / f"{name}.svg")
    page = (folders[0] / "index.html").read_text("utf-8")
    assert all(f'src="figures/{name}.svg"' in page for name in FIGURES)


def test_two_runs_are_the_same_byte_by_byte(folders):
    for kind in ("tables", "figures", "parts"):
        one, two = ({path.name: path.read_bytes() for path in (folder / kind).iterdir()} for folder in folders)
        assert one == two
    assert {path.stem for path in (folders[0] / "tables").iterdir()} == TABLES


def test_the_results_file(folders):
    kept = json.loads((folders[0] / "results.json").read_text("utf-8"))
    assert len(kept["checks"]) == 13
    for check in kept["checks"]:
        assert {"claim", "published", "measured", "holds", "documented"} <= set(check)
        assert check["holds"] in (True, False, None)
    assert kept["values"]["majority_share"] == 0.5
    assert set(kept["values"]["support_vectors"]) == {"0", *map(str, range(10_001, 10_006))}
    assert kept["settings"]["samples"] == 50


def test_the_grid_again_by_loops(folders, found):
    data = worlds.small_data(0)
    table = rows_of(folders[0], "grid")
    assert len(table) == 9
    for row in table:
        m, r = float(row["p_motif"]), float(row["p_random"])
        votes = json.loads((folders[0] / "parts" / f"level-motif-{m:g}-random-{r:g}-50.json").read_text("utf-8"))
        most = [v.index(max(v)) == label for v, label in zip(votes["estimation"], data.test.labels, strict=True)]
        assert float(row["plurality"]) == sum(most) / 6
        bounds = sc.clopper_pearson(read_votes(votes), alpha=ALPHA)
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
        assert found.score[i, j] == int(row["score"])
        assert float(row["published_score"]) == published("synthetic")["score"][i][j]
    assert {int(row["score"]) for row in table} != {0}
    assert len({row["accuracy"] for row in table}) > 1


def test_the_other_tables(folders, found):
    labels = found.data.test.labels
    isotropic = rows_of(folders[0], "isotropic")
    assert [(float(row["p"]), int(row["radius"])) for row in isotropic] == list(
        product([0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2], range(4))
    )
    for row in isotropic:
        level = found.isotropic[float(row["p"])]
        assert level.certificates.capacity == [(190,)] * 6
        assert float(row["share"]) == level.certificates.certified_accuracy(labels, (int(row["radius"]),))
    anisotropic = rows_of(folders[0], "anisotropic")
    assert len(anisotropic) == 5 * 46
    for row in anisotropic[::23]:
        radius = int(row["r_motif"]), int(row["r_random"])
        assert float(row["share"]) == found.featured.certificates.certified_accuracy(labels, radius)
    assert [(row["graphs"], float(row["accuracy"])) for row in rows_of(folders[0], "base_accuracy")] == [
        ("training", 1), ("validation", 1), ("test", 1)
    ]  # fmt: skip


def test_draws_have_data_and_machines_of_their_own(folders, found):
    assert [draw.seed for draw in found.draws] == [0, 10_001, 10_002, 10_003, 10_004, 10_005]
    assert (found.draws[0].score == found.score).all()  # here all rows are among the drawn ones
    for draw in found.draws[1:3]:
        data = worlds.small_data(draw.seed)
        model = sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels)
        assert draw.support_vectors == len(model.svc_.support_)
        kept = json.loads((folders[0] / "parts" / f"draw-{draw.seed}-100.json").read_text("utf-8"))
        assert kept["labels"] == data.test.labels.tolist()
        votes = as_if(read_votes(kept["votes"]["motif-0.2-random-0.45"]), 50)
        assert draw.plurality[0, 2] == np.mean(votes.counts.argmax(axis=1) == data.test.labels)
        assert draw.smallest_p_lower[0, 2] == sc.clopper_pearson(votes, alpha=ALPHA).p_lower.min()
    table = rows_of(folders[0], "draws")
    assert len(table) == 6 * 9
    assert [float(row["smallest_p_lower"]) for row in table] == [
        value for draw in found.draws for value in draw.smallest_p_lower.ravel()
    ]


def test_the_score_is_known_but_for_the_votes_own_error(found):
    low, high = found.score_range
    assert (low <= found.score).all()
    assert (found.score <= high).all()
    assert (low < high).any()


# ---- the claims


FALLING = np.array([[16.0, 9.0, 4.0], [12.0, 6.0, 2.0], [5.0, 3.0, 1.0]])


@pytest.fixture
def ideal(found):
    """A study in which everything that the paper says is so."""
    right = np.array([[1, 1, 0.5], [1, 1, 0.5], [1, 1, 0.5]])

    def level(noise, regions, counts):
        labels = found.data.test.labels
        votes = np.where(
            labels[:, None] == np.arange(2), np.array(counts)[:, None], 100_000 - np.array(counts)[:, None]
        )
        return Level.of(bind_all(found.data.test.graphs, noise, regions), sc.Votes(votes, selection=votes))

    everywhere = sc.Partition.everything("all")
    counts = {p: [99_900] * 6 if p == 0.02 else [60_000, *[99_990] * 5] for p in synthetic_votes.ISOTROPIC}
    return replace(
        found,
        settings=SyntheticSettings(),
        score=FALLING,
        score_range=(FALLING, FALLING),
        accuracy=right,
        plurality=right,
        featured=level(sc.Noise(motif=0.02, random=0.45), found.data.partition, [100_000] * 6),
        isotropic={p: level(sc.Noise(all=p), everywhere, counts[p]) for p in synthetic_votes.ISOTROPIC},
        draws=[replace(found.draws[0], **as_published(1 + 0.01 * k)) for k in range(4)],
    ), level


def as_published(factor):
    names = {"score": "score", "plurality": "accuracy", "smallest_p_lower": "smallest_p_lower"}
    return {ours: np.array(published("synthetic")[name], float) * factor for ours, name in names.items()}


def outcome(found):
    return [check.holds for check in checks(found)]


def test_a_study_as_the_paper_has_it(ideal):
    study, _ = ideal
    assert outcome(study) == [True] * 13
    assert all(check.documented for check in checks(study))


def broken(array, at, value):
    array = array.copy()
    array[at] = value
    return array


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, lambda s: {"base_accuracy": s.base_accuracy | {"validation": 0.999}}),
        (1, lambda s: {"score_range": (broken(FALLING, (2, 2), 3.5), broken(FALLING, (2, 2), 3.5))}),
        (2, lambda s: {"score_range": (broken(FALLING, (1, 0), 17), FALLING)}),
        (3, lambda s: {"score": broken(FALLING, (1, 0), 17)}),
        (4, lambda s: {"plurality": broken(s.plurality, (2, 0), 0.99)}),
        (5, lambda s: {"plurality": broken(s.plurality, (0, 2), 1.0)}),
        (10, lambda s: {"draws": [replace(d, score=d.score * 2) for d in s.draws]}),
        (11, lambda s: {"draws": [replace(d, plurality=d.plurality * 0.7) for d in s.draws]}),
        (12, lambda s: {"draws": [replace(d, smallest_p_lower=d.smallest_p_lower * 0.8) for d in s.draws]}),
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
    assert outcome(replace(study, score_range=(shaky, shaky)))[1:3] == [False, False]
    assert outcome(replace(study, score_range=(FALLING, shaky)))[1:3] == [True, True]
    last = broken(FALLING, (2, 2), 3.0)  # less p_random, more score, but with wrong answers
    assert outcome(replace(study, score_range=(last, last)))[1:3] == [True, True]
    told = checks(replace(study, score_range=(shaky, shaky)))[1]
    assert told.measured == "1 of 6 neighbouring cells rise"


@pytest.mark.parametrize("samples", [10, 200, 2_000, 20_000])
def test_scores_are_judged_only_where_unanimous_votes_reach_the_papers(ideal, found, samples):
    study, _ = ideal
    paper, votes = published("synthetic"), sc.Votes([[samples, 0]], selection=[[1, 0]])
    reached = all(
        score(sc.certify(sc.clopper_pearson(votes, alpha=ALPHA), sc.Noise(motif=m, random=r)), [0], max_radius=(7, 7))
        >= paper["score"][i][j]
        for (i, r), (j, m) in product(enumerate(paper["p_random"]), enumerate(paper["p_motif"]))
    )
    assert _reachable(samples) is reached is (samples == 20_000)
    # The score is all wrong, and a run with few votes cannot tell.
    rising = FALLING[:, ::-1]
    settings = replace(study.settings, samples=samples)
    told = checks(replace(study, settings=settings, score=rising, score_range=(rising, rising)))[1:4]
    assert [check.holds for check in told] == ([False, True, False] if reached else [None] * 3)
    assert all(("unanimous votes" in check.note) != reached for check in told)
    assert [check.holds for check in checks(found)[1:4]] == [None] * 3


def test_every_graph_means_every_graph(ideal):
    study, level = ideal
    noise, regions = sc.Noise(motif=0.02, random=0.45), study.data.partition
    needed = sc.slack(noise, (1, 45))
    below = math.floor(100_000 * (1 - needed))
    worst = level(noise, regions, [*[100_000] * 5, below])
    assert worst.smallest_p_lower < 1 - needed
    assert outcome(replace(study, featured=worst))[6] is False
    best = level(noise, regions, [*[100_000] * 5, below + 100])
    assert outcome(replace(study, featured=best))[6] is True
    assert outcome(replace(study, settings=SyntheticSettings(featured_samples=99_999)))[6] is None


def test_isotropic_claims(ideal):
    study, level = ideal
    everywhere = sc.Partition.everything("all")

    def with_level(p, counts):
        changed = study.isotropic | {p: level(sc.Noise(all=p), everywhere, counts)}
        return outcome(replace(study, isotropic=changed))[7:10]

    assert with_level(0.1, [100_000] * 6) == [True, False, True]  # another p certifies all
    assert with_level(0.02, [*[100_000] * 5, 97_000]) == [True, False, True]  # not even 0.02 does
    assert with_level(0.1, [50_000, *[99_990] * 5]) == [False, True, True]  # one graph abstains
    few = {p: level(sc.Noise(all=p), everywhere, [60_000] * 6) for p in synthetic_votes.ISOTROPIC}
    few[0.02] = study.isotropic[0.02]
    assert outcome(replace(study, isotropic=few))[7:10] == [True, True, False]


def test_few_votes_decide_no_number(ideal):
    study, _ = ideal
    assert outcome(replace(study, settings=SyntheticSettings(samples=99_999)))[10:] == [None] * 3
    assert outcome(replace(study, draws=study.draws[:2]))[10:] == [None] * 3


def test_the_summary_says_what_was_measured(ideal, found):
    study, level = ideal
    said = " ".join(summary(study))
    assert "100% of the test graphs" in said
    assert "beyond 1 flip anywhere" in said
    weaker = study.isotropic | {0.02: level(sc.Noise(all=0.02), sc.Partition.everything("all"), [60_000] * 6)}
    assert "beyond 0 flips anywhere" in " ".join(summary(replace(study, isotropic=weaker)))
    assert "0% of the test graphs" in " ".join(summary(found))


def test_grids_show_their_numbers_beside_the_papers(found):
    by_name = {picture.name: picture for picture in pictures(found)}
    assert set(by_name) == FIGURES
    here, paper, bar = by_name["score"].draw().axes
    assert [text.get_text() for text in here.texts] == [f"{value:.0f}" for value in found.score.ravel()]
    assert [text.get_text() for text in paper.texts] == [
        str(value) for row in published("synthetic")["score"] for value in row
    ]
    assert here.images[0].get_clim() == paper.images[0].get_clim() == (0, 16)
    assert bar.get_ylabel() == "score"
    assert (here.get_xlabel(), here.get_ylabel()) == ("flip probability p_motif", "flip probability p_random")


def test_tables_have_a_value_for_each_column(found):
    for table in tables(found):
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_the_headline_is_counted_over_the_draws(ideal, found):
    study, _ = ideal
    assert len(found.featured_draws) == len(found.draws)
    noise = sc.Noise(motif=0.02, random=0.45)
    for draw, share in zip(found.draws, found.featured_draws, strict=True):
        data = synthetic_votes.draw_of_data(draw.seed)
        base = sc.classifiers.from_sklearn(synthetic_votes._machine(data))
        smoothed = sc.SmoothedClassifier(base, noise, data.partition)
        again = smoothed.certify(data.test.graphs, samples=found.settings.featured_samples, seed=found.settings.seed)
        assert share == again.certified_accuracy(data.test.labels, (1, 45))
    mixed = replace(study, featured_draws=[1.0, 0.99, 1.0])
    assert sum("2 of 3 draws" in check.note for check in checks(mixed)) == 1
    assert "Of 3 draws of the data, this one among them, 2 have" in " ".join(summary(mixed))
