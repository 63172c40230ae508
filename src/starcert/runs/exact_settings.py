"""Settings of runs that try every attack on the plain model, in place of votes on noisy copies."""

from __future__ import annotations

from dataclasses import dataclass

from starcert.certificates.exact import MAX_ATTACKS
from starcert.runs import setting_values as checks
from starcert.runs.setting_values import setting
from starcert.system.errors import InvalidParameterError

PANEL = "The plain model, exactly"


@dataclass(frozen=True, kw_only=True)
class ExactSettings:
    """Whether every attack is tried, and how many at most."""

    exact: bool = setting(
        checks.as_flag,
        "Try every attack of the threat (by default flips:1) on the plain model: no noise, no votes, alpha = 0. The "
        "noise only names the regions. Each graph is certified, broken by an attack, or open where the budget ends.",
        shown="no",
        panel=PANEL,
        implied=False,
        in_sweeps=False,
        default=False,
    )
    max_attacks: int = setting(
        checks.whole(1, 2**62),
        "With exact, how many attacks are tried on each graph, at most. A larger number goes on where a smaller one "
        "has ended.",
        panel=PANEL,
        implied=MAX_ATTACKS,
        in_sweeps=False,
        changes="nothing",
        default=MAX_ATTACKS,
    )

    def __post_init__(self) -> None:
        if self.max_attacks != MAX_ATTACKS and not self.exact:
            hint = "Ask for every attack too: --exact, or exact = true in a run file."
            raise InvalidParameterError("max_attacks", "be left out without exact", self.max_attacks, hint)
