"""What the tests of the store share: settings, graphs, votes that a run would have given, and processes."""

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np

from starcert.math.ballots import Ballots
from starcert.voting import PURPOSES
from starcert.voting.store import GraphRecord, VoteSettings, VoteStore

SETTINGS = VoteSettings(
    noise={"motif": 0.1 + 0.2, "bonds": {"delete": 0.04, "add": 1e-100}},
    classifier="a graph network, “seed 3”",
    n_classes=3,
    seed=2**100 + 1,
    chunk_size=1000,
    backend="cpu",
)
SITES = 403
AXES = [range(5), range(5, SITES)]
ATTACKS = [3], [0, 19]


def graphs_of(number):
    return [GraphRecord(i, f"key{i}", f"sites{i}", {"motif": i, "bonds.add": 7}, "", f"g{i}") for i in range(number)]


def votes_of(graph, purpose, chunk):
    """What a deterministic classifier would have answered."""
    rng = random.Random(f"{graph} {purpose} {chunk}")
    first = rng.randint(0, 1000)
    second = rng.randint(0, 1000 - first)
    return [first, second, 1000 - first - second]


def fill(store, chunks):
    for graph in range(len(store.graphs)):
        for purpose in PURPOSES:
            for chunk in range(chunks):
                store.add(graph, purpose, chunk, votes_of(graph, purpose, chunk), samples=1000)


def flips_of(graph, chunk, label=0):
    """Which of 403 sites flipped in the votes against a class, drawn by dice: few in odd chunks, many in even ones."""
    votes = votes_of(graph, "estimation", chunk)
    classes = np.repeat([0, 1, 2], votes)
    classes = classes[classes != label]
    rng = np.random.default_rng([graph, chunk, label])
    flips = rng.random((len(classes), SITES)) < (0.01 if chunk % 2 else 0.5)
    return Ballots.of_chunk([label], SITES, 1000, classes[:, None], [np.packbits(flips, axis=1, bitorder="little")])


def fill_evidence(store, chunks):
    """Records for the first graphs, the last one's only by numbers, and votes at two attacked graphs."""
    for graph in range(len(store.graphs)):
        for chunk in range(chunks):
            record = flips_of(graph, chunk)
            record = record.by_numbers(AXES) if graph == len(store.graphs) - 1 else record
            votes = votes_of(graph, "estimation", chunk)
            store.add(graph, "estimation", chunk, votes, samples=1000, ballots=record)
            for positions in ATTACKS:
                store.add_attack(graph, positions, chunk, votes[::-1])


def opened(path, n_graphs=3, settings=SETTINGS):
    return VoteStore.open(path, settings, graphs_of(n_graphs))


def everything(store):
    """All that a store says, in a form that can be compared."""
    places = [(graph, purpose) for graph in range(len(store.graphs)) for purpose in PURPOSES]
    votes = [[(c, n, v.tolist()) for c, n, v in store.tallies(*place)] for place in places]
    for graph in range(len(store.graphs)):
        for chunk, record in store.ballots(graph).items():
            votes.append([chunk, {name: array.tolist() for name, array in record.to_arrays().items()}])
        chunks = [store.attack_chunks(graph, attack) for attack in ATTACKS]
        votes += [[(c, v.tolist(), k.tolist()) for c, v, k in each] for each in chunks]
    return store.settings, store.graphs, store.sessions, votes


def done(store, graph, purpose):
    """How many samples each stored chunk has."""
    return {chunk: samples for chunk, samples, _ in store.tallies(graph, purpose)}


def edit(path, *statements):
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
        db.commit()


CHILD = """
import sys
sys.path.insert(0, {tests!r})
import store_worlds
from pathlib import Path
path = Path({path!r})
"""


def child(path, code, **options):
    """A process of its own that runs some code on the store at `path`."""
    head = CHILD.format(tests=os.path.dirname(__file__), path=str(path))
    return subprocess.Popen([sys.executable, "-c", head + code], **options)


def go_on(store, chunks):
    """What the killed process does: adds what is missing, and commits often."""
    places = [(graph, purpose) for graph in range(len(store.graphs)) for purpose in PURPOSES]
    stored = {place: done(store, *place) for place in places}
    for chunk in range(chunks):
        for place in places:
            if chunk not in stored[place]:
                store.add(*place, chunk, votes_of(*place, chunk), samples=1000)
        if chunk % 3 == 0:
            store.flush()


def check_votes(store):
    """The number of stored chunks, each of which is right."""
    number = 0
    for graph in range(len(store.graphs)):
        for purpose in PURPOSES:
            for chunk, samples, votes in store.tallies(graph, purpose):
                assert (samples, votes.tolist()) == (1000, [votes_of(graph, purpose, chunk)])
                number += 1
    assert number == sum(store.n_chunks.values())
    return number
