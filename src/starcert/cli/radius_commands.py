"""`starcert radius`: what a noise certifies, of one radius, or from a bound, votes, or a store of votes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert import __version__
from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates, certify
from starcert.claims.slack import slacks_of
from starcert.cli.command_line import JsonOption, app, report
from starcert.math.confidence import Bounds, check_alpha, clopper_pearson
from starcert.math.votes import History, Votes
from starcert.objects.noise import Noise
from starcert.objects.words import AttackWords
from starcert.report.findings import anchored_notice
from starcert.runs.setting_values import parse_counts, parse_noise, parse_radius
from starcert.runs.settings import SETTINGS
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning, StoreError
from starcert.system.output import at_least, fails_at_most
from starcert.system.tables import MAX_ROWS, table
from starcert.voting.store import VoteStore

if TYPE_CHECKING:
    from rich.console import RenderableType

_NOISE = typer.Option(help=SETTINGS["noise"].help, metavar=SETTINGS["noise"].metavar)
_BOX = "The box of radii to look at: motif=35,random=45. Without it, every axis as far as it goes."
_SELECTION = "Selection votes: 995,5. Without them the class is chosen on --votes, at a share of alpha."
_ALPHA = "With votes: the probability that a graph's certificate fails (not the confidence). Default: 0.01."
_STORE = "A file of stored votes: all its graphs are certified, under its own noise."


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
    store: Annotated[Path | None, typer.Option(help=_STORE)] = None,
    alpha: Annotated[float | None, typer.Option(help=_ALPHA)] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute what a noise certifies: the slack of one radius, or the maximal radii of a bound, votes or a store.

    The slack is how much failure probability a radius forgives: it is certified iff 1 − p_A < slack. All is proved.

    For example:

    starcert radius --noise motif=0.02,random=0.45 --radius motif=1,random=45

    starcert radius --noise motif=0.02,random=0.45 --max-radius motif=35,random=45 --p-lower 0.9995

    starcert radius --noise bonds=0.04/0.2 --votes 99950,50 --selection 995,5 --alpha 0.01 --json

    starcert radius --store votes.db
    """
    given = {"--radius": radius, "--p-lower": p_lower, "--votes": votes, "--store": store}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        hint = "Write --radius motif=1, --p-lower 0.9995, --votes 99950,50 --selection 995,5, or --store votes.db."
        raise StarcertError(f"Give one of {', '.join(given)}, not {' and '.join(named) or 'none'}. {hint}")
    if store is not None:
        for name, value in (("--noise", noise), ("--selection", selection)):
            if value is not None:
                raise InvalidParameterError(name, "cannot be combined with --store, which has its own.")
        missing, found = _from_store(store, max_radius, 0.01 if alpha is None else alpha)
        report(as_json, lambda: _store_object(store, missing, found), lambda: _certificates_view(found, missing))
        return
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


def _store_object(store: Path, missing: list[int], certificates: Certificates) -> dict[str, object]:
    several = certificates.targets.any()
    graphs = [
        {"graph": one.object} | ({"target": one.target} if several else {}) | _frontier_object(one)
        for one in certificates
    ]
    return {"store": str(store), "graphs": graphs, "without_votes": missing}


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


