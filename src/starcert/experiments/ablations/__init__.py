"""The paper's appendix: the number of votes, and the base classifier."""
