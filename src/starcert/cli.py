"""The command line: parse, call, print."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from starcert import __version__
from starcert.errors import InvalidParameterError, StarcertError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.certificate import Certificate
    from starcert.noise import Flip, Noise

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How many node pairs may flip, region by region, before a smoothed graph classifier changes its answer.",
)

NoiseOption = Annotated[
    str,
    typer.Option(
        help="Flip probabilities by region: motif=0.02,random=0.45. "
        "delete/add counts deletions and additions apart: bonds=0.04/0.2 has the axes bonds.delete, bonds.add.",
        metavar="REGION=P[/P],…",
    ),
]
MOST_ROWS = 20

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def main() -> NoReturn:
    """The entry point: an error of the user's ends in one line and status 2."""
    try:
        app()
    except StarcertError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"starcert {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
def frontier(
    noise: NoiseOption,
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
    alpha: Annotated[
        float,
        typer.Option(help="With --votes: the probability that the certificate fails (not the confidence)."),
    ] = 0.01,
    as_json: JsonOption = False,
) -> None:
    """The maximal certified radii of one graph, each verdict proved.

    For example:

    starcert frontier --noise motif=0.02,random=0.45 --max-radius motif=35,random=45 --p-lower 0.9995

    starcert frontier --noise bonds=0.04/0.2 --votes 99950,50 --selection 995,5 --alpha 0.01 --json
    """
    from starcert.certificate import certify  # noqa: PLC0415  (numba and flint: only where they are needed)
    from starcert.core.confidence import Bounds, Votes, clopper_pearson  # noqa: PLC0415

    law = _parse_noise(noise)
    limits = None if max_radius is None else _parse_radius(law, max_radius, "--max-radius")
    if (p_lower is None) == (votes is None):
        raise InvalidParameterError(
            "--p-lower / --votes",
            "be given one or the other",
            "both" if votes is not None else "neither",
            "Write --p-lower 0.9995, or --votes 99950,50 --selection 995,5.",
        )
    if p_lower is not None:
        if selection is not None:
            raise InvalidParameterError("--selection", "come with --votes", selection, "Drop it, or give --votes too.")
        bounds = Bounds.certain([p_lower])
    elif votes is not None:
        chosen = None if selection is None else [_parse_counts(selection, "--selection")]
        bounds = clopper_pearson(Votes([_parse_counts(votes, "--votes")], selection=chosen), alpha=alpha)
    certificate = certify(bounds, law, max_radius=limits)[0]
    if as_json:
        print(json.dumps(_frontier_object(certificate)))
    else:
        _print(*_frontier_view(certificate))


@app.command()
def slack(
    noise: NoiseOption,
    radius: Annotated[str, typer.Option(help="The attack: motif=1,random=45.", metavar="AXIS=COUNT,…")],
    as_json: JsonOption = False,
) -> None:
    """How much failure probability a radius forgives: it is certified iff 1 − p_A < slack.

    For example:

    starcert slack --noise motif=0.02,random=0.45 --radius motif=1,random=45
    """
    from starcert.attacks import slacks_of  # noqa: PLC0415  (see frontier)

    law = _parse_noise(noise)
    counts = _parse_radius(law, radius, "--radius")
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
        _print(
            f"slack({named}) = {value!r}",
            f"Certified iff 1 − p_A < slack. Proved: {bracket.below!r} < slack ≤ {bracket.at_least!r}.",
        )


def _parse_noise(text: str) -> Noise:
    from starcert.noise import Flip, Noise  # noqa: PLC0415

    def law(probabilities: str) -> Flip:
        parts = [float(part) for part in probabilities.split("/")]
        if len(parts) > 2:
            raise ValueError(probabilities)
        return Flip(parts[0]) if len(parts) == 1 else Flip(delete=parts[0], add=parts[1])

    laws: dict[str, Flip] = {}
    for name, value in _parse_items(text, "--noise", "be REGION=P or REGION=DELETE/ADD, separated by commas"):
        try:
            laws[name] = law(value)
        except InvalidParameterError as error:
            _, requirement, got, hint = error.args
            raise InvalidParameterError(f"--noise {name}", requirement, got, hint) from None
        except ValueError:
            raise InvalidParameterError(
                f"--noise {name}",
                "be a probability, or two as delete/add",
                value,
                "Write motif=0.02 or bonds=0.04/0.2.",
            ) from None
    return Noise(laws)


