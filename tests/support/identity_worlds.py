"""Things of all kinds that have an identity, importable by another process."""

import collections
import dataclasses
import enum
import functools
import re

import networkx as nx
import numba
import numpy as np

import starcert as sc

LIMIT = 3
TABLE = {"few": 0, "many": 1}
NAMES = {"carbon", "nitrogen", "oxygen", "sulphur", "chlorine"}


def helper(graph) -> int:
    return graph.number_of_edges() - LIMIT


def with_helper(graph) -> int:
    return int(helper(graph) > TABLE["few"])


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


def above(limit):
    return lambda graph: int(graph.number_of_edges() > limit)


class Threshold:
    """A callable object that knows itself, in slots and with a method that calls its parent's."""

    def __init__(self, limit):
        self.limit = limit
        self.me = self

    def __call__(self, graph) -> int:
        return int(self.edges(graph) > self.limit)

    def edges(self, graph) -> int:
        return graph.number_of_edges()

    @functools.cached_property
    def doubled(self):
        return 2 * self.limit


class Louder(Threshold):
    def edges(self, graph) -> int:
        return super().edges(graph) + 1


class Slots:
    __slots__ = ("limit",)

    def __init__(self, limit):
        self.limit = limit


@dataclasses.dataclass
class Record:
    limit: int = 3
    names: list = dataclasses.field(default_factory=list)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "one other")


class Tables:
    """An object that computes tables when they are asked for, and keeps them."""

    size = 5

    @functools.cached_property
    def row(self):
        return np.zeros(self.size)

    @functools.cached_property
    def itself(self):
        return {"me": self}


@functools.lru_cache
def row_of(n):
    return np.zeros(n)


@functools.lru_cache
def remembered(n):
    return n + LIMIT


@numba.njit
def compiled(n):
    return n + LIMIT


def everything() -> dict[str, object]:
    """One of each kind, always made the same way."""
    ring = []
    ring.append({"back": ring})
    return {
        "lambda": above(5),
        "helper": with_helper,
        "mutual": even,
        "partial": functools.partial(above, limit=4),
        "object": Threshold(4),
        "derived": Louder(4),
        "method": Louder(4).edges,
        "slots": Slots(4),
        "record": Record(),
        "enum": Colour.RED,
        "named tuple": Pair(1, Colour.BLUE),
        "remembered": remembered,
        "compiled": compiled,
        "set": set(NAMES) | {f"name {i}" for i in range(100)},
        "frozen": frozenset({("a", 1), ("b", 2)}),
        "counter": collections.Counter("abracadabra"),
        "pattern": re.compile("a+"),
        "array": np.arange(5.0),
        "objects": np.array([{"a": 1}, None, "x"], dtype=object),
        "generator": np.random.default_rng(3),
        "networkx": nx.cycle_graph(4),
        "graph": sc.Graph(3, [(0, 1)], node_data={"element": ["C", "N", "O"]}),
        "ring": ring,
        "class": Louder,
        "builtin": len,
        "bound builtin": {"a": 1}.get,
        "ufunc": np.add,
        "module": re,
        "signature": sc.SmoothedClassifier.vote,
        "partition": sc.Partition.from_node_sets({"core": range(3)}),
    }
