"""Votes: chunks of noisy copies, drawn, asked about, counted and kept."""
