"""Kinds: what is certified, with all that only it knows: its words, regions, conversions, views, names and drawings.

A kind is an instance of a subclass of `Kind`, and the attribute `kind` of its objects. All others ask the kind instead
of looking at the class of an object, so a new kind is an object (`CleanObject`), its kind, and no change elsewhere.

A kind also knows what attacks leave alone (`Untouched`): all that a *blind* model, which no attack can mislead, may
look at. Attacks change sites: those in a region with an axis, of layers that fit the threat. All other sites are fixed.
Where regions are anchored, which sites are fixed says something about the clean values, and none is shown.

    graphs (`graph_kind.GraphKind`): undirected, typed or directed, perhaps with sites on their nodes
    rows (`vectors.RowKind`): bits and categories
    cells of a table and words of a text (`cells.CellKind`)
    other objects (`Kind` itself)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects.layers import CleanObject, Coordinates, Indices, Layer, Numbered, Region
from starcert.objects.noise import Noise
from starcert.objects.rule import stated_by_author
from starcert.objects.sites import Sites
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects.threats import Threat

Mask: TypeAlias = npt.NDArray[np.bool_]
MAX_SHOWN_SITES = 4096  # of larger layers no fixed site is shown


@dataclass(frozen=True)
class Untouched:
    """The part of an object that is the same in all that a threat makes of it.

    Attributes:
        values: values of the whole, by name; a category is text.
        parts: data of its parts, by name: an entry, or a row of numbers, for each.
        n_parts: how many parts there are, such as nodes.
        part: what a part is called.
        links: pairs of parts, shape (links, 2).
        parts_stay: whether no part comes or goes. Where some may, just the data of one part by itself are untouched:
            their number, sums and means are not, nor are the values and the links.
    """

    values: Mapping[str, float | str] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    n_parts: int = 0
    part: str = "part"
    links: Indices = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    parts_stay: bool = True


class Kind:
    """A kind of object. As it is, it serves any object with layers; subclasses say more.

    Attributes:
        word: what one object is called.
        site_words: by layer, what a site is called.
        has_nodes: whether the objects are starcert Graphs, with nodes that a `Partition` divides.
        view: the subclass of `starcert.sampling.batch.NoisyVectors` that classifiers see; None for that class itself.
        of_objects: whether copies are whole objects, which a base classifier is asked about one by one.
        batch_size: the most copies that an estimator that `fit` trains sees at once; None: as many as any other.

    Example:
        >>> from starcert.objects import Bits, Graph
        >>> kind_of(Graph(2, []), Graph(3, [])).word, kind_of(Bits([0, 1])).word, kind_of().word
        ('graph', 'row', 'object')
    """

    word: ClassVar[str] = "object"
    site_words: ClassVar[Mapping[str, str]] = {}
    has_nodes: ClassVar[bool] = False
    view: ClassVar[Any] = None
    batch_size: ClassVar[int | None] = None
    of_objects: ClassVar[bool] = False

    @property
    def checked(self) -> bool:
        """True if its objects check themselves: those of starcert's own kinds do, those of kinds derived may not."""
        return type(self).__module__.startswith("starcert.objects.")

    def convert(self, given: Any) -> CleanObject | None:  # noqa: ANN401  (whatever a user has)
        """The object that something else stands for, such as a graph of networkx; None if it stands for none."""
        return None

    def convert_all(self, given: Any) -> list[CleanObject] | None:  # noqa: ANN401  (whatever a user has)
        """The objects that something stands for as a whole, such as a data frame; None if it stands for none."""
        return None

    def read(self, path: Path) -> tuple[Sequence[CleanObject], Sequence[object] | None, Sequence[str] | None]:
        """The objects in a file, their classes and their names, as far as it has such."""
        hint = "Let data be file.py:function, which returns them."
        raise InvalidParameterError("kind", "be one that reads files", type(self).__name__, hint)

    def sites(self, clean: CleanObject, regions: Any) -> Sites:  # noqa: ANN401  (`binding.Regions`)
        """The sites of an object. Regions are layers by name, numbers of sites in the first layer, or a function.

        What a function returns is anchored, as it may have read the object's values, unless it has the attribute
        `anchored = False`.
        """
        if isinstance(regions, Mapping):
            blocks = [self._region(clean, where, f"regions[{name}]") for name, where in regions.items()]
            return Sites(clean, tuple(regions), tuple(blocks))
        found = regions(clean) if callable(regions) else None
        if isinstance(found, Mapping):
            found = self.sites(clean, found)
        if not isinstance(found, Sites) or found.clean is not clean:
            wanted = f"map each region to sites of each {self.word}, or be a function that does"
            raise InvalidParameterError("regions", wanted, regions if found is None else found)
        return found if found.anchored or stated_by_author(regions) is False else found.mark_anchored(READS_VALUES)

    def _region(self, clean: CleanObject, where: Any, name: str) -> Region:  # noqa: ANN401  (what a user wrote)
        layers = {layer.name: layer for layer in clean.layers}
        if isinstance(where, str) and where in layers:
            return layers[where].everything()
        return Numbered(clean.layers[0], self.numbers(clean, where, name))

    def numbers(self, clean: CleanObject, listed: Iterable[Any], name: str) -> Any:  # noqa: ANN401  (indices)
        """The numbers of some sites of the first layer, ascending; errors call them `name`."""
        numbers = np.array(list(listed) if isinstance(listed, Iterable) else listed)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            names = ", ".join(layer.name for layer in clean.layers)
            raise InvalidParameterError(name, f"be a layer ({names}) or a list of numbers of sites", listed)
        return np.sort(numbers.astype(np.int64))

    def check(self, clean: CleanObject) -> None:
        """Refuses an object whose key is not hexadecimal, or whose values are not those of different sites."""
        wanted, hint = "have a key of hexadecimal digits", f"See {type(clean).__name__}."
        if not re.fullmatch("[0-9a-f]+", str(clean.key)):
            raise InvalidParameterError(self.word, wanted, clean.key, hint)
        for layer in clean.layers:
            try:
                coordinates, values = clean.nonzero(layer.name)
                numbers = layer.numbers(*coordinates)
            except Exception as error:
                wanted = f"say which values of {layer.name} are not 0"
                raise InvalidParameterError(self.word, wanted, f"{type(error).__name__}: {error}", hint) from error
            fine = len(numbers) == len(values) == len(np.unique(numbers))
            fine = fine and not ((numbers < 0) | (numbers >= layer.size)).any()
            if not fine or not ((values > 0) & (values < layer.alphabet)).all():
                wanted = f"have values from 1 to {layer.alphabet - 1} at different sites below {layer.size}"
                got = f"{np.asarray(values).tolist()[:8]} at {np.asarray(numbers).tolist()[:8]} in {layer.name}"
                raise InvalidParameterError(self.word, wanted, got, hint)

    def unattacked(self, sites: Sites, noise: Noise) -> Iterable[str]:
        """Sentences about what noise changes and attacks do not: it anchors the sites."""
        return ()

    def untouched(self, sites: Sites, noise: Noise | None = None, threat: Threat | None = None) -> Untouched:
        """The part that no attack changes: here the values of fixed sites. Without a noise, all regions are attacked.

        A model that looks at nothing else is certified against every attack (`starcert.baselines.blind`), so this must
        be the same for an object and for all that attacks make of it.
        """
        return Untouched(fixed_values(sites, attacked_blocks(sites, noise, threat)))

    def with_values(self, sites: Sites, values: Any, *, typed: bool = True) -> CleanObject:  # noqa: ANN401  (an array)
        """The object that has these values at its sites, without data that describe the clean one.

        If it is not `typed`, edges have no types, and their values are 1.
        """
        raise InvalidParameterError("graphs", "be of a kind that knows attacked objects", type(sites.clean).__name__)

    def as_rows(self, objects: Sequence[CleanObject]) -> Any:  # noqa: ANN401  (what estimators take)
        """The objects as an estimator of scikit-learn takes them."""
        return objects

    def as_copies(self, clean: CleanObject, values: npt.NDArray[np.uint8], *, estimator: bool = False) -> Any:  # noqa: ANN401
        """Noisy copies with these values, shape (copies, sites), as a function of rows or as an estimator sees them."""
        return values.astype(np.int64)  # signed and wide: 2·x − 1 is −1 where x is 0

    def training_rows(
        self, objects: Sequence[CleanObject], sites_of: Callable[[CleanObject], Sites], noise: Noise, seed: int
    ) -> tuple[Any, int]:
        """The rows on which an estimator is trained, and their number for each object, one after the other."""
        return self.as_rows(objects), 1

    def describe(self, clean: CleanObject) -> str:
        """The size of an object in words."""
        return ", ".join(f"{layer.size:,} {layer.name}" for layer in clean.layers)

    def short(self, clean: CleanObject) -> str:
        """An object on one line, beside others of its sort."""
        return repr(clean)

    def explain(self, clean: CleanObject) -> str:
        """A sentence about what an object holds, for someone whose model cannot answer it."""
        return f"It is {clean!r}."

    def site_name(self, clean: CleanObject, layer: Layer, place: Sequence[int], value: int | None) -> str:
        """The change of a site, by its coordinates and its new value: None where there are but two, and it flips."""
        name = f"{layer.name} {', '.join(map(str, place))}"
        return f"{name} flipped" if value is None else f"{name}: now {value}"

    def site_noun(self, clean: CleanObject, layer: Layer) -> str:
        """The word for one site of a layer, as in "1 bond deleted"; its plural ends in s."""
        return self.site_words.get(layer.name, "site")

    def drawing(self, clean: CleanObject) -> dict[str, Any] | str | None:
        """The drawing of an object on a page: an SVG, or parts of a graph for `drawing.js`; None: nothing is drawn."""
        return None


