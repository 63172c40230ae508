"""Hooks that torch runs around every module of the process, whichever model it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["forward_hooks", "forward_pre_hooks", "global_hooks"]


def global_hooks() -> tuple[Callable[..., Any], ...]:
    """The forward pre-hooks, and the forward hooks, that are registered for all modules.

    Example:
        >>> global_hooks()
        ()
    """
    return *forward_pre_hooks(), *forward_hooks()


def forward_pre_hooks() -> tuple[Callable[..., Any], ...]:
    """The hooks that torch runs before each module."""
    return _registered(register_module_forward_pre_hook)


def forward_hooks() -> tuple[Callable[..., Any], ...]:
    """The hooks that torch runs after each module."""
    return _registered(register_module_forward_hook)


def _registered(register: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The hooks in a table of torch's.

    torch has no public list of them. The handle of a hook refers to the table that holds it and all others, so one
    hook is registered and removed again.
    """
    handle = register(_unused)
    table = handle.hooks_dict_ref()
    assert table is not None  # torch keeps it as long as it is loaded
    found = tuple(hook for hook in table.values() if hook is not _unused)
    handle.remove()
    return found


def _unused(*_: object) -> None: ...
