"""The studies of the paper."""
