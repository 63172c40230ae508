"""The study of the kernels, with few graphs and votes."""

from functools import partial

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert.system.parts import PartsFolder
from starcert_studies.paper import kernels
from starcert_studies.report import Report, published
from starcert_studies.trials import split_accuracies

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

few = partial(worlds.small_data, train=8)
SETTINGS = kernels.Kernels(samples=60, test=6, draws=1, draw_samples=30, seed=2)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "motif", few)
        yield folder, SETTINGS.report(*SETTINGS.votes(PartsFolder(folder)))


def base_of(kernel, data):
    name, parameters = kernels.KERNELS[kernel]
    model = getattr(sc.models, name)(**parameters).fit(data.train.graphs, data.train.labels)
    return sc.classifiers.from_sklearn(model)


def test_votes_in_blocks_are_the_votes_of_all_graphs(study):
    folder, outcome = study
    data = few(0)
    noise = sc.Noise(motif=0.01, random=0.45)
    rows = {row[0]: dict(zip(outcome.tables[0].columns, row, strict=True)) for row in outcome.tables[0].rows}
    assert list(rows) == ["vertex_histogram", "nspd", "nspd_radius_0", "graphlet"]
    for kernel, row in rows.items():
        base = base_of(kernel, data)
        found = sc.SmoothedClassifier(base, noise, data.partition).certify(data.test.graphs, samples=60, seed=2)
        assert row["smallest_p_lower"] == found.bounds.p_lower.min()
        assert row["smoothed"] == np.mean(found.votes.counts.argmax(axis=1) == data.test.labels)
        assert row["test"] == split_accuracies(base, data)["test"]
        assert row["certified_at_1_45"] == found.certified_accuracy(data.test.labels, (1, 45))
        assert row["published"] == published("kernels")["smallest_p_lower"][kernel.removesuffix("_radius_0")]
    assert {path.stem for path in folder.glob("nspd-0-*")} == {"nspd-0-0", "nspd-0-5"}


def test_finished_kernels_are_not_trained_again(study, monkeypatch):
    folder, outcome = study
    trained = []
    monkeypatch.setattr(kernels.models, "graphlet_svm", lambda: trained.append("graphlet"))
    monkeypatch.setattr(kernels.models, "vertex_histogram_svm", lambda: trained.append("vertex_histogram"))
    (folder / "nspd-0-5.json").unlink()
    again = SETTINGS.report(*SETTINGS.votes(PartsFolder(folder)))
    assert trained == []
    assert again.tables[0].to_csv() == outcome.tables[0].to_csv()


def made_up(votes, labels):
    """Kernels with some votes against the right class of the first graph."""
    noise, first = sc.Noise(motif=0.01, random=0.45), np.arange(len(labels)) == 0
    return {
        kernel: worlds.voted(
            noise, labels, np.where(first & (against > 5000), 1 - labels, labels),
            np.where(first, max(against, 10_000 - against), 10_000), 10_000,
        )
        for kernel, against in votes.items()
    }  # fmt: skip


def checked(study, levels, clean, draws):
    report = Report(study.texts)
    study.check_claims(report, levels, clean, draws)
    return report.checks


LABELS = np.array([0, 1, 1, 0])
CLEAN = {kernel: {"training": 1.0, "validation": 0.9, "test": 1.0} for kernel in kernels.KERNELS}


SAME = {"vertex_histogram": 3, "nspd": 90, "nspd_radius_0": 2, "graphlet": 60}
"""Votes against the right class, in the order of those that were published but for NSPD as it is defined."""


@pytest.mark.parametrize(
    ("votes", "clean", "holds"),
    [
        (SAME, CLEAN, [True, True, False]),
        (SAME | {"vertex_histogram": 80}, CLEAN, [True, False, False]),
        (SAME | {"graphlet": 6000}, CLEAN, [False, True, False]),
        (SAME | {"nspd": 1}, CLEAN, [True, True, True]),
        (SAME, CLEAN | {"nspd": {"test": 0.99}}, [False, True, False]),
    ],
)
def test_claims(votes, clean, holds):
    levels = made_up(votes, LABELS)
    draws = {kernel: [level.smallest_p_lower] * 3 for kernel, level in levels.items()}
    found = checked(kernels.Kernels(), levels, clean, draws)
    assert [check.holds for check in found[:3]] == holds
    assert [check.documented for check in found] == [True, True, False, True, True, True]
    assert ("graphlet 75%" in found[0].measured) == (votes["graphlet"] == 6000)


def test_published_bounds_lie_where_the_next_draw_is_expected():
    levels = made_up(SAME, LABELS)
    told = published("kernels")["smallest_p_lower"]
    draws = {
        kernel: [1 - (1 - told[name]) * scale for scale in (1, 1.1, 0.9, 1.05)]
        for kernel, name in kernels.PUBLISHED.items()
    }
    draws["nspd_radius_0"] = [1 - 8 * (1 - bound) for bound in draws["nspd_radius_0"]]
    found = checked(kernels.Kernels(), levels, CLEAN, draws)
    assert [check.holds for check in found[3:]] == [True, False, True]
    fewer = checked(kernels.Kernels(samples=9_999), levels, CLEAN, draws)
    assert [check.holds for check in fewer[1:]] == [None] * 5
