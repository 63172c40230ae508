"""Archives of link votes: what each node is certified for, and the scores, votes and links that it follows from."""

# ruff: noqa: D101  (the comments beside members say what these parts of files are)

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from msgspec import field

from starcert.archive.checker.links import MAX_SUM, cells_of
from starcert.archive.claims import LinkRow
from starcert.archive.format import LINKS as FORMAT
from starcert.archive.format import VERSION, Flips, Form, Row, SideFile, ThreatText, Whole
from starcert.archive.record import LINKS, Archive
from starcert.archive.side_arrays import PackedArrays, Sides, pack_arrays, read_side, side_form
from starcert.archive.threat_texts import threat_form, threat_of_form
from starcert.archive.untrusted import check
from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows
from starcert.math.closed_forms import Links, sums_of_votes
from starcert.methods.links import LinkAttack, LinkProof
from starcert.objects import Graph, TargetNodes
from starcert.objects.threats import Additions, Deletions, Rewire
from starcert.system.errors import InvalidParameterError

Numbers = npt.NDArray[np.int64]
SAYS = (
    "Nothing is sampled, so alpha is 0. The class of a node is the one with the largest score: its own scores, and the "
    "votes of all nodes that it is linked to; of equal classes the first. No attack of a size of at most "
    "'certified_size' changes the class, and 'attack' are node pairs whose change, of 'broken_size', does. The file "
    "that 'arrays' names has own scores, votes and links. starcert verify proves every row from these."
)
SIDE = ".links.npz"  # how the name of the file with scores, votes and links ends
ARRAYS = {"own": "<i8", "votes": "<i8", "links": "<i4"}
"""Row after row: own scores and votes of each node, and the two ends of each link, ascending."""


class LinkedNode(Form, kw_only=True):
    name: str  # what the data calls the row
    node: Row  # the index of its node
    true: Whole | None  # the true class; null where it is not known
    label: Whole = field(name="class")  # the answer without attack
    certified_size: Flips  # no attack of at most this size changes it
    broken_size: Flips | None  # the size of a known attack that does
    attack: tuple[tuple[Row, Row], ...] | None  # the node pairs that this attack changes


class LinksFile(Form, kw_only=True):
    """An archive of link votes."""

    format: str
    version: int
    says: str  # what is claimed, in words
    alpha: float  # 0: nothing is sampled
    threat: ThreatText  # what the attacker can do
    class_names: tuple[str, ...]  # what the classes are called
    n_nodes: Row  # how many nodes the graph has
    node_names: tuple[str, ...] | None  # their names; null: their numbers
    arrays: SideFile  # own scores, votes and links
    how: str  # the model in a few words
    settings: dict[str, Any]  # how the run was made
    provenance: dict[str, Any]  # the versions that made it
    graphs: tuple[LinkedNode, ...]  # the rows, one for each node that was asked about


def links_form(archive: Archive, stem: str, sides: Sides) -> LinksFile:
    """The file of an archive of link votes, and the content of the file beside it."""
    result, proof = archive.certificates, archive.certificates.proof
    kept: LinkAttack = proof.find
    names = [str(each) for each in kept.graph.nodes]
    if len(set(names)) < len(names):
        raise InvalidParameterError("graph", "must have nodes with different names: an archive has them as text.")
    links = np.sort(kept.graph.edges, axis=1)
    links = links[np.lexsort(links.T[::-1])]
    packed = pack_arrays(ARRAYS, {"own": [kept.own], "votes": [kept.votes], "links": [links]})
    rows = []
    for row, broken in enumerate(proof.broken_sizes.tolist()):
        attack = None
        if broken:
            ends = kept.sites.ends_at(np.array(kept(row, broken).sites))
            attack = tuple(sorted((min(pair), max(pair)) for pair in np.stack(ends[-2:], axis=1).tolist()))
        rows.append(
            LinkedNode(
                name=archive.names[row],
                node=int(result.nodes.index[row]),  # type: ignore[union-attr]  # link votes are about nodes
                true=archive.labels[row],
                label=int(result.labels[row]),
                certified_size=int(proof.certified_sizes[row]),
                broken_size=broken or None,
                attack=attack,
            )
        )
    return LinksFile(
        format=FORMAT,
        version=VERSION,
        says=SAYS,
        alpha=0,
        threat=threat_form(proof.threat),
        class_names=archive.class_names,
        n_nodes=len(names),
        node_names=None if names == list(map(str, range(len(names)))) else tuple(names),
        arrays=side_form(f"{stem}{SIDE}", packed, sides),
        how=proof.how,
        settings=dict(archive.settings),
        provenance=dict(archive.provenance),
        graphs=tuple(rows),
    )


