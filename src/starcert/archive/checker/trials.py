"""Do the numbers of a file of tried attacks fit together? Nothing in it was sampled, and no classifier is asked here.

Sizes follow from the number of the first breaking attack and the counts of attacks; an attack that breaks gives another
class, and changes different sites that are there, as many as its size has; capacities and counts of attacks are such as
the sites allow; and of any flips of bits the number of that attack follows from its sites.

An attack is an object other than the clean one, and a site has at most 256 values: with n sites there are at most
256ⁿ − 1 attacks, whatever the threat. Where an attack of size r is any set of r changes at different sites, and w_s
changes are allowed at site s, the counts are the elementary symmetric polynomials e_r(w). A file states their number
n, and W = Σ w_s as the count of size 1. Given these, e_r is largest where the w_s are as even as they can be, and
smallest where as many as possible are 255 and others 1, because e_r is Schur-concave. Where all of them are 1, both are
the binomial coefficient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, repeat
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from typing_extensions import override

from starcert.archive.checker.rows import Difference, Proofs
from starcert.archive.claims import TriedRow
from starcert.objects.noise import Noise
from starcert.objects.threats import Additions, AnyFlips, Changes, Deletions, Threat
from starcert.objects.threats.sets import SiteThreat

if TYPE_CHECKING:
    from starcert.archive.record import Archive

MAX_TRIED = 2**62
MAX_WAYS = 255  # the other values that a site can have
MAX_COUNTED = 10**400  # no file states a larger count, so that larger bounds need not be computed

_SUFFIX = {Deletions: "delete", Additions: "add", Changes: "change"}
_KINDS = {*_SUFFIX.values()}


class _Reach(NamedTuple):
    """The least and the largest number of sites that can change, and the number of changes of each."""

    least: int
    most: int
    ways: int = MAX_WAYS


class TrialProofs(Proofs):
    """The proofs of what trying attacks has shown."""

    def __init__(self, archive: Archive) -> None:
        self.names, self.result = archive.names, archive.certificates

    def tried(self, claim: TriedRow) -> Iterator[Difference]:
        """Yields statements of a row that do not follow from the number of its first breaking attack."""
        one, proof = self.result[claim.row], self.result.proof
        threat = proof.threat
        for field, claimed, proved in (
            ("certified_size", claim.certified, one.certified_size),
            ("broken_size", claim.broken, one.broken_size),
        ):
            if claimed != proved:
                yield field, claimed, proved
        if (attack := proof.attacks[claim.row]) is None:
            return
        limit, sites, ends = (
            proof.limits[one.object],
            attack.sites,
            proof.ends[one.object],
        )
        first, size, n_sites = (
            int(proof.first[claim.row]),
            one.broken_size,
            proof.n_sites[one.object],
        )
        if first >= limit:
            yield "first", first, f"below {limit}"
        if one.label == int(proof.answers[claim.row]):
            yield "answer_after", one.label, "another class"
        if not sites or list(sites) != sorted(set(sites)) or sites[-1] >= n_sites:
            yield "attack", list(sites), f"ascending sites below {n_sites}"
        elif isinstance(threat, SiteThreat) and len(sites) != size:
            yield "attack", list(sites), f"{size} sites"
        elif isinstance(threat, AnyFlips) and not attack.values:
            ranked = (0, *ends)[len(sites) - 1] + rank_of(sites, MAX_TRIED)
            if ranked != first:
                yield "first", first, ranked

    @override
    def of_objects(self) -> Iterator[tuple[int, str, str, object, object]]:
        """Yields counts that no object with these sites and capacities has, with the number and name of the object."""
        proof, names = self.result.proof, dict(zip(self.result.objects.tolist()[::-1], self.names[::-1], strict=True))
        for number, (ends, capacity, n_sites) in enumerate(
            zip(proof.ends, proof.capacities, proof.n_sites, strict=True)
        ):
            counts = [later - earlier for earlier, later in pairwise((0, *ends))]
            for field, stated, must in (
                ("capacity", capacity, check_capacity(proof.axes, capacity, n_sites)),
                ("attacks", counts, check_counts(proof.threat, counts, proof.axes, capacity, n_sites)),
            ):
                if must:
                    yield number, names.get(number, ""), field, stated, must


def check_capacity(axes: Sequence[str], capacity: Sequence[int], n_sites: int) -> str:
    """The error in the capacities of an object whose regions have these numbers of sites; "" if there is none."""
    regions = _by_region(axes, capacity)
    total, exact = 0, True
    for region, kinds in regions.items():
        if kinds.keys() == {""}:
            total += kinds[""]
        elif {"delete", "add"} <= kinds.keys() <= _KINDS:
            total += kinds["delete"] + kinds["add"]
            if kinds.get("change", 0) not in (0, kinds["delete"]):
                return f"be the same for {region}.change as for {region}.delete, or 0"
        else:  # a law from outside: what its axes share is not known
            total, exact = total + max(kinds.values()), False
    if total > n_sites or (exact and total < n_sites):
        return f"be of the {n_sites:,} sites that the regions have"
    return ""


def check_counts(
    threat: Threat, counts: Sequence[int], axes: Sequence[str], capacity: Sequence[int], n_sites: int
) -> str:
    """The error in the counts of attacks of each size on such an object; "" if they can be right."""
    total = sum(counts)
    if total.bit_length() > 8 * n_sites:
        return f"be at most 256^{n_sites} − 1 in all, as there are {n_sites:,} sites"
    if not isinstance(threat, SiteThreat):
        return ""
    if any(counts[n_sites:]):
        return f"be 0 of more than {n_sites:,} sites"
    if type(threat).budgets is not SiteThreat.budgets:  # only some of the sets are attacks
        return _compared(counts, repeat(0), _set_counts({MAX_WAYS: n_sites}))
    reach = _reach(threat, axes, capacity, n_sites)
    if not reach.least <= counts[0] <= reach.most * reach.ways:
        return _must(reach.least, reach.most * reach.ways, 1)
    fewest = min(reach.most, counts[0])
    least = _uneven(max(reach.least, -(-counts[0] // reach.ways)), counts[0], reach.ways)
    return _compared(counts, _set_counts(least), _set_counts(_even(fewest, counts[0])))


def check_listed(threat: Threat, counts: Sequence[int], noise: Noise, capacity: Sequence[int]) -> str:
    """The same of attacks that are listed for votes under a noise; "" where capacities do not say how many sites."""
    regions = _by_region(noise.axes, capacity).values()
    if not all(kinds.keys() == {""} or {"delete", "add"} <= kinds.keys() <= _KINDS for kinds in regions):
        return ""
    n_sites = sum(kinds[kind] for kinds in regions for kind in kinds.keys() - {"change"})
    return check_counts(threat, counts, noise.axes, capacity, n_sites)


def rank_of(sites: Sequence[int], most: int) -> int:
    """The place of a set of sites among those of its size, by their largest one; beyond `most` it is `most` + 1."""
    rank = 0
    for length, site in enumerate(sites, start=1):
        shorter = min(length, site - length)
        if shorter >= most.bit_length():  # C(site, shorter) is 2^shorter or more
            return most + 1
        rank += comb(site, shorter) if shorter >= 0 else 0
    return min(rank, most + 1)


def _by_region(axes: Sequence[str], capacity: Sequence[int]) -> dict[str, dict[str, int]]:
    """The capacities of each region by what their axes count, "" for every change."""
    regions = dict[str, dict[str, int]]()
    for axis, count in zip(axes, capacity, strict=True):
        region, _, kind = axis.partition(".")
        regions.setdefault(region, {})[kind] = count
    return regions


def _reach(threat: SiteThreat, axes: Sequence[str], capacity: Sequence[int], n_sites: int) -> _Reach:
    """The sites that attacks of a threat can change: those of the axes that count such changes, and of all others."""
    ways = 1 if type(threat) is Deletions else MAX_WAYS
    if type(threat) is AnyFlips:
        bits = all(kinds.keys() == {"delete", "add"} for kinds in _by_region(axes, capacity).values())
        return _Reach(n_sites, n_sites, 1 if bits else ways)
    suffix, regions = _SUFFIX.get(type(threat)), _by_region(axes, capacity).values()
    if suffix is None or any(kinds.keys() - {"", *_KINDS} for kinds in regions):
        return _Reach(0, n_sites, ways)
    own = sum(kinds.get(suffix, 0) for kinds in regions)
    # A change of a bit that is no edge deletes or adds.
    other = sum(sum(kinds.values()) for kinds in regions if suffix not in kinds)
    return _Reach(own, own + other, ways)


def _even(n: int, total: int) -> dict[int, int]:
    """This many numbers with this sum, as even as they can be: how many there are of each."""
    share, more = divmod(total, n) if n else (0, 0)
    return {share: n - more, share + 1: more}


def _uneven(n: int, total: int, most: int) -> dict[int, int]:
    """This many numbers from 1 to `most` with this sum, as uneven as they can be."""
    whole, rest = divmod(total - n, most - 1) if most > 1 else (0, 0)
    found = {most: whole, 1: n - whole}
    if rest:
        found[1] -= 1
        found[rest + 1] = 1
    return found


def _set_counts(ways: dict[int, int]) -> Iterator[int]:
    """The number of sets of 1, 2, … changes at different sites, with `ways[w]` sites that have w changes each.

    The counts are the coefficients of P(x) = Π (1 + w·x)^n, and Q·P′ = R·P with Q = Π (1 + w·x), R = Σ n·w·Q/(1 + w·x).
    """
    ways = {each: n for each, n in ways.items() if each and n}
    whole, slope = [1], [0]
    for each, n in ways.items():
        slope = [a + each * b + n * each * c for a, b, c in zip([*slope, 0], [0, *slope], [*whole, 0], strict=True)]
        whole = [a + each * b for a, b in zip([*whole, 0], [0, *whole], strict=True)]
    found = [1]  # the last coefficients, the latest first
    for size in range(1, sum(ways.values()) + 1):
        grown = sum(a * b for a, b in zip(slope, found, strict=False))
        grown -= sum(a * (size - place) * b for place, (a, b) in enumerate(zip(whole[1:], found, strict=False), 1))
        yield grown // size
        found = [grown // size, *found[: len(whole)]]


def _compared(counts: Sequence[int], least: Iterator[int], most: Iterator[int]) -> str:
    """The first size of which there are fewer or more than there can be, in words; "": none."""
    for size, count in enumerate(counts, start=1):
        low, high = next(least, 0), next(most, 0)
        if not low <= count <= high:
            return _must(low, high, size)
        if high > MAX_COUNTED:  # it limits no count that a file can have, and would only grow
            most = repeat(MAX_COUNTED)
    return ""


def _must(least: int, most: int, size: int) -> str:
    low, high = (f"{each:,}" if each < 2**64 else f"about 2^{each.bit_length() - 1}" for each in (least, most))
    return f"be {low} of size {size}" if low == high else f"be {low} to {high} of size {size}"
