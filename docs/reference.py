"""The parts of the pages that come from the code itself.

A line `<!-- commands -->` becomes the reference of all commands. The table of region builders is in its page,
where it can be read without a build; `builders_table` is what it must be.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["MARKER", "builders_table", "commands", "expanded"]

MARKER = "<!-- commands -->"


def expanded(markdown: str) -> str:
    """The text of a page, with the reference of commands in place of the marker."""
    return markdown.replace(MARKER, commands()) if MARKER in markdown else markdown


def commands() -> str:
    """Every command with its arguments, its options and its examples, from the commands themselves."""
    from starcert.cli import loaded  # noqa: PLC0415  (pages without commands need none)
    from starcert.cli.setting_options import settings_by_option  # noqa: PLC0415

    group: Any = loaded()
    context = group.make_context("starcert", [], resilient_parsing=True)
    parts = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        parts += [f"## starcert {name}", *_about(command), *_parameters(command)]
    rows = [f"| `{key}` | `{option}` | {_cell(text)} |" for key, option, text in settings_by_option()]
    parts += ["## Settings", "\n".join(["| key | option | what it is |", "| --- | --- | --- |", *rows])]
    return "\n\n".join(parts)


def _about(command: Any) -> Iterator[str]:  # noqa: ANN401
    """The help text of a command; the lines after `For example:` are commands."""
    text, _, examples = (command.help or "").partition("For example:")
    yield text.strip()
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    if lines:
        yield "\n".join(["```text", *lines, "```"])


def _parameters(command: Any) -> Iterator[str]:  # noqa: ANN401
    """A table of the arguments and options; uses only attributes that every version of typer has."""
    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        option, value = parameter.opts[0], parameter.metavar or "…"
        if not option.startswith("-"):
            name = f"`{parameter.metavar or option.upper()}`"
        else:
            flags = ", ".join(f"`{each}`" for each in (option, *parameter.secondary_opts))
            name = flags if parameter.is_flag else f"`{option} {value}`"
        default = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
        text = " ".join((parameter.help or "").split()).replace("*", r"\*")
        if parameter.required:
            text += " Must be given."
        elif default not in (None, False, "", Path()):
            text += f" By default {default}."
        rows.append(f"| {name} | {_cell(text)} |")
    yield "\n".join(["| option | what it is |", "| --- | --- |", *rows])


def builders_table() -> str:
    """The region builders with what you need to know to choose one, as a table."""
    from starcert.objects.regions import BUILDERS  # noqa: PLC0415

    rows = ["| builder, with its defaults | its regions | anchored | why one would choose it |"]
    rows.append("| --- | --- | --- | --- |")
    for builder in BUILDERS.values():
        anchored = f"yes: {builder.reason}" if builder.anchored else "no"
        rows.append(f"| `{builder.usage}` | {_cell(builder.regions)} | {anchored} | {_cell(builder.why)} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
