"""One place asks a classifier: what it does for all pieces alike."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import worlds

import starcert
from starcert.system.stages import stages
from starcert.voting.ask import _SENT, ask
from starcert.voting.counting import ChunkAgain, tallies
from starcert.voting.plans import Chunk, Job, chunks_of


def job_of(graphs: int = 2, **more) -> Job:
    smoothed = worlds.smoothed()
    return Job.of(smoothed.base, smoothed.problem(worlds.graphs(graphs)), 7, **more)


def test_nothing_but_ask_calls_a_classifier():
    source, calls = Path(starcert.__file__).parent, re.compile(r"\.(classify|scored|scored_each)\(")
    for package in ("voting", "certificates", "files", "archive"):
        for file in source.joinpath(package).rglob("*.py"):
            assert file.name == "ask.py" or not calls.search(file.read_text(encoding="utf-8")), file


def test_pieces_are_taken_as_they_are_needed():
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


def test_answers_that_are_compared_are_no_votes():
    job, chunk = job_of(), Chunk(1, "estimation", 3, 300)
    with stages() as clock:
        ((piece, (answers, tied)),) = ask(job, [ChunkAgain(chunk)], auditing=True)
    times = clock.times()
    assert (piece.chunk, times.votes, tied.any()) == (chunk, 0, False)
    assert times.seconds["auditing"] > times.seconds["model"] == times.seconds["drawing"] == 0
    (tally,) = tallies(job, [chunk])
    assert np.bincount(answers[:, 0], minlength=2).tolist() == tally.counts[0].tolist()
