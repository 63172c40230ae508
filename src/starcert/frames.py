"""Rows of results as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from starcert.errors import StarcertError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_frame"]


def as_frame(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """A DataFrame with these rows; the first one names the columns."""
    try:
        import pandas as pd  # noqa: PLC0415  (only where a frame is wanted)
    except ModuleNotFoundError as error:
        raise StarcertError("Data frames need pandas: pip install 'starcert[pandas]'") from error
    return pd.DataFrame.from_records(list(rows), columns=list(rows[0]) if rows else [])
