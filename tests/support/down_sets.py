"""Down-sets of radii, looked at as plainly as possible: every radius of the box."""

from itertools import product


def below(radius, maximal):
    return all(r <= m for r, m in zip(radius, maximal, strict=True))


def brute_force(certified, limits):
    """Maximal certified and minimal other radii of a box, by looking at all of it."""
    box = list(product(*(range(limit + 1) for limit in limits)))
    good = {radius for radius in box if certified(radius)}
    bad = [radius for radius in box if radius not in good]

    def one(axis, by, radius):
        return (*radius[:axis], radius[axis] + by, *radius[axis + 1 :])

    axes = range(len(limits))
    assert all(one(axis, -1, r) in good for r in good for axis in axes if r[axis]), "not a down-set"
    maximal = [r for r in good if not any(one(axis, 1, r) in good for axis in axes)]
    minimal = [r for r in bad if all(one(axis, -1, r) in good for axis in axes if r[axis])]
    return sorted(maximal), sorted(minimal)
