"""The noise, for training on copies like those that smoothing classifies: of graphs (PyTorch Geometric) and of rows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from copy import copy
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects import Graph, Sites, Vector
from starcert.objects.binding import Problem, Regions, bind, bind_all, check_noise_and_regions
from starcert.objects.content import digest
from starcert.objects.noise import Noise
from starcert.objects.vectors import join_rows, matrix_of
from starcert.sampling.sampler import Sampler, sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import InvalidParameterError, needing, whole_number

__all__ = ["AddNoise", "noisy_rows"]

MAX_SAMPLERS = 1024  # graphs whose samplers are kept for the next draw


def __dir__() -> list[str]:
    return sorted(__all__)


class AddNoise:
    """A transform of PyTorch Geometric that changes the edges of a graph as the noise does, afresh in every call.

    It draws from the very law that `SmoothedClassifier` smooths with, by the same sampler. The draws of one graph are
    numbered, and each has its own random stream, keyed by the seed, the content of the graph, the number, and, in a
    worker process of a `DataLoader`, by the seed that PyTorch gave that worker. So the same seed and the same order of
    calls give the same copies, to the bit. Workers draw independently of each other, and afresh in every epoch: their
    copies are reproducible if the loader has a `generator` with a seed. No global generator is touched.

    Nodes and their data stay as they are. The types of edges are drawn with the edges, and come in the form in which
    they were: one-hot rows, or numbers. Other data of edges is refused unless it is named in `drop`: edges that are
    added have none.

    Args:
        noise: a law for every region.
        regions: where the regions are: a `Partition`, or a rule from a graph to its partition. Without it, the one
            region of the noise is every node pair.
        seed: a whole number, 0 or more.
        drop: the edge data to leave out of the copies, for instance ("length",).
        edge_types: the attribute that is the type of an edge, for instance "edge_attr": one-hot rows, or numbers.
        type_names: all types of the data set, where they are numbers; of one-hot rows the names of the columns.
        directed: whether the columns of edge_index are arcs.

    Example:
        >>> from starcert.objects.noise import Noise
        >>> data = Graph(4, [(0, 1), (1, 2), (2, 3)]).to_pyg()
        >>> never, always = AddNoise(Noise(all=0.0)), AddNoise(Noise(all=1.0))
        >>> never(data).edge_index.tolist() == data.edge_index.tolist()
        True
        >>> always(data).edge_index.tolist()
        [[0, 0, 1, 2, 3, 3], [2, 3, 3, 0, 0, 1]]
        >>> from starcert.objects.laws import Edges
        >>> bond = Graph(2, [(0, 1)], edge_types=["single"], type_names=["single", "double"]).to_pyg()
        >>> AddNoise(Noise(bonds=Edges(delete=0, add=0, change=1)), edge_types="edge_attr")(bond).edge_attr.tolist()
        [[0.0, 1.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        noise: Noise,
        regions: Regions | None = None,
        *,
        seed: int = 0,
        drop: Sequence[str] = (),
        edge_types: str | None = None,
        type_names: Sequence[Hashable] | None = None,
        directed: bool = False,
    ) -> None:
        with needing("transforms need", "torch"):
            import_module("torch_geometric")
        check_noise_and_regions(noise, regions)
        whole_number("seed", seed, 0)
        if isinstance(drop, str) or not all(isinstance(name, str) for name in drop):
            raise InvalidParameterError("drop", "be names of edge data", drop, "Write drop=('edge_attr',).")
        if edge_types is None and type_names is not None:
            raise InvalidParameterError("edge_types", "name the attribute of edges that has these types", None)
        self.noise, self.regions, self.seed, self.drop = noise, regions, int(seed), tuple(drop)
        self.edge_types, self.type_names, self.directed = edge_types, type_names, directed
        self._draws: dict[str, int] = {}
        self._samplers: OrderedDict[str, Sampler] = OrderedDict()

    def __call__(self, data: Any) -> Any:  # noqa: ANN401  (torch_geometric carries no types)
        """A copy of `data` with noisy edges."""
        return self.forward(copy(data))

    def forward(self, data: Any) -> Any:  # noqa: ANN401
        """Puts noisy edges, and their types, into `data` itself."""
        if "ptr" in data or "batch" in data:
            hint = "Give the transform to the data set, not to what the loader returns."
            raise InvalidParameterError("data", "be one graph", "a batch of graphs", hint)
        if "adj_t" in data:
            hint = "Apply ToSparseTensor after this transform."
            raise InvalidParameterError("data", "have its edges in edge_index alone", "adj_t", hint)
        for name in self.drop:
            if name in data and name != "edge_index":
                del data[name]
        _refuse_edge_data(data, self.edge_types)
        graph = Graph.from_pyg(data, directed=self.directed, edge_types=self.edge_types, type_names=self.type_names)
        edges = self._sampler(graph).draw(self._stream(graph.key), 1).edges()
        names = graph.type_names or None
        types = None if edges.types is None or names is None else [names[number - 1] for number in edges.types]
        pairs = np.column_stack([edges.u, edges.v])
        noisy = Graph(graph.n_nodes, pairs, edge_types=types, type_names=names, directed=self.directed).to_pyg()
        if self.edge_types is not None:
            data[self.edge_types] = self._as_it_came(noisy.edge_attr, data[self.edge_types], graph)
        data.edge_index = noisy.edge_index.to(data.edge_index.device)
        data.num_nodes = graph.n_nodes  # nodes that have lost their edges are still there
        return data

    def _as_it_came(self, one_hot: Any, before: Any, graph: Graph) -> Any:  # noqa: ANN401  (tensors)
        """The types of edges in the form in which they came: one-hot rows, or numbers."""
        if before.dim() == 2 and before.shape[1] > 1:
            return one_hot.to(before)
        if self.type_names is None:
            hint = "The noise gives an added edge any of them: AddNoise(…, type_names=[1, 2, 3])."
            requirement = "list all types of the data set, where these are numbers"
            raise InvalidParameterError("type_names", requirement, None, hint)
        numbers = before.new_tensor(graph.type_names)[one_hot.argmax(dim=1)]
        return numbers.reshape(-1, *before.shape[1:])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.noise!r}, seed={self.seed})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_samplers": OrderedDict()}  # a worker makes its own

    def _sampler(self, graph: Graph) -> Sampler:
        if graph.key not in self._samplers:
            self._samplers[graph.key] = sampler(bind(graph, self.noise, self.regions), self.noise)
            if len(self._samplers) > MAX_SAMPLERS:
                self._samplers.popitem(last=False)
        return self._samplers[graph.key]

    def _stream(self, graph_key: str) -> WordStream:
        """The stream of the next draw of a graph in this process."""
        worker = import_module("torch.utils.data").get_worker_info()
        place = "the main process" if worker is None else f"the worker with seed {worker.seed}"
        number = self._draws.get(graph_key, 0)
        self._draws[graph_key] = number + 1
        # The digest keeps these streams apart from those of the votes, whatever the seeds are.
        return WordStream.of_chunk(self.seed, digest("AddNoise", graph_key, place), "training", number)


