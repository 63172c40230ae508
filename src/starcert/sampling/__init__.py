"""Sampling: streams of random words, exact flips, and batches of noisy graphs."""
