"""Threats: what an attacker can do, as objects that list, count, reverse and describe their attacks.

    any sites      `AnyFlips` (of rows `AnyColumns`, of texts `AnyWords`), `Box` (by axis), `Deletions`, `Additions`,
                   `Changes` (values, types)
    some pairs     `Controlled` (by node), `Where` (by the frame), `LocalBudget` (by node and in all), `Valence`
    edges          `Rewire` (another end), `Swap` (two exchange ends)
    nodes          `DeleteNode`, `InjectNode`
    other objects  `Variants` (by a function, such as `tautomers`)
    combinations   `a | b` either, `a & b` both, `a + b` one after the other

Certificates look at the radii of `AnyFlips` and `Box`, and at the lists of attacks of all others. `read_threat` makes a
threat of its text: "rewire:1", "box:3,45 & flips:2". A threat of your own is a subclass of `Threat`, see there.
"""

from starcert.objects.threats.attacks import MAX_ATTACKS, Attacks, UnfitError, after, attackable
from starcert.objects.threats.base import Both, Either, Then, Threat
from starcert.objects.threats.edges import Controlled, LocalBudget, Rewire, Swap, Where
from starcert.objects.threats.flips import Additions, AnyColumns, AnyFlips, AnyWords, Box, Changes, Deletions
from starcert.objects.threats.nodes import DeleteNode, InjectNode, injected_nodes, with_spare_nodes
from starcert.objects.threats.text import THREATS, read_threat, threat_of
from starcert.objects.threats.valence import Valence
from starcert.objects.threats.variants import Variants, tautomers
from starcert.objects.vectors import Alternatives

__all__ = ["MAX_ATTACKS", "THREATS", "Additions", "Alternatives", "AnyColumns", "AnyFlips", "AnyWords", "Attacks",
           "Both", "Box", "Changes", "Controlled", "DeleteNode", "Deletions", "Either", "InjectNode", "LocalBudget",
           "Rewire", "Swap", "Then", "Threat", "UnfitError", "Valence", "Variants", "Where", "after", "attackable",
           "injected_nodes", "read_threat", "tautomers", "threat_of", "with_spare_nodes"]  # fmt: skip
