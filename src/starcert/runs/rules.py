"""The regions of a run: a builder by name, or a function of the user's, worked out once for every graph."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from starcert.binding import Problem, anchored_together, bind, check_regions
from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph, Partition
from starcert.graphs.rule import Rule, author_says
from starcert.runs.reference import Reference, blaming
from starcert.system.progress import progress_bar

if TYPE_CHECKING:
    from starcert.graphs import Sites
    from starcert.noise import Noise
    from starcert.runs.data import RunData

__all__ = ["UserRule", "describe", "needs_model", "problem_of", "rule_of"]


class UserRule:
    """A function of the user's from a graph to its partition, blamed by file and line where it fails."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        found = reference.load()
        if not (callable(found) or isinstance(found, Partition)):
            hint = "Write def regions(graph): return starcert.Partition.from_node_sets({…})."
            raise InvalidParameterError(
                "regions", "name a function from a graph to its Partition", f"{type(found).__name__} {reference}", hint
            )
        self.function = found
        word = None if isinstance(found, Partition) else author_says(found)
        if word is not None:
            self.anchored = word

    def __call__(self, graph: Graph) -> Partition:
        """The partition of a graph."""
        if isinstance(self.function, Partition):
            return self.function
        with blaming(self.reference.file):  # nothing of the graph is read here: it would count as read by the rule
            found: Partition = self.function(graph)
        return found


def needs_model(regions: Reference | str | None) -> bool:
    """Whether the regions follow from the model, so that it must be there before them."""
    from starcert.regions import BUILDERS  # noqa: PLC0415

    builder = BUILDERS.get(regions.partition(":")[0].strip()) if isinstance(regions, str) else None
    return builder is not None and builder.needs_model


def rule_of(regions: Reference | str | None, noise: Noise, *, model: object = None) -> Rule | Partition:
    """The rule that a run's setting names.

    Args:
        regions: the setting.
        noise: the noise, whose one region has every node pair where the setting is left out.
        model: what the model function returned, for a builder that needs it.
    """
    if regions is None:
        return Partition.everything(noise.regions[0])
    if isinstance(regions, Reference):
        return UserRule(regions)
    from starcert.regions import build  # noqa: PLC0415

    return build(regions, model=model) if needs_model(regions) else build(regions)


def describe(rule: Rule | Partition) -> str:
    """The rule of a run, for the record."""
    if isinstance(rule, UserRule):
        return str(rule.reference)
    return "every node pair" if isinstance(rule, Partition) else str(getattr(rule, "description", rule))


def problem_of(rule: Rule | Partition, noise: Noise, data: RunData) -> Problem:
    """The graphs of the data, bound to their regions; refused, by name, if they are not those of the noise."""
    sites: list[Sites] = []
    with progress_bar("regions", len(data)) as advance:
        for name, graph in zip(data.names, data.graphs, strict=True):
            try:
                sites.append(bind(graph, noise, rule))
                if len(sites) > 1:  # the graphs before had the regions of the noise
                    check_regions(sites[-1], noise)
            except StarcertError as error:
                raise StarcertError(f"The regions of graph {name!r} cannot be used: {error}") from error
            _check_noise(noise, sites[0].regions)
            advance(1)
    return Problem(noise, anchored_together(sites, rule))


def _check_noise(noise: Noise, regions: Sequence[str]) -> None:
    """Refuses a noise for regions that are not there."""
    if set(regions) == set(noise.regions):
        return
    strange = [region for region in noise.regions if region not in regions]
    if strange:
        left = [region for region in regions if region not in noise.regions]
        close = get_close_matches(strange[0], left, n=1) or get_close_matches(strange[0], regions, n=1)
        hint = f"There is no region {strange[0]}. " + (f"Did you mean {close[0]}?" if close else "Give --regions too.")
    else:
        hint = f"Missing: {', '.join(region for region in regions if region not in noise.regions)}."
    wanted = f"have a flip law for every region of the graphs, {', '.join(regions)}, and no other"
    raise InvalidParameterError("noise", wanted, ", ".join(noise.regions), hint)
