"""`starcert votes`: what a store of votes holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcert.cli.app import JsonOption, app
from starcert.cli.views import MOST_ROWS, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starcert.store import VoteStore

__all__ = ["votes"]


@app.command()
def votes(
    file: Annotated[Path, typer.Argument(help="A file that SmoothedClassifier.vote(…, store=FILE) has written.")],
    as_json: JsonOption = False,
) -> None:
    """What a file of votes holds: its settings, its graphs, and how many votes there are.

    For example:

    starcert votes votes.db
    """
    from starcert.store import VoteStore  # noqa: PLC0415  (sqlite: only where it is needed)

    with VoteStore.read(file) as store:
        if as_json:
            print(json.dumps(_as_object(store)))
        else:
            show(*_as_view(store))


def _as_object(store: VoteStore) -> dict[str, object]:
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


def _as_view(store: VoteStore) -> list[RenderableType]:
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
