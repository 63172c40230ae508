"""Which classifier it is, by content: a digest of what a value is, the same in every process.

Votes that are stored serve the classifier that gave them, and no other. Two values have one identity if they are taken
apart into the same parts, all the way down: no address, no order of a hash table and no sharing of equal parts enters.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from functools import cached_property, lru_cache
from hashlib import blake2b
from types import CodeType

from starcert.classifiers.anatomy import Anatomy, Follows, leaf, take_apart, words
from starcert.classifiers.programs import ModuleUse, UntellableError
from starcert.system.errors import InvalidParameterError

__all__ = ["identity"]

MOST = 5_000_000
"""Values of more parts than this take too long: their owner names them."""


def identity(value: object) -> str:
    """The hex digest of what a value is.

    Functions count by their code, defaults, what they close over and the globals that their code names; functions,
    classes and data of the caller's own modules by content, and so on from there; installed modules by name and
    version; objects by their class and their state; arrays and tensors by their bytes; containers by what they hold.
    So do hooks that torch runs around all modules. A cached property counts where it is not what would be computed
    again; functions under `functools.lru_cache` forget what they remember for arguments.

    Args:
        value: anything, with cycles or without. Files, random devices and the clock, which code may read, are not
            followed.

    Raises:
        InvalidParameterError: a part has no content that can be told: a lock, a socket, a generator; or code that reads
            the environment, or looks up names in ways that cannot be followed.

    Example:
        >>> def above(limit):
        ...     return lambda graph: int(graph.number_of_edges() > limit)
        >>> identity(above(3)) == identity(above(3)), identity(above(3)) == identity(above(4))
        (True, False)
    """
    hooks = _hooks_of_all_modules()
    return _digest((value, hooks) if hooks else value, _follows).hex()


def _digest(value: object, follows: Follows) -> bytes:
    root = leaf(value)
    return _digest_of(_explored(value, follows)) if root is None else _hashed(root)


def _follows(owner: object, computed: cached_property[object], kept: object) -> bool:
    """Whether what an object keeps of a cached property is what it would compute again."""

    def counts(inner: object, *_: object) -> bool:  # what is kept within is compared as it is
        return _is_ours(inner)

    if _is_ours(owner):
        return True
    try:
        return _digest(kept, counts) == _digest(computed.func(owner), counts)
    except Exception:  # noqa: BLE001  (whatever a user's code may raise: it cannot be told that it follows)
        return False


def _is_ours(owner: object) -> bool:
    """Whether an object is one of starcert's own classes: they never change, and cached properties follow."""
    return type(owner).__module__.startswith("starcert.")


def _hooks_of_all_modules() -> dict[str, object]:
    if "torch.nn.modules.module" not in sys.modules:
        return {}
    from starcert.classifiers.global_hooks import forward_hooks, forward_pre_hooks  # noqa: PLC0415  (torch is there)

    return {name: hooks for name, hooks in (("before", forward_pre_hooks()), ("after", forward_hooks())) if hooks}


class _Node:
    """A value taken apart: its label and its parts, each a digest or the number of another node."""

    __slots__ = ("label", "ordered", "parts")

    def __init__(self, label: bytes, parts: list[bytes | int], ordered: bool) -> None:
        self.label = label
        self.parts = parts
        self.ordered = ordered

    def digest(self, known: list[bytes], before: bytes = b"") -> bytes:
        """Of label and parts, given the digests of the nodes."""
        parts: Iterable[bytes] = [known[part] if isinstance(part, int) else part for part in self.parts]
        return _hashed(before, self.label, *(parts if self.ordered else sorted(parts)))


def _hashed(*parts: bytes) -> bytes:
    sink = blake2b(digest_size=16)
    for part in parts:
        sink.update(len(part).to_bytes(8, "little"))  # no two rows of parts write the same bytes
        sink.update(part)
    return sink.digest()


def _explored(root: object, follows: Follows) -> list[_Node]:
    """All values that the root is made of, each once; the root is the first."""
    values: list[object] = [root]  # they are kept until all is read: an address then stays that of one value
    owners = [0]
    numbers: dict[Hashable, int] = {_key(root): 0}
    nodes: list[_Node] = []
    n_parts = 0
    while len(nodes) < len(values):
        try:
            anatomy: Anatomy = take_apart(values[len(nodes)], follows)
            n_parts += len(anatomy.parts)
            if n_parts > MOST:
                raise UntellableError(f"more than {MOST:,} parts")
        except UntellableError as error:
            raise _untellable(values, owners, len(nodes), error) from error
        parts: list[bytes | int] = []
        for part in anatomy.parts:
            digest = _code_digest(part) if type(part) is CodeType else leaf(part)
            if digest is None:
                number = numbers.setdefault(_key(part), len(values))
                if number == len(values):
                    values.append(part)
                    owners.append(len(nodes))
                parts.append(number)
            else:
                parts.append(digest)
        nodes.append(_Node(anatomy.label, parts, anatomy.ordered))
    return nodes


@lru_cache(maxsize=4096)
def _code_digest(code: CodeType) -> bytes:
    """A piece of code never changes: it is taken apart once."""
    return b"code " + _digest_of(_explored(code, _follows))


def _key(value: object) -> Hashable:
    return value if isinstance(value, ModuleUse) else id(value)


def _digest_of(nodes: list[_Node]) -> bytes:
    """The digest of the first node: from the leaves upwards, then around the cycles that are left."""
    users: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for number, node in enumerate(nodes):
        for part in node.parts:
            if isinstance(part, int):
                users[part].append(number)
                missing[number] += 1
    digests = [b""] * len(nodes)
    ready = [number for number, parts in enumerate(missing) if not parts]
    while ready:
        number = ready.pop()
        digests[number] = nodes[number].digest(digests)
        for user in users[number]:
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    return digests[0] or _digest_around_cycles(nodes, digests)


def _digest_around_cycles(nodes: list[_Node], digests: list[bytes]) -> bytes:
    """The digest of a first node that reaches a cycle.

    Nodes on cycles, and above them, begin alike and are told apart by their parts, round after round, until a round
    tells no more of them apart: equal digests then mean equal parts without end. Each round keeps what the one before
    told, so the set of all digests says which follows on which. Two values that agree in that set and in the digest of
    the first node are therefore made of the same parts, however often a part is repeated.
    """
    open_ones = [number for number, digest in enumerate(digests) if not digest]
    kinds, rounds = 1, 0
    while True:
        for number, digest in [(number, nodes[number].digest(digests, digests[number])) for number in open_ones]:
            digests[number] = digest
        told = {digests[number] for number in open_ones}
        rounds += 1
        if len(told) == kinds:
            return _hashed(digests[0], *sorted(told))
        kinds = len(told)
        if rounds * len(open_ones) > MOST:
            raise _refusal("parts that refer to each other in a circle too long to follow")


def _untellable(values: list[object], owners: list[int], number: int, error: UntellableError) -> InvalidParameterError:
    """Names the part that cannot be told, and what it is a part of."""
    chain, place = [str(error)], -1
    while place != number:
        place, number = number, owners[number]
        if (owner := words(values[place])) and owner != chain[-1]:
            chain.append(owner)
    return _refusal(", in ".join(chain if len(chain) < 6 else [*chain[:3], "…", *chain[-2:]]))


def _refusal(got: str) -> InvalidParameterError:
    hint = "Give description=…, and another one whenever the answers change."
    return InvalidParameterError(
        "description", "name this classifier: a part of it has no content that can be told", _Plain(got), hint
    )


class _Plain(str):
    """A text that messages show without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
