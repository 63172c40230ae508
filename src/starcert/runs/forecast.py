"""The forecast of a run before its first vote: the number of votes, what they can certify, what is fixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from starcert.claims.metrics import votes_needed
from starcert.classifiers.base import named_classes
from starcert.objects.threats import attackable
from starcert.objects.threats.attacks import MAX_ATTACKS
from starcert.objects.threats.base import refuse_many
from starcert.objects.words import Words
from starcert.report.findings import fixed_pairs, invisible_sites
from starcert.runs.inputs import TriedModel
from starcert.system.output import quantity
from starcert.voting.plans import check_memory, default_selection

MAX_NEEDED = 8  # kinds of attacks whose votes are computed and written out


def forecast_of(ready: TriedModel, n_levels: int = 0, *, classes: bool = True) -> Iterator[str]:
    """The forecast of a run whose model was tried, or of the levels of a sweep; what votes need is about classes."""
    problem, settings = ready.problem, ready.settings
    if settings.evidence and all(problem.without_evidence):
        settings = settings.changed(evidence=False, own_samples=None, collective=False)
        ready = replace(ready, settings=settings)
    further = settings.max_own_votes
    names = ready.data.class_names
    if classes and names != tuple(map(str, range(len(names)))):
        yield f"Classes: {named_classes(names)}"
    check_memory(ready.job)
    words = Words.of(problem.sites, nodes=settings.targets == "nodes")
    objects = quantity(len(problem), words.whole)
    each = settings.samples + (settings.selection_samples or default_selection(settings.samples)) + further
    on = f"{quantity(n_levels, 'level')} on " if n_levels else ""
    most = "at most " if settings.plan == "decided" or further else ""
    attacked = ", those at attacked ones included" if further and not n_levels else ""
    yield f"{on}{objects}, {most}{each:,} votes each{attacked}."
    if n_levels:
        return
    yield from _listed(ready, words)
    yield from _needed(ready, words) if classes else ()
    for place, axis in enumerate(problem.noise.axes):
        empty = sum(capacity[place] == 0 for capacity in problem.capacities)
        if empty:
            yield f"Empty: {axis} has no sites in {empty:,} of {objects}."
    fixed = fixed_pairs([sites.n_fixed for sites in problem.sites], words)
    yield from filter(None, (fixed, invisible_sites(problem.noise, problem.capacities, problem.anchored)))


def _listed(ready: TriedModel, words: Words) -> Iterator[str]:
    """The number of attacks listed by a threat that is not about radii; too many are refused here."""
    threat, noise = ready.settings.threat, ready.problem.noise
    if threat is None or threat.by_radius:
        return
    seen = [attackable(each, noise) for each in ready.problem.sites]
    sizes = range(1, threat.most + 1)
    of_sizes = [[threat.count(each, size) for size in sizes] for each in seen]
    for size in sizes:
        if (most := max(each[size - 1] for each in of_sizes)) > MAX_ATTACKS:
            refuse_many(threat, size, most)
    numbers = [sum(each) for each in of_sizes]
    none = f"; none on {quantity(numbers.count(0), words.whole)}" if 0 in numbers else ""
    each = f"{min(numbers):,} to {max(numbers):,} on a {words.whole}"
    yield f"Attacks to list ({threat.label}): {sum(numbers):,}, {each}{none}."


def _needed(ready: TriedModel, words: Words) -> Iterator[str]:
    """The number of votes that the smallest attacks need, by their axes, and what no certificate can say then."""
    problem, settings, n_axes = ready.problem, ready.settings, len(ready.problem.noise.axes)
    threat = settings.threat
    listed = threat is not None and not threat.by_radius
    if threat is not None and listed:
        levels = [threat.levels(each, problem.noise, 1) for each in problem.sites]
    else:
        box = settings.limits or (1,) * n_axes
        units = [tuple(int(other == axis) for other in range(n_axes)) for axis in range(n_axes)]
        levels = [
            {unit for unit, most, size in zip(units, box, sizes, strict=True) if most and size}
            for sizes in problem.capacities
        ]
    every = sorted(set().union(*levels), key=lambda level: (sum(level), [-flips for flips in level]))
    if not every:
        return
    needed = {
        level: votes_needed(
            problem.noise,
            settings.alpha,
            len(ready.data.class_names),
            radius=level,
            together=len(ready.answers) if settings.family == "all" else 1,
            evidence=settings.evidence,
            plan=settings.plan,
        )
        for level in every[:MAX_NEEDED]
    }
    axes = problem.noise.axes
    names = {level: _name_of_level(level, axes) for level in needed}
    least = [f"{n:,}{' votes' * (not at)} ({names[level]})" for at, (level, n) in enumerate(
        each for each in needed.items() if each[1] is not None)]  # fmt: skip
    more = f" and {len(every) - len(needed):,} further kinds" * (len(every) > len(needed))
    short = [level for level, votes in needed.items() if votes is not None and votes > settings.samples]
    never = [level for level, votes in needed.items() if votes is None]
    what, by_votes = threat.label_of(1) if threat is not None and listed else "one flip", " by p_A" * settings.evidence
    said = f"By p_A, {what}" if settings.evidence else f"{what[0].upper()}{what[1:]}"
    text = f"{said} needs at least {', '.join(least)}{more}; you have {settings.samples:,}." if least else ""
    if short:
        text += f" Too few for {', '.join(names[level] for level in short)}."
    if never:
        text += f" No number of votes is enough for {', '.join(names[level] for level in never)}."
    out_of_reach = sum(not each.isdisjoint({*short, *never}) for each in levels)
    if out_of_reach and threat is not None:
        left = len(levels) - out_of_reach
        which = f"at most {left:,} of {quantity(len(levels), words.whole)}" if left else "nothing"
        text += (
            f" So{by_votes} {which} can be certified under {threat.label if settings.limits else threat.label_of(1)}."
        )
    yield text.strip()


def _name_of_level(level: tuple[int, ...], axes: Sequence[str]) -> str:
    """A short name for a level: an axis, or the number of flips on each."""
    flips = [(number, axis) for number, axis in zip(level, axes, strict=True) if number]
    return " + ".join(axis if number == 1 else f"{number:,} {axis}" for number, axis in flips)
