"""The exceptions a user can catch, and the checks that most parameters need.

Every message is a sentence about the parameter, then what came, and the next step.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral

MAX_VALUE, MAX_MESSAGE = 300, 3_000  # characters of a value in a message, and of a whole one
_LONG_WORD = re.compile(rf"\S{{{MAX_VALUE + 1},}}")


class StarcertError(Exception):
    """The base of everything that starcert raises on purpose; long values in its message are shortened.

    Example:
        >>> import starcert as sc
        >>> try:
        ...     sc.Noise(bonds=7)
        ... except sc.StarcertError as error:
        ...     print(error)
        'noise[bonds]' must be a probability from 0 to 1. Got 7 instead.
    """

    def __str__(self) -> str:
        return shortened(super().__str__())


class StarcertWarning(UserWarning):
    """Something was left out or changed that a user should know about; the command shows it as a note."""


class InvalidParameterError(StarcertError, ValueError):
    """A parameter has a value that starcert cannot work with.

    Args:
        parameter: its name, as the caller writes it.
        requirement: what it must be, to be read after "must"; without `got`, the rest of a sentence about it.
        got: what came instead.
        hint: the next step, a sentence of its own.

    Example:
        >>> str(InvalidParameterError("alpha", "be below 0.5", 0.99, "Did you mean 0.01?"))
        "'alpha' must be below 0.5. Got 0.99 instead. Did you mean 0.01?"
        >>> str(InvalidParameterError("own_samples", "needs evidence = true."))
        "'own_samples' needs evidence = true."
    """

    def __init__(self, parameter: str, requirement: str, got: object = ..., hint: str = "") -> None:
        # Unchanged arguments let the error be pickled on its way from a worker process.
        super().__init__(parameter, requirement, got, hint)
        self.parameter = parameter

    def __str__(self) -> str:
        parameter, requirement, got, hint = self.args
        name = shortened(str(parameter))
        if got is ...:
            return f"'{name}' {shortened(requirement)} {shortened(hint)}".rstrip()
        return f"'{name}' must {shortened(requirement)}. Got {_shown(got)} instead. {shortened(hint)}".rstrip()


def whole_number(parameter: str, value: object, least: int, most: int | None = None, hint: str = "") -> int:
    """The value of a parameter that must be a whole number, at least `least` and at most `most`; no truth value is one.

    Example:
        >>> whole_number("samples", 0, 1)
        Traceback (most recent call last):
        ...
        starcert.system.errors.InvalidParameterError: 'samples' must be a whole number, 1 or more. Got 0 instead.
    """
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else least - 1
    if number < least or (most is not None and number > most):
        limits = f", {least:,} or more" if most is None else f" from {least:,} to {most:,}"
        raise InvalidParameterError(parameter, f"be a whole number{limits}", value, hint)
    return number


def did_you_mean(given: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint that names the known name closest to the given one; `otherwise` if none is close.

    Example:
        >>> did_you_mean("motfi", ["motif", "random"])
        'Did you mean motif?'
    """
    close = get_close_matches(given, list(known), n=1)
    return f"Did you mean {close[0]}?" if close else otherwise


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Says what to install where an import inside fails: "Plots need matplotlib: pip install 'starcert[plots]'"."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("starcert"):
            raise
        raise StarcertError(f"{what} {error.name}: pip install 'starcert[{extra}]'") from error


def _shown(got: object) -> str:
    """The value that came, as text."""
    try:
        text = repr(got)
    except (RecursionError, ValueError):  # nested too deep, or a number of more digits than Python writes
        return f"a {type(got).__name__} too large to be shown"
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}… ({len(text):,} characters)"


