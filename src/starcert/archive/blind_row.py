"""The answers of a blind model, as a run keeps them among the settings of its archive: no certificate rests on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert.archive.exact_archive import ExactArchive
    from starcert.archive.record import Archive

BLIND = "blind"  # the setting


@dataclass(frozen=True)
class BlindRow:
    """The answers of a model that sees nothing an attack can change, or the reason that there is none (`missing`).

    Example:
        >>> BlindRow("logistic regression on counts of label", 0.9, learned_from=20, answers=(0, 1)).answers
        (0, 1)
    """

    model: str = ""  # what it is, and what it looks at
    cross_validated: float = math.nan  # the share of its training part that it had right in cross-validation
    learned_from: int = 0  # how many graphs, or nodes, it learned from
    answers: tuple[int, ...] = ()  # a class for each row
    missing: str = ""

    def to_json(self) -> dict[str, object]:
        """As `of` reads it."""
        if self.missing:
            return {"missing": self.missing}
        numbers = {"cross_validated": self.cross_validated, "learned_from": self.learned_from}
        return {"model": self.model, **numbers, "answers": list(self.answers)}

    @classmethod
    def of(cls, archive: Archive | ExactArchive) -> BlindRow | None:
        """The blind row of an archive; None if it has none that can be read, because settings may hold anything."""
        kept = archive.settings.get(BLIND)
        if not isinstance(kept, Mapping):
            return None
        if isinstance(missing := kept.get("missing"), str):
            return cls(missing=missing)
        model, answers = kept.get("model"), kept.get("answers")
        numbers = kept.get("cross_validated"), kept.get("learned_from")
        if not isinstance(model, str) or not isinstance(answers, list) or len(answers) != len(archive.names):
            return None
        classes = range(len(archive.class_names))
        if any(type(each) is not int or each not in classes for each in answers):
            return None
        share, learned = numbers
        if not isinstance(share, int | float) or not isinstance(learned, int):
            return None
        return cls(model, float(share), learned, tuple(answers))
