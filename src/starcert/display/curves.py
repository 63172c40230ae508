"""Curves of certified accuracy: the share of graphs that are right and certified, over the number of flips."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starcert.claims.certificates import Certificates
from starcert.claims.outcomes import Labels, Outcomes, majority_share
from starcert.display.drawing import DASHES, MAJORITY, colour_of, make_room, new_axes, whole_ticks, with_notes
from starcert.objects.threats import AnyFlips
from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ANYWHERE = "anywhere"  # the curve of flips wherever they are
MARKERS = "os^Dvp*X"
MAX_CURVES = 5  # drawn unless they are chosen


def accuracy_curves(
    certificates: Certificates,
    labels: Labels | None = None,
    *,
    axes: Sequence[str] | None = None,
    max_flips: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the share of graphs that are certified (and right, given labels) over the number of flips.

    One curve is of flips wherever they are ("anywhere"), one each of flips on one axis alone; `axes` chooses some.
    With evidence, what p_A certifies alone is drawn pale.
    """
    return AccuracyCurves.from_certificates(certificates, labels, axes=axes, max_flips=max_flips).plot(ax)


@dataclass(frozen=True)
class AccuracyCurves:
    """Certified accuracy at 0, 1, 2, … flips; NaN where no graph has that many sites, or 0 would mean nothing."""

    shares: Mapping[str, tuple[float, ...]]  # by curve
    by_p_A: Mapping[str, tuple[float, ...]]  # noqa: N815  (the paper's p_A; the same without evidence, or nothing)
    majority_share: float | None  # None without labels
    anchored: bool
    many: str = "graphs"

    @classmethod
    def from_certificates(
        cls,
        certificates: Certificates,
        labels: Labels | None = None,
        *,
        axes: Sequence[str] | None = None,
        max_flips: int | None = None,
    ) -> AccuracyCurves:
        """Computes the curves.

        Args:
            certificates: the certificates.
            labels: the true classes.
            axes: axes of the noise, and "anywhere"; by default the latter, and each axis if there are at most four.
            max_flips: the end of the curves; by default one flip beyond all that is certified, at most 50.

        Example:
            >>> import starcert as sc
            >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2), capacity=[(9,), (9,)])
            >>> AccuracyCurves.from_certificates(found, [0, 1]).shares
            {'anywhere': (0.5, 0.5, 0.0), 'all': (0.5, 0.5, 0.0)}
        """
        known = {ANYWHERE: None, **dict.fromkeys(certificates.noise.axes)}
        chosen = [axes] if isinstance(axes, str) else list(known if axes is None else axes)
        for axis in chosen:
            if axis not in known:
                hint = did_you_mean(str(axis), known)
                raise InvalidParameterError("axes", f"be some of {', '.join(known)}", axis, hint)
        if axes is None and len(chosen) > MAX_CURVES:
            chosen = [ANYWHERE]
        if ANYWHERE in chosen and any(each is None for each in certificates.capacity):
            chosen.remove(ANYWHERE)  # how many sites there are is not known
        if not chosen:
            raise InvalidParameterError("axes", f"be some of {', '.join(certificates.noise.axes)}", axes)
        reach = max((max(radius) for each in certificates.frontiers() for radius in each.radii), default=0)
        most = min(reach + 1, 50) if max_flips is None else whole_number("max_flips", max_flips, 1, 10_000)
        evidence = certificates.verdicts is not None and certificates.asked is None
        shares, alone = (
            _trimmed(_shares(each, labels, chosen, most), full=max_flips is not None)
            for each in (certificates, certificates.by_p_A)
        )
        truth = () if labels is None else certificates.truth(labels).tolist()
        classes = [label for label in truth if label is not None]
        many = f"{certificates.kind.word}s" if certificates.nodes is None else "nodes"
        majority = majority_share(classes) if classes else None
        return cls(shares, alone if evidence else {}, majority, any(certificates.anchored), many)

    def plot(self, ax: Axes | None = None, *, name: str = "") -> Axes:
        """Draws them, with a point at each number of flips; `name` distinguishes several results on the same axes."""
        ax = new_axes(ax)
        make_room(ax)
        first = len(ax.get_lines())
        for number, (curve, shares) in enumerate(self.shares.items()):
            place = first + number
            look: Any = {"color": colour_of(place), "marker": MARKERS[place % len(MARKERS)]}
            called = "flips anywhere" if curve == ANYWHERE else f"flips in {curve}"
            # Later curves are thinner, so that one which lies on another leaves it to be seen.
            width, dashes = max(1.0, 3.2 - 0.6 * number), DASHES[number % len(DASHES)]
            if alone := self.by_p_A.get(curve):
                ax.plot(range(len(alone)), alone, alpha=0.4, lw=1, ms=3, **look)
            label = f"{name}: {called}" if name else called
            ax.plot(range(len(shares)), shares, ls=dashes, lw=width, ms=7 - number % 4, label=label, **look)
        if self.by_p_A:
            ax.plot([], [], color="grey", alpha=0.6, lw=1, marker="o", ms=3, label="pale: by p_A alone")
        if self.majority_share is not None and not any(line.get_gid() == "majority" for line in ax.get_lines()):
            line = ax.axhline(self.majority_share, color=MAJORITY, lw=1, ls=":", label="majority class")
            line.set_gid("majority")
        meaning = "certified" if self.majority_share is None else "right and certified"
        ax.set(xlabel="number of flips", ylabel=f"share of {self.many}\n{meaning}", ylim=(-0.03, 1.03))
        ax.set_title(with_notes("Certified accuracy", "anchored regions" if self.anchored else ""))
        ax.legend(framealpha=0.6, edgecolor="none", fontsize="small")
        whole_ticks(ax.xaxis)
        return ax


def _shares(
    certificates: Certificates, labels: Labels | None, chosen: Sequence[str], most: int
) -> dict[str, list[float]]:
    """For each curve the shares at 0, 1, …, of the graphs that can be attacked so."""
    tables: dict[str, Outcomes] = certificates.by_axis(most)
    if ANYWHERE in chosen:
        tables[ANYWHERE] = certificates.outcomes(AnyFlips(most))
    truth = None if labels is None else certificates.truth(labels).tolist()
    counts = {curve: [tables[curve].counts_at(size, truth) for size in range(most + 1)] for curve in chosen}
    return {
        curve: [math.nan if (share := each.share(each.n_certified)) is None else share for each in found]
        for curve, found in counts.items()
    }


def _trimmed(shares: Mapping[str, list[float]], *, full: bool) -> dict[str, tuple[float, ...]]:
    """The curves up to the first number of flips at which all of them are at 0, or end."""
    ends = [next((k for k, share in enumerate(each) if not share > 0), len(each) - 1) for each in shares.values()]
    last = max(map(len, shares.values())) if full else max(ends) + 1
    return {curve: tuple(each[: max(last, 2)]) for curve, each in shares.items()}
