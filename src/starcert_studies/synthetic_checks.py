"""The paper's claims about its synthetic data."""

from __future__ import annotations

import numpy as np

from starcert.certificates.slack import slack, slack_table
from starcert.math.confidence import Votes, clopper_pearson
from starcert.objects.noise import Noise
from starcert_studies.levels import ALPHA
from starcert_studies.outcome import Check, published, within
from starcert_studies.synthetic_votes import (
    DRAWN_ROWS,
    FEATURED,
    FEATURED_RADIUS,
    SCORE_WINDOW,
    Grid,
    SyntheticResults,
)

__all__ = ["checks", "summary"]

_PLURALITY = "As the paper counts: graphs whose true class has the most votes, abstained from or not."
_ERRORS = "A contradiction counts when it is there with every vote count moved by three standard errors against it."


def checks(found: SyntheticResults) -> list[Check]:
    """Every claim, as trend or number."""
    return [_base_accuracy(found), *_trends(found), _every_graph(found), *_isotropic(found), *_numbers(found)]


def _base_accuracy(found: SyntheticResults) -> Check:
    measured = ", ".join(f"{name} {share:.1%}" for name, share in found.base_accuracy.items())
    holds = all(share == 1 for share in found.base_accuracy.values())
    return Check(
        "the base classifier is right on every training, validation and test graph", "100%", measured, holds, True
    )


def _trends(found: SyntheticResults) -> list[Check]:
    """What the heatmaps are said to show, as inequalities between neighbouring cells, but for the votes' own error."""
    right = found.accuracy == 1
    low, high = found.score_range
    falls = int((low[:, 1:] > high[:, :-1]).sum())
    # The first row is the largest p_random: downwards the score must not rise where every answer is right.
    rises = int(((low[1:] > high[:-1]) & right[:-1] & right[1:]).sum())
    best = np.argwhere(found.score == found.score.max()).tolist()
    untouched = found.plurality[:, 0] == 1
    dropping = found.plurality[0, -1] < found.plurality[0, 0]
    scores = [
        Check(
            "the score never rises with p_motif",
            "falls",
            f"{falls} of {low[:, 1:].size} neighbouring cells rise",
            falls == 0,
            True,
            _ERRORS,
        ),
        Check(
            "the score never falls as p_random grows, wherever every test graph is answered right",
            "rises",
            f"{rises} neighbouring cells fall",
            rises == 0,
            True,
            _ERRORS + " Where answers are wrong, score and accuracy fall together, in the paper too (p_motif = 0.2).",
        ),
        Check(
            "the highest score is at the smallest p_motif and the largest p_random",
            "16 at (0.02, 0.45)",
            f"{found.score[0, 0]:.0f} at (0.02, 0.45), at most {found.score.max():.0f} elsewhere",
            [0, 0] in best,
            True,
        ),
    ]
    if not _reachable(found.settings.samples):
        few = f"Not even unanimous votes reach the paper's scores, if there are {found.settings.samples:,} of them."
        scores = [check.undecided(few) for check in scores]
    return [
        *scores,
        Check(
            "a large p_random does not hurt the accuracy",
            "100% at p_motif = 0.02",
            f"{found.plurality[:, 0].min():.0%} or more at p_motif = 0.02",
            bool(untouched.all()),
            True,
            _PLURALITY,
        ),
        Check(
            "a large p_motif does",
            "50% at p_motif = 0.2",
            f"{found.plurality[0, -1]:.0%} at (0.2, 0.45)",
            bool(dropping),
            True,
            _PLURALITY,
        ),
    ]


def _reachable(samples: int) -> bool:
    """Whether so many unanimous votes give the paper's score at every level; with fewer, their number decides it."""
    failure = clopper_pearson(Votes([[samples, 0]], selection=[[1, 0]]), alpha=ALPHA).failure[0]
    figures = published("synthetic")
    return all(
        (slack_table(Noise(motif=m, random=r), SCORE_WINDOW) > failure).sum() >= score
        for r, row in zip(figures["p_random"], figures["score"], strict=True)
        for m, score in zip(figures["p_motif"], row, strict=True)
    )


def _every_graph(found: SyntheticResults) -> Check:
    share = found.featured_shares[:2]
    enough = found.settings.featured_samples >= 100_000
    needed = slack(Noise(motif=FEATURED[0], random=FEATURED[1]), FEATURED_RADIUS)
    return Check(
        "at p = (0.02, 0.45) every test graph is certified with 1 flip in the motif and all 45 in the random part",
        "100%",
        f"{share[FEATURED_RADIUS]:.0%}",
        bool(share.min() == 1) if enough else None,
        True,
        f"The worst graph has 1 − p_lower = {1 - found.featured.smallest_p_lower:.5f}; it must be below "
        f"{needed:.5f}. It depends on the draw of the data: {_whole(found)} of {len(found.featured_draws)} draws, this "
        "one among them, have every test graph certified there."
        + ("" if enough else " The claim is about 100,000 votes."),
    )


