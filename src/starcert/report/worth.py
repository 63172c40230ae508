"""What certificates are worth beside a blind model: its accuracy, the structure gain at all that is shown, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from starcert.archive import Archive, BlindRow, ExactArchive
from starcert.claims.gains import structure_gains, worth_sentence
from starcert.claims.paired import StructureGain
from starcert.claims.unknown import in_words
from starcert.objects.words import Words
from starcert.report.document import KeyFigure, Notice
from starcert.system.output import quantity

GAIN_HEADS = ("against", "certified", "blind", "gain", "95% interval")


@dataclass(frozen=True)
class Worth:
    """The blind row of an archive whose classes are known, and what its certificates gain on it."""

    archive: Archive | ExactArchive
    row: BlindRow
    words: Words

    @classmethod
    def of(cls, archive: Archive | ExactArchive, words: Words | None = None) -> Worth | None:
        """That of an archive; None where no class is known, or nothing is said about a blind model."""
        row = BlindRow.of(archive)
        known = any(label is not None for label in archive.labels)
        return cls(archive, row, words or Words(archive.word)) if row is not None and known else None

    @cached_property
    def gains(self) -> list[StructureGain]:
        """At no attack, at each size of attacks that is counted, and by axis at numbers of flips that are shown."""
        if self.row.missing:
            return []
        archive = self.archive
        if isinstance(archive, ExactArchive):
            return structure_gains(archive.result, archive.labels, self.row.answers, archive.result.threat)
        certificates = archive.certificates
        return structure_gains(certificates, archive.labels, self.row.answers, certificates.counted)

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The gains as rows of a table with `GAIN_HEADS`."""
        return [gain_cells(each) for each in self.gains]

    @property
    def about(self) -> str:
        """What the blind model is, a sentence."""
        return f"Blind: {self.row.model}, learned from {quantity(self.row.learned_from, self.words.one)}."

    @property
    def notes(self) -> list[str]:
        """Why some gains are dashes, in sentences."""
        return in_words((each.attacks, each.certified is not None, each.why) for each in self.gains)

    @property
    def sentence(self) -> str:
        """One honest sentence, where certificates against the smallest attacks gain nothing; "" where they do."""
        return worth_sentence(self.gains, self.words.many)

    @property
    def figures(self) -> Iterator[KeyFigure]:
        """The accuracy beside that of a constant answer, or why there is none."""
        if self.row.missing:
            yield KeyFigure("none", f"blind model: {self.row.missing}", "number-blind")
        elif self.gains:
            what = f"right without looking at what may be attacked ({self.row.model})"
            yield KeyFigure(f"{self.gains[0].blind:.1%}", what, "number-blind")

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
            "structure_gain": [
                {name: value for name, value in vars(each).items() if name != "why" or value} for each in self.gains
            ],
        }


def gain_cells(gain: StructureGain) -> tuple[str, ...]:
    """A gain as a row of a table with `GAIN_HEADS`: shares, then points of per cent."""
    if gain.certified is None or gain.gain is None or gain.low is None or gain.high is None:
        return gain.attacks, "–", f"{gain.blind:.1%}", "–", "–"
    points = f"{100 * gain.gain:+.1f}", f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}"
    return gain.attacks, f"{gain.certified:.1%}", f"{gain.blind:.1%}", *(each.replace("-", "−") for each in points)
