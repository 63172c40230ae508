"""`starcert verify` and `starcert votes`: are the claims in a file of certificates true, and what does a store hold?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.cli.command_line import MOST_ROWS, JsonOption, app, show
from starcert.system.output import at_most

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.files import Verification
    from starcert.voting.store import VoteStore

__all__ = ["verify", "votes"]


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A file of certificates, as `starcert certify` writes it.")],
    as_json: JsonOption = False,
) -> None:
    """Proves the claims in a file of certificates again, from its votes and its noise, in exact arithmetic.

    Ends with status 0 if every claim is true, 1 if any is refuted, 2 if the file cannot be read.

    For example:

    starcert verify certificates.json
    """
    from starcert.files import verify as verify_file  # noqa: PLC0415  (numba and flint: only where they are needed)

    result = verify_file(file, progress=None)
    if as_json:
        print(json.dumps(_verification_object(result)))
    else:
        show(*_verification_view(result))
    if result.refuted:
        raise typer.Exit(1)


def _verification_object(result: Verification) -> dict[str, object]:
    from starcert.files.verification import TAKEN_AS_STATED  # noqa: PLC0415

    return {
        "file": result.path,
        "verdict": result.verdict,
        "graphs": len(result.archive),
        "noise": result.archive.noise.to_dict(),
        "alpha": result.archive.alpha,
        "together": result.archive.together,
        "proved_in_whole_numbers": result.listed,
        "proved_in_balls": result.enclosed,
        "taken_as_stated": TAKEN_AS_STATED,
        "anchored": sorted({reason for reason in result.archive.anchored if reason}),
        "mismatches": [
            {
                "graph": each.graph,
                "name": each.name,
                "field": each.field,
                "kind": each.kind,
                "claimed": each.claimed,
                "proved": each.proved,
            }
            for each in result.mismatches
        ],
    }


def _verification_view(result: Verification) -> list[RenderableType]:
    from starcert.files.verification import TAKEN_AS_STATED  # noqa: PLC0415

    archive = result.archive
    parts: list[RenderableType] = []
    if result.mismatches:
        parts += [_mismatches(result), ""]
    abstained = sum(one.abstained for one in archive.certificates)
    one = "graph" if archive.nodes is None else "node"
    whose = f"each {one}" if archive.together == 1 else f"all {archive.together:,} {one}s together"
    parts += [
        str(result),
        f"Noise {json.dumps(archive.noise.to_dict())}, alpha {at_most(archive.alpha)} for {whose}; "
        f"{abstained:,} abstain.",
        f"Each verdict is proved in balls; those on {result.listed:,} of {result.listed + result.enclosed:,} radii "
        f"once more in whole numbers.",
        TAKEN_AS_STATED,
    ]
    reasons = sorted({reason for reason in archive.anchored if reason})
    parts += [f"Anchored: {reason} The certificates speak of regions frozen at each graph." for reason in reasons]
    return parts


def _mismatches(result: Verification) -> RenderableType:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(title="Claims that are not what can be proved", title_justify="left")
    for name in ("graph", "name", "claim", "verdict", "claimed", "proved"):
        table.add_column(name, justify="right" if name == "graph" else "left", overflow="fold")
    for each in [*result.refuted, *result.weaker][:MOST_ROWS]:
        said = (_short(each.claimed), _short(each.proved))
        row = (str(each.graph), each.name, each.field, each.kind, *said)
        table.add_row(*map(Text, row))  # names come from data: nothing in them is read as markup
    if len(result.mismatches) > MOST_ROWS:
        table.caption = f"… and {len(result.mismatches) - MOST_ROWS:,} more (--json has all)"
    return table


def _short(value: object, most: int = 4) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    more = f" and {len(value) - most:,} more" if len(value) > most else ""
    return " ".join(map(str, value[:most])) + more or "none"


@app.command()
def votes(
    file: Annotated[Path, typer.Argument(help="A file that SmoothedClassifier.vote(…, store=FILE) has written.")],
    as_json: JsonOption = False,
) -> None:
    """What a file of votes holds: its settings, its graphs, and how many votes there are.

    For example:

    starcert votes votes.db
    """
    from starcert.voting.store import VoteStore  # noqa: PLC0415  (sqlite: only where it is needed)

    with VoteStore.read(file) as store:
        if as_json:
            print(json.dumps(_votes_object(store)))
        else:
            show(*_votes_view(store))


def _votes_object(store: VoteStore) -> dict[str, object]:
    counts, chosen = store.counts("estimation"), store.counts("selection")
    return {
        "settings": {
            "noise": store.settings.noise,
            "classifier": store.settings.classifier,
            "n_classes": store.settings.n_classes,
            "seed": store.settings.seed,
            "chunk_size": store.settings.chunk_size,
            "backend": store.settings.backend,
        },
        "sessions": [{"time": session.time, **session.provenance} for session in store.sessions],
        "graphs": [
            {
                "graph": record.graph,
                **({"target": target} if record.n_targets > 1 else {}),
                "name": record.name,
                "key": record.key,
                "sites": record.sites,
                "sizes": dict(record.sizes),
                "anchored": record.anchored or None,
                "estimation": counts[row].tolist(),
                "selection": chosen[row].tolist(),
            }
            for row, (record, target) in enumerate((store.graphs[graph], target) for graph, target in store.rows)
        ],
    }


def _votes_view(store: VoteStore) -> list[RenderableType]:
    from rich.table import Table  # noqa: PLC0415

    settings, summary = store.settings, store.summary()
    about = Table(title=str(store.path), title_justify="left", show_header=False)
    last = store.sessions[-1]
    for name, value in (
        ("noise", json.dumps(settings.noise)),
        ("classifier", settings.classifier),
        ("classes", settings.n_classes),
        ("seed, chunk size, backend", f"{settings.seed}, {settings.chunk_size}, {settings.backend}"),
        ("graphs", f"{len(store.graphs):,}"),
        ("estimation votes", f"{summary.samples['estimation']:,} in {summary.chunks['estimation']:,} chunks"),
        ("selection votes", f"{summary.samples['selection']:,} in {summary.chunks['selection']:,} chunks"),
        ("sessions", f"{len(store.sessions)}, the last one {last.time}"),
        ("made by", ", ".join(f"{name} {value}" for name, value in last.provenance.items() if value)),
        ("file", f"{summary.file_bytes:,} bytes, {summary.integrity}"),
    ):
        about.add_row(name, str(value))
    table = Table(title="Votes by graph", title_justify="left")
    for name in ("graph", "estimation", "selection", "sites"):
        table.add_column(name, justify="left" if name == "sites" else "right")
    counts, chosen = store.counts("estimation"), store.counts("selection")
    for number, (graph, target) in enumerate(store.rows[:MOST_ROWS]):
        record = store.graphs[graph]
        sizes = ", ".join(f"{axis} {size:,}" for axis, size in record.sizes.items())
        row = [" / ".join(f"{count:,}" for count in table_counts[number]) for table_counts in (counts, chosen)]
        name = (record.name or str(graph)) + (f".{target}" if record.n_targets > 1 else "")
        table.add_row(name, *row, sizes + (" (anchored)" if record.anchored else ""))
    if len(store.rows) > MOST_ROWS:
        table.caption = f"… and {len(store.rows) - MOST_ROWS:,} more (--json has all)"
    return [about, "", table]
