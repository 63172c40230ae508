"""A study for each kind of data."""
