"""Functional groups: does EDTA have at least two acid groups?"""

import networkx as nx
from picture import draw
from rdkit import Chem

import starcert as sc

SMILES = "OC(=O)CN(CCN(CC(=O)O)CC(=O)O)CC(=O)O"  # EDTA: four acid groups, two amines


def acid(graph: nx.Graph) -> int:
    """1 where at least two carbons have two oxygens or more."""
    element = graph.nodes(data="atomic_number")
    oxygens = [sum(element[other] == 8 for other in graph[atom]) for atom, number in element if number == 6]
    return int(sum(count >= 2 for count in oxygens) >= 2)


smoothed = sc.SmoothedClassifier(
    sc.classifiers.from_callable(acid, n_classes=2),
    sc.Noise(carboxyl=0.1, amine=0.45, rest=0.45, between=0.1),
    regions=sc.regions.functional_groups("carboxyl/amine"),
)
problem = smoothed.problem([sc.Graph.from_smiles(SMILES)])
certificate = smoothed.certify(problem, samples=10_000, alpha=0.01, seed=1)[0]
print(certificate)

symbols = [atom.GetSymbol() for atom in Chem.MolFromSmiles(SMILES).GetAtoms()]
letters = ["" if symbol == "C" else symbol for symbol in symbols]
title = "EDTA: two acid groups at least"
draw("gallery_groups.png", problem.sites[0], certificate, title, names=letters)
