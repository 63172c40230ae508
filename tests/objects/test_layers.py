"""Objects with layers of their own, and with several: positions, coordinates and clean values."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import starcert as sc
from starcert.objects import CleanObject, Layer, Numbered, Sites
from starcert.objects.blocks import NodePairs
from starcert.objects.laws import Law
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import InvalidParameterError


@dataclass(frozen=True)
class Molecule:
    """A graph whose nodes have one of five colours, which may change too."""

    graph: sc.Graph
    colours: tuple[int, ...]

    @property
    def key(self):
        return self.graph.key

    @property
    def layers(self):
        return (*self.graph.layers, Layer("colours", len(self.colours), 5))

    @property
    def frame(self):
        return self.graph.frame

    def nonzero(self, layer):
        if layer == "pairs":
            return self.graph.nonzero(layer)
        colours = np.array(self.colours, dtype=np.uint8)
        return (np.flatnonzero(colours),), colours[colours > 0]


MOLECULE = Molecule(sc.Graph(4, [(0, 1), (1, 2)]), (0, 4, 2, 0))


@pytest.fixture
def sites() -> Sites:
    pairs, colours = MOLECULE.layers
    regions = Numbered(colours, np.array([1, 3])), pairs.everything(), Numbered(colours, np.array([2]))
    return Sites(MOLECULE, ("some", "bonds", "one"), regions)


def test_a_graph_is_an_object_with_one_layer():
    graph = MOLECULE.graph
    assert isinstance(graph, CleanObject)
    assert isinstance(MOLECULE, CleanObject)
    assert graph.layers == (NodePairs.of((0, 1, 2, 3)),)
    assert [(layer.name, layer.size, layer.alphabet) for layer in graph.layers] == [("pairs", 6, 2)]
    (u, v), values = graph.nonzero("pairs")
    assert (u.tolist(), v.tolist(), values.tolist()) == ([0, 1], [1, 2], [1, 1])
    assert graph.frame is graph.frame


def test_layers_of_one_object_lie_side_by_side(sites):
    assert (sites.sizes, sites.n_sites, sites.n_fixed) == ((2, 6, 1), 9, 1)
    assert [layer.name for layer in sites.layers] == ["colours", "pairs", "colours"]
    assert [each.tolist() for each in sites.nonzero] == [[0, 2, 5, 8], [4, 1, 1, 2]]
    assert sites.counts == ((1, 0, 0, 0, 1), (4, 2), (0, 0, 1, 0, 0))
    assert sites.locate([0, 1, 2, 3], layer="colours").tolist() == [-1, 0, 8, 1]
    assert sites.locate([2], [1]).tolist() == [5]
    assert [each.tolist() for each in sites.coordinates([5, 2])] == [[1, 0], [2, 1]]
    assert [each.tolist() for each in sites.coordinates([8, 0])] == [[2, 1]]


@dataclass(frozen=True)
class Anything(Law):
    """Any of the values, each equally likely."""

    values: int
    suffixes, moves, channels = ("",), (((0, 1),),), sc.Flip(0.5).channels

    @property
    def alphabet(self):
        return self.values

    def transitions(self, value):
        return (Fraction(1, self.alphabet),) * self.alphabet

    def change(self, value):
        return 1 - 1 / self.alphabet

    def capacity(self, counts):
        return (sum(counts),)

    def to_json(self):
        return {"anything": self.alphabet}


def test_layers_with_different_alphabets_are_drawn_together(sites):
    noise = sc.Noise(one=Anything(5), some=Anything(5), bonds=0.25)
    assert sites.capacity(noise) == (1, 2, 6)
    batch = sampler(sites, noise).draw(WordStream.of_chunk(1, MOLECULE.key, "training", 0), 20_000)
    colours, pairs = batch.vectors("colours"), batch.vectors()
    assert colours.shape == (20_000, 4)
    assert (colours[:, 0] == 0).all()
    assert np.abs(np.bincount(colours[:, 1:].ravel(), minlength=5) / 60_000 - 0.2).max() < 0.01
    assert np.abs(pairs.mean(axis=0) - [0.75, 0.25, 0.25, 0.75, 0.25, 0.25]).max() < 0.02


@pytest.mark.parametrize(("some", "one"), [([1, 3], [2]), ([0, 1], [2, 3]), ([2, 3], [0, 1]), ([1], [0])])
def test_a_vector_shows_each_site_where_it_is_however_regions_alternate(some, one):
    """Each value in its column, with the sites of another layer between those of this one."""
    pairs, colours = MOLECULE.layers
    regions = Numbered(colours, np.array(some)), pairs.everything(), Numbered(colours, np.array(one))
    alternating = Sites(MOLECULE, ("some", "bonds", "one"), regions)
    noise = sc.Noise(one=Anything(5), some=Anything(5), bonds=0.25)
    batch = sampler(alternating, noise).draw(WordStream.of_chunk(1, MOLECULE.key, "training", 0), 64)
    shown = np.tile(np.array(MOLECULE.colours), (64, 1))
    shown[:, some], shown[:, one] = batch.values[:, : len(some)], batch.values[:, -len(one) :]
    assert batch.vectors("colours").tolist() == shown.tolist()
    assert batch.vectors().tolist() == batch.values[:, len(some) : -len(one)].tolist()


def test_several_layers_need_regions():
    with pytest.raises(InvalidParameterError, match="it says where the regions are in the layers pairs, colours"):
        Sites.everything(MOLECULE, "all")


def test_any_region_of_pairs_is_checked():
    graph = sc.Graph(4, [])
    one, other = Numbered(graph.layers[0], np.array([0, 1])), Numbered(graph.layers[0], np.array([1, 2]))
    assert Sites(graph, ("a",), (one,)).coordinates([0, 1])[1].tolist() == [1, 2]
    with pytest.raises(InvalidParameterError, match=r"\(0, 2\) in both 'a' and 'b'"):
        Sites(graph, ("a", "b"), (one, other))
