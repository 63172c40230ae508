"""The synthetic study: settings → results → figures, checks."""

from __future__ import annotations

from starcert.experiments.outcome import Outcome
from starcert.experiments.parts import Parts
from starcert.experiments.synthetic.checks import checks, summary
from starcert.experiments.synthetic.figures import pictures, tables
from starcert.experiments.synthetic.results import Settings, compute, settings

__all__ = ["TITLE", "Settings", "run", "settings"]

TITLE = "Synthetic data: the motif decides, the random part does not"


def run(settings: Settings, parts: Parts) -> Outcome:
    """The whole study."""
    found = compute(settings, parts)
    values = {
        "base_accuracy": found.base_accuracy,
        "majority_share": found.data.test.majority_share,
        "certified_at_1_45": dict(zip([draw.seed for draw in found.draws], found.featured_draws, strict=True)),
        "support_vectors": {draw.seed: draw.support_vectors for draw in found.draws},
    }
    return Outcome(summary(found), pictures(found), tables(found), checks(found), values)
