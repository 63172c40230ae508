"""Proofs that repeat none of the engine's: what it certified is proved a second time, another way.

`arithmetic` proves bounds and frontiers from the counts of votes, `evidence` proves levels from single votes. Both
import arithmetic and theorems from `starcert.math`, and nothing that chooses, draws or certifies: λ and the stakes of a
bet, which may be anything that was chosen in advance, are handed in.
"""
