"""Another attack to show of a molecule, where the first one that breaks leaves an atom more bonds than it can have.

Attacks that keep valences are tried in their order, until every answer has one that changes it. That decides nothing
but what is shown: verdicts, counts and files are about the first attack that breaks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from starcert.methods.trying import NEVER, AttackedObjects, Trial, Tried, attacks_at_once
from starcert.objects.threats import Attacks
from starcert.objects.threats.valence import keep_valences
from starcert.voting.ask import ask

SCANNED = 2**16  # attacks on an object, the first ones, among which others to show are looked for
STEP = 2**12  # of these at a time


class Plausible(NamedTuple):
    """Attacks on one object that keep valences, and where they first change the answer of each target."""

    attacks: Attacks
    tried: Tried

    def of(self, target: int) -> tuple[Attacks, int] | None:
        """The first one that changes the answer of a target, and into what; None: none was found."""
        first = int(self.tried.first[target])
        if first == NEVER:
            return None
        return self.attacks.run(first, first + 1), int(self.tried.answers[target])


def find_plausible(trial: Trial, number: int) -> Plausible | None:
    """The attack to show in place of those on an object that break valences; None: there are none, or no valences."""
    sites, mine, limit = trial.job.sites[number], trial.tried[number], trial.limits[number]
    attacks, broken = trial.attacks_on(number), (mine.first != NEVER) & (mine.first < limit)
    numbers = np.unique(mine.first[broken])
    first = Attacks.joined(attacks.run(one, one + 1) for one in numbers.tolist())
    kept = keep_valences(sites, first) if len(numbers) else None
    if kept is None or kept.all():
        return None
    wanted, step = np.isin(mine.first, numbers[~kept]), attacks_at_once(trial.job, number)
    nothing = [NEVER] * len(mine.labels)
    found, runs, done = Tried(mine.labels.tolist(), nothing, nothing), list[Attacks](), 0
    end = min(limit, SCANNED)
    for start in range(int(numbers[~kept].min()), end, STEP):
        run = attacks.run(start, min(start + STEP, end))
        keeping = keep_valences(sites, run)
        assert keeping is not None  # valences are known
        places = np.flatnonzero(keeping)
        for some in np.split(places, range(step, len(places), step)) if len(places) else ():
            runs.append(run.where(np.isin(np.arange(len(run)), some)))
            for piece, shown in ask(trial.job, [AttackedObjects(number, done, runs[-1])]):
                found.add(piece, shown)
            done += len(some)
            if (found.first[wanted] != NEVER).all():
                return Plausible(Attacks.joined(runs), found)
    return Plausible(Attacks.joined(runs), found)
