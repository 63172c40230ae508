"""The project's copy of the paper's figures has every figure, and no other."""

import json
from pathlib import Path

import pytest

from starcert_studies.report import published

SHARED = Path(__file__).parents[3] / "shared" / "paper" / "published-numbers.json"
NAMES = {
    "samples_ablation": "samples",
    "kernel_ablation": "kernels",
    "score_rows_are_p_random": "score",
    "accuracy_rows_are_p_random": "accuracy",
    "smallest_p_lower_rows_are_p_random": "smallest_p_lower",
    "p_delete": "delete",
    "p_add": "add",
    "accuracy_in_text": "accuracy",
    "accuracy_in_the_authors_stored_run": "accuracy_in_stored_run",
    "anisotropic_anchored": "anisotropic",
}


def figures(tree: dict) -> dict:
    """Numbers and tables of numbers by name; remarks in words are left out, and so is one level of headings."""
    flat = {}
    for name, value in tree.items():
        if name == "share_of_correct_graphs_certified":
            flat |= figures(value)
        elif isinstance(value, dict):
            flat[NAMES.get(name, name)] = figures(value)
        elif isinstance(value, int | float) or (isinstance(value, list) and not isinstance(value[0], str)):
            flat[NAMES.get(name, name)] = value
    return flat


@pytest.mark.skipif(not SHARED.exists(), reason="the shared folder is not beside this checkout")
@pytest.mark.parametrize("study", ["synthetic", "samples_ablation", "kernel_ablation", "mutag"])
def test_every_figure_is_kept(study):
    shared = json.loads(SHARED.read_text("utf-8"))
    kept = published(NAMES.get(study, study))
    assert figures(shared[study]) == kept
    assert len(kept) >= 2


def test_the_published_accuracy_counts_what_is_abstained_from():
    """So it must: where it has every graph right, a graph has a p_lower below one half."""
    figures = published("synthetic")
    i, j = figures["p_random"].index(0.05), figures["p_motif"].index(0.16)
    assert figures["accuracy"][i][j] == 1
    assert figures["smallest_p_lower"][i][j] == 0.49
