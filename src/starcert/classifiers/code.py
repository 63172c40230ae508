"""The parts of functions, classes and modules, for the digest of a classifier.

What is installed counts by name and version. A function of the caller's own counts by its code, defaults, closure and
the values of the globals that it loads; a class by its members; a module by its file and those of the own modules that
its names come from. So a function of a notebook counts, and one whose file has changed elsewhere is still the same.
"""

from __future__ import annotations

import dis
import functools
import os
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple


class ValueParts(NamedTuple):
    """The parts of a value: a label that says what kind of value it is, and further values."""

    label: bytes
    values: Sequence[object] = ()
    ordered: bool = True


class OpaqueError(Exception):
    """A value has no content that can be digested; the message names it."""


_NOT_CONTENT = frozenset(
    (
        *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__abstractmethods__", "_abc_impl"),
        *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__"),
        *("__static_attributes__", "__orig_bases__", "__parameters__", "__dataclass_fields__", "__dataclass_params__"),
    )
)
"""Attributes that Python adds to a class, and that no answer depends on."""


def code_parts(value: object) -> ValueParts | None:
    """The parts of a function, a class, a module and the like; None for all other values."""
    for kind, parts_of in _KINDS:
        if isinstance(value, kind):
            return parts_of(value)
    return None


def _function(function: FunctionType) -> ValueParts:
    """Code, defaults, attributes, what it closes over and the globals that it loads; an installed one by its name."""
    name = installed_name(function)
    if name and _is_found_by_name(function):
        return ValueParts(f"function {name}".encode())
    own = {name: value for name, value in sorted(vars(function).items()) if name != "__wrapped__"}
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    parts = (function.__code__, function.__defaults__, function.__kwdefaults__, own, cells)
    # The globals of a function that an installed one has made are those of the installed version.
    known = {} if name else function.__globals__
    return ValueParts(
        f"function {name}".encode(),
        (*parts, {name: known[name] for name in sorted(set(_loaded(function.__code__))) if name in known}),
    )


def _loaded(code: CodeType) -> Iterator[str]:
    """The names of the globals that some code loads, or that the functions inside it load."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            yield str(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _loaded(inner)


def _code(code: CodeType) -> ValueParts:  # without the file and the lines where it stands
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return ValueParts(b"code", (code.co_code, counts, names, code.co_consts, code.co_exceptiontable))


def _class(cls: type) -> ValueParts:
    name = installed_name(cls)
    if name:  # the bases of a class that an installed function has made may be the caller's own
        return ValueParts(f"class {name}".encode(), () if _is_found_by_name(cls) else cls.__bases__)
    members = {name: member for name, member in sorted(vars(cls).items()) if name not in _NOT_CONTENT}
    return ValueParts(b"class", (cls.__name__, type(cls), cls.__bases__, members))


def _builtin(function: BuiltinFunctionType) -> ValueParts:
    if isinstance(function.__self__, ModuleType | None):
        return ValueParts(f"builtin {installed_name(function) or function.__qualname__}".encode())
    return ValueParts(b"builtin method", (function.__name__, function.__self__))


def _descriptor(value: Any) -> ValueParts:  # noqa: ANN401
    return ValueParts(f"descriptor {value.__name__} {value.__objclass__.__qualname__}".encode())


def _cell(cell: CellType) -> ValueParts:
    with suppress(ValueError):  # it is still empty
        return ValueParts(b"cell", (cell.cell_contents,))
    return ValueParts(b"empty cell")


def _module(module: ModuleType) -> ValueParts:
    """Name and version; of the caller's own modules the file, and the own modules that its names come from."""
    if _is_installed(module.__name__):
        return ValueParts(b"module", (f"{module.__name__} {_version(module.__name__)}",))
    names = {name: value for name, value in sorted(vars(module).items()) if not name.startswith("__")}
    try:
        with open(getattr(module, "__file__", None) or "", "rb") as source:
            digest = blake2b(source.read(), digest_size=16).digest()
    except OSError:  # a module made by hand
        return ValueParts(b"module without a file", (names,))
    sources = (value.__name__ if isinstance(value, ModuleType) else _home(value) for value in names.values())
    others = {name: sys.modules[name] for name in sorted({*sources}) if name in sys.modules and not _is_installed(name)}
    return ValueParts(b"module", (digest, others))


def _home(value: object) -> str:
    """The name of the module that a function or a class comes from; "" for other values."""
    return str(value.__module__) if isinstance(value, FunctionType | type) else ""


def installed_name(value: object) -> str:
    """Where something is defined, with the version; "" if it is in a module of the caller's own."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or not _is_installed(module):
        return ""
    return f"{module}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))} {_version(module)}"


def _is_found_by_name(value: object) -> bool:
    """True if something is what its module has under its name, and not made anew by a call."""
    found: object = sys.modules.get(getattr(value, "__module__", None) or "")
    for name in str(getattr(value, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found is value


@functools.cache
def _is_installed(module: str) -> bool:
    """True if a module came with Python, with starcert, or into a folder for installed packages."""
    top = module.partition(".")[0]
    if top == "starcert":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if module not in sys.modules:
        with suppress(ImportError, ValueError, AttributeError):  # it cannot be found
            file = getattr(find_spec(top), "origin", None)
    if file is None or not os.path.isabs(file):  # built in, or made by hand
        return top in sys.stdlib_module_names or top in sys.builtin_module_names
    return os.path.realpath(str(file)).startswith(_installed_folders())


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders = {*paths, *site.getsitepackages(), site.getusersitepackages()}
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)


@functools.cache
def _version(module: str) -> str:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return ".".join(map(str, sys.version_info[:2]))
    try:
        return version(top)
    except PackageNotFoundError:
        return str(getattr(sys.modules.get(top), "__version__", ""))


_KINDS: tuple[tuple[Any, Callable[[Any], ValueParts]], ...] = (
    (FunctionType, _function),
    (type, _class),
    (ModuleType, _module),
    (types.MethodType, lambda value: ValueParts(b"method", (value.__func__, value.__self__))),
    (BuiltinFunctionType, _builtin),
    # What a function under functools.lru_cache remembers follows from the function.
    (type(functools.cache(len)), lambda value: ValueParts(b"cached", (value.__wrapped__,))),
    (types.GetSetDescriptorType | types.MemberDescriptorType, _descriptor),
    (types.MethodDescriptorType | types.WrapperDescriptorType, _descriptor),
    (CodeType, _code),
    (CellType, _cell),
)
