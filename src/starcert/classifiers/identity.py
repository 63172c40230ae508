"""Which classifier it is: a digest of source, weights, closure and all that the code reads, the same in every process.

Votes that are stored serve the classifier that gave them, and no other. Two values have one identity if they are made
of the same parts, all the way down. No address, no order of a hash table and no sharing of equal parts enters, so
pickled bytes would not do; they also name functions and classes without looking into them.
"""

from __future__ import annotations

import copyreg
import functools
import marshal
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from hashlib import blake2b, sha256
from itertools import groupby
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from starcert.classifiers.code import ModuleUse, OpaqueError, ValueParts, code_parts, installed_name, refuse_lookup
from starcert.system.errors import InvalidParameterError

__all__ = ["compiled_from", "global_hooks", "identity"]

MAX_PARTS = 5_000_000
"""Values of more parts than this take too long to digest: their owner names them."""

IsDerived: TypeAlias = Callable[[object, "functools.cached_property[object]", object], bool]
"""Whether the value that an object keeps for a cached property is what it would compute again."""


def identity(value: object) -> str:
    """The hex digest of any value, with cycles or without.

    Functions and classes of the caller's own modules count by their code and by what it closes over and names; what is
    installed by name and version; objects by class and state; arrays and tensors by their bytes. The value of a cached
    property counts where it is not what would be computed again; functions under `functools.lru_cache` forget the
    results that they keep for arguments. Files, random devices and the clock, which code may read, are not followed.

    Raises:
        InvalidParameterError: a part cannot be digested: a lock, a generator, code that reads the environment.

    Example:
        >>> def above(limit):
        ...     return lambda graph: int(graph.number_of_edges() > limit)
        >>> identity(above(3)) == identity(above(3)), identity(above(3)) == identity(above(4))
        (True, False)
    """
    hooks = {name: some for name, some in zip(("before", "after"), global_hooks(), strict=True) if some}
    return _Digest(_is_derived).of((value, hooks) if hooks else value).hex()


def global_hooks() -> tuple[tuple[Callable[..., Any], ...], tuple[Callable[..., Any], ...]]:
    """The hooks that torch runs before and after the forward pass of every module of the process."""
    module = sys.modules.get("torch.nn.modules.module")
    if module is None:
        return (), ()
    return _registered(module.register_module_forward_pre_hook), _registered(module.register_module_forward_hook)


