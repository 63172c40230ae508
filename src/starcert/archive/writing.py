"""An archive as JSON: the premises of its certificates, and beside them what they claim.

Each graph has a line of its own, so that a large file can be read, searched and compared by eye. Floats are written so
that they come back to the last bit; the premises of proofs are given as exact fractions, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from os import PathLike
from pathlib import Path

from starcert.archive.claims import Claim, claims_of, claims_to_json
from starcert.archive.drawn import drawn_keys, write_drawn
from starcert.archive.evidence_file import SIDE, pack
from starcert.archive.exact_archive import ExactArchive, exact_lines
from starcert.archive.intervals import IntervalArchive, interval_lines
from starcert.archive.kept import json_lines
from starcert.archive.listed_attacks import question_to_json
from starcert.archive.premises import exact, noise_to_json
from starcert.archive.reading import FORMAT
from starcert.archive.record import Archive, states_margins
from starcert.archive.side_arrays import write_side
from starcert.archive.threat_texts import threat_to_json
from starcert.archive.untrusted import VERSION, archive_errors
from starcert.math.confidence import CLOPPER_PEARSON
from starcert.objects.noise import Noise
from starcert.system.files import write_whole

SAYS = (
    "For each graph by itself, with probability at least 1 - alpha over the sampling of its votes: unless its claims "
    "abstain, the smoothed classifier answers the claimed class for every graph that differs from this one by at most "
    "as many flips on each axis as one of the radii of its frontier counts, and nowhere else. Where 'anchored' gives a "
    "reason, the regions are frozen at this graph. {claims}"
)
PROVED = (
    "Everything under 'claims' follows from the noise, alpha and the votes: starcert verify proves it again from these."
)
STATED = (
    "Everything under 'claims' follows from alpha, the votes and from what the law {laws} states about the noise: "
    "starcert verify has no prover of these."
)
SAYS_TOGETHER = SAYS.replace(
    "For each graph by itself", "For all of 'together' graphs at once, these among them"
).replace("the sampling of its votes", "the sampling of their votes")
SAYS_MORE = (
    " What is claimed beyond the counts of the votes follows from where their flips fell, and from votes at attacked "
    "graphs: both are in the file that 'evidence' names. A quarter of alpha is for the bounds. Of each level in "
    "'broken', an attack is known that changes the answer."
)
SAYS_THREAT = (
    " Also under the threat {threat}: no attack that is listed with a size of at most 'certified_size' changes the "
    "answer, and of each size in 'broken' a listed attack is known that does. 'listed' has the levels and the number "
    "of the attacks of each size, for each graph. That the lists have all attacks of the threat is taken as stated. "
    "Radii follow from the counts of the votes alone."
)
SAYS_FALLBACK = (
    " The smoothed classifier falls back: it answers a class other than 'blind' where noisy copies have that class "
    "with more probability than the threshold of 'fallback' says, and 'blind' elsewhere. That 'blind' is the same for "
    "all graphs that an attacker makes of one is taken as stated."
)


def says(
    *,
    together: int,
    evidence: bool,
    noise: Noise,
    threat: str = "",
    fallback: bool = False,
) -> str:
    """The sentence that every file has, for the failure probability of one certificate or of all at once."""
    text = (SAYS if together == 1 else SAYS_TOGETHER) + (SAYS_MORE if evidence else "")
    claims = STATED.replace("{laws}", ", ".join(noise.outside)) if noise.outside else PROVED
    text = text.replace("{claims}", claims) + (SAYS_THREAT.replace("{threat}", threat) if threat else "")
    return text + (SAYS_FALLBACK if fallback else "")


def write(path: str | PathLike[str], archive: Archive | ExactArchive | IntervalArchive) -> None:
    """Writes an archive and its claims to a JSON file, which is replaced whole or not at all.

    Side files are written first, beside `certificates.json`: `certificates.chunks.npz` with the votes of each chunk,
    `certificates.evidence.npz` with evidence, and with collective claims `certificates.collective.evidence.npz`.

    Example:
        >>> import tempfile
        >>> import starcert as sc
        >>> bounds = sc.clopper_pearson(sc.Votes([[9_900, 100]], selection=[[98, 2]]))
        >>> kept = sc.archive.Archive.from_result(sc.certify(bounds, sc.Noise(bonds=0.1)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sc.archive.write(f"{folder}/certificates.json", kept)
        ...     sc.archive.read(f"{folder}/certificates.json") == kept
        True
    """
    with archive_errors():
        place = Path(path)
        if isinstance(archive, ExactArchive):
            lines = exact_lines(archive)
        elif isinstance(archive, IntervalArchive):
            lines = interval_lines(archive, place)
        else:
            lines = _lines(archive, _write_evidence(place, archive), _write_collective(place, archive), place)
        write_whole(path, lines)


def _write_evidence(path: Path, archive: Archive) -> dict[str, object]:
    """Writes the side file, if anything belongs in it, and returns the JSON file's entry about it."""
    if archive.evidence is None:
        return {}
    side = pack(archive.evidence, archive.votes.objects.tolist()) if any(archive.evidence) else None
    return {"evidence": write_side(path, SIDE, side)}


def _write_collective(path: Path, archive: Archive) -> dict[str, object]:
    """Writes the side file of collective claims, if there are any, and returns the JSON file's entry about them."""
    if archive.collective is None:
        return {}
    kept = pack(archive.collective.evidence(archive.noise))
    side = write_side(path.with_name(f"{path.stem}.collective.json"), SIDE, kept)
    return {"collective": archive.collective.to_json({"evidence": side})}


def _lines(archive: Archive, evidence: dict[str, object], collective: dict[str, object], path: Path) -> Iterator[str]:
    blind, threshold = archive.votes.blind, dict[str, object]()
    if blind is not None:
        threshold = {"threshold": blind.threshold, "exact": exact(blind.threshold)}
    head = {
        "format": FORMAT,
        "version": VERSION,
        "says": says(
            together=archive.together,
            evidence=bool(evidence),
            noise=archive.noise,
            threat=archive.threat,
            fallback=blind is not None,
        ),
        "noise": noise_to_json(archive.noise),
        "axes": archive.noise.axes,
        "alpha": archive.alpha,
        "alpha_exact": exact(archive.alpha),
        **({} if archive.together == 1 else {"together": archive.together}),
        **({"margins": "chosen"} if states_margins(archive.votes) else {}),
        **({} if archive.bound == CLOPPER_PEARSON else {"bounds": archive.bound}),
        **({"fallback": threshold} if threshold else {}),
        **evidence,
        **({} if archive.asked is None else {"threat": threat_to_json(archive.asked[0].threat)}),
        **collective,
        **({} if (audit := archive.votes.audit) is None else {"audit": asdict(audit) | {"says": str(audit)}}),
        **write_drawn(path, archive.votes),
        "max_radius": archive.max_radius,
        "classes": archive.class_names,
        "settings": archive.settings,
        "provenance": archive.provenance,
    }
    listed = {} if archive.asked is None else {"listed": map(question_to_json, archive.asked)}
    graphs = (_graph(archive, i, claims_of(each)) for i, each in enumerate(archive.certificates))
    return json_lines(head, {**drawn_keys(archive.votes), **listed, "graphs": graphs})


def _graph(archive: Archive, i: int, claims: tuple[Claim, ...]) -> dict[str, object]:
    votes, target = archive.votes, {}
    if archive.nodes is not None or votes.targets.any():
        node = {} if archive.nodes is None else {"node": archive.nodes[i]}
        target = {"graph": int(votes.objects[i]), "target": int(votes.targets[i]), **node}
    return {
        "name": archive.names[i],
        **target,
        "true_class": archive.labels[i],
        "estimation": votes.counts[i].tolist(),
        "selection": None if votes.selection is None else votes.selection[i].tolist(),
        **({} if votes.blind is None else {"blind": int(votes.blind.answers[i])}),
        "capacity": archive.boxes[i],
        "anchored": archive.anchored[i],
        "claims": claims_to_json(claims),
    }
