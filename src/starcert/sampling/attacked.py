"""Noisy copies of attacked objects: each a copy of the clean object but for the attacked sites, drawn by their new law.

Sites are independent under the noise. So a copy of an attacked object is a copy of the clean one in which the attacked
sites are drawn anew, as the noise draws sites of the value that they now have. No attacked object is ever made, and
copies of many attacks are one batch. Every attack has a stream of its own, keyed by (seed, the object's key, attacked
sites, chunk number): what is drawn for it does not depend on which others are drawn beside it. The attack on no site
gives copies of the clean object. Votes use the chunks from 0 on; negative numbers are those of the audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.binding import acting_laws, clean_values
from starcert.sampling.dense import DenseFlips, DenseValues
from starcert.sampling.draws import WORD, FlippedDraw, SlicedDraw, ValueDraw, Way
from starcert.sampling.sampler import draws_here
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.noise import Noise
    from starcert.sampling.batch import Copies

__all__ = ["OWN_CHUNK", "Attack", "AttackedCopies"]

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
        self._sites, self._noise, self._laws = sites, noise, acting_laws(sites, noise)

    @cached_property
    def _values(self) -> npt.NDArray[np.uint8]:
        return clean_values(self._sites)

    @cached_property
    def _flips(self) -> DenseFlips:
        """Flips of the opposite of each site's value."""
        chances = np.empty(self._sites.n_sites)
        for region, first, size in zip(self._sites.regions, self._sites.offsets, self._sites.sizes, strict=True):
            law, here = self._noise[region], slice(first, first + size)
            chances[here] = np.where(self._values[here], law.change(0), law.change(1))
        values, numbers = np.unique(chances, return_inverse=True)
        return DenseFlips(values, numbers.reshape(-1).astype(np.uint8))

    def draw(self, attacks: Iterable[Attack], chunk: int) -> Copies:
        """`OWN_CHUNK` copies of each attacked object, those of the first attack first."""
        return self.draw_chunks([(attack, chunk) for attack in attacks])

    def draw_chunks(self, chunks: Sequence[tuple[Attack, int]]) -> Copies:
        """The same for chunks of any number, each with its attack."""
        if self._way is Way.VALUES:
            return self._view(ValueDraw(np.concatenate([self._valued(*each) for each in chunks])))
        if self._way is Way.DENSE:
            words = np.concatenate([self._sliced(*each) for each in chunks], axis=1)
            return self._view(SlicedDraw(words, 0, WORD * len(chunks)))
        return self._view(_joined([self._flipped(*each) for each in chunks]))

    def _stream(self, attack: Attack, chunk: int) -> WordStream:
        key = repr((self._seed, self._key, "attack", attack, chunk)).encode()
        return WordStream(int.from_bytes(blake2b(key, digest_size=16).digest()))

    def _valued(self, attack: Attack, chunk: int) -> npt.NDArray[np.uint8]:
        stream = self._stream(attack, chunk)
        values = self._draws.draw(stream, WORD).values
        if not attack:
            return values
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
        if not attack:
            return drawn.words
        clean, flips = self._attacked(attack, stream)
        # The attacked bit is the opposite of the clean one, flipped or not.
        drawn.words[list(attack)] = flips ^ np.where(clean, np.uint64(0), ~np.uint64(0))[:, None]
        return drawn.words

    def _flipped(self, attack: Attack, chunk: int) -> FlippedDraw:
        stream = self._stream(attack, chunk)
        drawn = self._draws.draw(stream, WORD)
        assert isinstance(drawn, FlippedDraw)
        if not attack:
            return drawn
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
        return self._values[positions].astype(np.bool_), self._flips.only(positions).draw(stream, WORD)


def _joined(draws: Sequence[FlippedDraw]) -> FlippedDraw:
    ends = np.cumsum([0, *(len(each.positions) for each in draws)])
    starts = [each.starts[:-1] + end for each, end in zip(draws, ends, strict=False)]
    positions = np.concatenate([each.positions for each in draws])
    return FlippedDraw(draws[0].n_sites, draws[0].ones, np.append(np.concatenate(starts), ends[-1]), positions)