def links_archive(told: LinksFile, path: Path) -> Archive:
    """The archive in a file, as it states it."""
    check(told.alpha == 0, "alpha", "be 0, as nothing is sampled", told.alpha)
    threat, n_classes = threat_of_form(told.threat, "threat", by_radius=True), len(told.class_names)
    check(cells_of(threat, 1) is not None, "threat", "be one that link votes are certified under", told.threat.text)
    check(n_classes > 1, "class_names", "be two or more", told.class_names)
    check(bool(told.graphs), "graphs", "hold at least one node", [])
    if told.node_names is not None:
        different = len({*told.node_names})
        check(different == told.n_nodes, "node_names", f"be {told.n_nodes:,} different names", different)
    seen = set[int]()
    for i, row in enumerate(told.graphs):
        place = f"graphs[{i}]"
        for name, number in (("class", row.label), ("true", row.true)):
            check((number or 0) < n_classes, f"{place}.{name}", f"be a class from 0 to {n_classes - 1}", number)
        check(row.node < told.n_nodes and row.node not in seen, f"{place}.node", "be a node, once", row.node)
        seen.add(row.node)
        check(row.certified_size <= threat.most, f"{place}.certified_size", f"be at most {threat.most}", row)
        check((row.broken_size is None) is (row.attack is None), f"{place}.attack", "stand beside 'broken_size'", row)
        if row.broken_size is not None and row.attack is not None:
            fits = 0 < row.broken_size <= threat.most
            check(fits, f"{place}.broken_size", f"be from 1 to {threat.most}", row.broken_size)
            ascending = all(u < v < told.n_nodes for u, v in row.attack) and list(row.attack) == sorted({*row.attack})
            check(ascending and bool(row.attack), f"{place}.attack", "be ascending pairs of nodes", row.attack)
    side = read_side(
        told.arrays, "arrays", path, SIDE, partial(_unpacked, told.n_nodes, n_classes),
        "Scores, votes and links are in {name}, which is not beside the file. Nothing is proved without it.",
        needed=True,
    )  # fmt: skip
    check(side is not None, "arrays.file", "name the file of scores, votes and links", None)
    assert side is not None
    own, votes, links = side  # as many scores as nodes: only now is their number known to be true
    names: tuple[Any, ...] = tuple(range(told.n_nodes)) if told.node_names is None else told.node_names
    index = np.array([row.node for row in told.graphs], dtype=np.int64)
    graph = Graph(told.n_nodes, links, nodes=names)
    attacks = {i: row.attack for i, row in enumerate(told.graphs)}
    scores = sums_of_votes(own, votes, Links.of(told.n_nodes, links))
    find = LinkAttack(scores, votes, graph, lambda row, _size: (int(index[row]), attacks[row] or ()), own)
    sizes = np.array([(row.certified_size, row.broken_size or 0) for row in told.graphs], dtype=np.int64).T
    part_of = str(Deletions(threat.most) + Additions(threat.most)) if isinstance(threat, Rewire) else ""
    proof = LinkProof(threat, told.how, part_of, sizes[0], sizes[1], find)
    nodes = TargetNodes(index, tuple(names[node] for node in index.tolist()), (told.n_nodes,))
    n_rows = len(told.graphs)
    about = Rows(np.zeros(n_rows, dtype=np.int64), np.arange(n_rows), n_classes, [""] * n_rows, nodes=nodes)
    labels = np.array([row.label for row in told.graphs])
    return Archive(
        kind=LINKS,
        result=Certificates(about, labels, threat, proof),
        claims=tuple((LinkRow(r.node, r.label, r.certified_size, r.broken_size, r.attack or ()),) for r in told.graphs),
        names=tuple(row.name for row in told.graphs),
        labels=tuple(row.true for row in told.graphs),
        anchored=("",) * n_rows,
        class_names=told.class_names,
        nodes=tuple(index.tolist()),
        settings=told.settings,
        provenance=told.provenance,
    )


def _unpacked(n_nodes: int, n_classes: int, file: BinaryIO) -> tuple[Numbers, Numbers, Numbers]:
    """Own scores, votes and links, once they are such that no sum of them leaves 64 bits."""
    arrays = PackedArrays(file, ARRAYS)
    own, votes = (arrays.take(name, n_nodes * n_classes).reshape(n_nodes, n_classes) for name in ("own", "votes"))
    links = arrays.take("links", arrays.left["links"] // 2 * 2).reshape(-1, 2).astype(np.int64)
    arrays.check_empty()
    for name, given in (("own", own), ("votes", votes)):
        largest = max(abs(int(given.min(initial=0))), int(given.max(initial=0)))
        check(largest * max(1, n_nodes) <= MAX_SUM, name, "be so small that sums stay within 64 bits", largest)
    inside = bool(((links >= 0) & (links < n_nodes)).all() and (links[:, 0] < links[:, 1]).all())
    order = links[:, 0] * n_nodes + links[:, 1]
    check(inside and bool((np.diff(order) > 0).all()), "links", "be ascending pairs of nodes, each once", len(links))
    return own.astype(np.int64), votes.astype(np.int64), links


def check_kept(result: Certificates[Any]) -> None:
    """Refuses link votes that a file cannot keep: those under a threat that `verify` has no proof of."""
    if result.proof.find is None or cells_of(result.proof.threat, 1) is None:
        hint = "Certify LinkVotes under flips, deletions, additions, local budgets, controlled nodes or rewired edges."
        raise InvalidParameterError("result", "be link votes that a file can prove", result, hint)
