"""An object under attacks: noisy copies for votes of their own, and without noise the attacked object itself.

What is without noise is shown through the same views as noisy copies, so every classifier takes it; on a device it is
made there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import accumulate, chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects import Sites
from starcert.objects.binding import noise_for_sites, sampled_laws
from starcert.objects.layers import PAIRS
from starcert.objects.noise import Noise
from starcert.objects.threats.attacks import VALUES, Attacks
from starcert.sampling.batch import Copies
from starcert.sampling.draws import LANES, Draw, FlippedDraw, Method, Positions, Values
from starcert.sampling.sampler import MAX_DENSE_ON_DEVICE, MAX_OTHERS_ON_DEVICE, method_of, site_sampler
from starcert.sampling.streams import DenseValues, WordStream
from starcert.sampling.views import are_bits, view_of

MAX_COPY_BYTES = 2**28  # of the values of all sites, where a device holds them for every copy

OWN_CHUNKS = (8, 8, 8, 8, 16, 16)
"""The first 64 votes at an attacked object come in chunks of these sizes, and all later ones 64 at a time: most attacks
are settled by about 20 votes."""

OWN_ENDS = tuple(accumulate(OWN_CHUNKS, initial=0))

MAX_SHOWN = 2**14  # attacked sites that are kept, each with 64 copies

Attack: TypeAlias = tuple[int, ...]
"""The flat positions of the attacked sites, ascending. Where sites have more than two values, each with the rank of its
new value: see `AttackAxis.attacked`."""


def own_chunk(chunk: int) -> range:
    """The numbers of the votes of a chunk at an attacked object.

    Example:
        >>> own_chunk(0), own_chunk(5), own_chunk(6)
        (range(0, 8), range(48, 64), range(64, 128))
    """
    if chunk < len(OWN_CHUNKS):
        return range(*OWN_ENDS[chunk : chunk + 2])
    first = LANES * (chunk - len(OWN_CHUNKS) + 1)
    return range(first, first + LANES)


class AttackedCopies:
    """Draws noisy copies of an object under attack: copies of the clean one with the attacked sites drawn anew.

    Sites are independent under the noise, so the attacked sites are drawn by the law of their new value and no attacked
    object is ever made. Copies come in words of 64. The clean ones of a word have a stream, and so has each attacked
    site, keyed by (seed, the object's key, the site, number of the word): what is drawn for an attack does not depend
    on the other attacks. Attacks share the noise on what they have in common. That is allowed, because the votes at one
    attacked object are independent of each other, and no proof compares two attacks.
    """

    def __init__(self, sites: Sites, noise: Noise, seed: int) -> None:
        noise = noise_for_sites(noise, [sites])
        method = method_of(sites, noise)
        self._sampler, self._view = site_sampler(sites, noise, method), view_of(sites, method)
        self._sites, self._seed = sites, seed
        self._laws, self._values = sampled_laws(sites, noise), sites.values
        self._shown = lru_cache(MAX_SHOWN)(self._draw_shown)

    def draw(self, attacks: Sequence[Attack], chunk: int) -> Copies:
        """The copies of a chunk for each attacked object, those of the first attack first."""
        votes = own_chunk(chunk)
        word, lane = divmod(votes.start, LANES)
        lanes, drawn = slice(lane, lane + len(votes)), self._sampler.draw(self._stream("", word), LANES)
        numbers = np.array(list(chain.from_iterable(attacks)), dtype=np.int64)
        shown = [self._shown(number, word)[lanes] for number in numbers.tolist()]
        values = np.concatenate([np.empty(0, dtype=np.uint8), *shown])
        first = len(votes) * np.repeat(np.arange(len(attacks)), [len(attack) for attack in attacks])
        copies = (first[:, None] + np.arange(len(votes))).reshape(-1)
        positions = np.repeat(numbers % self._sites.n_sites, len(votes))
        return self._view(drawn[lanes].repeated(len(attacks)).replace(copies, positions, values))

    def _draw_shown(self, number: int, word: int) -> Values:
        """The values of an attacked site in the copies of a word."""
        (position,), (before,), (after,) = _moves_of(self._sites, self._values, [number])
        law = self._laws[int(self._sites.regions_at(position))].attacked(int(before), int(after))
        return DenseValues([law], np.zeros(1, dtype=np.int64)).draw_values(self._stream(number, word), LANES)[:, 0]

    def _stream(self, site: int | str, word: int) -> WordStream:
        key = repr((self._seed, self._sites.clean.key, "attack", site, word)).encode()
        return WordStream(int.from_bytes(blake2b(key, digest_size=16).digest()))


def _moves_of(sites: Sites, clean: Values, attacked: npt.ArrayLike) -> tuple[Positions, Values, Positions]:
    """The positions of attacked sites, and their values before and after."""
    ranks, positions = np.divmod(np.asarray(attacked, dtype=np.int64), sites.n_sites)
    before = clean[positions]
    return positions, before, ranks + (ranks >= before)


def values_at_attacks(
    attacks: Iterable[Attack], sites: Sites, noise: Noise, stream: WordStream
) -> tuple[Positions, Positions, Values]:
    """Noisy values of the attacked sites of some copies, each with its own attack: for the audit, not for votes.

    Returns:
        For each attacked site of each copy the number of the copy, the position of the site, and its value.
    """
    listed = list(attacks)
    copies = np.repeat(np.arange(len(listed)), [len(each) for each in listed])
    positions, before, after = _moves_of(sites, sites.values, list(chain.from_iterable(listed)))
    regions = sites.regions_at(positions)
    moves = regions << 16 | before.astype(np.int64) << 8 | after  # one number each: values are bytes
    different, law = np.unique(moves, return_inverse=True)
    laws = sampled_laws(sites, noise)
    chances = [laws[move >> 16].attacked(move >> 8 & 255, move & 255) for move in different.tolist()]
    values = DenseValues(chances, law).draw_values(stream, 1)[0]
    return copies, positions, values


ShowAttacked = Callable[[Attacks], Copies]
"""From attacks to the attacked objects."""

_Drawn = Callable[[Positions, Positions, Positions], Draw]
"""The same from where the changes of each attack begin (and the last one's end), the changed sites, and new values."""


def attacked_view(sites: Sites, device: str = "cpu", method: Method | None = None) -> ShowAttacked:
    """A function that shows an object under attacks, here or on a device; by default by the cheapest method."""
    method = method or attacked_method(sites, device)
    draw = {Method.DEVICE_DENSE: _values_on, Method.DEVICE_SPARSE: _flips_on}.get(method, _flips_here)
    view, attacked = view_of(sites, method, device), draw(sites, device)

    def show(attacks: Attacks) -> Copies:
        changes = attacks.changes
        return view(attacked(attacks.starts, changes // VALUES, changes % VALUES))

    return show


def attacked_method(sites: Sites, device: str) -> Method:
    """In which form attacked copies are held: few sites are all held on a device, of many those that changed."""
    if device == "cpu":
        return Method.SPARSE
    if sites.n_sites > MAX_DENSE_ON_DEVICE and are_bits(sites) and all(block.layer == PAIRS for block in sites.blocks):
        return Method.DEVICE_SPARSE
    return Method.DEVICE_DENSE if sites.n_sites <= MAX_OTHERS_ON_DEVICE else Method.SPARSE


def fitting_attacks(sites: Sites, device: str, wanted: int) -> int:
    """The number of attacked copies that are held at once, of as many as are wanted."""
    if attacked_method(sites, device) is not Method.DEVICE_DENSE:
        return wanted
    return max(1, min(wanted, MAX_COPY_BYTES // max(1, sites.n_sites)))


def _flips_here(sites: Sites, _device: str) -> _Drawn:
    bits = are_bits(sites)

    def draw(starts: Positions, positions: Positions, values: Positions) -> FlippedDraw:
        return FlippedDraw(sites.n_sites, sites.nonzero, starts, positions, None if bits else values.astype(np.uint8))

    return draw


def _values_on(sites: Sites, device: str) -> _Drawn:
    import torch  # noqa: PLC0415  (only where a device is)

    from starcert.sampling.device import DeviceDraw  # noqa: PLC0415

    clean = torch.tensor(sites.values).to(device)
    clean = clean.bool() if are_bits(sites) else clean
    on = partial(torch.tensor, device=device)

    def draw(starts: Positions, positions: Positions, values: Positions) -> DeviceDraw:
        there, lengths = clean.repeat(len(starts) - 1, 1), on(np.diff(starts))
        copies = torch.arange(len(there), device=device).repeat_interleave(lengths, output_size=len(positions))
        there[copies, on(positions)] = on(values.astype(np.uint8)).to(there.dtype)
        return DeviceDraw(there)

    return draw


def _flips_on(sites: Sites, device: str) -> _Drawn:
    import torch  # noqa: PLC0415  (only where a device is)

    from starcert.sampling.device_flips import DeviceFlippedDraw  # noqa: PLC0415

    def draw(starts: Positions, positions: Positions, _values: Positions) -> DeviceFlippedDraw:
        return DeviceFlippedDraw(sites.n_sites, sites.nonzero, starts, torch.tensor(positions, device=device))

    return draw