OBJECTS = Kind()
READS_VALUES = "The function for the regions may have read the values of the clean object."


def kind_of(*objects: CleanObject) -> Kind:
    """The kind that all these objects have; if they have several or none, that of any objects."""
    kinds: set[Kind] = {getattr(each, "kind", OBJECTS) for each in objects}
    return kinds.pop() if len(kinds) == 1 else OBJECTS


def attacked_blocks(sites: Sites, noise: Noise | None, threat: Threat | None) -> list[Region]:
    """The regions that a threat can change: those with an axis; of a threat that lists its attacks, where it fits."""
    listed = threat is not None and not threat.by_radius
    return [
        block
        for region, block, layer in zip(sites.regions, sites.blocks, sites.layers, strict=True)
        if (noise is None or noise[region].suffixes) and not (listed and not threat.fits(layer))  # type: ignore[union-attr]
    ]


def fixed_at(sites: Sites, blocks: Sequence[Region], layer: Layer, coordinates: Coordinates) -> Mask:
    """A truth value for each of some sites of a layer: it lies in none of these regions, and these are not anchored."""
    fixed = np.full(len(coordinates[0]), not sites.anchored)
    for block in blocks:
        if block.layer == layer.name:
            fixed &= block.locate(*coordinates) < 0
    return fixed


