"""The report of certificates: what they are about, what to know about them, and what is certified against what."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from starcert.archive import BLIND, Archive
from starcert.claims.metrics import accuracy
from starcert.claims.outcomes import SizeCounts, in_words, steps_to
from starcert.claims.sentences import in_short
from starcert.objects.sites import Sites
from starcert.objects.words import MAX_TUPLE, AttackWords, Words
from starcert.report import findings
from starcert.report.answer import answer_of
from starcert.report.blocks import Drawn, KeyFigure, Marked, Notice, Phrase, Report, Section, TableBlock, Text
from starcert.report.findings import ReportSummary
from starcert.report.page_data import check_sites, page_data, threat_data
from starcert.report.shares import axis_curves, map_sections
from starcert.report.worth import Worth
from starcert.system.errors import InvalidParameterError
from starcert.system.output import at_most, fails_at_most, holds_at_least, quantity

SCRIPTS = ("layout.js", "formula.js", "drawing.js", "table.js", "page.js")
SHOWN_VERDICTS = 24  # rows of the table of verdicts; a page unfolds those beyond by a click
SHOWN_RADII = 4  # radii of a row


def certificate_report(
    archive: Archive, objects: Sequence[Sites], title: str, base: Sequence[int] | None = None
) -> Report:
    """The report on certificates; `objects` are the sites of what was certified, `base` the answers without noise."""
    sites = list(objects)
    check_sites(archive, sites)
    if base is not None and len(base) != len(archive):
        raise InvalidParameterError("base", f"have an answer for each of {len(archive)} rows", len(base))
    archive = archive.confirmed()  # where a file states a capacity, the sites have it
    words = Words.of(sites, nodes=archive.nodes is not None)
    counts, worth = findings.summary(archive), Worth.of(archive, words)
    hidden = findings.invisible_sites(archive.noise, archive.capacities, archive.anchored)
    beyond = " ".join(filter(None, (findings.fixed_pairs([each.n_fixed for each in sites], words), hidden)))
    regions = [(region, archive.noise[region].describe()) for region in archive.noise.regions]
    regions += [("in no region", beyond)] if beyond else []
    notices = [*findings.notices(archive, counts, words), *worth.notices]
    if not all(frontier.verified for frontier in archive.certificates.frontiers()):
        text = "Every certified radius is proved. Whether some radii just beyond a frontier are certified is open."
        notices.append(Notice("Some frontiers may reach further", text))
    return Report(
        title=title,
        answers=[answer_of(archive, words, sites)],
        statement=list(_statement(archive, words)),
        numbers=list(_numbers(archive, counts, words, base)),
        notices=notices,
        sections=[
            *_together(archive),
            *_verdicts(archive, words),
            *worth.sections,
            *map_sections(archive, words),
            *_drawn(archive, words),
            *in_place_of_drawings(archive, words),
        ],
        origin=[
            {"Noise by region": regions, "Settings": list(_settings(archive, words))},
            {"Provenance": [(name, text) for name, text in archive.provenance.items() if text]},
        ],
        values=_values(archive, counts, base, worth),
        skip=("graphs", f"the {words.many}"),
        scripts=SCRIPTS,
        data=page_data(archive, sites),
        needs_script="The plots, the table and the drawings",
    )


def _statement(archive: Archive, words: Words) -> Iterator[Phrase]:
    """The statement of what was certified, who may attack, and by which arguments."""
    n, many, sites = len(archive), words.many, words.sites
    certificates, threat = archive.certificates, archive.certificates.listed_threat
    holds, alone = holds_at_least(certificates.alpha or archive.alpha), " by itself" * (archive.together == 1)
    yield (
        f"On this page {f'1 {words.one} is' if n == 1 else f'{n:,} {many} are'} certified for a smoothed classifier: "
        f"its answer is the class that the base classifier gives most often when the {sites} of each region are "
        "flipped at random. A certified radius means that its answer stays the same as long as an attacker flips at "
        f"most that many {sites} in each region and none outside them: a statement about the ", Marked("smoothed"),
        f" classifier, true with probability ≥\u00a01\u00a0−\u00a0alpha\u00a0=\u00a0{holds} over the sampling, "
        f"{_whose(archive)}{alone}.",
    )  # fmt: skip
    if archive.nodes is not None:
        yield (
            "Every node has votes of its own, all from the same noisy copies of its graph: noise falls on the whole "
            "graph, and a radius counts all that an attacker flips in it, wherever that is."
        )
    if threat is not None:
        yield (
            "The attacker here is a narrower one: ", Marked(threat.label, "strong"), " (", Marked(str(threat), "code"),
            f"). All of its attacks are listed, and certified are the {many} whose answer no attack on the list "
            f"changes. About other attacks this page says no more than the radii do. {threat.anchored}".rstrip(),
        )  # fmt: skip
    if certificates.verdicts is not None:
        weighed = "It weighs the listed attacks; radii are certified by p_A alone."
        both = ("A radius is ", Marked("broken"), " if an attack within it is known that changes the answer, and ",
                Marked("open"), " if it is neither certified nor broken.")  # fmt: skip
        yield (
            "Two arguments certify. One knows p_A alone, how often the class won, and assumes the worst about the "
            "rest: the paper's bound. ", Marked("Evidence"), " also looks at where the flips of the votes fell. ",
            *(both if findings.has_radii_by_evidence(archive) else (weighed,)),
        )  # fmt: skip


def _whose(archive: Archive) -> str:
    return "each certificate" if archive.together == 1 else f"all {archive.together:,} certificates together"


def _numbers(archive: Archive, counts: ReportSummary, words: Words, base: Sequence[int] | None) -> Iterator[KeyFigure]:
    yield KeyFigure(f"{counts.n_graphs:,}", words.one if counts.n_graphs == 1 else words.many, "number-graphs")
    if counts.majority is not None:
        among = "" if counts.n_labelled == counts.n_graphs else f" of the {counts.n_labelled:,} with a known class"
        yield KeyFigure(f"{counts.n_right / counts.n_labelled:.1%}", f"answered right{among}", "number-accuracy")
        if base is not None:
            n_right = sum(answer == label for answer, label in zip(base, archive.labels, strict=True))
            clean = f"right without noise: the base classifier{among}"
            yield KeyFigure(f"{n_right / counts.n_labelled:.1%}", clean, "number-base")
        share = f"{counts.majority[1] / counts.n_labelled:.1%}"
        name = archive.class_names[counts.majority[0]]
        yield KeyFigure(share, "majority-class share", "number-majority", name)
    else:
        yield KeyFigure("unknown", "accuracy: the true classes are not known", "number-accuracy")
    yield KeyFigure(f"{counts.n_abstained / counts.n_graphs:.1%}", "abstentions", "number-abstained")
    alpha = at_most(archive.certificates.alpha or archive.alpha)
    yield KeyFigure(alpha, f"alpha, the failure probability of {_whose(archive)}", "number-alpha")


def _together(archive: Archive) -> Iterator[Section]:
    if sentences := findings.changed_together(archive):
        yield Section("together", "All answers together", [Text(phrase=each) for each in sentences])


def _verdicts(archive: Archive, words: Words) -> Iterator[Section]:
    """The numbers of rows that are certified, open and broken, and the votes that would settle more."""
    rows, further = findings.verdict_rows(archive, words)
    if not rows:
        return
    certificates, many = archive.certificates, words.many
    weighed, threat = certificates.verdicts is not None, certificates.listed_threat
    known = archive.known is not None
    right = "right" if known else "answered"
    columns = ["certified by p_A", *["certified with evidence"] * weighed, "open", *["broken"] * weighed]
    tones = [
        ("by-p-a", "certified by p_A"),
        ("by-evidence", "certified by evidence"),
        ("open", "open"),
        ("broken", "broken"),
    ]
    cells = []
    for row in rows:
        found = findings.verdict_cells(row, weighed)
        about = (row.label, *([found["listed"]] if threat else []), found["rows"], found["right"])
        cells.append((*about, *findings.with_shares(row, columns)))
    attackers = "the attacks on the list." if threat else (
        "an attacker with at most this many flips. Any 2 flips are two, wherever they are."
    )  # fmt: skip
    those = "can be attacked so" if threat else f"have this many {words.sites} to flip"
    both = f" and{' have' if threat else ''} a known class" if known else ""
    caption = [
        f"{further:,} further radii of two flips have no row here: certificates.json has what they follow from."
        if further else "",
        f"Shares are of the {many} that {those}{both}.",
        "Certified with evidence: by either argument." if weighed else "",
        findings.without_attacks(archive, words),
        *findings.verdict_notes(rows),
    ]  # fmt: skip
    advice = findings.votes_to_settle(findings.by_size(archive), words)
    yield Section(
        "verdicts",
        "Certified, open, broken",
        [
            Text(phrase=f"What becomes of the {many} that are answered{' right' * known}, for {attackers}"),
            Drawn(template="legend", content={"tones": tones if weighed else tones[::2]}),
            TableBlock(
                name="verdict-table",
                heads=("attacks" if threat else "flips", *["listed"] * bool(threat), many, right, *columns, "shares"),
                rows=cells,
                folded=SHOWN_VERDICTS,
                unfold="all radii of two flips",
                most=SHOWN_VERDICTS,
            ),
            Text(phrase=" ".join(filter(None, caption)), caption=True),
            *([Text(phrase=" ".join(advice), name="settling")] if advice else []),
            *([Text(phrase=_repeating(words), name="repeating", only="page")] if weighed else []),
        ],
    )


def _repeating(words: Words) -> Phrase:
    return (
        "Which runs may follow after a look at this page? With more votes of their own (",
        Marked("own_samples", "code"), ", under ", Marked("--store", "code"), " from the same votes): yes. What they "
        f"prove holds however often one looks. With more votes on the clean {words.whole} "
        "(", Marked("samples", "code"), ") under a fixed plan: no. Their bounds hold for a number of votes that was "
        "fixed before anyone looked; take another seed and report that run alone, or use ",
        Marked('plan = "decided"', "code"), " from the start.",
    )  # fmt: skip


def _drawn(archive: Archive, words: Words) -> Iterator[Section]:
    """The drawn parts of a page: the shares axis by axis, a graph with its nodes, and every row."""
    certificates, known = archive.certificates, archive.known is not None
    what = "right and certified" if known else "certified"
    shares = f"The share of {words.many} that are {what} against a number of flips on one axis, with none on the others"
    heading, one_axis = "Axis by axis", len(archive.noise.axes) == 1
    if one_axis:
        heading, shares = (
            "By the number of flips",
            f"The share of {words.many} that are {what} against a number of flips",
        )
    reach = max((radius[0] for one in certificates.frontiers() for radius in one.radii), default=0)
    counted = certificates.counted if one_axis else None
    if counted is None or not counted.by_radius or reach > counted.most:  # or else the table of verdicts has it all
        yield Section("curves", heading, [Text(phrase=f"{shares}."), axis_curves(archive, words)], "page")
    if archive.nodes is not None:
        yield Section("picture", "The graph", [Drawn(template="nodes")], "page")
    yield one_by_one(words, weighed=certificates.verdicts is not None, listed=certificates.listed_threat is not None)


def one_by_one(words: Words, *, weighed: bool, listed: bool, votes: bool = True) -> Section:
    """Every row of a page: searched and sorted in a table, and drawn one at a time."""
    content = {"weighed": weighed, "threat": listed, "votes": votes}
    heading = f"{words.one.capitalize()} by {words.one}"
    return Section("graphs", heading, [Drawn(template="objects", content=content)], "page")


def _values(archive: Archive, counts: ReportSummary, base: Sequence[int] | None, worth: Worth) -> dict[str, object]:
    """For programs: None stands for an unknown value, or for a row that abstains."""
    certificates, threat = archive.certificates, archive.certificates.listed_threat
    known = {} if threat is None else threat_data(certificates, threat)
    answers = [None] * len(archive) if base is None else base
    rows = zip(archive.names, archive.labels, answers, certificates, strict=True)
    return {
        "class_names": list(archive.class_names),
        "axes": list(archive.noise.axes),
        "alpha": certificates.alpha or archive.alpha,
        "together": archive.together,
        "audit": None if archive.votes.audit is None else asdict(archive.votes.audit),
        "accuracy": accuracy(certificates, archive.labels) if counts.n_labelled else None,
        "majority_share": None if counts.majority is None else counts.majority[1] / counts.n_labelled,
        **worth.to_json(),
        **({} if threat is None else {"threat": str(threat), "sizes": known["labels"]}),
        "certificates": [
            {
                "name": name,
                "label": label,
                "base_class": answer,
                "class": None if one.abstained else int(one.label),
                "frontier": [list(radius) for radius in one.frontier.radii],
                **({} if threat is None else {"threat": [kind for kind, _, _ in known["graphs"][row]]}),
            }
            for row, (name, label, answer, one) in enumerate(rows)
        ],
        **({} if archive.collective is None else {"collective": archive.collective.rows()}),
    }


def _settings(archive: Archive, words: Words) -> Iterator[tuple[str, str]]:
    shown = {BLIND, "noise"} if archive.settings.get("noise") == archive.noise.to_dict() else {BLIND}
    for purpose, setting, votes in (
        ("estimation", "samples", archive.votes.counts),
        ("selection", "selection_samples", archive.votes.selection),
    ):
        numbers = "none: the class is chosen on the estimation votes, at the price of alpha"
        if votes is not None:
            least, most = int(votes.sum(axis=1).min()), int(votes.sum(axis=1).max())
            numbers = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            shown |= {setting} if least == most == archive.settings.get(setting) else set()
        yield f"{purpose} votes per {words.one}", numbers
    if archive.votes.audit is not None:
        yield "audit", str(archive.votes.audit).replace("graphs", str(archive.settings.get("objects", "graphs")))
    if archive.max_radius is not None:
        asked = zip(archive.noise.axes, archive.max_radius, strict=True)
        yield "max_radius", ", ".join(f"{axis} {count:,}" for axis, count in asked)
    yield from _flattened({name: value for name, value in archive.settings.items() if name not in shown})


def _flattened(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flattened(value, f"{prefix}{name}.")
        elif value is not None:  # a setting that was left out
            yield prefix + name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def in_place_of_drawings(archive: Archive, words: Words) -> Iterator[Section]:
    """In a terminal: what each row withstands, and the share certified by the number of flips on one axis."""
    if archive.certificates.verdicts is not None:
        yield _withstood(archive, words)
    known, certificates = archive.known is not None, archive.certificates
    reach = max((max(radius) for one in certificates for radius in one.frontier.radii), default=0)
    steps = steps_to(reach)
    found = {
        axis: [outcomes.counts_at(size, archive.known) for size in steps]
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
