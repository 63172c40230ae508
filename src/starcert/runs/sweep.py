"""A sweep from its settings to its output folder: load, vote level by level, measure, write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from starcert.certificates.certify import Certificates
from starcert.objects.noise import Noise
from starcert.pages.compared_runs import share_interval
from starcert.pages.document import KeyFigure, ShownLevel, SweepPage, write_sweep_page
from starcert.runs.certification import certified
from starcert.runs.forecast import forecast_of_levels
from starcert.runs.grid import ACCURACY, noise_text
from starcert.runs.inputs import RunInputs, TriedModel, check_expected, read_inputs, try_model
from starcert.runs.models import asks_for, other_noise
from starcert.runs.run_file import RUN, OutputFolder, RunRecord, read_run_file
from starcert.runs.sweep_levels import SweepLevel, marks_of, measure_levels, outcome_of
from starcert.runs.sweep_result import (
    SweepResult,
    SweepSettings,
    about_graphs,
    advice,
    flip_counts,
    next_command,
    notices,
    tie_sentence,
    verdict,
)
from starcert.runs.user_code import voting_workers
from starcert.system.errors import InvalidParameterError, StarcertError, StoreSettingsError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines, duration

TABLE, PAGE, VOTES = "sweep.csv", "sweep.html", "votes"


def run_sweep(
    settings: SweepSettings,
    *,
    expected: Mapping[str, str] | None = None,
    note: Callable[[str], None] = print,
    before: Callable[..., None] | None = None,
) -> SweepResult:
    """Tries every noise level of a grid on the graphs of a run, and writes the output folder.

    A sweep that was interrupted goes on where it was: its votes are kept, one file for each level. A model function
    with a parameter `noise` is called for each level, and again when a sweep goes on: it must return the same model.

    Args:
        settings: what to try, and on what.
        expected: digests of what a repeated sweep was made from; others are refused.
        note: receives what a user may want to know on the way.
        before: receives, sentence by sentence, what is known before the first vote; None: nothing is measured.
    """
    if settings.run.targets == "nodes":
        hint = "Certify the nodes at one level after the other: starcert certify run.toml --noise …"
        raise InvalidParameterError("targets", "be graphs in a sweep", "nodes", hint)
    place = OutputFolder(settings.run.out)
    place.check_place()
    with place.held():
        return _swept(settings, place, expected or {}, note, before)


def _swept(
    settings: SweepSettings,
    place: OutputFolder,
    expected: Mapping[str, str],
    note: Callable[[str], None],
    before: Callable[..., None] | None,
) -> SweepResult:
    inputs, n_unlabelled = _labelled(read_inputs(settings.run))
    for sentence in inputs.notes:
        note(sentence)
    one_model = not asks_for(settings.run.model, "noise")
    first = try_model(settings.run, inputs)
    for sentence in other_noise(settings.run.weights, settings.levels):
        note(sentence)
    # Graphs, regions and classifier are checked by the files of votes; a certification may go on from this run file
    # with other graphs.
    digests = {"model": settings.run.model.digest}
    check_expected(digests, {name: each for name, each in expected.items() if name in digests})
    certifying = dict(settings.certifying) | ({} if settings.run.split == "all" else {"split": "test"})
    begun = replace(settings.run, noise=_noise_there(place, settings))
    record = RunRecord(begun, digests, settings.grid, str(settings.goal or ""), certifying)
    place.begin(record)
    stores = _stores(place, settings)
    if before is not None and not (place.finished and settings.run.plan == "decided"):  # then all was decided
        for sentence in forecast_of_levels(settings.run, first, stores):  # each as soon as it is known
            before(sentence)
    outcomes, marks, anchored = [], [], dict[str, None]()
    for certificates, ready in _levels(settings, inputs, first, one_model, stores, note):
        problem = ready.problem.under(certificates.noise)
        outcomes.append(
            outcome_of(certificates, ready.data.known, ready.answers, problem.capacities, settings.max_flips)
        )
        marks.append(marks_of(settings.goal or ACCURACY, certificates, outcomes[-1]))
        anchored |= dict.fromkeys(reason for reason in problem.anchored if reason)
    classes, counts = np.unique(outcomes[0].truth, return_counts=True)
    sweep = SweepResult(
        settings=settings,
        levels=measure_levels(outcomes),
        class_names=first.data.class_names,
        majority=int(classes[counts.argmax()]),
        n_unlabelled=n_unlabelled,
        anchored=tuple(anchored),
        one_model=one_model,
        folder=place.final,
        marks=tuple(marks),
        drawn=inputs.drawn,
    )
    _write_run_file(place, sweep, record)
    write_whole(place.kept / TABLE, csv_lines(sweep_rows(sweep)))
    write_sweep_page(place.kept / PAGE, page_of(sweep))
    place.finish()
    return sweep


def _labelled(inputs: RunInputs) -> tuple[RunInputs, int]:
    """The graphs whose class is known, and how many others there are."""
    known = inputs.chosen.labelled
    if not len(known):
        raise StarcertError(
            "A sweep weighs certified radii against accuracy, but no class of these graphs is known. Give data with "
            "classes; for graph files that is labels.csv with the columns name and label, in a table of molecules the "
            "column label, or --columns label=COLUMN."
        )
    return replace(inputs, chosen=known), len(inputs.chosen) - len(known)


def _levels(
    settings: SweepSettings,
    inputs: RunInputs,
    first: TriedModel,
    one_model: bool,
    stores: Sequence[Path],
    note: Callable[[str], None],
) -> Iterator[tuple[Certificates, TriedModel]]:
    """The certificates of every level, and what they were made with."""
    once = cache(note)  # what is true of one level is not repeated for the next
    with ExitStack() as resources:
        ready, executor, begun = first, None, time.monotonic()
        for number, (noise, store) in enumerate(zip(settings.levels, stores, strict=True), start=1):
            if number > 1 and not one_model:
                ready = try_model(replace(settings.run, noise=noise), inputs, first.problem)
            if number == 1 or not one_model:
                resources.close()  # the workers of the last model
                executor = resources.enter_context(
                    voting_workers(ready.base, settings.run.model.file, settings.run.workers, once)
                )
            left = (len(settings.levels) - number + 1) * (time.monotonic() - begun) / max(1, number - 1)
            whole = f" (all levels: about {duration(left)} left)" if number > 1 else ""
            title = f"level {number} of {len(settings.levels)}{whole}: {noise_text(noise)}"
            try:
                problem = ready.problem.under(noise)
                found = certified(
                    settings.run, ready, problem, seed=settings.seed, store=store, executor=executor, title=title
                )
            except StoreSettingsError as error:
                differences = "; ".join(error.differences[:5])
                advice = f"Give another --out, or remove {store.parents[1]} first."
                raise StarcertError(f"{store}: holds votes of another sweep ({differences}). {advice}") from error
            yield found, ready


def _stores(place: OutputFolder, settings: SweepSettings) -> list[Path]:
    """The file of votes of each level, in a folder that is made for them."""
    folder, n_levels = place.kept / VOTES, len(settings.levels)
    folder.mkdir(exist_ok=True)
    return [folder / f"level-{number:0{len(str(n_levels))}d}.db" for number in range(1, n_levels + 1)]


def _write_run_file(place: OutputFolder, sweep: SweepResult, record: RunRecord) -> None:
    """Writes the run file of a finished sweep: `starcert sweep` repeats it, `starcert certify` does what it advises.

    Its noise is the suggested level's, or else the user's own. Samples and limit outside the table [sweep] are those
    that the user certifies with; where the data are divided, the part is the one that no sweep has seen.
    """
    settings = sweep.settings
    noise = settings.own_noise if sweep.suggested is None else sweep.levels[sweep.suggested].noise
    whose = "your own: no level is suggested" if sweep.suggested is None else f"that of level {sweep.suggested + 1}"
    about = f"starcert certify takes this file too, without its table sweep: the noise is {whose}."
    comments = [about, *filter(None, [tie_sentence(sweep)])]
    place.write_run_file(replace(record, settings=replace(settings.run, noise=noise), comments=comments))


def _noise_there(place: OutputFolder, settings: SweepSettings) -> Noise:
    """The noise that the run file of this sweep has, where the folder holds one: any that gives the same levels.

    A sweep that is run again does not know yet what the finished one suggested.
    """
    for folder in (place.final, place.partial):
        try:
            noise = read_run_file(folder / RUN).values.get("noise")
            if isinstance(noise, Noise) and settings.grid.levels(noise) == settings.levels:
                return noise
        except StarcertError:  # there is none, or none that this sweep could go on from: `begin` reports it
            continue
    return settings.run.noise


def sweep_rows(sweep: SweepResult) -> Iterator[dict[str, object]]:
    """What is known about each level, by column; None where there is nothing to say."""
    for number, level in enumerate(sweep.levels):
        axes = level.noise.axes
        laws = [level.noise[region] for region in level.noise.regions]
        # One number for each axis; how many values there are stands after them.
        chances = [chance for law in laws for chance in list(law.numbers.values())[: len(law.suffixes)]]
        beater = sweep.beaten_by[number]
        yield {
            "level": number + 1,
            "noise": noise_text(level.noise),
            **{f"p_{axis}": chance for axis, chance in zip(axes, chances, strict=True)},
            "graphs": level.n_graphs,
            "samples": sweep.settings.run.samples,
            "accuracy": level.accuracy,
            **dict(zip(("accuracy_low", "accuracy_high"), share_interval(level.n_right, level.n_graphs), strict=True)),
            **_by_goal(sweep, number),
            "majority_share": level.majority_share,
            "no_better_than_constant": level.constant,
            "abstained": level.n_abstained / level.n_graphs,
            "most_frequent_answer": None if level.answer is None else sweep.class_names[level.answer],
            "most_frequent_answer_share": level.answer_share,
            "base_accuracy": level.n_base_right / level.n_graphs,
            **{f"graphs_without_{axis}": n for axis, n in zip(axes, level.n_without, strict=True)},
            **{f"mean_radius_{axis}": mean for axis, mean in zip(axes, level.mean_radii, strict=True)},
            **{
                f"right_at_{axis}_{step}": share
                for axis, shares in zip(axes, level.shares, strict=True)
                for step, share in zip(level.steps, shares, strict=True)
            },
            **_by_counts(level),
            **_by_flips(sweep, level),
            "volume": level.volume,
            "score": level.score,
            "unbeaten": beater is None,
            "beaten_by": None if beater is None else beater + 1,
        }


def _by_goal(sweep: SweepResult, number: int) -> dict[str, object]:
    """How a level stands by the goal; where none is named, what there is to say beyond its accuracy."""
    goal, own = sweep.goal, sweep.standings[number]
    named: dict[str, object] = {str(goal): own.value, f"{goal}_low": own.low, f"{goal}_high": own.high}
    apart: dict[str, object] = {
        f"{goal}_less_best": own.by,
        f"{goal}_less_best_low": own.least,
        f"{goal}_less_best_high": own.most,
    }
    return (named if goal != ACCURACY else {}) | apart | {"tie_with_best": own.tie, "best": number == sweep.suggested}


def _by_counts(level: SweepLevel) -> dict[str, object]:
    """With evidence, how far the level reaches by p_A alone."""
    if level.by_counts is None:
        return {}
    axes, (means, shares) = level.noise.axes, level.by_counts
    return {f"mean_radius_by_p_A_{axis}": mean for axis, mean in zip(axes, means, strict=True)} | {
        f"right_at_{axis}_{step}_by_p_A": share
        for axis, of_axis in zip(axes, shares, strict=True)
        for step, share in zip(level.steps, of_axis, strict=True)
    }


def _by_flips(sweep: SweepResult, level: SweepLevel) -> dict[str, object]:
    """Shares of the graphs that are right and certified by p_A, by whichever argument, broken or open."""
    return {
        f"any_{each.flips}_{name}": count / each.n_graphs
        for each in level.any_flips
        for name, count in (("by_p_A", each.n_by_p_A), *flip_counts(sweep, each))
        if each.n_graphs
    }


def page_of(sweep: SweepResult) -> SweepPage:
    """What the page of a sweep says."""
    run, first, goal = sweep.settings.run, sweep.levels[0], sweep.settings.goal
    factors = sweep.settings.grid.factors
    # Which value of each factor every level has, in the order of the grid.
    places = list(product(*(range(len(factor.values)) for factor in factors)))
    radii = [f"mean radius, {axis}" for axis in first.noise.axes]
    alone = [f"by p_A alone, {axis}" for axis in first.noise.axes] if run.evidence else []
    flips = [f"any {each.flips:,}: {what}" for each in first.any_flips for what, _ in flip_counts(sweep, each)]
    named = [] if goal is None else [str(goal).replace("@", " @ ").replace(",", ", ")]
    majority, better = sweep.class_names[sweep.majority], "unbeaten levels that are better than a constant answer"
    return SweepPage(
        title=f"Choosing the noise: {run.data_title}",
        texts={
            "samples": run.samples,
            "evidence": run.evidence,
            "any_flips": sweep.settings.max_flips,
            "about_graphs": about_graphs(sweep),
            "advice": advice(sweep),
            "tie": tie_sentence(sweep),
        },
        numbers=[
            KeyFigure(f"{len(sweep.levels):,}", "noise levels", "number-levels"),
            KeyFigure(f"{first.n_graphs:,}", "graphs", "number-graphs"),
            KeyFigure(f"{first.majority_share:.1%}", "majority-class share", "number-majority", majority),
            KeyFigure(f"{len(sweep.worthwhile):,}", better, "number-unbeaten"),
        ],
        notices=list(notices(sweep)),
        settings=list(_settings_shown(sweep)),
        columns=["accuracy", *named, "less the best", "abstains", *radii, *alone, *flips, "volume", "score"],
        order=sweep.order,
        factors=[(factor.name, factor.texts) for factor in factors],
        axes=first.noise.axes,
        majority=first.majority_share,
        goal=None if goal is None else (goal.description, goal.kind == "accuracy"),
        chosen=sweep.unbeaten[0] if sweep.suggested is None else sweep.suggested,
        levels=[_level_shown(sweep, number, at) for number, at in enumerate(places)],
    )


def _level_shown(sweep: SweepResult, number: int, at: tuple[int, ...]) -> ShownLevel:
    level, goal, own = sweep.levels[number], sweep.goal, sweep.standings[number]
    named = sweep.settings.goal is not None
    less = f"{goal.apart(own.by)} ({goal.apart(own.least, own.most)}){', tie' * own.tie}"
    is_best = number == sweep.suggested
    low, high = share_interval(level.n_right, level.n_graphs)
    by_counts = () if level.by_counts is None else level.by_counts.mean_radii
    return ShownLevel(
        noise=noise_text(level.noise),
        at=at,
        accuracy=level.accuracy,
        radii=level.mean_radii,
        volume=level.volume,
        score=level.score,
        goal=own.value,
        unbeaten=sweep.beaten_by[number] is None,
        constant=level.constant,
        verdict=verdict(sweep, number),
        standing=(f"{goal.description} {goal.show(own.value)}; " if named else "")
        + ("the best" if is_best else f"less the best by {goal.description}: {less}"),
        command=next_command(sweep, number, f"{sweep.folder.name}/{RUN}"),
        cells=(
            f"{level.accuracy:.1%} ({low:.0%}–{high:.0%})",
            *([f"{goal.show(own.value)} ({goal.within(own.low, own.high)})"] if named else []),
            "best" if is_best else less,
            f"{level.n_abstained / level.n_graphs:.1%}",
            *(f"{mean:.2f}" for mean in (*level.mean_radii, *by_counts)),
            *(f"{n:,}" for each in level.any_flips for _, n in flip_counts(sweep, each)),
            "" if level.volume is None else f"{level.volume:,.1f}",
            "" if level.score is None else f"{level.score:,}",
        ),
        answer="none" if level.answer is None else sweep.class_names[level.answer],
        answer_share=f"{level.answer_share:.0%}",
    )


def _settings_shown(sweep: SweepResult) -> Iterator[tuple[str, str]]:
    run = sweep.settings.run
    yield "model", str(run.model) + (", the same for all levels" if sweep.one_model else ", made for each level")
    yield "data", about_graphs(sweep)
    yield "regions", str(run.regions or "every node pair")
    yield "grid", str(sweep.settings.grid)
    fixed = sweep.settings.grid.fixed(sweep.levels[0].noise)
    if fixed:
        yield "noise at all levels", ", ".join(f"{name}={law}" for name, law in fixed.items())
    for key in ("samples", "selection_samples", "alpha", "family", "seed", "split_seed"):
        yield key, str(getattr(run, key))
    if run.evidence:
        yield "evidence", f"yes, with at most {run.own_samples:,} votes at attacked versions of a graph"
    if run.threat is not None:
        yield "threat", str(run.threat)
    if run.plan != "fixed":
        yield "plan", run.plan
