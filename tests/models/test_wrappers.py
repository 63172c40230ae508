"""The wrappers of the examples: a filter shows some edges, a blind head is moved by at most its bound; both certify."""

import importlib.util
from pathlib import Path

import pytest

import starcert as sc

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
FILE = Path(__file__).parents[2] / "examples" / "wrappers.py"


@pytest.fixture(scope="module")
def wrappers():
    spec = importlib.util.spec_from_file_location("wrappers", FILE)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def gin(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return sc.models.GIN(2, 2, hidden=8, layers=2).eval()


X, BATCH = torch.eye(2)[[0, 1, 0, 1]], torch.zeros(4, dtype=torch.int64)


def both(pairs):
    return torch.tensor(pairs + [(v, u) for u, v in pairs], dtype=torch.int64).T


def test_the_filter_shows_the_edges_between_nodes_with_few(wrappers):
    module = gin(0)
    found = wrappers.Filtered(module, limit=2)(X, both([(0, 1), (0, 2), (0, 3), (1, 2)]), BATCH)
    assert torch.equal(found, module(X, both([(1, 2)]), BATCH))


def test_edges_move_the_blind_logits_by_at_most_the_bound(wrappers):
    head = wrappers.BlindHead(gin(0), blind=gin(1), bound=0.25)
    sure = head.blind(X, both([(0, 1)])[:, :0], BATCH)
    moved = [head(X, both(pairs), BATCH) - sure for pairs in ([(0, 1)], [(0, 1), (1, 2), (0, 3)], [(2, 3)])]
    assert all(each.abs().max() <= 0.25 + 1e-6 for each in moved)
    assert not torch.equal(moved[0], moved[1])


@pytest.mark.filterwarnings("ignore")
def test_the_example_trains_and_certifies(wrappers, capsys):
    with torch.random.fork_rng():
        wrappers.main()
    said = capsys.readouterr().out
    assert int(said.partition("%")[0]) > 90
    assert "1 link deleted, 1 link added" in said
