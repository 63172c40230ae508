"""The reference of Python, name by name, from signatures and docstrings.

A line `<!-- api starcert.threats -->` stands for all public names of that module, `<!-- api starcert: Graph, Bits -->`
for the ones that it lists. In the repository a list follows it, one sentence a name (`with_lists`); the site has every
entry in full (`expanded`). A name whose docstring has no example is used in the example of its section.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, get_origin

from markdown.extensions.toc import slugify

__all__ = [
    "MARKER",
    "expanded",
    "has_example",
    "homes",
    "missing_imports",
    "names_in",
    "public_names",
    "same_as",
    "with_lists",
]

MARKER = re.compile(r"^<!-- api (?P<module>[\w.]+)(?:: (?P<names>[\w, ]+))? -->$(?:\n(?:\n- \[?`.*)+)?", re.MULTILINE)
SECTION = re.compile(
    r"^(Args|Attributes|Raises|Returns|Yields|Example|Examples):\n((?:(?:    .*)?(?:\n|\Z))*)", re.MULTILINE
)
FIELD = re.compile(r"^    (\w+): (?!ClassVar).*?  # (?!noqa|type:)(.+)$", re.MULTILINE)
MAX_LINE = 96


def expanded(markdown: str) -> str:
    """The text of a page, with the reference of the names in place of each marker and its list."""
    return MARKER.sub(lambda found: "\n\n".join(part for name in names_in(found) for part in _entry(name)), markdown)


def with_lists(markdown: str) -> str:
    """The text of a page as the repository has it: below each marker a list of its names, one sentence for each."""
    return MARKER.sub(
        lambda found: "\n".join([found[0].partition("\n")[0], "", *map(_in_short, names_in(found))]), markdown
    )


def _in_short(path: str) -> str:
    """A name, with a link to its file and the first sentence of its docstring."""
    thing, name = public_names()[path], path.rpartition(".")[2]
    if same := same_as(path):
        return f"- [`{name}`]({homes()[same]}): another name of `{same}`."
    home = getattr(thing, "__module__", "")
    if not _is_described(path) or not home.startswith("starcert"):
        return f"- `{name}`: {repr(thing) if isinstance(thing, int | str) else 'a constant'}."
    about = (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
    return f"- [`{name}`](../src/{home.replace('.', '/')}.py): {re.split(r'(?<=[.])[ ](?=[A-Z`])', about)[0]}"


@cache
def public_names() -> dict[str, Any]:
    """Every public name, dotted, with what it is: those of `starcert.__all__`, and those of the modules among them."""
    import starcert  # noqa: PLC0415  (pages without a marker need none)

    def of(module: ModuleType, path: str) -> Iterator[tuple[str, Any]]:
        for name in module.__all__:
            found = getattr(module, name)
            yield from of(found, f"{path}.{name}") if isinstance(found, ModuleType) else [(f"{path}.{name}", found)]

    return dict(of(starcert, "starcert"))


@cache
def homes() -> dict[str, str]:
    """The page with each public name."""
    pages = sorted(Path(__file__).parent.glob("api*.md"))
    found = ((page.name, MARKER.finditer(page.read_text(encoding="utf-8"))) for page in pages)
    return {name: page for page, markers in found for marker in markers for name in names_in(marker)}


def same_as(name: str) -> str | None:
    """The name under which the same thing is described, if that is another one."""
    thing = public_names()[name]
    if not callable(thing):
        return None
    first = min((path for path, other in public_names().items() if other is thing), key=lambda path: path.count("."))
    return first if first != name else None


def has_example(name: str) -> bool:
    """Whether readers see an example of a name: in a docstring, in its section, or its value."""
    return not _is_described(name) or _shows_itself(public_names()[name]) or _section_with(name) is not None


def _is_described(name: str) -> bool:
    """Whether it is a class or a function, and not another name of one."""
    thing = public_names()[name]
    return same_as(name) is None and (inspect.isclass(thing) or inspect.isroutine(thing)) and not get_origin(thing)


def _shows_itself(thing: Any) -> bool:  # noqa: ANN401
    return any(">>>" in (inspect.getdoc(each) or "") for each in (thing, *vars(thing).values()))


@cache
def _section_with(name: str) -> str | None:
    """The anchor of the section of a name, if code of that section uses it."""
    page = (Path(__file__).parent / homes()[name]).read_text(encoding="utf-8")
    for section in page.split("\n## ")[1:]:
        code = "".join(re.findall(r"^```python$(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL))
        here = any(name in names_in(marker) for marker in MARKER.finditer(section))
        if here and re.search(rf"\b{name.rpartition('.')[2]}\b", code):
            return slugify(section.partition("\n")[0], "-")
    return None


def names_in(marker: re.Match[str]) -> list[str]:
    """The public names that a marker stands for."""
    module, names = marker["module"], marker["names"]
    if names:
        return [f"{module}.{name.strip()}" for name in names.split(",")]
    return [path for path in public_names() if path.rpartition(".")[0] == module]


def _entry(path: str) -> Iterator[str]:
    thing, name = public_names()[path], path.rpartition(".")[2]
    yield f"### `{name}` {{ #{path} }}"
    if same := same_as(path):
        yield _linked(f"Another name of `{same}`.")
    elif not _is_described(path):
        yield _value_of(thing, path)
    else:
        yield from _described(thing, name)
        if not _shows_itself(thing) and (anchor := _section_with(path)):
            yield f"[The example of this section](#{anchor}) uses it."
        if inspect.isclass(thing):
            yield from _members(thing, name)


def _value_of(thing: Any, path: str) -> str:  # noqa: ANN401
    """A constant: its value, the keys of a mapping, or the names of classes."""
    shown, value = path, thing
    if isinstance(thing, Mapping):
        shown, value = f"list({path})", list(thing)
    elif isinstance(thing, tuple):
        shown, value = f"[each.__name__ for each in {path}]", [each.__name__ for each in thing]
    return f"```pycon\n>>> import starcert\n>>> {shown}\n{value!r}\n```"


def _described(thing: Any, name: str) -> Iterator[str]:  # noqa: ANN401
    """A signature and a docstring, and the fields that comments in the source explain."""
    yield f"```python\n{_signature(thing, name)}\n```"
    text = inspect.getdoc(thing) or ""
    yield _markdown(text, thing.__module__)
    if inspect.isclass(thing):
        fields = [
            (field, about) for field, about in FIELD.findall(inspect.getsource(thing)) if f"\n    {field}:" not in text
        ]
        if fields:
            yield "\n".join(f"- `{field}`: {_linked(about)}" for field, about in fields)


def _members(thing: type, name: str) -> Iterator[str]:
    """The public methods and properties of a class, but for those of another public class."""
    public = {id(each) for each in public_names().values()}
    seen = set()
    for base in thing.__mro__:
        if base is not thing and id(base) in public:
            return
        if not base.__module__.startswith("starcert"):
            continue
        for member, value in vars(base).items():
            inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            about = isinstance(inner, property | cached_property) or inspect.isfunction(inner)
            if member.startswith("_") or member in seen or not about or not inspect.getdoc(inner):
                continue
            seen.add(member)
            yield f"#### {name}.{member}"
            if inspect.isfunction(inner):
                yield from _described(getattr(thing, member), member)
            else:
                yield _markdown(inspect.getdoc(inner) or "", base.__module__)


def _signature(thing: Any, name: str) -> str:  # noqa: ANN401
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parts, keyword = [], False
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not keyword:
            parts.append("*")
        keyword |= each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        known = each.annotation is not each.empty
        text = stars.get(each.kind, "") + each.name + (f": {_type(each.annotation)}" if known else "")
        default = "…" if " at 0x" in repr(each.default) or "<" in repr(each.default) else repr(each.default)
        parts.append(text if each.default is each.empty else f"{text}{' = ' if known else '='}{default}")
    gives = (
        ""
        if inspect.isclass(thing) or signature.return_annotation is signature.empty
        else f" -> {_type(signature.return_annotation)}"
    )
    line = f"{name}({', '.join(parts)}){gives}"
    return line if len(line) <= MAX_LINE else "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){gives}"])


def _type(annotation: Any) -> str:  # noqa: ANN401
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _markdown(text: str, module: str) -> str:
    """A docstring in Google's style: arguments as a list, examples as code, with what they import from its module."""
    needed = missing_imports(text, module)
    if any(" = sc." in line for line in needed):
        needed, text = ["import starcert as sc", *needed], text.replace("    >>> import starcert as sc\n", "")
    lines = "".join(f">>> {line}\n" for line in sorted(needed, key=lambda line: " = " in line))
    return _linked(_fenced(SECTION.sub(_section, text)).replace("```pycon\n", f"```pycon\n{lines}", 1))


