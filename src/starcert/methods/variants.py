"""Variants of objects under a smoothed classifier: every one of them has votes of its own, and all of alpha.

That the answer is the same on all of them is false only if some fixed one has another, and then it must pass by
itself: no union over variants. What passes is never called broken, as that would take two bounds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from typing_extensions import override

from starcert.claims.certificates import Certificates
from starcert.claims.outcomes import Mask
from starcert.claims.proof import SizedProof, Whole
from starcert.claims.verdict import Verdict
from starcert.objects import CleanObject
from starcert.objects.threats import Threat
from starcert.objects.vectors import Choice
from starcert.system.errors import InvalidParameterError
from starcert.system.output import quantity


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VariantVotes(SizedProof):
    """True if every variant of an object has the answer of the object, each by votes of its own."""

    threat: Threat
    alpha: float
    alike: tuple[tuple[bool, ...], ...]  # of each object, for itself and each variant
    silent: Mask  # of which objects no answer is given

    @property
    @override
    def method(self) -> str:
        return "smoothed, votes on every variant"

    @cached_property
    @override
    def certified_sizes(self) -> Whole:
        return np.array([int(all(each)) for each in self.alike])

    @property
    @override
    def broken_sizes(self) -> Whole:
        return np.zeros(len(self.alike), dtype=np.int64)

    @property
    @override
    def attacks_on(self) -> tuple[tuple[int, ...], ...]:
        return tuple((len(each) - 1,) for each in self.alike)

    @override
    def abstained(self, of: Certificates) -> Mask:
        return self.silent

    @override
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        alike = self.alike[row]
        if all(alike):
            return Verdict("certified", f"by votes on all {quantity(len(alike) - 1, 'variant')}")
        left = f"{alike.count(False):,} of {quantity(len(alike), 'object')} lack the answer"
        return Verdict("open", f"{left}; the first is number {alike.index(False)}, the clean one being number 0")


def certify_variants(
    chosen: Sequence[CleanObject],
    threat: Threat,
    alpha: float,
    certify: Callable[[Sequence[CleanObject]], Certificates],
) -> Certificates[VariantVotes]:
    """Certificates of objects beside the variants that a threat lists, from those of each of them, at alpha."""
    options = [each.options for each in chosen if isinstance(each, Choice)]
    found = certify([each for some in options for each in some])
    if len(found) != sum(map(len, options)):
        raise InvalidParameterError("threat", "be about objects that are classified as a whole", str(threat))
    runs = list(pairwise(accumulate(map(len, options), initial=0)))
    silent, labels = found.abstained, found.labels
    first = np.array([start for start, _ in runs])
    alike = tuple(
        tuple((~silent[start:end] & (labels[start:end] == labels[start]) & ~silent[start]).tolist())
        for start, end in runs
    )
    rows = replace(
        found.about,
        objects=np.arange(len(runs)),
        targets=np.zeros(len(runs), dtype=np.int64),
        anchored=[found.anchored[start] or chosen[number].cut for number, (start, _) in enumerate(runs)],  # type: ignore[attr-defined]
    )
    proof = VariantVotes(threat=threat, alpha=alpha, alike=alike, silent=np.asarray(silent)[first])
    return Certificates(rows, labels[first], threat, proof)
