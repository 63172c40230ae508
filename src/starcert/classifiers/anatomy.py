"""Values taken apart, one level at a time: what kind of value it is, and what it is made of.

Pickled bytes would not do: they depend on which equal parts are one object, on the order of hash tables, and they name
functions and classes without looking into them. But how an object says that it can be pickled is how it is taken apart.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from starcert.classifiers.programs import (
    ModuleUse,
    UntellableError,
    cached_properties,
    code_of,
    found_under_its_name,
    function_of,
    installed_name,
    module_of,
    namespace_of,
    refuse_lookup,
)
from starcert.objects.content import is_tensor

__all__ = ["Anatomy", "Follows", "leaf", "take_apart", "words"]


class Anatomy(NamedTuple):
    """What a value is made of.

    Attributes:
        label: its kind, and what can be told of it at once.
        parts: what else it is made of, values again.
        ordered: whether the order of the parts counts.
    """

    label: bytes
    parts: Sequence[object] = ()
    ordered: bool = True


Follows: TypeAlias = Callable[[object, functools.cached_property[object], object], bool]
"""Whether what an object keeps of a cached property is what it would compute again."""

_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"None",
    bool: lambda value: b"bool %d" % value,
    int: lambda value: f"int {value:x}".encode(),  # no limit to its digits, as decimals have
    float: lambda value: f"float {value.hex()}".encode(),
    complex: lambda value: f"complex {value.real.hex()} {value.imag.hex()}".encode(),
    str: lambda value: b"str " + value.encode("utf-8", "surrogatepass"),
    bytes: lambda value: b"bytes " + value,
    type(...): lambda _: b"Ellipsis",
    type(NotImplemented): lambda _: b"NotImplemented",
}


def leaf(value: object) -> bytes | None:
    """What a plain value is, a number or a text for example; None if a value is to be taken apart."""
    tell = _PLAIN.get(type(value))
    return None if tell is None else tell(value)


def take_apart(value: object, follows: Follows) -> Anatomy:
    """What a value is made of, one level deep.

    Args:
        value: the value.
        follows: tells which values of cached properties follow from the rest: they are no part of their object.

    Raises:
        UntellableError: it has no content that can be told.

    Example:
        >>> take_apart([1, "a"], lambda owner, computed, kept: True)
        Anatomy(label=b'list', parts=[1, 'a'], ordered=True)
    """
    refuse_lookup(value)
    if type(value) in _CONTAINERS:
        return _CONTAINERS[type(value)](value)
    for kinds, tell in _KINDS:
        if isinstance(value, kinds):
            return tell(value)
    if is_tensor(value):
        return _tensor(value)
    if (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.nn.Module):
        return _torch_module(value, follows)
    return _object(value, follows)


def words(value: object) -> str:
    """What a message calls a value; "" where nobody would know it by that."""
    if isinstance(value, ModuleUse | ModuleType):
        return f"the module {(value.module if isinstance(value, ModuleUse) else value).__name__}"
    if isinstance(value, FunctionType | type):
        return f"{'the class' if isinstance(value, type) else 'the function'} {value.__qualname__}"
    plain = isinstance(value, CellType | CodeType) or type(value) in _CONTAINERS
    return "" if plain else f"an object of the class {type(value).__qualname__}"


def _named(kind: str, *names: str) -> Anatomy:
    return Anatomy(" ".join((kind, *names)).encode())


def _function(value: FunctionType) -> Anatomy:
    name = installed_name(value)
    if name and found_under_its_name(value):
        return _named("function", name)
    return Anatomy(f"function {name}".encode(), function_of(value))


def _class(value: type) -> Anatomy:
    name = installed_name(value)
    if name:  # one that an installed function has made: what it derives from may be the caller's own
        return Anatomy(f"class {name}".encode(), () if found_under_its_name(value) else value.__bases__)
    return Anatomy(b"class", (value.__name__, type(value), value.__bases__, namespace_of(value)))


def _builtin(value: BuiltinFunctionType) -> Anatomy:
    owner = value.__self__
    if owner is None or isinstance(owner, ModuleType):
        return _named("builtin", installed_name(value) or value.__qualname__)
    return Anatomy(b"builtin method", (value.__name__, owner))


def _cell(value: CellType) -> Anatomy:
    try:
        return Anatomy(b"cell", (value.cell_contents,))
    except ValueError:  # nothing is in it yet
        return Anatomy(b"empty cell")


def _array(value: np.ndarray[Any, Any]) -> Anatomy:
    kind = f"array {value.shape} "
    if value.dtype.names is not None:  # field by field: what lies between fields is whatever was in memory
        return Anatomy(f"{kind}fields".encode(), [part for name in value.dtype.names for part in (name, value[name])])
    if value.dtype.hasobject:
        return Anatomy(f"{kind}objects".encode(), value.reshape(-1).tolist())
    return _bytes(f"{kind}{np.lib.format.dtype_to_descr(value.dtype)!r}", value)


def _tensor(value: Any) -> Anatomy:  # noqa: ANN401  (torch may be missing)
    torch = sys.modules["torch"]
    try:
        dense = value.detach().to_dense().resolve_conj().resolve_neg().cpu().contiguous()
        content = dense.reshape(-1).view(torch.uint8).numpy()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise UntellableError(f"a tensor of the kind {value.dtype}") from error
    return _bytes(f"tensor {value.dtype} {tuple(value.shape)}", content)


def _bytes(kind: str, array: np.ndarray[Any, Any]) -> Anatomy:
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Anatomy(kind.encode(), (sha256(content.data).digest(),))  # processors have it: twice as fast as BLAKE2b


def _torch_module(value: Any, follows: Follows) -> Anatomy:  # noqa: ANN401  (torch may be missing)
    """The class with its forward pass, weights, submodules, hooks and plain attributes."""
    own = {
        name: part
        for name, part in vars(value).items()
        if not ("_hooks" in name and isinstance(part, Mapping) and not part)
    }
    own.pop(
        "_compiled_call_impl", None
    )  # `Module.compile` made it faster: torch, too, keeps it out of copies and files
    if type(value).__module__.startswith("torch._dynamo"):  # torch.compile made it faster: what was there answers
        return Anatomy(b"compiled by torch", (own["_modules"]["_orig_mod"],))
    pyg = sys.modules.get("torch_geometric.nn.conv.message_passing")
    if pyg is not None and isinstance(value, pyg.MessagePassing):
        own.pop("inspector", None)  # what it keeps follows from the class, and from how many were made before
    for name, hooks in own.items():
        if "_hooks" in name and isinstance(hooks, Mapping):
            own[name] = list(hooks.values())  # by numbers that count all hooks of the process
    return Anatomy(b"module of torch", (type(value), _by_name(own, value, follows)))


def _object(value: object, follows: Follows) -> Anatomy:
    """By what it would be made anew from."""
    try:
        if isinstance(function := getattr(value, "py_func", None), FunctionType):  # compiled by numba
            return Anatomy(b"compiled", (function, getattr(value, "targetoptions", None)))
        reduce = copyreg.dispatch_table.get(type(value))
        reduced: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception as error:  # whatever an object may raise that does not want to be told
        raise UntellableError(words(value)) from error
    if isinstance(reduced, str):
        return _named("global", installed_name(value) or f"{type(value).__qualname__} {reduced}")
    make, arguments, state, items, entries = (*reduced, None, None, None)[:5]
    if type(value).__module__.startswith("sklearn.neighbors.") and hasattr(value, "get_tree_stats"):
        state = _without_statistics(value, state)
    if isinstance(state, tuple) and len(state) == 2 and all(isinstance(part, dict | None) for part in state):
        state = {**(state[0] or {}), **(state[1] or {})}  # attributes, and those in slots
    if isinstance(state, dict):
        state = _by_name(state, value, follows) or None  # as where there are none
    return Anatomy(b"object", (make, arguments, state, list(items or ()), dict(entries or ())))


def _without_statistics(tree: Any, state: tuple[object, ...]) -> tuple[object, ...]:  # noqa: ANN401
    """The state of a search tree of scikit-learn, without what it counts of its own queries."""
    counted = [*tree.get_tree_stats(), tree.get_n_calls()]
    for place in reversed(range(len(state))):
        found = state[place : place + len(counted)]
        if all(isinstance(each, int) for each in found) and list(found) == counted:
            return (*state[:place], *state[place + len(counted) :])
    return state


def _by_name(attributes: Mapping[Any, object], owner: object, follows: Follows) -> dict[Any, object]:
    """Attributes in the order of their names, without those that are computed from the others and kept."""
    computed = cached_properties(type(owner))
    return {
        name: attributes[name]
        for name in sorted(attributes, key=str)
        if name not in computed or not follows(owner, computed[name], attributes[name])
    }


def _remembering(value: Any) -> Anatomy:  # noqa: ANN401
    """A function under `functools.lru_cache`.

    Without arguments it remembers one value, which is a part of it. What it remembers for arguments nobody can list; it
    follows from the code, and is forgotten here, so that nothing that was changed in place answers.
    """
    name = installed_name(value)
    if name and found_under_its_name(value):
        return _named("function", name)
    parts = [value.__wrapped__, value.cache_parameters()]
    if inspect.signature(value).parameters:
        value.cache_clear()
    else:
        with suppress(Exception):  # whatever it may raise: nothing is remembered then
            parts.append(value())
    return Anatomy(b"cached", parts)


def _mapping(value: Mapping[Any, object]) -> Anatomy:
    return Anatomy(b"mapping", [part for pair in value.items() for part in pair])


_CONTAINERS: dict[type, Callable[[Any], Anatomy]] = {
    list: lambda value: Anatomy(b"list", value),
    tuple: lambda value: Anatomy(b"tuple", value),
    dict: _mapping,
    np.ndarray: _array,
    np.memmap: _array,
    MappingProxyType: _mapping,
    set: lambda value: Anatomy(b"set", list(value), ordered=False),
    frozenset: lambda value: Anatomy(b"frozenset", list(value), ordered=False),
    slice: lambda value: Anatomy(b"slice", (value.start, value.stop, value.step)),
    bytearray: lambda value: Anatomy(b"bytearray", (bytes(value),)),
    property: lambda value: Anatomy(b"property", (value.fget, value.fset, value.fdel)),
    staticmethod: lambda value: Anatomy(b"staticmethod", (value.__func__,)),
    classmethod: lambda value: Anatomy(b"classmethod", (value.__func__,)),
    functools.partial: lambda value: Anatomy(b"partial", (value.func, value.args, value.keywords)),
    functools.cached_property: lambda value: Anatomy(b"cached_property", (value.func,)),
    type(functools.cache(len)): _remembering,
}

_KINDS: tuple[tuple[Any, Callable[[Any], Anatomy]], ...] = (
    (FunctionType, _function),
    (type, _class),
    (ModuleUse, lambda value: Anatomy(b"module", module_of(value))),
    (ModuleType, lambda value: Anatomy(b"module", module_of(ModuleUse(value, whole=True)))),
    (MethodType, lambda value: Anatomy(b"method", (value.__func__, value.__self__))),
    (BuiltinFunctionType, _builtin),
    (
        (GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType),
        lambda value: _named("descriptor", value.__name__, value.__objclass__.__qualname__),
    ),
    (CodeType, lambda value: Anatomy(b"code", code_of(value))),
    (CellType, _cell),
    (np.generic, lambda value: _array(np.asarray(value))),
)
