"""torch works with one thread on small batches, and with as many as before afterwards: here, in threads, in workers."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from asking import how_to

import starcert as sc
from starcert.classifiers.torch import module as modules
from starcert.system.errors import ClassifierError

torch = pytest.importorskip("torch")

GRAPH = sc.Graph(6, [(0, 1), (1, 2), (2, 3)], node_data={"x": np.ones((6, 1), np.float32)})
NOISE = sc.Noise(all=0.1)


class Threads(torch.nn.Module):
    """Class 1 where torch has one thread."""

    def forward(self, x, edge_index, batch):
        answer = torch.zeros(int(batch.max()) + 1, 2)
        answer[:, int(torch.get_num_threads() == 1)] = 1
        return answer


class Fails(torch.nn.Module):
    def forward(self, x, edge_index, batch):
        raise RuntimeError("no")


class Rows(torch.nn.Module):
    def forward(self, rows):
        return torch.full((len(rows),), 2.0 if torch.get_num_threads() == 1 else -1.0)


@pytest.fixture(autouse=True)
def _three_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def vote(model, **settings):
    base = sc.classifiers.from_pyg(model, n_classes=2)
    return sc.SmoothedClassifier(base, NOISE).vote([GRAPH], **how_to(samples=50, seed=1, **settings)).counts.tolist()


def test_votes_on_small_batches_are_counted_with_one():
    assert vote(Threads()) == [[0, 50]]
    assert torch.get_num_threads() == 3
    rows = sc.SmoothedClassifier(sc.classifiers.from_torch(Rows(), n_classes=2), NOISE)
    assert rows.predict(sc.Bits.rows([[0, 1, 1]]), samples=200, seed=1).tolist() == [1]
    assert torch.get_num_threads() == 3


def test_large_batches_have_all_threads(monkeypatch):
    monkeypatch.setattr(modules, "SMALL", 6 * 64 - 1)
    assert vote(Threads()) == [[50, 0]]


def test_who_says_how_many_is_obeyed(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert vote(Threads()) == [[50, 0]]


def test_an_error_leaves_as_many_as_before():
    with pytest.raises(ClassifierError, match="no"):
        vote(Fails())
    assert torch.get_num_threads() == 3


def threads_here():
    return torch.get_num_threads()


def test_threads_that_vote_at_once_leave_as_many_as_before():
    with ThreadPoolExecutor(3) as pool:
        assert vote(Threads(), executor=pool, chunk_size=1) == [[0, 50]]
        assert {pool.submit(threads_here).result() for _ in range(9)} == {3}
    assert torch.get_num_threads() == 3
    with ThreadPoolExecutor(1) as fresh:
        assert fresh.submit(threads_here).result() == 3


def test_worker_processes_vote_with_one_and_have_as_many_as_before():
    torch.rand(64, 2).max(dim=-1)  # with threads, which a process that is forked now will not have
    with ProcessPoolExecutor(1) as pool:
        pool.submit(torch.set_num_threads, 2).result()
        assert vote(Threads(), executor=pool) == [[0, 50]]
        assert pool.submit(threads_here).result() == 2
    assert torch.get_num_threads() == 3
