"""The paper's figures, for comparison."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["published"]


@cache
def published(study: str) -> dict[str, Any]:
    """What the paper shows of a study, as `published.json` has it.

    Example:
        >>> published("kernels")["smallest_p_lower"]["nspd"]
        0.99934
    """
    text = resources.files("starcert.experiments").joinpath("published.json").read_text("utf-8")
    figures: dict[str, Any] = json.loads(text)[study]
    return figures
