"""Hooks that torch runs around every module of the process, whichever model it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["global_hooks"]


def global_hooks() -> tuple[Callable[..., Any], ...]:
    """The forward hooks, and the forward pre-hooks, that are registered for all modules.

    torch has no public list of them. The handle of a hook refers to the table that holds it and all others, so one
    hook is registered and removed again.

    Example:
        >>> global_hooks()
        ()
    """
    found: list[Callable[..., Any]] = []
    for register in (register_module_forward_pre_hook, register_module_forward_hook):
        handle = register(_unused)
        table = handle.hooks_dict_ref()
        assert table is not None  # torch keeps it as long as it is loaded
        found += [hook for hook in table.values() if hook is not _unused]
        handle.remove()
    return tuple(found)


def _unused(*_: object) -> None: ...
