"""A graph convolution and its largest values over nodes in one pass, on CUDA: nothing is written in between.

On dense adjacency a graph convolution of many copies moves far more numbers than it computes: scaled matrices, and the
units of every node, of which only the largest are kept. Here a warp has a copy to itself. It keeps its matrix in shared
memory and the features in registers, and writes one row. Sums run over nodes in their order, so that the same matrices
give the same numbers.
"""

from __future__ import annotations

import torch

from starcert.system.cuda_code import CudaFunction, cuda_function

__all__ = ["MOST_NODES", "can_fuse", "pooled_units"]

MOST_NODES = 32
"""A lane of the warp for each node."""

WARPS = 4
"""Copies of a block at a time."""

RESIDENT = 4
"""Blocks that a multiprocessor shall hold at once: what they need of registers is kept down to that."""

UNITS = 64
"""Units of a block: two for each lane."""

BLOCKS = 2112
"""Blocks, at most; each goes on with further copies."""

_SOURCE = (
    f"""
#define WARPS {WARPS}
#define UNITS {UNITS}
#define RESIDENT {RESIDENT}
"""
    + """
__device__ __forceinline__ void read(float (&column)[32], const float* adjacency, int copy, int n, int lane) {
  const float* entries = adjacency + (long long)copy * n * n;
  #pragma unroll
  for (int v = 0; v < 32; v++) column[v] = v < n && lane < n ? entries[v * n + lane] : 0.0f;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT) pooled_units(
    const float* adjacency, const float* mixed, const float* bias, float* pooled, int copies, int n, int units
) {
  __shared__ __align__(16) float matrices[WARPS][32][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int one = blockIdx.y * UNITS + lane, other = one + 32;
  float (*matrix)[32] = matrices[warp];
  float of_one[32], of_other[32];
  #pragma unroll
  for (int u = 0; u < 32; u++) {
    of_one[u] = u < n && one < units ? mixed[u * units + one] : 0.0f;
    of_other[u] = u < n && other < units ? mixed[u * units + other] : 0.0f;
  }
  const float bias_one = one < units ? bias[one] : 0.0f, bias_other = other < units ? bias[other] : 0.0f;
  int copy = blockIdx.x * WARPS + warp;
  float column[32];
  if (copy < copies) read(column, adjacency, copy, n, lane);
  while (copy < copies) {
    #pragma unroll
    for (int v = 0; v < 32; v++) if (v < n) matrix[v][lane] = column[v];
    __syncwarp();
    float degree = 1.0f;
    #pragma unroll
    for (int u = 0; u < 32; u++) degree += lane < n ? matrix[lane][(u + lane) % 32] : 0.0f;
    __syncwarp();
    const float scale = rsqrtf(degree);
    #pragma unroll
    for (int v = 0; v < 32; v++) if (v < n) matrix[v][lane] = v == lane ? scale : column[v] * scale;
    __syncwarp();
    float* row = pooled + (long long)copy * units;
    copy += gridDim.x * WARPS;
    if (copy < copies) read(column, adjacency, copy, n, lane);  // on its way while this one is worked on
    float top_one = -__int_as_float(0x7f800000), top_other = top_one;
    for (int v = 0; v < n; v++) {
      float sum_one = 0.0f, sum_other = 0.0f;
      #pragma unroll
      for (int u = 0; u < 32; u += 4) {
        if (u < n) {
          const float4 four = *(const float4*)&matrix[v][u];
          sum_one += four.x * of_one[u];
          sum_one += four.y * of_one[u + 1];
          sum_one += four.z * of_one[u + 2];
          sum_one += four.w * of_one[u + 3];
          sum_other += four.x * of_other[u];
          sum_other += four.y * of_other[u + 1];
          sum_other += four.z * of_other[u + 2];
          sum_other += four.w * of_other[u + 3];
        }
      }
      const float own = __shfl_sync(~0u, scale, v);
      sum_one *= own;
      sum_other *= own;
      if (sum_one > top_one || sum_one != sum_one) top_one = sum_one;
      if (sum_other > top_other || sum_other != sum_other) top_other = sum_other;
    }
    const float unit_one = top_one + bias_one, unit_other = top_other + bias_other;
    if (one < units) row[one] = unit_one < 0.0f ? 0.0f : unit_one;
    if (other < units) row[other] = unit_other < 0.0f ? 0.0f : unit_other;
    __syncwarp();
  }
}
"""
)
"""What is not a number stays so, as torch has it."""


def can_fuse(x: torch.Tensor, adjacency: torch.Tensor) -> bool:
    """Whether it can be done for these features and matrices: single floats that all copies share, few nodes, CUDA."""
    return (
        adjacency.is_cuda
        and adjacency.dtype == x.dtype == torch.float32
        and x.dim() == 2
        and 0 < adjacency.shape[1] <= MOST_NODES
        and 0 < adjacency.shape[0] < 2**31
        and not torch.is_grad_enabled()
        and _function(adjacency.device) is not None
    )


def pooled_units(adjacency: torch.Tensor, mixed: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The largest unit over the nodes of each copy, or 0 if that is larger: max over v of relu(Â x W + b)_v.

    Args:
        adjacency: shape (copies, nodes, nodes).
        mixed: x W, shape (nodes, units).
        bias: b.
    """
    copies, n = adjacency.shape[:2]
    units = mixed.shape[1]
    pooled = adjacency.new_empty((copies, units))
    blocks = min(-(-copies // WARPS), BLOCKS), -(-units // UNITS)
    arguments: list[torch.Tensor | int] = [adjacency.contiguous(), mixed.contiguous(), bias, pooled, copies, n, units]
    function = _function(adjacency.device)
    assert function is not None  # see `can_fuse`
    function(blocks, 32 * WARPS, arguments)
    return pooled


def _function(device: torch.device) -> CudaFunction | None:
    return cuda_function(_SOURCE, "pooled_units", device)
