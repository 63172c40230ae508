"""An attack that is known to change an answer: its sites and values, what it does in words, and how plausible it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import repeat

import numpy as np

from starcert.objects import Sites
from starcert.objects.threats.attacks import VALUES, Attacks
from starcert.objects.threats.valence import keep_valences
from starcert.objects.words import attack_words

MAX_NAMED = 8  # sites of an attack that are named where there is little room


@dataclass(frozen=True, slots=True)
class FoundAttack:
    """An attack that changes the smoothed classifier's answer."""

    sites: tuple[int, ...]  # the flat positions of the flipped sites
    votes: tuple[int, ...]  # what the base classifier said on noisy copies of the attacked object, for each class
    delta: float  # an upper limit on the probability of such votes if the answer does not change
    values: tuple[int | None, ...] = ()  # the new value of each site, None for one that has two; empty where all have
    changes: tuple[str, ...] = field(default=(), compare=False)  # what becomes of each site; empty without the object
    keeps_valences: bool = field(default=True, compare=False)  # False: it leaves an atom more bonds than it can have

    def on(self, sites: Sites) -> FoundAttack:
        """The same attack on this object: in words, and whether a molecule that it is keeps its valences."""
        values = sites.values[list(self.sites)].tolist()
        given = zip(values, self.values or repeat(None), strict=False)
        new = [int(not before) if after is None else after for before, after in given]
        kept = keep_valences(sites, Attacks((VALUES * np.array([self.sites], dtype=np.int64) + new,)))
        changes = attack_words(self.sites, self.values, sites)
        return replace(self, changes=changes, keeps_valences=kept is None or bool(kept[0]))

    @property
    def words(self) -> str:
        """All that it changes, such as "atom 2: C → N; bond 0–4 added, double"; sites by number, without the object."""
        return "; ".join(self.changes or map(_by_number, self.sites, self.values or repeat(None)))

    def __str__(self) -> str:
        """The same, of many changes the first."""
        if (more := len(self.sites) - MAX_NAMED) <= 0:
            return self.words
        first = replace(self, sites=self.sites[:MAX_NAMED], changes=self.changes[:MAX_NAMED])
        return f"{first.words}; and {more:,} more"


def most_plausible(attacks: Iterable[FoundAttack]) -> FoundAttack | None:
    """The attack to show first: one that keeps valences, then one with few changes, then the first; None: no attack."""
    return min(attacks, key=lambda each: (not each.keeps_valences, len(each.sites)), default=None)


def _by_number(site: int, value: int | None) -> str:
    return f"site {site} flipped" if value is None else f"site {site}: now {value}"
