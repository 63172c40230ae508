"""A certificate in words: its sentence, a short form for one object, and the few columns of a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starcert.claims.intervals import IntervalProof
from starcert.claims.question import NO_ATTACK
from starcert.objects.noise import Noise
from starcert.objects.words import AttackWords, listed
from starcert.system.output import at_least, at_most, holds_at_least

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates
    from starcert.claims.outcomes import SizeCounts

MAX_NAMED = 8  # maximal radii that are named


def sentence_of(one: Certificate) -> str:
    """The claim of a certificate, all of it."""
    if isinstance(one.certificates.proof, IntervalProof):
        return str(one.clean)
    if not one.certificates.of_radii:
        threat, verdict = one.certificates.threat, one.judge()
        return f"Class {_called(one, one.label)}, {verdict.kind} under {threat}: {verdict.why}."
    laws = stated_by(one.noise)
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
    if laws:
        end += f" This is stated by {laws}, not proved."
    who = "the smoothed classifier"
    if one.threshold is not None:
        end += f" That class {blind} is a blind answer, the same whatever is attacked, is taken as stated."
        who += f", which falls back to class {blind} unless another class is likelier than {one.threshold},"
    return f"{premise}, {who} answers class {answer} for {_certified_objects(one, whom)}.{end}"


def summary_of(many: Certificates) -> str:
    """Three lines about all rows: what they are, their answers, and their states at the smallest and largest attack."""
    head = repr(many).removeprefix("Certificates(").removesuffix(")")
    if isinstance(many.proof, IntervalProof):
        return f"{head}\nanswers: intervals for numbers\n{len(many):,} of them, as intervals(…) has them"
    answered = Counter(many.labels[~many.abstained].tolist())
    names = many.classes or range(many.n_classes)
    answers = [f"{answered[label]:,} of class {names[label]}" for label in sorted(answered)]
    answers += [f"{int(many.abstained.sum()):,} abstain"] * bool(many.abstained.any())
    sizes = many.counts()
    states = [_state_in_words(each) for each in dict.fromkeys([*sizes[:1], *sizes[-1:]])]
    return "\n".join([head, f"answers: {', '.join(answers)}", "; ".join(states) or "no attack was asked about"])


def _state_in_words(each: SizeCounts) -> str:
    if not each.n_graphs:
        return f"{each.label}: no such attack exists"
    if each.n_certified is None:
        return f"{each.label}: not known, {each.why}"
    return f"{each.label}: {each.n_certified:,} certified, {each.n_broken:,} broken, {each.n_open:,} open"


def stated_by(noise: Noise) -> str:
    """Which laws from outside claims rest on, so that nothing about them is proved; "" if on none."""
    return " and ".join(f"the law {name}" for name in noise.outside)


def _called(one: Certificate, label: int | None) -> object:
    """The name of a class, by its number."""
    return label if label is None or one.classes is None else one.classes[label]


def _certified_objects(one: Certificate, whom: str) -> str:
    word, radii = one.kind.word, one.frontier.radii
    seen, words = _visible_axes(one), AttackWords(one.noise)
    shown = [tuple(n * (axis in seen) for axis, n in zip(one.noise.axes, radius, strict=True)) for radius in radii]
    named = [words.level(radius, ", ") for radius in shown[:MAX_NAMED] if any(radius)]
    flips = "; or ".join(dict.fromkeys(named))  # radii may differ in what is not named
    flips += f"; or any of {len(radii) - MAX_NAMED:,} further radii of its frontier" if len(radii) > MAX_NAMED else ""
    by_radius = f"{whom}every {word} that differs from this one by at most these flips, and nowhere else: {flips}"
    if one.asked is not None:
        return _certified_attacks(one, whom) + (f"; and for {by_radius}" if named else "")
    return by_radius if named else f"{whom}this {word} itself; no flip is certified"


def any_number_of_flips(one: Certificate) -> str:
    """The sentence about sites of the object that noisy copies never show."""
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
    """The certified part of the threat in the question."""
    assert one.asked is not None
    threat, size, clean = one.asked.threat, one.certified_size, f"{whom}this {one.kind.word}"
    if not size:
        return f"{clean} itself; of the threat ({threat.label}) nothing is certified"
    if one.why(threat) == NO_ATTACK:
        return f"{clean} itself, on which the threat ({threat.label}) has no attack"
    part = "" if size == threat.most else f", of sizes up to {size:,} of {threat.most:,}"
    return f"{clean} and every one that an attack of the threat makes of it ({threat.label}{part})"


def in_short(one: Certificate, words: AttackWords, classes: Sequence[str]) -> tuple[str, ...]:
    """The results of the smallest attacks on one object: texts, and the names of classes in between.

    It says what is certified, which attacks are known, and what is open, and nothing else; () where it has nothing to
    say, as after an abstention. A *step* is one flip of a site.
    """
    if one.abstained or (one.asked is None and one.capacity is None):
        return ()
    before, after = _about_threat(one) if one.asked is not None else _about_flips(one, words)
    if not before:
        return (after,)
    if one.alpha is not None and not before.startswith("Whether"):
        all_of_them = f", for all {one.together:,} together" if one.together > 1 else ""
        after += f" This holds with probability at least {holds_at_least(one.alpha)} over the sampling{all_of_them}."
    own, others = classes[one.label], [name for number, name in enumerate(classes) if number != one.label]
    if len(others) == 1 and one.threshold is None:
        return before, own, " into ", others[0], after
    return before, own, f" into another class{after}"


def _about_threat(one: Certificate) -> tuple[str, str]:
    """The words before and after the classes, where a threat lists its attacks."""
    assert one.asked is not None
    threat, size = one.asked.threat, one.certified_size or 0
    if one.why(threat) == NO_ATTACK:
        return "", f"The threat ({threat.label}) has no attack here."
    if size == threat.most:
        return f"No attack of the threat ({threat.label}) turns ", "."
    sizes, label = {} if one.verdicts is None else one.verdicts.sizes, threat.label_of(size + 1)
    broken = size + 1 in sizes and sizes[size + 1].kind == "broken"
    if size:
        known = "an attack is known that does" if broken else "it is open whether an attack does"
        return f"No attack ({threat.label_of(size)}) turns ", f". With {label}, {known}."
    if broken:
        return f"An attack ({label}) is known that turns ", "."
    return f"Whether an attack ({label}) turns ", " is open."


def _about_flips(one: Certificate, words: AttackWords) -> tuple[str, str]:
    """The words before and after the classes, where any flips count."""
    assert one.capacity is not None
    most, step = one.any_flips, words.step(one.capacity)
    if not any(one.capacity):
        return "", "There is nothing to attack."
    if not most:
        return _about_single_steps(one, words, step)
    each = f"each {'an' if step[0] in 'aeiou' else 'a'} {step}"
    before = f"No single {step} turns " if most == 1 else f"No {most:,} or fewer steps, {each}, turn "
    if most == sum(one.capacity):
        return before, "."
    found = [level for level in one.broken if sum(level) == most + 1]
    if not found:
        return before, f". For {most + 1:,} changes: not proved, and no attack that changes the answer is known."
    return before, f". Attacks of {most + 1:,} steps are known that do: {words.spelled(found, MAX_NAMED)}."


def _about_single_steps(one: Certificate, words: AttackWords, step: str) -> tuple[str, str]:
    """The same where not all single steps are certified: which are, which are broken, and which are open."""
    assert one.capacity is not None
    kinds: dict[str, list[str]] = {"certified": [], "broken": [], "open": []}
    for axis, size in enumerate(one.capacity):
        level = tuple(int(other == axis) for other in range(len(one.capacity)))
        asked = one.max_radius is None or one.max_radius[axis] > 0
        if size:
            kinds[one.verdict(level) if asked else "open"].append(words.level(level))
    broken, unknown = (listed(kinds[kind], " or ") for kind in ("broken", "open"))
    if kinds["certified"]:
        how = "an attack is known" if len(kinds["broken"]) == 1 else "attacks are known"
        exceptions = [f"{broken} ({how})"] * bool(broken) + [f"perhaps {unknown} (open)"] * bool(unknown)
        return f"No single {step} turns ", f", except {listed(exceptions)}."
    if broken:
        return "Attacks of a single step are known that turn ", f": {broken}." + f" Open: {unknown}." * bool(unknown)
    return f"Whether a single {step} turns ", " is open."


def cells_of(one: Certificate) -> dict[str, object]:
    """The certificate in a few columns, for a notebook."""
    if isinstance(one.certificates.proof, IntervalProof):
        return {"estimate": f"{one.estimate:.6g}", "without attack": f"{one.clean.low:.6g} to {one.clean.high:.6g}"}
    if not one.certificates.of_radii:
        threat = one.certificates.threat
        return {"class": _called(one, one.label)} | ({} if threat is None else {threat.label: one.verdict()})
    radii = one.frontier.radii
    words = AttackWords(one.noise)
    named = ", ".join(str(n) for (n,) in radii[:MAX_NAMED]) if len(words.axes) == 1 else words.radii(radii, MAX_NAMED)
    found: dict[str, object] = {
        "class": "abstains" if one.abstained else _called(one, one.label),
        **({} if one.blind_answer is None else {"blind": _called(one, one.blind_answer)}),
        "p_lower": at_least(one.p_lower, decimals=6),
        f"certified ({', '.join(one.noise.axes)})": named,
    }
    if one.asked is not None:
        return {**found, one.asked.threat.label: one.verdict(one.asked.threat)}
    return (
        found
        if one.verdicts is None
        else {**found, "broken": words.radii(one.broken, MAX_NAMED) if one.broken else "–"}
    )
