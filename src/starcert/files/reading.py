"""A JSON file back into an archive. The file may be broken or hostile: one message says what is wrong and where."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from hashlib import file_digest
from io import BufferedReader
from os import PathLike, fspath
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple, TypeVar

from starcert.files.evidence_file import GraphEvidence, unpack
from starcert.files.fields import Field, MalformedError, parse
from starcert.files.record import MARGINS, MOST_VOTES, Archive, BrokenLevel, Claims
from starcert.files.writing import FORMAT, SIDE, VERSION, exact, says, states_margins
from starcert.math.audit import Audit
from starcert.math.channels import MAX_RADIUS
from starcert.math.confidence import Votes, check_alpha
from starcert.math.frontier import Radius
from starcert.objects.binding import MAX_EVIDENCE_SITES
from starcert.objects.laws import Law, law_from_json
from starcert.objects.noise import MAX_SITES, Noise
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertWarning

__all__ = ["MOST_BYTES", "read", "read_with_claims"]

MOST_BYTES = 2**31
"""Larger files are refused before they are read."""

LAWS = {"categorical": ("categorical", "values"), "change": ("delete", "add", "change", "types"), "flip": ("flip",)}
"""The numbers of a law, by the name that tells which it is; without such a name, they are delete and add."""

MOST_ROWS = 2**31
"""No graph has so many nodes, and no file so many graphs."""

MOST_VALUES = 256
"""Sites have no more values than a byte."""

_ADVICE = "Give a certificates.json that starcert certify has written."


def read(path: str | PathLike[str]) -> Archive:
    """The archive in a file that `write` has written.

    The claims in the file are looked at for their form alone: the certificates of the archive are made afresh from its
    votes and its noise. `verify` says whether the claims are true.

    Where the file names a side file with evidence that is not beside it, a warning says so, and the certificates are
    those of the counts of votes.
    """
    return read_with_claims(path)[0]


def read_with_claims(path: str | PathLike[str], *, whole: bool = False) -> tuple[Archive, list[Claims]]:
    """The archive in a file, and what the file claims about each graph; `whole`: not without its side file."""
    name = fspath(path)
    try:
        with _opened(Path(path), _ADVICE) as file:
            text = file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArchiveError(name, f"is no UTF-8 text ({error.reason} at byte {error.start:,}). {_ADVICE}") from None
    try:
        top = parse(text)
        _check_kind(top)
    except MalformedError as error:  # some other file
        raise ArchiveError(name, f"{error} {_ADVICE}") from None
    try:
        return _archive(top, Path(path), all_of_it=whole)
    except (MalformedError, InvalidParameterError) as error:
        raise ArchiveError(name, str(error)) from None


@contextmanager
def _opened(path: Path, advice: str) -> Iterator[BufferedReader]:
    """A file to read from, if it is a plain one and not too large."""
    name = fspath(path)
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):  # a pipe or a device may have no end, or nothing to say
            raise ArchiveError(name, f"cannot be read (it is no plain file). {advice}")
        if found.st_size > MOST_BYTES:
            raise ArchiveError(name, f"has {found.st_size:,} bytes; more than {MOST_BYTES:,} are not read.")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise ArchiveError(name, f"cannot be read ({error.strerror or error}). {advice}") from error


class _Side(NamedTuple):
    """What a file says about its side file."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, field: Field) -> _Side | None:
        said = field.members("file", "bytes", "sha256")
        if said["file"].value is None:
            return None
        name = said["file"].text()
        if not name.endswith(SIDE) or Path(name).name != name or "\0" in name:
            said["file"].refuse(f"be the name of a file in the same folder that ends in {SIDE}")
        return cls(name, said["bytes"].whole(MOST_BYTES), said["sha256"].text())

    def is_there(self, path: Path, *, needed: bool) -> bool:
        """Whether it is beside the file; one that is not there may not be needed."""
        missing = f"What evidence certifies or breaks is proved from {self.name}, which is not beside the file."
        if path.with_name(self.name).exists():
            return True
        if needed:
            raise ArchiveError(fspath(path), f"{missing} Put it there.")
        warnings.warn(
            f"{path}: {missing} Without it, certificates are those of the counts of votes (p_A) alone.",
            StarcertWarning,
            stacklevel=1,
        )
        return False

    @contextmanager
    def opened(self, path: Path) -> Iterator[BufferedReader]:
        """The side file, once it is known to have the bytes that it was written with."""
        side = path.with_name(self.name)
        with _opened(side, f"It was written together with {path.name}.") as file:
            if os.fstat(file.fileno()).st_size != self.size or file_digest(file, "sha256").hexdigest() != self.sha256:
                raise ArchiveError(fspath(side), f"is not the file that {path.name} was written with: other bytes.")
            yield file