def _registered(register: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """All hooks in one of torch's tables, which only the handle of a hook refers to: so one is added and removed."""
    handle = register(_unused)
    found = tuple(hook for hook in handle.hooks_dict_ref().values() if hook is not _unused)
    handle.remove()
    return found


def _unused(*_: object) -> None: ...


def _is_derived(owner: object, computed: functools.cached_property[object], kept: object) -> bool:
    if _is_ours(owner):
        return True
    try:
        # What is kept within the values is compared as it is.
        one, other = (_Digest(lambda inner, *_: _is_ours(inner)).of(each) for each in (kept, computed.func(owner)))
    except Exception:  # noqa: BLE001  (whatever a user's code may raise: then the value counts)
        return False
    return one == other


def _is_ours(owner: object) -> bool:
    """Whether an object is of one of starcert's own classes: they never change, and cached properties follow."""
    return type(owner).__module__.startswith("starcert.")


class _Node:
    """A value whose parts are being digested; they are digests or, on the way around a cycle, nodes."""

    __slots__ = ("digest", "key", "label", "ordered", "parts", "rest", "value")

    def __init__(self, key: Hashable, value: object, parts: ValueParts) -> None:
        self.key, self.value, self.label, self.ordered = key, value, parts.label, parts.ordered
        self.rest: Iterator[object] = iter(parts.values)
        self.parts: list[bytes | _Node] = []
        self.digest = b""

    def digest_of_parts(self) -> bytes:
        parts = [part.digest if isinstance(part, _Node) else part for part in self.parts]
        return _hashed([self.digest, self.label, *(parts if self.ordered else sorted(parts))])


def _hashed(parts: list[bytes]) -> bytes:
    # This format writes the length before each part, and no references: no two lists write the same bytes.
    return blake2b(marshal.dumps(parts, 2), digest_size=16).digest()


class _Digest:
    """Digests a value depth first; a value that is met again is not digested again."""

    def __init__(self, is_derived: IsDerived) -> None:
        self._is_derived = is_derived
        self._known: dict[Hashable, bytes | _Node] = {}
        self._alive: list[object] = []  # an address stays that of one value as long as the value is kept
        self._on_cycles: list[_Node] = []  # nodes that lead to a cycle
        self._n_parts = 0

    def of(self, root: object) -> bytes:
        if (found := _leaf(root)) is not None:
            return _hashed([found])
        stack: list[_Node] = []
        self._enter(id(root), root, stack)
        while True:
            node = stack[-1]
            for part in node.rest:
                digest: bytes | _Node | None = _leaf(part)
                if digest is None:
                    key = part if type(part) is ModuleUse else id(part)
                    digest = self._known.get(key)
                    if digest is None:
                        self._enter(key, part, stack)
                        break
                node.parts.append(digest)
            else:
                stack.pop()
                finished: bytes | _Node = node
                if _Node in map(type, node.parts):
                    self._on_cycles.append(node)
                else:
                    finished = self._known[node.key] = node.digest_of_parts()
                if not stack:
                    return finished if isinstance(finished, bytes) else self._around_cycles(node)
                stack[-1].parts.append(finished)

    def _enter(self, key: Hashable, value: object, stack: list[_Node]) -> None:
        try:
            parts = _parts_of(value, self._is_derived)
            self._n_parts += len(parts.values)
            if self._n_parts > MAX_PARTS:
                raise OpaqueError(f"more than {MAX_PARTS:,} parts")
        except OpaqueError as error:
            raise _refusal([str(error), *map(_shown, [value, *(node.value for node in reversed(stack))])]) from error
        node = self._known[key] = _Node(key, value, parts)
        self._alive.append(value)
        stack.append(node)

    def _around_cycles(self, root: _Node) -> bytes:
        """The digest of a value that leads to a cycle.

        Nodes on cycles, and above them, begin alike and are told apart by their parts, round after round, until a round
        tells no more of them apart: equal digests then mean equal parts without end. A digest includes that of the
        round before. So two values that agree in the set of all digests and in that of the root have the same parts.
        """
        n_kinds, n_rounds = 1, 0
        while True:
            for node, digest in [(node, node.digest_of_parts()) for node in self._on_cycles]:
                node.digest = digest
            kinds = {node.digest for node in self._on_cycles}
            n_rounds += 1
            if len(kinds) == n_kinds:
                return _hashed([root.digest, *sorted(kinds)])
            n_kinds = len(kinds)
            if n_rounds * len(self._on_cycles) > MAX_PARTS:
                raise _refusal(["parts that refer to each other in a circle too long to follow"])


def _refusal(chain: list[str]) -> InvalidParameterError:
    """Names the part that cannot be digested, and what it is a part of."""
    names = [name for name, _ in groupby(filter(None, chain))]
    names = names if len(names) < 6 else [*names[:3], "…", *names[-2:]]
    return InvalidParameterError(
        "description",
        "name this classifier: a part of it has no content that can be digested",
        _Unquoted(", in ".join(names)),
        "Give description=…, and another one whenever the answers change.",
    )


class _Unquoted(str):
    __slots__ = ()
    __repr__ = str.__str__


def _shown(value: object) -> str:
    """What a message calls a value; "" for values that have no name to recognise."""
    if isinstance(value, ModuleUse | ModuleType):
        return f"the module {(value.module if isinstance(value, ModuleUse) else value).__name__}"
    if isinstance(value, FunctionType | type):
        return f"{'the class' if isinstance(value, type) else 'the function'} {value.__qualname__}"
    nameless = isinstance(value, CellType | CodeType) or type(value) in _CONTAINERS
    return "" if nameless else f"an object of the class {type(value).__qualname__}"


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"None",
    bool: lambda value: b"bool %d" % value,
    int: lambda value: f"int {value:x}".encode(),  # decimals have a limit to their digits
    float: lambda value: f"float {value.hex()}".encode(),
    complex: lambda value: f"complex {value.real.hex()} {value.imag.hex()}".encode(),
    str: lambda value: f"str {value}".encode("utf-8", "surrogatepass"),
    bytes: lambda value: b"bytes " + value,
    type(...): lambda _: b"Ellipsis",
    type(NotImplemented): lambda _: b"NotImplemented",
}


