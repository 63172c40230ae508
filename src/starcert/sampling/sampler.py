"""The sampler of an object: noisy copies of it, by whichever method is cheapest; and their memory.

Samplers work on positions and values of sites. What they draw is shown through the view of the object. It never depends
on memory: a chunk is drawn in portions, so that what must fit is 64 copies as bits, or the flips of one copy, and one
copy as the classifier sees it. Whether it fits is known before the first copy is drawn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from starcert.objects import Sites
from starcert.objects.binding import noise_for_sites, sampled_laws
from starcert.objects.laws.law import Law
from starcert.objects.layers import PAIRS
from starcert.objects.noise import Noise
from starcert.sampling.batch import Copies
from starcert.sampling.draws import LANES, Draw, Method, PackedDraw, SiteSampler
from starcert.sampling.sparse import FLIP_BYTES, SparseSites, pools_of
from starcert.sampling.streams import DenseBits, DenseValues, WordStream
from starcert.sampling.views import are_bits, shows_graphs, view_of
from starcert.system.errors import StarcertError
from starcert.system.processes import in_words

DENSE_SHARE = 1 / 32
"""Where more than this share of the sites flips, drawing every site is cheaper than listing the flips."""

MAX_DENSE_BITS = 2**12  # up to this many sites, drawing a bit for each costs next to nothing
MAX_DENSE_VALUES = 2**22  # up to this many sites, values of larger alphabets are drawn for every site, however few flip
MAX_DENSE_ON_DEVICE = 2**15  # up to this many node pairs, a device draws all of them, however few flip

DEVICE_SITES_PER_FLIP = 512
"""So it does with up to this many node pairs for each expected flip, if these are at most `MAX_DENSE_VALUES`: drawing
takes longer, but edges come sorted (10,000 votes of a GIN on 620 nodes, dense / sparse on an H200: 106 / 129 ms)."""

MAX_OTHERS_ON_DEVICE = 2**25
"""Up to this many sites of other kinds, a device draws all of them: moving copies there would cost more."""

MIN_KEPT, MAX_KEPT, MAX_KEPT_SITES = 8, 512, 2**20
"""Samplers that are kept, those last made: at least 8, and more while they have few sites together."""


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
    noise = noise_for_sites(noise, [sites])
    method = method_of(sites, noise, device)
    return Sampler(site_sampler(sites, noise, method, device), view_of(sites, method, device))


def draw_each(of: Sampler, streams: Iterable[WordStream], samples: int) -> Copies | None:
    """The copies that a sampler draws from each of these streams, one after the other, as one batch.

    None where nothing is gained by it: the copies are not drawn as packed bits, or `samples` is not a multiple of 64.
    """
    if not isinstance(of.sites, DenseBits) or samples % LANES:
        return None
    return of.view(PackedDraw.joined([of.sites.draw(stream, samples) for stream in streams]))


_KEPT: OrderedDict[tuple[object, ...], tuple[Sampler, int]] = OrderedDict()
_KEPT_LOCK = Lock()


def kept_sampler(sites: Sites, noise: Noise, device: str = "cpu") -> Sampler:
    """The sampler of an object on a device, kept for its next chunk."""
    key = (sites.clean.key, sites.frame.key, sites.key, noise, device)
    with _KEPT_LOCK:
        if (found := _KEPT.get(key)) is not None:
            return found[0]
    made = sampler(sites, noise, device)  # outside the lock: two threads may make the same one
    with _KEPT_LOCK:
        _KEPT[key] = made, sites.n_sites
        _KEPT.move_to_end(key)
        while len(_KEPT) > MIN_KEPT and (
            len(_KEPT) > MAX_KEPT or sum(size for _, size in _KEPT.values()) > MAX_KEPT_SITES
        ):
            _KEPT.popitem(last=False)
    return made


def method_of(sites: Sites, noise: Noise, device: str = "cpu") -> Method:
    """The method by which the copies of an object are drawn."""
    n_sites, flips, bits = sites.n_sites, expected_flips(sites, noise), are_bits(sites)
    few = flips <= DENSE_SHARE * n_sites
    if device == "cpu":
        return Method.SPARSE if few and n_sites > (MAX_DENSE_BITS if bits else MAX_DENSE_VALUES) else Method.DENSE
    if bits and all(block.layer == PAIRS for block in sites.blocks):
        most = max(MAX_DENSE_ON_DEVICE, min(DEVICE_SITES_PER_FLIP * flips, MAX_DENSE_VALUES))
        return Method.DEVICE_SPARSE if few and n_sites > most else Method.DEVICE_DENSE
    return Method.SPARSE if few and n_sites > MAX_OTHERS_ON_DEVICE else Method.DEVICE_DENSE


def expected_flips(sites: Sites, noise: Noise) -> float:
    """The number of sites that change their value in a copy on average."""
    flips, bits = 0.0, are_bits(sites)
    for law, counts in zip(sampled_laws(sites, noise), sites.counts, strict=True):
        if bits and law.change(0) == law.change(1):
            flips += sum(counts) * law.change(0)
            continue
        for value in (1, 0) if bits else range(law.alphabet):
            flips += counts[value] * law.change(value)
    return flips


def site_sampler(sites: Sites, noise: Noise, method: Method, device: str = "cpu") -> SiteSampler:
    """The sampler of the sites of an object by a method, without a view."""
    laws = sampled_laws(sites, noise)
    if method is Method.SPARSE:
        regions = () if are_bits(sites) else list(zip(sites.offsets, laws, strict=True))
        return SparseSites(sites.n_sites, sites.nonzero, pools_of(sites, laws), regions)
    if method is Method.DEVICE_SPARSE:
        from starcert.sampling.device_flips import DeviceFlipSampler  # noqa: PLC0415  (torch: only where a device is)

        return DeviceFlipSampler(sites, pools_of(sites, laws), device)
    kinds, kind = kinds_of_sites(sites, laws)
    if method is Method.DENSE and are_bits(sites):
        return DenseBits([law.change(value) for law, value in kinds], kind, sites.nonzero[0])
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


EDGE_BYTES = 16  # bytes of an edge in the list of a copy's edges: two node indices

SITE_BYTES = {True: 17, False: 64}
"""Bytes of a site that is drawn: of a bit, the number that 64 copies share, its two nodes and its law; of a value of a
larger alphabet, its thresholds, a random word and the value."""

DEVICE_SITE_BYTES = {True: 36 + 64 * 10, False: 36 + 64 * 13}
"""The same on a device: nodes, digits of its law, clean value; and 64 copies of a random number and a value."""

SPARSE_BYTES = FLIP_BYTES + 40
"""Bytes of a flip in one copy: its position, its place in the table of those seen, and its two nodes."""

NODE_VALUE_BYTES = 16
"""Bytes of a value of node data that are sites, in one copy: itself, and the numbers as which it is shown."""

MAX_BYTES_EACH = 1000  # more than any method takes for a site, a node or an edge: small objects need no closer look

MAX_BATCH_BYTES = 2**30  # bytes that a batch on a CPU may take, as edges and as the classifier sees it

CopyBytes = Callable[[int, float], float]
"""From the nodes and the edges of a copy of a graph to the bytes that it takes as a classifier sees it."""


def expected_edges(sites: Sites, noise: Noise) -> float:
    """The number of edges of a noisy copy on average."""
    present, edges = float(len(sites.fixed_edges)), sites.clean.layers[0].name
    for block, counts, law in zip(sites.blocks, sites.counts, sampled_laws(sites, noise), strict=True):
        if block.layer == edges:
            present += sum(n * (1 - float(law.transitions(value)[0])) for value, n in enumerate(counts))
    return present


def fitting_batch(sites: Sites, noise: Noise, *, wanted: int, device: str, copy_bytes: CopyBytes) -> int:
    """As many copies as a classifier wants; on a CPU, at most ten megabytes of edges and a gigabyte as it sees them."""
    if device != "cpu":  # a device knows its own memory
        return wanted
    if not shows_graphs(sites):
        return min(wanted, max(1, 500_000 // (sites.n_sites + 1)))
    graph = sites.graph
    small = min(wanted, max(1, 500_000 // (graph.n_nodes + graph.n_edges + 1)))
    if small * (1 + _seen_bytes(sites, graph.n_edges + sites.n_sites, copy_bytes)) <= MAX_BATCH_BYTES:
        return small  # whatever the noise is, no copy has more edges
    seen = _seen_bytes(sites, expected_edges(sites, noise), copy_bytes)
    return min(small, max(1, int(MAX_BATCH_BYTES / (1 + seen))))


def _seen_bytes(sites: Sites, n_edges: float, copy_bytes: CopyBytes) -> float:
    """The bytes of a copy of a graph as a list of its edges, as the classifier sees it, and as data of nodes."""
    n_nodes, node_values = sites.graph.n_nodes, sum(layer.size for layer in sites.clean.layers[1:])
    return EDGE_BYTES * n_edges + 8 * n_nodes + copy_bytes(n_nodes, n_edges) + NODE_VALUE_BYTES * node_values


def check_fits(sites: Sites, noise: Noise, *, name: str, free: int, device: str = "cpu", copy_bytes: CopyBytes) -> None:
    """Refuses a graph whose noisy copies do not fit: how many bytes are needed, how many are free, what would fit."""
    size = sites.n_sites + (sites.graph.n_nodes + sites.graph.n_edges if shows_graphs(sites) else 0)
    seen = copy_bytes(sites.graph.n_nodes, size) if shows_graphs(sites) else 0.0
    if MAX_BYTES_EACH * size + 16 * size**2 + seen <= free:
        return  # whatever the noise is
    needed = _bytes(sites, noise, device, copy_bytes)
    if needed <= free:
        return
    reason, advice = f"there are {sites.n_sites:,} sites", "Take fewer sites into the regions."
    if shows_graphs(sites):
        edges = f"this noise leaves {expected_edges(sites, noise):,.0f} edges in a copy"
        reason = f"{sites.graph.n_nodes:,} nodes have {sites.n_sites:,} sites, and {edges}"
        advice = "Let the noise add fewer edges, such as all=0.1/0.001; or take a smaller graph, or a model on edges."
    raise StarcertError(
        f"The noisy copies of {name} do not fit: {reason}. One copy at a time takes {in_words(needed)}, and there are "
        f"{in_words(free)}. {advice}"
    )


def _bytes(sites: Sites, noise: Noise, device: str, copy_bytes: CopyBytes) -> float:
    """The least that drawing and showing one portion takes."""
    seen, n_nodes, n_edges = float(sites.n_sites), 0, 0
    if shows_graphs(sites):
        seen, n_nodes = _seen_bytes(sites, expected_edges(sites, noise), copy_bytes), sites.graph.n_nodes
        n_edges = sites.graph.n_edges
    method = method_of(sites, noise, device)
    if method in (Method.SPARSE, Method.DEVICE_SPARSE):
        return SPARSE_BYTES * expected_flips(sites, noise) + EDGE_BYTES * n_edges + seen
    if method is Method.DENSE:
        return SITE_BYTES[are_bits(sites)] * sites.n_sites + seen
    return DEVICE_SITE_BYTES[are_bits(sites)] * sites.n_sites + 8 * n_nodes**2 + seen
