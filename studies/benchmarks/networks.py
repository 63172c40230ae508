"""Networks for `models` in the files of settings here: functions of the numbers of features and classes."""

from __future__ import annotations

from torch import nn

from starcert.models import GCN, GIN


def deep(columns: int, n_classes: int, *, hidden: int, layers: int) -> nn.Module:
    """A GIN with one layer more, as in the fair comparison of graph classifiers."""
    return GIN(columns, n_classes, hidden=hidden, layers=layers + 1)


def paper(columns: int, n_classes: int, *, hidden: int, layers: int) -> nn.Module:
    """The paper's network on MUTAG: a GCN with max pooling, whose size is its own."""
    return GCN(columns, n_classes, pooling="max")
