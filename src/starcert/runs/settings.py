"""The settings of a run: what is certified, how, and where to.

Each is declared once, as a field. Its key in a run file, its option with help and default, its check and its schema
follow.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import force_setattr

from starcert.math.confidence import Family, check_alpha
from starcert.math.fallback import check_threshold
from starcert.methods.exhaustive import MAX_ATTACKS
from starcert.objects.noise import Noise
from starcert.objects.threats import AnyFlips, Threat
from starcert.runs.declaration import MissingSettingError, declared
from starcert.runs.input_settings import MAX_SAMPLES, InputSettings
from starcert.runs.setting_values import (
    NoiseTable,
    RunSetting,
    Seed,
    as_fallback,
    as_noise,
    as_out_folder,
    as_seed,
    parse_noise,
)
from starcert.runs.threats import as_threat
from starcert.runs.user_code import Reference, place_of
from starcert.system.errors import InvalidParameterError

SWEEP_SAMPLES = 1_000  # for each graph and level of a sweep, by default
THRESHOLD = 0.7  # of a fallback, by default


class RunSettings(InputSettings, frozen=True, kw_only=True):
    """The settings of a run. Paths are absolute; the threat names the axes of the noise."""

    noise: Annotated[Noise, RunSetting(
        "Flip probabilities by region: motif=0.02,random=0.45. "
        "delete/add counts deletions and additions apart: bonds=0.04/0.2 has the axes bonds.delete, bonds.add. "
        "delete/add/change is for edges with types: bonds=0.1/0.05/0.1 has bonds.change too.",
        form=NoiseTable, read=as_noise, parse=parse_noise, must="map regions to flip probabilities",
        hint="Write a table: [noise], and below it a line such as motif = 0.02 for every region.",
        metavar="REGION=P,…", example="motif=0.02,random=0.45",
        brief="The flip probability of each region; delete/add tells the two apart.",
        main=True, in_training=True,
        sweep_help="The flip probabilities of regions that the grid does not vary, as certify takes them.",
    )]  # fmt: skip
    samples: Annotated[int, Meta(ge=1, le=MAX_SAMPLES), RunSetting(
        "Noisy copies per graph.",
        main=True, of_sweeps=True, changes="certificates", sweep_shown=f"{SWEEP_SAMPLES:,}",
        sweep_help="Noisy copies per graph and level; more tell levels apart whose radii are long.",
    )] = 10_000  # fmt: skip
    selection_samples: Annotated[int | None, Meta(ge=1, le=MAX_SAMPLES), RunSetting(
        "Noisy copies that choose the class.", table="voting", of_sweeps=True, changes="certificates",
        shown="a hundredth of the samples, at least 100; with plan decided, as few as the question takes",
    )] = None  # fmt: skip
    evidence: Annotated[bool, RunSetting(
        "Look at where the flips of the votes fell, too, not only at how many votes each class has (p_A). More is "
        "certified; every number of flips is certified, broken (an attack is found) or open. Both share alpha.",
        shown="no",
        brief="Certify more: look at where flips fell, and draw votes at attacked graphs.",
        main=True, implied=True, changes="certificates",
        sweep_help="Look at where the flips of the votes fell, too: levels are compared by what that certifies.",
    )] = False  # fmt: skip
    own_samples: Annotated[int | None, Meta(ge=0, le=10**12), RunSetting(
        "With evidence, at most this many noisy copies of attacked versions of a graph. They settle what its own "
        "copies leave open, and find attacks. 0: none.",
        shown="as many as samples", sweep_shown="0", table="evidence", of_sweeps=True,
        changes="certificates",
    )] = None  # fmt: skip
    collective: Annotated[bool, RunSetting(
        "With evidence and a threat, also claim about all answers together that no attack changes more than k of them: "
        "alpha is divided neither between answers nor between attacks.",
        shown="no", table="evidence", in_sweeps=False, implied=True, changes="certificates",
    )] = False  # fmt: skip
    plan: Annotated[Literal["fixed", "decided"], RunSetting(
        "fixed draws all samples. With decided they are an upper limit: a graph gets no more votes once all of the "
        "threat is certified, or unlikely to be. Bounds are then a little wider: they hold at any time.",
        metavar="fixed|decided", table="voting", implied=True, changes="certificates",
    )] = "fixed"  # fmt: skip
    fallback: Annotated[Reference | str | None, RunSetting(
        "What to answer where no other class is likelier than the threshold: blind, a model that learns from the "
        "training part (--split test) and sees nothing that an attack changes; or FILE.PY:FUNCTION, which returns a "
        "model of yours that is blind, with a method predict on a list of objects. It may have the parameters of the "
        "model function. The blind answer is certified as far as no other class can rise above the threshold.",
        form=str, read=as_fallback, metavar="blind|FILE.PY:FUNCTION", changes="certificates",
        shown="none: the likeliest class is the answer",
    )] = None  # fmt: skip
    threshold: Annotated[float | None, RunSetting(
        "With a fallback, the probability that another class must exceed, from 0.5 to below 1. Choose it on the "
        "validation part: larger ones lean on the blind answer.",
        read=lambda value, *_: check_threshold(value), must="be a number such as 0.7", shown=f"{THRESHOLD}",
        changes="certificates",
    )] = None  # fmt: skip
    threat: Annotated[Threat | None, RunSetting(
        "What the attacker can do: the results count the graphs that are certified, broken and open under it. flips:2 "
        "is any two flips, box:motif=3,random=45 the radii to look at. Narrower ones, whose attacks are all listed: "
        "deletions:2, additions:2, changes:1 (of values, types), rewire:1 (another end), swap:1 (two edges exchange "
        "ends), local:3,per_node=1, controlled:2,nodes=a|b, where:1,name=FILE.PY:FUNCTION, valence:1, delete_node:1, "
        "inject:2 (edges of a spare node). 'a | b' is either, 'a & b' what both allow, 'a + b' one after the other. "
        "Your own: FILE.PY:NAME:2 or MODULE:NAME:2.",
        form=str, read=as_threat, shown="none: all that can be flipped", metavar="NAME:NUMBER",
        brief="What the attacker can do, such as flips:2 (starcert list threats).",
        main=True, changes="certificates",
        sweep_help="What the attacker can do, such as flips:2, box:motif=1,random=10 or rewire:1 (see starcert certify "
        "--help): the best level has most graphs right and certified under it.",
        sweep_shown="none: the best is the most accurate of the Pareto-optimal levels that certify a flip",
    )] = None  # fmt: skip
    seed: Annotated[int, RunSetting("The seed of all noise.", form=Seed, read=as_seed, main=True)] = 0
    exact: Annotated[bool, RunSetting(
        "Try every attack of the threat (by default flips:1) on the plain model: no noise, no votes, alpha = 0. The "
        "noise only names the regions. Each graph is certified, broken by an attack, or open where the budget ends.",
        shown="no",
        brief="Try every attack of the threat on the plain model, without noise.",
        main=True, in_sweeps=False, implied=True,
    )] = False  # fmt: skip
    max_attacks: Annotated[int, Meta(ge=1, le=2**62), RunSetting(
        "With exact, how many attacks are tried on each graph, at most. A larger number resumes where a smaller one "
        "has ended.",
        table="exact", in_sweeps=False, implied=True, changes="nothing",
    )] = MAX_ATTACKS  # fmt: skip
    alpha: Annotated[float, RunSetting(
        "The probability that a graph's certificate fails (not the confidence).",
        read=lambda value, *_: check_alpha(value), must="be a failure probability, a number such as 0.01",
        brief="The probability that a certificate fails.",
        main=True, changes="certificates", recorded=False,
    )] = 0.01  # fmt: skip
    family: Annotated[Family, RunSetting(
        "What fails with probability alpha: each certificate by itself, or any of all (each has a part of alpha).",
        metavar="each|all", changes="certificates", recorded=False,
    )] = "each"  # fmt: skip
    workers: Annotated[int, Meta(ge=1, le=1024), RunSetting(
        "Processes that count votes, each with one torch thread.", main=True, changes="nothing", recorded=False
    )] = 1  # fmt: skip
    store: Annotated[Path | None, RunSetting(
        "The file of votes, to share between runs.",
        form=str, read=place_of, metavar="FILE", shown="votes.db in the output", table="voting",
        in_sweeps=False, written=False, changes="nothing", recorded=False,
    )] = None  # fmt: skip
    out: Annotated[Path, RunSetting(
        "The output folder.",
        form=str, read=as_out_folder, metavar="FOLDER", shown="certified, beside the run file",
        sweep_shown="sweep, beside the run file", main=True, of_sweeps=True, written=False, changes="nothing",
        recorded=False,
    )] = Path("certified")  # fmt: skip

    @property
    def max_own_votes(self) -> int:
        """The most votes at attacked versions of a graph; its targets share them."""
        return (self.samples if self.own_samples is None else self.own_samples) if self.evidence else 0

    @property
    def limits(self) -> tuple[int, ...] | None:
        """The box of radii to look at; None: all that can be flipped."""
        return self.threat.limits(self.noise) if self.threat is not None and self.threat.by_radius else None

    def __post_init__(self) -> None:
        self.check_inputs()
        if self.selection_samples is None and self.plan == "fixed":  # "decided" finds how many the question takes
            force_setattr(self, "selection_samples", max(100, self.samples // 100))
        if self.exact and self.threat is None:
            force_setattr(self, "threat", AnyFlips(1))
        if self.threat is not None:
            force_setattr(self, "threat", self.threat.for_noise(self.noise))
        if self.fallback is not None and self.threshold is None:
            force_setattr(self, "threshold", THRESHOLD)
        self._check_method()
        if self.regions is None and len(self.noise.regions) > 1:
            where = f"where the {len(self.noise.regions)} regions of the noise are: {', '.join(self.noise.regions)}"
            hint = "Name a builder, such as communities, or a function file.py:function from a graph to its Partition."
            raise MissingSettingError("regions", f"It says {where}. {hint}")

    def _check_method(self) -> None:
        """Refuses settings that belong to another way of certifying."""
        if self.max_attacks != MAX_ATTACKS and not self.exact:
            raise InvalidParameterError("max_attacks", "needs exact = true.")
        if self.own_samples is not None and not self.evidence:
            raise InvalidParameterError("own_samples", "needs evidence = true.")
        if self.collective and (self.threat is None or not self.evidence):
            raise InvalidParameterError("collective", "needs evidence = true and a threat, such as deletions:1.")
        if self.fallback is None and self.threshold is not None:
            raise InvalidParameterError("threshold", 'needs a fallback, such as fallback = "blind".')
        if self.fallback is not None and self.outputs is not None:
            raise InvalidParameterError("fallback", "needs a model that answers classes, not numbers.")


SETTINGS: dict[str, RunSetting] = declared(RunSettings, RunSetting)
"""The settings of a run by their keys."""

GROUPS = {name: tuple(key for key, each in SETTINGS.items() if each.table == name) for name in
          dict.fromkeys(each.table for each in SETTINGS.values() if each.table)}  # fmt: skip
"""Settings that may stand in a table too; one that is named after a setting means that it is true."""

SWEEP_SETTINGS = {key: replace(each, help=each.sweep_help or each.help, shown=each.sweep_shown or each.shown,
                               default=None if each.sweep_shown else each.default)
                  for key, each in SETTINGS.items() if each.in_sweeps}  # fmt: skip
"""Those that `starcert sweep` has, with what they mean there."""

CERTIFICATE_SETTINGS = tuple(key for key, each in SETTINGS.items() if each.changes == "certificates")
"""Those that make other certificates from the same votes."""


def run_settings(values: Mapping[str, object], options: Mapping[str, object] | None = None) -> RunSettings:
    """The settings of a run from checked values and options, which override them."""
    given: dict[str, Any] = {**values, **(options := options or {})}
    if isinstance(values.get("columns"), Mapping) and isinstance(options.get("columns"), Mapping):
        given["columns"] = {**values["columns"], **options["columns"]}  # type: ignore[dict-item]
    for key, each in SETTINGS.items():
        if each.example and given.get(key) is None:
            hint = f"For example {each.option} {each.example}, or {key} in a run file"
            raise MissingSettingError(key, f"{hint}; `starcert init` writes one that runs.")
    if "samples" in options and "selection_samples" not in options:
        given.pop("selection_samples", None)  # it follows the samples, unless it is given with them
    for key in {"own_samples", "collective"} - {*options} if options.get("evidence") is False else ():
        given.pop(key, None)  # a run file has them for evidence
    return RunSettings(**given)