def _evidence(
    field: Field, path: Path, *, needed: bool, noise: Noise, counts: Sequence[Sequence[int]], objects: Sequence[int]
) -> tuple[GraphEvidence | None, ...]:
    side = _Side.of(field)
    if side is None or not side.is_there(path, needed=needed):
        return (None,) * len(objects)
    try:
        with side.opened(path) as file:
            return tuple(unpack(file, counts=counts, noise=noise, objects=objects))
    except MalformedError as error:
        raise ArchiveError(fspath(path.with_name(side.name)), str(error)) from None


def _archive(whole: Field, path: Path, *, all_of_it: bool) -> tuple[Archive, list[Claims]]:
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
        optional=("together", "margins", "bounds", "evidence", "audit"),
    )
    if top["says"].value != says(together=2 if "together" in top else 1, evidence="evidence" in top):
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
    places = _all_or_none([graph.place for graph in read], "graph")
    evidence = (
        _evidence(
            top["evidence"],
            path,
            needed=all_of_it,
            noise=noise,
            counts=[graph.estimation for graph in read],
            objects=range(len(read)) if places is None else [graph for graph, _ in places],
        )
        if "evidence" in top
        else None
    )
    kept = evidence or (None,) * len(read)
    for i, (graph, stated) in enumerate(zip(kept, read, strict=True)):
        if graph is not None and stated.box != graph.sizes:
            raise MalformedError(f"'graphs[{i}].capacity' must be the sizes of its axes, {graph.sizes}.")
    records = [None if graph is None else graph.record for graph in kept]
    stopped = _stopped(top, apart=bool(chosen))
    keys = {} if places is None else dict(zip(("objects", "targets"), zip(*places, strict=True), strict=True))
    votes = Votes(
        [graph.estimation for graph in read],
        chosen or None,
        **keys,
        stopped=stopped,
        records=records,
        audit=_audit(top["audit"]) if "audit" in top else None,
    )
    archive = Archive(
        noise=noise,
        votes=votes,
        alpha=alpha,
        max_radius=_limits(top["max_radius"], noise, MAX_RADIUS),
        # Nobody here knows, but where the axis of every site is stated, and proofs rest on it.
        capacities=tuple(None if graph is None else graph.sizes for graph in kept),
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
        all_classes=_bounds_all_classes(top, votes),
        evidence=evidence,
        nodes=_all_or_none([graph.node for graph in read], "node"),
    )
    return archive, [graph.claims for graph in read]


Value = TypeVar("Value")


def _all_or_none(values: Sequence[Value | None], member: str) -> tuple[Value, ...] | None:
    """What every row says, None if none does."""
    known = tuple(value for value in values if value is not None)
    if known and len(known) < len(values):
        raise MalformedError(f"'graphs[{values.index(None)}].{member}' is missing: other graphs have it.")
    return known or None


def _together(top: dict[str, Field], n_graphs: int) -> int:
    if "together" not in top:
        return 1
    if (count := top["together"].whole(MOST_VOTES)) < max(2, n_graphs):
        top["together"].refuse(f"be 2 or more, and no fewer than the {n_graphs} graphs of the file")
    return count


def _audit(field: Field) -> Audit:
    said = field.members(*(each.name for each in fields(Audit)), "says")
    audit = Audit(*(said[each.name].whole(MOST_VOTES) for each in fields(Audit)))
    if audit.clean_alone > audit.clean or audit.attacked_alone > audit.attacked:
        field.refuse("have no more copies alone than copies")
    if audit.independent > audit.clean:
        field.refuse("have no more independent copies than copies of the graphs")
    if said["says"].value != str(audit):
        said["says"].refuse("be the sentence that these numbers make")
    return audit


