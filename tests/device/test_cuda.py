"""A device gives the answers, the noise and the flips that it should. Where there is none, the CPU stands in.

What is marked `cuda` needs a device and is skipped without: `make test-gpu` runs it.
"""

import math
from copy import deepcopy
from dataclasses import asdict

import numpy as np
import pytest
import worlds
from device_worlds import CUDA, DEVICES, chain, clean_bits, torch, web
from scipy.stats import binom, chi2

import starcert as sc
from starcert.sampling import attacked
from starcert.sampling.draws import Method
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, Job, Recorded

pytest.importorskip("torch_geometric")

from pyg_layers import with_pyg_layers
from starcert.classifiers.torch import from_dense, from_pyg
from starcert.models.networks import GCN

SPARSE = {n: sc.Noise(bonds=sc.Flip(delete=0.04, add=1 / n)) for n in (40, 100, 300)}
DENSE = sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2))
LARGE = sc.Noise(bonds=sc.Flip(delete=0.04, add=1e-7))
ROUNDING = 256 * 2.0**-23
"""Logits of single floats differ by so much at most, relative to the largest: sums have other orders elsewhere."""

pytestmark = pytest.mark.filterwarnings("default")  # of torch's, which differ from device to device


def network(conv: str, graph: sc.Graph, noise: sc.Noise, device: str = "cpu") -> GCN:
    """A network that answers class 0 on about seven noisy copies in ten, the same on every device."""
    torch.manual_seed(1)
    model = GCN(7, 2, **{"gcn": {}, "gin": {"layers": 3, "conv": "gin", "pooling": "sum"}}[conv]).eval()
    logits = from_pyg(model, n_classes=2).logits(drawn(graph, noise, "cpu", 256 if graph.n_nodes <= 1000 else 16))
    with torch.no_grad():
        model.linear.bias[0] -= (logits[:, 0] - logits[:, 1]).quantile(0.3)
    return model.to(device)


def sites_of(graph: sc.Graph):
    return sc.Partition.everything("bonds").sites(graph)


def drawn(graph: sc.Graph, noise: sc.Noise, device: str, samples: int, number: int = 0):
    """Noisy copies, from the sampler that votes on this device come from."""
    base = from_pyg(GCN(7, 2).to(device), n_classes=2)
    stream = WordStream.of_chunk(1, graph.key, "estimation", number)
    return sampler(sites_of(graph), noise, str(base.device)).draw(stream, samples)


def job_of(base, graph: sc.Graph, noise: sc.Noise, chunk_size: int) -> Job:
    return Job(base, sc.Problem(noise, (sites_of(graph),)), seed=1, chunk_size=chunk_size)


