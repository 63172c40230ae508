"""Functions, classes and modules, taken apart: what their code is and what it names.

Code of the caller's own modules counts by content. What is installed counts by name and version: it changes only when
it is installed anew. Code that looks up at run time what it does not name, in the environment or among all modules, has
no content that can be told.
"""

from __future__ import annotations

import builtins
import dis
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, resolve_name
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

__all__ = [
    "ModuleUse",
    "UntellableError",
    "cached_properties",
    "code_of",
    "found_under_its_name",
    "function_of",
    "installed_name",
    "module_of",
    "namespace_of",
    "refuse_lookup",
]

_MISSING = "there is no such thing"

# What Python keeps in a class besides what was written there, and what no answer depends on.
_NOT_CONTENT = frozenset(
    (
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__qualname__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__abstractmethods__",
        "_abc_impl",
        "__firstlineno__",
        "__static_attributes__",
        "__orig_bases__",
        "__parameters__",
        "__dataclass_fields__",
        "__dataclass_params__",
    )
)


_LOOKUPS = {
    id(value): name
    for name, value in {
        "eval": eval,
        "exec": exec,
        "compile": compile,
        "globals": globals,
        "__import__": __import__,
        "importlib.import_module": import_module,
        "sys.modules": sys.modules,
        "os.environ": os.environ,
        "os.getenv": os.getenv,
        "os.environb": getattr(os, "environb", None),
        "os.getenvb": getattr(os, "getenvb", None),
    }.items()
    if value is not None
}
"""What code finds by these, nothing in the code tells."""

_LOOKUP_NAMES = frozenset(("environ", "environb", "getenv", "getenvb", "import_module"))
"""Some of them by the names that nothing else has: whatever the code asks for them."""

_BY_COMPUTED_NAME = frozenset(("getattr", "vars", "__dict__", "__getattribute__", "attrgetter", "methodcaller"))
"""Code that names one of these may ask a module for any name."""


class UntellableError(Exception):
    """A value has no content that can be told; the message names it."""


class ModuleUse(NamedTuple):
    """A module, the names that some code may ask it for, and whether the code may ask for any other, too."""

    module: ModuleType
    names: frozenset[str] = frozenset()
    whole: bool = False


def refuse_lookup(value: object) -> None:
    """Raises an UntellableError for what looks up at run time what no code names."""
    if name := _LOOKUPS.get(id(value)):
        raise UntellableError(f"what code looks up at run time by {name}")


def code_of(code: CodeType) -> tuple[object, ...]:
    """What a piece of code is made of; where it stands in which file plays no part."""
    return (
        code.co_code,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        code.co_consts,
        code.co_exceptiontable,
    )


def function_of(function: FunctionType) -> tuple[object, ...]:
    """What a function is made of: code, defaults, attributes, what it closes over and the globals that it names."""
    own = {name: value for name, value in sorted(vars(function).items()) if name != "__wrapped__"}
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    parts: tuple[object, ...] = (function.__code__, function.__defaults__, function.__kwdefaults__, own, cells)
    if installed_name(function):  # a function made by an installed one: its globals are of that version
        return parts
    names, used, imports = _named_in(function.__code__)
    for name in names & _LOOKUP_NAMES:
        raise UntellableError(f"what code looks up at run time by {name}")
    whole = not _BY_COMPUTED_NAME.isdisjoint(names)
    found = {}
    for name in used:
        value = function.__globals__.get(name, _MISSING)
        if value is _MISSING and hasattr(builtins, name):
            refuse_lookup(getattr(builtins, name))
            continue  # the code has its name
        found[name] = ModuleUse(value, names, whole) if isinstance(value, ModuleType) else value
    for name, level in imports:
        module = _imported(name, level, function.__globals__.get("__package__"))
        use = ModuleUse(module, names, whole) if isinstance(module, ModuleType) else module
        found[f"import {'.' * level}{name}"] = use
    return *parts, found


