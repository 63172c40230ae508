"""Noisy copies of attacked objects: copies of the clean object in which the attacked sites are drawn anew.

Sites are independent under the noise. So a copy of an attacked object is a copy of the clean one in which the attacked
sites are drawn by the law of their new value. No attacked object is ever made, and copies of many attacks are one
batch. Every attack has its own stream, keyed by (seed, the object's key, attacked sites, chunk number): what is drawn
for it does not depend on the other attacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from starcert.objects.binding import acting_laws, clean_values, noise_for_sites
from starcert.sampling.dense import DenseFlips, DenseValues
from starcert.sampling.draws import LANES, Draw, FlippedDraw, PackedDraw, Positions, Values
from starcert.sampling.sampler import kinds_of_sites, method_of, site_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import are_bits, view_of

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies

__all__ = ["OWN_CHUNK", "Attack", "AttackedCopies", "values_at_attacks"]

OWN_CHUNK = LANES
"""Votes at an attacked object come in chunks of this size."""

Attack = tuple[int, ...]
"""The flat positions of the attacked sites, ascending. Where sites have more than two values, each with the rank of its
new value: see `AttackAxis.attacked`."""


class AttackedCopies:
    """Draws noisy copies of an object under attack."""

    def __init__(self, sites: Sites, noise: Noise, seed: int) -> None:
        noise = noise_for_sites(noise, [sites])
        method = method_of(sites, noise)
        self._sampler, self._view = site_sampler(sites, noise, method), view_of(sites, method)
        self._sites, self._seed = sites, seed
        self._laws, self._values = acting_laws(sites, noise), clean_values(sites)
        if are_bits(sites):
            kinds, kind = kinds_of_sites(sites, self._laws)
            self._flips = DenseFlips([law.change(1 - value) for law, value in kinds], kind)  # of the attacked bits

    def draw(self, attacks: Sequence[Attack], chunk: int) -> Copies:
        """`OWN_CHUNK` copies of each attacked object, those of the first attack first."""
        draws: Any = [self._drawn(attack, chunk) for attack in attacks]
        return self._view(type(draws[0]).joined(draws))

    def _drawn(self, attack: Attack, chunk: int) -> Draw:
        key = repr((self._seed, self._sites.clean.key, "attack", attack, chunk)).encode()
        stream = WordStream(int.from_bytes(blake2b(key, digest_size=16).digest()))
        ranks, positions = np.divmod(np.array(attack, dtype=np.int64), self._sites.n_sites)
        before = self._values[positions]
        if isinstance(self._sampler, DenseValues):
            values = self._sampler.draw_values(stream, LANES)
            places = np.searchsorted(self._sites.offsets, positions, side="right") - 1
            moves = zip(places.tolist(), before.tolist(), (ranks + (ranks >= before)).tolist(), strict=True)
            laws = [self._laws[place].attacked(*move) for place, *move in moves]
            values[:, positions] = DenseValues(laws, np.arange(len(laws))).draw_values(stream, LANES)
            return FlippedDraw.of_values(values, self._sites.nonzero)
        drawn, flips = self._sampler.draw(stream, LANES), self._flips.only(positions).draw(stream, LANES)
        if isinstance(drawn, PackedDraw):  # the attacked bit is the opposite of the clean one, flipped or not
            drawn.packed[positions] = flips ^ np.where(before, np.uint64(0), ~np.uint64(0))[:, None]
            return drawn
        bits = (1 - before) ^ np.unpackbits(flips.view(np.uint8), axis=1, bitorder="little").T
        return drawn.replace(np.repeat(np.arange(LANES), len(positions)), np.tile(positions, LANES), bits.reshape(-1))


def values_at_attacks(
    attacks: Iterable[Attack], sites: Sites, noise: Noise, stream: WordStream
) -> tuple[Positions, Positions, Values]:
    """What noise shows at the attacked sites of some copies, each with its own attack: for the audit, not for votes.

    Probabilities are used to the digits of a float, but what has probability 0 is never shown.

    Returns:
        For each attacked site of each copy the number of the copy, the position of the site, and its value.
    """
    listed = [np.array(attack, dtype=np.int64) for attack in attacks]
    copies = np.repeat(np.arange(len(listed)), [len(each) for each in listed])
    ranks, positions = np.divmod(np.concatenate([np.empty(0, dtype=np.int64), *listed]), sites.n_sites)
    before = clean_values(sites)[positions].astype(np.int64)
    regions = np.searchsorted(sites.offsets, positions, side="right") - 1
    moves = regions << 16 | before << 8 | ranks + (ranks >= before)  # one number each: values are bytes
    uniform = (stream.at_least(max(1, len(copies)))[: len(copies)] >> np.uint64(11)) * 2.0**-53
    values, laws = np.empty(len(copies), dtype=np.uint8), acting_laws(sites, noise)
    for move in np.unique(moves).tolist():
        chances = np.array(laws[move >> 16].attacked(move >> 8 & 255, move & 255), dtype=np.float64)
        here, shown = moves == move, np.flatnonzero(chances)
        values[here] = shown[np.searchsorted(np.cumsum(chances[shown])[:-1], uniform[here], side="right")]
    return copies, positions, values
