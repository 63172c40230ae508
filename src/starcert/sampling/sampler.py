"""The sampler of an object: noisy copies under a noise, by whichever method is cheapest for it.

Samplers work on positions and values of sites. What they draw is shown through the view of the object.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING
from weakref import ref

import numpy as np
import numpy.typing as npt

from starcert.objects.binding import acting_laws, filled_noise
from starcert.objects.blocks import PAIRS
from starcert.sampling.dense import DenseBits, DenseFlips, DenseValues
from starcert.sampling.draws import LANES, Draw, Method, SiteSampler
from starcert.sampling.sparse import Pool, SparseSites
from starcert.sampling.views import are_bits, view_of

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.laws.law import Law
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies
    from starcert.sampling.streams import State, WordStream

__all__ = ["Sampler", "draw_each", "expected_flips", "kept_sampler", "method_of", "sampler", "site_sampler"]

DENSE_SHARE = 1 / 32
"""Where more than this share of the sites flips, drawing every site is cheaper than listing the flips."""

MAX_DENSE_BITS = 2**12
"""Up to this many sites, drawing a bit for each costs next to nothing."""

MAX_DENSE_VALUES = 2**22
"""Up to this many sites, values of larger alphabets are drawn for every site, however few flip."""

MAX_DENSE_ON_DEVICE = 2**15
"""Up to this many node pairs, a device draws all of them, however few flip."""

DEVICE_SITES_PER_FLIP = 512
"""So it does with up to this many node pairs for each expected flip: listing a flip there costs as much as comparing
them. Beyond `MAX_DENSE_VALUES` node pairs, which would take gigabytes, only where `DENSE_SHARE` of them flips."""

MAX_OTHERS_ON_DEVICE = 2**25
"""Up to this many sites of other kinds, a device draws all of them: moving copies there would cost more."""

MAX_KEPT = 8
"""Samplers that are kept, those last made."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """Draws noisy copies of one object, as its view shows them: of a graph, `NoisyGraphs`."""

    sites: SiteSampler
    view: Callable[[Draw], Copies]

    def draw(self, stream: WordStream, samples: int) -> Copies:
        """This many noisy copies; a function of the stream alone."""
        return self.view(self.sites.draw(stream, samples))

    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[Copies]:
        """The first `wanted` of the copies that `draw` gives, in portions that take a bounded amount of memory."""
        return map(self.view, self.sites.portions(stream, samples, wanted))


def sampler(sites: Sites, noise: Noise, device: str = "cpu") -> Sampler:
    """The sampler of an object: a function of its sites, the noise and the kind of device, which is where it draws."""
    noise = filled_noise(noise, [sites])
    method = method_of(sites, noise, device)
    return Sampler(site_sampler(sites, noise, method, device), view_of(sites, method, device))


def draw_each(of: Sampler, states: State, samples: int) -> Copies | None:
    """The copies that a sampler draws from a stream of each of these states, one after the other, as one batch.

    None where nothing is gained by it: the copies are not drawn as packed bits, or `samples` is no multiple of 64.
    """
    if not isinstance(of, Sampler) or not isinstance(of.sites, DenseBits) or samples % LANES:
        return None
    return of.view(of.sites.draw_each(states, samples))


_KEPT: OrderedDict[tuple[object, ...], tuple[Sampler, Callable[[], object]]] = OrderedDict()
_KEPT_LOCK = Lock()


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
        owner: the classifier whose own sampler it is; None: anybody's.
        device: where the owner draws.
        make: what makes it.
    """
    key = (sites.clean.key, sites.frame.key, sites.key, noise, None if owner is None else (id(owner), device))
    with _KEPT_LOCK:
        found = _KEPT.get(key)
    # Another owner may come to lie at the same address: the one whose sampler it is must still be there.
    if found is not None and found[1]() is owner:
        return found[0]
    made = make(sites, noise)  # outside the lock: two threads may make the same one
    try:
        alive: Callable[[], object] = (lambda: None) if owner is None else ref(owner)
    except TypeError:  # it cannot be referenced weakly
        alive = lambda: owner  # noqa: E731
    with _KEPT_LOCK:
        _KEPT[key] = made, alive
        _KEPT.move_to_end(key)
        if len(_KEPT) > MAX_KEPT:
            _KEPT.popitem(last=False)
    return made


