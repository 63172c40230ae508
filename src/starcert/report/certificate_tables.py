"""Certificates in a terminal, where a page draws: tables of what rows withstand, and of shares by axis."""

from __future__ import annotations

from collections.abc import Iterator

from starcert.archive import Archive
from starcert.claims.outcomes import SizeCounts, in_words, steps_to
from starcert.claims.sentences import in_short
from starcert.objects.words import MAX_TUPLE, AttackWords, Words
from starcert.report import findings
from starcert.report.blocks import Section, TableBlock, Text
from starcert.report.drawings import threat_data
from starcert.system.output import fails_at_most, quantity

SHOWN_RADII = 4  # radii of a row


def in_place_of_drawings(archive: Archive, words: Words) -> Iterator[Section]:
    """In a terminal: what each row withstands, and the share certified by the number of flips on one axis."""
    if archive.certificates.verdicts is not None:
        yield _withstood(archive, words)
    known, certificates = any(label is not None for label in archive.labels), archive.certificates
    reach = max((max(radius) for one in certificates for radius in one.frontier.radii), default=0)
    steps, truth = steps_to(reach), archive.labels if known else None
    found = {
        axis: [outcomes.counts_at(size, truth) for size in steps]
        for axis, outcomes in certificates.by_axis(steps[-1]).items()
    }
    rows = []
    for axis, counts in found.items():
        empty = f"none in {quantity(counts[0].n_without, words.one)}" if counts[0].n_without else ""
        rows.append((axis, *(_percent(each, each.n_certified) for each in counts), empty))
        if findings.has_radii_by_evidence(archive):
            rows.append(("  by p_A alone", *(_percent(each, each.n_by_p_A) for each in counts), ""))
    notes = in_words(
        (f"{axis} at {each.size:,}", each.n_certified is not None, each.why)
        for axis, counts in found.items()
        for each in counts
    )
    what = "answered right and certified" if known else "certified"
    title = f"{words.many.capitalize()} {what}, by the number of flips on one axis"
    if any(counts[0].n_without for counts in found.values()):
        notes = [f"Shares are of the {words.many} that have sites on the axis.", *notes]
    table = TableBlock(heads=("axis", *map(str, steps), "sites"), rows=rows, most=len(rows))
    attack, said = AttackWords(archive.noise, words), []
    for name, one in zip(archive.names, certificates, strict=True):
        if told := "".join(in_short(one, attack, archive.class_names)):
            said = [f"{words.one.capitalize()} {name}, for example: {told}"]
            break
    alpha = fails_at_most(certificates.alpha or archive.alpha, archive.together)
    if (audit := archive.votes.audit) is not None:
        said = [f"Audited: {audit.clean:,} noisy copies, and {audit.attacked:,} of attacked {words.whole}s.", *said]
    if advice := findings.what_evidence_adds(archive, words):
        said = [advice, *said]
    texts = [Text(phrase=each) for each in (*notes, *said, alpha)]
    yield Section("reach", title, [table, *texts], "terminal")


def _withstood(archive: Archive, words: Words) -> Section:
    """With evidence: what each row withstands, and what breaks it."""
    threat, rows, attack = archive.certificates.listed_threat, [], AttackWords(archive.noise, words)
    data = {} if threat is None else threat_data(archive.certificates, threat)
    for row, (name, truth) in enumerate(zip(archive.names, archive.labels, strict=True)):
        one = archive.certificates[row]
        answer = "abstains" if one.abstained else archive.class_names[one.label]
        wrong = "" if one.abstained or truth in (None, one.label) else ", wrong"
        found = [kind for kind, _, _ in data["graphs"][row]] if threat else [
            attack.radii(one.frontier.radii, SHOWN_RADII), attack.radii(one.broken, SHOWN_RADII), str(one.any_flips)
        ]  # fmt: skip
        rows.append((name, answer + wrong, *found, str(one.attack() or "–")))
    heads = (words.one, "answer", *(data["labels"] if threat else ("certified", "broken", "any flips")), "attack")
    axes = (
        f", flips in ({', '.join(archive.noise.axes)})" if not threat and len(archive.noise.axes) <= MAX_TUPLE else ""
    )
    meaning = (
        "Certified: no attack of at most this many flips changes the answer. Broken: an attack of this many flips is "
        "known that does. Any flips: no attack of this many flips, wherever they are, changes the answer."
    )
    table = TableBlock(heads=heads, rows=rows, left=len(heads), more="results.csv has all")
    blocks = [table, *([] if threat else [Text(phrase=meaning)])]
    return Section("withstood", f"What each {words.one} withstands{axes}", blocks, "terminal")


def _percent(counts: SizeCounts, count: int | None) -> str:
    share = counts.share(count)
    return "–" if share is None else f"{share:.1%}" if counts.n_graphs else ""
