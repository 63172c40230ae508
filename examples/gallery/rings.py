"""A molecule with rings: do at least half of its atoms lie on one?"""

import networkx as nx
from picture import draw
from rdkit import Chem

import starcert as sc

SMILES = "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21"  # diazepam


def ringed(graph: nx.Graph) -> int:
    """1 where at least half of the atoms lie on a ring: they have an edge that is not a bridge."""
    graph.remove_edges_from(list(nx.bridges(graph)))
    return int(2 * sum(degree > 0 for _, degree in graph.degree) >= len(graph))


smoothed = sc.SmoothedClassifier(
    sc.classifiers.from_callable(ringed, n_classes=2),
    sc.Noise(ring=0.02, rest=0.3, between=0.05),  # pairs of two ring atoms, of two others, of one of each
    regions=sc.regions.ring_atoms(),
)
problem = smoothed.problem([sc.Graph.from_smiles(SMILES)])
certificate = smoothed.certify(problem, samples=5_000, alpha=0.01, seed=1)[0]
print(certificate)

symbols = [atom.GetSymbol() for atom in Chem.MolFromSmiles(SMILES).GetAtoms()]
letters = ["" if symbol == "C" else symbol for symbol in symbols]
title = "Diazepam: at least half of its atoms lie on rings"
draw("gallery_rings.png", problem.sites[0], certificate, title, names=letters)
