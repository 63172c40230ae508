"""Molecules: elements, charges, orders of bonds."""

import numpy as np
import pytest

import starcert as sc
from starcert.objects import Sites
from starcert.objects.threats import (
    UnfitError,
    Valence,
    read_threat,
)


def atoms(symbols, edges, **more):
    return Sites.everything(sc.Graph(len(symbols), edges, node_data={"element": list(symbols)}, **more), "all")


def test_molecules_that_exceed_valences_are_refused():
    with pytest.raises(UnfitError, match=r"Got 'F 1 with 2 bonds .* 1' .*valences=\{'F': 2\}") as refused:
        Valence(1).check(atoms("CFC", [(0, 1), (1, 2)]))
    assert "molecules that keep valences" in str(refused.value)
    Valence(1, valences={"F": 2}).check(atoms("CFC", [(0, 1), (1, 2)]))
    with pytest.raises(UnfitError, match=r"valence of every element\. Got 'Na' instead\. Give valences=\{'Na': 1\}"):
        Valence(1).check(atoms(["Na", "C"], []))
    with pytest.raises(UnfitError, match="types of edges out of single, double"):
        Valence(1).check(atoms("CC", [(0, 1)], edge_types=["strong"]))
    with pytest.raises(UnfitError, match="undirected"):
        Valence(1).check(atoms("CC", [(0, 1)], directed=True))


def test_labels_and_charges_are_understood():
    labels = sc.Graph(2, [], node_data={"label": [0, 1]})
    assert Valence(1, ("C", "F")).count(Sites.everything(labels, "all"), 1) == 1
    with pytest.raises(UnfitError, match="labels from 0 to 0"):
        Valence(1, ("C",)).check(Sites.everything(labels, "all"))
    numbers = {"atomic_number": np.array([7, 9, 9, 9, 9]), "formal_charge": np.array([1, 0, 0, 0, 0])}
    ammonium = sc.Graph(5, [(0, 1), (0, 2), (0, 3)], node_data=numbers)
    assert list(Valence(1).attacks(Sites.everything(ammonium, "all"), 1))[-1] == ((3, 1),)
    neutral = sc.Graph(5, ammonium.edges, node_data=numbers | {"formal_charge": np.zeros(5, dtype=int)})
    assert Valence(1).count(Sites.everything(neutral, "all"), 1) == 3


def test_types_of_edges_that_are_numbers_are_explained():
    numbered = sc.Graph(2, [(0, 1)], node_data={"label": [0, 2]}, edge_types=[1], type_names=(0, 1, 2, 3))
    sites = Sites.everything(numbered, "all")
    with pytest.raises(UnfitError, match=r"types of edges out of single, .* Got 0 instead\. Say what they mean"):
        Valence(1, "MUTAG").check(sites)
    molecules = read_threat("valence:1,elements=MUTAG,bonds=MUTAG")
    assert molecules == Valence(1, "C/N/O/F/I/Cl/Br", ("aromatic", "single", "double", "triple"))
    assert [value for ((_, value),) in molecules.attacks(sites, 1)] == [0, 1, 3]  # no bond, aromatic, double


def test_elements_that_are_attacked_say_nothing_about_valences():
    graph = sc.Graph(2, [], node_data={"element": ["C", "N"]}).with_categories("element", tuple("CNO"))
    with pytest.raises(UnfitError, match="that no attack changes"):
        Valence(1).check(sc.Partition.of_layers(bonds="pairs", atoms="element").sites(graph))
