"""A row of the tables: which objects a method has right, and right and certified against each attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert_studies import gains

Mask = npt.NDArray[np.bool_]
CLEAN = "clean"


def row_of(
    method: str,
    right: Mask,
    certified: Mapping[str, Mask],
    *,
    tries: int,
    alpha: float,
    seconds: float,
    choice: str = "",
    undecided: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """What a part keeps of a method: its objects one by one, so that intervals can be paired.

    Args:
        method: its name.
        right: which objects it has right without attack.
        certified: which it certifies, right or wrong, against each attack.
        tries: how many settings validation chose from.
        alpha: the probability of a false claim about an object.
        seconds: of the clock, with training and all tries.
        choice: the setting that validation chose.
        undecided: of right answers, how many are neither certified nor known to be broken, against each attack.
    """
    flags = {CLEAN: right} | {attack: right & safe for attack, safe in certified.items()}
    return {
        "method": method, "tries": tries, "alpha": alpha, "seconds": seconds, "choice": choice,
        "flags": {attack: "".join("01"[int(each)] for each in mask) for attack, mask in flags.items()},
        "open": dict(undecided or {}),
    }  # fmt: skip


def always(right: Mask, attacks: Sequence[str]) -> dict[str, Mask]:
    """What a blind model certifies: everything."""
    return dict.fromkeys(attacks, np.ones_like(right))


def mask_of(row: Mapping[str, Any], attack: str) -> Mask | None:
    """Which objects are right and certified against an attack; None where the method was not asked."""
    flags = row["flags"].get(attack)
    return None if flags is None else np.array([each == "1" for each in flags], dtype=np.bool_)


def joined(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows of one method on several folds or splits, as one: objects one after the other."""
    first, attacks = rows[0], [attack for attack in rows[0]["flags"] if all(attack in row["flags"] for row in rows)]
    return {
        **first,
        "seconds": sum(row["seconds"] for row in rows),
        "choice": ", ".join(dict.fromkeys(row["choice"] for row in rows if row["choice"])),
        "flags": {attack: "".join(row["flags"][attack] for row in rows) for attack in attacks},
        "open": {attack: sum(row["open"].get(attack, 0) for row in rows) for attack in first["open"]},
    }


@dataclass(frozen=True)
class Gain:
    """What a method gains on the blind model, in points, and its 95% interval."""

    gain: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.gain:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def gain_of(row: Mapping[str, Any], blind: Mapping[str, Any], attack: str, numbers: Sequence[int]) -> Gain | None:
    """What a method gains against an attack, object by object; None where it was not asked.

    `numbers` says which objects are the same.
    """
    safe, wise = mask_of(row, attack), mask_of(blind, CLEAN)
    if safe is None or wise is None:
        return None
    found = gains.gain_of(safe, wise, numbers)
    return Gain(100 * found.gain, 100 * found.low, 100 * found.high)
