"""Other objects that an object may be instead: tautomers, synonyms, other units, protected columns swapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from typing_extensions import override

from starcert.objects.graph import Graph
from starcert.objects.layers import CleanObject
from starcert.objects.molecules import load_rdkit, molecule_of
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import Attacks, UnfitError
from starcert.objects.threats.base import Find, Threat
from starcert.objects.vectors import Alternatives, Choice, choices
from starcert.system.errors import InvalidParameterError


@dataclass(frozen=True)
class Variants(Threat):
    """An attacker who replaces the object by one that a function lists; in text `variants:rules.py:synonyms`.

    `variants:tautomers` is of RDKit's tautomers. The function gets an object and returns others, perhaps as
    `Alternatives`, which say why there may be more. The list is anchored at the clean object, unless it is an
    equivalence class: then all of it lists the same.

    Args:
        function: from an object to others.
        equivalence: whether the function lists the same objects for each of them.
        name: what text calls it, by default the function's own name.

    Example:
        >>> import starcert as sc
        >>> words = sc.classifiers.from_callable(lambda texts: [int("free" in each) for each in texts], on="vectors")
        >>> cased = Variants(lambda text: [sc.Tokens(word.lower() for word in text.contents)], equivalence=True)
        >>> found = sc.ExactClassifier(words).certify(["FREE money", "a report"], threat=cased)
        >>> [one.verdict() for one in found], found[0].attack().words
        (['broken', 'certified'], "variant 1: Tokens('free money')")
    """

    function: Callable[[Any], Iterable[Any]]
    equivalence: bool = False
    name: str = ""
    most = 1
    word = "variants"
    unit = "variant"
    by_reference = True

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidParameterError("function", "be a function from an object to others", self.function)
        object.__setattr__(self, "name", self.name or getattr(self.function, "__name__", "function"))

    @override
    def label_of(self, size: int) -> str:
        return f"any variant of {self.name.rpartition(':')[2]}"

    @classmethod
    @override
    def read(cls, numbers: Sequence[int], options: Mapping[str, Any], find: Find) -> Self:
        name = str(options["name"])
        function: Any = tautomers if name == tautomers.__name__ else find(name)
        return cls(function, bool(getattr(function, "equivalence", False)), name)

    @override
    def prepared(self, objects: Sequence[CleanObject]) -> list[CleanObject]:
        return choices(objects, self.function)

    @override
    def check(self, sites: Sites) -> None:
        if not isinstance(sites.clean, Choice):
            hint = "ExactClassifier.certify and SmoothedClassifier.certify take them."
            raise UnfitError("threat", "be asked about objects, not about sites", str(self), hint)

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        self.check(sites)
        options = range(1, len(sites.clean.options)) if size == 1 else ()  # type: ignore[attr-defined]  # checked
        return Attacks.from_lists([((0, value),) for value in options])

    @property
    @override
    def reverse(self) -> Threat | None:
        return self if self.equivalence else None

    def __str__(self) -> str:
        return f"variants:{self.name}"


def tautomers(molecule: Graph) -> Alternatives:
    """The tautomers of a molecule of `Graph.from_smiles`, by RDKit's enumerator, without itself.

    Another tautomer may list others: a certificate is anchored at this one.

    Example:
        >>> [each.n_nodes for each in tautomers(Graph.from_smiles("CC(=O)C", bond_types=True))]
        [4]
    """
    standard, chem = load_rdkit("Chem.MolStandardize.rdMolStandardize"), load_rdkit("Chem")
    with load_rdkit("rdBase").BlockLogs():
        given = molecule_of(molecule, None, None)
        found = standard.TautomerEnumerator().Enumerate(given)
    own, typed = chem.MolToSmiles(given), bool(molecule.type_names)
    others = [Graph.from_smiles(smiles, bond_types=typed) for smiles in found.smiles if smiles != own]
    cut = "" if found.status.name == "Completed" else f"RDKit's list of tautomers was cut short ({found.status.name})."
    return Alternatives(others, cut=cut)
