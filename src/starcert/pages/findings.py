"""What a reader must know before believing the numbers: accuracy beside the majority class, and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starcert.certificates.metrics import FlipVerdicts, flip_verdicts, has_sites, right, too_few_votes, votes_needed
from starcert.files import Archive
from starcert.objects.binding import object_word
from starcert.objects.layers import ARCS, PAIRS
from starcert.objects.noise import AnyFlips
from starcert.objects.sites import Sites
from starcert.objects.vectors import COLUMNS
from starcert.pages.radius_tables import Limits, Slices, box_of, most_frequent

__all__ = [
    "Notice",
    "ReportSummary",
    "Words",
    "counted",
    "fixed_pairs",
    "nothing_to_flip",
    "notices",
    "out_of_reach",
    "several",
    "summary",
    "votes_to_settle",
    "what_evidence_adds",
]

MOST_REASONS = 5
"""So many different reasons are written out."""


@dataclass(frozen=True)
class Words:
    """What the rows of a page and the sites of an attacker are called.

    Attributes:
        one: a row: a graph, a node, or an object.
        many: several of them.
        site: what an attacker changes: a node pair, an arc, or a site of whatever kind.
        sites: several of them.
        present: what sites that are not 0 are called.
    """

    one: str = "graph"
    many: str = "graphs"
    site: str = "node pair"
    sites: str = "node pairs"
    present: str = "edges"

    @classmethod
    def of(cls, sites: Sequence[Sites], *, nodes: bool) -> Words:
        """The words for objects with these sites; `nodes`: their nodes are the rows."""
        one = "node" if nodes else object_word(each.clean for each in sites)
        layers = {block.layer for each in sites for block in each.blocks}
        known = {PAIRS: ("node pair", "edges"), ARCS: ("arc", "present"), COLUMNS: ("column", "not 0")}
        site, present = known.get(layers.pop(), OTHER_SITES) if len(layers) == 1 else OTHER_SITES
        return cls(one, f"{one}s", site, f"{site}s", present)

    @property
    def whole(self) -> str:
        """What noise falls on: a graph, be it itself or its nodes that are classified, or another object."""
        return "graph" if self.one == "node" else self.one


GRAPHS = Words()
OTHER_SITES = ("site", "not 0")


@dataclass(frozen=True)
class ReportSummary:
    """The numbers that stand first.

    Attributes:
        n_graphs: how many graphs were certified.
        n_labelled: how many of them have a known class.
        n_abstained: for how many no answer is certain enough to be given.
        answers: how often each class is answered, abstentions left out.
        n_right: how many of the labelled graphs are answered right, not counting abstentions.
        majority: the most frequent true class and how many graphs have it; None without labels.
    """

    n_graphs: int
    n_labelled: int
    n_abstained: int
    answers: dict[int, int]
    n_right: int
    majority: tuple[int, int] | None


@dataclass(frozen=True)
class Notice:
    """One thing that a reader must know: a heading and what it means."""

    head: str
    text: str


def summary(archive: Archive, abstained: list[bool]) -> ReportSummary:
    """Counts what the smoothed classifier answered, and how often that is right."""
    answers = archive.certificates.labels.tolist()
    given = [answer for answer, none in zip(answers, abstained, strict=True) if not none]
    truth = Counter(label for label in archive.labels if label is not None)
    return ReportSummary(
        n_graphs=len(archive),
        n_labelled=truth.total(),
        n_abstained=sum(abstained),
        answers=dict(Counter(given)),
        n_right=int(right(archive.certificates, archive.labels).sum()),
        majority=most_frequent(truth),
    )


def notices(archive: Archive, counts: ReportSummary, slices: Slices, words: Words = GRAPHS) -> list[Notice]:
    """The warnings that apply, the weightiest first."""
    without = (~has_sites(archive.certificates)).sum(axis=0).tolist()
    found = (
        _anchored(archive, words),
        _constant(archive, counts, words),
        _too_few_samples(archive, slices),
        nothing_to_flip(dict(zip(archive.noise.axes, without, strict=True)), len(archive), words),
        _abstentions(counts, words),
    )
    given = [notice for notice in found if notice is not None]
    if not slices.verified:
        text = "Every certified radius is proved. Whether some radii just beyond a frontier are certified is open."
        given.append(Notice("Some frontiers may reach further", text))
    return given


def _anchored(archive: Archive, words: Words) -> Notice | None:
    reasons = Counter(reason for reason in archive.anchored if reason)
    if not reasons:
        return None
    named = " ".join(reason for reason, _ in reasons.most_common(MOST_REASONS))
    if len(reasons) > MOST_REASONS:
        named += f" (And {len(reasons) - MOST_REASONS:,} further reasons; each {words.one} shows its own.)"
    text = (
        f"{named} The certificates of these {words.many} speak of a classifier whose regions are frozen at the clean "
        f"{words.whole}: an attacked {words.whole} would have other regions, and about a classifier that draws them "
        "anew nothing is certified."
    )
    return Notice(f"Anchored regions in {_of(reasons.total(), len(archive), words)}", text)


def _constant(archive: Archive, counts: ReportSummary, words: Words) -> Notice | None:
    answered = sum(counts.answers.values())
    if len(counts.answers) == 1 and answered > 1:
        name = archive.class_names[next(iter(counts.answers))]
        text = (
            f"Every {words.one} that gets an answer gets {name!r}. A constant classifier is robust against everything, "
            "and worthless: these certificates may say nothing about your model. Less noise, or training with noise, "
            "may help."
        )
        return Notice("The smoothed classifier answers one class only", text)
    if counts.majority is None or counts.n_labelled < 2 or counts.n_right > counts.majority[1]:
        return None
    text = (
        f"It is right on {_of(counts.n_right, counts.n_labelled, words)}; always answering the majority class "
        f"{archive.class_names[counts.majority[0]]!r} would be right on "
        f"{_of(counts.majority[1], counts.n_labelled, words)}. "
        "Robust answers are worth little while a constant answer is as good."
    )
    return Notice("No more accurate than a constant classifier", text)


def _too_few_samples(archive: Archive, slices: Slices) -> Notice | None:
    """Warns of axes where not even unanimous votes could certify one flip."""
    text = out_of_reach(archive, slices.box)
    if not text:
        return None
    return Notice("There are axes where no flip can be certified", text)


def out_of_reach(archive: Archive, box: Limits | None = None) -> str:
    """Says on which axes there are too few votes to certify a single flip, whatever they say; "" if on none.

    Args:
        archive: the certificates.
        box: on each axis the most flips that any graph has, if that is worked out already.
    """
    needed = votes_needed(
        archive.noise,
        archive.alpha,
        len(archive.class_names),
        selected_apart=archive.votes.selection is not None,
        together=archive.together,
        evidence=archive.evidence is not None,
        plan="decided" if archive.votes.stopped else "fixed",
    )
    box = box_of(archive) if box is None else box
    there = {axis: votes for (axis, votes), limit in zip(needed.items(), box, strict=True) if limit != 0}
    how = "" if archive.certificates.verdicts is None else "by p_A"
    return too_few_votes(int(archive.votes.counts.sum(axis=1).max()), there, how)


def nothing_to_flip(without: Mapping[str, int], n_graphs: int, words: Words = GRAPHS) -> Notice | None:
    """Warns of axes on which graphs, so many on each, have no sites; None if there are none.

    Example:
        >>> nothing_to_flip({"ring": 3, "rest": 0}, 12).head
        'Some graphs have nothing to flip in ring'
    """
    empty = {axis: n for axis, n in without.items() if n}
    if not empty:
        return None
    where = "; ".join(f"{axis} has none in {n:,} of {counted(n_graphs, words.one)}" for axis, n in empty.items())
    text = (
        f"Of sites to flip, {where}. Such {words.many} would count as certified against any number of flips there, for "
        f"there are none: they are counted apart, and shares and means on these axes are of the other {words.many}."
    )
    return Notice(f"Some {words.many} have nothing to flip in {', '.join(empty)}", text)


def fixed_pairs(fixed: Sequence[int], words: Words = GRAPHS) -> str:
    """Says how many sites of each object lie in no region, and what that means; "" if none do.

    Example:
        >>> fixed_pairs([0, 7])
        'Fixed: 7 node pairs in 1 of 2 graphs lie in no region; nothing is certified there.'
    """
    some = sum(n > 0 for n in fixed)
    if not some:
        return ""
    lie = "lies" if sum(fixed) == 1 else "lie"
    where = f"{counted(sum(fixed), words.site)} in {some:,} of {counted(len(fixed), words.whole)}"
    return f"Fixed: {where} {lie} in no region; nothing is certified there."


def votes_to_settle(found: Sequence[FlipVerdicts], words: Words = GRAPHS) -> list[str]:
    """How many votes of their own would settle open graphs, a sentence for each number of flips where that is known.

    The first number settles half of those of which it is known, the second one all of them.
    """
    told = []
    for each in found:
        if each.own_samples:
            half, last = (_rounded_up(each.own_samples[place]) for place in ((len(each.own_samples) - 1) // 2, -1))
            settled = sum(need <= half for need in each.own_samples)
            all_of_them = len(each.own_samples)
            more = f", and about {last:,} would settle {all_of_them:,}" if settled < all_of_them else ""
            which = f"{settled:,} of the {each.n_open:,} open {several(each.n_open, words.one)}"
            told.append(f"Any {each.flips:,}: own_samples of about {half:,} would settle {which}{more}.")
    return told


def _rounded_up(number: int) -> int:
    """The number with two digits that count, no smaller."""
    unit = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // unit) * unit


def what_evidence_adds(archive: Archive, words: Words = GRAPHS) -> str:
    """Without evidence, what it would decide: the answers that p_A leaves open under any one flip, or any two."""
    if archive.certificates.verdicts is not None:
        return ""
    known = any(label is not None for label in archive.labels)
    for each in flip_verdicts(archive.certificates, archive.labels if known else None):
        if each.n_open:
            threat = AnyFlips(each.flips)
            which = f"{each.n_open:,} of {counted(each.n_right, words.one)}{' answered right' if known else ''}"
            return (
                f"Under {threat.label}, p_A leaves {which} open. --evidence --threat {threat}, with another --seed, "
                "also looks at where the flips of votes fell: it can certify more of these, and finds attacks."
            )
    return ""


def counted(n: int, what: str) -> str:
    """A number with its noun: 1 graph, 2 graphs."""
    return f"{n:,} {several(n, what)}"


def several(n: int, what: str) -> str:
    """The noun for so many: graph, graphs."""
    return f"{what}{'s' * (n != 1)}"


def _abstentions(counts: ReportSummary, words: Words) -> Notice | None:
    if not counts.n_abstained:
        return None
    text = (
        "No class can be shown to be the likeliest there, so no answer is given. Abstentions count as not certified, "
        "and where the class is known as not right. More samples may help where the votes are close."
    )
    return Notice(f"The smoothed classifier abstains on {_of(counts.n_abstained, counts.n_graphs, words)}", text)


def _of(part: int, whole: int, words: Words) -> str:
    return f"{part:,} of {counted(whole, words.one)} ({part / whole:.1%})"