def _stopped(top: dict[str, Field], *, apart: bool) -> bool:
    if "bounds" not in top:
        return False
    if top["bounds"].value != "anytime" or not apart:
        top["bounds"].refuse("be 'anytime', with selection votes, or not there")
    return True


def _bounds_all_classes(top: dict[str, Field], votes: Votes) -> bool:
    """Whether the file is one of version 0.1.0, which took the multi-class margin everywhere and said nothing of it."""
    if "margins" not in top:
        return True
    if not states_margins(votes):
        raise MalformedError("'margins' does not belong there: it is for three classes and more, with selection votes.")
    if top["margins"].value != "chosen":
        top["margins"].refuse("be 'chosen', or not there")
    return False


def _check_kind(whole: Field) -> None:
    inside = whole.mapping()
    if inside.get("format") != FORMAT:
        Field(inside.get("format"), "format").refuse(f"be {FORMAT!r}")
    if type(inside.get("version")) is not int or inside["version"] != VERSION:
        Field(inside.get("version"), "version").refuse(f"be {VERSION}, the version that this starcert reads")


def _noise(laws: Field) -> Noise:
    found: dict[str, Law] = {}
    for each in laws.items():
        marks = each.mapping()
        names = next((names for mark, names in LAWS.items() if mark in marks), ("delete", "add"))
        law = each.members("region", *names, "exact", optional=("added",) if len(names) <= 2 else ())
        region = law["region"].text()
        if region in found:
            law["region"].refuse("name a region once")
        given = {name: _law_number(law[name], name) for name in names}
        for name, fraction in law["exact"].members(*names).items():
            _check_exact(fraction, given[name])
        rule = {"added": law["added"].value} if "added" in law else {}
        found[region] = law_from_json(given | rule)
    return Noise(found)


def _law_number(field: Field, name: str) -> float:
    return field.whole(MOST_VALUES) if name in ("values", "types") else field.probability()


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
    place: tuple[int, int] | None
    node: int | None


def _graph(graph: Field, noise: Noise, n_classes: int) -> _GraphEntry:
    inside = graph.members(
        *("name", "true_class", "estimation", "selection", "capacity", "anchored", "claims"),
        optional=("graph", "target", "node"),
    )
    if ("graph" in inside) != ("target" in inside) or ("node" in inside and "graph" not in inside):
        graph.refuse("say which target of which graph it is, or neither")

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
        box=_limits(inside["capacity"], noise, MAX_SITES),
        anchored=inside["anchored"].text(),
        claims=_claims(inside["claims"], noise, n_classes),
        place=(inside["graph"].whole(MOST_ROWS), inside["target"].whole(MOST_ROWS)) if "graph" in inside else None,
        node=inside["node"].whole(MOST_ROWS) if "node" in inside else None,
    )


def _claims(claims: Field, noise: Noise, n_classes: int) -> Claims:
    said = claims.members(
        *("class", "abstained", "p_lower", "failure", "other", "margin", "frontier", "beyond", "proved"),
        optional=("any_flips", "broken"),
    )
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
        any_flips=said["any_flips"].whole(MAX_EVIDENCE_SITES) if "any_flips" in said else None,
        broken=tuple(_broken(each, noise, n_classes) for each in said["broken"].items()) if "broken" in said else (),
    )


def _broken(claim: Field, noise: Noise, n_classes: int) -> BrokenLevel:
    said = claim.members("level", "sites", "votes", "delta", optional=("values",))
    values = said["values"].items() if "values" in said else []
    return BrokenLevel(
        said["level"].wholes(len(noise.axes), MAX_RADIUS),
        tuple(site.whole(MAX_EVIDENCE_SITES) for site in said["sites"].items()),
        said["votes"].wholes(n_classes, MOST_VOTES),
        said["delta"].probability(),
        tuple(None if value.value is None else value.whole(MOST_VALUES) for value in values),
    )


def _limits(field: Field, noise: Noise, most: int) -> Radius | None:
    return None if field.value is None else field.wholes(len(noise.axes), most)
