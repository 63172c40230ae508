"""Work is done once, wherever and by whomever; what it needs travels as often as it must."""

import os
import pickle
import random
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest

from starcert.system import travelling
from starcert.system.errors import ClassifierError, ExecutorError
from starcert.system.travelling import SentOnce, map_on_workers

BALLAST = random.Random(0).randbytes(100_000)


class Worker(Executor):
    """One worker that does everything at once, with nothing but what arrives as bytes."""

    def __init__(self) -> None:
        self.letters, self.lengths = [], []

    def submit(self, function, *arguments):
        self.lengths.append(len(arguments[0].pieces))
        self.letters.append(pickle.dumps((function, arguments)))
        sent, future = pickle.loads(self.letters[-1]), Future()
        try:
            future.set_result(pickle.loads(pickle.dumps(sent[0](*sent[1]))))
        except Exception as error:  # noqa: BLE001  (as a worker does)
            future.set_exception(error)
        return future

    @property
    def large(self) -> int:
        """How many letters had the ballast in them."""
        return sum(BALLAST in each for each in self.letters)


@pytest.fixture(autouse=True)
def _knows_nothing():
    travelling._KEPT.clear()


def add(common, own, piece):
    return len(common), own + piece


def pieces(executor, n=2000):
    """Many pieces, of which fifty that follow each other share one number."""
    for first in range(0, n, 50):
        own = SentOnce(first, executor)
        yield from ((own, piece) for piece in range(50))


DONE = sorted((piece, (len(BALLAST), first + piece)) for first in range(0, 2000, 50) for piece in range(50))


def test_something_large_travels_when_it_is_asked_for():
    worker = Worker()
    assert sorted(map_on_workers(worker, add, SentOnce(BALLAST, worker), pieces(worker))) == DONE
    assert 1 <= worker.large <= 2 < len(worker.letters)
    known = worker.large
    assert sorted(map_on_workers(worker, add, SentOnce(BALLAST, worker), pieces(worker))) == DONE
    assert worker.large == known  # the next time it is there


def test_a_worker_that_was_started_again_asks_again(monkeypatch):
    monkeypatch.setattr(travelling, "MAX_PIECES", 8)

    class Restarted(Worker):
        def submit(self, function, *arguments):
            if len(self.letters) % 20 == 19:
                travelling._KEPT.clear()
            return super().submit(function, *arguments)

    worker = Restarted()
    assert sorted(map_on_workers(worker, add, SentOnce(BALLAST, worker), pieces(worker))) == DONE
    assert len(worker.letters) > 250
    assert 2 < worker.large < len(worker.letters) / 2


def test_a_worker_keeps_no_more_than_it_may(monkeypatch):
    """Each piece has something large of its own, and one of them fits beside the common one."""
    monkeypatch.setattr(travelling, "MAX_BYTES", 250_000)
    worker = Worker()
    large = [(SentOnce(BALLAST + bytes([i]), worker), i) for i in range(6)]
    found = list(map_on_workers(worker, lengths, SentOnce(BALLAST, worker), large))
    assert sorted(found) == [(i, 200_001 + i) for i in range(6)]
    assert len(travelling._KEPT) == 2
    monkeypatch.setattr(travelling, "MAX_BYTES", 10)  # the last one is kept however large it is
    travelling._KEPT.clear()
    assert len(list(map_on_workers(worker, lengths, SentOnce(BALLAST, worker), large))) == 6
    assert len(travelling._KEPT) == 1


def lengths(common, own, piece):
    return len(common) + len(own) + piece


def test_spans_are_as_long_as_work_takes(monkeypatch):
    worker = Worker()
    list(map_on_workers(worker, add, SentOnce(b"", worker), pieces(worker, 20_000)))
    assert max(worker.lengths) > 100
    monkeypatch.setattr(travelling, "SPAN_SECONDS", 0.002)
    worker = Worker()
    nap = list(map_on_workers(worker, slow, SentOnce(b"", worker), pieces(worker, 350)))
    assert len(nap) == 350
    assert worker.lengths[-3:] == [1, 1, 1]


def slow(common, own, piece):
    time.sleep(0.003)
    return own + piece


def test_what_takes_too_long_is_given_back_and_done_once(tmp_path, monkeypatch):
    monkeypatch.setattr(travelling, "SPAN_SECONDS", 0.005)
    worker = Worker()
    notes = str(tmp_path / "notes")
    found = list(map_on_workers(worker, noted, SentOnce(notes, worker), pieces(worker, 100)))
    assert len(found) == 100
    assert sum(worker.lengths) > 100  # some were sent again
    done = (tmp_path / "notes").read_text().split()
    assert sorted(map(int, done)) == list(range(100))


def noted(notes, own, piece):
    if own + piece < 20:
        time.sleep(0.004)
    with open(notes, "a", encoding="utf-8") as file:
        file.write(f"{own + piece}\n")


def test_threads_share_what_cannot_be_pickled():
    with ThreadPoolExecutor(3) as pool:
        both = [(SentOnce(lambda x: x + 1, pool), 1), (SentOnce(lambda x: 2 * x, pool), 5)]
        found = map_on_workers(pool, lambda common, own, piece: common(own(piece)), SentOnce(lambda x: -x, pool), both)
        assert sorted(found) == [(1, -2), (5, -10)]


def test_errors_keep_their_kind():
    worker = Worker()
    for function, kind in ((fails, ExecutorError), (refuses, ClassifierError)):
        with pytest.raises(kind, match="no idea"):
            list(map_on_workers(worker, function, SentOnce(1, worker), pieces(worker)))


def fails(common, own, piece):
    raise OSError("no idea")


def refuses(common, own, piece):
    raise ClassifierError("no idea")


def unpicklable():
    raise ImportError("no such module here")


class Foreign:
    """Something that only this process can unpickle."""

    def __reduce__(self):
        return unpicklable, ()


def test_what_a_worker_cannot_unpickle_is_reported():
    worker = Worker()
    with pytest.raises(ExecutorError, match="ImportError: no such module here"):
        list(map_on_workers(worker, add, SentOnce(Foreign(), worker), pieces(worker)))


def test_more_workers_have_more_ahead(monkeypatch):
    """As many as have answered: nobody asks an executor how many it has."""
    open_at_once = []

    class Many(ThreadPoolExecutor):
        def submit(self, function, *arguments):
            open_at_once.append(self._work_queue.qsize())
            return super().submit(function, *arguments)

    monkeypatch.setattr(travelling, "SPAN_SECONDS", 0.006)
    names = iter(range(10**6))
    monkeypatch.setattr(travelling.platform, "node", lambda: str(next(names)))
    with Many(1) as pool:
        list(map_on_workers(pool, slow, SentOnce(b"", pool), pieces(pool, 400)))
    assert max(open_at_once[:32]) <= 32 < max(open_at_once)


def test_nothing_is_done_for_no_pieces():
    worker = Worker()
    assert list(map_on_workers(worker, add, SentOnce(b"", worker), [])) == worker.letters == []


def test_a_worker_is_a_process_and_a_thread():
    reply = travelling._Span(add, SentOnce("ab", Worker()), [(SentOnce(1, Worker()), 2)], 1.0, whole=True).run()
    assert reply.results == [(2, 3)]
    assert str(os.getpid()) in reply.worker.split()
