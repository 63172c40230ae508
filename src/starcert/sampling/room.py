"""How much memory the noisy copies of an object take: told before the first of them is drawn.

What is drawn never depends on memory. A chunk is drawn in portions, so that what must fit is 64 copies as bits, or the
flips of one copy, and one copy as the classifier sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from starcert.objects.binding import acting_laws
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.sampling.draws import Way
from starcert.sampling.sampler import SPARSE_BYTES, way_of
from starcert.sampling.views import shows_graphs
from starcert.system.errors import StarcertError
from starcert.system.processes import in_words

if TYPE_CHECKING:
    from starcert.objects import Sites

__all__ = ["CopyBytes", "check_fit", "check_room", "expected_edges", "fitting_batch"]

LISTED = 16
"""Bytes of an edge in the list of a copy's edges: two node indices."""

BITS = 17
"""Bytes of a site whose 64 copies are one word: the word, its two nodes, and its law."""

VALUES = 64
"""Bytes of a site with more than two values: its thresholds, a random word and its value."""

DEVICE_BITS = 36 + 64 * 10
"""Bytes of a site on a device: nodes, digits of its law, clean bit; and 64 copies of a random number and its flip."""

DEVICE_VALUES = 36 + 64 * 13
"""The same for a site with more than two values."""

FLIPS = SPARSE_BYTES + 40
"""Bytes of a flip in one copy: its position, its place in the table of those seen, and its two nodes."""

SHOWN = 16
"""Bytes of a value of node data that are sites, in one copy: itself, and the numbers as which it is shown."""

PLENTY = 1000
"""Bytes of a site, a node or an edge that no way of drawing goes beyond."""

MOST_SEEN = 2**30
"""Bytes that a batch on a CPU may take, as edges and as the classifier sees it."""

CopyBytes = Callable[[int, float], float]
"""From the nodes and the edges of a copy of a graph to the bytes that it takes as a classifier sees it."""


def expected_edges(sites: Sites, noise: Noise) -> float:
    """How many edges a noisy copy has on average."""
    present, edges = float(len(sites.fixed_edges)), sites.clean.layers[0].name
    for block, counts, law in zip(sites.blocks, sites.counts, acting_laws(sites, noise), strict=True):
        if block.layer == edges:
            present += sum(n * (1 - float(law.transitions(value)[0])) for value, n in enumerate(counts))
    return present


def seen_bytes(sites: Sites, noise: Noise, copy_bytes: CopyBytes) -> float:
    """What a copy takes: of a graph, as a list of its edges and as the classifier sees it; else as its values."""
    if not shows_graphs(sites):
        return float(sites.n_sites)
    n_nodes, n_edges = sites.graph.n_nodes, expected_edges(sites, noise)
    return LISTED * n_edges + 8 * n_nodes + copy_bytes(n_nodes, n_edges) + SHOWN * _node_values(sites)


def _node_values(sites: Sites) -> int:
    """How many values of node data are sites: the layers of a graph after its edges."""
    return sum(layer.size for layer in sites.clean.layers[1:])


