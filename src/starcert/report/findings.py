"""The facts to know before believing the numbers: accuracy beside the majority class, verdicts, and warnings."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from starcert.archive import Archive
from starcert.claims import metrics
from starcert.claims.outcomes import SizeCounts, in_words
from starcert.math.votes import Votes
from starcert.objects.binding import why_no_evidence
from starcert.objects.noise import Noise
from starcert.objects.threats import AnyFlips, Box
from starcert.objects.words import AttackWords, Words
from starcert.report.blocks import Marked, Notice, Phrase, Tones
from starcert.system.output import plural, quantity

MAX_REASONS = 5  # the most reasons that are written out
MAX_RADII = 500  # the most radii with a row in a table of verdicts; how many more there are is said


GRAPHS = Words()


class ReportSummary(NamedTuple):
    """The numbers that stand first."""

    n_graphs: int
    n_labelled: int
    n_abstained: int
    answers: dict[int, int]  # how often each class is answered, abstentions left out
    n_right: int  # how many of the labelled graphs are answered right, not counting abstentions
    majority: tuple[int, int] | None  # the most frequent true class, of equals the first, and how many graphs have it


def summary(archive: Archive) -> ReportSummary:
    """Counts what the smoothed classifier answered, and how often that is right."""
    certificates = archive.certificates
    answered = certificates.certified((0,) * len(archive.noise.axes))
    truth = Counter(label for label in archive.labels if label is not None)
    return ReportSummary(
        n_graphs=len(archive),
        n_labelled=truth.total(),
        n_abstained=int((~answered).sum()),
        answers=dict(Counter(certificates.labels[answered].tolist())),
        n_right=int(metrics.right(certificates, archive.labels).sum()),
        majority=min(truth.items(), key=lambda item: (-item[1], item[0]), default=None),
    )


def verdict_cells(found: SizeCounts, weighed: bool) -> dict[str, str]:
    """The cells of a row of the table of verdicts; "–" where nothing is known."""
    counts = {
        "listed": found.n_attacks,
        "rows": found.n_graphs,
        "right": found.n_right,
        "certified by p_A": found.n_by_p_A,
        "certified with evidence": found.n_certified if weighed else None,
        "broken": found.n_broken if weighed else None,
        "open": found.n_open,
    }
    return {name: "–" if count is None else f"{count:,}" for name, count in counts.items()}


def with_shares(found: SizeCounts, columns: Sequence[str]) -> Iterator[Phrase]:
    """Some of the cells of a run with evidence, each with its share of the rows; and all shares as one bar."""
    known, whole = verdict_cells(found, weighed=True), max(1, found.n_graphs)
    for cell in (known[column] for column in columns):
        share = "" if cell == "–" else f"{100 * int(cell.replace(',', '')) / whole:.1f}%"
        yield (f"{cell} ", Marked(share, "small")) if share else cell
    by_p_A, certified = found.n_by_p_A or 0, found.n_certified or 0  # noqa: N806  (the paper's p_A)
    counts = by_p_A, certified - by_p_A, found.n_open, found.n_broken
    tones = zip(("by-p-a", "by-evidence", "open", "broken"), counts, strict=True)
    yield (Tones(tuple((tone, n / whole) for tone, n in tones)),)


def verdict_notes(rows: Iterable[SizeCounts]) -> list[str]:
    """Why some rows have dashes, in sentences."""
    return in_words((each.label, False, each.why * (each.n_certified is None)) for each in rows)


def by_size(archive: Archive) -> list[SizeCounts]:
    """The states of the graphs under attacks of at most 1, 2, … units, up to the requested number."""
    certificates = archive.certificates
    return [] if certificates.counted is None else certificates.counts(archive.known)


def has_radii_by_evidence(archive: Archive) -> bool:
    """True if evidence speaks of radii: evidence about listed attacks says nothing about others."""
    return archive.certificates.verdicts is not None and archive.certificates.listed_threat is None


def verdict_rows(archive: Archive, words: Words = GRAPHS, most: int = MAX_RADII) -> tuple[list[SizeCounts], int]:
    """The rows for at most 1, at most 2, … units; with evidence about radii also those of one and two flips.

    Of these radii there are at most this many, and the number says how many are left out.
    """
    rows, certificates = by_size(archive), archive.certificates
    if certificates.counted is None or not has_radii_by_evidence(archive) or len(archive.noise.axes) == 1:
        return rows, 0  # on one axis, any flips are flips on it
    labels, attack = archive.known, AttackWords(archive.noise, words)
    truth = None if labels is None else certificates.truth(labels).tolist()
    radii = metrics.radii_of_flips(certificates, min(2, certificates.counted.most))
    for radius in radii[:most]:
        counts = certificates.outcomes(Box(radius)).counts_at(sum(radius), truth)
        rows.append(counts._replace(label=attack.level(radius)))
    return rows, max(0, len(radii) - most)


def without_attacks(archive: Archive, words: Words = GRAPHS) -> str:
    """Says how many graphs have no attack on the list at all; "" if none, or if nothing is listed."""
    found = by_size(archive)
    if archive.certificates.listed_threat is None or not found or not (n := found[-1].n_without):
        return ""
    those = "It counts as certified, and is" if n == 1 else "They count as certified, and are"
    which = f"{n:,} of {quantity(n + found[-1].n_graphs, words.one)} {'has' if n == 1 else 'have'}"
    return f"{which} no attack of this kind ({found[-1].label}). {those} left out of these numbers."


def changed_together(archive: Archive) -> list[str]:
    """The largest number of answers that an attack changes at once, in sentences; none without collective claims."""
    if archive.collective is None or not archive.collective.claims:
        return []
    meaning = (
        "That is about all answers together, and beside the certificates: alpha is divided neither between answers nor "
        "between attacks. The stated answers are those that the selection votes chose, also where it is abstained."
    )
    return [*map(str, archive.collective.claims), meaning]


def notices(archive: Archive, counts: ReportSummary, words: Words = GRAPHS) -> Iterator[Notice]:
    """The warnings that apply, the weightiest first."""
    yield from stated(archive)
    yield from anchored_notice(archive.anchored, words.one, words.whole)
    if len(counts.answers) == 1 and sum(counts.answers.values()) > 1:
        text = (
            f"Every {words.one} that gets an answer gets {archive.class_names[next(iter(counts.answers))]!r}. A "
            "constant classifier is robust against everything, and worthless: these certificates may say nothing about "
            "your model. Less noise, or training with noise, may help."
        )
        yield Notice("The smoothed classifier answers one class only", text)
    elif counts.majority is not None and counts.n_labelled >= 2 and counts.n_right <= counts.majority[1]:
        text = (
            f"It is right on {_of(counts.n_right, counts.n_labelled, words.one)}; always answering the majority class "
            f"{archive.class_names[counts.majority[0]]!r} would be right on "
            f"{_of(counts.majority[1], counts.n_labelled, words.one)}. "
            "Robust answers are worth little while a constant answer is as good."
        )
        yield Notice("No more accurate than a constant classifier", text)
    if text := out_of_reach(archive):
        yield Notice("There are axes where no flip can be certified", text)
    without = (~metrics.has_sites(archive.certificates)).sum(axis=0).tolist()
    yield from nothing_to_flip(dict(zip(archive.noise.axes, without, strict=True)), len(archive), words)
    if counts.n_abstained:
        missing = "No class can be shown to be the likeliest there"
        if archive.votes.blind is not None:
            missing = (
                f"Votes do not show on which side of the threshold {archive.votes.blind.threshold} a class lies there"
            )
        text = (
            f"{missing}, so no answer is given. Abstentions count as not certified, and where the class is known as "
            "not right. More samples may help where the votes are close."
        )
        yield Notice(f"The smoothed classifier abstains on {_of(counts.n_abstained, counts.n_graphs, words.one)}", text)


def stated(archive: Archive) -> Iterator[Notice]:
    """The premises of the certificates that are not starcert's own, and are not proved."""
    if (blind := archive.votes.blind) is not None:
        number = int((archive.certificates.labels == blind.answers).sum())
        text = (
            f"It gives a class other than the blind answer where that is likelier than {blind.threshold}, and the "
            f"blind answer elsewhere: {number:,} of {len(archive):,}. That blind answers are the same whatever is "
            "attacked is taken as stated."
        )
        yield Notice("The smoothed classifier falls back to blind answers", text)
    if laws := ", ".join(archive.noise.outside):
        text = (
            f"All certificates rest on what the law {laws} states about the noise. It is not starcert's own, and "
            "nothing about it is proved."
        )
        yield Notice(f"Noise stated by the law {laws}", text)


