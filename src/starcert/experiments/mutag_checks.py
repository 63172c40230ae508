"""The paper's claims about MUTAG, and what it does not show."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from starcert.attacks import slack
from starcert.experiments.checks import Check, published
from starcert.experiments.mutag_votes import BOX, MODELS, JudgedMolecules, MutagResults
from starcert.metrics import certified_ratio, right

__all__ = ["SHOWN_RADIUS", "best", "certified_at", "checks", "clearly_better", "most_certified", "summary"]

SHOWN_RADIUS = (1, 1)
"""One deletion and one addition: the radius that settings of the sweep are compared at."""

LEVEL = 0.01
"""Two shares differ, or one is clearly better than a constant answer, where chance would do it once in a hundred."""

_SHORT = "Fewer folds or epochs than the whole study has."


def checks(found: MutagResults) -> list[Check]:
    """Every claim."""
    return [*_side_by_side(found), *_shares(found), *_against_a_constant(found)]


def _side_by_side(found: MutagResults) -> list[Check]:
    ours = {
        name: certified_ratio(certificates, found.every.labels, max_radius=BOX)
        for name, certificates in found.every.certificates.items()
    }
    theirs = {name: np.array(published("mutag")[name], float) for name in ours}
    both = (ours["anisotropic"] > 0) & (ours["sparsity_aware"] > 0)
    fewer = both & (ours["anisotropic"] < ours["sparsity_aware"])
    enough = found.settings.samples >= 100_000
    few = "The claim is about 100,000 votes."
    told = [
        Check(
            "where both certificates reach, the anisotropic one certifies as many molecules or more",
            "at every radius",
            f"at {int(both.sum() - fewer.sum())} of {int(both.sum())} radii"
            + (f"; fewer at {_radii(fewer)}" if fewer.any() else ""),
            not fewer.any() if enough and _whole(found) else None,
            False,
            _for_deletions(found),
        )
    ]
    for one, other, word in (
        ("anisotropic", "sparsity_aware", "five"),
        ("sparsity_aware", "anisotropic", "two"),
    ):
        alone, paper = ((t[one] > 0) & (t[other] == 0) for t in (ours, theirs))
        told.append(
            Check(
                f"{word} radii (deletions, additions) are certified by the {one.replace('_', '-')} certificate alone",
                _radii(paper),
                _radii(alone),
                bool((alone == paper).all()) if enough else None,
                True,
                "Unanimous votes decide how far a certificate reaches: the noise and the number of votes alone."
                if enough
                else few,
            )
        )
    reach = [int(max(np.flatnonzero((ours["anisotropic"] > 0).any(axis=axis)), default=0)) for axis in (1, 0)]
    told.append(
        Check(
            "certificates reach further where there is more noise",
            "2 deletions, 9 additions",
            f"{reach[0]} deletions, {reach[1]} additions",
            reach[1] > reach[0] if any(reach) else None,
            True,
            "" if any(reach) else "Too few votes for a single flip.",
        )
    )
    return told


def _for_deletions(found: MutagResults) -> str:
    """Why deletions alone are easier for the sparsity-aware certificate."""
    slacks = [slack(each.noise, (1, 0)) for each in (found.every.anisotropic, found.every.sparsity_aware)]
    return (
        "For deletions alone it is the other way round, whatever the votes: a deleted bond is seen as deleted with "
        "0.04 and 0.96 by the anisotropic certificate, with 0.04 and 0.8 by the sparsity-aware one, which is harder to "
        f"tell apart. At (1, 0) they ask for 1 − p_A below {slacks[0]:.4f} and {slacks[1]:.4f}; the paper's 14 "
        "molecules have none in between."
    )


def _radii(where: npt.NDArray[np.bool_]) -> str:
    return " ".join(f"({i}, {j})" for i, j in np.argwhere(where)) or "none"


def _shares(found: MutagResults) -> list[Check]:
    """The paper's shares are of 19 and of 14 molecules; ours, of all, must not differ from those significantly.

    Its text has 16 of 19 right, its tables come from a stored run with 14 of 19.
    """
    from scipy.stats import fisher_exact  # noqa: PLC0415  (slow to import)

    paper = published("mutag")
    judged = found.every
    n_right, n = judged.right, len(judged.labels)
    theirs = round(paper["accuracy"] * paper["test_graphs"])
    p = float(fisher_exact([[theirs, paper["test_graphs"] - theirs], [n_right, n - n_right]]).pvalue)
    told = [
        Check(
            "accuracy of the smoothed network",
            f"{theirs} of {paper['test_graphs']}, {paper['accuracy']:.0%}",
            f"{n_right} of {n}, {n_right / n:.1%}",
            p > LEVEL if _whole(found) else None,
            True,
            f"Fisher's exact test: p = {p:.2f}. On one split of {len(found.split.labels)} molecules: "
            f"{found.split.accuracy:.1%}." + ("" if _whole(found) else " " + _SHORT),
        )
    ]
    correct = round(paper["accuracy_in_stored_run"] * paper["test_graphs"])
    for name, certificates in judged.certificates.items():
        ours = int((certificates.certified((1, 3)) & right(certificates, judged.labels)).sum())
        share = ours / n_right if n_right else math.nan
        hits = round(paper[name][1][3] * correct)
        p = float(fisher_exact([[hits, correct - hits], [ours, n_right - ours]]).pvalue)
        told.append(
            Check(
                f"share of right molecules certified at 1 deletion and 3 additions, {name.replace('_', '-')}",
                f"{paper[name][1][3]:.0%}",
                f"{share:.0%}",
                p > LEVEL if found.settings.samples >= 100_000 else None,
                True,
                f"Fisher's exact test on {hits} of {correct} and {ours} of {n_right}: p = {p:.2f}.",
            )
        )
    return told


def clearly_better(judged: JudgedMolecules, majority: float, tried: int = 1) -> tuple[bool, float]:
    """Whether a constant answer would do as well once in a hundred at most, if the best of `tried` settings is shown.

    Returns:
        The verdict, and the binomial probability of at least so many right answers, times `tried`.
    """
    from scipy.stats import binomtest  # noqa: PLC0415  (slow to import)

    p = min(1.0, tried * float(binomtest(judged.right, len(judged.labels), majority, alternative="greater").pvalue))
    return p < LEVEL, p


def best(found: MutagResults) -> tuple[str, float, float]:
    """The setting of the sweep with the most right answers; of equals, the one with the most noise."""
    return max(found.sweep, key=lambda at: (found.sweep[at].right, at[1] * at[2]))


def most_certified(found: MutagResults) -> tuple[str, float, float]:
    """The setting of the sweep with the most molecules right and certified at `SHOWN_RADIUS`."""
    return max(found.sweep, key=lambda at: certified_at(found.sweep[at]))


def certified_at(judged: JudgedMolecules) -> float:
    """The share that is right and certified at `SHOWN_RADIUS`, sparsity-aware."""
    return judged.sparsity_aware.certified_accuracy(judged.labels, SHOWN_RADIUS)


def _against_a_constant(found: MutagResults) -> list[Check]:
    share = found.majority_share
    verdict, p = clearly_better(found.every, share)
    paper = Check(
        "the paper's network, smoothed with its noise, is clearly better than a constant answer",
        "84% (without the majority class beside it)",
        f"{found.every.accuracy:.1%}, majority class {share:.1%}; "
        f"{found.every.largest_share:.0%} of the answers are one class",
        verdict,
        False,
        f"Binomial probability of so many right answers by a constant: {p:.3f}. Max pooling keeps only the largest "
        "value of each feature, and a learning rate of 0.001 that is halved every 50 epochs hardly moves; the same "
        "network with sum pooling and rate 0.01 is clearly better.",
    )
    at = best(found)
    verdict, p = clearly_better(found.sweep[at], share, len(found.sweep))
    sweep = Check(
        "a noise setting makes the smoothed network clearly better than a constant answer",
        "not in the paper",
        f"{found.sweep[at].accuracy:.1%} at delete {at[1]:g}, add {at[2]:g}, {MODELS[at[0]].title}; "
        f"majority class {share:.1%}",
        verdict,
        True,
        f"Binomial probability, times the {len(found.sweep)} settings tried: {p:.1g}.",
    )
    return [paper, sweep] if _whole(found) else [paper.undecided(_SHORT), sweep.undecided(_SHORT)]


def _whole(found: MutagResults) -> bool:
    return found.settings.folds == 10 and found.settings.epochs >= 500


def summary(found: MutagResults) -> list[str]:
    """What was found, in sentences."""
    at = best(found)
    return [
        "Two certificates of the same votes. The anisotropic one is anchored: its regions are the present and the "
        "absent bonds of the clean molecule, and it speaks of a classifier whose regions stay as they are there, while "
        "an attacked molecule would have others. The sparsity-aware one (Flip(delete, add)) needs no anchor.",
        f"Of {found.tested}, the paper's network smoothed with its noise (delete 0.04, add 0.2) is right on "
        f"{found.every.accuracy:.1%}; always answering the majority class is right on {found.majority_share:.1%}.",
        f"Most right answers of the sweep: {_told(found, at)}. Most that are certified too: "
        f"{_told(found, most_certified(found))}. A constant answer certifies every radius, so a certificate is worth "
        "no more than the accuracy beside it.",
    ]


def _told(found: MutagResults, at: tuple[str, float, float]) -> str:
    judged = found.sweep[at]
    share = certified_at(judged)
    return (
        f"{judged.accuracy:.1%}, and {share:.1%} right and certified at {SHOWN_RADIUS[0]} deletion and "
        f"{SHOWN_RADIUS[1]} addition ({MODELS[at[0]].title}, delete {at[1]:g}, add {at[2]:g})"
    )
