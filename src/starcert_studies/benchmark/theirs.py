"""Results of another method, in a file of their own: on the page if they are proved, or marked as stated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from starcert.certificates.certificate import Certificate
from starcert.files import verify
from starcert.math.frontier import levels_of
from starcert.system.errors import StarcertError

WORDS = ("method", "data")


@dataclass(frozen=True)
class Theirs:
    """What another method has right and certified, by the number of flips."""

    method: str
    data: str
    certified: dict[int, float]  # shares of all objects, by size
    objects: int
    proved: bool  # whether the figures were computed from certificates that were proved here
    note: str  # what was done, or is stated

    @property
    def standing(self) -> str:
        """Whether a reader has to believe it."""
        return "proved" if self.proved else "as stated"


def read_theirs(path: Path) -> Theirs:
    """The results in a JSON file: `method`, `data`, and `certificates` (a file that can be verified) or figures.

    Figures are `objects`, their number, and `certified`, the share that is right and certified by the number of flips.
    Where certificates are named, the figures are computed from them. A file with a false claim is refused, and one
    whose figures are larger than what its certificates prove.
    """
    try:
        given = json.loads(path.read_text("utf-8"))
        for word in WORDS:
            if not isinstance(given[word], str):
                raise TypeError(f"{word!r} must be a text")
        stated = {int(size): float(share) for size, share in given.get("certified", {}).items()}
        if not all(size >= 0 and 0 <= share <= 1 for size, share in stated.items()):
            raise ValueError("'certified' must have shares from 0 to 1 by numbers of flips")
        objects, note = int(given.get("objects", 0)), str(given.get("note", ""))
        if "certificates" not in given and (not stated or objects < 1):
            raise ValueError("without 'certificates', 'certified' and 'objects' must be stated")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        hint = 'Write {"method": …, "data": …, "certificates": "certificates.json"}.'
        raise StarcertError(f"{path}: cannot be read as results of a method ({what}). {hint}") from error
    if "certificates" in given:
        return _proved(given, path.parent / str(given["certificates"]), stated)
    return Theirs(given["method"], given["data"], stated, objects, proved=False, note=note)


def _proved(given: dict[str, Any], file: Path, stated: dict[int, float]) -> Theirs:
    found = verify(file)
    if found.refuted:
        raise StarcertError(f"{file}: {len(found.refuted)} of its claims are false. starcert verify lists them.")
    archive = found.archive
    if any(label is None for label in archive.labels):
        raise StarcertError(f"{file}: does not say the class of every object, so that no share can be computed.")
    every = list(archive.certificates)
    right = np.array(
        [not one.abstained and one.label == label for one, label in zip(every, archive.labels, strict=True)]
    )
    sizes = sorted(stated) or [0, 1, 2, 3, 5, 10]
    reach = np.array([_flips(one, max(sizes)) for one in every])
    shares = {size: float((right & (reach >= size)).mean()) for size in sizes}
    for size, share in stated.items():
        if share > shares[size] + 1e-9:
            raise StarcertError(
                f"{file}: proves {shares[size]:.4f} at {size} flips, and {share:.4f} is stated. Correct it."
            )
    by = f"It follows from what {archive.stated_by} states, which is not proved." if archive.stated_by else ""
    where = f"Flips are those in {', '.join(archive.noise.axes)}."
    note = " ".join(filter(None, [str(given.get("note", "")), where, by, found.premise]))
    return Theirs(given["method"], given["data"], shares, len(every), proved=not by, note=note)


def _flips(one: Certificate, most: int) -> int:
    """Up to how many flips, wherever they are, the answer is certified; files need not say how many sites there are."""
    n_axes = len(one.noise.axes)
    for flips in range(1, most + 1):
        if not all(one.certified(level) for level in levels_of(flips, (flips,) * n_axes)):
            return flips - 1
    return most
