"""Evidence: certificates from where the flips fell, and attacks that break what cannot be certified."""

from starcert.evidence.own_votes import OwnVotes
from starcert.evidence.undefended import undefended
from starcert.evidence.verdicts import FoundAttack, Verdict, Verdicts, judge

__all__ = ["FoundAttack", "OwnVotes", "Verdict", "Verdicts", "judge", "undefended"]
