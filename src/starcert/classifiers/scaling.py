"""Adjacency matrices with loops, divided by the roots of the degrees of both ends, in one pass on CUDA.

In steps of torch they are read and written four times, which takes as long as the products with them. Here a warp has a
matrix to itself. Degrees are whole numbers, which floats add exactly in any order.
"""

from __future__ import annotations

from functools import cache

import torch

from starcert.models.cuda_code import CudaFunction, can_compile

__all__ = ["MOST_NODES", "can_scale", "scaled"]

MOST_NODES = 512
"""The degrees of so many nodes are kept for each matrix."""

WARPS = 4
"""Matrices of a block at a time."""

BLOCKS = 4224
"""Blocks, at most; each goes on with further matrices."""

HELD = 32
"""Entries of a matrix that a lane keeps, so that they are on their way together; it reads further ones twice."""

_SOURCE = """
extern "C" __global__ void scaled(const float* adjacency, float* found, int copies, int n) {
  __shared__ float degrees[WARPS][MOST_NODES];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, size = n * n;
  float* degree = degrees[warp];
  for (int copy = blockIdx.x * WARPS + warp; copy < copies; copy += gridDim.x * WARPS) {
    const float* entries = adjacency + (long long)copy * size;
    float* results = found + (long long)copy * size;
    float held[HELD];
    #pragma unroll
    for (int k = 0; k < HELD; k++) held[k] = lane + 32 * k < size ? entries[lane + 32 * k] : 0.0f;
    for (int v = lane; v < n; v += 32) degree[v] = 1.0f;
    __syncwarp();
    #pragma unroll
    for (int k = 0; k < HELD; k++) if (held[k] != 0.0f) atomicAdd(&degree[(lane + 32 * k) / n], held[k]);
    for (int place = lane + 32 * HELD; place < size; place += 32) {
      const float entry = entries[place];
      if (entry != 0.0f) atomicAdd(&degree[place / n], entry);
    }
    __syncwarp();
    for (int v = lane; v < n; v += 32) degree[v] = rsqrtf(degree[v]);
    __syncwarp();
    #pragma unroll
    for (int k = 0; k < HELD; k++) {
      const int place = lane + 32 * k, v = place / n, u = place - v * n;
      if (place < size) results[place] = (u == v ? 1.0f : held[k]) * degree[u] * degree[v];
    }
    for (int place = lane + 32 * HELD; place < size; place += 32) {
      const int v = place / n, u = place - v * n;
      results[place] = (u == v ? 1.0f : entries[place]) * degree[u] * degree[v];
    }
    __syncwarp();
  }
}
"""


def can_scale(adjacency: torch.Tensor) -> bool:
    """Whether it can be done for these matrices, shape (copies, nodes, nodes)."""
    return (
        adjacency.is_cuda
        and adjacency.dtype == torch.float32
        and 0 < adjacency.shape[1] <= MOST_NODES
        and 0 < adjacency.shape[0] < 2**31
        and can_compile()
    )


def scaled(adjacency: torch.Tensor) -> torch.Tensor:
    """(A + I)_vu / √(d_v d_u) for zeros and ones A without loops; d_v is one more than the ones in row v."""
    copies, n = adjacency.shape[:2]
    found = torch.empty(adjacency.shape, dtype=adjacency.dtype, device=adjacency.device)
    blocks = min(-(-copies // WARPS), BLOCKS), 1
    _function(adjacency.device)(blocks, 32 * WARPS, [adjacency.contiguous(), found, copies, n])
    return found


@cache
def _function(device: torch.device) -> CudaFunction:
    source = _SOURCE
    for name, number in (("WARPS", WARPS), ("MOST_NODES", MOST_NODES), ("HELD", HELD)):
        source = source.replace(name, str(number))
    return CudaFunction(source, "scaled", device)