def _refuse_edge_data(data: Any, edge_types: str | None) -> None:  # noqa: ANN401
    for name in data.keys():  # noqa: SIM118  (a method of Data's)
        # PyG goes by sizes. What is as long as the nodes are many, or is y, is no data of edges unless it is called so.
        of_edges = name not in ("edge_index", "y", edge_types) and data.is_edge_attr(name)
        if of_edges and ("edge" in name or len(data[name]) != data.num_nodes):
            hint = f"If it is their type, name it: AddNoise(…, edge_types={name!r}). Edges that the noise adds have "
            hint += f"nothing else: leave it out by drop=({name!r},)."
            raise InvalidParameterError("data", "have no data of edges but their type", name, hint)


def noisy_rows(
    rows: Sequence[Vector], noise: Noise, regions: Regions | None = None, *, seed: int, copies: int = 1
) -> npt.NDArray[np.int64]:
    """Noisy copies of every row, as an array to train on.

    They are drawn from the very law that `SmoothedClassifier` smooths with, by the same sampler. Give every epoch a
    seed of its own, or draw the copies of several at once.

    Args:
        rows: `Bits` or `Categories`, all with the same columns.
        noise: a law for every region.
        regions: where the regions are, as for `SmoothedClassifier`.
        seed: a whole number, 0 or more. The same seed, rows and noise give the same copies, to the bit.
        copies: how many copies there are of each row.

    Returns:
        Shape (copies · rows, columns): a copy of every row in their order, then another of each, and so on. Their
        labels are `numpy.tile(labels, copies)`.

    Example:
        >>> import starcert as sc
        >>> rows = sc.Bits.rows([[0, 1, 1], [1, 1, 0]])
        >>> noisy_rows(rows, sc.Noise(first=1.0, last=0.0), {"first": [0], "last": [1, 2]}, seed=1).tolist()
        [[1, 1, 1], [0, 1, 0]]
    """
    check_noise_and_regions(noise, regions)
    whole_number("seed", seed, 0)
    whole_number("copies", copies, 1)
    if not len(rows):
        raise InvalidParameterError("rows", "hold at least one row", rows)
    matrix = matrix_of(rows)
    problem = bind_all(rows, noise, regions)
    side_by_side = _side_by_side(problem, rows)
    stream = WordStream.of_chunk(seed, digest("noisy rows", side_by_side.clean.key), "training", 0)
    drawn: npt.NDArray[np.uint8] = sampler(side_by_side, problem.noise).draw(stream, copies).vectors()
    return drawn.reshape(copies * len(rows), matrix.shape[1]).astype(np.int64)


def _side_by_side(problem: Problem, rows: Sequence[Vector]) -> Sites:
    """The sites of all rows as those of a single long one: each region is where it is in every row."""
    clean = join_rows(rows)
    blocks = []
    for region in problem.noise:
        found = []
        for number, sites in enumerate(problem.sites):
            block = sites.blocks[sites.regions.index(region)]
            (columns,) = block.coordinates(np.arange(block.size))
            found.append(number * len(rows[0]) + columns)
        blocks.append(clean.frame.region(np.concatenate(found), f"regions[{region}]"))
    return Sites(clean, tuple(problem.noise), tuple(blocks))