def fixed_columns(sites: Sites, blocks: Sequence[Region], layer: Layer) -> Mask:
    """A truth value for each column of a layer of nodes and columns: none of its sites is in any of these regions."""
    here = [block for block in blocks if block.layer == layer.name and block.size]
    fixed = np.full(layer.ranges[-1][1], not sites.anchored and sum(block.size for block in here) < layer.size)
    for block in here if fixed.any() else ():
        fixed[np.unique(block.coordinates(np.arange(block.size))[-1])] = False
    return fixed


def fixed_values(sites: Sites, blocks: Sequence[Region]) -> dict[str, float | str]:
    """The values of all fixed sites, by layer and number; those with more than two values are categories."""
    found: dict[str, float | str] = {}
    for layer in sites.clean.layers:
        if layer.size > MAX_SHOWN_SITES:
            continue
        values = np.zeros(layer.size, dtype=np.int64)
        coordinates, others = sites.clean.nonzero(layer.name)
        values[layer.numbers(*coordinates)] = others
        fixed = np.flatnonzero(fixed_at(sites, blocks, layer, layer.coordinates(np.arange(layer.size))))
        for number, value in zip(fixed.tolist(), values[fixed].tolist(), strict=True):
            found[f"{layer.name} {number}"] = str(value) if layer.alphabet > 2 else value
    return found
