"""Trying every attack is sound and complete: in small worlds all objects are listed, and so are all attacks.

A classifier is a table with a class for every object there is, drawn at random. What an object withstands is the least
number of changes to one of another class, less one: nothing else is certified, and nothing less.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import starcert as sc
from starcert.classifiers import Classifier
from starcert.objects.sites import Sites
from starcert.objects.threats import Attacks


def all_graphs():
    pairs = [(u, v) for u in range(4) for v in range(u + 1, 4)]
    return [sc.Graph(4, [pair for pair, there in zip(pairs, row, strict=True) if there]) for row in rows(2, 6)]


def all_arcs():
    sites = Sites.everything(sc.Graph(3, [], directed=True), "all")
    arcs = np.stack(sites.coordinates(np.arange(6)), axis=1).tolist()  # in the order of a table
    chosen = ([arc for arc, there in zip(arcs, row, strict=True) if there] for row in rows(2, 6))
    return [sc.Graph(3, each, directed=True) for each in chosen]


def all_typed():
    pairs, found = [(0, 1), (0, 2), (1, 2)], []
    for row in rows(4, 3):
        there = [(pair, value) for pair, value in zip(pairs, row, strict=True) if value]
        types = ["abc"[value - 1] for _, value in there]
        found.append(sc.Graph(3, [pair for pair, _ in there], edge_types=types, type_names=("a", "b", "c")))
    return found


def rows(alphabet, length):
    return list(product(range(alphabet), repeat=length))


WORLDS = {
    "graphs on four nodes": (all_graphs, 2, 6),
    "arcs on three nodes": (all_arcs, 2, 6),
    "typed pairs of three nodes": (all_typed, 4, 3),
    "bits": (lambda: [sc.Bits(row) for row in rows(2, 6)], 2, 6),
    "categories": (lambda: [sc.Categories(row, values=3) for row in rows(3, 4)], 3, 4),
}


class Table(Classifier):
    """A class for every object, and perhaps for several of its parts."""

    n_classes = 2
    description = "a table"

    def __init__(self, table, alphabet):
        self.table, self.alphabet = table, alphabet

    def n_targets(self, frame):
        return None if self.table.ndim == 1 else self.table.shape[1]

    def classify(self, graphs):
        values = graphs.values.astype(np.int64)
        return self.table[values @ self.alphabet ** np.arange(values.shape[1] - 1, -1, -1)]


def distances(alphabet, length):
    every = np.array(rows(alphabet, length))
    return (every[:, None] != every[None]).sum(axis=2)


@pytest.mark.parametrize("targets", [None, 3])
@pytest.mark.parametrize("world", WORLDS)
def test_certified_is_what_no_object_within_reach_refutes(world, targets):
    make, alphabet, length = WORLDS[world]
    objects, apart, rng = make(), distances(alphabet, length), np.random.default_rng(len(world))
    for share in (0.02, 0.2):
        table = (rng.random((len(objects), targets or 1)) < share).astype(int)
        table[0] = 1 - table[1]  # every target has two classes
        found = sc.ExactClassifier(Table(table if targets else table[:, 0], alphabet)).certify(
            objects, threat=f"flips:{length}"
        )
        for one in found:
            label = table[one.object, one.target]
            nearest = apart[one.object][table[:, one.target] != label].min()
            assert (one.label, one.certified_size, one.broken_size) == (label, nearest - 1, nearest)
            assert len(one.attack().sites) == nearest
            assert one.verdict(int(nearest)) == "broken"


@dataclass(frozen=True)
class Misses(sc.threats.AnyFlips):
    """A control: any flips, without the first attack of a size."""

    missing: int = 1

    def attacks(self, sites, size):
        found = super().attacks(sites, size)
        return Attacks(tuple(block[1:] for block in found.blocks)) if size == self.missing else found


@pytest.mark.parametrize("missing", [1, 2])
def test_a_list_that_misses_one_attack_claims_what_is_false(missing):
    objects, apart = [sc.Bits(row) for row in rows(2, 6)], distances(2, 6)
    table = (np.random.default_rng(3).random(64) < 0.03).astype(int)
    found = sc.ExactClassifier(Table(table, 2)).certify(objects, threat=Misses(2, missing=missing))
    nearest = np.array([apart[number][table != table[number]].min() for number in range(64)])
    wrong = found.certified_sizes >= nearest
    assert wrong.any()
    assert not wrong.all()
