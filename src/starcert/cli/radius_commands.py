"""`starcert radius`: what a noise certifies, of one radius, or from a bound or votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from starcert import __version__
from starcert.claims.certificate import Certificate
from starcert.claims.from_bounds import certify
from starcert.claims.slack import slacks_of
from starcert.cli.command_line import JsonOption, app, report
from starcert.math.confidence import Bounds, clopper_pearson
from starcert.math.votes import Votes
from starcert.objects.noise import Noise
from starcert.runs.setting_values import parse_counts, parse_noise, parse_radius
from starcert.runs.settings import SETTINGS
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.output import table

if TYPE_CHECKING:
    from rich.console import RenderableType

_NOISE = typer.Option(help=SETTINGS["noise"].help, metavar=SETTINGS["noise"].metavar)
_BOX = "The box of radii to look at: motif=35,random=45. Without it, every axis as far as it goes."
_SELECTION = "Selection votes: 995,5. Without them the class is chosen on --votes, at a share of alpha."
_ALPHA = "With votes: the probability that a graph's certificate fails (not the confidence). Default: 0.01."


@app.command()
def radius(
    noise: Annotated[str | None, _NOISE] = None,
    radius: Annotated[
        str | None, typer.Option(help="One attack, for its slack: motif=1,random=45.", metavar="AXIS=COUNT,…")
    ] = None,
    max_radius: Annotated[str | None, typer.Option(help=_BOX, metavar="AXIS=COUNT,…")] = None,
    p_lower: Annotated[
        float | None, typer.Option(help="A lower bound on the class's probability, taken for certain.")
    ] = None,
    votes: Annotated[
        str | None, typer.Option(help="Estimation votes, one count a class: 99950,50.", metavar="COUNT,…")
    ] = None,
    selection: Annotated[str | None, typer.Option(help=_SELECTION, metavar="COUNT,…")] = None,
    alpha: Annotated[float | None, typer.Option(help=_ALPHA)] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute what a noise certifies: the slack of one radius, or the maximal radii of a bound or votes.

    The slack is how much failure probability a radius forgives: it is certified iff 1 − p_A < slack. All is proved.

    For example:

    starcert radius --noise motif=0.02,random=0.45 --radius motif=1,random=45

    starcert radius --noise motif=0.02,random=0.45 --max-radius motif=35,random=45 --p-lower 0.9995

    starcert radius --noise bonds=0.04/0.2 --votes 99950,50 --selection 995,5 --alpha 0.01 --json
    """
    given = {"--radius": radius, "--p-lower": p_lower, "--votes": votes}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        hint = "Write --radius motif=1, --p-lower 0.9995, or --votes 99950,50 --selection 995,5."
        raise StarcertError(f"Give one of {', '.join(given)}, not {' and '.join(named) or 'none'}. {hint}")
    if noise is None:
        raise InvalidParameterError("--noise", "is missing. Write for instance --noise motif=0.02,random=0.45.")
    law = parse_noise(noise)
    if radius is not None:
        others: dict[str, object] = {"--max-radius": max_radius, "--selection": selection, "--alpha": alpha}
        for name, each in others.items():
            if each is not None:
                raise InvalidParameterError(name, "cannot be combined with --radius: a slack depends on no votes.")
        _report_slack(law, parse_radius(law, radius, "--radius"), as_json=as_json)
        return
    limits = None if max_radius is None else parse_radius(law, max_radius, "--max-radius")
    bounds = _bounds(p_lower, votes, selection, alpha)
    (certificate,) = certify(bounds, law, max_radius=limits)
    report(as_json, lambda: _frontier_object(certificate), lambda: _frontier_view(certificate))


def _report_slack(law: Noise, counts: tuple[int, ...], *, as_json: bool) -> None:
    slacks = slacks_of(law.product)
    bracket = slacks.bracket(counts)
    value = min(max(slacks.value(counts), bracket.below), bracket.at_least)  # the proof knows the last digit
    proved = {"above": bracket.below, "at_most": bracket.at_least}
    stands = "given the law" if law.outside else "proved"  # nothing rests on a law from outside that is proved
    values = {"axes": law.axes, "radius": counts, "slack": value, stands: proved, "version": __version__}
    named = ", ".join(f"{axis} {count}" for axis, count in zip(law.axes, counts, strict=True))
    view = (
        f"slack({named}) ≈ {value!r}",
        f"Certified iff 1 − p_A < slack. {stands.capitalize()}: {bracket.below!r} < slack ≤ {bracket.at_least!r}.",
    )
    report(as_json, lambda: values, lambda: view)


def _bounds(p_lower: float | None, votes: str | None, selection: str | None, alpha: float | None) -> Bounds:
    if votes is None:
        if selection is not None:
            raise InvalidParameterError("--selection", "needs --votes.")
        if alpha is not None:
            raise InvalidParameterError("--alpha", "needs --votes: --p-lower is taken for certain.")
        return Bounds.certain([0.0 if p_lower is None else p_lower])
    counts = parse_counts(votes, "--votes")
    if len(counts) < 2:
        hint = "Write --votes 970,30."
        raise InvalidParameterError("--votes", "have a count for each class, two or more", votes, hint)
    chosen = None if selection is None else [parse_counts(selection, "--selection")]
    return clopper_pearson(Votes([counts], selection=chosen), alpha=0.01 if alpha is None else alpha)


def _frontier_object(certificate: Certificate) -> dict[str, object]:
    """A certificate as JSON values."""
    found = certificate.frontier
    return {
        "axes": certificate.noise.axes,
        "max_radius": certificate.max_radius,
        "label": certificate.label,
        "abstained": certificate.abstained,
        "frontier": found.radii,
        "beyond": found.beyond,
        "verified": found.verified and not certificate.noise.outside,
        "incomplete": found.incomplete or None,
        "margin_kind": certificate.margin_kind,
        "p_lower": certificate.p_lower,
        "failure": float(certificate.bounds.failure[0]),
        "other": float(certificate.bounds.other[0]),
        "alpha": certificate.alpha,
        "together": certificate.together,
        "noise": certificate.noise.to_dict(),
        "anchored": certificate.anchored or None,
        "guarantee": str(certificate),
        "version": __version__,
    }


def _frontier_view(certificate: Certificate) -> list[RenderableType]:
    """The frontier of a certificate as a table, and the sentence that it says."""
    found, outside = certificate.frontier, certificate.noise.outside
    if certificate.abstained:
        return [str(certificate)]
    proved = f", given the law {', '.join(outside)}" if outside else ", proved"
    view: list[RenderableType] = [
        table("Maximal certified radii" + proved * found.verified, certificate.noise.axes, found.radii),
        "",
    ]
    view.append(str(certificate))
    if found.incomplete:
        view.append(
            f"Incomplete ({found.incomplete}): these radii are proved, and others may be certified too. For all of "
            "them, look at a smaller box: --max-radius. Certificate.certified, in Python, decides any one radius."
        )
    return view
