"""What people and programs get to see of a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starcert import __version__
from starcert.system.output import at_least, fails_at_most, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.certificate import Certificate, Certificates

__all__ = ["MOST_ROWS", "certificates_table", "frontier_object", "frontier_view", "show"]

MOST_ROWS = 20


def frontier_object(certificate: Certificate) -> dict[str, object]:
    """What there is to say about a certificate, as plain JSON values."""
    found = certificate.frontier
    return {
        "axes": certificate.noise.axes,
        "max_radius": certificate.max_radius,
        "label": certificate.label,
        "abstained": certificate.abstained,
        "frontier": found.radii,
        "beyond": found.beyond,
        "verified": found.verified,
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


def frontier_view(certificate: Certificate) -> list[RenderableType]:
    """The frontier of a certificate as a table, with a map of it and the sentence that it says."""
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
    return [table, "", *_map(certificate), "", str(certificate), *_incomplete([certificate])]


def certificates_table(certificates: Certificates, graphs: list[str], missing: list[int]) -> list[RenderableType]:
    """Many certificates in a table: class, bound, and the maximal radii of each."""
    from rich.table import Table  # noqa: PLC0415

    axes = certificates.noise.axes
    table = Table(title=f"Maximal certified radii ({', '.join(axes)}), proved", title_justify="left")
    for name in ("graph", "class", "p_lower", "maximal radii"):
        table.add_column(name, justify="left" if name == "maximal radii" else "right", overflow="fold")
    for i, one in zip(graphs, certificates[:MOST_ROWS], strict=False):
        radii = "abstains" if one.abstained else " ".join(map(str, one.frontier.radii[:MOST_ROWS]))
        if len(one.frontier) > MOST_ROWS:
            radii += f" … and {len(one.frontier) - MOST_ROWS:,} more"
        table.add_row(i, str(one.label), at_least(one.p_lower, decimals=6), radii)
    if len(certificates) > MOST_ROWS:
        table.caption = f"… and {len(certificates) - MOST_ROWS:,} more (--json has all)"
    notes = _incomplete(certificates[:MOST_ROWS])
    reasons = sorted({reason for reason in certificates.anchored if reason})
    notes += [f"Anchored: {reason} The certificates speak of regions frozen at each graph." for reason in reasons]
    if missing:
        notes.append(f"No votes yet: {len(missing)} graphs, the first of them number {missing[0]}.")
    if certificates.bounds.alpha is not None:
        notes.append(fails_at_most(certificates.bounds.alpha, certificates.bounds.together))
    return [table, *notes, f"Graph {graphs[0]}, for example: {certificates[0]}"]


def _incomplete(certificates: Sequence[Certificate]) -> list[str]:
    """That searches ended early, if any did, and what may be done about it."""
    reasons = sorted({one.frontier.incomplete for one in certificates} - {""})
    return [
        f"Incomplete ({reason}): these radii are proved, and others may be certified too. For all of them, look at a "
        f"smaller box: --max-radius. Certificate.certified, in Python, decides any one radius."
        for reason in reasons
    ]


def _map(certificate: Certificate, rows: int = 20, columns: int = 60) -> list[str]:
    """A map of the first two axes, the others untouched: one character a radius, thinned out where it is large."""
    axes, found = certificate.noise.axes, certificate.frontier
    limits = certificate.max_radius or tuple(map(max, zip(*found.radii, *found.beyond, strict=True)))
    height, width = (*limits, 0)[:2] if len(limits) > 1 else (0, limits[0])
    height = min(height, 2 + max(radius[0] for radius in found.radii)) if len(limits) > 1 else 0
    row_step, column_step = (math.ceil((limit + 1) / most) for limit, most in ((height, rows), (width, columns)))
    slices = {radius[:2] if len(limits) > 1 else (0, *radius) for radius in found.radii}
    lines = []
    for row in range(0, height + 1, row_step):
        reach = max((across for down, across in slices if down >= row), default=-1)
        cells = "".join("█" if column <= reach else "·" for column in range(0, width + 1, column_step))
        lines.append(f"{row:>6} {cells}" if len(limits) > 1 else f"       {cells}")
    across = axes[1] if len(axes) > 1 else axes[0]
    legend = f"{across} from 0 to {width}" + (f", one mark for {column_step}" if column_step > 1 else "") + " →"
    down = f"{axes[0]} ↓   " if len(axes) > 1 else ""
    others = f"   ({', '.join(axes[2:])} at 0)" if len(axes) > 2 else ""
    otherwise = "not known to be" if found.incomplete else "not"
    return [f"{down}{legend}   █ certified  · {otherwise}{others}", *lines]


def show(*parts: RenderableType) -> None:
    """Prints tables and plain lines; nothing in them is read as markup, and nothing commands the terminal."""
    from rich.console import Console  # noqa: PLC0415
    from rich.segment import Segment, Segments  # noqa: PLC0415

    console = Console(highlight=False, soft_wrap=True, markup=False)
    unwrapped = console.options.update(no_wrap=True, overflow="ignore")
    for part in parts:
        if isinstance(part, str):
            console.print(plain(part))
        else:  # names may stand in any cell: what is printed is looked at, after the table is laid out
            console.print(
                Segments(Segment(plain(text), style) for text, style, _ in console.render(part, unwrapped)), end=""
            )
