"""The networks: what they refuse."""

import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

pytest.importorskip("torch_geometric")
gcn = pytest.importorskip("starcert.models.networks")


@pytest.mark.parametrize("arguments", [{"hidden": 0}, {"layers": 0}, {"conv": "gat"}, {"pooling": "min"}])
def test_bad_settings_are_refused(arguments):
    with pytest.raises(InvalidParameterError, match=next(iter(arguments))):
        gcn.GCN(4, 2, **arguments)


def test_bad_sizes_of_models_are_refused():
    with pytest.raises(InvalidParameterError, match="'hidden'"):
        sc.models.NodeGCN(3, 2, hidden=0)
    with pytest.raises(InvalidParameterError, match="'layers'"):
        sc.models.GIN(3, 2, layers=0)
    with pytest.raises(InvalidParameterError, match="'edge_channels'"):
        sc.models.GINE(3, 0, 2)
