"""Packages for the tests: modules in a folder, and the entry points that pip would leave beside them."""

import tomllib
from pathlib import Path


def install(folder: Path, pyproject: str) -> None:
    """What pip would leave behind of a package whose modules are in the folder: its name and its entry points."""
    project = tomllib.loads(pyproject)["project"]
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    named = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    about.joinpath("METADATA").write_text(named, encoding="utf-8")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in entries.items())]
    about.joinpath("entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def declaring(name: str, group: str, **entries: str) -> str:
    """The pyproject.toml of a package that declares these entry points."""
    lines = [f"{entry} = '{place}'" for entry, place in entries.items()]
    head = f"[project]\nname = '{name}'\nversion = '1.0'\n[project.entry-points.'starcert.{group}']\n"
    return head + "\n".join(lines)
