"""Looks at stored votes: which certificates were computed from them, and which may therefore follow.

A bound for a fixed number of votes is true if the number was fixed before anyone saw them. So the store records each
look: a certificate that was computed, or a plan that saw votes before it said how many it wants. The same call again is
no further look.

With evidence, votes at attacked graphs continue the bet on the votes on the clean graph. It is one bet as long as no
evidence is weighed at more votes on the clean graph than it was continued from, or at votes in the order of another
plan (docs/mathematics.md, "One capital").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starcert.system.errors import InvalidParameterError
from starcert.voting.store.records import Look

__all__ = ["check_look", "is_fixed"]

_FRESH = "draw fresh votes, with another seed into another store."
_ONE_BET = (
    "as in the certificates already computed from this store, because votes at attacked graphs continue one bet on the "
    "votes on the clean graph"
)


def is_fixed(estimation: int, looks: Iterable[Look]) -> bool:
    """Whether a number of votes counts as fixed in advance: nobody has looked, or the first to look had this number.

    Example:
        >>> is_fixed(500, []), is_fixed(500, [Look(100, 500)]), is_fixed(900, [Look(100, 500)])
        (True, True, False)
    """
    numbers = {look.estimation for look in looks}
    return not numbers or estimation in numbers


def check_look(new: Look, looks: Sequence[Look]) -> None:
    """Refuses a certificate that would not hold with its alpha after these looks, and says what would."""
    if new.estimation is not None and not is_fixed(new.estimation, looks):
        hint = f'Use plan="decided", whose bounds hold whenever you look, or {_FRESH}'
        if any(look.own for look in looks):
            hint = _FRESH.capitalize()
        fixed = [look.estimation for look in looks if look.estimation is not None]
        if not fixed:
            must = 'be "decided" for this store, because a plan has already looked at its votes'
            raise InvalidParameterError("plan", must, "fixed", hint)
        must = f"be {fixed[0]} for this store, because certificates were already computed from that number of votes"
        raise InvalidParameterError("samples", must, new.estimation, hint)
    for look in looks:
        if look.evidence is None:
            continue
        for name, before, now, why in (
            ("selection_samples", look.selection, new.selection, "another class might be chosen"),
            ("evidence", look.evidence, new.evidence, "the better of two certificates fails more often than either"),
            ("max_radius", look.max_radius, new.max_radius, "evidence shares alpha between the levels of this box"),
        ):
            if before != now:
                must = f"be {before}, as in the certificates already computed from this store, because {why}"
                raise InvalidParameterError(name, must, now, f"Keep it, or {_FRESH}")
        if look.own or new.own:
            _check_one_bet(new, look)


def _check_one_bet(new: Look, look: Look) -> None:
    before, now = (("decided" if each.estimation is None else "fixed") for each in (look, new))
    if before != now:
        raise InvalidParameterError("plan", f"be {before!r}, {_ONE_BET}", now, f"Keep it, or {_FRESH}")
    number = "" if look.own and new.own else "at most " if look.own else "at least "
    for graph, (votes, more) in enumerate(zip(look.drawn or (), new.drawn or (), strict=False)):
        if (look.own and more > votes) or (new.own and more < votes):
            must = f"give {number}{votes} votes on graph {graph}, {_ONE_BET}"
            same = "Keep samples, alpha, max_radius and max_flips (own_samples may grow)"
            raise InvalidParameterError("samples", must, more, f"{same}, or {_FRESH}")