def fitting_batch(sites: Sites, noise: Noise, *, wanted: int, device: str, copy_bytes: CopyBytes) -> int:
    """As many copies as a classifier wants; on a CPU, not more than whose edges stay in some ten megabytes.

    Where noise adds many edges, the classifier wants matrices, or data of nodes are sites, not more than what takes a
    gigabyte to see.
    """
    if device != "cpu":  # a device knows its own memory
        return wanted
    if not shows_graphs(sites):
        return min(wanted, max(1, 500_000 // (sites.n_sites + 1)))
    graph = sites.graph
    small = min(wanted, max(1, 500_000 // (graph.n_nodes + graph.n_edges + 1)))
    most = graph.n_edges + sites.n_sites  # whatever the noise is, no copy has more edges: most objects are small
    edges_and_nodes = LISTED * most + 8 * graph.n_nodes + copy_bytes(graph.n_nodes, most)
    if small * (1 + edges_and_nodes + SHOWN * _node_values(sites)) <= MOST_SEEN:
        return small
    return min(small, max(1, int(MOST_SEEN / (1 + seen_bytes(sites, noise, copy_bytes)))))


def check_fit(sites: Iterable[Sites], noise: Noise, *, free: int | None, device: str, copy_bytes: CopyBytes) -> None:
    """Refuses objects whose noisy copies cannot fit into memory, before anything is counted; None: nobody knows."""
    for number, each in enumerate(sites if free is not None else ()):
        check_room(each, noise, name=f"graph {number}", room=free or 0, device=device, copy_bytes=copy_bytes)


def check_room(sites: Sites, noise: Noise, *, name: str, room: int, device: str = "cpu", copy_bytes: CopyBytes) -> None:
    """Refuses a graph whose noisy copies cannot fit.

    Raises:
        StarcertError: says how many bytes are needed, how many there are, and what would fit.
    """
    n_nodes, n_edges = _nodes_and_edges(sites)
    most = n_edges + sites.n_sites
    seen = copy_bytes(n_nodes, most) if n_nodes else 0
    if PLENTY * (most + n_nodes) + 16 * n_nodes**2 + seen <= room:
        return  # whatever the noise is: most objects are small
    needed = _bytes(sites, noise, device, copy_bytes)
    if needed <= room:
        return
    told = f"there are {sites.n_sites:,} sites"
    advice = "Take fewer sites into the regions."
    if shows_graphs(sites):
        edges = f"this noise leaves {expected_edges(sites, noise):,.0f} edges in a copy"
        told = f"{n_nodes:,} nodes have {sites.n_sites:,} sites, and {edges}"
        advice = _advice(sites, noise, room, device, copy_bytes)
    raise StarcertError(
        f"The noisy copies of {name} do not fit: {told}. One copy at a time takes {in_words(needed)}, and there are "
        f"{in_words(room)}. {advice}"
    )


def _nodes_and_edges(sites: Sites) -> tuple[int, int]:
    """How many nodes and edges the clean object has: none, if it is no graph."""
    return (sites.graph.n_nodes, sites.graph.n_edges) if shows_graphs(sites) else (0, 0)


def _bytes(sites: Sites, noise: Noise, device: str, copy_bytes: CopyBytes) -> float:
    """The least that drawing and showing one portion takes."""
    seen = seen_bytes(sites, noise, copy_bytes)
    n_nodes, n_edges = _nodes_and_edges(sites)
    way, flips = way_of(sites, noise, device)
    if way is Way.VALUES:
        return VALUES * sites.n_sites + seen
    if way in (Way.SPARSE, Way.DEVICE_FLIPS):
        return FLIPS * flips + LISTED * n_edges + seen
    if way in (Way.DEVICE, Way.DEVICE_VALUES):
        return (DEVICE_BITS if way is Way.DEVICE else DEVICE_VALUES) * sites.n_sites + 8 * n_nodes**2 + seen
    return BITS * sites.n_sites + seen


def _advice(sites: Sites, noise: Noise, room: int, device: str, copy_bytes: CopyBytes) -> str:
    """The next step: fewer additions, where that is enough."""
    for digits in range(1, 13):
        laws = {
            each: law.adding_at_most(10.0**-digits) if isinstance(law := noise[each], Flip) else law for each in noise
        }
        if Noise(laws) != noise and _bytes(sites, Noise(laws), device, copy_bytes) <= room:
            written = ", ".join(f"{region}={law.to_text()}" for region, law in laws.items())
            return f"A noise that adds fewer edges fits, deletions and additions apart: {written}."
    if device != "cpu":
        return "Run it on the CPU."
    return "No noise makes it fit: take a smaller graph, or a model on edges (from_pyg) if this one takes matrices."
