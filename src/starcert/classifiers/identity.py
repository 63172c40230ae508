"""Which classifier it is: a digest of its code, weights, closure and the globals it loads, the same in every process.

Votes that are stored serve the classifier that gave them, and no other. Two values have one identity if they are made
of the same parts, all the way down. No address, no order of a hash table and no sharing of equal parts enters, so
pickled bytes would not do; they also name functions and classes without looking into them. What no digest follows, such
as files that are read, shows where votes are counted again (`voting/counting.py`).
"""

from __future__ import annotations

import copyreg
import functools
import marshal
import re
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b, sha256
from itertools import groupby
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from starcert.classifiers.code import OpaqueError, ValueParts, code_parts, installed_name
from starcert.system.errors import InvalidParameterError

SCHEME = "00000002"  # what a digest begins with, so that those of another scheme are not taken for another classifier
MAX_PARTS = 5_000_000  # values of more parts than this take too long to digest: their owner names them


def identity(value: object) -> str:
    """The digest of any value, with cycles or without: 32 hexadecimal digits, the first 8 of the scheme.

    Functions and classes of the caller's own modules count by their code, by what it closes over and by the globals
    that it loads; own modules by their files; what is installed by name and version; objects by class and state; arrays
    and tensors by their bytes. Values of cached properties and results under `functools.lru_cache` do not count: they
    follow from the rest. What code looks up or imports when it runs is not followed.

    Raises:
        InvalidParameterError: a part cannot be digested, such as a lock or a generator.
    """
    hooks = global_hooks()
    return SCHEME + _Digest().of((value, hooks) if any(hooks) else value).hex()[:24]


def of_0_2(before: object, now: object) -> str:
    """The hint for two descriptions of classifiers that differ because only the new one has a digest of this scheme.

    Example:
        >>> of_0_2("gcn " + 32 * "a", "gcn " + SCHEME + 24 * "a"), of_0_2("gcn", "gcn " + SCHEME + 24 * "a")
        (' (made by starcert 0.2, whose digests cannot be compared)', '')
    """
    old, new = (re.findall(r"\b[0-9a-f]{32}\b", str(each)) for each in (before, now))
    is_new = [any(digest.startswith(SCHEME) for digest in each) for each in (old, new)]
    return " (made by starcert 0.2, whose digests cannot be compared)" if old and is_new == [False, True] else ""


def global_hooks() -> tuple[tuple[Callable[..., Any], ...], tuple[Callable[..., Any], ...]]:
    """The hooks that torch runs before and after the forward pass of every module of the process."""
    module: Any = sys.modules.get("torch.nn.modules.module")
    if module is None:
        return (), ()
    return tuple(module._global_forward_pre_hooks.values()), tuple(module._global_forward_hooks.values())


class _Node:
    """A value whose parts are being digested; they are digests or, on the way around a cycle, nodes."""

    __slots__ = ("digest", "label", "ordered", "parts", "rest", "value")

    def __init__(self, value: object, parts: ValueParts) -> None:
        self.value, self.label, self.ordered = value, parts.label, parts.ordered
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

    def __init__(self) -> None:
        self._known: dict[int, bytes | _Node] = {}
        self._alive: list[object] = []  # an address stays that of one value as long as the value is kept
        self._on_cycles: list[_Node] = []  # nodes that lead to a cycle
        self._n_parts = 0

    def of(self, root: object) -> bytes:
        stack: list[_Node] = []
        self._enter((root,), stack)
        while True:
            node = stack[-1]
            for part in node.rest:
                digest = _leaf(part) or self._known.get(id(part))
                if digest is None:
                    self._enter(part, stack)
                    break
                node.parts.append(digest)
            else:
                stack.pop()
                finished: bytes | _Node = node
                if _Node in map(type, node.parts):
                    self._on_cycles.append(node)
                else:
                    finished = self._known[id(node.value)] = node.digest_of_parts()
                if not stack:
                    return finished if isinstance(finished, bytes) else self._around_cycles(node)
                stack[-1].parts.append(finished)

    def _enter(self, value: object, stack: list[_Node]) -> None:
        try:
            parts = _parts_of(value)
            self._n_parts += len(parts.values)
            if self._n_parts > MAX_PARTS:
                raise OpaqueError(f"more than {MAX_PARTS:,} parts")
        except OpaqueError as error:
            raise _refusal([str(error), *map(_shown, [value, *(node.value for node in reversed(stack))])]) from error
        node = self._known[id(value)] = _Node(value, parts)
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


def _leaf(value: object) -> bytes | None:
    """The bytes of a value without parts."""
    kind: Any = type(value)
    if (write := _PLAIN.get(kind)) is not None:
        return write(value)
    return None if kind not in _EMPTY or value else f"empty {kind.__name__}".encode()


def _refusal(chain: list[str]) -> InvalidParameterError:
    """Names the part that cannot be digested, and what it is a part of."""
    names = [name for name, _ in groupby(filter(None, chain))]
    names = names if len(names) < 6 else [*names[:3], "…", *names[-2:]]
    return InvalidParameterError(
        "description",
        f"is needed, because the classifier has a part that cannot be digested: {', in '.join(names)}.",
        hint="Give description=…, and another one whenever the answers change.",
    )


def _shown(value: object) -> str:
    """The name of a value in a message; "" for values that have no name to recognise."""
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, FunctionType | type):
        return f"{'the class' if isinstance(value, type) else 'the function'} {value.__qualname__}"
    nameless = isinstance(value, CellType | CodeType) or type(value) in _CONTAINERS
    return "" if nameless else f"an object of the class {type(value).__qualname__}"


