"""The networks: what they refuse, and their weights in a file."""

import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
gcn = pytest.importorskip("starcert.models.networks")
torch_worlds = pytest.importorskip("torch_worlds")


def test_weights_are_saved_and_loaded_without_running_anything(tmp_path):
    net = gcn.GCN(4, 3, layers=2, conv="gin", pooling="sum").eval()
    net.save(tmp_path / "net.pt")
    again = gcn.GCN.load(tmp_path / "net.pt").eval()
    graph = torch_worlds.molecules(1)[0]
    x, edges = torch.as_tensor(np.array(graph.node_data["x"])), torch.as_tensor(graph.edges.T.copy())
    owner = torch.zeros(graph.n_nodes, dtype=torch.int64)
    assert torch.equal(net(x, edges, owner), again(x, edges, owner))

    class Hostile:
        def __reduce__(self):
            return print, ("this must never be printed",)

    torch.save({"settings": net.settings, "weights": net.state_dict()}, tmp_path / "first.pt")  # the form it had first
    assert torch.equal(gcn.GCN.load(tmp_path / "first.pt")(x, edges, owner), again(x, edges, owner))
    torch.save(net.state_dict(), tmp_path / "plain.pt")
    with pytest.raises(InvalidParameterError, match=r"a file that GCN.save wrote.*load_weights"):
        gcn.GCN.load(tmp_path / "plain.pt")
    torch.save({"settings": Hostile(), "weights": {}}, tmp_path / "hostile.pt")
    with pytest.raises(Exception, match=r"[Ww]eights"):
        gcn.GCN.load(tmp_path / "hostile.pt")


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
