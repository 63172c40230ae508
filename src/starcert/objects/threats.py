"""Threats: what an attacker can do, written the same way in Python, in run files and on the command line.

    flips:2    at most two flips, wherever they are    AnyFlips(2)

A new threat is a class here, with its text in `threat_of`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from starcert.system.errors import InvalidParameterError, whole_number

__all__ = ["AnyFlips", "Threat", "check_box", "threat_of"]

MAX_FLIPS = 10**9
"""No radius counts more flips than these on one axis."""


@dataclass(frozen=True, slots=True)
class AnyFlips:
    """An attacker who flips at most `most` sites, wherever in the regions they are.

    Example:
        >>> str(AnyFlips(2)), AnyFlips(1).words
        ('flips:2', 'any 1 flip')
    """

    most: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", whole_number("most", self.most, 1, MAX_FLIPS))

    def __str__(self) -> str:
        return f"flips:{self.most}"

    @property
    def words(self) -> str:
        """What tables and pages call it."""
        return f"any {self.most:,} flip{'s' * (self.most > 1)}"


Threat: TypeAlias = AnyFlips
"""The threats that there are."""


def threat_of(given: object, name: str = "threat") -> Threat:
    """The threat that a text describes; a threat stays as it is.

    Args:
        given: the text, or a threat.
        name: what an error message calls the parameter.

    Example:
        >>> threat_of("flips:2")
        AnyFlips(most=2)
    """
    if isinstance(given, AnyFlips):
        return given
    found = re.fullmatch(r"flips:([1-9][0-9]{0,8})", given.strip()) if isinstance(given, str) else None
    if found is None:
        raise InvalidParameterError(name, "be flips:K, for at most K flips anywhere", given, 'For example "flips:2".')
    return AnyFlips(int(found[1]))


def check_box(max_radius: Sequence[int] | None, threat: Threat) -> None:
    """Refuses a box of radii that leaves out part of a threat; None: there is no box."""
    if max_radius is not None and min(max_radius) < threat.most:
        requirement = f"hold {threat.words}, at least {threat.most:,} on every axis"
        hint = "Leave max_radius out, or name a smaller threat."
        raise InvalidParameterError("max_radius", requirement, max_radius, hint)
