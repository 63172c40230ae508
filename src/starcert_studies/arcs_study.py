"""Directed graphs that direction alone tells apart, and what is certified of them; without directions, nothing is left.

Two classifiers: one that counts cycles of three, and a small network that is shown in- and out-degrees and passes
messages along arcs, trained with the noise. Both are made once more for the undirected skeletons of the same graphs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from starcert.certificates.metrics import accuracy, certified_share, majority_share
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_callable, from_pyg
from starcert.classifiers.features import in_degree, out_degree
from starcert.datasets import arcs
from starcert.datasets.dataset import Dataset
from starcert.models.fitting import fit_with_noise
from starcert.models.gine import GIN
from starcert.objects import Graph
from starcert.objects.binding import bind_all
from starcert.objects.noise import Noise
from starcert.pages.plots.drawing import PAGE, new_figure, region_graph
from starcert.pages.plots.maps import RadiusMap, stacked
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.system.threads import one_torch_thread
from starcert_studies.levels import Level, answers, read_votes, vote
from starcert_studies.outcome import Check, Outcome, Picture, Table
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from starcert.sampling.batch import NoisyGraphs

__all__ = ["TITLE", "ArcsSettings", "checks", "data_of", "graphs_figure", "run", "settings", "skeleton", "trained"]

TITLE = "Arcs: graphs that direction alone tells apart"

MOTIF = 9
"""Nodes of the motif."""

NOISE = Noise(motif=0.1, random=0.4)
BOX = {"motif": 3, "random": 60}
MODELS = ("cycles", "network")
SHOWN = ("arcs", "skeleton")
"""What a model is shown: the directed graph, or the undirected one below it."""

BLOCK = 25
"""So many graphs are a part."""

COPIES = 64
"""So many noisy copies of each training graph tell where to part counts of cycles."""

RADII = ((1, 0), (2, 0), (3, 0), (0, 10), (0, 30), (1, 10), (2, 10))
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ArcsSettings:
    """What the study depends on.

    Attributes:
        samples: votes on each directed graph; a tenth on each skeleton, of which nothing will be certified.
        graphs: how many test graphs.
        taught: how many training graphs.
        epochs: of training the network.
        seed: of the data, of training and of all votes.
    """

    samples: int = 10_000
    graphs: int = 100
    taught: int = 400
    epochs: int = 40
    seed: int = 1

    def votes_on(self, shown: str) -> int:
        """How many votes there are on each graph."""
        return self.samples if shown == "arcs" else self.samples // 10


def settings(samples: int | None, seed: int, quick: bool) -> ArcsSettings:
    """The settings that a command line asks for."""
    if quick:
        return ArcsSettings(samples or 1_000, 50, 200, 20, seed)
    return ArcsSettings(samples or 10_000, seed=seed)


def skeleton(graph: Graph) -> Graph:
    """The graph without directions: an edge wherever there is an arc, or one each way.

    Example:
        >>> skeleton(Graph(3, [(1, 0), (1, 2), (2, 1)], directed=True)).edges.tolist()
        [[0, 1], [1, 2]]
    """
    return Graph(graph.n_nodes, np.unique(np.sort(graph.edges, axis=1), axis=0))


@lru_cache(maxsize=2)
def data_of(shown: str, settings: ArcsSettings) -> Dataset:
    """The graphs as a model is shown them."""
    data = arcs(settings.seed, train=settings.taught, test=settings.graphs, n_motif=MOTIF)
    if shown == "arcs":
        return data
    return replace(data, graphs=tuple(skeleton(each) for each in data.graphs), name=shown)


def cycles(graphs: NoisyGraphs) -> npt.NDArray[np.int64]:
    """How many closed walks of three steps each copy has: three for a directed cycle, six for a triangle of edges."""
    matrix = graphs.adjacency().astype(np.float32)
    walks: npt.NDArray[np.float32] = np.einsum("bij,bji->b", matrix @ matrix, matrix)
    return np.rint(walks).astype(np.int64)


def many_cycles(graphs: NoisyGraphs, least: int) -> npt.NDArray[np.int64]:
    """Class 1, feedback, for each copy with so many closed walks or more."""
    return (cycles(graphs) >= least).astype(np.int64)


def _parting(graphs: Sequence[Graph], labels: Labels, data: Dataset, seed: int) -> int:
    """The number of closed walks that parts noisy copies of training graphs best."""
    bound = bind_all(graphs, NOISE, data.partition)
    counts = np.stack(
        [
            cycles(sampler(sites, bound.noise).draw(WordStream.of_chunk(seed, sites.clean.key, "training", 0), COPIES))
            for sites in bound.sites
        ]
    )
    few, many = (np.sort(counts[labels == label].ravel()) for label in (0, 1))
    places = np.unique(counts)
    right = np.searchsorted(few, places) / few.size - np.searchsorted(many, places) / many.size
    return int(places[right.argmax()])


@lru_cache(maxsize=2)
def trained(model: str, shown: str, settings: ArcsSettings) -> SmoothedClassifier:
    """A model that has learned from noisy copies of the training graphs, smoothed."""
    data = data_of(shown, settings)
    taught, held = data.train, data.validation
    if model == "cycles":
        least = _parting(taught.graphs, taught.labels, data, settings.seed)
        asked = partial(many_cycles, least=least)
        base = from_callable(asked, n_classes=2, on="batch", description=f"{least} closed walks of three steps or more")
        return SmoothedClassifier(base, NOISE, data.partition)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(settings.seed)
        network = GIN(2, 2, hidden=32, layers=2)
    features = (in_degree(), out_degree())
    smoothed = SmoothedClassifier(from_pyg(network, n_classes=2, features=features), NOISE, data.partition)
    fit_with_noise(
        smoothed,
        taught.graphs,
        taught.labels,
        validation=(held.graphs, held.labels),
        epochs=settings.epochs,
        learning_rate=1e-2,
        halve_every=max(1, settings.epochs // 4),
        seed=settings.seed,
        progress=False,
    )
    return smoothed


def block(model: str, shown: str, at: int, settings: ArcsSettings) -> dict[str, Any]:
    """The answers of a model on some test graphs, without noise and as votes."""
    with one_torch_thread():
        smoothed, tested = trained(model, shown, settings), data_of(shown, settings).test
        graphs = tested.graphs[at : at + BLOCK]
        votes = vote(smoothed, smoothed.problem(graphs), settings.votes_on(shown), settings.seed)
        return {"clean": answers(smoothed.classifier, graphs), **votes}


def run(settings: ArcsSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    blocks = range(0, settings.graphs, BLOCK)
    trials = list(product(MODELS, SHOWN))
    work = {
        (model, shown, at): Part(f"{model}-{shown}-{at}", block, (model, shown, at, settings))
        for (model, shown), at in product(trials, blocks)
    }
    done = parts.run(list(work.values()), "training and votes")
    labels = data_of("arcs", settings).test.labels
    levels, clean = {}, {}
    for model, shown in trials:
        found = [done[work[model, shown, at].name] for at in blocks]
        joined = {name: [row for each in found for row in each[name]] for name in found[0]}
        data = data_of(shown, settings)
        levels[model, shown] = Level.of(bind_all(data.test.graphs, NOISE, data.partition), read_votes(joined))
        clean[model, shown] = accuracy(joined["clean"], labels)
    return Outcome(
        _summary(levels, clean, labels),
        [
            Picture(
                "graphs",
                "A graph of each class: the motif feeds forward (left) or back (right). Without the heads of the "
                "arrows the two have one law.",
                partial(graphs_figure, data_of("arcs", settings)),
            ),
            Picture(
                "radii",
                "Share of test graphs that are right and certified at each radius, by model; directed graphs.",
                partial(_maps, levels, labels),
            ),
        ],
        [_table(levels, clean, labels, settings)],
        checks(levels, clean, labels, settings),
    )


Trials = dict[tuple[str, str], Level]
Clean = dict[tuple[str, str], float]


def checks(levels: Trials, clean: Clean, labels: Labels, settings: ArcsSettings) -> list[Check]:
    """What is documented of the two models, and whether it is so here."""
    whole = settings.samples >= 10_000 and settings.graphs == 100
    few = "Documented of 10,000 votes on each of 100 graphs."
    made = []
    for (model, shown), level in levels.items():
        share, plain = accuracy(level.certificates, labels), clean[model, shown]
        measured = f"{share:.0%} smoothed, {plain:.0%} without noise"
        if shown == "arcs":
            claim = f"{model}: with directions, every graph is answered right, smoothed"
            check = Check(claim, "not in the paper", measured, share == 1, True)
            made.append(check if whole else check.undecided(few))
        else:
            limit = _chance(len(labels))
            claim = f"{model}: without directions, no better than chance, smoothed or not"
            note = f"Fair coins are right on more than {limit:.0%} of {len(labels)} graphs once in a thousand."
            made.append(Check(claim, "not in the paper", measured, max(share, plain) <= limit, True, note))
    at = certified_share(levels["network", "arcs"].certificates, labels, max_radius={"motif": 1, "random": 10})
    claim = "network: any 10 flips in the random part are certified for 95 graphs of 100 or more"
    last = Check(claim, "not in the paper", f"{at[0, 10]:.0%}", float(at[0, 10]) >= 0.95, True)
    return [*made, last if whole else last.undecided(few)]


def _chance(graphs: int) -> float:
    """The share of so many graphs that coins exceed once in a thousand.

    Example:
        >>> _chance(100)
        0.65
    """
    from scipy.stats import binom  # noqa: PLC0415  (slow to import)

    return float(binom.ppf(0.999, graphs, 0.5) / graphs)


def _table(levels: Trials, clean: Clean, labels: Labels, settings: ArcsSettings) -> Table:
    rows = []
    for (model, shown), level in levels.items():
        share = certified_share(level.certificates, labels, max_radius=BOX)
        silent = ~level.certificates.certified((0, 0))
        rows.append(
            [model, shown, settings.votes_on(shown), len(labels), majority_share(labels), clean[model, shown],
             accuracy(level.certificates, labels), float(silent.mean()), *(float(share[radius]) for radius in RADII)]
        )  # fmt: skip
    columns = ["model", "shown", "votes", "graphs", "majority", "without_noise", "smoothed", "abstained",
               *(f"certified_at_{motif}_{random}" for motif, random in RADII)]  # fmt: skip
    about = (
        "Shares of graphs: the more frequent class, right answers without noise and smoothed, abstentions, and right "
        "and certified at radii (motif, random)."
    )
    return Table("models", about, columns, rows)


def _summary(levels: Trials, clean: Clean, labels: Labels) -> list[str]:
    return [
        f"{model}, shown the {shown}: right on {clean[model, shown]:.0%} without noise, on "
        f"{accuracy(level.certificates, labels):.0%} smoothed (a constant answer on {majority_share(labels):.0%})."
        for (model, shown), level in levels.items()
    ]


def _maps(levels: Trials, labels: Labels) -> Figure:
    maps = {
        model: RadiusMap.from_certificates(levels[model, "arcs"].certificates, labels, max_radius=BOX)
        for model in MODELS
    }
    return stacked(maps, 1.0)


def graphs_figure(data: Dataset) -> Figure:
    """The first test graph of each class, the motif on a circle: arcs go forward, or all the way round."""
    figure = new_figure(PAGE, 2.3)
    for ax, label in zip(figure.subplots(1, 2), (0, 1), strict=True):
        graph = data.test.graphs[int(np.flatnonzero(data.test.labels == label)[0])]
        assert data.partition is not None
        region_graph(data.partition.sites(graph), positions=_positions(graph), ax=ax)
        ax.set_title(data.label_names[label])
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, ncols=len(names), frameon=False, loc="outside lower center")
    return figure


def _positions(graph: Graph) -> npt.NDArray[np.float64]:
    """The motif on a circle, clockwise from the top in the order in which its nodes follow each other; the rest beside.

    Next comes, of those that a node has an arc to, the one with the most arcs to the others of them.
    """
    there = np.zeros((graph.n_nodes, graph.n_nodes), dtype=np.int64)
    there[tuple(graph.edges.T)] = 1
    inside = there[:MOTIF, :MOTIF]
    order, left = [int(inside.sum(axis=1).argmax())], np.ones(MOTIF, dtype=bool)
    while len(order) < MOTIF:
        left[order[-1]] = False
        followers = np.flatnonzero(inside[order[-1]].astype(bool) & left)
        order.append(int(followers[inside[np.ix_(followers, followers)].sum(axis=1).argmax()]))
    places = np.empty((graph.n_nodes, 2))
    places[order] = _circle(MOTIF)
    places[MOTIF:] = _circle(graph.n_nodes - MOTIF) + np.array([2.6, 0.0])
    return places


def _circle(n: int) -> npt.NDArray[np.float64]:
    angles = 2 * np.pi * np.arange(n) / n
    return np.stack([np.sin(angles), np.cos(angles)], axis=1)
