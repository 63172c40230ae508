"""Evidence: certificates from where the flips fell, and attacks that break what cannot be certified."""

from starcert.certificates.evidence.own_votes import AttackVotes, OwnTally, OwnVotes, RecordedVotes
from starcert.certificates.evidence.undefended import undefended
from starcert.certificates.evidence.verdicts import FoundAttack, Grounds, Verdict, Verdicts, judge

__all__ = [
    "AttackVotes",
    "FoundAttack",
    "Grounds",
    "OwnTally",
    "OwnVotes",
    "RecordedVotes",
    "Verdict",
    "Verdicts",
    "judge",
    "undefended",
]
