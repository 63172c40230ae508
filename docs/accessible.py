"""A hook of MkDocs: two touches of the finished pages for screen readers. Another builder can do without it."""

from __future__ import annotations

from typing import Any

__all__ = ["on_page_content", "on_post_page"]


def on_page_content(html: str, **_: Any) -> str:  # noqa: ANN401  (MkDocs carries no types)
    """The page's own part, with headers that say that they head a column."""
    return html.replace("<th>", '<th scope="col">').replace("<th style=", '<th scope="col" style=')


def on_post_page(output: str, **_: Any) -> str:  # noqa: ANN401
    """The page, with a name for the theme's search where screen readers announce it."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)
