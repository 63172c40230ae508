"""The benchmarks of the studies: settings that can be run, and the corrected blind head, a method in a file."""

from pathlib import Path

import numpy as np
import pytest

import starcert as sc
from starcert.runs.user_code import Reference

pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")

from starcert.benchmark.data import DRAWN
from starcert.benchmark.methods import BenchmarkMethod
from starcert.benchmark.networks import Networks, network_named
from starcert.benchmark.run import check_names, methods_of
from starcert.benchmark.settings import MODELS, Benchmark

FOLDER = Path(__file__).parents[2] / "studies" / "benchmarks"
FILE = FOLDER / "corrected.py"
Corrected = Reference.parse(f"{FILE}:Corrected", FOLDER, "methods").load(BenchmarkMethod)


def test_a_blind_head_with_a_correction_tries_every_attack():
    rng = np.random.default_rng(0)
    atoms = np.eye(3, dtype=int)[rng.integers(0, 3, (20, 5))]
    graphs = [sc.Graph(5, [(0, 1), (1, 2), (3, 4)][: 1 + k % 3], node_data={"x": x}) for k, x in enumerate(atoms)]
    data = sc.datasets.Dataset(graphs, np.arange(20) % 2)
    made = Corrected(Networks(Benchmark(max_epochs=2, steps=10)))
    fitted = made.fit(data, data, "deletions:1")
    assert (len(fitted.tries), fitted.chosen in fitted.tries) == (3, True)
    found = made.certify(graphs[:4], "deletions:15")
    assert (found.alpha, found.asked, len(found.outcomes)) == (None, 2, 4)
    network, logits_of = made.fitted
    assert len(network.some) == len(made.best)
    bare = [sc.Graph(5, [], node_data=graph.node_data) for graph in graphs]
    assert np.array_equal(logits_of(graphs), logits_of(bare))  # the head is blind
    assert made.fits(data)
    assert not made.fits(sc.datasets.Dataset(graphs, np.arange(20) % 3))
    assert not made.fits(DRAWN["motif"](1, train=4, validation=2, test=2).train)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_every_file_of_settings_can_be_run(name, tmp_path, monkeypatch):
    for file in ("cora_ml.npz", "citeseer.npz"):
        (tmp_path / file).touch()
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path))
    setting = Benchmark.of(FOLDER / f"{name}.toml", False)
    check_names(setting)
    for group in setting.methods:
        kinds = {each.of_nodes for each in methods_of(setting, group)}
        assert kinds & {None, name.startswith(("nodes", "structure"))}
    for model in setting.models:
        module = network_named(model)(3, 2, hidden=8, layers=3)
        assert sum(weight.numel() for weight in module.parameters()) > 100
    assert all(
        (FOLDER / "networks.py").samefile(model.rpartition(":")[0]) for model in setting.models if model not in MODELS
    )


def test_settings_beside_the_method_find_it(tmp_path):
    file = FOLDER / "bonds_gain.toml"
    assert Benchmark.of(file, True).methods[1].endswith("studies/benchmarks/corrected.py:Corrected")
