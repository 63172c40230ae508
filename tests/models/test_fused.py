"""What is done in one pass is what is done step by step: the network in double floats is the oracle."""

from copy import deepcopy

import pytest
from device_worlds import CUDA, torch

fused = pytest.importorskip("starcert.models.fused")
gcn = pytest.importorskip("starcert.models.networks")

ROUNDING = 64 * 2.0**-23


def worlds(n: int, copies: int = 300, *, width: int = 7):
    generator = torch.Generator().manual_seed(n)
    upper = (torch.rand((copies, n, n), generator=generator) < 0.3).float().triu(1)
    return torch.randn((n, width), generator=generator), upper + upper.transpose(1, 2)


def network(hidden: int = 64):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(hidden)
        model = gcn.GCN(7, 3, hidden=hidden).eval()
        torch.nn.init.normal_(model.convs[0].bias)
    return model


def test_only_what_it_was_written_for_is_fused():
    x, adjacency = worlds(5)
    with torch.no_grad():
        assert not fused.can_fuse(x, adjacency)  # on a CPU


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=CUDA)])
@pytest.mark.parametrize("hidden", [1, 16, 33, 64, 200])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 12, 17, 18, 28, 31, 32])
def test_logits_are_those_of_the_steps(n, hidden, device):
    model = network(hidden)
    x, adjacency = worlds(n)
    adjacency[0] = 0
    adjacency[1] = 1 - torch.eye(n)
    adjacency[2] += torch.eye(n)
    adjacency[3] *= 0.5
    there = deepcopy(model).to(device).dense()
    with torch.no_grad():
        exact = model.double().dense()(x.double(), adjacency.double())
        assert fused.can_fuse(x.to(device), adjacency.to(device))
        found = there(x.to(device), adjacency.to(device))
    assert (found.cpu() - exact).abs().max() <= ROUNDING * exact.abs().max()


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=CUDA)])
def test_many_copies_and_what_is_no_number(device):
    there = network().to(device).dense()
    x, adjacency = (part.to(device) for part in worlds(6, 70_000))
    mixed, bias = torch.randn((6, 20), device=device), torch.randn(20, device=device)
    found = fused.pooled_units(adjacency, mixed, bias)
    assert torch.equal(found[-301:], fused.pooled_units(adjacency[-301:], mixed, bias))  # whatever lies beside a copy
    with torch.no_grad():
        x[2] = float("nan")
        assert there(x, adjacency[:50]).isnan().all()


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=CUDA)])
def test_where_it_does_not_fit_the_steps_are_taken(device):
    x, adjacency = (part.to(device) for part in worlds(8))
    assert not fused.can_fuse(x, adjacency)  # gradients may be asked for
    with torch.no_grad():
        assert not fused.can_fuse(x.double(), adjacency.double())
        assert not fused.can_fuse(x.expand(300, 8, 7), adjacency)
        assert not fused.can_fuse(x, adjacency[:0])
        assert not fused.can_fuse(*(part.to(device) for part in worlds(33, 2)))
    logits = network().to(device).dense()(x, adjacency)
    logits.sum().backward()


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=CUDA)])
def test_a_compiler_that_fails_is_not_needed(device, monkeypatch):
    x, adjacency = (part.to(device) for part in worlds(8))
    there = network().to(device).dense()
    with torch.no_grad():
        expected = there(x, adjacency)
        monkeypatch.setattr(fused, "_SOURCE", "no CUDA")
        assert not fused.can_fuse(x, adjacency)
        torch.testing.assert_close(there(x, adjacency), expected)