def missing_imports(text: str, module: str) -> list[str]:
    """The imports that the examples of a docstring do without, as they see the names of its module."""
    tree = ast.parse("".join(each.source for each in doctest.DocTestParser().get_examples(text)))
    used, bound = set[str](), {*dir(builtins)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name)
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
    return sorted({_import_of(name, module) for name in used - bound})


def _import_of(name: str, module: str) -> str:
    """How readers get a name that the examples of a module use."""
    value = getattr(sys.modules[module], name)
    if isinstance(value, ModuleType):
        return f"import {value.__name__}" + f" as {name}" * (name != value.__name__)
    public = [path for path, other in public_names().items() if other is value and path.endswith(f".{name}")]
    path = min(public, key=lambda path: path.count("."), default="")
    home, objects = path.rpartition(".")[0], import_module("starcert.objects")
    if home in sys.modules:
        return f"from {home} import {name}"
    if home:  # a name of the package that is no module of that name
        return f"{name} = {path.replace('starcert', 'sc', 1)}"
    origin = getattr(value, "__module__", module)  # a number has none
    if not origin.startswith("starcert"):
        return f"from {origin} import {name}"
    return f"from {objects.__name__ if getattr(objects, name, None) is value else module} import {name}"


def _section(found: re.Match[str]) -> str:
    title, body = found[1], dedent(found[2]).strip("\n")
    if title.startswith("Example"):
        return f"{body}\n\n"
    if title in ("Returns", "Yields"):
        return f"**{title}:** {' '.join(body.split())}\n\n"
    entries = re.split(r"\n(?=\S)", body)
    rows = (entry.partition(": ") for entry in entries)
    listed = "\n".join(f"- `{name}`: {' '.join(about.split())}" for name, _, about in rows)
    return (f"**{title}:**\n\n" if title != "Args" else "") + listed + "\n\n"


def _fenced(text: str) -> str:
    """Examples between fences; a blank line ends one."""
    blocks = (re.sub(r"  # doctest:.*", "", block) for block in text.split("\n\n"))
    return "\n\n".join(
        f"```pycon\n{dedent(block).strip()}\n```" if block.lstrip().startswith(">>>") else block for block in blocks
    )


def _linked(text: str) -> str:
    """Public names in the text lead to their entries."""
    short: dict[str, str] = {}
    for path in sorted(homes(), key=lambda path: path.count("."), reverse=True):
        short |= {path: path, path.removeprefix("starcert."): path, path.rpartition(".")[2]: path}

    def link(found: re.Match[str]) -> str:
        name = found[1].partition(".")[0] if found[1][0].isupper() else found[1]
        path = short.get(name) if name[0].isupper() or "." in name else None
        return f"[`{found[1]}`]({homes()[path]}#{path})" if path else found[0]

    parts: Iterable[str] = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if part.startswith("```") else re.sub(r"(?<![`\[])`([A-Za-z_.]+)`(?!`)", link, part) for part in parts
    )
