"""The settings of what a run reads: its model, its data, and which of them are certified."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct
from msgspec.structs import replace

from starcert.classifiers.values import ValueRange
from starcert.runs.setting_values import (
    FRACTIONS_HINT,
    TABLE,
    Columns,
    Form,
    RunSetting,
    Seed,
    Shares,
    Values,
    as_alphabets,
    as_data,
    as_fractions,
    as_kind,
    as_regions,
    as_seed,
    as_splits,
    parse_alphabets,
    parse_columns,
    parse_fractions,
    parse_node_sites,
    parse_outputs,
    parse_spare_node,
)
from starcert.runs.user_code import Reference, place_of
from starcert.system.errors import InvalidParameterError

MAX_SAMPLES = 10**10  # for each graph: an archive keeps no more (`starcert.archive.record.MAX_VOTES`)

# What is made anew where an option changes it: a model may be trained on the data, and regions derived from the model.
_DATA, _MODEL = ("data", "classifier", "regions"), ("classifier", "regions")


class InputSettings(Struct, frozen=True, kw_only=True):
    """The inputs of a run. Paths are absolute."""

    model: Annotated[Reference, RunSetting(
        "A function that returns a starcert classifier, a PyG module (its forward gets x, edge_index, edge_attr, "
        "batch or data by their names), a fitted scikit-learn estimator on graphs, or a function from a networkx "
        "graph to its class. It may have the parameters device, data, train and validation (these parts, under "
        "--split), noise and regions (to train with them).",
        form=str, read=Reference.parse, metavar="FILE.PY:NAME", example="model.py:classifier",
        brief="A function that returns a classifier, PyG module or scikit-learn estimator.",
        main=True, in_training=True, unsettles=("model", *_MODEL),
    )]  # fmt: skip
    weights: Annotated[Path | None, RunSetting(
        "The file of the module's weights, such as model.pt: from starcert train, or a state dict from torch.save.",
        form=str, read=place_of, metavar="FILE", shown="as the model function returns it",
        brief="The file of the module's weights, from starcert train or torch.save.",
        main=True, in_training=True, changes="nothing", unsettles=_MODEL, recorded=False,
    )] = None  # fmt: skip
    data: Annotated[Path | str | Reference, RunSetting(
        "The graphs: the name of a TU data set (MUTAG) or its folder; a folder of GraphML files or edge lists, "
        "with the classes in labels.csv (columns name, label); a PyG file of tensors (data.pt); "
        "molecules (a file .smi, or .csv with a column smiles); one graph of labelled nodes (.npz); or "
        "file.py:function, which returns starcert objects of any kind and their classes.",
        form=str, read=as_data, metavar="NAME|PATH", example="MUTAG",
        brief="The graphs: a TU data set, a file, a folder, or a function (starcert list data).",
        main=True, in_training=True, changes="nothing", unsettles=_DATA,
    )]  # fmt: skip
    kind: Annotated[Reference | str | None, RunSetting(
        "How the data are read, if the file's name does not tell: table for a .csv file of categories, "
        "or a kind of your own as FILE.PY:NAME or MODULE:NAME.",
        form=str, read=as_kind, metavar="table|FILE.PY:NAME|MODULE:NAME", shown="by the file's name",
        in_training=True, changes="nothing", recorded=False,
    )] = None  # fmt: skip
    columns: Annotated[dict[str, str] | None, RunSetting(
        "Which columns of a .csv file, or of labels.csv, hold what, where they are not called smiles, label and name: "
        "smiles=SMILES,label=activity,name=mol_id. part=COLUMN says train, validation or test; skip=A/B leaves columns "
        "of a table out. label also names classes in a PyG file (target, or y:3, a column of y) and of nodes (club).",
        form=Columns, parse=parse_columns, metavar="WHAT=COLUMN,…", shown="smiles, label, name",
        hint='Write a table: [columns], and below it a line such as label = "activity".',
        in_training=True, changes="nothing", unsettles=_DATA, recorded=False,
    )] = None  # fmt: skip
    edge_types: Annotated[str | None, RunSetting(
        "The edge attribute that is the type of an edge, which noise may change and a module gets as edge_attr: "
        "bond in molecules (single, double, triple, aromatic), edge_labels in TU data, otherwise the attribute's "
        "name, such as edge_attr in a PyG file.",
        metavar="NAME", shown="edges have no types", in_training=True, changes="nothing", unsettles=_DATA,
    )] = None  # fmt: skip
    split: Annotated[Literal["all", "train", "validation", "test"], RunSetting(
        "The part to certify: all, or train, validation or test (--splits, --fractions, or 80/10/10% of every class).",
        metavar="PART",
        brief="The part to certify: all, train, validation or test.",
        main=True, of_sweeps=True, unsettles=_DATA,
        sweep_help="The part to try the levels on: all, train or validation.",
        sweep_shown="validation if the run file divides the data or the model asks for a part, else all",
    )] = "all"  # fmt: skip
    split_seed: Annotated[int, RunSetting(
        "The seed of that division.", form=Seed, read=as_seed, in_training=True, unsettles=_DATA
    )] = 0  # fmt: skip
    splits: Annotated[Path | None, RunSetting(
        'Your own parts for --split: {"train": [0, 1], "validation": [2], "test": [3]} in a file .json, indices '
        "from 0 or names of graphs; or a file .csv with the columns name and part.",
        form=str, read=as_splits, metavar="FILE", shown="80/10/10% of every class",
        in_training=True, changes="nothing", unsettles=_DATA,
    )] = None  # fmt: skip
    fractions: Annotated[dict[str, float] | None, RunSetting(
        "The shares of train, validation and test for --split: 0.6/0.2/0.2, or by name, train=0.5,test=0.5. Every "
        "class is divided so, by --split-seed. In a run file [0.6, 0.2, 0.2], or a table.",
        form=Shares, read=as_fractions, parse=parse_fractions, metavar="TRAIN/VALIDATION/TEST", shown="0.8/0.1/0.1",
        must="be a share from 0 to 1 for each of train, validation and test", hint=FRACTIONS_HINT,
        in_training=True, changes="nothing",
    )] = None  # fmt: skip
    node_sites: Annotated[dict[str, Form] | None, RunSetting(
        "Node data that noise and attacks may change, each a layer of sites by its name: x=categories (one-hot rows, "
        "or all values that occur), x=bits (zeros and ones). Other node data that say the same are kept for regions "
        "alone. A region is such a layer: --regions 'functional_groups | layers:atoms=x'.",
        parse=parse_node_sites, metavar="DATUM=FORM,…", shown="none: node data are fixed",
        hint='Write a table: [node_sites], and below it a line such as x = "categories".', in_training=True,
    )] = None  # fmt: skip
    alphabets: Annotated[dict[str, list[str] | int] | None, RunSetting(
        "With kind table, all values that a column may have: colour=red/green/blue, or doors=4 for 0 to 3. In a run "
        "file a table. An attacker may set any of them.",
        form=dict[str, Values], read=as_alphabets, parse=parse_alphabets, metavar="COLUMN=VALUES,…",
        must="be 2 to 256 different values, or how many there are",
        hint='Write colour = ["red", "green"], or colour = 4 for the values 0, 1, 2, 3.',
        shown="the values that occur in the file", in_training=True, changes="nothing", recorded=False,
    )] = None  # fmt: skip
    spare_node: Annotated[dict[str, Any] | None, RunSetting(
        "With inject: the data of the node that every graph gets, without edges, for an attacker to use: element=C.",
        parse=parse_spare_node, metavar="DATUM=VALUE,…", shown="none, where nodes have no data",
        hint='Write a table: [spare_node], and below it a line such as element = "C".',
        changes="nothing", unsettles=("data", "regions"), recorded=False,
    )] = None  # fmt: skip
    limit: Annotated[int | None, Meta(ge=1, le=MAX_SAMPLES), RunSetting(
        "At most this many graphs: the first, or a share of every class (by --split-seed) where the first ones "
        "are not representative.",
        shown="all",
        brief="Certify at most this many graphs.",
        main=True, of_sweeps=True, unsettles=("data", "regions"),
        sweep_help="At most this many graphs: the first, or a share of every class.",
    )] = None  # fmt: skip
    targets: Annotated[Literal["graphs", "nodes"], RunSetting(
        "What is classified: each graph, or the nodes of one graph, each by itself. Their classes are its node data y.",
        metavar="graphs|nodes", in_sweeps=False, implied=True, in_training=True,
    )] = "graphs"  # fmt: skip
    nodes: Annotated[str | None, RunSetting(
        "With targets = nodes, the node data of zeros and ones that says which, such as test_mask.",
        metavar="NAME", shown="all nodes", in_sweeps=False,
    )] = None  # fmt: skip
    outputs: Annotated[ValueRange | None, RunSetting(
        "The least and the largest number that the model gives, where it gives numbers in place of classes: intervals "
        "for them are certified. Labels are numbers then. In a run file outputs = [-4, 8].",
        form=Annotated[list[int | float], Meta(min_length=2, max_length=3)], read=lambda ends, *_: ValueRange(*ends),
        parse=parse_outputs, must="be the least and the largest number that the model gives",
        hint="Write outputs = [-4, 8], or --outputs=-4..8.", metavar="LOW..HIGH", shown="it answers classes",
        in_sweeps=False, unsettles=_DATA,
    )] = None  # fmt: skip
    regions: Annotated[Reference | str | dict[str, Any] | None, RunSetting(
        "Where the regions of the noise are: a builder with its parameters, such as communities:resolution=1.5, "
        "node_labels:attribute=part or node_sets:motif=0-9,rest=*; or file.py:function, from a Graph to its "
        'Partition. In a run file also a table: the layer of each region (bonds = "pairs", atoms = "element"), '
        "or, of vectors, its columns. Without it, all node pairs are one region.",
        form=str | dict[str, str | list[int | str]], read=as_regions, metavar="BUILDER",
        must="name a region builder, FILE.PY:FUNCTION, or for each region a layer or its columns",
        hint='In a table write a layer, such as bonds = "pairs", or columns, such as border = [0, 1, 2].',
        brief="A builder of regions (starcert list regions), or FILE.PY:NAME.",
        main=True, in_training=True, recorded=False,
    )] = None  # fmt: skip
    device: Annotated[str | None, Meta(pattern=r"^(cpu|mps|(cuda|xpu)(:\d+)?)$"), RunSetting(
        "Where a torch module runs: cpu, cuda, cuda:1.",
        must="name a device of torch", hint="Write cpu, cuda or cuda:1.", shown="where the model is",
        in_training=True, recorded=False,
    )] = None  # fmt: skip

    @property
    def data_title(self) -> str:
        """The name of the data in a title: of a file or folder the name, without folders and ending."""
        if isinstance(self.data, Path):
            return self.data.stem if self.data.is_file() else self.data.name
        return str(self.data)

    def changed(self, **changes: object) -> Self:
        """The same settings with other values for some."""
        return replace(self, **changes)

    def check_inputs(self) -> None:
        """Refuses what does not go together."""
        if self.nodes is not None and self.targets != "nodes":
            raise InvalidParameterError("nodes", 'needs targets = "nodes".')
        if self.targets == "nodes" and (self.split != "all" or self.splits is not None):
            name = "split" if self.split != "all" else "splits"
            raise InvalidParameterError(name, 'divides graphs, not nodes. Choose nodes by a mask: nodes = "test_mask".')
        if self.fractions is not None and self.splits is not None:
            raise InvalidParameterError("fractions", "cannot be combined with splits. Drop one of them.")
        if self.alphabets is not None and self.kind != TABLE:
            hint = "The values of node data are those that occur."
            raise InvalidParameterError("alphabets", f'needs kind = "table". {hint}')
        if self.node_sites is not None and self.kind == TABLE:
            raise InvalidParameterError("node_sites", 'cannot be combined with kind = "table".')
