"""An object under attacks, without noise: copies in which nothing but the attacked sites differs from the clean one.

They are shown through the same views as noisy copies, so every classifier takes them; on a device they are made there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from starcert.objects import Sites
from starcert.objects.layers import PAIRS
from starcert.objects.threats.attacks import VALUES, Attacks
from starcert.sampling.batch import Copies
from starcert.sampling.draws import Draw, FlippedDraw, Method, Positions
from starcert.sampling.sampler import MAX_DENSE_ON_DEVICE, MAX_OTHERS_ON_DEVICE
from starcert.sampling.views import are_bits, view_of

MAX_COPY_BYTES = 2**28  # of the values of all sites, where a device holds them for every copy

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
