"""What tests ask for: arguments of `certify` and `vote` from one flat dictionary, and noisy copies by themselves."""

from dataclasses import fields, replace
from functools import reduce
from operator import and_

import starcert as sc
from starcert.objects.binding import bind_all
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream

VOTING = tuple(each.name for each in fields(sc.Voting))
THREATS = {"max_radius": sc.threats.Box, "max_flips": sc.threats.AnyFlips}


def how_to(**flat):
    """What is flat here, in the objects that it is a part of."""
    asked = {key: value for key, value in flat.items() if key not in (*VOTING, *THREATS, "own_samples")}
    asked["voting"] = replace(flat.get("voting", sc.Voting()), **{key: flat[key] for key in VOTING if key in flat})
    if flat.get("evidence") and "own_samples" in flat:
        given = flat["evidence"]
        asked["evidence"] = sc.Evidence(flat["own_samples"]) if given is True else given
    given = [kind(flat[key]) for key, kind in THREATS.items() if flat.get(key) is not None]
    if given:
        others = [] if flat.get("threat") is None else [sc.threats.threat_of(flat["threat"])]
        asked["threat"] = reduce(and_, [*given, *others])
    return asked


def drawn(clean, noise, count, regions=None, *, device="cpu"):
    """The first noisy copies of an object."""
    problem = bind_all([clean], noise, regions)
    return sampler(problem.sites[0], problem.noise, device).draw(
        WordStream.of_chunk(1, clean.key, "estimation", 0), count
    )
