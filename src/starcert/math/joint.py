"""All votes on one object, those of its targets side by side: what claims about many targets at once are made from.

The targets of an object share its noisy copies. So the flips of a copy are kept once, at the sites that a threat can
attack, and beside them the answers of all targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from starcert.math.flips import AnyIntegers, FlipRecord, Integers, narrow

NO_CLASS = 2**16 - 1  # every vote is against it: no copy is left out


@dataclass(frozen=True, eq=False)
class JointVotes:
    """What all targets of an object answered on each of its copies, and which of some sites flipped there."""

    sites: Integers  # the positions of the sites that are kept, ascending
    flips: FlipRecord  # of every copy, at these sites alone, which it numbers from 0
    answers: AnyIntegers  # shape (copies, targets)

    @classmethod
    def of_chunk(cls, sites: Integers, flips: FlipRecord, answers: AnyIntegers) -> Self:
        """The votes of one chunk, from the flips of all its copies."""
        kept: dict[str, Any] = {"label": NO_CLASS, "n_sites": len(sites), "starts": None, "positions": None}
        if flips.shown is None:
            there = flips.matrix(sites)
        else:
            shown = flips.values(sites)
            there = shown >= 0
            kept["shown"] = shown[there].astype(np.uint8)
        kept["bits"] = np.packbits(there, axis=1, bitorder="little")
        return cls(sites, replace(flips, **kept), narrow(answers))

    @classmethod
    def joined(cls, parts: Sequence[JointVotes]) -> Self:
        """The votes of several chunks, one after the other."""
        flips = FlipRecord.joined([each.flips for each in parts])
        return cls(parts[0].sites, flips, np.concatenate([each.answers for each in parts]))

    def __len__(self) -> int:
        return len(self.answers)


class OwnTally(NamedTuple):
    """One chunk of votes at one attacked object: for each class, and for each one against the class its flips by axis.

    An attacked site counts as flipped where it differs from the clean object.
    """

    counts: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]  # shape (votes, axes)
