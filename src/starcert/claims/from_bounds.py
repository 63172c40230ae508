"""Certificates from bounds on the class probabilities of smoothed objects."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows
from starcert.claims.vote_proof import VoteProof
from starcert.math.confidence import Bounds
from starcert.objects import TargetNodes
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.kinds import Kind
from starcert.objects.noise import Noise, RadiusLike
from starcert.system.errors import InvalidParameterError


def certify(
    bounds: Bounds,
    noise: Noise,
    *,
    max_radius: RadiusLike | None = None,
    capacity: Sequence[RadiusLike | None] | None = None,
    anchored: Sequence[str] | None = None,
    boxes: Sequence[RadiusLike | None] | None = None,
    nodes: TargetNodes | None = None,
    kind: Kind = GRAPHS,
    classes: Sequence[Hashable] | None = None,
) -> Certificates[VoteProof]:
    """One certificate for each row of `bounds`.

    Args:
        bounds: from `clopper_pearson`, or `Bounds.certain`.
        noise: the noise that the votes were drawn with.
        max_radius: the box of radii to look at. Without it, every axis is followed as far as it goes.
        capacity: for each row, how many sites an attacker finds on each axis; None where that is not known. It is
            believed: more flips than that are no further attack. A number that merely stands in a file is no capacity.
        anchored: for each row, why its regions are anchored, "" if they are not.
        boxes: for each row, how far its frontier is searched, within max_radius. Nothing else follows from it.
        nodes: the node of each row, where the nodes of graphs are classified.
        kind: the kind of the attacked objects.
        classes: what labels call the classes, in the order of their numbers; None: by their numbers alone.

    Example:
        >>> import starcert as sc
        >>> bounds = sc.clopper_pearson(sc.Votes([[99_950, 50]], selection=[[995, 5]]), alpha=0.01)
        >>> sc.certify(bounds, sc.Noise(motif=0.02, random=0.45), max_radius=(35, 45))[0].frontier.radii
        ((1, 45),)
    """
    if not isinstance(bounds, Bounds):
        raise InvalidParameterError("bounds", "come from clopper_pearson(votes)", type(bounds).__name__)
    if not isinstance(noise, Noise):
        raise InvalidParameterError("noise", "be a Noise", noise, "Write for instance Noise(motif=0.02, random=0.45).")
    if classes is not None and len(set(classes)) != bounds.n_classes:
        raise InvalidParameterError("classes", f"be {bounds.n_classes}, each once", classes)
    for name, given in (("capacity", capacity), ("anchored", anchored), ("boxes", boxes), ("nodes", nodes)):
        if given is not None and len(given) != len(bounds):
            raise InvalidParameterError(name, f"have one entry for each of {len(bounds)} rows", len(given))
    limits = None if max_radius is None else noise.radius(max_radius, "max_radius")
    nothing = [None] * len(bounds)
    sizes, searched = (
        [None if each is None else noise.capacity(each, name) for each in (nothing if given is None else given)]
        for name, given in (("capacity", capacity), ("boxes", boxes))
    )
    reasons = [""] * len(bounds) if anchored is None else anchored
    about = Rows(bounds.objects, bounds.targets, bounds.n_classes, reasons, kind, nodes, classes)
    return Certificates(about, bounds.labels, None, VoteProof(bounds, noise, limits, sizes, searched))
