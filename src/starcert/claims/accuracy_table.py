"""The table of a paper: how many graphs are answered right and certified, without attack and under attacks."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from starcert.claims.gains import NO_ATTACK, box_in_words
from starcert.claims.outcomes import Labels, SizeCounts, in_words, majority_share
from starcert.objects.noise import RadiusLike
from starcert.objects.threats import Box, Threat
from starcert.system.markup import html_table
from starcert.system.output import as_frame, fails_at_most

if TYPE_CHECKING:
    import pandas as pd

    from starcert.claims.certificates import Certificates

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--"}
_LATEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"}


@dataclass(frozen=True)
class AccuracyTable:
    r"""Shares of graphs that are right and certified (certified, without labels), a row for each kind of attack.

    Every row counts the graphs that can be attacked so. Of those that are right, each is certified, broken or open. A
    share is None where nothing was asked, or can be certified at all; the caption says why.

    Example:
        >>> import starcert as sc
        >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2), capacity=[(9,), (9,)])
        >>> table = found.accuracy_table([0, 0])
        >>> [(row["attacks"], row["by p_A"]) for row in table.rows]
        [('no attack', 1.0), ('any 1 flip', 0.5), ('any 2 flips', 0.0)]
        >>> print(table.to_latex().splitlines()[6])
        any 1 flip & 2 & 100.0 & 50.0 \\
    """

    rows: tuple[dict[str, object], ...]
    caption: str

    @classmethod
    def of(
        cls,
        results: Certificates,
        labels: Labels | None = None,
        *,
        threat: Threat | str | None = None,
        radii: Sequence[RadiusLike] = (),
    ) -> AccuracyTable:
        """The table of certificates, by whichever method.

        Args:
            results: the certificates.
            labels: the true classes; without them shares are of all that are answered.
            threat: any flips, such as "flips:3", or the threat that was asked about: by default that one, or two flips.
            radii: further rows, each a radius by axis or in the order of the axes.
        """
        truth = None if labels is None else results.truth(labels).tolist()
        outcomes = results.outcomes(threat)
        found = [outcomes.counts_at(0, truth)._replace(label=NO_ATTACK), *outcomes.counts(truth)]
        boxes = [results.outcomes(Box(radius)) for radius in radii]
        found += [each.counts_at(each.threat.most, truth)._replace(label=box_in_words(each.threat)) for each in boxes]
        columns = {"by_votes": outcomes.by_p_A is not None, "weighed": results.weighed}
        heads = f"{results.word}s", "answered" if labels is None else "right"
        notes = in_words((each.label, each.n_certified is not None, each.why) for each in found)
        caption = " ".join([_caption(results, labels), *notes])
        return cls(tuple(_row(each, heads, **columns) for each in found), caption)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame, shares from 0 to 1."""
        return as_frame(self.rows)

    def to_latex(self) -> str:
        r"""LaTeX that needs \usepackage{booktabs}: shares in percent, rounded down; the caption is a comment."""
        heads = list(self.rows[0])
        shares = [head for head in heads if isinstance(self.rows[0][head], float)]
        named = [f"{latex(head)} (\\%)" if head in shares else latex(head) for head in heads]
        lines = [f"\\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}", r"\toprule", _line(named), r"\midrule"]
        for number, row in enumerate(self.rows):
            lines += [_line([_cell(row[head]) for head in heads])]
            lines += [r"\midrule"] if number == 0 and len(self.rows) > 1 else []
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", f"% {self.caption}", ""])

    def _repr_html_(self) -> str:
        shown = [{head: f"{_percent(cell)}%" if isinstance(cell, float) else "–" if cell is None else cell
                  for head, cell in row.items()} for row in self.rows]  # fmt: skip
        return html_table(shown, caption=self.caption)


def latex(text: str) -> str:
    r"""Text for LaTeX: what it would take for commands is escaped, and p_A is the paper's.

    Example:
        >>> print(latex("by p_A"), latex("50% of R&D_1"), latex("~\\x"))
        by $p_A$ 50\% of R\&D\_1 \textasciitilde{}\textbackslash{}x
    """
    pieces = re.split(r"\b(p_A)\b", " ".join(text.split()))
    return "".join("$p_A$" if each == "p_A" else "".join(_LATEX.get(sign, sign) for sign in each) for each in pieces)


def _row(found: SizeCounts, heads: tuple[str, str], *, by_votes: bool, weighed: bool) -> dict[str, object]:
    share = found.share
    row: dict[str, object] = {"attacks": found.label, heads[0]: found.n_graphs, heads[1]: share(found.n_right)}
    if by_votes:
        row["by p_A"] = share(found.n_by_p_A)
    if weighed:
        certified = "with evidence" if by_votes else "certified"
        row |= {certified: share(found.n_certified), "broken": share(found.n_broken), "open": share(found.n_open)}
    return row


def _caption(results: Certificates, labels: Labels | None) -> str:
    found = "Right and certified." if labels is not None else "Answered and certified (no class is known)."
    if labels is not None:
        truth = [label for label in results.truth(labels).tolist() if label is not None]
        found += f" The majority class has {_percent(majority_share(truth))}%." if truth else ""
    if results.alpha is not None:
        chance = fails_at_most(results.alpha, results.together) if results.alpha else "Nothing is left to chance."
        found += f" {chance}"
    return f"{found} Regions are anchored." if any(results.anchored) else found


def _percent(share: float | None) -> str:
    """A share in percent, rounded down to one decimal: never more than there is."""
    return "–" if share is None or math.isnan(share) else f"{np.floor(share * 1000 + 1e-9) / 10:.1f}"


def _cell(cell: object) -> str:
    return latex(
        _percent(cell)
        if cell is None or isinstance(cell, float)
        else f"{cell:,}"
        if isinstance(cell, int)
        else str(cell)
    )


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
