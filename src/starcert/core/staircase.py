"""How far one axis is certified, and the staircase of two: a search that walks along the border.

Certified counts have no gaps, so doubling and bisection find the last one. On two axes, the *height* of a count on the
shorter axis is the largest certified count on the other one. Heights fall, so each search starts where the one before
ended: two axes cost about R1 + R2 + 1 evaluations.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["climb", "staircase"]


def climb(certified: Callable[[int], bool], limit: int) -> int:
    """The largest certified count up to `limit`, zero being certified: doubling, then bisection.

    Example:
        >>> climb(lambda count: count <= 37, 10**9)
        37
    """
    good, step = 0, 1
    while good < limit:
        probe = min(good + step, limit)
        if not certified(probe):
            return _bisect(certified, good, probe)
        good, step = probe, 2 * step
    return good


def staircase(
    certified: Callable[[tuple[int, ...]], bool], reaches: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Maximal certified and minimal other radii of a box with at most two axes, each certified alone as far as it goes.

    Example:
        >>> staircase(lambda radius: 3 * radius[0] + radius[1] <= 8, (2, 8))
        ([(0, 8), (1, 5), (2, 2)], [(1, 6), (2, 3)])
    """
    if len(reaches) < 2:
        return [reaches], []
    long = 0 if reaches[0] >= reaches[1] else 1

    def radius(count: int, height: int) -> tuple[int, ...]:
        return (height, count) if long == 0 else (count, height)

    maximal, minimal = [], []
    height = reaches[long]
    for count in range(1, reaches[1 - long] + 1):
        lower = _descend(lambda probe, count=count: certified(radius(count, probe)), height)  # type: ignore[misc]
        if lower < height:
            maximal.append(radius(count - 1, height))
            minimal.append(radius(count, lower + 1))
        height = lower
    maximal.append(radius(reaches[1 - long], height))
    return maximal, minimal


def _descend(certified: Callable[[int], bool], bound: int) -> int:
    """The largest certified count up to `bound`, zero being certified: usually it is `bound` or just below."""
    bad, step = bound + 1, 1
    while bad > 1:
        probe = max(bad - step, 0)
        if probe == 0 or certified(probe):
            return _bisect(certified, probe, bad)
        bad, step = probe, 2 * step
    return 0


def _bisect(certified: Callable[[int], bool], good: int, bad: int) -> int:
    while bad - good > 1:
        middle = (good + bad) // 2
        if certified(middle):
            good = middle
        else:
            bad = middle
    return good
