"""Adjacency matrices with loops, divided by the roots of the degrees of both ends, in one pass on CUDA.

In steps of torch they are read and written four times, which takes as long as the products with them. Here a warp has a
matrix to itself. Degrees are whole numbers, which floats add exactly in any order.
"""

from __future__ import annotations

import torch

from starcert.system.cuda_code import CudaFunction, cuda_function

__all__ = ["MOST_NODES", "can_scale", "scaled"]

MOST_NODES = 512
"""The degrees of so many nodes are kept for each matrix."""

WARPS = 4
"""Matrices of a block at a time."""

BLOCKS = 4224
"""Blocks, at most; each goes on with further matrices."""

_SOURCE = (
    f"""
#define WARPS {WARPS}
#define MOST_NODES {MOST_NODES}
"""
    + """
extern "C" __global__ void scaled(const float* adjacency, float* found, int copies, int n) {
  __shared__ float degrees[WARPS][MOST_NODES];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* degree = degrees[warp];
  for (int copy = blockIdx.x * WARPS + warp; copy < copies; copy += gridDim.x * WARPS) {
    const long long first = (long long)copy * n * n;
    for (int v = lane; v < n; v += 32) degree[v] = 1.0f;
    __syncwarp();
    for (int place = lane, v = 0, u = lane; place < n * n; place += 32, u += 32) {
      while (u >= n) { u -= n; v++; }
      const float entry = adjacency[first + place];
      if (entry != 0.0f) atomicAdd(&degree[v], entry);
    }
    __syncwarp();
    for (int v = lane; v < n; v += 32) degree[v] = rsqrtf(degree[v]);
    __syncwarp();
    for (int place = lane, v = 0, u = lane; place < n * n; place += 32, u += 32) {
      while (u >= n) { u -= n; v++; }
      const float entry = u == v ? 1.0f : adjacency[first + place];
      found[first + place] = entry * degree[u] * degree[v];
    }
    __syncwarp();
  }
}
"""
)


def can_scale(adjacency: torch.Tensor) -> bool:
    """Whether it can be done for these matrices, shape (copies, nodes, nodes)."""
    return (
        adjacency.is_cuda
        and adjacency.dtype == torch.float32
        and 0 < adjacency.shape[1] <= MOST_NODES
        and 0 < adjacency.shape[0] < 2**31
        and _function(adjacency.device) is not None
    )


def scaled(adjacency: torch.Tensor) -> torch.Tensor:
    """(A + I)_vu / √(d_v d_u) for zeros and ones A without loops; d_v is one more than the ones in row v."""
    copies, n = adjacency.shape[:2]
    found = torch.empty(adjacency.shape, dtype=adjacency.dtype, device=adjacency.device)
    blocks = min(-(-copies // WARPS), BLOCKS), 1
    function = _function(adjacency.device)
    assert function is not None  # see `can_scale`
    function(blocks, 32 * WARPS, [adjacency.contiguous(), found, copies, n])
    return found


def _function(device: torch.device) -> CudaFunction | None:
    return cuda_function(_SOURCE, "scaled", device)
