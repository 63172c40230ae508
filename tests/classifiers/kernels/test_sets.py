import random

import numpy as np

from starcert.classifiers.kernels.sets import FREE, insert_growing, remove_one


def table_of(elements, hashes):
    table, spare = np.full(4096, FREE), np.empty(4096, np.int64)
    mask = 7
    for used, element in enumerate(elements):
        mask = insert_growing(table, spare, mask, used, element, hashes)
    return table, mask


def test_sets_of_numbers_walk_as_in_python():
    random.seed(0)
    for _ in range(300):
        elements = random.sample(range(1000), random.randrange(200))
        table, mask = table_of(elements, np.arange(1000))
        built = set()
        for element in elements:
            built.add(element)
        assert [e for e in table[: mask + 1].tolist() if e >= 0] == list(built)


def test_sets_of_pairs_walk_as_in_python():
    random.seed(1)
    pairs = [(i, j) for i in range(30) for j in range(30)]
    hashes = np.array([hash(pair) for pair in pairs])
    for _ in range(100):
        chosen = random.sample(range(900), random.randrange(400))
        table, mask = table_of(chosen, hashes)
        assert [pairs[e] for e in table[: mask + 1].tolist() if e >= 0] == list({pairs[e] for e in chosen})


def test_differences_walk_as_in_python():
    random.seed(2)
    for _ in range(300):
        elements = sorted(random.sample(range(64), random.randrange(64)))
        table, mask = table_of(elements, np.arange(64))
        state = np.array([mask, len(elements), len(elements)])
        built = set(np.array(elements, dtype=np.int64))
        for gone in range(64):
            remove_one(table, np.empty(4096, np.int64), state, gone)
            built = built - {gone}
            assert [e for e in table[: state[0] + 1].tolist() if e >= 0] == [int(e) for e in built]
            assert state[1] == len(built)
