"""A JSON file back into an archive. The file may be broken or hostile: one message says what is wrong and where."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from starcert.archive.fields import Field, MalformedError, parse
from starcert.archive.record import MARGINS, MOST_VOTES, Archive, Claims
from starcert.archive.writing import FORMAT, SAYS, SAYS_TOGETHER, VERSION, exact, states_margins
from starcert.core.channels import MAX_RADIUS
from starcert.core.confidence import Margins, Votes, check_alpha
from starcert.core.frontier import Radius
from starcert.errors import ArchiveError, InvalidParameterError
from starcert.laws import Flip, flip_from, flip_numbers
from starcert.noise import Noise

__all__ = ["MOST_BYTES", "read", "read_with_claims"]

MOST_BYTES = 2**31
"""Larger files are refused before they are read."""

_ADVICE = "Give a certificates.json that starcert certify has written."


def read(path: str | PathLike[str]) -> Archive:
    """The archive in a file that `write` has written.

    The claims in the file are looked at for their form alone: the certificates of the archive are made afresh from its
    votes and its noise. `verify` says whether the claims are true.
    """
    return read_with_claims(path)[0]


def read_with_claims(path: str | PathLike[str]) -> tuple[Archive, list[Claims]]:
    """The archive in a file, and what the file claims about each graph."""
    name = fspath(path)
    try:
        found = Path(path).stat()
        if not S_ISREG(found.st_mode):  # a pipe or a device may have no end, or nothing to say
            raise ArchiveError(name, f"cannot be read (it is no plain file). {_ADVICE}")
        if found.st_size > MOST_BYTES:
            raise ArchiveError(name, f"has {found.st_size:,} bytes; more than {MOST_BYTES:,} are not read.")
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error}). {_ADVICE}"
        raise ArchiveError(name, problem) from error
    except UnicodeDecodeError as error:
        raise ArchiveError(name, f"is no UTF-8 text ({error.reason} at byte {error.start:,}). {_ADVICE}") from None
    try:
        whole = parse(text)
        _check_kind(whole)
    except MalformedError as error:  # some other file
        raise ArchiveError(name, f"{error} {_ADVICE}") from None
    try:
        return _archive(whole)
    except (MalformedError, InvalidParameterError) as error:
        raise ArchiveError(name, str(error)) from None


def _archive(whole: Field) -> tuple[Archive, list[Claims]]:
    top = whole.members(
        "format",
        "version",
        "says",
        "noise",
        "axes",
        "alpha",
        "alpha_exact",
        "max_radius",
        "classes",
        "settings",
        "provenance",
        "graphs",
        optional=("together", "margins"),
    )
    if top["says"].value != (SAYS_TOGETHER if "together" in top else SAYS):
        top["says"].refuse("be the sentence that every such file has")
    noise = _noise(top["noise"])
    if top["axes"].value != list(noise.axes):
        top["axes"].refuse(f"be the axes of the noise, {', '.join(noise.axes)}")
    alpha = check_alpha(top["alpha"].number())
    _check_exact(top["alpha_exact"], alpha)
    classes = tuple(name.text() for name in top["classes"].items())
    if len(classes) < 2:
        top["classes"].refuse("name two classes at least")
    graphs = top["graphs"].items()
    if not graphs:
        top["graphs"].refuse("hold at least one graph")
    read = [_graph(each, noise, len(classes)) for each in graphs]
    chosen = [graph.selection for graph in read if graph.selection is not None]
    if 0 < len(chosen) < len(read):
        i = [graph.selection for graph in read].index(None)
        raise MalformedError(f"'graphs[{i}].selection' must not be null where other graphs have selection votes.")
    votes = Votes([graph.estimation for graph in read], selection=chosen or None)
    archive = Archive(
        noise=noise,
        votes=votes,
        alpha=alpha,
        max_radius=_limits(top["max_radius"], noise),
        capacities=(None,) * len(read),  # nobody here knows
        anchored=tuple(graph.anchored for graph in read),
        names=tuple(graph.name for graph in read),
        labels=tuple(graph.true_class for graph in read),
        class_names=classes,
        settings=top["settings"].mapping(),
        provenance={
            name: Field(text, f"provenance.{name}").text() for name, text in top["provenance"].mapping().items()
        },
        boxes=tuple(graph.box for graph in read),
        together=_together(top, len(read)),
        margins=_margins(top, votes),
    )
    return archive, [graph.claims for graph in read]


def _together(top: dict[str, Field], n_graphs: int) -> int:
    if "together" not in top:
        return 1
    if (count := top["together"].whole(MOST_VOTES)) < max(2, n_graphs):
        top["together"].refuse(f"be 2 or more, and no fewer than the {n_graphs} graphs of the file")
    return count


def _margins(top: dict[str, Field], votes: Votes) -> Margins:
    if "margins" not in top:
        return "multi-class"
    if not states_margins(votes):
        raise MalformedError("'margins' does not belong there: it is for three classes and more, with selection votes.")
    if top["margins"].value != "chosen":
        top["margins"].refuse("be 'chosen', or not there")
    return "chosen"


def _check_kind(whole: Field) -> None:
    inside = whole.mapping()
    if inside.get("format") != FORMAT:
        Field(inside.get("format"), "format").refuse(f"be {FORMAT!r}")
    if type(inside.get("version")) is not int or inside["version"] != VERSION:
        Field(inside.get("version"), "version").refuse(f"be {VERSION}, the version that this starcert reads")


def _noise(laws: Field) -> Noise:
    found: dict[str, Flip] = {}
    for each in laws.items():
        names = flip_numbers(each.mapping())
        law = each.members("region", *names, "exact")
        region = law["region"].text()
        if region in found:
            law["region"].refuse("name a region once")
        given = {name: law[name].probability() for name in names}
        for name, fraction in law["exact"].members(*names).items():
            _check_exact(fraction, given[name])
        found[region] = flip_from(given)
    return Noise(found)


def _check_exact(field: Field, value: float) -> None:
    if field.value != exact(value):
        field.refuse(f"be the fraction that {value!r} is")


class _GraphEntry(NamedTuple):
    """What a file says of one graph; its box is called capacity there."""

    name: str
    true_class: int | None
    estimation: tuple[int, ...]
    selection: tuple[int, ...] | None
    box: Radius | None
    anchored: str
    claims: Claims


def _graph(graph: Field, noise: Noise, n_classes: int) -> _GraphEntry:
    inside = graph.members("name", "true_class", "estimation", "selection", "capacity", "anchored", "claims")

    def votes(name: str) -> tuple[int, ...]:
        counts = inside[name].wholes(n_classes, MOST_VOTES)
        if not 0 < sum(counts) <= MOST_VOTES:
            inside[name].refuse(f"hold from 1 to {MOST_VOTES:,} votes")
        return counts

    true_class, selection = inside["true_class"], inside["selection"]
    return _GraphEntry(
        name=inside["name"].text(),
        true_class=None if true_class.value is None else true_class.whole(n_classes - 1),
        estimation=votes("estimation"),
        selection=None if selection.value is None else votes("selection"),
        box=_limits(inside["capacity"], noise),
        anchored=inside["anchored"].text(),
        claims=_claims(inside["claims"], noise, n_classes),
    )


def _claims(claims: Field, noise: Noise, n_classes: int) -> Claims:
    said = claims.members("class", "abstained", "p_lower", "failure", "other", "margin", "frontier", "beyond", "proved")
    if said["margin"].value not in MARGINS:
        said["margin"].refuse(f"be one of {', '.join(MARGINS)}")

    def radii(name: str) -> tuple[Radius, ...]:
        return tuple(radius.wholes(len(noise.axes), MAX_RADIUS) for radius in said[name].items())

    return Claims(
        label=said["class"].whole(n_classes - 1),
        abstained=said["abstained"].flag(),
        p_lower=said["p_lower"].probability(),
        failure=said["failure"].probability(),
        other=said["other"].probability(),
        margin_kind=said["margin"].text(),
        radii=radii("frontier"),
        beyond=radii("beyond"),
        verified=said["proved"].flag(),
    )


def _limits(field: Field, noise: Noise) -> Radius | None:
    return None if field.value is None else field.wholes(len(noise.axes), MAX_RADIUS)
