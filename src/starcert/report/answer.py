"""The answer that a page begins with: one sentence, and its shares as a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from starcert.archive import Archive, BlindRow
from starcert.claims.outcomes import Outcomes, SizeCounts, known
from starcert.objects.layers import EDGE_LAYERS
from starcert.objects.sites import Sites
from starcert.objects.words import Words
from starcert.report.blocks import Headline, Marked, Tones
from starcert.system.output import quantity


class BlindShare(NamedTuple):
    """A model that sees nothing an attack can change, in words, and the share of rows that it has right."""

    right: float
    model: str = "a model that sees nothing an attack can change"


def percent(share: float) -> str:
    """A share in percent: never that of none or of all, unless it is.

    Example:
        >>> percent(0.45), percent(1 / 3), percent(0.0001), percent(0.9999), percent(1)
        ('45%', '33.3%', '0.1%', '99.9%', '100%')
    """
    shown = share if share in (0, 1) else min(max(share, 0.001), 0.999)
    return f"{shown:.1%}".replace(".0%", "%")


def answer_in(
    found: SizeCounts,
    many: str,
    *,
    labelled: bool,
    attacked: bool = True,
    abstained: int = 0,
    blind: BlindShare | str | None = None,
    about: str = "",
) -> Headline:
    """The answer from the states of rows under a threat.

    Args:
        found: the states.
        many: several rows, in words.
        labelled: whether the classes are known; then only rows that are right are certified, broken or open.
        attacked: whether attacks that change the answer were looked for.
        abstained: how many of these rows get no answer.
        blind: the blind model on the same rows, or why there is none.
        about: what the answer is about, where there are several.
    """
    n, judged, certified = found.n_graphs, found.n_right, found.n_certified
    states = [("certified", certified), *[("broken", found.n_broken)] * attacked]
    states += [("open", None if certified is None else found.n_open)]
    values: dict[str, object] = {
        "attacks": found.label,
        "n": n,
        "right" if labelled else "answered": judged,
        **dict(states),
    }
    values |= {"abstained": abstained} | ({"blind": blind.right} if isinstance(blind, BlindShare) else {})
    if not n:
        return Headline(f"None of the {many} has such an attack: {found.label}.", Tones(()), values, about)
    right = "right" if labelled else "answered"
    whose = f"of the {percent(judged / n)} of {n:,} {many} that are {right}"
    if judged == n:
        whose = f"of {quantity(n, many.removesuffix('s'))}, {'all of them' if n > 1 else 'which is'} {right}"
    if certified is None:
        told: tuple[str | Marked, ...] = (f"Against {found.label}, nothing is known {whose}: {found.why}",)
        tones = [("unknown", judged)]
    else:
        first, *others = (f"{percent((count or 0) / n)} {state}" for state, count in states)
        told = (
            f"Against {found.label}: ",
            Marked(first, "strong"),
            "".join(f", {each}" for each in others),
            f", {whose}",
        )
        tones = [("by-p-a" if state == "certified" else state, count or 0) for state, count in states]
    tones += [("wrong", n - judged - abstained), ("abstains", abstained)]
    more = f"; {percent(abstained / n)} get no answer" if abstained else ""
    more += f"; {blind.model}: {percent(blind.right)}" if isinstance(blind, BlindShare) else ""
    more += "." if labelled else ". Their true classes are not known."
    more += f" No blind model: {blind}" if isinstance(blind, str) else ""
    return Headline((*told, more), Tones(tuple((tone, count / n) for tone, count in tones if count)), values, about)


def answer_of(archive: Archive, words: Words, sites: Sequence[Sites] = ()) -> Headline:
    """The answer of an archive whose objects have these sites: under the threat that was asked about, or any flip."""
    certificates, truth = archive.certificates, archive.known
    outcomes = certificates.outcomes()
    size = 1 if certificates.threat is None else outcomes.threat.most
    row = BlindRow.of(archive)
    blind: BlindShare | str | None = None if row is None or truth is None else row.missing or None
    if row is not None and not row.missing and truth is not None:
        right = np.array([a == b for a, b in zip(row.answers, truth, strict=True)])
        among = outcomes.possible(size) & known(truth)
        if among.any():
            blind = BlindShare(float(right[among].mean()), *_without_edges(outcomes, words, sites))
    return answer_in(
        outcomes.counts_at(size, truth),
        words.many,
        labelled=truth is not None,
        attacked=certificates.weighed,
        abstained=n_abstained(outcomes, size, truth),
        blind=blind,
    )


def n_abstained(outcomes: Outcomes, size: int, truth: Sequence[object] | None) -> int:
    """How many of the rows that can be attacked so, and have a known class where any is known, get no answer."""
    among = outcomes.possible(size)
    if truth is not None:
        among = among & known(truth)  # type: ignore[arg-type]
    return int((among & ~outcomes.answered).sum())


def _without_edges(outcomes: Outcomes, words: Words, sites: Sequence[Sites]) -> list[str]:
    """The blind model in words, where attackers may change every edge of a graph, and nothing else."""
    edges = {block.layer for each in sites for block in each.blocks} <= set(EDGE_LAYERS)
    covered = sites and all(each.covered for each in words.regions.values())
    if not edges or not covered or not outcomes.threat.by_radius:
        return []
    nouns = {each.noun for each in words.regions.values()}
    return [f"a model without {'bonds' if nouns == {'bond'} else 'edges'}"]
