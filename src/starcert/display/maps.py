"""Maps of two axes: the share certified at each radius, the verdicts on one graph, and slacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.metrics import certified_counts, certified_share, open_ended
from starcert.claims.outcomes import majority_share
from starcert.claims.slack import slack_table
from starcert.claims.vote_proof import in_box
from starcert.display.drawing import (
    MAJORITY,
    SHADES,
    TONES,
    make_room,
    new_axes,
    whole_ticks,
    with_notes,
)
from starcert.math.confidence import clopper_pearson
from starcert.math.votes import Votes
from starcert.objects.noise import Noise, RadiusLike
from starcert.system.errors import InvalidParameterError, did_you_mean
from starcert.system.output import at_most

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh


def radius_map(
    certificates: Certificates,
    labels: npt.ArrayLike | None = None,
    *,
    max_radius: RadiusLike,
    axes: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the share of graphs that are certified (and right, given labels) at every radius up to `max_radius`.

    Of a noise with more than two axes, `axes` names the two to draw, and `max_radius` is about these; as in all maps.
    """
    return RadiusMap.from_certificates(certificates, labels, max_radius=max_radius, axes=axes).plot(ax)


def slack_map(
    noise: Noise, max_radius: RadiusLike, *, axes: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Draws the slack of every radius up to `max_radius`, with the frontiers of unanimous votes."""
    return SlackMap.from_noise(noise, max_radius, axes=axes).plot(ax)


def verdict_map(
    certificate: Certificate,
    *,
    max_radius: RadiusLike | None = None,
    axes: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws what is known of one graph at every radius: certified by p_A, certified by evidence, open, or broken."""
    return VerdictMap.from_certificate(certificate, max_radius=max_radius, axes=axes).plot(ax)


def _draw_cells(ax: Axes, values: npt.NDArray[Any], axes: tuple[str, str], **look: Any) -> QuadMesh:  # noqa: ANN401
    """A cell for each radius, which is the middle of it; the first axis is the y axis."""
    make_room(ax)
    edges = (np.arange(size + 1) - 0.5 for size in reversed(values.shape))
    ax.set(xlabel=f"flips in {axes[1]}", ylabel=f"flips in {axes[0]}")
    image = ax.pcolormesh(*edges, values, rasterized=True, **look)
    whole_ticks(ax.xaxis, ax.yaxis)
    return image


@dataclass(frozen=True)
class RadiusMap:
    """Certified accuracy on two axes."""

    axes: tuple[str, str]  # their names
    share: npt.NDArray[np.float64]  # of graphs certified (and right, given labels), shape (first, second axis)
    majority_share: float | None  # the share of the most frequent class among the labels; None without labels
    anchored: bool  # whether any of the certificates is
    many: str = "graphs"  # what is certified, in the plural
    note: str = ""  # what the title says about other axes

    @classmethod
    def from_certificates(
        cls,
        certificates: Certificates,
        labels: npt.ArrayLike | None = None,
        *,
        max_radius: RadiusLike,
        axes: Sequence[str] | None = None,
        many: str = "graphs",
    ) -> RadiusMap:
        """Computes the map of all radii up to `max_radius`, on two axes; `many`: what the rows are."""
        plane = Plane.of(certificates.noise, axes)
        share = plane.cut(certified_share(certificates, labels, max_radius=plane.radius(max_radius)))
        majority = None if labels is None else majority_share(certificates.truth(labels))
        called = many if certificates.nodes is None else "nodes"
        return cls(plane.names, share, majority, any(certificates.anchored), called, plane.note)

    def plot(self, ax: Axes | None = None, *, bar: bool = True) -> Axes:
        """Draws it: one cell a radius, light where every graph is certified; `bar`: with the scale beside it."""
        ax = new_axes(ax)
        image = _draw_cells(ax, self.share, self.axes, cmap=SHADES, vmin=0, vmax=1, edgecolors="none")
        if bar:
            self.bar(image, [ax])
        ax.set_title(self.titled("Certified at each radius"))
        return ax

    def titled(self, title: str) -> str:
        """A title, which says so where regions are anchored, and which axes are at 0."""
        return with_notes(title, self.note, "anchored regions" if self.anchored else "")

    def bar(self, image: QuadMesh, axes: Sequence[Axes]) -> None:
        """Draws the scale beside one map or several, with a mark where a constant answer would be."""
        meaning = "certified" if self.majority_share is None else "right and certified"
        bar = axes[0].figure.colorbar(image, ax=list(axes), label=f"share of {self.many}\n{meaning}", pad=0.02)
        if self.majority_share is not None:
            bar.ax.axhline(self.majority_share, color=MAJORITY, lw=2)
            bar.ax.set_xlabel("― majority\nclass", color=MAJORITY, fontsize="x-small")  # a title may be above


@dataclass(frozen=True)
class VerdictMap:
    """The verdicts on one graph at each radius of two axes: certified by p_A, certified by evidence, open, or broken.

    A radius is broken if an attack within it is known.
    """

    axes: tuple[str, str]  # their names
    tones: npt.NDArray[np.int64]  # for each radius the number of its tone in `TONES`, shape (first, second axis)
    anchored: bool  # whether the certificate is
    note: str = ""  # what the title says about other axes

    @classmethod
    def from_certificate(
        cls, certificate: Certificate, *, max_radius: RadiusLike | None = None, axes: Sequence[str] | None = None
    ) -> VerdictMap:
        """Computes the map of all radii up to `max_radius`; by default one flip beyond all that is decided."""
        plane = Plane.of(certificate.noise, axes)
        frontiers = certificate.frontier_by_p_A, certificate.frontier
        counted, radii = (plane.project(open_ended(each.radii, certificate.capacity)) for each in frontiers)
        broken, limits = plane.inside(certificate.broken), [certificate.capacity, certificate.max_radius]
        ends = [plane.project([each])[0] for each in limits if each is not None]
        if max_radius is None:
            decided = [*plane.project(certificate.frontier.radii), *broken]
            furthest = (max((each[axis] for each in decided), default=0) + 1 for axis in range(2))
            box = [min(column) for column in zip(furthest, *ends, strict=True)]
        else:
            box = list(plane.project([plane.radius(max_radius)])[0])
        grid = [range(limit + 1) for limit in box]
        by_counts, by_any = (certified_counts({each: 1}, grid) > 0 for each in (counted, radii))
        if any(each.incomplete for each in frontiers):  # there may be more than the radii say
            for at in product(*grid):
                radius = plane.radius(at)
                by_any[at] |= certificate.certified(radius)
                by_counts[at] |= certificate.proves(in_box(radius, None, certificate.capacity))
        tones = np.where(by_counts, 0, np.where(by_any, 1, 2))
        for first, second in broken:
            tones[first:, second:] = 3
        return cls(plane.names, tones, bool(certificate.anchored), plane.note)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it: one cell a radius, in four tones, with a legend of those that are there."""
        ax = new_axes(ax)
        from matplotlib import colors, patches  # noqa: PLC0415  (only where something is drawn)

        tones = colors.ListedColormap(list(TONES.values()))
        _draw_cells(ax, self.tones, self.axes, cmap=tones, vmin=-0.5, vmax=3.5, edgecolors="white", lw=0.5)
        there = set(self.tones.ravel().tolist())
        shown = [
            patches.Patch(fc=colour, ec="#9AA4AE", lw=0.4, label=name)
            for number, (name, colour) in enumerate(TONES.items())
            if number in there
        ]
        ax.legend(handles=shown, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize="small")
        notes = "anchored regions" if self.anchored else "", self.note  # the legend stands where a title would
        ax.set_xlabel(with_notes(ax.get_xlabel(), *notes))
        return ax


@dataclass(frozen=True)
class SlackMap:
    """The slack of every radius on two axes, and the failure bounds of unanimous votes."""

    axes: tuple[str, str]  # their names
    slack: npt.NDArray[np.float64]  # shape (first axis, second axis)
    failures: dict[int, float]  # for each number of votes the bound on 1 − p_A if all of them agree
    alpha: float  # the failure probability of those bounds
    note: str = ""  # what the title says about other axes

    @classmethod
    def from_noise(
        cls,
        noise: Noise,
        max_radius: RadiusLike,
        *,
        axes: Sequence[str] | None = None,
        votes: Sequence[int] = (100, 1_000, 10_000, 100_000),
        alpha: float = 0.01,
    ) -> SlackMap:
        """Computes the map of a noise, on two axes.

        Example:
            >>> from starcert.objects.noise import Noise
            >>> SlackMap.from_noise(Noise(motif=0.02, random=0.45), (8, 45)).slack.shape
            (9, 46)
        """
        plane = Plane.of(noise, axes)
        bounds = clopper_pearson(Votes([[n, 0] for n in votes], selection=[[1, 0]] * len(votes)), alpha=alpha)
        failures = dict(zip(votes, bounds.failure.tolist(), strict=True))
        return cls(plane.names, plane.cut(slack_table(noise, plane.radius(max_radius))), failures, alpha, plane.note)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws it: dark where there is little slack; a line is the frontier of this many unanimous votes."""
        ax = new_axes(ax)
        from matplotlib import colors  # noqa: PLC0415  (only where something is drawn)

        shown = np.maximum(self.slack, self.slack[self.slack > 0].min())
        image = _draw_cells(ax, shown, self.axes, cmap=SHADES, norm=colors.LogNorm(), edgecolors="none")
        ax.figure.colorbar(image, ax=ax, label="slack: certified iff 1 − p_A is below")
        reaches = {n: tuple((self.slack > failure).sum(axis=1).tolist()) for n, failure in self.failures.items()}
        for whole in dict.fromkeys(reaches.values()):  # several numbers of votes may reach equally far
            reach = np.array([each for each in whole if each > 0])
            if not reach.size:
                continue
            alike = [n for n, each in reaches.items() if each == whole]
            named = f"{alike[0]:,} votes " if len(alike) == 1 else f"{alike[0]:,} to {alike[-1]:,} votes "
            x = np.append(np.repeat(reach, 2), 0) - 0.5
            y = np.append(np.repeat(np.arange(reach.size + 1), 2)[1:-1], reach.size) - 0.5
            ax.plot(x, y, color="white", lw=3, solid_joinstyle="miter")
            ax.plot(x, y, color="black", lw=1.4, solid_joinstyle="miter")
            # The label stands inside its line, in the highest row that is wide enough for it.
            row = max(np.flatnonzero(reach >= 0.3 * shown.shape[1]), default=0)
            at = (reach[row] - 0.5, row + 0.45)
            ax.annotate(named, at, ha="right", va="top", fontsize=8, fontweight="bold")
        ax.set_title(with_notes("What unanimous votes certify", f"alpha = {at_most(self.alpha)}", self.note))
        return ax


@dataclass(frozen=True)
class Plane:
    """The numbers of two axes of a noise: the first is the y axis of a map.

    Example:
        >>> plane = Plane.of(Noise(ring=0.02, rest=0.1, between=0.05), ("between", "ring"))
        >>> plane.names, plane.radius((2, 9)), plane.note
        (('between', 'ring'), (9, 0, 2), 'no flips in rest')
    """

    noise: Noise
    places: tuple[int, int]

    @classmethod
    def of(cls, noise: Noise, axes: Sequence[str] | None = None) -> Plane:
        """The plane of two axes by name; without names, that of a noise which has just two."""
        known = ", ".join(noise.axes)
        if axes is None:
            if len(noise.axes) == 2:
                return cls(noise, (0, 1))
            more = len(noise.axes) > 2
            hint = f"Choose two, the others stay at 0: axes={noise.axes[:2]!r}." if more else "Use accuracy_curves."
            raise InvalidParameterError("axes", f"be two of {known}" if more else "be two", f"{known} alone", hint)
        chosen = [axes] if isinstance(axes, str) else list(axes)
        for axis in chosen:
            if axis not in noise.axes:
                hint = did_you_mean(str(axis), noise.axes)
                raise InvalidParameterError("axes", f"be two of {known}", axis, hint)
        if len(chosen) != 2 or chosen[0] == chosen[1]:
            raise InvalidParameterError("axes", f"be two different ones of {known}", axes)
        return cls(noise, (noise.axes.index(chosen[0]), noise.axes.index(chosen[1])))

    @property
    def names(self) -> tuple[str, str]:
        """The names of both axes."""
        return self.noise.axes[self.places[0]], self.noise.axes[self.places[1]]

    @property
    def note(self) -> str:
        """The part of a title about all other axes; "" if there are none."""
        others = [axis for axis in self.noise.axes if axis not in self.names]
        shown = ", ".join(others) if len(others) <= 3 else f"{len(others)} other axes"
        return f"no flips in {shown}" if others else ""

    def radius(self, given: RadiusLike, parameter: str = "max_radius") -> tuple[int, ...]:
        """A radius on these axes, by name or in their order, with 0 on all others."""
        pair = dict(given) if isinstance(given, Mapping) else given
        if not isinstance(pair, dict):
            counts = list(pair) if isinstance(pair, Sequence) else [pair, pair]
            if len(counts) != 2:
                raise InvalidParameterError(parameter, f"have two counts, of {' and '.join(self.names)}", given)
            pair = dict(zip(self.names, counts, strict=True))
        for axis in pair:
            if axis not in self.names:
                raise InvalidParameterError(parameter, f"be about {' and '.join(self.names)}, which are drawn", axis)
        return self.noise.radius(dict.fromkeys(self.noise.axes, 0) | pair, parameter)

    def cut(self, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A table with a dimension for each axis, at 0 of all others, in the order of these two."""
        here = tuple(slice(None) if place in self.places else 0 for place in range(table.ndim))
        return table[here] if self.places[0] < self.places[1] else table[here].T

    def project(self, radii: Sequence[Sequence[Any]]) -> tuple[tuple[Any, Any], ...]:
        """The part of this plane that radii cover: all of it up to their counts on both axes."""
        return tuple((radius[self.places[0]], radius[self.places[1]]) for radius in radii)

    def inside(self, levels: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """The levels that lie in this plane: without flips on other axes."""
        others = [place for place in range(len(self.noise.axes)) if place not in self.places]
        return list(self.project([level for level in levels if not any(np.array(level)[others])]))
