"""What functions, classes and modules are made of, for the digest of a classifier.

Code of the caller's own modules counts by content, with the globals that it names. What is installed counts by name and
version. Code that looks up at run time what it does not name, in the environment or among all modules, cannot be
digested.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib
import inspect
import os
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, resolve_name
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple


class ValueParts(NamedTuple):
    """What a value is made of: a label that says what kind of value it is, and further values."""

    label: bytes
    values: Sequence[object] = ()
    ordered: bool = True


class ModuleUse(NamedTuple):
    """A module, the names that some code may ask it for, and whether the code may ask for any other as well."""

    module: ModuleType
    names: frozenset[str] = frozenset()
    whole: bool = False


class OpaqueError(Exception):
    """A value has no content that can be digested; the message names it."""


_MISSING = "there is no such thing"

_NOT_CONTENT = frozenset(
    (
        *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__abstractmethods__", "_abc_impl"),
        *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__"),
        *("__static_attributes__", "__orig_bases__", "__parameters__", "__dataclass_fields__", "__dataclass_params__"),
    )
)
"""What Python keeps in a class besides what was written there, and what no answer depends on."""

_LOOKUPS = {
    id(getattr(module, name)): f"{module.__name__}.{name}"
    for module, names in (
        (builtins, ("eval", "exec", "compile", "globals", "__import__")),
        (importlib, ("import_module",)),
        (sys, ("modules",)),
        (os, ("environ", "getenv", "environb", "getenvb")),
    )
    for name in names
    if hasattr(module, name)
}
"""What code finds through these cannot be seen in the code."""

_LOOKUP_NAMES = frozenset(("environ", "environb", "getenv", "getenvb", "import_module"))
"""Names that only such lookups have: they are refused whatever object the code asks for them."""

_BY_COMPUTED_NAME = frozenset(("getattr", "vars", "__dict__", "__getattribute__", "attrgetter", "methodcaller"))
"""Code that names one of these may ask a module for any name."""


def refuse_lookup(value: object) -> None:
    """Raises an OpaqueError for what looks up at run time what no code names."""
    if name := _LOOKUPS.get(id(value)):
        raise OpaqueError(f"what code looks up at run time by {name}")


def code_parts(value: object) -> ValueParts | None:
    """The parts of a function, a class, a module and the like; None for all other values."""
    for kind, parts_of in _KINDS:
        if isinstance(value, kind):
            return parts_of(value)
    return None


def _function(function: FunctionType) -> ValueParts:
    """Code, defaults, attributes, what it closes over and the globals that it names; an installed one by its name."""
    name = installed_name(function)
    if name and _is_found_by_name(function):
        return ValueParts(f"function {name}".encode())
    own = {name: value for name, value in sorted(vars(function).items()) if name != "__wrapped__"}
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    parts = (function.__code__, function.__defaults__, function.__kwdefaults__, own, cells)
    # The globals of a function that an installed one has made are those of the installed version.
    return ValueParts(f"function {name}".encode(), parts if name else (*parts, _globals_of(function)))


def _globals_of(function: FunctionType) -> dict[str, object]:
    """The globals that a function names, and the modules that it imports when it runs."""
    names, used, imports = _names_in(function.__code__)
    for name in names & _LOOKUP_NAMES:
        raise OpaqueError(f"what code looks up at run time by {name}")
    whole = not _BY_COMPUTED_NAME.isdisjoint(names)
    found = {}
    for name in sorted(used):
        value = function.__globals__.get(name, _MISSING)
        if value is _MISSING and hasattr(builtins, name):
            refuse_lookup(getattr(builtins, name))
            continue  # the code has its name
        found[name] = ModuleUse(value, names, whole) if isinstance(value, ModuleType) else value
    for name, level in sorted(imports):
        module = _imported(name, level, function.__globals__.get("__package__"))
        use = ModuleUse(module, names, whole) if isinstance(module, ModuleType) else module
        found[f"import {'.' * level}{name}"] = use
    return found


@functools.lru_cache(maxsize=4096)  # code never changes
def _names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[tuple[str, int]]]:
    """All names in some code; those of globals; and the modules that it imports, with the dots before their names."""
    names, used, imports = set(code.co_names), set(), set()
    steps = list(dis.get_instructions(code))
    for at, step in enumerate(steps):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            used.add(str(step.argval))
        elif step.opname == "IMPORT_NAME":
            dots = steps[at - 2].argval
            imports.add((str(step.argval), dots if isinstance(dots, int) else 0))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more_names, more_used, more_imports = _names_in(inner)
            names |= more_names
            used |= more_used
            imports |= more_imports
    return frozenset(names), frozenset(used), frozenset(imports)


def _imported(name: str, level: int, package: object) -> object:
    """The module that code imports when it runs; one of the caller's own is imported now, as the code would."""
    try:
        full = resolve_name("." * level + name, str(package)) if level else name
        if _is_installed(full) and full not in sys.modules:
            return f"{full} {_version(full)}"
        return importlib.import_module(full)
    except Exception:  # noqa: BLE001  (whatever a module raises when it is imported: the code will meet it too)
        return _MISSING


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


