"""What a certificate says in words: its sentence, and the few columns of a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starcert.certificates.questions import NO_ATTACK
from starcert.system.output import at_least, at_most, holds_at_least

if TYPE_CHECKING:
    from starcert.certificates.certificate import Certificate

MAX_NAMED = 8  # maximal radii that are named


def sentence_of(one: Certificate, stated_by: str) -> str:
    """The claim of a certificate, all of it; `stated_by` names bounds and laws from outside that it rests on."""
    answer, blind = _called(one, one.label), _called(one, one.blind_answer)
    if one.abstained:
        missing = f"class {answer} cannot be shown to be the likeliest (p_lower = {at_least(one.p_lower)})."
        if one.threshold is not None:
            sure = f"is {'not ' * one.answers_blind}likelier than {one.threshold}"
            which = "another class than the blind one" if one.answers_blind else f"class {answer}"
            missing = f"it falls back to class {blind}, and it cannot be shown that {which} {sure}."
        return f"The smoothed classifier abstains: {missing}"
    if one.alpha is None:  # what is presupposed is rounded up, so that no less is presupposed than it takes
        premise = f"If the smoothed probability of class {answer} is at least {at_most(one.p_lower)}"
    else:
        all_of_them = f", for all {one.together:,} certificates together" if one.together > 1 else ""
        premise = f"With probability at least {holds_at_least(one.alpha)} over the sampling{all_of_them}"
    whom = "" if one.node is None else f"the node {one.node!r} of "
    threat, end = None if one.asked is None else one.asked.threat, ""
    if threat is not None and one.verdict(threat) == "broken":
        end += " An attack of the threat is known that changes the answer."
    if threat is not None and threat.anchored:
        end += f" The list of attacks is anchored: {threat.anchored}"
    if one.anchored:
        end += f" The regions are anchored ({one.anchored}): they stay as they are in this {one.kind.word}."
    elif one.noise.invisible:
        end += f" {any_number_of_flips(one)}"
    if stated_by:
        end += f" This is stated by {stated_by}, not proved."
    who = "the smoothed classifier"
    if one.threshold is not None:
        end += f" That class {blind} is a blind answer, the same whatever is attacked, is taken as stated."
        who += f", which falls back to class {blind} unless another class is likelier than {one.threshold},"
    return f"{premise}, {who} answers class {answer} for {_certified_objects(one, whom)}.{end}"


def _called(one: Certificate, label: int | None) -> object:
    """What a class is called, by its number."""
    return label if label is None or one.classes is None else one.classes[label]


def _certified_objects(one: Certificate, whom: str) -> str:
    word, radii = one.kind.word, one.frontier.radii
    seen = _visible_axes(one)
    named = [
        [f"{count} in {axis}" for axis, count in zip(one.noise.axes, radius, strict=True) if count and axis in seen]
        for radius in radii[:MAX_NAMED]
    ]
    flips = "; or ".join(dict.fromkeys(map(", ".join, named)))  # radii may differ in what is not named
    flips += f"; or any of {len(radii) - MAX_NAMED:,} further radii of its frontier" if len(radii) > MAX_NAMED else ""
    by_radius = f"{whom}every {word} that differs from this one by at most these flips, and nowhere else: {flips}"
    if one.asked is not None:
        return _certified_attacks(one, whom) + (f"; and for {by_radius}" if any(named) else "")
    return by_radius if any(named) else f"{whom}this {word} itself; no flip is certified"


def any_number_of_flips(one: Certificate) -> str:
    """What is certified where noisy copies show nothing of the object."""
    where = [
        region if one.capacity is None else f"the {one.noise.sites_of(region, one.capacity):,} sites of {region}"
        for region in one.noise.invisible
    ]
    return f"Besides, any number of flips among {' and '.join(where)} changes nothing: noisy copies never show them."


def _visible_axes(one: Certificate) -> set[str]:
    """The axes on which flips are counted: where the regions are anchored, all of them."""
    hidden = () if one.anchored else one.noise.invisible
    return {region + suffix for region in one.noise if region not in hidden for suffix in one.noise[region].suffixes}


def _certified_attacks(one: Certificate, whom: str) -> str:
    """What is certified of the threat that was asked about."""
    assert one.asked is not None
    threat, size, clean = one.asked.threat, one.certified_size, f"{whom}this {one.kind.word}"
    if not size:
        return f"{clean} itself; of the threat ({threat.label}) nothing is certified"
    if one.why(threat) == NO_ATTACK:
        return f"{clean} itself, on which the threat ({threat.label}) has no attack"
    part = "" if size == threat.most else f", of sizes up to {size:,} of {threat.most:,}"
    return f"{clean} and every one that an attack of the threat makes of it ({threat.label}{part})"


def cells_of(one: Certificate) -> dict[str, object]:
    """The certificate in a few columns, for a notebook."""
    radii = one.frontier.radii
    named = ", ".join(str(radius[0] if len(radius) == 1 else radius) for radius in radii[:MAX_NAMED])
    more = f" … and {len(radii) - MAX_NAMED:,} more" if len(radii) > MAX_NAMED else ""
    found: dict[str, object] = {
        "class": "abstains" if one.abstained else _called(one, one.label),
        **({} if one.blind_answer is None else {"blind": _called(one, one.blind_answer)}),
        "p_lower": at_least(one.p_lower, decimals=6),
        f"certified ({', '.join(one.noise.axes)})": named + more or "none",
    }
    if one.asked is not None:
        return {**found, one.asked.threat.label: one.verdict(one.asked.threat)}
    return found if one.verdicts is None else {**found, "broken": ", ".join(map(str, one.broken)) or "–"}
