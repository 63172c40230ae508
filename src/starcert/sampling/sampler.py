"""The sampler of an object: noisy copies under a noise, by whichever way is cheaper for it.

Samplers work on positions and values of sites. What they draw is shown through the view of the object's layer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol
from weakref import ref

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled
from starcert.objects.binding import acting_laws, noise_for_sites
from starcert.objects.layers import PAIRS
from starcert.sampling.dense import DenseFlips, DenseValues
from starcert.sampling.draws import WORD, Draw, Draws, FlippedDraw, SlicedDraw, Way
from starcert.sampling.sparse import Pool, SparseFlips
from starcert.sampling.views import view_of
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies
    from starcert.sampling.generator import State
    from starcert.sampling.streams import Words, WordStream

__all__ = ["Sampler", "draw_each", "draws_here", "kept_sampler", "sampler", "way_of"]

ALWAYS_DENSE = 4096
"""Up to so many sites, looking at each of them costs next to nothing."""

DENSE_SHARE = 1 / 32
"""Where more than this share of the sites flips, looking at each of them is cheaper than listing the flips."""

MOST_ON_DEVICE = 2**15
"""Up to so many sites, bits are drawn on a device however few of them flip."""

MOST_BITS_ON_DEVICE = 2**25
"""Up to so many sites that are no node pairs, likewise: to bring the copies there costs more."""

HELD = 2**30
"""So many bytes of noisy bits or flipped positions are held at a time, or one word of every site, or one copy, where
that is more. What is drawn does not depend on it."""

SPARSE_BYTES = 24
"""For one flipped position: itself, twice while the pools are put together, and the copy it belongs to."""

MOST_KEPT = 8
"""So many samplers are kept, the last ones made."""


class Sampler(Protocol):
    """Draws noisy copies of one object, as its view shows them: of a graph, `NoisyGraphs`."""

    def draw(self, stream: WordStream, samples: int) -> Copies:
        """So many noisy copies; a function of the stream alone."""

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[Copies]:
        """The first `wanted` of the copies that `draw` gives, in portions that take a bounded amount of memory."""


def sampler(sites: Sites, noise: Noise, device: str = "cpu") -> Sampler:
    """The sampler of an object. Which one it is depends on its sites, the noise and the kind of device.

    On another device than the CPU, they are drawn there: all sites, or, of many node pairs, those that flip.
    """
    noise = noise_for_sites(noise, [sites])
    way, flips = way_of(sites, noise, device)
    return _Viewed(_draws(sites, noise, way, flips, device), view_of(sites, way, device))


def draws_here(sites: Sites, noise: Noise) -> tuple[Way, Draws]:
    """How the copies of an object are drawn on a CPU, and what draws them, without a view."""
    noise = noise_for_sites(noise, [sites])
    way, flips = way_of(sites, noise)
    return way, _draws(sites, noise, way, flips, "cpu")


@dataclass(frozen=True, slots=True)
class _Viewed:
    draws: Draws
    view: Callable[[Draw], Copies]

    def draw(self, stream: WordStream, samples: int) -> Copies:
        return self.view(self.draws.draw(stream, samples))

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[Copies]:
        return map(self.view, self.draws.portions(stream, samples, wanted))


def draw_each(of: Sampler, states: State, samples: int) -> Copies | None:
    """The copies that a sampler draws from a stream of each of these states, one after the other, as one batch.

    None: they are not drawn as words, or `samples` are no whole words; there is nothing to gain from drawing together.
    """
    if not isinstance(of, _Viewed) or not isinstance(of.draws, _DenseSampler) or samples % WORD:
        return None
    return of.view(of.draws.draw_each(states, samples))


_KEPT: OrderedDict[tuple[object, ...], tuple[Sampler, Callable[[], object]]] = OrderedDict()
_KEPT_TURN = Lock()
_last: tuple[Sites, Noise, str, Sampler, Callable[[], object]] | None = None
"""The one that was asked for last: chunks of one object come one after the other."""


def kept_sampler(
    sites: Sites,
    noise: Noise,
    *,
    owner: object = None,
    device: str = "",
    make: Callable[[Sites, Noise], Sampler] = sampler,
) -> Sampler:
    """The sampler of an object, kept for its next chunk.

    Args:
        sites: the sites of the object.
        noise: the noise.
        owner: whose own sampler it is, a classifier's; None: anybody's.
        device: where the owner draws.
        make: what makes it.
    """
    global _last  # noqa: PLW0603  (set at once, and only ever compared by identity)
    last = _last
    if last is not None and last[0] is sites and last[1] is noise and last[2] == device and last[4]() is owner:
        return last[3]
    # Another owner may come to lie at the same address: the one whose sampler it is must still be there.
    key = (sites.clean.key, sites.frame.key, sites.key, noise, None if owner is None else (id(owner), device))
    with _KEPT_TURN:
        found = _KEPT.get(key)
    if found is not None and found[1]() is owner:
        _last = sites, noise, device, *found
        return found[0]
    made = make(sites, noise)  # in nobody's way: two threads may make the same one
    try:
        alive: Callable[[], object] = (lambda: None) if owner is None else ref(owner)
    except TypeError:  # it does not let itself be watched
        alive = lambda: owner  # noqa: E731
    with _KEPT_TURN:
        _KEPT[key] = made, alive
        _KEPT.move_to_end(key)
        if len(_KEPT) > MOST_KEPT:
            _KEPT.popitem(last=False)
    _last = sites, noise, device, made, alive
    return made


def way_of(sites: Sites, noise: Noise, device: str = "cpu") -> tuple[Way, float]:
    """How the copies of an object are drawn, and how many sites change their value in one of them on average."""
    laws = acting_laws(sites, noise)
    if any(law.alphabet > 2 for law in laws):
        counted = zip(laws, sites.counts, strict=True)
        way = Way.VALUES if device == "cpu" else Way.DEVICE_VALUES
        return way, sum(n * law.change(value) for law, counts in counted for value, n in enumerate(counts))
    pools = _pools(sites, noise)
    flips = sum(pool.n_sites * pool.p for pool in pools)
    there = device != "cpu" and all(pool.p == 0 or pool.p > 1e-9 for pool in pools)
    few = flips <= DENSE_SHARE * sites.n_sites
    if device != "cpu" and few and sites.n_sites > MOST_ON_DEVICE and _all_pairs(sites):
        return Way.DEVICE_FLIPS, flips
    if few and sites.n_sites > (MOST_BITS_ON_DEVICE if there else ALWAYS_DENSE):
        return Way.SPARSE, flips
    return Way.DEVICE if there else Way.DENSE, flips


def _all_pairs(sites: Sites) -> bool:
    """Whether all sites are node pairs."""
    return all(block.layer == PAIRS for block in sites.blocks)


def _draws(sites: Sites, noise: Noise, way: Way, flips: float, device: str) -> Draws:
    if way is Way.VALUES:
        return DenseValues(*_transitions(sites, noise))
    if way is Way.DEVICE_VALUES:
        from starcert.sampling.device_values import DeviceValueSampler  # noqa: PLC0415  (torch: only where a device is)

        return DeviceValueSampler(*_transitions(sites, noise), device)
    pools = _pools(sites, noise)
    if way is Way.SPARSE:
        return _SparseSampler(sites, pools, flips)
    if way is Way.DEVICE_FLIPS:
        from starcert.sampling.device_flips import DeviceFlipSampler  # noqa: PLC0415  (torch: only where a device is)

        return DeviceFlipSampler(sites, pools, device)
    if way is Way.DEVICE:
        from starcert.sampling.device import DeviceSampler  # noqa: PLC0415  (torch: only where a device is)

        return DeviceSampler(sites, *_laws(sites, pools), device)
    return _DenseSampler(sites, pools)


def _transitions(sites: Sites, noise: Noise) -> tuple[list[tuple[Fraction, ...]], npt.NDArray[np.int64]]:
    """The laws of all values in all regions, and for every site the place of its own among them."""
    laws: list[tuple[Fraction, ...]] = []
    law = np.zeros(sites.n_sites, dtype=np.int64)
    positions, values = sites.nonzero
    law[positions] = values
    for acting, first, size in zip(acting_laws(sites, noise), sites.offsets, sites.sizes, strict=True):
        law[first : first + size] += len(laws)
        laws += [acting.transitions(value) for value in range(acting.alphabet)]
    return laws, law


def _pools(sites: Sites, noise: Noise) -> list[Pool]:
    pools = []
    for region, first, size, ones in zip(sites.regions, sites.offsets, sites.sizes, sites.ones, strict=True):
        law = noise[region]
        if law.alphabet != 2:
            wanted = "be a law on two values where bits are drawn"
            raise InvalidParameterError(f"noise[{region}]", wanted, law, "Values are drawn by a DenseValues.")
        if law.change(1) == law.change(0):
            pools.append(Pool(first, size, law.change(0)))
        else:
            pools += [Pool(first, size, law.change(1), only=ones), Pool(first, size, law.change(0), but=ones)]
    return pools


def _laws(sites: Sites, pools: list[Pool]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.unsignedinteger]]:
    """The different flip probabilities, and for every site the place of its own among them, in as few bytes as do."""
    values = np.unique([pool.p for pool in pools])
    law = np.zeros(sites.n_sites, dtype=np.min_scalar_type(len(values)))
    for pool in pools:  # sites with a 1 are listed first, so that the others fill what is left
        number = np.searchsorted(values, pool.p)
        if pool.only is None:
            kept = law[pool.but]
            law[pool.first : pool.first + pool.size] = number
            law[pool.but] = kept
        else:
            law[pool.only] = number
    return values, law


class _DenseSampler:
    def __init__(self, sites: Sites, pools: list[Pool]) -> None:
        self._ones = sites.nonzero[0]
        self._n_sites = sites.n_sites
        self._flips = DenseFlips(*_laws(sites, pools))

    def draw(self, stream: WordStream, samples: int) -> SlicedDraw:
        return self._drawn(self._flips.draw(stream, samples), samples)

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[SlicedDraw]:
        # A word has 64 copies. To draw all words again and keep others costs about what listing their edges does.
        most = max(1, HELD // (8 * max(1, self._n_sites)))
        for first in range(0, -(-wanted // WORD), most):
            left = wanted - WORD * first
            last = left <= WORD * most
            words = self._flips.draw(stream if last else stream.fork(), samples, first=first, most=most)
            yield self._drawn(words, min(left, WORD * most))

    def draw_each(self, states: State, samples: int) -> SlicedDraw:
        """The copies that `draw` gives for a stream of each state, one after the other; `samples` are whole words."""
        return self._drawn(self._flips.draw_each(states, samples), samples * len(states))

    def _drawn(self, words: Words, samples: int) -> SlicedDraw:
        _invert(words, self._ones)
        return SlicedDraw(words, 0, samples)


@compiled
def _invert(words: Words, sites: npt.NDArray[np.int64]) -> None:
    for site in sites:
        for word in range(words.shape[1]):
            words[site, word] = ~words[site, word]


class _SparseSampler:
    def __init__(self, sites: Sites, pools: list[Pool], expected: float) -> None:
        self._n_sites = sites.n_sites
        self._ones = sites.nonzero[0]
        self._flips = SparseFlips(pools)
        self._expected = expected

    def draw(self, stream: WordStream, samples: int) -> FlippedDraw:
        return FlippedDraw(self._n_sites, self._ones, *self._flips.draw(stream, samples))

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[FlippedDraw]:
        most = max(1, int(HELD / (SPARSE_BYTES * (1 + self._expected))))
        if most >= samples:
            yield self.draw(stream, samples)[:wanted]
            return
        done = 0
        for drawn in self._flips.portions(stream, samples, most):
            yield FlippedDraw(self._n_sites, self._ones, *drawn)[: wanted - done]
            done += most
            if done >= wanted:
                return
