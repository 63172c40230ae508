"""Votes of the base classifier on noisy copies: jobs and plans, counting, the vote loop, the store."""

from __future__ import annotations

from typing import Literal

__all__ = ["PURPOSES"]

PURPOSES: tuple[Literal["selection", "estimation"], ...] = ("selection", "estimation")
"""The purposes of votes: selection votes choose the class, estimation votes bound its probability."""
