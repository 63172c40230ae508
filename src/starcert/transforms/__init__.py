"""The noise, for training on copies like those that smoothing classifies.

`AddNoise` is a transform of PyTorch Geometric, imported on first use; `noisy_rows` draws copies of plain vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.objects import Numbered, Sites, Vector
from starcert.objects.binding import Problem, Regions, bind_all, check_noise_and_regions
from starcert.objects.content import digest
from starcert.objects.vectors import join_rows, matrix_of
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import InvalidParameterError, whole_number

if TYPE_CHECKING:
    from starcert.objects.noise import Noise
    from starcert.transforms.graphs import AddNoise

__all__ = ["AddNoise", "noisy_rows"]


def __getattr__(name: str) -> object:
    if name != "AddNoise":
        raise AttributeError(f"module 'starcert.transforms' has no attribute {name!r}")
    return import_module("starcert.transforms.graphs").AddNoise


def __dir__() -> list[str]:
    return sorted(__all__)


def noisy_rows(
    rows: Sequence[Vector], noise: Noise, regions: Regions | None = None, *, seed: int, copies: int = 1
) -> npt.NDArray[np.int64]:
    """Noisy copies of every row, as an array to train on.

    They are drawn from the very law that `SmoothedClassifier` smooths with, by the same sampler. Give every epoch a
    seed of its own, or draw the copies of several at once.

    Args:
        rows: `Bits` or `Categories`, all with the same columns.
        noise: a law for every region.
        regions: where the regions are, as for `SmoothedClassifier`.
        seed: a whole number, 0 or more. The same seed, rows and noise give the same copies, to the bit.
        copies: how many copies there are of each row.

    Returns:
        Shape (copies · rows, columns): a copy of every row in their order, then another of each, and so on. Their
        labels are `numpy.tile(labels, copies)`.

    Example:
        >>> import starcert as sc
        >>> rows = sc.Bits.rows([[0, 1, 1], [1, 1, 0]])
        >>> noisy_rows(rows, sc.Noise(first=1.0, last=0.0), {"first": [0], "last": [1, 2]}, seed=1).tolist()
        [[1, 1, 1], [0, 1, 0]]
    """
    check_noise_and_regions(noise, regions)
    whole_number("seed", seed, 0)
    whole_number("copies", copies, 1)
    if not len(rows):
        raise InvalidParameterError("rows", "hold at least one row", rows)
    matrix = matrix_of(rows)
    problem = bind_all(rows, noise, regions)
    side_by_side = _side_by_side(problem, rows)
    stream = WordStream.of_chunk(seed, digest("noisy rows", side_by_side.clean.key), "training", 0)
    drawn: npt.NDArray[np.uint8] = sampler(side_by_side, problem.noise).draw(stream, copies).vectors()
    return drawn.reshape(copies * len(rows), matrix.shape[1]).astype(np.int64)


def _side_by_side(problem: Problem, rows: Sequence[Vector]) -> Sites:
    """The sites of all rows as those of a single long one: each region is where it is in every row."""
    clean = join_rows(rows)
    (layer,) = clean.layers
    blocks = []
    for region in problem.noise:
        found = []
        for number, sites in enumerate(problem.sites):
            block = sites.blocks[sites.regions.index(region)]
            (columns,) = block.coordinates(np.arange(block.size))
            found.append(number * len(rows[0]) + columns)
        blocks.append(Numbered(layer, np.concatenate(found)))
    return Sites(clean, tuple(problem.noise), tuple(blocks))