@pytest.mark.parametrize(
    ("source", "device"), [("here", "cpu"), *(pytest.param(each, "cuda", marks=CUDA) for each in ("here", "there"))]
)
@pytest.mark.parametrize(
    ("conv", "n", "noise"), [("gcn", 18, DENSE), ("gin", 18, DENSE), ("gin", 40, SPARSE[40]), ("gin", 100, SPARSE[100])]
)
def test_labels_agree_on_the_same_noisy_graphs(conv, n, noise, source, device):
    """CPU and device, any PyG module, own layers, dense: only what hangs by the last digits may differ."""
    graph = chain(n)
    copies = drawn(graph, noise, "cpu" if source == "here" else device, 1024)
    models = {place: network(conv, graph, noise, place) for place in {"cpu", device}}
    exact = from_pyg(deepcopy(models["cpu"]).double(), n_classes=2).logits(copies).numpy()  # up to sixteen digits
    margin, largest = np.abs(exact[:, 0] - exact[:, 1]), np.abs(exact).max()
    shares = (exact.argmax(axis=1) == 0).mean()
    assert 0.2 < shares < 0.95  # a constant would agree with anything
    ties = margin <= 2 * ROUNDING * largest
    for place, model in models.items():
        for way, base in (
            ("PyG", from_pyg(with_pyg_layers(model).to(place), n_classes=2)),
            ("own layers", from_pyg(model, n_classes=2)),
            ("dense", from_dense(model.dense(), n_classes=2)),
        ):
            logits = base.logits(copies).double().cpu().numpy()
            error = np.abs(logits - exact).max()
            assert error <= ROUNDING * largest, (place, way)
            apart = np.asarray(base.classify(copies)) != exact.argmax(axis=1)
            assert not (apart & ~ties).any(), (place, way)
    assert ties.mean() < 0.02


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("n", "noise", "samples"),
    [(18, DENSE, 20_000), (40, SPARSE[40], 8192), (100, SPARSE[100], 4096), (300, SPARSE[300], 1024)],
)
def test_noise_has_its_law(n, noise, samples, device):
    """χ² of the flips of every site, of the flips of whole copies, and of neighbouring copies and sites."""
    graph = chain(n)
    clean, law = clean_bits(sites_of(graph)), noise["bonds"]
    flips = drawn(graph, noise, device, samples).values != clean
    p = np.where(clean == 1, law.delete, law.add)
    by_site = (flips.sum(axis=0) - samples * p) ** 2 / (samples * p * (1 - p))
    assert 1e-6 < chi2.sf(by_site.sum(), len(p)) < 1 - 1e-6
    for kind in (0, 1):  # how many sites of a kind flip in a copy is binomial
        there = clean == kind
        size, chance = int(there.sum()), float(p[there][0])
        edges = np.unique(binom.ppf(np.linspace(0, 1, 12)[1:-1], size, chance))
        expected = samples * np.diff(binom.cdf(np.concatenate([[-1], edges, [size]]), size, chance))
        seen = np.histogram(flips[:, there].sum(axis=1), bins=np.concatenate([[-1], edges, [size]]) + 0.5)[0]
        assert seen.sum() == samples
        assert chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1) > 1e-6
    for one, other, chances in (
        (flips[1:], flips[:-1], p**2),
        (flips[:, 1:], flips[:, :-1], p[1:] * p[:-1]),
    ):
        both, mean = (one & other).sum(), chances.sum() * len(one)
        assert abs(both - mean) < 6 * math.sqrt(mean)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dense", [True, False])
def test_votes_are_equal_when_they_are_counted_again(dense, device):
    """Sums along edges in double precision, so that no answer hangs on their order."""
    graph, noise = chain(40), SPARSE[40]
    counts = []
    for _ in range(3):
        model = network("gin", graph, noise, device)
        base = from_dense(model.dense(), n_classes=2) if dense else from_pyg(model.double(), n_classes=2)
        smoothed = sc.SmoothedClassifier(base, noise)
        counts.append(smoothed.vote([graph], samples=4096, seed=3, voting=sc.Voting(chunk_size=2048)).counts.tolist())
    assert counts[0] == counts[1] == counts[2]
    assert min(counts[0][0]) > 100


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("n", "noise"), [(18, DENSE), (40, SPARSE[40]), (100, SPARSE[100]), (300, SPARSE[300])])
def test_recorded_flips_are_those_of_the_copies(n, noise, device):
    graph = chain(n)
    base = from_pyg(network("gcn", graph, noise, device), n_classes=2)
    job = job_of(base, graph, noise, 1024)
    tally = next(tallies(job, [Chunk(0, "estimation", 0, 1000, Recorded((0,)))]))
    plain = next(tallies(job, [Chunk(0, "estimation", 0, 1000)]))
    copies = drawn(graph, noise, device, 1024)[:1000]
    against = np.asarray(base.classify(copies)) != 0
    assert tally.counts.tolist() == plain.counts.tolist() == [[int((~against).sum()), int(against.sum())]]
    assert 50 < against.sum() < 700
    flips = copies.values[against] != clean_bits(job.sites[0])
    assert tally.ballots is not None
    np.testing.assert_array_equal(tally.ballots.matrix(np.arange(job.sites[0].n_sites)), flips)


@pytest.mark.parametrize("device", DEVICES)
def test_a_large_graph(device):
    """10,000 nodes and 30,000 edges: nobody draws its fifty million pairs one by one."""
    graph = web(10_000, 30_000)
    copies = drawn(graph, LARGE, device, 64)
    edges = copies.degrees().sum(axis=1) / 2
    mean, deviation = 30_000 * 0.96 + 49_965_000 * 1e-7, math.sqrt(30_000 * 0.96 * 0.04 + 5)
    assert (np.abs(edges - mean) < 6 * deviation).all()
    assert abs(edges.mean() - mean) < 6 * deviation / 8
    assert len(set(edges.tolist())) > 10
    base = from_pyg(network("gcn", graph, LARGE, device), n_classes=2)
    here = from_pyg(network("gcn", graph, LARGE), n_classes=2)
    few = copies[:8]
    ours, theirs = base.logits(few).double().cpu().numpy(), here.logits(few).double().numpy()
    assert np.abs(ours - theirs).max() <= ROUNDING * np.abs(theirs).max()
    job = job_of(base, graph, LARGE, 32)
    tally = next(tallies(job, [Chunk(0, "estimation", 0, 32)]))
    again = next(tallies(job, [Chunk(0, "estimation", 0, 32)]))
    assert tally.counts.sum() == 32
    assert tally.counts.tolist() == again.counts.tolist()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("record", [False, True])
