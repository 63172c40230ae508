"""Noisy copies of attacked objects: each a copy of the clean object but for the attacked sites, drawn by their new law.

Sites are independent under the noise. So a copy of an attacked object is a copy of the clean one in which the attacked
sites are drawn anew, as the noise draws sites of the value that they now have. No attacked object is ever made, and
copies of many attacks are one batch. Every attack has a stream of its own, keyed by (seed, the object's key, attacked
sites, chunk number): what is drawn for it does not depend on which others are drawn beside it.

The audit asks about copies of attacked objects, too, wherever the classifier draws them. They are copies of the clean
object with other values at some sites (`values_at_attacks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.objects.binding import acting_laws, clean_values
from starcert.sampling.dense import DenseFlips, DenseValues
from starcert.sampling.draws import WORD, FlippedDraw, SlicedDraw, ValueDraw, Way
from starcert.sampling.sampler import draws_here
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies

__all__ = ["OWN_CHUNK", "Attack", "AttackedCopies", "values_at_attacks"]

OWN_CHUNK = WORD
"""Votes at an attacked object come so many at a time."""

Attack = tuple[int, ...]
"""The flat positions of the sites that are attacked, ascending. Where sites have more than two values, each with the
rank of its new value: see `AttackAxis.attacked`."""

Positions = npt.NDArray[np.int64]


class AttackedCopies:
    """Draws noisy copies of an object under attack.

    Args:
        sites: the sites of the clean object.
        noise: the noise.
        seed: of all streams.
    """

    def __init__(self, sites: Sites, noise: Noise, seed: int) -> None:
        self._way, self._draws = draws_here(sites, noise)
        self._view = view_of(sites, self._way)
        self._key, self._seed = sites.clean.key, seed
        self._sites, self._laws = sites, acting_laws(sites, noise)
        self._values = clean_values(sites)
        if self._way is Way.VALUES:
            return
        self._clean = self._values.astype(np.bool_)
        chances = np.empty(sites.n_sites)
        for region, first, size in zip(sites.regions, sites.offsets, sites.sizes, strict=True):
            here = slice(first, first + size)
            chances[here] = np.where(self._clean[here], noise[region].change(0), noise[region].change(1))
        values, law = np.unique(chances, return_inverse=True)
        self._flips = DenseFlips(values, law.reshape(-1).astype(np.uint8))  # of the opposite of each site's value

    def draw(self, attacks: Sequence[Attack], chunk: int) -> Copies:
        """`OWN_CHUNK` copies of each attacked object, those of the first attack first."""
        if self._way is Way.VALUES:
            return self._view(ValueDraw(np.concatenate([self._valued(attack, chunk) for attack in attacks])))
        if self._way is Way.DENSE:
            words = np.concatenate([self._sliced(attack, chunk) for attack in attacks], axis=1)
            return self._view(SlicedDraw(words, 0, WORD * len(attacks)))
        return self._view(_joined([self._flipped(attack, chunk) for attack in attacks]))

    def _stream(self, attack: Attack, chunk: int) -> WordStream:
        key = repr((self._seed, self._key, "attack", attack, chunk)).encode()
        return WordStream(int.from_bytes(blake2b(key, digest_size=16).digest()))

    def _valued(self, attack: Attack, chunk: int) -> npt.NDArray[np.uint8]:
        stream = self._stream(attack, chunk)
        values = self._draws.draw(stream, WORD).values
        ranks, positions = np.divmod(np.array(attack, dtype=np.int64), self._sites.n_sites)
        places = np.searchsorted(self._sites.offsets, positions, side="right") - 1
        before = self._values[positions].astype(np.int64)
        moves = zip(places.tolist(), before.tolist(), (ranks + (ranks >= before)).tolist(), strict=True)
        laws = [self._laws[place].attacked(*move) for place, *move in moves]
        values[:, positions] = DenseValues(laws, np.arange(len(laws))).draw(stream, WORD).values
        return values

    def _sliced(self, attack: Attack, chunk: int) -> npt.NDArray[np.uint64]:
        stream = self._stream(attack, chunk)
        drawn = self._draws.draw(stream, WORD)
        assert isinstance(drawn, SlicedDraw)
        clean, flips = self._attacked(attack, stream)
        # The attacked bit is the opposite of the clean one, flipped or not.
        drawn.words[list(attack)] = flips ^ np.where(clean, np.uint64(0), ~np.uint64(0))[:, None]
        return drawn.words

    def _flipped(self, attack: Attack, chunk: int) -> FlippedDraw:
        stream = self._stream(attack, chunk)
        drawn = self._draws.draw(stream, WORD)
        assert isinstance(drawn, FlippedDraw)
        _, flips = self._attacked(attack, stream)
        lanes = np.unpackbits(flips.view(np.uint8), axis=1, bitorder="little") == 0  # differs from the clean bit
        attacked = np.array(attack, dtype=np.int64)
        kept = ~np.isin(drawn.flips, attacked)
        copies = np.concatenate([drawn.copies[kept], np.nonzero(lanes.T)[0]])
        positions = np.concatenate([drawn.flips[kept], attacked[np.nonzero(lanes.T)[1]]])
        order = np.argsort(copies, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(copies, minlength=WORD))])
        return FlippedDraw(drawn.n_sites, drawn.ones, starts, positions[order])

    def _attacked(self, attack: Attack, stream: WordStream) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        """The clean bits of the attacked sites, and whether the noise flips their new ones, as words."""
        positions = np.array(attack, dtype=np.int64)
        return self._clean[positions], self._flips.only(positions).draw(stream, WORD)


def values_at_attacks(
    attacks: Iterable[Attack], sites: Sites, noise: Noise, stream: WordStream
) -> tuple[Positions, Positions, npt.NDArray[np.uint8]]:
    """What noise shows at the attacked sites of some copies, each at its own attack.

    No vote is counted on them: a probability is used to the digits of a float, but what has probability 0 is never
    shown.

    Args:
        attacks: for each copy its attack; none for a copy of the clean object.
        sites: the sites of the clean object.
        noise: the noise.
        stream: the random words.

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


def _joined(draws: Sequence[FlippedDraw]) -> FlippedDraw:
    ends = np.cumsum([0, *(len(each.positions) for each in draws)])
    starts = [each.starts[:-1] + end for each, end in zip(draws, ends, strict=False)]
    positions = np.concatenate([each.positions for each in draws])
    return FlippedDraw(draws[0].n_sites, draws[0].ones, np.append(np.concatenate(starts), ends[-1]), positions)
