"""`starcert slack`: how much failure probability a radius forgives."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from starcert import __version__
from starcert.cli.app import JsonOption, NoiseOption, app
from starcert.cli.parsing import parse_noise, parse_radius
from starcert.cli.views import show

__all__ = ["slack"]


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
