"""Where "none certified" is no finding: beyond the threat that was asked about, and where no number of votes certifies.

A share of 0 says that graphs were examined and none is certified. What says less has no share at all (None), and a
reason; both are decided here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from starcert.claims.slack import slacks_of
from starcert.claims.verdict import lies_within
from starcert.objects.threats import Threat

if TYPE_CHECKING:
    from starcert.claims.certificates import Certificates
    from starcert.math.copies import Level

NEVER = "no number of votes certifies it under this noise"


def unknown_at(certificates: Certificates) -> Callable[[Level], str]:
    """Says of a radius why a share of 0 there would say nothing; "" where it is a finding."""
    threat, never = threat_of(certificates), never_certified(certificates)
    limits = None if threat is None else threat.limits(certificates.noise)

    def why(radius: Level) -> str:
        if threat is not None and any(radius):
            within = (limits is None or lies_within(radius, limits)) and sum(radius) <= (threat.flips or sum(radius))
            if not (threat.by_radius and within):
                return beyond(threat)
        return NEVER if never is not None and never(radius) else ""

    return why


def threat_of(certificates: Certificates) -> Threat | None:
    """The threat that was asked about, listed or not; None where there was none."""
    return certificates.listed_threat or certificates.threat


def beyond(threat: Threat) -> str:
    """The reason where something was not asked about."""
    return f"beyond the threat that was asked about, {threat.label}"


def in_words(rows: Iterable[tuple[str, bool, str]]) -> list[str]:
    """Sentences for below a table: what each row is about, whether it has a share, and why 0 would say nothing.

    Example:
        >>> in_words([("1 flip in a", True, ""), ("2 flips in a", False, "not asked"), ("2 in b", False, "not asked")])
        ['A dash: 2 flips in a, 2 in b (not asked).']
    """
    by_reason: dict[tuple[bool, str], list[str]] = {}
    for what, known, why in rows:
        if why and not (known and why == NEVER):  # graphs with fewer sites may be certified all the same
            by_reason.setdefault((known, why), []).append(what)
    return [
        f"{'By p_A alone' if known else 'A dash'}: {', '.join(each)} ({why})."
        for (known, why), each in by_reason.items()
    ]


def never_certified(certificates: Certificates) -> Callable[[Level], bool] | None:
    """Says of a level whether no number of votes on clean objects certifies it; None: there is no such level.

    Copies of attacked objects show there too often what those of clean ones never show. Votes at attacked objects can
    settle such attacks: where there could be some, none is out of reach.
    """
    law = certificates.noise.product
    if not any(attacked and not clean for each in law.channels for clean, attacked in each.outcomes):
        return None
    grounds = (None if each is None else each.grounds for each in certificates.verdicts or ())
    if any(each is not None and each.most for each in grounds):
        return None
    slacks = [slacks_of(law, limit) for limit in {each.limit for each in certificates.bounds.contests}]
    return cache(lambda level: all(each.bracket(level).below <= 0 for each in slacks))
