"""The pictures of the page on kinds: its examples are run, and what they certify is drawn, a noisy copy beside it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import examples
import starcert as sc
from starcert.display.drawing import COLOURS, FIXED, PAGE, layout, new_figure, region_graph, style
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert_studies.kinds.digits import INNER, TAUGHT, digits

__all__ = ["draw_kinds"]

SAME, OTHER, INK = COLOURS[0], COLOURS[1], "#333333"
"""What a noisy copy kept, what is new or changed in it, and everything else."""

GONE, UNASKED = "#DDDDDD", "#CCCCCC"
"""Edges that a noisy copy has lost; nodes that are not classified."""

ELEMENTS = ("C", "N", "O")

SEEDS = {"molecule": 11, "team": 5, "accounts": 26, "promoter": 1}
"""Seeds of the noisy copies, chosen so that each shows every effect of the noise."""

Positions = npt.NDArray[np.float64]


def draw_kinds(page: Path, folder: Path) -> None:
    """A small picture of each kind in a row, and for the sections of the page one each."""
    found = _objects(page)
    with style():
        figure = new_figure(PAGE, 1.75)
        ynone = sc.Graph.from_smiles("C#CC(=O)c1ccccc1", bond_types=True, elements=ELEMENTS)
        panels: dict[str, Callable[[Axes], None]] = {
            "types of edges": lambda ax: _molecule(ax, ynone),
            "arcs": lambda ax: _team(ax, found["team"][0]),
            "bits on nodes": lambda ax: _accounts(ax, found["accounts"][0]),
            "nodes, one by one": lambda ax: _nodes(ax, found["club"][0], found["result"]),
            "columns in regions": _digit,
        }
        for ax, (title, draw) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
            draw(ax)
            ax.set_title(title)
        figure.savefig(folder / "kinds.png")
        for name, draw_graph in (("molecule", _molecule), ("team", _team), ("accounts", _accounts)):
            _beside_a_noisy_copy(*found[name], SEEDS[name], draw_graph, folder / f"kind_{name}.png")
        figure = new_figure(PAGE, 2.6)
        ax = figure.add_subplot()
        _nodes(ax, found["club"][0], found["result"])
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        figure.savefig(folder / "kind_club.png")
        figure = new_figure(PAGE, 1.2)
        _letters(figure.add_subplot(), *found["promoter"])
        figure.savefig(folder / "kind_promoter.png")


def _objects(page: Path) -> dict[str, Any]:
    """What the examples of the page certify, each with the smoothed classifier of its section; and the last result."""
    names: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for block in examples.blocks_of(page.read_text(encoding="utf-8")):
        if block.language != "python":
            continue
        before = set(names)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block.code, page.name, "exec"), names)
        new = [name for name in ("molecule", "team", "accounts", "club", "promoter") if name in names.keys() - before]
        found |= {name: (names[name], names["smoothed"]) for name in new}
    return found | {"result": names["result"]}


def _copy(clean: Any, smoothed: sc.SmoothedClassifier, seed: int) -> Any:  # noqa: ANN401  (a batch of any view)
    """One noisy copy, as a batch."""
    problem = smoothed.problem([clean])
    return sampler(problem.sites[0], problem.noise).draw(WordStream.of_chunk(seed, clean.key, "training", 0), 1)


def _beside_a_noisy_copy(
    clean: sc.Graph, smoothed: sc.SmoothedClassifier, seed: int, draw: Callable[..., None], path: Path
) -> None:
    figure = new_figure(PAGE, 2.1)
    copy = next(_copy(clean, smoothed, seed).copies())
    for ax, graph, title in zip(figure.subplots(1, 2), (clean, copy), ("clean", "a noisy copy"), strict=True):
        draw(ax, graph, clean)
        ax.set_title(title)
    handles, labels = figure.axes[1].get_legend_handles_labels()
    lines = {"as it was": SAME, "new or changed": OTHER, "gone": GONE}
    legend = {name: Line2D([], [], color=colour, lw=0.9) for name, colour in lines.items()}
    legend |= {name: handle for handle, name in zip(handles, labels, strict=True) if name in clean.type_names}
    figure.axes[1].legend(
        list(legend.values()), list(legend), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False
    )
    figure.savefig(path)


def _graph(ax: Axes, graph: sc.Graph, clean: sc.Graph) -> Positions:
    """Draws edges: those of the clean graph in one colour, new and changed ones in another, lost ones faintly."""
    places = layout(sc.Partition.everything("all").sites(clean))
    kinds = [
        {} if each.edge_types is None else dict(zip(map(tuple, each.edges.tolist()), each.edge_types, strict=True))
        for each in (graph, clean)
    ]
    there, before = ({(u, v) for u, v in each.edges.tolist()} for each in (graph, clean))
    new = [pair for pair in there if pair not in before or kinds[0].get(pair) != kinds[1].get(pair)]
    listed = {"same": sorted(there - set(new)), "new": sorted(new)}
    named = {name: [(graph.nodes[u], graph.nodes[v]) for u, v in pairs] for name, pairs in listed.items()}
    make = sc.Partition.from_arcs if graph.directed else sc.Partition.from_pairs
    for u, v in sorted(before - there):
        ax.plot(*places[[u, v]].T, color=GONE, lw=0.9, zorder=0)
    region_graph(make(named).sites(graph), positions=places, ax=ax)
    ax.set_adjustable("datalim")
    ax.margins(0.12)
    return places


def _dots(ax: Axes, places: Positions, texts: Sequence[str], colours: Sequence[str], size: float) -> None:
    for place, text, colour in zip(places, texts, colours, strict=True):
        ax.plot(*place, "o", ms=size, color="white", mec=colour, mew=0.8, zorder=3)
        ax.text(*place, text, ha="center", va="center_baseline", fontsize=size * 0.75, color=colour, zorder=4)


def _elements(graph: sc.Graph) -> list[int]:
    return np.asarray(graph.to_pyg().x).argmax(axis=1).tolist()


def _molecule(ax: Axes, graph: sc.Graph, clean: sc.Graph | None = None) -> None:
    places = _graph(ax, graph, clean or graph)
    elements = _elements(graph)
    colours = [SAME if one == other else OTHER for one, other in zip(elements, _elements(clean or graph), strict=True)]
    _dots(ax, places, [ELEMENTS[each] for each in elements], colours, 8)


def _team(ax: Axes, graph: sc.Graph, clean: sc.Graph | None = None) -> None:
    places = _graph(ax, graph, clean or graph)
    _dots(ax, places, ["a", *map(str, graph.nodes[1:])], [INK] * graph.n_nodes, 8)


def _accounts(ax: Axes, graph: sc.Graph, clean: sc.Graph | None = None) -> None:
    places = _graph(ax, graph, clean or graph)
    bits, before = (np.asarray(each.to_pyg().x) for each in (graph, clean or graph))
    side = 0.045 * np.ptp(places[:, 0])
    for node, (x, y) in enumerate(places):
        for column in range(bits.shape[1]):
            on, same = bits[node, column], bits[node, column] == before[node, column]
            colour = SAME if same else OTHER
            corner = x + (column - 1.5) * 1.6 * side, y - side
            ax.add_patch(
                Rectangle(corner, 1.3 * side, 2 * side, fc=colour if on else "white", ec=colour, lw=0.7, zorder=3)
            )


def _nodes(ax: Axes, graph: sc.Graph, result: sc.Certificates) -> None:
    """Which nodes are certified against two deleted edges: filled in the colour of their class, or hollow."""
    places = layout(sc.Partition.everything("all").sites(graph), seed=1)
    for u, v in graph.edges.tolist():
        ax.plot(*places[[u, v]].T, color=FIXED, lw=0.4, zorder=1)
    sure = result.certified({"ties.delete": 2, "ties.add": 0})
    known = {one.node: (one.label, bool(certified)) for one, certified in zip(result, sure, strict=True)}
    for node, place in enumerate(places):
        label, certified = known.get(node, (-1, False))
        colour = COLOURS[label] if label >= 0 else UNASKED
        ax.plot(*place, "o", ms=6, color=colour if certified or label < 0 else "white", mec=colour, mew=1.2, zorder=2)
    looks: Mapping[str, tuple[str, str]] = {
        "class 0, certified": (COLOURS[0], COLOURS[0]),
        "class 1, certified": (COLOURS[1], COLOURS[1]),
        "not certified": ("white", INK),
        "not asked about": (UNASKED, UNASKED),
    }
    for name, (inside, line) in looks.items():
        ax.plot([], [], "o", ms=6, color=inside, mec=line, mew=1.2, label=name)
    ax.set_axis_off()
    ax.margins(0.08)


def _digit(ax: Axes) -> None:
    """An image of a digit; its border is one region, its centre the other."""
    rows, labels = (some[TAUGHT:] for some in digits(1))
    image = rows[labels.tolist().index(3)].row.reshape(8, 8)
    for row, column in np.ndindex(8, 8):
        colour = COLOURS[0] if INNER.reshape(8, 8)[row, column] else COLOURS[1]
        ax.add_patch(
            Rectangle((column, -row), 1, 1, fc=colour, ec="white", lw=0.5, alpha=1 if image[row, column] else 0.2)
        )
    ax.set(aspect="equal", adjustable="datalim")
    ax.autoscale_view()
    ax.set_axis_off()


def _letters(ax: Axes, row: sc.Categories, smoothed: sc.SmoothedClassifier) -> None:
    """A row of letters in its regions, and a noisy copy below it."""
    problem = smoothed.problem([row])
    home = np.full(len(row), -1)
    for number, block in enumerate(problem.sites[0].blocks):
        home[block.coordinates(np.arange(block.size))[0]] = number
    noisy = _copy(row, smoothed, SEEDS["promoter"]).vectors()[0]
    for line, values in ((1, row.row), (0, noisy)):
        for column, value in enumerate(values):
            changed = value != row.row[column]
            ax.add_patch(Rectangle((column, line * 1.3), 1, 1, fc=COLOURS[home[column]], ec="white", alpha=0.25))
            letter = row.frame.categories[value]
            look = {"color": "#C1121F", "weight": "bold"} if changed else {"color": INK}
            ax.text(column + 0.5, line * 1.3 + 0.5, str(letter), ha="center", va="center_baseline", **look)
    for number, region in enumerate(problem.sites[0].regions):
        ax.add_patch(Rectangle((0, 0), 0, 0, fc=COLOURS[number], alpha=0.25, label=region))
    ax.text(-0.3, 1.8, "clean", ha="right", va="center_baseline")
    ax.text(-0.3, 0.5, "a noisy copy", ha="right", va="center_baseline")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    ax.set(xlim=(-0.2, len(row)), ylim=(-0.1, 2.4), aspect="equal")
    ax.set_axis_off()