def _leaf(value: object) -> bytes | None:
    """The bytes of a value that needs no node of its own."""
    kind = type(value)
    write = _PLAIN.get(kind)
    if write is not None:
        return write(value)
    if kind is CodeType:
        return _code_digest(value)
    return _EMPTY[kind] if kind in _EMPTY and not value else None


@functools.lru_cache(maxsize=4096)
def _code_digest(code: CodeType) -> bytes:
    """Code never changes: it is digested once."""
    parts = code_parts(code)
    assert parts is not None
    return b"code " + _Digest(_is_derived).of(parts.values)


def _parts_of(value: object, is_derived: IsDerived) -> ValueParts:
    """What a value is made of, one level deep; values of cached properties that follow from the rest are left out."""
    refuse_lookup(value)
    if (split := _CONTAINERS.get(type(value))) is not None:
        return split(value)
    if (torch := sys.modules.get("torch")) is not None:
        if isinstance(value, torch.Tensor):
            return _parts_of_tensor(value)
        if isinstance(value, torch.nn.Module):
            return _parts_of_torch_module(value, is_derived)
    if isinstance(value, np.generic):
        return _parts_of_array(np.asarray(value))
    return code_parts(value) or _parts_of_object(value, is_derived)


def _parts_of_array(value: np.ndarray[Any, Any]) -> ValueParts:
    kind = f"array {value.shape} "
    if value.dtype.names is not None:  # field by field: the bytes between fields are arbitrary
        return ValueParts(
            f"{kind}fields".encode(), [part for name in value.dtype.names for part in (name, value[name])]
        )
    if value.dtype.hasobject:
        return ValueParts(f"{kind}objects".encode(), value.reshape(-1).tolist())
    content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)  # SHA-256: processors have it
    return ValueParts(f"{kind}{np.lib.format.dtype_to_descr(value.dtype)!r}".encode(), (sha256(content.data).digest(),))


def _parts_of_tensor(value: Any) -> ValueParts:  # noqa: ANN401  (torch may be missing)
    torch = sys.modules["torch"]
    try:
        dense = value.detach().to_dense().resolve_conj().resolve_neg().cpu().contiguous()
        content = dense.reshape(-1).view(torch.uint8).numpy()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise OpaqueError(f"a tensor of the kind {value.dtype}") from error
    return ValueParts(f"tensor {value.dtype} {list(value.shape)}".encode(), (sha256(content).digest(),))


def _parts_of_mapping(value: Mapping[Any, object]) -> ValueParts:
    return ValueParts(b"mapping", _flat(value))


def _flat(value: Mapping[Any, object]) -> list[object]:
    return [part for pair in value.items() for part in pair]


def _parts_of_object(value: object, is_derived: IsDerived) -> ValueParts:
    """By what pickle would make it from again."""
    try:
        if isinstance(function := getattr(value, "py_func", None), FunctionType):  # compiled by numba
            return ValueParts(b"compiled", (function, getattr(value, "targetoptions", None)))
        reduce = copyreg.dispatch_table.get(type(value))
        reduced: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception as error:  # whatever an object may raise that cannot be pickled
        raise OpaqueError(_shown(value)) from error
    if isinstance(reduced, str):
        return ValueParts(f"global {installed_name(value) or f'{type(value).__qualname__} {reduced}'}".encode())
    make, arguments, state, items, entries = (*reduced, None, None, None)[:5]
    if type(value).__module__.startswith("sklearn.neighbors.") and hasattr(value, "get_tree_stats"):
        state = _without_query_counts(value, state)
    if isinstance(state, tuple) and len(state) == 2 and all(isinstance(part, dict | None) for part in state):
        state = {**(state[0] or {}), **(state[1] or {})}  # attributes, and those in slots
    if isinstance(state, dict):
        state = _by_name(state, value, is_derived) or None  # no attributes are the same as no state
    return ValueParts(b"object", (make, arguments, state, list(items or ()), dict(entries or ())))


def _without_query_counts(tree: Any, state: tuple[object, ...]) -> tuple[object, ...]:  # noqa: ANN401
    """The state of a search tree of scikit-learn, without its statistics of the queries so far."""
    counts = [*tree.get_tree_stats(), tree.get_n_calls()]
    for start in reversed(range(len(state))):
        found = state[start : start + len(counts)]
        if all(isinstance(each, int) for each in found) and list(found) == counts:
            return (*state[:start], *state[start + len(counts) :])
    return state