def _cached(function: Any) -> ValueParts:  # noqa: ANN401
    """A function under `functools.lru_cache`, with the one value that it keeps where it has no arguments.

    The values that it keeps for arguments cannot be listed: they are cleared, so that none that was changed can answer.
    """
    name = installed_name(function)
    if name and _is_found_by_name(function):
        return ValueParts(f"function {name}".encode())
    parts = [function.__wrapped__, function.cache_parameters()]
    if inspect.signature(function).parameters:
        function.cache_clear()
    else:
        with suppress(Exception):  # whatever it may raise: it keeps nothing then
            parts.append(function())
    return ValueParts(b"cached", parts)


def _descriptor(value: Any) -> ValueParts:  # noqa: ANN401
    return ValueParts(f"descriptor {value.__name__} {value.__objclass__.__qualname__}".encode())


def _cell(cell: CellType) -> ValueParts:
    with suppress(ValueError):  # it is still empty
        return ValueParts(b"cell", (cell.cell_contents,))
    return ValueParts(b"empty cell")


def _module(use: ModuleUse) -> ValueParts:
    """Name and version; of the caller's own modules the source, and the values that the code may ask for."""
    module, own = use.module, vars(use.module)
    if _is_installed(module.__name__):
        for name in use.names & own.keys():
            refuse_lookup(own[name])
        return ValueParts(b"module", (f"{module.__name__} {_version(module.__name__)}",))
    asked = [name for name in own if not name.startswith("__")] if use.whole else sorted(use.names & own.keys())
    found = {name: use._replace(module=own[name]) if isinstance(own[name], ModuleType) else own[name] for name in asked}
    try:
        with open(getattr(module, "__file__", None) or "", "rb") as source:
            digest = blake2b(source.read(), digest_size=16).hexdigest()
    except OSError:  # a notebook, or a module made by hand
        digest = ""
    return ValueParts(b"module", (digest, found))


def installed_name(value: object) -> str:
    """Where something is defined, with the version; "" if it is in a module of the caller's own."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or not _is_installed(module):
        return ""
    return f"{module}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))} {_version(module)}"


def _is_found_by_name(value: object) -> bool:
    """Whether something is what its module has under its name, and not made anew by a call."""
    found: object = sys.modules.get(getattr(value, "__module__", None) or "")
    for name in str(getattr(value, "__qualname__", "")).split("."):
        found = getattr(found, name, None)
    return found is value


@functools.cache
def _is_installed(module: str) -> bool:
    """Whether a module came with Python, with starcert, or into a folder for installed packages."""
    top = _top(module)
    if top == _top(__name__):
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
    top = _top(module)
    if top in sys.stdlib_module_names:
        return ".".join(map(str, sys.version_info[:2]))
    try:
        return version(top)
    except PackageNotFoundError:
        return str(getattr(sys.modules.get(top), "__version__", ""))


def _top(module: str) -> str:
    return module.partition(".")[0]


_KINDS: tuple[tuple[Any, Callable[[Any], ValueParts]], ...] = (
    (FunctionType, _function),
    (type, _class),
    (ModuleUse, _module),
    (ModuleType, lambda value: _module(ModuleUse(value, whole=True))),
    (types.MethodType, lambda value: ValueParts(b"method", (value.__func__, value.__self__))),
    (BuiltinFunctionType, _builtin),
    (type(functools.cache(len)), _cached),
    (types.GetSetDescriptorType | types.MemberDescriptorType, _descriptor),
    (types.MethodDescriptorType | types.WrapperDescriptorType, _descriptor),
    (CodeType, _code),
    (CellType, _cell),
)