def shortened(text: str) -> str:
    """A part of a message; of a long one the begin, and of every long word in it.

    Example:
        >>> shortened(f"there is no region {'x' * 5_000}; name another")[-30:]
        'xxxxxxxxxxxxxxxx… name another'
    """
    words = _LONG_WORD.sub(lambda found: f"{found[0][:MAX_VALUE]}…", text)
    return words if len(words) <= MAX_MESSAGE else f"{words[:MAX_MESSAGE]}… ({len(words):,} characters)"


class ClassifierError(StarcertError, RuntimeError):
    """A base classifier raised an exception, or answered something that is not a class.

    Example:
        >>> import starcert as sc
        >>> broken = sc.classifiers.from_callable(lambda graph: 7, n_classes=2)
        >>> try:
        ...     sc.SmoothedClassifier(broken, sc.Noise(all=0.1)).predict([sc.Graph(3, [])], samples=10, seed=0)
        ... except sc.ClassifierError as error:
        ...     print(str(error).partition(": ")[2])
        it answered 7; a class is a whole number from 0 to 1
    """


class ExecutorError(StarcertError, RuntimeError):
    """An executor lost work: its scheduler or its workers are gone, or it was shut down."""


class StoreError(StarcertError, OSError):
    """A file of votes cannot be read or written; the message names the file, the reason and the next step.

    Example:
        >>> import starcert as sc
        >>> smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(len, n_classes=2), sc.Noise(all=0.1))
        >>> try:
        ...     smoothed.vote([sc.Graph(3, [])], samples=10, seed=0, voting=sc.Voting(store="no/votes.db"))
        ... except sc.StoreError as error:
        ...     print(str(error).partition(". ")[2])
        Make it first, or name another file.
    """


class StoreSettingsError(StarcertError, ValueError):
    """A file of votes belongs to another run; `differences` lists those of its settings and graphs.

    Example:
        >>> str(StoreSettingsError("votes.db", ["seed: stored 1, now 2"])).partition(". ")[0]
        'votes.db: holds the votes of another run (seed: stored 1, now 2)'
    """

    def __init__(self, path: str, differences: Sequence[str]) -> None:
        super().__init__(path, differences)
        self.differences = tuple(differences)

    def __str__(self) -> str:
        path, differences = self.args
        advice = "Continue with the settings and graphs that are stored, or write into another file."
        more = [f"and {len(differences) - 100} more"] if len(differences) > 100 else []
        listed = "; ".join([*map(shortened, differences[:100]), *more])
        return f"{path}: holds the votes of another run ({listed}). {advice}"


class ArchiveError(StarcertError, ValueError):
    """A file of certificates cannot be read or written; `problem` is a sentence that names the field.

    Example:
        >>> str(ArchiveError("certificates.json", "'alpha' must be a number. Got 'low' instead."))
        "certificates.json: 'alpha' must be a number. Got 'low' instead."
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.problem = problem

    def __str__(self) -> str:
        return ": ".join(shortened(str(each)) for each in self.args)


class WriteError(StarcertError, OSError):
    """A file cannot be written; `errno`, `strerror` and `filename` are as in the error of the system.

    Example:
        >>> print(WriteError(errno.ENOSPC, "No space left on device", "a.csv"))
        a.csv: cannot be written (No space left on device). Free some space on its disk, then run the same again.
    """

    def __str__(self) -> str:
        return f"{self.filename}: {self.problem}"

    @property
    def problem(self) -> str:
        """The reason and the next step, in sentences."""
        return f"{self.reason}. {self.advice}, then run the same again."

    @property
    def reason(self) -> str:
        """The error, to be read after the name of the file."""
        return f"cannot be written ({self.strerror})"

    @property
    def advice(self) -> str:
        """Advice that would make it possible to write the file."""
        if self.errno in (errno.ENOSPC, errno.EDQUOT):
            return "Free some space on its disk"
        if self.errno == errno.EFBIG:
            return "Raise the limit on the size of files (ulimit -f)"
        return "Check that its folder exists and can be written to"


class PrecisionError(StarcertError, ArithmeticError):
    """A number lies beyond what the engine can compute."""