@lru_cache(maxsize=4096)
def _named_in(code: CodeType) -> tuple[frozenset[str], list[str], list[tuple[str, int]]]:
    """All names in a piece of code; those of globals; and the modules that it imports when it runs."""
    names = frozenset(name for each in _codes(code) for name in each.co_names)
    return names, sorted(set(_globals(code))), sorted(set(_imports(code)))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A piece of code and those inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals(code: CodeType) -> Iterator[str]:
    for each in _codes(code):
        for step in dis.get_instructions(each):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                yield str(step.argval)


def _imports(code: CodeType) -> Iterator[tuple[str, int]]:
    """The modules that code imports when it runs, with the number of dots before their names."""
    for each in _codes(code):
        steps = list(dis.get_instructions(each))
        for at, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                dots = steps[at - 2].argval
                yield str(step.argval), dots if isinstance(dots, int) else 0


def _imported(name: str, level: int, package: object) -> object:
    """The module that code imports when it runs; one of the caller's own is imported now, as the code would."""
    try:
        full = resolve_name("." * level + name, str(package)) if level else name
        if _is_installed(full) and full not in sys.modules:
            return f"{full} {_version(full)}"
        return import_module(full)
    except Exception:  # noqa: BLE001  (whatever a module raises when it is imported: the code will meet it too)
        return _MISSING


def module_of(use: ModuleUse) -> tuple[object, ...]:
    """What some code may find in a module: its source, and by value what the code names there."""
    module = use.module
    own = vars(module)
    if _is_installed(module.__name__):
        for name in use.names & own.keys():
            refuse_lookup(own[name])
        return (f"{module.__name__} {_version(module.__name__)}",)
    asked = [name for name in own if not name.startswith("__")] if use.whole else sorted(use.names & own.keys())
    found = {name: use._replace(module=own[name]) if isinstance(own[name], ModuleType) else own[name] for name in asked}
    return _source_digest(getattr(module, "__file__", None)), found


def _source_digest(file: str | None) -> str:
    try:
        with open(file or "", "rb") as source:
            return blake2b(source.read(), digest_size=16).hexdigest()
    except OSError:  # a notebook, or a module made by hand
        return ""


def namespace_of(cls: type) -> dict[str, object]:
    """What was written into a class, by name."""
    return {name: value for name, value in sorted(vars(cls).items()) if name not in _NOT_CONTENT}


def cached_properties(cls: type) -> dict[str, cached_property[object]]:
    """The attributes that a class computes when they are asked for, and keeps."""
    members = [item for each in reversed(cls.__mro__) for item in vars(each).items()]
    return {name: value for name, value in members if isinstance(value, cached_property)}


def installed_name(value: object) -> str:
    """Where something is defined, with the version; "" if it is in a module of the caller's own."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or not _is_installed(module):
        return ""
    return f"{module}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))} {_version(module)}"


def found_under_its_name(value: object) -> bool:
    """Whether something is what its module has under its name, and not made anew by a call."""
    found: object = sys.modules.get(getattr(value, "__module__", None) or "")
    for name in str(getattr(value, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found is value


@cache
def _is_installed(module: str) -> bool:
    """Whether a module came with Python, with starcert, or into a folder for installed packages."""
    top = module.partition(".")[0]
    if top == __name__.partition(".")[0]:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if module not in sys.modules:
        with suppress(ImportError, ValueError, AttributeError):  # nowhere to be found
            file = getattr(find_spec(top), "origin", None)
    if file is None or not os.path.isabs(file):  # built in, or made by hand
        return top in sys.stdlib_module_names or top in sys.builtin_module_names
    return os.path.realpath(str(file)).startswith(_installed_folders())


@cache
def _installed_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders = {*paths, *site.getsitepackages(), site.getusersitepackages()}
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)


@cache
def _version(module: str) -> str:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return ".".join(map(str, sys.version_info[:2]))
    try:
        return version(top)
    except PackageNotFoundError:
        return str(getattr(sys.modules.get(top), "__version__", ""))
