"""Small studies for the tests: data in small sizes, and a study that is done at once."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from unittest import mock

import numpy as np

import starcert as sc
from starcert.datasets import motif
from starcert.system.parts import Part
from starcert_studies.report import Check
from starcert_studies.trials import Study, Tested, Trial, TrialStudy
from starcert_studies.voted import Voted

CLAIMS = (True, False, None)
"""What becomes of the claims of the tiny study, which the project documents as true, false and true."""


@dataclass(frozen=True)
class Tiny(Study):
    texts: ClassVar = {
        "title": "A tiny <study> & 'so on'",
        "about": "a tiny study <one>",
        "summary": ["It says: <b>nothing</b> & more."],
        "pictures": {"bars": 'Bars, "so to speak" <one>.'},
        "tables": {"shown": "Some numbers <shown>.", "linked": "The same."},
        "linked": ["linked"],
    }
    quick: ClassVar = {"samples": 20}

    samples: int = 40
    seed: int = 1
    levels: tuple[float, ...] = (0.1, 0.2)

    def parts(self):
        return [Part(f"part-{k}", drawn, (self.seed, k, self.samples)) for k in range(3)]

    def outcome(self, report, found, results):
        report.checks += [
            Check(f"claim {k} <i>", "yes & no", str(results["part-0"]), holds, documented, "because x <y> & z")
            for k, (holds, documented) in enumerate(zip(CLAIMS, (True, False, True), strict=True))
        ]
        for name, value in results.items():
            for table in ("shown", "linked"):
                report.table(table, [{"a <third>": value / 3}], name=name, value=value)
        report.sentence()
        report.picture("bars", _bars, list(results.values()))
        report.values["parts"] = len(results)


@dataclass(frozen=True)
class Halves(TrialStudy):
    """Votes on the small motif data, in blocks of four graphs, by a classifier that looks at the motif alone."""

    samples: int = 60
    seed: int = 3

    def trials(self):
        noises = {p: sc.Noise(motif=p, random=0.4) for p in (0.3, 0.4)}
        votes = self.samples, self.seed
        return {p: [Trial(f"at-{p}", 0, noise, *votes, 6, 4, clean=True)] for p, noise in noises.items()}

    def data(self, key):
        data = small_data(key)
        return Tested(data.test.graphs, data.test.labels, sc.Noise(motif=0.1, random=0.1), data.partition)

    def model(self, key):
        return sc.classifiers.from_callable(more_than_half, n_classes=2, on="batch", description="more than half")

    def fact_keys(self):
        return {"clean": 0}

    def outcome(self, report, found, results):
        raise NotImplementedError


def _bars(heights):
    from starcert.display.drawing import new_figure  # noqa: PLC0415  (not for workers)

    figure = new_figure(2, 2)
    figure.add_subplot().bar(range(len(heights)), heights)
    return figure


def drawn(seed: int, number: int, samples: int) -> int:
    return int(np.random.default_rng([seed, number]).integers(100, size=samples).sum())


def small_data(seed: int, train: int = 40):
    """The motif data with few graphs."""
    return motif(seed=seed, train=train, validation=10, test=6)


def write_papers(path: Path, of_a_field: int, links: tuple[float, float]) -> None:
    """Papers of three fields in Cora-ML's layout: most links and words are those of the own field.

    `links` are the probabilities of a link inside a field and between two.
    """
    from scipy import sparse  # noqa: PLC0415

    rng, labels = np.random.default_rng(0), np.repeat(np.arange(3), of_a_field)
    n = len(labels)
    linked = np.triu(rng.random((n, n)) < np.where(labels[:, None] == labels, *links), 1)
    words = rng.random((n, 30)) < np.where(labels[:, None] == np.arange(30) % 3, 0.4, 0.05)
    arrays = {"labels": labels}
    for name, matrix in (("adj_matrix", linked), ("attr_matrix", words)):
        rows = sparse.csr_array(matrix.astype(np.float32))
        arrays |= {f"{name}_{part}": getattr(rows, part) for part in ("data", "indices", "indptr", "shape")}
    np.savez(path, **arrays)


def more_than_half(batch):
    """Whether a noisy graph of the motif data has more than half of the motif's pairs; for a batch of them."""
    return (batch.adjacency()[:, :10, :10].sum(axis=(1, 2)) > 45).astype(int)


def small_machine(seed: int, train: int = 40):
    """The same, and the vertex-histogram machine trained on them."""
    data = small_data(seed, train)
    return sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels), data


def voted(noise, labels, answers, wins=99_990, total=100_000, **more):
    """Objects with these answers, each with some of the votes."""
    labels, answers, wins = (np.broadcast_to(each, len(labels)) for each in (labels, answers, wins))
    classes = np.arange(max(labels.max(), answers.max(), 1) + 1)
    others = np.where(classes == (answers[:, None] + 1) % len(classes), (total - wins)[:, None], 0)
    counts = np.where(classes == answers[:, None], wins[:, None], others)
    return Voted(noise, np.array(labels), sc.Votes(counts, selection=counts), **more)


def tiny_run(study, folder):
    """The folder of a study in a small size, run as its quick form."""
    from starcert_studies import reproduce  # noqa: PLC0415

    with mock.patch.object(type(study), "from_options", return_value=study):
        return reproduce(type(study).__name__.lower(), folder, quick=True).folder


def table(folder, name):
    """The rows of a table that a study has written."""
    return list(csv.DictReader((folder / "tables" / f"{name}.csv").read_text("utf-8").splitlines()))


def results(folder):
    """What a study has written for machines."""
    return json.loads((folder / "results.json").read_text("utf-8"))


def part(folder, name):
    """What a part of a study has found."""
    return json.loads((folder / "parts" / f"{name}.json").read_text("utf-8"))


def claims(study, found, results=None):
    """Which claims of a study hold of some votes."""
    return [check.holds for check in study.report(found, results or {}).checks]


def judged_entry(**told):
    """Verdicts on one graph at two radii: all certified, but for what is told."""
    ways = {way: [True] * 2 for way in ("by_p_A", "by_evidence", "with_own_votes")}
    return {"right": True, "own_votes": 10, "broken": [False] * 2} | ways | told
