"""The run file of a sweep: `starcert sweep` repeats it, `starcert certify` does what it advises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from starcert import __version__
from starcert.errors import StarcertError
from starcert.noise import Noise
from starcert.runs import read, toml
from starcert.runs.output import RUN, Output
from starcert.runs.run_file import text_of
from starcert.sweeps.result import Sweep
from starcert.sweeps.settings import SweepSettings

__all__ = ["noise_there", "text_for"]


def text_for(sweep: Sweep, digests: Mapping[str, str]) -> str:
    """The run file of a finished sweep.

    Its noise is the suggested level's, or else the user's own. Samples and limit outside the table [sweep] are those
    that the user certifies with; where the data are divided, the part is the one that no sweep has seen.

    Args:
        sweep: what came out.
        digests: digests of what the sweep was made from.
    """
    settings = sweep.settings
    noise = settings.own_noise if sweep.suggested is None else sweep.levels[sweep.suggested].noise
    text = text_of(
        replace(settings.run, noise=noise),
        digests,
        folder=sweep.folder,
        made_by=f"starcert {__version__}",
        grid=settings.grid,
    )
    own = dict(settings.certifying) | ({} if settings.run.split == "all" else {"split": "test"})
    whose = "your own: no level is suggested" if sweep.suggested is None else f"that of level {sweep.suggested + 1}"
    head, _, rest = text.partition("\n\n")
    return (
        toml.document(
            [
                head,
                f"# starcert certify takes this file too, without its table sweep: the noise is {whose}.",
                "",
                *own.items(),
            ]
        )
        + rest
    )


def noise_there(place: Output, settings: SweepSettings) -> Noise:
    """The noise that the run file of this sweep has, where the folder holds one: any that gives the same levels.

    A sweep that is run again does not know yet what the finished one suggested.
    """
    for folder in (place.final, place.partial):
        try:
            noise = read(folder / RUN).values.get("noise")
            if isinstance(noise, Noise) and settings.grid.levels(noise) == settings.levels:
                return noise
        except StarcertError:  # there is none, or none that this sweep could go on from, as is said elsewhere
            continue
    return settings.run.noise
