"""Nodes of a citation network: what is a paper about?"""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from picture import draw

import starcert as sc

data = sc.datasets.npz(Path(os.environ["STARCERT_DATA"], "cora_ml.npz"), largest_component=True)
topics = [name.rpartition("/")[2].replace("_", " ") for name in data.label_names]
words = np.asarray(data.graph.node_data["x"])
frequent = words[:, np.argsort(-words.sum(axis=0), kind="stable")[:200]]
papers = sc.Graph(len(words), data.graph.edges, node_data={"x": frequent})
part = np.random.default_rng(0).permutation(len(words)) % 10  # 0: to learn from, 1: to choose the epoch by
asked = np.flatnonzero(part > 1)

torch.manual_seed(0)
model = sc.models.NodeGCN(in_channels=200, n_classes=len(topics), hidden=32)
base = sc.classifiers.from_pyg(model, n_classes=len(topics), targets="nodes", nodes=asked)
noise = sc.Noise(links=sc.Flip(delete=0.3, add=0.0005))
smoothed = sc.SmoothedClassifier(base, noise)
sc.models.fit_nodes_with_noise(smoothed, papers, data.labels, train=part == 0, validation=part == 1, epochs=60)

print("Votes that one flip needs:", sc.metrics.votes_needed(noise, 0.01, len(topics)))
result = smoothed.certify([papers], samples=150, voting=sc.Voting(selection_samples=50), alpha=0.01, seed=1)
for links in range(3):
    share = result.certified_accuracy(data.labels, {"links.delete": links, "links.add": 0})
    print(f"Right, and certified if at most {links} links go: {share:.0%} of {len(asked):,} papers.")
one = result[asked.tolist().index(904)]
print(one)

near = nx.convert_node_labels_to_integers(
    nx.ego_graph(nx.Graph(papers.edges.tolist()), 904, 2), label_attribute="paper"
)
sites = sc.Partition.everything("links").sites(sc.Graph(len(near), near.edges))
places = [paper for _, paper in near.nodes(data="paper")]
names = ["paper 904" if paper == 904 else "" for paper in places]
kinds = [topics[data.labels[paper]] for paper in places]
title = f"Paper 904 and two steps around it: {topics[one.label]}"
draw("gallery_citations.png", sites, one, title, names=names, kinds=kinds)
