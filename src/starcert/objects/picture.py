"""A graph as a small picture: where its nodes stand, what stands in them, and the SVG of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.node_sites import NodeSites

__all__ = ["element_symbols", "graph_svg"]

SYMBOLS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts "
    "Og"
)
"""The elements, from atomic number 1 on."""
SIZE, MARGIN = (320, 220), 16
ELEMENT = "atomic_number"


def element_symbols(data: Mapping[str, object], sites: Mapping[str, NodeSites]) -> list[str] | None:
    """The element of each node, if node data or sites say `atomic_number`; None where they do not.

    Example:
        >>> element_symbols({"atomic_number": np.array([6, 8, 17])}, {})
        ['C', 'O', 'Cl']
        >>> element_symbols({}, {}) is None
        True
    """
    if ELEMENT in sites:
        found: object = sites[ELEMENT].shown(sites[ELEMENT].values)
    else:
        found = data.get(ELEMENT)
    numbers = np.asarray(found if found is not None else ())
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu":
        return None
    symbols = SYMBOLS.split()
    if numbers.min() < 1 or numbers.max() > len(symbols):
        return None
    return [symbols[number - 1] for number in numbers.tolist()]


def graph_svg(n_nodes: int, edges: npt.NDArray[np.int64], *, directed: bool, texts: Sequence[str]) -> str:
    """A drawing of a graph as an SVG element.

    Args:
        n_nodes: how many nodes it has.
        edges: its edges or arcs, shape (edges, 2).
        directed: whether they have heads.
        texts: what stands in each node, escaped here; longer texts than two signs are told on hovering.
    """
    points = _points(n_nodes, edges)
    marker = ' marker-end="url(#head)"' if directed else ""
    ends = ((*points[u], *points[v]) for u, v in edges.tolist())
    lines = "".join(f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"{marker}/>' for a, b, c, d in ends)
    nodes = "".join(_node(*point, text) for point, text in zip(points, texts, strict=True))
    head = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="16" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#56616e"/></marker></defs>'
        if directed
        else ""
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE[0]}" height="{SIZE[1]}" '
        f'viewBox="0 0 {SIZE[0]} {SIZE[1]}" role="img">{head}'
        f'<g stroke="#56616e" stroke-width="1.5">{lines}</g>{nodes}</svg>'
    )


def _node(x: float, y: float, text: str) -> str:
    label = f'<text x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="middle" font-size="9">{escape(text)}</text>'
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="#fff" stroke="#0072b2" stroke-width="1.5">'
        f"<title>{escape(text)}</title></circle>{label if len(text) <= 2 else ''}"
    )


def _points(n_nodes: int, edges: npt.NDArray[np.int64]) -> list[tuple[float, float]]:
    """Where the nodes stand, the same for the same graph."""
    import networkx as nx  # noqa: PLC0415  (a tenth of a second; only where a picture is drawn)

    graph = nx.Graph()
    graph.add_nodes_from(range(n_nodes))
    graph.add_edges_from(edges.tolist())
    placed: dict[Any, Any] = nx.spring_layout(graph, seed=0, iterations=100)
    points = np.array([placed[node] for node in range(n_nodes)]).reshape(n_nodes, 2)
    low, high = points.min(axis=0, initial=1), points.max(axis=0, initial=-1)
    room = np.array(SIZE) - 2 * MARGIN
    scaled = MARGIN + (points - low) / np.maximum(high - low, 1e-9) * room
    return [(float(x), float(y)) for x, y in scaled]