def anchored_notice(anchored: Sequence[str], one: str, whole: str = "") -> Iterator[Notice]:
    """Says why regions are anchored, in how many rows, and what that means; nothing where none are."""
    if n_anchored := sum(map(bool, anchored)):
        text = f"{reasons_of(anchored)} {frozen(whole or one)}"
        yield Notice(f"Anchored regions in {_of(n_anchored, len(anchored), one)}", text)


def frozen(whole: str) -> str:
    """The words of certificates where regions are anchored."""
    return (
        f"The certificates are about a classifier whose regions are frozen at the clean {whole}: an attacked {whole} "
        "would have other regions, and about a classifier that draws them anew nothing is certified."
    )


def reasons_of(anchored: Sequence[str]) -> str:
    """Why regions are anchored, the most frequent reasons first."""
    reasons = [reason for reason, _ in Counter(filter(None, anchored)).most_common()]
    more = f" And {len(reasons) - MAX_REASONS:,} further reasons." * (len(reasons) > MAX_REASONS)
    return " ".join(reasons[:MAX_REASONS]) + more


def _of(part: int, whole: int, one: str) -> str:
    return f"{part:,} of {quantity(whole, one)} ({part / whole:.1%})"


def out_of_reach(archive: Archive) -> str:
    """A sentence about axes on which there are too few votes to certify a single flip, even if they agree; "": none."""
    possible = [any(column) for column in metrics.has_sites(archive.certificates).T.tolist()]
    if archive.max_radius is not None:
        possible = [sites and limit > 0 for sites, limit in zip(possible, archive.max_radius, strict=True)]
    short = short_axes(archive.noise, archive.votes, archive.counts_alpha, archive.together, possible)
    how = "" if archive.certificates.verdicts is None else "by p_A"
    return metrics.too_few_votes(int(archive.votes.counts.sum(axis=1).max()), short, how)


