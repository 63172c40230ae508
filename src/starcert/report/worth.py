"""Certificates beside a blind model: its accuracy, the structure gain at all that is shown, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from starcert.archive import Archive, BlindRow
from starcert.claims.gains import StructureGain, structure_gains, worth_sentence
from starcert.claims.outcomes import in_words, size_steps
from starcert.objects.words import Words
from starcert.report.blocks import Marked, Notice, Phrase, Section, TableBlock, Text
from starcert.system.output import quantity

GAIN_HEADS = ("against", "certified", "blind", "gain", "95% interval")


@dataclass(frozen=True)
class Worth:
    """The blind row of an archive, and what its certificates gain on it; nothing is shown where there is no row."""

    archive: Archive
    row: BlindRow | None  # None where no class is known, or nothing is said about a blind model
    words: Words

    @classmethod
    def of(cls, archive: Archive, words: Words | None = None) -> Worth:
        """That of an archive."""
        row = None if archive.known is None else BlindRow.of(archive)
        return cls(archive, row, words or Words(archive.word))

    @cached_property
    def gains(self) -> list[StructureGain]:
        """At no attack, at each size of attacks that is counted, and by axis at numbers of flips that are shown."""
        if self.row is None or self.row.missing:
            return []
        archive = self.archive
        if archive.plain:
            return structure_gains(archive.certificates, archive.labels, self.row.answers, archive.certificates.threat)
        certificates = archive.certificates
        return structure_gains(certificates, archive.labels, self.row.answers, certificates.counted)

    @property
    def sections(self) -> list[Section]:
        """The gains as a table, with what the blind model is, and why some of them are dashes."""
        if self.row is None or not self.gains:
            return []
        learned = f"Blind: {self.row.model}, learned from {quantity(self.row.learned_from, self.words.one)}."
        shown = [each for each in self.gains if each.attacks not in self._again]
        notes = in_words((each.attacks, each.certified is not None, each.why) for each in shown)
        return [gains_section(GAIN_HEADS, list(map(gain_cells, shown)), self.words.many, [learned, *notes])]

    @property
    def _again(self) -> set[str]:
        """The flips on the only axis that are any flips, too, and stand there."""
        certificates = self.archive.certificates
        counted, axes = (certificates.counted, certificates.noise.axes) if certificates.of_radii else (None, ())
        if counted is None or not counted.by_radius or len(axes) != 1:
            return set()
        return {f"{quantity(size, 'flip')} in {axes[0]}" for size in size_steps(counted.most)}

    @property
    def notices(self) -> Iterator[Notice]:
        """The notice that nothing is gained, if so."""
        if sentence := worth_sentence(self.gains, self.words.many):
            yield Notice("Worth no more than a blind model", sentence)

    def to_json(self) -> dict[str, object]:
        """For programs."""
        if self.row is None:
            return {}
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


def gains_section(heads: Sequence[str], rows: Sequence[Sequence[Phrase]], many: str, notes: Sequence[str]) -> Section:
    """Structure gains in a table, and what they mean."""
    meaning = (
        "A model that sees nothing an attack can change is certified against every attack, for free. The structure "
        "gain is what is right ", Marked("and"), f" certified, less what that model has right, of the same {many}, in "
        "points of per cent.",
    )  # fmt: skip
    intervals = (
        f"Each interval holds with probability 95% over the choice of {many}, by itself; one that contains 0 shows no "
        f"gain. Of the {many} with a known class, those count that can be attacked so."
    )
    return Section(
        "worth",
        "Beside a blind model",
        [
            Text(phrase=meaning, only="page"),
            TableBlock(name="gain-table", heads=heads, rows=rows),
            *(Text(phrase=note, only="terminal") for note in notes),
            Text(phrase=" ".join([*notes, intervals]), caption=True, only="page"),
        ],
    )