def _parse_radius(law: Noise, text: str, option: str) -> tuple[int, ...]:
    if "=" not in text:  # counts alone, in the order of the axes
        return law.radius(_parse_counts(text, option), option)
    items = _parse_items(text, option, "be AXIS=COUNT, separated by commas")
    counts = {name: _number(value, f"{option} {name}") for name, value in items}
    return law.radius(counts, option)


def _parse_items(text: str, option: str, requirement: str) -> list[tuple[str, str]]:
    items: list[tuple[str, str]] = []
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise InvalidParameterError(option, requirement, text)
        if name in dict(items):
            raise InvalidParameterError(option, f"name {name!r} once", text)
        items.append((name, value))
    return items


def _parse_counts(text: str, option: str) -> list[float]:
    return [_number(part, option) for part in text.split(",")]


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidParameterError(option, "be a whole number, or several with commas", text) from None
    return int(value) if math.isfinite(value) and value == int(value) else value


def _frontier_object(certificate: Certificate) -> dict[str, object]:
    found = certificate.frontier
    return {
        "axes": certificate.noise.axes,
        "max_radius": certificate.max_radius,
        "label": certificate.label,
        "abstained": certificate.abstained,
        "frontier": found.radii,
        "beyond": found.beyond,
        "verified": found.verified,
        "margin": certificate.margin_kind,
        "p_lower": certificate.p_lower,
        "failure": float(certificate.bounds.failure[0]),
        "other": float(certificate.bounds.other[0]),
        "alpha": certificate.alpha,
        "noise": {region: _law_object(certificate.noise[region]) for region in certificate.noise},
        "guarantee": str(certificate),
        "version": __version__,
    }


def _law_object(law: Flip) -> float | dict[str, float]:
    return law.delete if law.symmetric else {"delete": law.delete, "add": law.add}


def _frontier_view(certificate: Certificate) -> list[RenderableType]:
    from rich.table import Table  # noqa: PLC0415

    found = certificate.frontier
    if certificate.abstained:
        return [str(certificate)]
    table = Table(title="Maximal certified radii" + (", proved" if found.verified else ""), title_justify="left")
    for axis in certificate.noise.axes:
        table.add_column(axis, justify="right")
    for radius in found.radii[:MOST_ROWS]:
        table.add_row(*map(str, radius))
    if len(found) > MOST_ROWS:
        table.caption = f"… and {len(found) - MOST_ROWS:,} more (--json has all)"
    return [table, "", *_map(certificate), "", str(certificate)]


def _map(certificate: Certificate, rows: int = 20, columns: int = 60) -> list[str]:
    """A map of the first two axes, the others untouched: one character a radius, thinned out where it is large."""
    axes, found = certificate.noise.axes, certificate.frontier
    limits = certificate.max_radius or tuple(map(max, zip(*found.radii, *found.beyond, strict=True)))
    height, width = (*limits, 0)[:2] if len(limits) > 1 else (0, limits[0])
    height = min(height, 2 + max(radius[0] for radius in found.radii)) if len(limits) > 1 else 0
    row_step, column_step = (math.ceil((limit + 1) / most) for limit, most in ((height, rows), (width, columns)))
    rest = (0,) * (len(limits) - 2)
    lines = []
    for row in range(0, height + 1, row_step):
        radii = [(row, column, *rest) if len(limits) > 1 else (column,) for column in range(0, width + 1, column_step)]
        cells = "".join("█" if found.covers(radius) else "·" for radius in radii)
        lines.append(f"{row:>6} {cells}" if len(limits) > 1 else f"       {cells}")
    across = axes[1] if len(axes) > 1 else axes[0]
    legend = f"{across} from 0 to {width}" + (f", one mark for {column_step}" if column_step > 1 else "") + " →"
    down = f"{axes[0]} ↓   " if len(axes) > 1 else ""
    others = f"   ({', '.join(axes[2:])} at 0)" if len(axes) > 2 else ""
    return [f"{down}{legend}   █ certified  · not{others}", *lines]


def _print(*parts: RenderableType) -> None:
    from rich.console import Console  # noqa: PLC0415

    console = Console(highlight=False, soft_wrap=True)
    for part in parts:
        console.print(part, markup=False)
