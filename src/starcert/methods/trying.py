"""Attacks on the base classifier itself, tried one after the other: where its answer first changes.

The attacks on an object are tried in pieces, here or on workers. What is kept for a target is the *number* of the first
attack that changes its answer, the least over all pieces: neither batches nor workers, their order or interruptions
change it. Every piece asks about the object without attack too: a classifier that answers it differently from piece to
piece is refused.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import Classifier, UnsteadyAnswersError
from starcert.classifiers.identity import of_0_2
from starcert.objects import Sites
from starcert.objects.threats import Threat
from starcert.objects.threats.attacks import NO_CHANGE, Attacks
from starcert.objects.threats.sets import NumberedAttacks
from starcert.sampling.attacked import ShowAttacked, attacked_view, fitting_attacks
from starcert.sampling.batch import Copies
from starcert.system.errors import InvalidParameterError, StoreError, StoreSettingsError
from starcert.system.files import write_whole
from starcert.system.output import Advance
from starcert.voting.ask import Again, Asking, Batch, ask, asked_again, checked, device_of, fitting_batch_of, nodes_of
from starcert.voting.plans import Job

Whole = npt.NDArray[np.int64]
_LOG = logging.getLogger(__name__)

NEVER = -1  # in place of the number of an attack: none was found
FORMAT = "starcert exact progress"
MAX_COUNTED = 10**400  # attacks on an object: a file writes the number down
AUDITED = 32  # attacks that are tried again, each alone, after a run
SAVE_SECONDS = 5.0  # at most this much work is lost when a run is killed


class PieceOutcome(NamedTuple):
    """The result of a piece for each target: its answer without attack, where that changes first, and into what."""

    clean: Whole
    places: Whole  # of the attacks in the piece; `NEVER`: all of them leave it
    answers: Whole


class AttackedObjects(NamedTuple):
    """A piece: attacks on one object, without noise; `first` is the number of the first of them."""

    graph: int
    first: int
    attacks: Attacks
    checked: bool = False  # whether the classifier is checked on them

    @property
    def n_copies(self) -> int:
        """The attacked objects, and the one without attack."""
        return len(self.attacks) + 1

    def ask(self, job: Job, sites: Sites) -> Asking[PieceOutcome]:
        """The result of these attacks; the object without attack is asked about beside them."""
        asking = self._outcome(job, sites)
        return checked(asking, job.classifier, self.n_copies, self._name_of) if self.checked else asking

    def _outcome(self, job: Job, sites: Sites) -> Asking[PieceOutcome]:
        copies = show_attacked(job.classifier, sites, Attacks.joined([NO_CHANGE, self.attacks]))
        name = f"graph {self.graph}, attacks {self.first} to {self.first + len(self.attacks) - 1}"
        found = yield Batch(copies, name, distinct=True)
        answers = np.asarray(found.answers).reshape(len(copies), -1)
        clean, changed = answers[0], answers[1:] != answers[0]
        broken = changed.any(axis=0)
        places = np.where(broken, changed.argmax(axis=0), NEVER) if len(changed) else np.full(len(clean), NEVER)
        there = np.where(broken, answers[places + 1, np.arange(len(clean))], NEVER)
        return PieceOutcome(*(each.astype(np.int64) for each in (clean, places, there)))

    def _name_of(self, copy: int) -> str:
        return f"attack {self.first + copy} on graph {self.graph}" if copy else f"graph {self.graph}"


class Tried:
    """The results about one object, piece by piece: for each target the first attack that changes its answer."""

    def __init__(
        self, labels: Sequence[int] = (), first: Sequence[int] = (), answers: Sequence[int] = (), done: int = 0
    ) -> None:
        self.labels, self.first, self.answers = (np.array(each, dtype=np.int64) for each in (labels, first, answers))
        self.done = done  # all attacks before this number were tried
        self._ahead = dict[int, int]()  # pieces beyond: where each begins, and where it ends

    @property
    def begun(self) -> bool:
        """True if its answer without attack is known."""
        return bool(len(self.labels))

    def needed(self, limit: int) -> int:
        """The number of attacks that have to be tried, of at most `limit`: until every target has another answer."""
        if self.begun and (self.first != NEVER).all():
            return min(limit, int(self.first.max()) + 1)
        return limit

    def add(self, piece: AttackedObjects, found: PieceOutcome) -> None:
        """Adds what a piece shows."""
        if not self.begun:
            self.labels, self.answers = found.clean, found.answers
            self.first = np.full_like(found.places, NEVER)
        elif (found.clean != self.labels).any():
            target = int((found.clean != self.labels).argmax())
            raise UnsteadyAnswersError(
                f"The base classifier answers graph {piece.graph} (target {target}) without attack with class "
                f"{self.labels[target]} in one batch, and with class {found.clean[target]} in another. What it answers "
                "depends on the graphs beside it, or on chance: take batch statistics and randomness out of it."
            )
        number = np.where(found.places == NEVER, NEVER, found.places + piece.first)
        earlier = (number != NEVER) & ((self.first == NEVER) | (number < self.first))
        self.first, self.answers = np.where(earlier, number, self.first), np.where(earlier, found.answers, self.answers)
        self._ahead[piece.first] = piece.first + len(piece.attacks)
        while self.done in self._ahead and self._ahead[self.done] > self.done:
            self.done = self._ahead.pop(self.done)

    def to_json(self) -> dict[str, object]:
        """All of it but pieces that are ahead of others: they are tried again."""
        lists = {name: getattr(self, name).tolist() for name in ("labels", "first", "answers")}
        return {"done": self.done, **lists}


class ProgressFile:
    """Where a run keeps what it has tried: written whole every few seconds, continued by the same run.

    It names the classifier, the objects, the threat and its attacks, and refuses others. How many attacks are tried at
    most is not part of that: a run with a larger budget goes on where a smaller one has ended.
    """

    def __init__(self, path: Path, about: dict[str, object]) -> None:
        self._path, self._about, self._saved = path, about, time.monotonic()

    def read(self) -> dict[int, Tried]:
        """The attacks that were tried before, by object."""
        if not self._path.exists():
            return {}
        try:
            whole = json.loads(self._path.read_text(encoding="utf-8"))
            form, about = whole["format"], whole["about"]
            found = {int(number): Tried(**each) for number, each in whole["objects"].items()}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{self._path}: not a file of attacks that were tried ({error}). Remove it.") from error
        names = [name for name in self._about if about.get(name) != self._about[name]]
        if form != FORMAT or names:
            differences = [
                f"{name}: {about.get(name)!r}{of_0_2(about.get(name), self._about[name])}, not {self._about[name]!r}"
                for name in names
            ]
            raise StoreSettingsError(str(self._path), differences)
        _LOG.info("%s: continued, %s attacks tried", self._path, f"{sum(each.done for each in found.values()):,}")
        return found

    def discard(self) -> None:
        """Removes it: what it holds is not what one classifier answers."""
        self._path.unlink(missing_ok=True)

    def save(self, tried: dict[int, Tried], *, now: bool = False) -> None:
        """Writes what was tried, if the last time is a while ago."""
        if now or time.monotonic() - self._saved > SAVE_SECONDS:
            objects = {str(number): each.to_json() for number, each in tried.items() if each.begun}
            write_whole(self._path, [json.dumps({"format": FORMAT, "about": self._about, "objects": objects})])
            self._saved = time.monotonic()


def progress_file(path: Path, trial: Trial) -> ProgressFile:
    """The file of a trial. A threat of the same text may have other attacks, as functions do: these are named too."""
    job = trial.job
    about = {
        "classifier": job.classifier.description,
        "n_objects": len(job.sites),
        "objects": _digest_of(each.clean.key + each.key for each in job.sites),
        "threat": str(trial.attacks_on(0).threat),
        "attacks": _digest_of(trial.attacks_on(number).digest for number in range(len(job.sites))),
    }
    return ProgressFile(path, about)


def _digest_of(texts: Iterable[str]) -> str:
    return blake2b("".join(texts).encode(), digest_size=12).hexdigest()


class Trial:
    """All objects of a job, and the attacks that are tried on each: those of a threat, at most `max_attacks`."""

    def __init__(self, job: Job, threat: Threat, max_attacks: int | Sequence[int]) -> None:
        self.job, self.threat = job, threat
        self.attacks_on = lru_cache(8)(lambda number: NumberedAttacks(threat, job.sites[number], job.noise))
        self.ends = [self.attacks_on(number).ends for number in range(len(job.sites))]
        if max(each[-1] for each in self.ends) > MAX_COUNTED:
            hint = "Ask about fewer units, or about a narrower threat."
            raise InvalidParameterError("threat", "have at most 10⁴⁰⁰ attacks on an object", str(threat), hint)
        most = [max_attacks] * len(self.ends) if isinstance(max_attacks, int) else max_attacks
        self.limits = [min(limit, each[-1]) for limit, each in zip(most, self.ends, strict=True)]
        self.tried = {number: Tried() for number in range(len(job.sites))}

    def run(self, executor: Executor | None, file: ProgressFile | None, advance: Advance) -> None:
        """Tries what is left, and keeps what it finds."""
        if file is not None:
            self.tried |= file.read()
        advance(sum(min(each.done, limit) for each, limit in zip(self.tried.values(), self.limits, strict=True)))
        try:
            for piece, found in self._results(executor):
                mine, limit = self.tried[piece.graph], self.limits[piece.graph]
                before, was_decided = mine.done, mine.begun and mine.done >= mine.needed(limit)
                mine.add(piece, found)
                decided = mine.done >= mine.needed(limit)
                advance(0 if was_decided else (limit if decided else min(mine.done, limit)) - before)
                if file is not None:
                    file.save(self.tried)
        finally:
            if file is not None:
                file.save(self.tried, now=True)

    def _results(self, executor: Executor | None) -> Iterator[tuple[AttackedObjects, PieceOutcome]]:
        """All pieces that are needed with what they show; the classifier is checked on the first one."""
        pieces = self._pieces()
        for first in islice(pieces, 1):
            yield from ask(self.job, [first._replace(checked=True)])
        yield from ask(self.job, pieces, executor)

    def _pieces(self) -> Iterator[AttackedObjects]:
        """The remaining attacks, decided anew for each piece."""
        for number, mine in self.tried.items():
            attacks, step, limit = self.attacks_on(number), attacks_at_once(self.job, number), self.limits[number]
            at = mine.done
            while not mine.begun or at < mine.needed(limit):
                of_size = next((end for end in attacks.ends if end > at), at)  # larger ones may not be needed
                end = min(at + step, of_size, limit)
                yield AttackedObjects(number, at, attacks.run(at, end))
                at = end
                if at >= limit:
                    break


def attacks_at_once(job: Job, number: int) -> int:
    """The number of attacks on an object in one piece: as many as the classifier wants at once."""
    sites, most = job.sites[number], fitting_batch_of(job, job.sites[number])
    if job.batch_size is None and job.classifier.max_batch_nodes:
        most = min(most, max(1, job.classifier.max_batch_nodes // nodes_of(sites)))
    return max(1, fitting_attacks(sites, device_of(job.classifier), most) - 1)  # and the object without attack


@lru_cache(16)
def _shown_by(sites: Sites, device: str) -> ShowAttacked:
    return attacked_view(sites, device)


def show_attacked(classifier: Classifier, sites: Sites, attacks: Attacks) -> Copies:
    """The object under these attacks, as a classifier sees it."""
    return _shown_by(sites, device_of(classifier))(attacks)


class Recounted(NamedTuple):
    """An answer that is another one when it is asked for again."""

    object: int
    attack: int  # its number; −1: without attack
    target: int
    expected: int
    found: int


class AttackedAgain(NamedTuple):
    """A piece: attacks on one object with these numbers, tried again as one batch."""

    graph: int
    numbers: Sequence[int]
    attacks: Attacks
    as_written: bool

    @property
    def n_copies(self) -> int:
        """The number of attacked objects."""
        return len(self.attacks)

    def ask(self, job: Job, sites: Sites) -> Asking[Again]:
        """The answers on them."""
        copies = show_attacked(job.classifier, sites, self.attacks)
        name = f"graph {self.graph}, attacks {', '.join(map(str, self.numbers[:5]))}"
        return asked_again([Batch(copies, name, as_written=self.as_written)])


def recount(
    job: Job, number: int, attacks: NumberedAttacks, tried: Tried, numbers: Sequence[int], *, as_written: bool = False
) -> Iterator[Recounted]:
    """Tries attacks with these numbers again, as one batch, and yields what is answered differently.

    An answer that differs by rounding, where two classes tie, is not different. Nothing is known about a target after
    the first attack that changes its answer.
    """
    runs = (NO_CHANGE if each == NEVER else attacks.run(each, each + 1) for each in numbers)
    piece = AttackedAgain(number, numbers, Attacks.joined(runs), as_written)
    ((_, (answers, tied)),) = ask(job, [piece])
    for place, each in enumerate(numbers):
        before, there = (tried.first == NEVER) | (each < tried.first), tried.first == each
        expected = np.where(there & (each != NEVER), tried.answers, tried.labels)
        wrong = (before | there) & (answers[place] != expected) & ~tied[place]
        for target in np.flatnonzero(wrong).tolist():
            yield Recounted(number, each, target, int(expected[target]), int(answers[place, target]))


def audit_trial(trial: Trial) -> None:
    """Tries attacks again: the first and the last, and some more, half of them breaking ones where there are any.

    Refuses answers that differ.
    """
    generator = np.random.default_rng(0)
    ends = [max(0, min(each.done, limit)) for each, limit in zip(trial.tried.values(), trial.limits, strict=True)]
    broken = [
        (number, int(one)) for number, each in trial.tried.items() for one in np.unique(each.first) if one != NEVER
    ]
    chosen = [broken[place] for place in generator.permutation(len(broken))[: AUDITED // 2].tolist()]
    graphs = generator.integers(len(ends), size=AUDITED - len(chosen)).tolist()
    chosen += [(number, int(generator.integers(NEVER, ends[number]))) for number in graphs]
    for number, attack in sorted({(0, NEVER), (len(ends) - 1, ends[-1] - 1), *chosen}):
        about = trial.attacks_on(number), trial.tried[number]
        for each in recount(trial.job, number, *about, [attack], as_written=True):
            what = f"attack {each.attack} on graph {number}" if attack != NEVER else f"graph {number}"
            raise UnsteadyAnswersError(
                f"The base classifier answers {what} (target {each.target}) with class {each.expected} in a batch, but "
                f"with class {each.found} alone, now. What it answers depends on the graphs beside it, on chance or "
                "on time: take batch statistics, randomness and counters out of it, or try attacks one by one: "
                "batch_size=1."
            )