def _whole(found: SyntheticResults) -> int:
    """How many draws of the data have every test graph right and certified at the featured radius."""
    return sum(share == 1 for share in found.featured_draws)


def _isotropic(found: SyntheticResults) -> list[Check]:
    shares = found.isotropic_shares
    whole = [p for p, share in shares.items() if share[1] == 1]
    accurate = [p for p, share in shares.items() if share[0] == 1]
    beyond = max(share[1] for p, share in shares.items() if p > 0.02)
    further = [p for p, share in shares.items() if share[2] > 0]
    enough = found.settings.featured_samples >= 100_000
    few = "" if enough else " The claim is about 100,000 votes."
    return [
        Check(
            "isotropic noise: every p from 0.02 to 0.2 keeps an accuracy of 100%",
            "all 10 levels",
            f"{len(accurate)} of 10 levels",
            len(accurate) == 10 if enough else None,
            True,
            "Certified at radius 0: right, and not abstained." + few,
        ),
        Check(
            "isotropic noise: only p = 0.02 certifies every test graph at radius 1",
            "p = 0.02 alone",
            ("p = " + ", ".join(f"{p:g}" for p in whole) if whole else "none")
            + f" ({shares[0.02][1]:.0%} at p = 0.02, at most {beyond:.0%} above)",
            whole == [0.02] if enough else None,
            True,
            few.strip(),
        ),
        Check(
            "isotropic noise: larger p certify some graphs at radius 2",
            "some",
            "p = " + ", ".join(f"{p:g}" for p in further) if further else "none",
            any(p > 0.02 for p in further) if enough else None,
            True,
            few.strip(),
        ),
    ]


def _numbers(found: SyntheticResults) -> list[Check]:
    figures = published("synthetic")
    rows = [figures["p_random"].index(r) for r in DRAWN_ROWS]

    def of_paper(name: str) -> Grid:
        return np.array(figures[name], float)[rows]

    where = f"over p_random = {', '.join(f'{r:g}' for r in DRAWN_ROWS)} and all p_motif"
    checked = [
        within(
            f"mean score {where}",
            float(of_paper("score").mean()),
            [float(draw.score.mean()) for draw in found.draws],
            float(found.draws[0].score.mean()),
            digits=2,
            limits=(0.0, 64.0),
        ),
        within(
            f"mean accuracy, as the paper counts it, {where}",
            float(of_paper("accuracy").mean()),
            [float(draw.plurality.mean()) for draw in found.draws],
            float(found.draws[0].plurality.mean()),
            rounding=0.005,
            limits=(0.0, 1.0),
        ),
        within(
            "mean of the smallest p_lower over the same levels with p_motif up to 0.12",
            float(of_paper("smallest_p_lower")[:, :6].mean()),
            [float(draw.smallest_p_lower[:, :6].mean()) for draw in found.draws],
            float(found.draws[0].smallest_p_lower[:, :6].mean()),
            rounding=0.005,
            limits=(0.0, 1.0),
        ),
    ]
    if found.settings.samples < 100_000:
        return [check.undecided(f"{found.settings.samples:,} votes, where the paper has 100,000.") for check in checked]
    return checked


def summary(found: SyntheticResults) -> list[str]:
    """What was found, in sentences."""
    featured = found.featured_shares[FEATURED_RADIUS]
    farthest = max(0, *(int((share == 1).sum()) - 1 for share in found.isotropic_shares.values()))
    vectors = [draw.support_vectors for draw in found.draws]
    worst = [float(draw.smallest_p_lower[0, 1]) for draw in found.draws]
    return [
        f"At p = (0.02, 0.45), {featured:.0%} of the test graphs are answered right and certified when 1 node "
        "pair of the motif and any number of pairs in the random part flip; no isotropic noise certifies all of them "
        f"beyond {farthest} flip{'s' if farthest != 1 else ''} anywhere. Of {len(found.featured_draws)} draws of the "
        f"data, this one among them, {_whole(found)} have every test graph certified there.",
        "The score of a noise level is how many of the 64 radii from (0, 0) to (7, 7) hold for more than half of the "
        "test graphs, right and certified; p_lower is the lower confidence bound on the probability of a graph's "
        f"answer. Votes for each graph: {found.settings.samples:,} on the grid, {found.settings.featured_samples:,} at "
        "p = (0.02, 0.45) and for isotropic noise.",
        f"The base classifier hangs on {min(vectors)} to {max(vectors)} support vectors, so that another draw of the "
        f"training graphs moves the figures: over {len(found.draws)} draws, the smallest p_lower at (0.04, 0.45) goes "
        f"from {min(worst):.3f} to {max(worst):.3f}. Published numbers are therefore compared with where the next draw "
        "is expected, and trends as trends.",
    ]
