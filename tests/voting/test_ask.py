"""One place asks a classifier: what it does for all pieces alike."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import worlds

import starcert
from starcert.voting.ask import _SENT, ask
from starcert.voting.counting import ChunkAgain, tallies
from starcert.voting.plans import Chunk, Job, chunks_of


def job_of(graphs: int = 2, **more) -> Job:
    smoothed = worlds.smoothed()
    return Job.of(smoothed.base, smoothed.problem(worlds.graphs(graphs)), 7, **more)


def test_nothing_but_ask_calls_a_classifier():
    source, calls = Path(starcert.__file__).parent, re.compile(r"\.(classify|scored|scored_each)\(")
    for package in ("voting", "methods", "claims", "archive"):
        assert source.joinpath(package).is_dir()
        for file in source.joinpath(package).rglob("*.py"):
            assert file.name == "ask.py" or not calls.search(file.read_text(encoding="utf-8")), file


def test_pieces_are_taken_as_they_are_needed(monkeypatch):
    monkeypatch.setattr("starcert.voting.counting.CHUNKS_WITH_TABLE", 1)
    """What is found may decide which come next."""
    taken = []

    def chunks():
        for chunk in chunks_of(0, "estimation", 5000, 100):
            taken.append(chunk.number)
            yield chunk

    found = tallies(job_of(), chunks())
    for number in range(3):
        next(found)
        assert taken == list(range(number + 1))


def test_what_workers_need_is_pickled_once_for_all_calls():
    job, chunks = job_of(), [Chunk(0, "estimation", 0, 100)]
    with ThreadPoolExecutor(1) as pool:
        list(tallies(job, chunks, pool))
        sent = _SENT[job].job
        list(tallies(job, chunks, pool))
        assert _SENT[job].job is sent
    assert sent.content.sites == ()


def test_a_chunk_that_is_asked_again_has_the_answers_that_it_had():
    job, chunk = job_of(), Chunk(1, "estimation", 3, 300)
    ((piece, (answers, tied)),) = ask(job, [ChunkAgain(chunk)])
    assert (piece.chunk, tied.any()) == (chunk, False)
    (tally,) = tallies(job, [chunk])
    assert np.bincount(answers[:, 0], minlength=2).tolist() == tally.counts[0].tolist()