def _from_store(path: Path, max_radius: str | None, alpha: float) -> tuple[list[int], Certificates]:
    """The graphs that have no votes yet, and the certificates of the others."""
    check_alpha(alpha)
    with VoteStore.read(path) as stored:
        law = Noise.from_dict(stored.settings.noise)
        counts, chosen = stored.counts("estimation"), stored.counts("selection")
        fixed = all(stored.is_fixed(n) for n in set(counts.sum(axis=1).tolist()) if n)
        rows, graphs = stored.rows, [stored.graphs[graph] for graph, _ in stored.rows]
    voted = [i for i in range(len(rows)) if counts[i].any() and chosen[i].any()]
    if not voted:
        must, hint = "hold selection and estimation votes of some graph", "Start the run again: it continues."
        raise InvalidParameterError("--store", must, f"none of {len(graphs)}", hint)
    objects, targets = zip(*(rows[i] for i in voted), strict=True)
    history: History = "fixed" if fixed else "looked"
    votes = Votes(counts[voted], selection=chosen[voted], objects=objects, targets=targets, history=history)
    bounds = clopper_pearson(votes, alpha=alpha)
    _note_look(stored, counts[voted].sum(axis=1).tolist(), chosen[voted].sum(axis=1).tolist())
    certificates = certify(
        bounds,
        law,
        max_radius=None if max_radius is None else parse_radius(law, max_radius, "--max-radius"),
        boxes=[dict(graphs[i].sizes) for i in voted],  # as stored: no capacities, which come from sites
        anchored=[graphs[i].anchored for i in voted],
    )
    return [rows[i][0] for i in range(len(graphs)) if i not in set(voted)], certificates


def _note_look(stored: VoteStore, estimation: list[int], selection: list[int]) -> None:
    """Records in a store that certificates are computed from its votes; refuses what an earlier look rules out."""
    reason = "graphs have different numbers of votes: the run is not finished"
    if len({*estimation}) == len({*selection}) == 1:
        look = {"selection": selection[0], "estimation": estimation[0], "evidence": False}
        stored.check_look(**look)
        try:
            with VoteStore.open(stored.path, stored.settings, stored.graphs) as store:
                store.note_look(**look)
            return
        except StoreError as error:
            reason = str(error).rstrip(".")
    warnings.warn(
        f"this look at the votes could not be recorded ({reason}): after it, do not change the number of votes.",
        StarcertWarning,
        stacklevel=1,
    )


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
    found = certificate.frontier
    if certificate.abstained:
        return [str(certificate)]
    title = "Maximal certified radii" + (_proved(certificate.noise) if found.verified else "")
    radii = table(title, certificate.noise.axes, found.radii)
    return [radii, "", str(certificate), *_incomplete([certificate])]


def _proved(noise: Noise) -> str:
    """The words in a title on radii that are proved, if the noise is starcert's own."""
    return f", given the law {', '.join(noise.outside)}" if noise.outside else ", proved"


def _certificates_view(certificates: Certificates, missing: list[int]) -> list[RenderableType]:
    """Many certificates in a table: class, bound, and the maximal radii of each; the frontier of a single one."""
    if len(certificates) == 1 and not missing:
        return _frontier_view(certificates[0])
    rows, names, words = [], certificates.names, AttackWords(certificates.noise)
    for name, one in zip(names, certificates, strict=True):
        radii = "abstains" if one.abstained else words.radii(one.frontier.radii, MAX_ROWS)
        rows.append((name, one.label, at_least(one.p_lower, decimals=6), radii))
    heads = ("graph", "class", "p_lower", "maximal radii")
    title = f"Maximal certified radii ({', '.join(certificates.noise.axes)}){_proved(certificates.noise)}"
    notes = _incomplete(certificates[:MAX_ROWS]) + [
        f"{each.head}. {each.text}" for each in anchored_notice(certificates.anchored, "graph")
    ]
    if missing:
        notes.append(f"No votes yet: {len(missing)} graphs, the first of them number {missing[0]}.")
    if certificates.bounds.alpha is not None:
        notes.append(fails_at_most(certificates.bounds.alpha, certificates.bounds.family_size))
    return [table(title, heads, rows, left=heads[3:]), *notes, f"Graph {names[0]}, for example: {certificates[0]}"]


def _incomplete(certificates: Sequence[Certificate]) -> list[str]:
    """That searches ended early, if any did, and what may be done about it."""
    reasons = sorted({one.frontier.incomplete for one in certificates} - {""})
    return [
        f"Incomplete ({reason}): these radii are proved, and others may be certified too. For all of them, look at a "
        f"smaller box: --max-radius. Certificate.certified, in Python, decides any one radius."
        for reason in reasons
    ]
