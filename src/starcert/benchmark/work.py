"""How much work is done for each object, and what is the same for all methods of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import torch

import starcert as sc
from starcert.datasets import arcs, motif

DRAWN = {"motif": motif, "arcs": arcs}
"""Data sets whose folds are draws with a seed each."""
ALPHA = 0.01
"""The failure probability of every certificate."""
BATCH = 32
TRIED = 2
"""The most changes of a graph that are tried, or asked evidence about."""

Rates = tuple[float, float]
AtMost = int | Literal["all"]
Objects: TypeAlias = Any
"""What is learned from, chooses or is tested: a `Dataset` of graphs, a list of them, or `Nodes`."""


@dataclass(frozen=True)
class Work:
    """How much work is done for each graph."""

    graphs: AtMost = 100  # that are tested in a fold, at most; "all": no limit
    held: AtMost = 60  # validation graphs that choose among tries, at most
    max_nodes: int = 40  # larger graphs are left out
    samples: int = 10_000  # votes on each test graph
    own_samples: int = 10_000  # votes at attacked versions of a test graph, at most
    choosing_samples: int = 2_000  # votes on each validation graph, and at attacked versions of it
    max_attacks: int = 50_000  # tried on the plain model: pairs of flips only where there are fewer
    steps: int = 2_200  # steps of training, about
    max_epochs: int = 200  # epochs of training at most, however few graphs there are
    hidden: int = 32  # units of each layer
    drawn: int = 400  # training graphs of the data that are drawn
    drawn_graphs: int = 40  # and their test graphs
    drawn_epochs: int = 40  # and epochs of training on them, at most
    of_a_class: int = 20  # nodes of a class to learn from, and as many that choose
    nodes: AtMost = 1_000  # that are tested in a split, at most
    seed: int = 1  # of folds, weights, training and votes
    rates: Mapping[str, Any] = field(default_factory=dict, hash=False)  # by group: pairs to delete and to add with
    voters: tuple[int, ...] = (5, 10, 30)  # how many hashed voters are tried
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)  # which column of a table holds what


def limit_of(number: AtMost) -> int | None:
    """A limit as a number; None: there is none."""
    return None if isinstance(number, str) else number


def here() -> tuple[str, str]:
    """The device that torch works on, and its name: the first GPU, or the processor."""
    return ("cuda", torch.cuda.get_device_name()) if torch.cuda.is_available() else ("cpu", "CPU")


def pairs_noise(delete: float, add: float) -> sc.Noise:
    """The noise of all node pairs; one rate where both are the same."""
    return sc.Noise(pairs=sc.Flip(delete=delete, add=add))


class Timed(NamedTuple):
    """Something that was made, and how long it took."""

    value: Any
    seconds: float
