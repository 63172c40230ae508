"""Methods side by side: the same folds, the same number of tries, and a model that sees no edge beside them all."""