def method_of(sites: Sites, noise: Noise, device: str = "cpu") -> Method:
    """How the copies of an object are drawn."""
    n_sites, flips, bits = sites.n_sites, expected_flips(sites, noise), are_bits(sites)
    few = flips <= DENSE_SHARE * n_sites
    if device == "cpu":
        return Method.SPARSE if few and n_sites > (MAX_DENSE_BITS if bits else MAX_DENSE_VALUES) else Method.DENSE
    if bits and all(block.layer == PAIRS for block in sites.blocks):
        most = max(MAX_DENSE_ON_DEVICE, min(DEVICE_SITES_PER_FLIP * flips, MAX_DENSE_VALUES))
        return Method.DEVICE_SPARSE if few and n_sites > most else Method.DEVICE_DENSE
    return Method.SPARSE if few and n_sites > MAX_OTHERS_ON_DEVICE else Method.DEVICE_DENSE


def expected_flips(sites: Sites, noise: Noise) -> float:
    """How many sites change their value in a copy on average."""
    return sum(pool.flips for pool in pools_of(sites, acting_laws(sites, noise)))


def site_sampler(sites: Sites, noise: Noise, method: Method, device: str = "cpu") -> SiteSampler:
    """What draws the sites of an object by a method, without a view."""
    laws = acting_laws(sites, noise)
    if method is Method.SPARSE:
        regions = () if are_bits(sites) else list(zip(sites.offsets, laws, strict=True))
        return SparseSites(sites.n_sites, sites.nonzero, pools_of(sites, laws), regions)
    if method is Method.DEVICE_SPARSE:
        from starcert.sampling.device_flips import DeviceFlipSampler  # noqa: PLC0415  (torch: only where a device is)

        return DeviceFlipSampler(sites, pools_of(sites, laws), device)
    kinds, kind = kinds_of_sites(sites, laws)
    if method is Method.DENSE and are_bits(sites):
        flips = DenseFlips([law.change(value) for law, value in kinds], kind)
        return DenseBits(flips, sites.nonzero[0], sites.n_sites)
    transitions = [law.transitions(value) for law, value in kinds]
    if method is Method.DENSE:
        return DenseValues(transitions, kind, sites.nonzero)
    from starcert.sampling.device import DeviceSampler  # noqa: PLC0415  (torch: only where a device is)

    return DeviceSampler(transitions, kind, device)


def kinds_of_sites(sites: Sites, laws: list[Law]) -> tuple[list[tuple[Law, int]], npt.NDArray[np.unsignedinteger]]:
    """All pairs of a region's law and a clean value, and for every site the place of its own among them."""
    kinds: list[tuple[Law, int]] = []
    positions, values = sites.nonzero
    kind = np.zeros(sites.n_sites, dtype=np.min_scalar_type(sum(law.alphabet for law in laws)))
    kind[positions] = values
    for law, first, size in zip(laws, sites.offsets, sites.sizes, strict=True):
        kind[first : first + size] += np.array(len(kinds), dtype=kind.dtype)
        kinds += [(law, value) for value in range(law.alphabet)]
    return kinds, kind


def pools_of(sites: Sites, laws: list[Law]) -> list[Pool]:
    """The sites of each region by how often they flip."""
    pools, bits = [], are_bits(sites)
    positions, values = sites.nonzero
    for law, first, size in zip(laws, sites.offsets, sites.sizes, strict=True):
        if bits and law.change(1) == law.change(0):
            pools.append(Pool(first, size, law.change(0)))
            continue
        here = slice(*np.searchsorted(positions, (first, first + size)))
        for value in (1, 0) if bits else range(law.alphabet):  # the order decides which copies a seed gives
            p = law.change(value) if bits else 1 - law.transitions(value)[value]
            if value:
                pools.append(Pool(first, size, p, only=positions[here][values[here] == value]))
            else:
                pools.append(Pool(first, size, p, but=positions[here]))
    return pools
