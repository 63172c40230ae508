"""Some of the work of a run done again, with its model and its data: what no file can prove about itself.

Of votes, chunks that a seed chooses are drawn and counted again. The counts of each must be those that the archive
keeps, and so must the flips of the votes against a class, and the votes at attacked objects. Of tried attacks, all that
break are tried again, and a sample of the others. The seed is chosen after the fact, so no author of
a file can know which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from os import PathLike, fspath
from secrets import randbits
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.archive.evidence_file import GraphEvidence
from starcert.archive.exact import tried_again
from starcert.archive.format import noise_to_json
from starcert.archive.record import EXACT, INTERVALS, LINKS, Archive
from starcert.archive.threat_texts import StatedThreat
from starcert.archive.verification import Mismatch, Rerun, Verification, verify
from starcert.claims.intervals import KeptSites
from starcert.claims.question import Question
from starcert.classifiers.base import Classifier
from starcert.math.ballots import Ballots
from starcert.math.flips import Flips, Integers, ShownFlips
from starcert.math.votes import ChunkCounts, Votes
from starcert.methods.estimator import GraphLike
from starcert.methods.exhaustive import ExactClassifier
from starcert.methods.numbers import SmoothedRegressor
from starcert.methods.own_votes import OwnChunk
from starcert.methods.smoothed import SmoothedClassifier
from starcert.objects import Sites
from starcert.objects.binding import Problem, first_axis_of_sites
from starcert.objects.threats import Threat
from starcert.sampling.attacked import Attack
from starcert.sampling.batch import flips_of
from starcert.system.errors import ArchiveError, InvalidParameterError, whole_number
from starcert.system.output import progress_bar
from starcert.voting.ask import Again, Asking, Batch, ask, asked_again
from starcert.voting.counting import batches
from starcert.voting.plans import Chunk, Job

Method: TypeAlias = Classifier | SmoothedClassifier | SmoothedRegressor | ExactClassifier
Differences: TypeAlias = Iterator[tuple[int, str, object, object]]
"""Row, what of it, what the archive keeps, and what came out again."""


def rerun(
    path: str | PathLike[str],
    method: Method,
    objects: Sequence[GraphLike] | Problem,
    n: int = 300,
    *,
    seed: int | None = None,
    name: str | None = None,
    threat: Threat | str | None = None,
    executor: Executor | None = None,
    progress: bool | None = False,
) -> Verification:
    """Proves the claims of a file, and repeats some of the work of its run.

    Args:
        path: the file.
        method: what made it, with the model: a `SmoothedClassifier`, a `SmoothedRegressor`, or an `ExactClassifier` (or
            its classifier).
        objects: the clean objects, in the order of the file.
        n: how many chunks of votes are drawn again. Of tried attacks, how many that break nothing are tried again.
        seed: what chooses them; by default it is drawn now.
        name: the row whose votes are drawn again; by default those of all rows.
        threat: of tried attacks the threat, where it cannot be read from the file.
        executor: where to count: see `Voting`.
        progress: whether to draw a progress bar; None: on a terminal only.

    Example:
        >>> import tempfile
        >>> import starcert as sc
        >>> many = lambda rows: (rows.sum(axis=1) > 2).astype(int)
        >>> base = sc.classifiers.from_callable(many, on="vectors", n_classes=2)
        >>> smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1))
        >>> rows = sc.Bits.rows([[1, 1, 1, 1, 0], [0, 0, 0, 1, 0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = smoothed.certify(rows, samples=10_000, seed=1)
        ...     sc.archive.write(f"{folder}/rows.json", sc.archive.Archive.from_result(result))
        ...     again = sc.archive.rerun(f"{folder}/rows.json", smoothed, rows, 5, seed=7)
        >>> again.verdict, again.rerun.chunks, again.rerun.of
        ('proved', 5, 22)
    """
    n, seed = whole_number("n", n, 0), randbits(32) if seed is None else whole_number("seed", seed, 0)
    found = verify(path, progress=progress)
    archive = found.archive
    if archive is None:
        raise ArchiveError(fspath(path), "states claims under a law from outside: nothing is drawn again.")
    if archive.kind == LINKS:
        raise ArchiveError(fspath(path), "rests on no votes of noisy copies: without --rerun, verify proves all of it.")
    if archive.kind == EXACT:
        if isinstance(method, SmoothedClassifier | SmoothedRegressor) or name is not None:
            hint = "Give the ExactClassifier, and no name."
            raise InvalidParameterError("method", "be what tried all attacks", method, hint)
        more, recounted = tried_again(archive, method, objects, threat, n, seed, progress)
        return replace(found, mismatches=(*found.mismatches, *more), recounted=recounted)
    wanted = SmoothedRegressor if archive.kind == INTERVALS else SmoothedClassifier
    if not isinstance(method, wanted):
        raise InvalidParameterError("method", f"be a {wanted.__name__}, as the file is of its votes", method)
    drawn = KeptVotes.of(archive, method, objects, fspath(path))
    strands = [each for each in drawn.strands() if name is None or name in each.names(archive.names)]
    if not strands:
        raise InvalidParameterError("name", f"be that of a row, such as {archive.names[0]!r}", name)
    ends = np.cumsum([each.chunks for each in strands])
    chosen = np.sort(np.random.default_rng(seed).choice(ends[-1], min(n, ends[-1]), replace=False))
    differ, tied = list[Mismatch](), 0
    with progress_bar("chunks", len(chosen), shown=progress) as advance:
        places = np.searchsorted(ends, chosen, side="right").tolist()
        pieces = [
            strands[place].piece(int(number - ends[place] + strands[place].chunks))
            for place, number in zip(places, chosen, strict=True)
        ]
        for piece, answers in ask(drawn.job, pieces, executor):
            differences, ties = drawn.compare(piece, answers)
            differ += [Mismatch(row, archive.names[row], *each) for row, *each in differences]
            tied += ties
            advance(1)
    about = Rerun(len(chosen), int(ends[-1]), tied, seed, len(drawn.job.sites), name or "")
    differ.sort(key=lambda each: (each.graph, each.field))
    return replace(found, mismatches=(*found.mismatches, *differ), rerun=about)


class WholeChunk(NamedTuple):
    """A piece: a chunk of noisy copies, with the answers on all of them and their flips."""

    chunk: Chunk

    @property
    def graph(self) -> int:
        """The graph of the chunk."""
        return self.chunk.graph

    @property
    def n_copies(self) -> int:
        """The number of copies."""
        return self.chunk.samples

    def ask(self, job: Job, sites: Sites) -> Asking[tuple[Again, Ballots]]:
        """The answers, and the ballots of all copies."""
        flips = list[Flips]()

        def noted() -> Iterator[Batch]:
            for batch in batches(job, sites, self.chunk, self.chunk.samples):
                flips.append(flips_of(batch.copies, np.arange(len(batch.copies))))
                yield batch

        again = yield from asked_again(noted())
        if not job.noise.is_valued:
            flips = [each.places if isinstance(each, ShownFlips) else each for each in flips]
        return again, Ballots.of_chunk(None, sites.n_sites, self.chunk.samples, again.answers, flips)


class Strand(NamedTuple):
    """Chunks that follow each other: those of an object and a purpose, or those of a row at one attacked object."""

    rows: range  # of the archive
    object: int
    target: int
    label: int
    lengths: Integers
    purpose: str
    attack: Attack | None = None

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return len(self.lengths)

    def names(self, names: Sequence[str]) -> Sequence[str]:
        """The names of its rows."""
        return names[self.rows.start : self.rows.stop]

    def piece(self, number: int) -> WholeChunk | OwnChunk:
        """One of its chunks, to be drawn again."""
        if self.attack is not None:
            return OwnChunk(self.object, self.target, self.label, [self.attack], number, again=True)
        return WholeChunk(Chunk(self.object, self.purpose, number, int(self.lengths[number])))  # type: ignore[arg-type]


class KeptVotes(NamedTuple):
    """The votes that an archive keeps, and the job that draws them again."""

    votes: Votes
    chunks: ChunkCounts
    job: Job
    firsts: list[int]  # of each object the first of its rows
    evidence: Sequence[GraphEvidence | None]  # of each row
    joint: dict[int, tuple[Ballots, Integers | None]]  # of an object, with its sites; None: they are not known

    @classmethod
    def of(cls, archive: Archive, method: Any, objects: Any, path: str) -> KeptVotes:  # noqa: ANN401  (either kind)
        """The kept part of an archive; refused unless model and data are as the archive says."""
        votes = archive.votes
        if (chunks := votes.chunks) is None or chunks.estimation is None:
            problem = "does not say how its votes were drawn, chunk by chunk" if chunks is None else (
                "is without the votes of its chunks: they are not beside it, or would have taken too much"
            )  # fmt: skip
            raise ArchiveError(path, f"{problem}, so none can be drawn again.")
        problem = method.problem(objects)
        job = Job.of(method.classifier, problem, chunks.seed, chunks.chunk_size)
        if noise_to_json(problem.noise) != noise_to_json(archive.noise):
            raise InvalidParameterError("method", f"have the noise of the file, {archive.noise}", problem.noise)
        if (backend := job.classifier.backend) != chunks.backend:
            hint = "Another device draws other copies."
            raise InvalidParameterError("method", f"work on {chunks.backend!r}, as in the file", backend, hint)
        if job.classifier.n_classes != votes.counts.shape[1]:
            must = f"have the {votes.counts.shape[1]} classes of the file"
            raise InvalidParameterError("method", must, job.classifier.n_classes)
        keys = [each.clean.key for each in problem.sites]
        if len(keys) != len(chunks.keys):
            raise InvalidParameterError("objects", f"be the {len(chunks.keys)} of the file", len(keys))
        if others := [number for number, key in enumerate(keys) if key != chunks.keys[number]]:
            raise InvalidParameterError("objects", "be those of the file", f"other content of object {others[0]}")
        sizes = np.bincount(votes.objects, minlength=len(keys)).tolist()
        if sizes != list(map(job.n_targets, range(len(keys)))):
            raise InvalidParameterError("objects", "have the targets of the file", sizes[:8])
        firsts = np.cumsum([0, *sizes]).tolist()
        return cls(votes, chunks, job, firsts, archive.evidence or (), dict(_joint(archive, problem)))

    def strands(self) -> Iterator[Strand]:
        """All votes, object by object."""
        labels = self.votes.labels.tolist()
        for number, (first, end) in enumerate(zip(self.firsts, self.firsts[1:], strict=False)):
            for purpose in ("selection", "estimation"):
                if getattr(self.chunks, purpose) is not None and end > first:
                    rows = self.votes.counts if purpose == "estimation" else self.votes.selection
                    assert rows is not None
                    lengths = self.chunks.lengths(purpose, int(rows[first].sum()))
                    yield Strand(range(first, end), number, 0, 0, lengths, purpose)
            for row in range(first, end) if self.evidence else ():
                for attack, tallies in ({} if (kept := self.evidence[row]) is None else kept.own).items():
                    lengths = np.ones(len(tallies), dtype=np.int64)
                    yield Strand(range(row, row + 1), number, row - first, labels[row], lengths, "own", attack)

    def compare(self, piece: WholeChunk | OwnChunk, answers: Any) -> tuple[list[tuple[Any, ...]], int]:  # noqa: ANN401
        """The differences from the archive, and 1 if they may be because classes tie, else 0."""
        if isinstance(piece, OwnChunk):
            return self._compare_own(piece, *answers[0])
        again, everything = answers
        _, purpose, number, *_ = chunk = piece.chunk
        first, found, ties = self.firsts[chunk.graph], list[tuple[Any, ...]](), 0
        kept = getattr(self.chunks, purpose)[chunk.graph][number].astype(np.int64)
        what = f"{purpose} chunk {number}"
        for target, counts in enumerate(kept):
            row, column, tied = first + target, again.answers[:, [target]], again.tied[:, [target]]
            counted = np.bincount(column[:, 0], minlength=len(counts))
            apart = int(abs(counted - counts).sum())
            ties += apart > 0
            if apart > 2 * tied.sum():
                found.append((row, what, counts.tolist(), counted.tolist()))
            elif purpose == "estimation" and self.evidence and (own := self.evidence[row]) is not None:
                record, every = own.record, replace(everything, answers=column)
                if record.sites is not None:
                    every = every.at(record.sites)
                elif not record.complete:
                    axes = first_axis_of_sites(self.job.sites[chunk.graph], self.job.noise)
                    every = every.by_numbers(axes, len(self.job.noise.axes))
                fits, by_ties = _compared(record, number, every, tied, counts[None])
                ties += by_ties
                if not fits:
                    found.append((row, f"flips of {what}", "others", "not these"))
        if purpose == "estimation" and chunk.graph in self.joint and not found:
            ballots, sites = self.joint[chunk.graph]
            if sites is not None:
                fits, by_ties = _compared(ballots, number, everything.at(sites).renumbered(), again.tied, kept)
                ties += by_ties
                if not fits:
                    found.append((first, f"flips or answers of {what}", "others", "not these"))
        return found, int(ties > 0 and not found)

    def _compare_own(self, piece: OwnChunk, anew: Any, n_tied: int) -> tuple[list[tuple[Any, ...]], int]:  # noqa: ANN401
        row, (attack,) = self.firsts[piece.graph] + piece.target, piece.attacks
        evidence = self.evidence[row]
        assert evidence is not None
        kept = evidence.own[tuple(attack)][piece.chunk]
        same = np.array_equal(kept.counts, anew.counts) and np.array_equal(kept.numbers, anew.numbers)
        if same or (n_tied and abs(kept.counts - anew.counts).sum() <= 2 * n_tied):
            return [], int(not same)
        what = f"chunk {piece.chunk} of votes at attack {list(attack)}"
        return [(row, what, kept.counts.tolist(), anew.counts.tolist())], 0


def _compared(
    ballots: Ballots, number: int, every: Ballots, tied: npt.NDArray[np.bool_], counts: Integers
) -> tuple[bool, bool]:
    """Compares a redrawn chunk with these counts: true if equal; and true if it differs only by ties.

    `every` has all copies of the chunk, `tied` where classes tie, shape (copies, targets).
    """
    if number >= len(ballots.samples):
        return False, False
    kept, labels = ballots.chunk(number), ballots.labels
    rest = counts.copy()
    for target, column in enumerate(kept.answers.T):
        rest[target] -= np.bincount(column, minlength=counts.shape[1])
    if labels is not None:  # copies that are not kept are for the classes
        rest[np.arange(len(labels)), list(labels)] -= int(kept.samples[0]) - len(kept)
    if rest.any():
        return False, False
    if kept.agrees_with(every if labels is None else every.disagreeing_with(labels)):
        return True, False
    if not tied.any():
        return False, False
    if labels is None:
        same = kept.answers.shape == every.answers.shape and not ((kept.answers != every.answers) & ~tied).any()
        return same and kept.agrees_with(replace(every, answers=kept.answers)), True
    surely = replace(every, answers=np.where(tied, labels, every.answers)).disagreeing_with(labels)
    more, rows = len(kept) - len(surely), iter(_flips_of(kept))
    fits = 0 <= more <= tied.any(axis=1).sum() and all(each in rows for each in _flips_of(surely))
    return fits, True


def _flips_of(ballots: Ballots) -> list[bytes]:
    """The flips of each copy."""
    if ballots.by_axis is not None:
        return [row.tobytes() for row in ballots.by_axis]
    sites = np.arange(ballots.n_sites) if ballots.sites is None else ballots.sites
    flips: npt.NDArray[Any] = ballots.matrix(sites) if ballots.shown is None else ballots.values(sites)
    return [row.tobytes() for row in flips]


def _joint(archive: Archive, problem: Problem) -> Iterator[tuple[int, tuple[Ballots, Any]]]:
    """The votes of all targets side by side that an archive keeps, with the sites of the object that they are about."""
    if archive.kind == INTERVALS:
        questions: Sequence[Question] | None = archive.asked
        joint = archive.votes.ballots
    elif archive.collective is not None:
        questions = archive.collective.votes.asked
        joint = archive.collective.votes.votes.ballots
    else:
        return
    for number, votes in enumerate(joint):
        if votes is not None:
            yield number, (votes, _kept_sites(None if questions is None else questions[number], problem, number))


def _kept_sites(asked: Question | None, problem: Problem, number: int) -> npt.NDArray[Any] | None:
    sites, noise = problem.sites[number], problem.noise
    if asked is None:
        kept = KeptSites.everywhere(sites, noise)
        everywhere: npt.NDArray[Any] | None = None if kept is None else kept.sites
        return everywhere
    if isinstance(asked.threat, StatedThreat):
        return None
    found: npt.NDArray[Any] = Question.of(asked.threat, sites, noise).on(sites, noise).sites
    return found
