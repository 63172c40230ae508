"""Matrices that are scaled in one pass on a device are those of torch's own steps."""

import pytest
import torch

from device_worlds import CUDA
from starcert.classifiers.scaling import MOST_NODES, can_scale, scaled

pytestmark = CUDA


@pytest.mark.parametrize(("copies", "n"), [(1, 1), (3, 2), (20_000, 18), (777, 33), (100, 100), (5, MOST_NODES)])
def test_they_are_divided_by_the_roots_of_degrees(copies, n):
    torch.manual_seed(n)
    adjacency = (torch.rand(copies, n, n, device="cuda") < 0.3).float()
    adjacency.diagonal(dim1=1, dim2=2).zero_()
    assert can_scale(adjacency)
    with_loops = adjacency + torch.eye(n, device="cuda")
    roots = with_loops.sum(dim=2).double().rsqrt()
    torch.testing.assert_close(scaled(adjacency).double(), with_loops * roots.unsqueeze(1) * roots.unsqueeze(2))
    assert torch.equal(scaled(adjacency), scaled(adjacency))


def test_what_it_is_not_for():
    assert not can_scale(torch.zeros(2, 3, 3))
    assert not can_scale(torch.zeros(2, 3, 3, device="cuda", dtype=torch.float64))
    assert not can_scale(torch.zeros(2, MOST_NODES + 1, MOST_NODES + 1, device="cuda"))
