"""From votes to certificates: bounds, evidence, metrics, and the smoothed classifier."""
