"""Which view shows the noisy copies of an object: the layer decides.

Graphs have `NoisyGraphs`: edges, `edge_index`, adjacency, degrees. Objects of other layers are shown as plain vectors
(`NoisyVectors`). A new view is a subclass of `NoisyCopies` and a line here; samplers do not hear of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from starcert.graphs import Sites
from starcert.graphs.blocks import PAIRS
from starcert.sampling.batch import Copies, NoisyVectors, places_of
from starcert.sampling.draws import FlippedDraw, ValueDraw, Way
from starcert.sampling.flipped import FlippedGraphs
from starcert.sampling.sliced import SlicedGraphs, ends_of

__all__ = ["clean_copy", "shows_graphs", "view_of"]


def shows_graphs(sites: Sites) -> bool:
    """Whether these are sites of a graph: node pairs, and nothing else."""
    return [layer.name for layer in sites.clean.layers] == [PAIRS]


def view_of(sites: Sites, way: Way, device: str = "cpu") -> Callable[[Any], Copies]:
    """The view of an object's noisy copies that were drawn in this way: a function of a draw."""
    if not shows_graphs(sites):
        layers = places_of(sites)
        return lambda draw: NoisyVectors(sites, draw, layers)
    if way is Way.DENSE:
        ends = ends_of(sites)
        return lambda draw: SlicedGraphs(sites, draw, ends)
    if way is Way.SPARSE:
        clean = np.stack(sites.coordinates(sites.nonzero[0]))
        return lambda draw: FlippedGraphs(sites, draw, clean)
    from starcert.sampling.device import DeviceGraphs, Places  # noqa: PLC0415  (torch: only where a device is)

    places = Places.of(sites, device)
    return lambda draw: DeviceGraphs(sites, draw, places)


def clean_copy(sites: Sites) -> Copies:
    """The clean object as a batch of one copy, in which nothing has changed: what a classifier answers without noise.

    Example:
        >>> from starcert.graphs import Graph
        >>> clean_copy(Sites.everything(Graph(3, [(0, 1), (1, 2)]), "all")).degrees().tolist()
        [[1, 2, 1]]
    """
    positions, values = sites.nonzero
    if shows_graphs(sites):
        nothing = np.empty(0, dtype=np.int64)
        return view_of(sites, Way.SPARSE)(FlippedDraw(sites.n_sites, positions, np.zeros(2, dtype=np.int64), nothing))
    clean = np.zeros((1, sites.n_sites), dtype=np.uint8)
    clean[0, positions] = values
    return view_of(sites, Way.VALUES)(ValueDraw(clean))
