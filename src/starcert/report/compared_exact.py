"""A run that tried every attack on the plain model, as a comparison sees it: by the size of attacks, not by axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from typing_extensions import override

from starcert.archive import BlindRow, ExactArchive
from starcert.claims.outcomes import Outcomes
from starcert.claims.question import size_within
from starcert.objects.threats import Threat
from starcert.report.blocks import Notice
from starcert.report.compared_runs import ComparedRun, Mask


class ComparedExact(ComparedRun):
    """A run that tried attacks. It has no axes: what is compared is its answers, and what they withstand by size."""

    by_votes = False
    archive: ExactArchive  # type: ignore[assignment]  # the other kind of archive

    def __init__(self, name: str, archive: ExactArchive, rows: Sequence[int]) -> None:
        result = archive.result
        self.name, self.archive, self.rows = name, archive, list(rows)
        self.one, self.axes = archive.word, ()
        self.labels = [archive.labels[row] for row in rows]
        truth = np.array([-1 if label is None else label for label in self.labels])
        self.right = truth == result.labels[self.rows]
        self.answered = np.ones(len(self.rows), dtype=np.bool_)
        self.answers = [archive.class_names[label] for label in result.labels[self.rows].tolist()]
        blind = BlindRow.of(archive)
        self.blind = None if blind is None or blind.missing else truth == np.array(blind.answers)[self.rows]
        sizes = [result.proof.capacities[number] for number in result.objects[self.rows].tolist()]
        self.n_sites = [sum(each) for each in sizes]

    @property
    @override
    def asked(self) -> Threat | None:
        return None if self.archive.result.proof.threat.by_radius else self.archive.result.proof.threat

    @property
    @override
    def counted(self) -> Threat | None:
        return self.archive.result.proof.threat

    @override
    def knows(self, threat: Threat) -> bool:
        return size_within(self.archive.result.proof.threat, threat) is not None

    @override
    def weighed(self, threat: Threat) -> bool:
        return True

    @override
    def certified(self, flips: Mapping[str, int]) -> Mask:
        return np.zeros_like(self.answered) if any(flips.values()) else self.answered

    @property
    @override
    def reach(self) -> dict[str, list[int]]:
        return {}

    @override
    def outcomes(self, threat: Threat) -> Outcomes:
        return self.archive.result.outcomes(threat).only(self.rows)

    @override
    def notices(self) -> Iterator[Notice]:
        text = (
            "Every attack was tried on the model itself, without noise. It is another classifier than the smoothed "
            "ones: what it withstands is compared by the size of attacks, and on no axis."
        )
        yield Notice(f"{self.name}: {self.archive.result.proof.method}", text)

    @override
    def about(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        settings = self.archive.settings
        yield "method", self.archive.result.proof.method
        yield "threat", str(self.archive.result.proof.threat)
        yield from ((name, str(settings[name])) for name in names if settings.get(name) is not None)
        yield "forward passes", f"{self.archive.result.proof.forward_passes:,}"
