"""What the hardware allows, measured in the same run: random numbers, a plain copy, a matrix product.

A floor is the time of work that nobody gets around: the random bits of a noisy copy, the bytes that a layer reads and
writes, the multiply-adds of a model. The rates are those of the plainest code there is for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from starcert.sampling.streams import fill
from table import best


def random_word() -> float:
    """Seconds for 64 random bits on one core, compiled."""
    state, words = np.random.SFC64(1).state["state"]["state"], np.empty(2**14, dtype=np.uint64)  # in cache
    return best(lambda: [fill(state, words) for _ in range(64)], 64 * words.size)


@dataclass(frozen=True)
class Rates:
    """What a device does in a second.

    Attributes:
        bytes: read or written, by a copy that is larger than all caches.
        multiply_adds: of a product of large matrices of single floats.
        random_numbers: of 64 bits, written.
    """

    bytes: float
    multiply_adds: float
    random_numbers: float

    @classmethod
    def measured(cls, device: str, *, size: int = 4096) -> Rates:
        """The rates of a device of torch's; on a CPU with as many threads as torch has now.

        Args:
            device: as torch names it.
            size: rows and columns of the matrices.
        """
        import torch  # noqa: PLC0415  (some benchmarks need none)

        def finished(work: Callable[[], object]) -> Callable[[], None]:
            def both() -> None:
                work()
                if torch.device(device).type == "cuda":
                    torch.cuda.synchronize()

            return both

        matrix = torch.rand((size, size), device=device)
        source = torch.zeros(16 * size * size, dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        numbers = torch.empty(size * size, dtype=torch.int64, device=device)
        out = torch.empty_like(matrix)
        generator = torch.Generator(device=device)
        times = (
            best(finished(lambda: target.copy_(source)), repetitions=7),
            best(finished(lambda: torch.mm(matrix, matrix, out=out)), repetitions=7),
            best(finished(lambda: numbers.random_(generator=generator)), repetitions=7),
        )
        return cls(2 * source.numel() / times[0], size**3 / times[1], numbers.numel() / times[2])

    def floor(self, load: Load) -> float:
        """The time of a load: moving and multiplying go on at once, and the slower of them decides."""
        return max(load.bytes / self.bytes, load.multiply_adds / self.multiply_adds)

    def words(self) -> dict[str, str]:
        """The rates in words."""
        return {
            "copy": f"{self.bytes / 1e9:.1f} GB/s",
            "matrix product": f"{self.multiply_adds / 1e9:,.0f} · 10⁹ multiply-adds/s",
            "random numbers": f"{self.random_numbers / 1e9:.2f} · 10⁹/s",
        }


@dataclass(frozen=True)
class Load:
    """What one vote moves and multiplies, by hand formula."""

    bytes: float
    multiply_adds: float


FLOAT, INDEX, BIT = 4, 4, 1
"""Bytes of a number, of an index, and of a noisy bit as it is drawn."""


def dense_gcn(nodes: int, sites: int, *, hidden: int = 64, classes: int = 2) -> Load:
    """One graph convolution on dense adjacency: matrices written and read once, their product, its maximum.

    x · W is the same for all copies, and is left out.
    """
    return Load(
        bytes=BIT * sites + 2 * FLOAT * nodes**2 + 2 * FLOAT * nodes * hidden + FLOAT * classes,
        multiply_adds=nodes**2 * hidden + hidden * classes,
    )


def sparse_gcn(nodes: int, sites: int, edges: float, *, hidden: int = 64, classes: int = 2) -> Load:
    """One graph convolution on a list of edges: the list written and read once, sums of rows that all copies share."""
    arcs = 2 * edges + nodes
    return Load(
        bytes=BIT * sites + 2 * 2 * INDEX * arcs + 2 * FLOAT * nodes * hidden + FLOAT * classes,
        multiply_adds=arcs * hidden + hidden * classes,
    )


def gin(
    nodes: int, sites: int, edges: float, *, layers: int = 3, inputs: int = 7, hidden: int = 64, classes: int = 2
) -> Load:
    """Layers of GIN, each with two linear maps: every product reads its input and writes its output once."""
    arcs = 2 * edges
    moved, multiplied = float(BIT * sites + 2 * INDEX * arcs), 0.0
    for width in (inputs, *[hidden] * (layers - 1)):
        moved += INDEX * (arcs + nodes) + FLOAT * nodes * (2 * width + width + hidden + 2 * hidden)
        multiplied += arcs * width + nodes * (width * hidden + hidden * hidden)
    return Load(moved + FLOAT * (nodes * hidden + classes), multiplied + nodes * hidden + hidden * classes)


def edges_left(pairs: int, edges: int, delete: float, add: float) -> float:
    """How many edges a noisy copy has on average."""
    return edges * (1 - delete) + (pairs - edges) * add
