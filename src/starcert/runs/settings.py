"""The settings of a run: what is certified, how, and where to. Checked once, when they are made."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcert.errors import InvalidParameterError
from starcert.laws import law_from_json
from starcert.noise import Noise
from starcert.runs.reference import Reference, TuName, place_of

if TYPE_CHECKING:
    from starcert.core.confidence import Family
    from starcert.noise import RadiusLike

__all__ = ["DEVICES", "KEYS", "SPLITS", "RunSettings", "UnknownSettingError", "complete", "take"]

SPLITS = ("all", "train", "validation", "test")
DEVICES = r"cpu|mps|(cuda|xpu)(:\d+)?"
MOST_WORKERS = 1024


class UnknownSettingError(InvalidParameterError):
    """A setting has a name that means nothing."""

    def __str__(self) -> str:
        parameter, _, _, hint = self.args
        return f"There is no setting {parameter!r}. {hint}"


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What a run needs to know.

    Attributes:
        model: the function that makes the base classifier.
        data: a file or a folder, absolute, or the name of a TU data set.
        noise: a flip law for every region.
        regions: a region builder with its parameters, a function from a graph to its partition, or None: every node
            pair is in the one region of the noise.
        samples: estimation votes for each graph.
        selection_samples: selection votes for each graph.
        alpha: the probability that a certificate fails.
        family: whether that is the probability of "each" certificate by itself or of "all" together.
        seed: the seed of all random streams.
        device: where a torch module runs; None: where the model function left it.
        workers: how many processes count votes.
        max_radius: the box of radii to look at, in the order of the noise's axes; None: all that can be flipped.
        limit: certify the first so many graphs; None: all of them.
        split: which part of the data to certify: "all", or a part of 80% / 10% / 10% of every class.
        split_seed: the seed of that division.
        store: the file of votes; None: `votes.db` in the output folder.
        out: the output folder.
    """

    model: Reference
    data: Path | str
    noise: Noise
    regions: Reference | str | None = None
    samples: int = 10_000
    selection_samples: int | None = None
    alpha: float = 0.01
    family: Family = "each"
    seed: int = 0
    device: str | None = None
    workers: int = 1
    max_radius: tuple[int, ...] | None = None
    limit: int | None = None
    split: str = "all"
    split_seed: int = 0
    store: Path | None = None
    out: Path = Path("certified")

    def __post_init__(self) -> None:
        for key in KEYS:
            object.__setattr__(self, key, _checked(key, getattr(self, key), Path.cwd(), key))
        if self.selection_samples is None:
            object.__setattr__(self, "selection_samples", max(100, self.samples // 100))
        if self.max_radius is not None:
            object.__setattr__(self, "max_radius", self.noise.radius(self.max_radius, "max_radius"))
        if self.regions is None and len(self.noise.regions) > 1:
            raise InvalidParameterError(
                "regions",
                f"say where the {len(self.noise.regions)} regions of the noise are ({', '.join(self.noise.regions)})",
                None,
                "Name a builder, such as communities, or a function file.py:function from a graph to its Partition.",
            )


KEYS = tuple(field.name for field in fields(RunSettings))
_NEEDED = {"model": "model.py:classifier", "data": "MUTAG", "noise": "motif=0.02,random=0.45"}


def take(values: Mapping[str, object], *, base: Path, named: Callable[[str], str] = str) -> dict[str, object]:
    """Settings as a file or a command line has them, each checked, paths made absolute from `base`.

    Args:
        values: the settings by their keys.
        base: where relative paths begin.
        named: how a message calls the setting with this key.

    Raises:
        InvalidParameterError: names the key that is unknown, or whose value is of no use.

    Example:
        >>> take({"samples": 500, "alpha": 0.05}, base=Path())
        {'samples': 500, 'alpha': 0.05}
    """
    for key in values:
        if key not in KEYS:
            close = get_close_matches(str(key), KEYS, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"There are {', '.join(KEYS)}."
            raise UnknownSettingError(named(key), "be a setting of a run", key, hint)
    return {key: _checked(key, value, base, named(key)) for key, value in values.items()}


def complete(values: Mapping[str, object]) -> RunSettings:
    """The settings of a run from those that were given; what must be given is asked for."""
    for key, example in _NEEDED.items():
        if values.get(key) is None:
            hint = f"For example --{key} {example}, or {key} in a run file; `starcert init` writes one that runs."
            raise InvalidParameterError(key, "be given", None, hint)
    given: dict[str, Any] = dict(values)
    return RunSettings(**given)


def _checked(key: str, value: Any, base: Path, name: str) -> object:  # noqa: ANN401  (anything may stand in a file)
    return None if value is None and key in _OPTIONAL else _CHECKS[key](value, base, name)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InvalidParameterError(name, "be text", value)
    return value.strip()


def _path(value: object, base: Path, name: str) -> Path:
    return place_of(value if isinstance(value, Path) else _text(value, name), base, name)


def _out(value: object, base: Path, name: str) -> Path:
    path = _path(value, base, name)
    if not path.name:
        hint = "Name a folder in it, which the run can make and replace."
        raise InvalidParameterError(name, "be a folder with a name of its own", str(path), hint)
    return path


def _data(value: object, base: Path, name: str) -> Path | str:
    """A file or folder that exists, or else what can be the name of a TU data set."""
    path = _path(value, base, name)
    if os.path.exists(path):  # also false for a name that is too long
        return path
    if isinstance(value, TuName):
        return value
    if isinstance(value, str) and re.fullmatch(r"\w[\w+-]{,99}", value.strip()):
        called = TuName(value.strip())
        called.path = path
        return called
    near = sorted(each.name for each in path.parent.iterdir()) if os.path.isdir(path.parent) else []
    close = get_close_matches(path.name[:100], near, n=1)
    hint = f"Did you mean {path.with_name(close[0])}?" if close else "A plain name is that of a TU data set: MUTAG."
    raise InvalidParameterError(name, "name a file or a folder that exists", str(path), hint)


def _model(value: object, base: Path, name: str) -> Reference:
    return value if isinstance(value, Reference) else Reference.parse(_text(value, name), base, name)


def _regions(value: object, base: Path, name: str) -> Reference | str:
    if isinstance(value, Reference):
        return value
    text = _text(value, name)
    return Reference.parse(text, base, name) if re.search(r"\.py(:\w*)?$", text) else text


def _noise(value: object, _base: Path, name: str) -> Noise:
    if isinstance(value, Noise):
        return value
    if not isinstance(value, Mapping):
        hint = "Write a table: [noise], and below it a line such as motif = 0.02 for every region."
        raise InvalidParameterError(name, "map regions to flip probabilities", value, hint)
    laws = {}
    for region, law in value.items():
        apart = isinstance(law, Mapping) and set(law) == {"delete", "add"}
        if not all(map(_is_number, law.values() if apart else [law])):
            hint = "Write motif = 0.02, or bonds = { delete = 0.04, add = 0.2 }."
            raise InvalidParameterError(f"{name}.{region}", "be a probability, or delete and add", law, hint)
        with _renaming(f"{name}.{region}"):
            laws[region] = law_from_json(law)
    with _renaming(name):
        return Noise(laws)


def _radius(value: RadiusLike, _base: Path, name: str) -> object:
    """Counts by axis or in their order; that they fit the noise is checked where both are known."""
    counts = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(counts, Sequence) or isinstance(counts, str) or not all(map(_is_count, counts)):
        hint = "Write a table: [max_radius], and below it a line such as motif = 3 for every axis."
        raise InvalidParameterError(name, "be whole numbers of flips, one for each axis", value, hint)
    return dict(value) if isinstance(value, Mapping) else tuple(counts)


def _alpha(value: object, _base: Path, name: str) -> float:
    from starcert.core.confidence import check_alpha  # noqa: PLC0415  (flint and numpy: only where a run is made)

    if not _is_number(value):
        raise InvalidParameterError(name, "be a failure probability, a number such as 0.01", value)
    with _renaming(name):
        return check_alpha(value)  # type: ignore[arg-type]


def _family(value: object, _base: Path, name: str) -> Family:
    from starcert.core.confidence import check_family  # noqa: PLC0415  (as above)

    with _renaming(name):
        return check_family(value)


@contextmanager
def _renaming(name: str) -> Iterator[None]:
    """Lets a message call a parameter what the user calls it."""
    try:
        yield
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None


def _device(value: object, _base: Path, name: str) -> str:
    text = _text(value, name)
    if not re.fullmatch(DEVICES, text):
        raise InvalidParameterError(name, "name a device of torch", text, "Write cpu, cuda or cuda:1.")
    return text


def _split(value: object, _base: Path, name: str) -> str:
    if value not in SPLITS:
        raise InvalidParameterError(name, f"be one of {', '.join(SPLITS)}", value)
    return str(value)


def _whole(value: object, _base: Path, name: str, *, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidParameterError(name, f"be a whole number from {least} to {most:,}", value)
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_SAMPLES, _SEED = partial(_whole, least=1, most=10**12), partial(_whole, least=0, most=2**64 - 1)
_CHECKS: dict[str, Callable[[Any, Path, str], object]] = {
    "model": _model,
    "data": _data,
    "noise": _noise,
    "regions": _regions,
    "samples": _SAMPLES,
    "selection_samples": _SAMPLES,
    "alpha": _alpha,
    "family": _family,
    "seed": _SEED,
    "device": _device,
    "workers": partial(_whole, least=1, most=MOST_WORKERS),
    "max_radius": _radius,
    "limit": _SAMPLES,
    "split": _split,
    "split_seed": _SEED,
    "store": _path,
    "out": _out,
}
_OPTIONAL = ("regions", "selection_samples", "device", "max_radius", "limit", "store")