def _parts_of(value: object) -> ValueParts:
    """The parts of a value, one level deep."""
    if (split := _CONTAINERS.get(type(value))) is not None:
        return split(value)
    if (torch := sys.modules.get("torch")) is not None:
        if isinstance(value, torch.Tensor):
            return _parts_of_tensor(value)
        if isinstance(value, torch.nn.Module):
            return _parts_of_torch_module(value)
    if isinstance(value, np.generic):
        return _parts_of_array(np.asarray(value))
    return code_parts(value) or _parts_of_object(value)


def _parts_of_array(value: np.ndarray[Any, Any]) -> ValueParts:
    kind = f"array {value.shape} "
    if value.dtype.names is not None:  # field by field: the bytes between fields are arbitrary
        fields = [part for name in value.dtype.names for part in (name, value[name])]
        return ValueParts(f"{kind}fields".encode(), fields)
    if value.dtype.hasobject:
        return ValueParts(f"{kind}objects".encode(), value.reshape(-1).tolist())
    content = np.ascontiguousarray(value).reshape(-1).view(np.uint8)  # SHA-256: processors have it
    return ValueParts(f"{kind}{np.lib.format.dtype_to_descr(value.dtype)!r}".encode(), (sha256(content.data).digest(),))


def _parts_of_tensor(value: Any) -> ValueParts:  # noqa: ANN401  (torch may be missing)
    try:
        dense = value.detach().to_dense().resolve_conj().resolve_neg().cpu().contiguous()
        content = dense.reshape(-1).view(sys.modules["torch"].uint8).numpy()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise OpaqueError(f"a tensor of the kind {value.dtype}") from error
    return ValueParts(f"tensor {value.dtype} {list(value.shape)}".encode(), (sha256(content).digest(),))


def _parts_of_mapping(value: Mapping[Any, object]) -> ValueParts:
    return ValueParts(b"mapping", [part for pair in value.items() for part in pair])


def _parts_of_object(value: object) -> ValueParts:
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
        # A search tree counts its queries. Its other whole numbers follow from the shapes of its arrays.
        state = tuple(part for part in state if not isinstance(part, int))
    if isinstance(state, tuple) and len(state) == 2 and all(isinstance(part, dict | None) for part in state):
        state = {**(state[0] or {}), **(state[1] or {})}  # attributes, and those in slots
    if isinstance(state, dict):
        state = _by_name(state, value) or None  # no attributes are the same as no state
    return ValueParts(b"object", (make, arguments, state, list(items or ()), dict(entries or ())))


def _by_name(attributes: Mapping[Any, object], owner: object) -> dict[Any, object]:
    """Attributes in the order of their names, without values of cached properties."""
    members: dict[str, object] = {}
    for cls in reversed(type(owner).__mro__):
        members |= vars(cls)
    kept = (name for name in attributes if not isinstance(members.get(name), functools.cached_property))
    return {name: attributes[name] for name in sorted(kept, key=str)}


def _parts_of_torch_module(value: Any) -> ValueParts:  # noqa: ANN401  (torch may be missing)
    """The class with its forward pass, weights, submodules, hooks and plain attributes."""
    nn, compiled = sys.modules["torch"].nn, compiled_from(value) is not None
    # This state is without what `Module.compile` made, which only makes a module faster.
    own = nn.Module.__getstate__(value)
    if compiled:  # what torch does not keep in every module is the compiler's
        own = {name: own[name] for name in vars(nn.Module()).keys() & own.keys()}
    pyg = sys.modules.get("torch_geometric.nn.conv.message_passing")
    if pyg is not None and isinstance(value, pyg.MessagePassing):
        own.pop("inspector", None)  # it follows from the class, and from how many layers were made before
    for name, part in own.items():
        if type(part) is OrderedDict and "hooks" in name and all(type(number) is int for number in part):
            own[name] = list(part.values())  # the numbers count all hooks of the process
    return ValueParts(b"module of torch", ("compiled" if compiled else type(value), _by_name(own, value)))


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


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"None",
    bool: lambda value: b"bool %d" % value,
    int: lambda value: f"int {value:x}".encode(),  # decimals have a limit to their digits
    float: lambda value: f"float {value.hex()}".encode(),
    complex: lambda value: f"complex {value.real.hex()} {value.imag.hex()}".encode(),
    str: lambda value: f"str {value}".encode("utf-8", "surrogatepass"),
    bytes: lambda value: b"bytes " + value,
}

_EMPTY = (list, tuple, dict, set, frozenset)

_CONTAINERS: dict[type, Callable[[Any], ValueParts]] = {
    list: lambda value: ValueParts(b"list", list(value)),
    tuple: lambda value: ValueParts(b"tuple", value),
    dict: _parts_of_mapping,
    types.MappingProxyType: _parts_of_mapping,
    np.ndarray: _parts_of_array,
    np.memmap: _parts_of_array,
    set: lambda value: ValueParts(b"set", list(value), ordered=False),
    frozenset: lambda value: ValueParts(b"frozenset", list(value), ordered=False),
    property: lambda value: ValueParts(b"property", (value.fget, value.fset, value.fdel)),
    staticmethod: lambda value: ValueParts(b"staticmethod", (value.__func__,)),
    classmethod: lambda value: ValueParts(b"classmethod", (value.__func__,)),
    functools.cached_property: lambda value: ValueParts(b"cached_property", (value.func,)),
}
