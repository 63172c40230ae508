"""How much memory the noisy copies of an object take, known before the first of them is drawn.

What is drawn never depends on memory. A chunk is drawn in portions, so that what must fit is 64 copies as bits, or the
flips of one copy, and one copy as the classifier sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from starcert.objects.binding import acting_laws
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.sampling.draws import Method
from starcert.sampling.sampler import expected_flips, method_of
from starcert.sampling.sparse import FLIP_BYTES
from starcert.sampling.views import are_bits, shows_graphs
from starcert.system.errors import StarcertError
from starcert.system.processes import in_words

if TYPE_CHECKING:
    from starcert.objects import Sites

__all__ = ["CopyBytes", "check_all_fit", "check_fits", "expected_edges", "fitting_batch"]

EDGE_BYTES = 16
"""Bytes of an edge in the list of a copy's edges: two node indices."""

SITE_BYTES = {True: 17, False: 64}
"""Bytes of a site that is drawn: of a bit, the number that 64 copies share, its two nodes and its law; of a value of a
larger alphabet, its thresholds, a random word and the value."""

DEVICE_SITE_BYTES = {True: 36 + 64 * 10, False: 36 + 64 * 13}
"""The same on a device: nodes, digits of its law, clean value; and 64 copies of a random number and a value."""

SPARSE_BYTES = FLIP_BYTES + 40
"""Bytes of a flip in one copy: its position, its place in the table of those seen, and its two nodes."""

NODE_VALUE_BYTES = 16
"""Bytes of a value of node data that are sites, in one copy: itself, and the numbers as which it is shown."""

MAX_BYTES_EACH = 1000
"""More than any method takes for a site, a node or an edge: objects that fit by this measure need no closer look."""

MAX_BATCH_BYTES = 2**30
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


def fitting_batch(sites: Sites, noise: Noise, *, wanted: int, device: str, copy_bytes: CopyBytes) -> int:
    """As many copies as a classifier wants; on a CPU, at most as many as keep their edges in some ten megabytes.

    Where noise adds many edges, the classifier wants matrices, or data of nodes are sites, at most what takes a
    gigabyte to see.
    """
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
    """What a copy of a graph takes as a list of its edges, as the classifier sees it, and as data of nodes."""
    n_nodes, node_values = sites.graph.n_nodes, sum(layer.size for layer in sites.clean.layers[1:])
    return EDGE_BYTES * n_edges + 8 * n_nodes + copy_bytes(n_nodes, n_edges) + NODE_VALUE_BYTES * node_values


def check_all_fit(
    sites: Iterable[Sites], noise: Noise, *, free: int | None, device: str, copy_bytes: CopyBytes
) -> None:
    """Refuses objects whose noisy copies do not fit into free memory; None: it is not known."""
    for number, each in enumerate(sites if free is not None else ()):
        check_fits(each, noise, name=f"graph {number}", free=free or 0, device=device, copy_bytes=copy_bytes)


def check_fits(sites: Sites, noise: Noise, *, name: str, free: int, device: str = "cpu", copy_bytes: CopyBytes) -> None:
    """Refuses a graph whose noisy copies do not fit.

    Raises:
        StarcertError: how many bytes are needed, how many there are, and what would fit.
    """
    n_nodes, n_edges = _nodes_and_edges(sites)
    most = n_edges + sites.n_sites
    seen = copy_bytes(n_nodes, most) if n_nodes else 0
    if MAX_BYTES_EACH * (most + n_nodes) + 16 * n_nodes**2 + seen <= free:
        return  # whatever the noise is: most objects are small
    needed = _bytes(sites, noise, device, copy_bytes)
    if needed <= free:
        return
    reason, advice = f"there are {sites.n_sites:,} sites", "Take fewer sites into the regions."
    if shows_graphs(sites):
        edges = f"this noise leaves {expected_edges(sites, noise):,.0f} edges in a copy"
        reason = f"{n_nodes:,} nodes have {sites.n_sites:,} sites, and {edges}"
        advice = _advice(sites, noise, free, device, copy_bytes)
    raise StarcertError(
        f"The noisy copies of {name} do not fit: {reason}. One copy at a time takes {in_words(needed)}, and there are "
        f"{in_words(free)}. {advice}"
    )


def _nodes_and_edges(sites: Sites) -> tuple[int, int]:
    """How many nodes and edges the clean object has: none, if it is no graph."""
    return (sites.graph.n_nodes, sites.graph.n_edges) if shows_graphs(sites) else (0, 0)


def _bytes(sites: Sites, noise: Noise, device: str, copy_bytes: CopyBytes) -> float:
    """The least that drawing and showing one portion takes."""
    seen = float(sites.n_sites)
    if shows_graphs(sites):
        seen = _seen_bytes(sites, expected_edges(sites, noise), copy_bytes)
    (n_nodes, n_edges), method = _nodes_and_edges(sites), method_of(sites, noise, device)
    if method in (Method.SPARSE, Method.DEVICE_SPARSE):
        return SPARSE_BYTES * expected_flips(sites, noise) + EDGE_BYTES * n_edges + seen
    if method is Method.DENSE:
        return SITE_BYTES[are_bits(sites)] * sites.n_sites + seen
    return DEVICE_SITE_BYTES[are_bits(sites)] * sites.n_sites + 8 * n_nodes**2 + seen


def _advice(sites: Sites, noise: Noise, free: int, device: str, copy_bytes: CopyBytes) -> str:
    """The next step: fewer additions, where that is enough."""
    for digits in range(1, 13):
        laws = {
            each: law.adding_at_most(10.0**-digits) if isinstance(law := noise[each], Flip) else law for each in noise
        }
        if Noise(laws) != noise and _bytes(sites, Noise(laws), device, copy_bytes) <= free:
            written = ", ".join(f"{region}={law.to_text()}" for region, law in laws.items())
            return f"A noise that adds fewer edges fits, deletions and additions apart: {written}."
    if device != "cpu":
        return "Run it on the CPU."
    return "No noise makes it fit: take a smaller graph, or a model on edges (from_pyg) if this one takes matrices."
