"""A run that tried every attack on the plain model, as a comparison sees it: by the size of attacks, not by axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from typing_extensions import override

from starcert.claims.certificates import Certificates
from starcert.claims.question import size_within
from starcert.objects.threats import Threat
from starcert.report.blocks import Notice
from starcert.report.compared_runs import ComparedRun


class ComparedExact(ComparedRun):
    """A run that tried attacks. It has no axes: what is compared is its answers, and what they withstand by size."""

    by_votes = False

    @override
    def _read(self) -> tuple[Certificates[Any], tuple[str, ...], Sequence[Sequence[int] | None]]:
        result = self.archive.result
        return result, (), [result.proof.capacities[number] for number in result.objects.tolist()]

    @property
    @override
    def asked(self) -> Threat | None:
        return None if self.counted.by_radius else self.counted

    @property
    @override
    def counted(self) -> Threat:
        threat: Threat = self.results.proof.threat
        return threat

    @override
    def knows(self, threat: Threat) -> bool:
        return size_within(self.counted, threat) is not None

    @override
    def weighed(self, threat: Threat) -> bool:
        return True

    @override
    def notices(self) -> Iterator[Notice]:
        text = (
            "Every attack was tried on the model itself, without noise. It is another classifier than the smoothed "
            "ones: what it withstands is compared by the size of attacks, and on no axis."
        )
        yield Notice(f"{self.name}: {self.results.proof.method}", text)

    @override
    def about(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        settings = self.archive.settings
        yield "method", self.results.proof.method
        yield "threat", str(self.counted)
        yield from ((name, str(settings[name])) for name in names if settings.get(name) is not None)
        yield "forward passes", f"{self.results.proof.forward_passes:,}"
