"""The exceptions a user can catch.

Every message names the parameter, what it must be, what came, and the next step.
"""

from __future__ import annotations

__all__ = ["InvalidParameterError", "StarcertError"]


class StarcertError(Exception):
    """Whatever starcert raises on purpose."""


class InvalidParameterError(StarcertError, ValueError):
    """A parameter has a value that starcert cannot work with.

    Args:
        parameter: its name, as the caller writes it.
        requirement: what it must be, to be read after "must".
        got: what came instead, as the message shall show it.
        hint: the next step, a sentence of its own.

    Example:
        >>> str(InvalidParameterError("alpha", "be below 0.5", 0.99, "Did you mean 0.01?"))
        "'alpha' must be below 0.5. Got 0.99 instead. Did you mean 0.01?"
    """

    def __init__(self, parameter: str, requirement: str, got: object, hint: str = "") -> None:
        # The arguments go to Exception unchanged, so that the error survives a trip between processes.
        super().__init__(parameter, requirement, got, hint)
        self.parameter = parameter

    def __str__(self) -> str:
        parameter, requirement, got, hint = self.args
        return f"'{parameter}' must {requirement}. Got {got!r} instead. {hint}".rstrip()
