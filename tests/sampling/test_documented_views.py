"""Every view that the documentation names is there, however the copies of a graph were drawn."""

import re
from pathlib import Path

import numpy as np
import pytest

import starcert as sc
from starcert.classifiers import from_callable
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import FlippedGraphs, PackedGraphs

DOCS = Path(__file__).parents[2] / "docs"
N_COPIES = 3


def views_in(text: str, begin: str, end: str) -> list[str]:
    """What stands in code between two words."""
    found = re.search(f"{re.escape(begin)}(.*?){re.escape(end)}", " ".join(text.split()))
    assert found, begin
    return re.findall("`([^`]+)`", found[1])


def rows_of_other_kinds() -> dict[str, list[str]]:
    table = (DOCS / "models.md").read_text().partition("a batch also has |")[2].partition("\n\n")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return {kind.strip(): [each for each in re.findall("`([^`]+)`", said) if "(" in each] for kind, said in rows}


OF_MODELS = views_in((DOCS / "models.md").read_text(), "with the views", "which are built only on demand")
OF_DOCSTPATH = views_in(from_callable.__doc__, "with its views", "and returns one class")
OTHER_KINDS = rows_of_other_kinds()
PATH = [(i, i + 1) for i in range(7)]


def batch_of(given, **laws):
    laws = laws or {"all": 0.01}
    regions = {name: name for name in laws} if set(laws) != {"all"} else None
    base = from_callable(lambda batch: [0] * len(batch), on="batch")
    problem = sc.SmoothedClassifier(base, sc.Noise(**laws), regions).problem([given])
    return sampler(problem.sites[0], problem.noise).draw(WordStream.of_chunk(1, given.key, "estimation", 0), N_COPIES)


def plain(n, **said):
    return sc.Graph(n, PATH, **said)


PLAIN = {
    "small": (lambda: batch_of(plain(8), all=0.2), PackedGraphs),
    "large": (lambda: batch_of(plain(600), all=1e-4), FlippedGraphs),
    "typed": (
        lambda: batch_of(plain(8, edge_types=["a", "b"] * 3 + ["a"]), all=sc.Edges(delete=0.1, add=0.1, change=0.1)),
        FlippedGraphs,
    ),
    "directed": (lambda: batch_of(plain(8, directed=True), all=0.2), PackedGraphs),
    "large, directed": (lambda: batch_of(plain(600, directed=True), all=1e-4), FlippedGraphs),
}


def size_of(view) -> int:
    """How many copies a view shows; 0 where it lists edges."""
    if isinstance(view, np.ndarray):
        return len(view)
    return 0 if isinstance(view, tuple) else len(list(view))


@pytest.mark.parametrize("kind", PLAIN)
def test_views_of_graphs_small_and_large(kind):
    make, view = PLAIN[kind]
    batch = make()
    assert isinstance(batch, view)
    for code in dict.fromkeys(OF_MODELS + OF_DOCSTPATH):
        shown = eval(f"batch.{code}", {"batch": batch})
        assert size_of(shown) in (0, N_COPIES), code
    assert batch.values.shape[0] == N_COPIES
    assert set(np.unique(batch.values)) <= {0, 1, 2}


OTHERS = {
    "directed graphs": [PLAIN["directed"][0], PLAIN["large, directed"][0]],
    "typed edges": [PLAIN["typed"][0]],
    "numbers on edges": [
        lambda n=n, p=p: batch_of(
            plain(n, edge_data={"length": np.arange(7.0)}, added_edge_data={"length": 1.0}), all=p
        )
        for n, p in ((8, 0.2), (600, 1e-4))
    ],
    "features that are sites": [
        lambda n=n, p=p: batch_of(
            sc.Graph(n, PATH, node_data={"x": np.eye(n, dtype=np.uint8)}).with_bits("x"), pairs=p, x=p
        )
        for n, p in ((8, 0.2), (600, 1e-4))
    ],
    "vectors": [lambda n=n: batch_of(sc.Bits.rows([[0, 1] * n])[0], all=0.1) for n in (4, 4_000)],
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_views_of_other_kinds(kind):
    assert OTHER_KINDS[kind]
    for make in OTHERS[kind]:
        batch = make()
        for code in OTHER_KINDS[kind]:
            eval(f"batch.{code}", {"batch": batch})
