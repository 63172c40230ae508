"""What certificates are worth beside a blind model: its accuracy, the structure gain at all that is shown, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from starcert.certificates.metrics import StructureGain, has_sites, right, size_outcomes, size_steps, steps_to
from starcert.files import Archive, BlindRow
from starcert.objects.kinds import Words
from starcert.pages.document import KeyFigure, Notice
from starcert.pages.findings import counted_threat
from starcert.system.output import quantity

GAIN_HEADS = ("against", "right and certified", "blind", "structure gain", "95% interval")


@dataclass(frozen=True)
class Worth:
    """The blind row of an archive whose classes are known, and what its certificates gain on it."""

    archive: Archive
    row: BlindRow
    words: Words

    @classmethod
    def of(cls, archive: Archive, words: Words | None = None) -> Worth | None:
        """That of an archive; None where no class is known, or nothing is said about a blind model."""
        row = BlindRow.of(archive)
        known = any(label is not None for label in archive.labels)
        return cls(archive, row, words or Words(archive.word)) if row is not None and known else None

    @cached_property
    def gains(self) -> list[StructureGain]:
        """At no attack, at each size of attacks that is counted, and by axis at the numbers of flips that are shown."""
        if self.row.missing:
            return []
        certificates, labels = self.archive.certificates, self.archive.labels
        answered, wise = right(certificates, labels), right(self.row.answers, labels)
        known = np.array([label is not None for label in labels], dtype=np.bool_)
        found = [StructureGain.of("no attack", answered, wise, known)]
        threat = counted_threat(self.archive)
        if threat is not None:
            outcomes = size_outcomes(certificates, threat)
            for size in size_steps(outcomes):
                possible = np.array([one.possible(size) for one in outcomes], dtype=np.bool_)
                safe = np.array([one.certified >= size for one in outcomes], dtype=np.bool_)
                found.append(StructureGain.of(threat.label_of(size), answered & safe, wise, known & possible))
        reach = max((max(radius) for one in certificates.frontiers() for radius in one.radii), default=0)
        limits, axes = certificates.max_radius, certificates.noise.axes
        for place, (axis, there) in enumerate(zip(axes, has_sites(certificates).T, strict=True)):
            for n in (each for each in steps_to(reach) if limits is None or each <= limits[place]):
                safe = certificates.certified(tuple(n * (other == place) for other in range(len(axes))))
                found.append(StructureGain.of(f"{n:,} in {axis}", answered & safe, wise, known & there))
        return [each for each in found if each.n_graphs]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The gains as rows of a table with `GAIN_HEADS`."""
        return [(each.attacks, f"{each.certified:.1%}", f"{each.blind:.1%}", *_points(each)) for each in self.gains]

    @property
    def accuracy(self) -> str:
        """The accuracy of the blind model, or why it is missing."""
        if self.row.missing:
            return f"not known: {self.row.missing}"
        return f"{self.gains[0].blind:.1%} ({self.row.model})"

    @property
    def sentence(self) -> str:
        """One honest sentence, where certificates against the smallest attacks gain nothing; "" where they do."""
        attacked = self.gains[1:2]
        for each in attacked:
            model = f"A model that sees nothing an attack can change is right on {each.blind:.1%}"
            if each.gain <= 0:
                worth = "no more" if each.gain == 0 else "less"
                return (
                    f"{model}: against {each.attacks} these certificates are worth {worth} than that "
                    f"({each.certified:.1%} are right and certified)."
                )
            if each.low <= 0:
                return f"{model}: against {each.attacks} these {self.words.many} cannot tell certificates from it."
        return ""

    @property
    def figures(self) -> Iterator[KeyFigure]:
        """The accuracy beside that of a constant answer, or why there is none."""
        if self.row.missing:
            yield KeyFigure("none", f"blind model: {self.row.missing}", "number-blind")
        elif self.gains:
            learned = quantity(self.row.learned_from, self.words.one)
            about = f"right without looking at what may be attacked: {self.row.model}, learned from {learned}"
            yield KeyFigure(f"{self.gains[0].blind:.1%}", about, "number-blind")

    @property
    def notices(self) -> Iterator[Notice]:
        """What a reader must know: nothing is gained."""
        if self.sentence:
            yield Notice("Worth no more than a blind model", self.sentence)

    def to_json(self) -> dict[str, object]:
        """For programs."""
        if self.row.missing:
            return {"blind": {"missing": self.row.missing}}
        about = {"model": self.row.model, "cross_validated": self.row.cross_validated}
        return {
            "blind": {**about, "learned_from": self.row.learned_from, "accuracy": self.gains[0].blind},
            "structure_gain": [vars(each) for each in self.gains],
        }


def _points(gain: StructureGain) -> tuple[str, str]:
    """A gain in points of per cent, and its interval."""
    ends = f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}"
    return f"{100 * gain.gain:+.1f}".replace("-", "−"), ends.replace("-", "−")