def test_votes_on_graphs_that_are_asked_about_together_are_those_of_each(device, record, monkeypatch):
    """Of small and large graphs, whose flips are drawn in different ways; on the CPU nothing is gathered.

    In double precision, so that no answer hangs on the order of sums.
    """
    graphs = [chain(18), chain(40), chain(300), chain(25)]
    noise = sc.Noise(bonds=sc.Flip(delete=0.04, add=0.01))
    base = from_pyg(network("gin", graphs[1], noise, device).double(), n_classes=2)
    smoothed, asked = sc.SmoothedClassifier(base, noise), worlds.Calls()
    wanted = {"samples": 700, "seed": 3, "record": record, "voting": sc.Voting(selection_samples=100)}
    forward = base.model.forward

    def counted(*given):
        asked.append(int(given[2].max()) + 1)
        return forward(*given)

    with monkeypatch.context() as patch:
        patch.setattr(type(base), "max_batch_nodes", 0)
        alone = smoothed.vote(graphs, **wanted)
    monkeypatch.setattr(base.model, "forward", counted)
    together = smoothed.vote(graphs, **wanted)
    np.testing.assert_array_equal(together.counts, alone.counts)
    np.testing.assert_array_equal(together.selection, alone.selection)
    for one, other in zip(together.records, alone.records, strict=True):
        assert (one is not None) == record
        np.testing.assert_equal(*(each if each is None else asdict(each) for each in (one, other)))
    if device == "cuda":
        assert max(asked) == (4 * 700 if record else 4 * 800)


@pytest.mark.parametrize("device", DEVICES)
def test_outputs_that_are_numbers_have_intervals_wherever_they_are_drawn(device):
    """The intervals of a device and of the CPU are of the same means, so they meet."""
    graph, outputs = chain(18), sc.ValueRange(-60, 60)
    torch.manual_seed(1)
    model = GCN(7, 1, layers=2).eval()
    found = []
    for place in dict.fromkeys(("cpu", device)):
        base = from_pyg(deepcopy(model).to(place), outputs=outputs)
        one = sc.SmoothedRegressor(base, DENSE).certify([graph], samples=4_000, seed=1, threat="deletions:1")[0]
        assert one.clean.width < one.interval().width < 10
        found.append(one)
    low, high = max(one.clean.low for one in found), min(one.clean.high for one in found)
    assert low < high
    assert all(one.interval().low <= low and high <= one.interval().high for one in found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("conv", ["gcn", "gin"])
def test_every_attack_is_tried_alike_on_a_device(device, conv, monkeypatch):
    """In double precision, so that no answer hangs on the order of sums; several graphs in one call, and one by one."""
    graphs = [chain(9), chain(12), chain(7)]
    base = from_pyg(network(conv, graphs[0], DENSE).double(), n_classes=2)
    wanted = sc.ExactClassifier(base).certify(graphs, threat="flips:2")
    assert "broken" in {one.verdict() for one in wanted}
    there = from_pyg(network(conv, graphs[0], DENSE, device).double(), n_classes=2)
    for how in ({}, {"batch_size": 100}):
        found = sc.ExactClassifier(there).certify(graphs, threat="flips:2", **how)
        assert found.rows() == wanted.rows()
        np.testing.assert_array_equal(found.proof.first, wanted.proof.first)
    monkeypatch.setattr(type(there), "max_batch_nodes", 2000)  # several pieces in one call, wherever it is
    for method in (Method.DEVICE_DENSE, Method.DEVICE_SPARSE):
        monkeypatch.setattr(attacked, "attacked_method", lambda *_, method=method: method)
        assert sc.ExactClassifier(there).certify(graphs, threat="flips:2").rows() == wanted.rows()