def short_axes(
    noise: Noise, votes: Votes, alpha: float, together: int, possible: Sequence[bool]
) -> dict[str, int | None]:
    """The possible axes on which not even unanimous votes would certify a flip, and how many would; None: none.

    `alpha` is the part that the bounds on class probabilities have.
    """
    needed = metrics.votes_needed(
        noise,
        alpha,
        votes.counts.shape[1],
        selected_apart=votes.selection is not None,
        together=together,
        plan="fixed" if votes.history == "fixed" else "decided",
    )
    n_votes, places = int(votes.counts.sum(axis=1).max()), zip(needed.items(), possible, strict=True)
    return {axis: least for (axis, least), some in places if some and (least is None or least > n_votes)}


def nothing_to_flip(without: Mapping[str, int], n_graphs: int, words: Words = GRAPHS) -> Iterator[Notice]:
    """Warns of axes on which graphs have no sites (`without`: how many graphs)."""
    empty = {axis: n for axis, n in without.items() if n}
    if not empty:
        return
    where = "; ".join(f"{axis} has none in {n:,} of {quantity(n_graphs, words.one)}" for axis, n in empty.items())
    text = (
        f"Of sites to flip, {where}. Such {words.many} would count as certified against any number of flips there, for "
        f"there are none: they are counted apart, and shares and means on these axes are of the other {words.many}."
    )
    yield Notice(f"Some {words.many} have nothing to flip in {', '.join(empty)}", text)


def fixed_pairs(fixed: Sequence[int], words: Words = GRAPHS) -> str:
    """Says how many sites of each object lie in no region, and what that means; "" if none do."""
    some = sum(n > 0 for n in fixed)
    if not some:
        return ""
    lie = "lies" if sum(fixed) == 1 else "lie"
    where = f"{quantity(sum(fixed), words.site)} in {some:,} of {quantity(len(fixed), words.whole)}"
    return f"Fixed: {where} {lie} in no region; nothing is certified there."


def invisible_sites(noise: Noise, capacities: Sequence[Sequence[int] | None], anchored: Sequence[str]) -> str:
    """Says how many sites noisy copies show nothing of, and what that means; "" if there are none, or not for sure."""
    known = [each for each in capacities if each is not None]
    if not noise.invisible or any(anchored) or not known or len(known) < len(capacities):
        return ""
    most = {region: max(noise.sites_of(region, each) for each in known) for region in noise.invisible}
    where = ", ".join(f"up to {count:,} sites in {region}" for region, count in most.items())
    return f"Invisible: {where}. Noisy copies never show them: any number of flips there changes nothing."


def votes_to_settle(found: Sequence[SizeCounts], words: Words = GRAPHS) -> list[str]:
    """The numbers of own votes that would settle half of the open graphs, and all of them, by the size of attacks."""
    sentences = []
    for each in found:
        if needs := each.own_samples:
            half, last = (_two_digits_up(needs[place]) for place in ((len(needs) - 1) // 2, -1))
            settled = sum(need <= half for need in needs)
            more = f", and about {last:,} would settle {len(needs):,}" if settled < len(needs) else ""
            which = f"{settled:,} of the {each.n_open:,} open {plural(each.n_open, words.one)}"
            label = each.label[0].upper() + each.label[1:]
            sentences.append(f"{label}: own_samples of about {half:,} would settle {which}{more}.")
    return sentences


def _two_digits_up(number: int) -> int:
    unit = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // unit) * unit


def what_evidence_adds(archive: Archive, words: Words = GRAPHS) -> str:
    """Without evidence, what it would decide: the answers that p_A leaves open under the smallest attacks.

    "" if a run would leave it out: nothing is recommended that cannot work.
    """
    noise = archive.noise
    sizes = {sum(noise.sites_of(region, each) for region in noise) for each in archive.capacities if each is not None}
    if archive.certificates.verdicts is not None or all(why_no_evidence(n_sites, noise) for n_sites in sizes):
        return ""
    labels, asked = archive.known, archive.certificates.listed_threat
    for each in archive.certificates.counts(labels):
        if each.n_open:
            threat, answered = asked or AnyFlips(each.size), "" if labels is None else " answered right"
            which = f"{each.n_open:,} of {quantity(each.n_right, words.one)}{answered}"
            return (
                f"Under {each.label}, p_A leaves {which} open. --evidence --threat {shlex.quote(str(threat))}, with "
                "another --seed, also looks at where the flips of votes fell: it can certify more of these, and finds "
                "attacks."
            )
    return ""
