"""Without the optional packages everything else works, and what needs them says which extra to install."""

import subprocess
import sys
from pathlib import Path

import pytest

OPTIONAL = [
    "torch",
    "torch_geometric",
    "grakel",
    "sklearn",
    "matplotlib",
    "dask",
    "distributed",
    "loky",
    "pandas",
    "rdkit",
]
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL})); import starcert as sc, networkx as nx\n"


def run(code: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False, timeout=120, cwd=folder
    )
    return done.stdout + done.stderr


def test_functions_sampling_and_certificates_need_none_of_them():
    code = """
base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 5))
graph = sc.Graph.from_networkx(nx.complete_graph(6))
print(sc.SmoothedClassifier(base, sc.Noise(all=0.1)).certify([graph], samples=300, seed=1)[0])
print(len(sc.datasets.motif(seed=0, train=2, validation=2, test=2).test))
"""
    assert "answers class 1" in run(code)


def test_rows_need_none_of_them():
    code = """
base = sc.classifiers.from_callable(lambda rows: rows.sum(axis=1) > 2, on="vectors")
rows, noise, regions = sc.Bits.rows([[1, 1, 1, 1, 0]]), sc.Noise(a=0.1, b=0.2), {"a": [0, 1, 2], "b": [3, 4]}
print(sc.SmoothedClassifier(base, noise, regions).certify(rows, samples=300, seed=1)[0])
print(sc.transforms.noisy_rows(rows, noise, regions, seed=1).shape)
"""
    said = run(code)
    assert "answers class 1" in said
    assert "(1, 5)" in said


def test_regions_that_need_none_of_them_are_made_without():
    code = """
graph = sc.Graph.from_networkx(nx.cycle_graph(6))
for name, builder in sc.regions.BUILDERS.items():
    if name in ("communities", "ring_atoms", "low_rank", "node_sets"):
        print(name, builder.usage, sc.regions.build(name, **({"all": "*"} if name == "node_sets" else {}))(graph))
"""
    said = run(code)
    assert "Partition(ring, rest, between, anchored)" in said
    assert "Traceback" not in said


NAMED = [
    ("sc.classifiers.from_pyg", "torch"),
    ("sc.classifiers.from_dense", "torch"),
    ("sc.classifiers.from_torch", "torch"),
    ("sc.models.GCN", "torch"),
    ("sc.models.fit_with_noise", "torch"),
    ("sc.Graph(2, []).to_pyg()", "torch"),
    ("sc.models.vertex_histogram_svm()", "kernels"),
    ("sc.models.KernelSVM().fit([], [])", "kernels"),
    ("sc.baselines.blind([sc.Graph(1, [])] * 2, [0, 1])", "kernels"),
    ("sc.transforms.AddNoise(sc.Noise(all=0.1))", "torch"),
    ("sc.certify(sc.Bounds.certain([0.9]), sc.Noise(a=0.1)).to_frame()", "pandas"),
    ("sc.Graph.from_smiles('CC')", "molecules"),
    ("sc.Graph.from_rdkit(None)", "molecules"),
    ("sc.regions.functional_groups()", "molecules"),
    (
        "g = sc.Graph(1, [], node_data={'label': [0]}); sc.regions.aromatic_atoms(elements='C', bonds='guess')(g)",
        "molecules",
    ),
    ("sc.display.slack_map(sc.Noise(a=0.1, b=0.2), (2, 2))", "plots"),
]
"""What needs a package, and the extra that brings it."""

REFUSED = """
import traceback
for code in {codes!r}:
    try:
        exec(code)
        print("nothing")
    except Exception as error:
        print(traceback.format_exception_only(error)[-1].splitlines()[-1])
"""


@pytest.fixture(scope="module")
def refusals() -> list[str]:
    """The last line of what each of these ends in, all in one process."""
    return run(REFUSED.format(codes=[code for code, _ in NAMED])).splitlines()


@pytest.mark.parametrize("number", range(len(NAMED)), ids=[code for code, _ in NAMED])
def test_what_needs_a_package_names_the_extra(number, refusals):
    assert len(refusals) == len(NAMED)
    assert f"pip install 'starcert[{NAMED[number][1]}]'" in refusals[number]
    assert "StarcertError" in refusals[number]


def test_training_names_the_extra(tmp_path):
    (tmp_path / "graphs").mkdir()
    for number in range(20):
        (tmp_path / "graphs" / f"{number}.edges").write_text("a b\n")
    rows = [f"{number},{number % 2}\n" for number in range(20)]
    (tmp_path / "graphs" / "labels.csv").write_text("".join(["name,label\n", *rows]))
    (tmp_path / "model.py").write_text("def classifier():\n    return len\n")
    words = ["train", "--model", "model.py:classifier", "--data", "graphs", "--noise", "all=0.1", "--weights", "w.pt"]
    said = run(f"sys.argv[1:] = {words}\nfrom starcert.cli import main\nmain()", tmp_path)
    assert said.endswith("needs torch: pip install 'starcert[torch]'\n")
