"""How much memory the noisy copies of a graph take: told before the first of them is drawn.

What is drawn never depends on memory. A chunk is drawn in portions, so that what must fit is 64 copies as bits, or the
flips of one copy, and one copy as the classifier sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from starcert.errors import StarcertError
from starcert.laws import Flip
from starcert.noise import Noise
from starcert.sampling.sampler import SPARSE_BYTES, Way, way_of
from starcert.system.memory import in_words

if TYPE_CHECKING:
    from starcert.graphs import Sites

__all__ = ["CopyBytes", "check_room", "edge_bytes", "expected_edges"]

LISTED = 16
"""Bytes of an edge in the list of a copy's edges: two node indices."""

BITS = 17
"""Bytes of a site whose 64 copies are one word: the word, its two nodes, and its law."""

DEVICE_BITS = 36 + 64 * 10
"""Bytes of a site on a device: nodes, digits of its law, clean bit; and 64 copies of a random number and its flip."""

FLIPS = SPARSE_BYTES + 40
"""Bytes of a flip in one copy: its position, its place in the table of those seen, and its two nodes."""

PLENTY = 1000
"""Bytes of a site, a node or an edge that no way of drawing and no view of it goes beyond."""

CopyBytes = Callable[[int, float], float]
"""From the nodes and the edges of a copy to the bytes that it takes as a classifier sees it."""


def expected_edges(sites: Sites, noise: Noise) -> float:
    """How many edges a noisy copy has on average."""
    present = float(len(sites.fixed_edges))
    for region, size, ones in zip(sites.regions, sites.sizes, sites.ones, strict=True):
        law = noise[region]
        present += ones.size * (1 - law.change(1)) + (size - ones.size) * law.change(0)
    return present


def edge_bytes(n_nodes: int, n_edges: float) -> float:
    """What a copy takes as a list of its edges."""
    return LISTED * n_edges + 8 * n_nodes


def check_room(sites: Sites, noise: Noise, *, name: str, room: int, device: str = "cpu", copy_bytes: CopyBytes) -> None:
    """Refuses a graph whose noisy copies cannot fit.

    Args:
        sites: the sites of the graph.
        noise: the noise.
        name: what the message calls the graph.
        room: how many bytes there are.
        device: where copies are drawn.
        copy_bytes: what a copy takes as the classifier sees it.

    Raises:
        StarcertError: says how many bytes are needed, how many there are, and what would fit.
    """
    graph = sites.graph
    if PLENTY * (sites.n_sites + graph.n_nodes + graph.n_edges) + 16 * graph.n_nodes**2 <= room:
        return  # whatever the noise is: most graphs are small
    needed = _bytes(sites, noise, device, copy_bytes)
    if needed > room:
        raise StarcertError(
            f"The noisy copies of {name} do not fit: {graph.n_nodes:,} nodes have {sites.n_sites:,} sites, and this "
            f"noise leaves {expected_edges(sites, noise):,.0f} edges in a copy. One copy at a time takes "
            f"{in_words(needed)}, and there are {in_words(room)}. {_advice(sites, noise, room, device, copy_bytes)}"
        )


def _bytes(sites: Sites, noise: Noise, device: str, copy_bytes: CopyBytes) -> float:
    """The least that drawing and showing one portion takes."""
    shape = sites.graph.n_nodes, expected_edges(sites, noise)
    seen = edge_bytes(*shape) + copy_bytes(*shape)
    way, flips = way_of(sites, noise, device)
    if way is Way.SPARSE:
        return FLIPS * flips + LISTED * sites.graph.n_edges + seen
    if way is Way.DEVICE:
        return DEVICE_BITS * sites.n_sites + 8 * sites.graph.n_nodes**2 + seen
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
