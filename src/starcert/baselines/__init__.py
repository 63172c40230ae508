"""Models to compare certificates with: `blind`, which sees nothing that an attack can change (extra `kernels`)."""

from starcert.baselines.blind_model import BlindModel, Candidate, blind

__all__ = ["BlindModel", "Candidate", "blind"]
