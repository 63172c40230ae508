"""`starcert slack` and `starcert frontier`: what a noise certifies, from a bound, votes, or a store of votes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert import __version__
from starcert.cli.command_line import JsonOption, app
from starcert.cli.printing import certificates_table, frontier_object, frontier_view, show
from starcert.errors import InvalidParameterError
from starcert.runs.setting_values import parse_counts, parse_noise, parse_radius
from starcert.runs.settings import SETTINGS

if TYPE_CHECKING:
    from starcert.certificate import Certificates
    from starcert.core.confidence import Bounds

__all__ = ["frontier", "slack"]

_NOISE = typer.Option(help=SETTINGS["noise"].help, metavar=SETTINGS["noise"].metavar)


@app.command()
def slack(
    noise: Annotated[str, _NOISE],
    radius: Annotated[str, typer.Option(help="The attack: motif=1,random=45.", metavar="AXIS=COUNT,…")],
    as_json: JsonOption = False,
) -> None:
    """How much failure probability a radius forgives: it is certified iff 1 − p_A < slack.

    For example:

    starcert slack --noise motif=0.02,random=0.45 --radius motif=1,random=45
    """
    from starcert.attacks import slacks_of  # noqa: PLC0415  (see frontier)

    law = parse_noise(noise)
    counts = parse_radius(law, radius, "--radius")
    slacks = slacks_of(law.product)
    bracket = slacks.bracket(counts)
    value = min(max(slacks.value(counts), bracket.below), bracket.at_least)  # the proof knows the last digit
    if as_json:
        result = {
            "axes": law.axes,
            "radius": counts,
            "slack": value,
            "proved": {"above": bracket.below, "at_most": bracket.at_least},
            "version": __version__,
        }
        print(json.dumps(result))
    else:
        named = ", ".join(f"{axis} {count}" for axis, count in zip(law.axes, counts, strict=True))
        show(
            f"slack({named}) ≈ {value!r}",
            f"Certified iff 1 − p_A < slack. Proved: {bracket.below!r} < slack ≤ {bracket.at_least!r}.",
        )


@app.command()
def frontier(
    noise: Annotated[str | None, _NOISE] = None,
    max_radius: Annotated[
        str | None,
        typer.Option(
            help="The box of radii to look at: motif=35,random=45. Without it, every axis as far as it goes.",
            metavar="AXIS=COUNT,…",
        ),
    ] = None,
    p_lower: Annotated[
        float | None, typer.Option(help="A lower bound on the class's probability, taken for certain.")
    ] = None,
    votes: Annotated[
        str | None, typer.Option(help="Estimation votes, one count a class: 99950,50.", metavar="COUNT,…")
    ] = None,
    selection: Annotated[
        str | None,
        typer.Option(
            help="Selection votes: 995,5. Without them the class is chosen on --votes, at a share of alpha.",
            metavar="COUNT,…",
        ),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="A file of stored votes: all its graphs are certified, under its own noise.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="With votes: the probability that a graph's certificate fails (not the confidence).",
            show_default="0.01",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The maximal certified radii of a graph, each verdict proved.

    For example:

    starcert frontier --noise motif=0.02,random=0.45 --max-radius motif=35,random=45 --p-lower 0.9995

    starcert frontier --noise bonds=0.04/0.2 --votes 99950,50 --selection 995,5 --alpha 0.01 --json

    starcert frontier --store votes.db
    """
    given = {"--p-lower": p_lower, "--votes": votes, "--store": store}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise InvalidParameterError(
            " / ".join(given),
            "be given, one of them",
            " and ".join(named) or "none",
            "Write --p-lower 0.9995, or --votes 99950,50 --selection 995,5, or --store votes.db.",
        )
    if store is not None:
        for name, value in (("--noise", noise), ("--selection", selection)):
            if value is not None:
                raise InvalidParameterError(name, "be left out with --store", value, "A store has its own.")
        missing, certificates = _from_store(store, max_radius, 0.01 if alpha is None else alpha)
        if as_json:
            several = certificates.targets.any()
            objects = [
                {"graph": one.object} | ({"target": one.target} if several else {}) | frontier_object(one)
                for one in certificates
            ]
            print(json.dumps({"store": str(store), "graphs": objects, "without_votes": missing}))
        elif len(certificates) == 1 and not missing:
            show(*frontier_view(certificates[0]))
        else:
            show(*certificates_table(certificates, certificates.names, missing))
        return
    from starcert.certificate import certify  # noqa: PLC0415  (numba and flint: only where they are needed)

    if noise is None:
        raise InvalidParameterError("--noise", "be given", None, "Write for instance --noise motif=0.02,random=0.45.")
    law = parse_noise(noise)
    limits = None if max_radius is None else parse_radius(law, max_radius, "--max-radius")
    bounds = _bounds(p_lower, votes, selection, alpha)
    (certificate,) = certify(bounds, law, max_radius=limits)
    if as_json:
        print(json.dumps(frontier_object(certificate)))
    else:
        show(*frontier_view(certificate))


def _bounds(p_lower: float | None, votes: str | None, selection: str | None, alpha: float | None) -> Bounds:
    from starcert.core.confidence import Bounds, Votes, clopper_pearson  # noqa: PLC0415

    if votes is None:
        if selection is not None:
            raise InvalidParameterError("--selection", "come with --votes", selection, "Drop it, or give --votes too.")
        if alpha is not None:
            raise InvalidParameterError(
                "--alpha", "come with votes", alpha, "--p-lower is taken for certain: drop --alpha."
            )
        return Bounds.certain([0.0 if p_lower is None else p_lower])
    counted = parse_counts(votes, "--votes")
    if len(counted) < 2:
        raise InvalidParameterError(
            "--votes", "have a count for each class, two or more", votes, "Write --votes 970,30."
        )
    chosen = None if selection is None else [parse_counts(selection, "--selection")]
    return clopper_pearson(Votes([counted], selection=chosen), alpha=0.01 if alpha is None else alpha)


def _from_store(path: Path, max_radius: str | None, alpha: float) -> tuple[list[int], Certificates]:
    """The graphs that have no votes yet, and the certificates of the others."""
    from starcert.certificate import certify  # noqa: PLC0415
    from starcert.core.confidence import Votes, check_alpha, clopper_pearson  # noqa: PLC0415
    from starcert.noise import Noise  # noqa: PLC0415
    from starcert.store import VoteStore  # noqa: PLC0415

    check_alpha(alpha)
    with VoteStore.read(path) as stored:
        law = Noise.from_dict(stored.settings.noise)
        counts, chosen = stored.counts("estimation"), stored.counts("selection")
        stopped, rows, graphs = stored.stopped, stored.rows, [stored.graphs[graph] for graph, _ in stored.rows]
    voted = [i for i in range(len(rows)) if counts[i].any() and chosen[i].any()]
    if not voted:
        raise InvalidParameterError(
            "--store",
            "hold selection and estimation votes of some graph",
            f"none of {len(graphs)}",
            "Let the run go on: it continues where it was when it is started again.",
        )
    objects, targets = zip(*(rows[i] for i in voted), strict=True)
    certificates = certify(
        clopper_pearson(
            Votes(counts[voted], selection=chosen[voted], objects=objects, targets=targets, stopped=stopped),
            alpha=alpha,
        ),
        law,
        max_radius=None if max_radius is None else parse_radius(law, max_radius, "--max-radius"),
        boxes=[dict(graphs[i].sizes) for i in voted],  # stored, not computed from sites here
        anchored=[graphs[i].anchored for i in voted],
    )
    return [rows[i][0] for i in range(len(graphs)) if i not in set(voted)], certificates