def _by_name(attributes: Mapping[Any, object], owner: object, is_derived: IsDerived) -> dict[Any, object]:
    """Attributes in the order of their names, without values of cached properties that follow from the others."""
    derived, seen = set[Any](), set[Any]()
    for cls in type(owner).__mro__:
        members = vars(cls)
        for name in (members.keys() & attributes.keys()) - seen:
            seen.add(name)
            computed = members[name]
            if isinstance(computed, functools.cached_property) and is_derived(owner, computed, attributes[name]):
                derived.add(name)
    return {name: attributes[name] for name in sorted(attributes, key=str) if name not in derived}


def _parts_of_torch_module(value: Any, is_derived: IsDerived) -> ValueParts:  # noqa: ANN401  (torch may be missing)
    """The class with its forward pass, weights, submodules, hooks and plain attributes.

    The tables that torch keeps in every module count where there is something in them.
    """
    usual = _torch_attributes()
    compiled = compiled_from(value) is not None
    own = {}
    # This state is without what `Module.compile` made, which only makes a module faster.
    for name, part in sys.modules["torch"].nn.Module.__getstate__(value).items():
        kind = type(part)
        if name in usual:
            if not part and kind is usual[name] and kind is not bool:
                continue
        elif compiled or (name == "inspector" and _is_pyg_layer(value)):
            continue  # it is the compiler's; or it follows from the class, and from how many layers were made before
        if kind is OrderedDict and "hooks" in name and all(type(number) is int for number in part):
            part = list(part.values())  # noqa: PLW2901  (the numbers count all hooks of the process)
        own[name] = part
    return ValueParts(
        b"module of torch", ("compiled" if compiled else type(value), *_flat(_by_name(own, value, is_derived)))
    )


def _is_pyg_layer(value: object) -> bool:
    pyg = sys.modules.get("torch_geometric.nn.conv.message_passing")
    return pyg is not None and isinstance(value, pyg.MessagePassing)


@functools.cache
def _torch_attributes() -> dict[str, type]:
    """What torch keeps in every module, by name."""
    return {name: type(part) for name, part in vars(sys.modules["torch"].nn.Module()).items()}


def compiled_from(module: Any) -> Any | None:  # noqa: ANN401  (torch may be missing)
    """The module that `torch.compile` made a module from, which computes the same; None for other modules."""
    forward = vars(module).get("forward")
    forward = getattr(forward, "__func__", forward)
    if not type(module).__module__.startswith("torch.") or not isinstance(forward, FunctionType):
        return None
    torch = sys.modules["torch"]
    if type(module) is not type(torch.compile(torch.nn.Identity(), backend="eager")):  # this class has no public name
        return None
    # A function of the caller's own in the place of the compiled one may compute anything.
    return next(module.children()) if forward.__globals__["__name__"].startswith("torch.") else None


_CONTAINERS: dict[type, Callable[[Any], ValueParts]] = {
    list: lambda value: ValueParts(b"list", list(value)),
    tuple: lambda value: ValueParts(b"tuple", value),
    dict: _parts_of_mapping,
    np.ndarray: _parts_of_array,
    np.memmap: _parts_of_array,
    types.MappingProxyType: _parts_of_mapping,
    set: lambda value: ValueParts(b"set", list(value), ordered=False),
    frozenset: lambda value: ValueParts(b"frozenset", list(value), ordered=False),
    slice: lambda value: ValueParts(b"slice", (value.start, value.stop, value.step)),
    bytearray: lambda value: ValueParts(b"bytearray", (bytes(value),)),
    property: lambda value: ValueParts(b"property", (value.fget, value.fset, value.fdel)),
    staticmethod: lambda value: ValueParts(b"staticmethod", (value.__func__,)),
    classmethod: lambda value: ValueParts(b"classmethod", (value.__func__,)),
    functools.partial: lambda value: ValueParts(b"partial", (value.func, value.args, value.keywords)),
    functools.cached_property: lambda value: ValueParts(b"cached_property", (value.func,)),
}

_EMPTY = {kind: _hashed([b"", *_CONTAINERS[kind](kind())[:1]]) for kind in (list, tuple, dict, set, frozenset)}
