"""From certificates by counts to certificates with verdicts: where votes, their flips and certificates meet."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from starcert.certificates.auditing import audit_attacked
from starcert.certificates.certificate import Certificate, Certificates
from starcert.certificates.evidence import AttackVotes, OwnVotes, Verdicts, judge
from starcert.certificates.evidence.attack_axes import axes_of
from starcert.math.attack_axis import AttackAxis, counted_sites
from starcert.math.confidence import Votes
from starcert.math.evidence import AlphaShares, Evidence
from starcert.system.stages import staged

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from starcert.sampling.attacked import Attack
    from starcert.system.output import Advance
    from starcert.voting.jobs import Job
    from starcert.voting.store import VoteStore

__all__ = ["evidence_of", "verdicts_of", "with_evidence"]


@staged("certifying")
def with_evidence(
    certificates: Certificates,
    job: Job,
    *,
    alpha: float,
    most: int,
    max_flips: int | None = None,
    store: VoteStore | None = None,
    executor: Executor | None = None,
    advance: Advance,
) -> Certificates:
    """Certificates with the verdicts of evidence, where votes kept their flips; votes at attacked graphs are audited.

    Args:
        certificates: from bounds that have the counts' share of alpha.
        job: what their votes have in common.
        alpha: the probability that anything that one of them says is false, or of all together.
        most: the most votes at attacked versions of a graph; its targets share them evenly.
        max_flips: levels of more flips in all are not looked at.
        store: keeps those.
        executor: where to count them; None: in this process.
        advance: is told of graphs that are done.
    """
    votes, found = certificates.votes, list[Verdicts | None]()
    assert votes is not None
    attacked: dict[int, dict[Attack, int]] = {}  # by graph and attack, the votes against the class
    asked = 0
    axes_by_object = cache(lambda number: axes_of(job.sites[number], job.noise))
    for row, one in enumerate(certificates):
        verdicts = None
        if votes.records[row] is not None:
            axes, own = axes_by_object(one.object), None
            share = most // job.n_targets(one.object)
            if share:
                own = OwnVotes(
                    job,
                    one.object,
                    target=one.target,
                    label=one.label,
                    axes=counted_sites(axes),
                    most=share,
                    store=store,
                    executor=executor,
                )
            verdicts = verdicts_of(one, votes.row(row), axes, alpha=alpha, own=own, max_flips=max_flips)
            if verdicts.own_votes and verdicts.grounds is not None:
                asked += verdicts.own_votes
                against = {
                    attack: sum(len(tally.numbers) for tally in tallies)
                    for attack, tallies in verdicts.grounds.own.items()
                }
                attacked[one.object] = attacked.get(one.object, {}) | against
        found.append(verdicts)
        advance(1)
    weighed = certificates.weighed(found)
    if not asked or certificates.audit is None:
        return weighed
    return weighed.audited(certificates.audit + audit_attacked(job, attacked, asked, executor))


def verdicts_of(
    one: Certificate,
    votes: Votes,
    axes: Sequence[AttackAxis],
    *,
    alpha: float,
    own: AttackVotes | None,
    max_flips: int | None = None,
) -> Verdicts:
    """The verdicts of evidence on one certificate.

    Args:
        one: the certificate of the counts.
        votes: the votes that it is made of, one row, with their flips.
        axes: the axes of the noise on the graph.
        alpha: the probability that anything is false, that of as many certificates together as the bounds are of.
        own: votes at attacked versions of the graph; None: there are none.
        max_flips: levels of more flips in all are not looked at.
    """
    evidence = evidence_of(votes, axes, alpha=alpha, together=one.together, box=one.max_radius)
    broken = AlphaShares.of(Fraction(alpha) / one.together).broken
    return judge(evidence, one.counted, own=own, label=one.label, alpha=alpha, alpha_broken=broken, max_flips=max_flips)


def evidence_of(
    votes: Votes, axes: Sequence[AttackAxis], *, alpha: float, together: int, box: tuple[int, ...] | None
) -> Evidence:
    """Votes with their flips, one row, ready to be weighed.

    Args:
        votes: the votes.
        axes: the axes of the noise on the graph.
        alpha: the probability that anything is false, in `together` certificates.
        together: how many certificates share this alpha.
        box: the radii that are asked about; None: all.
    """
    record, selection = votes.records[0], votes.selection
    assert record is not None
    assert selection is not None
    return Evidence(
        record,
        axes,
        alpha=AlphaShares.of(Fraction(alpha) / together).certified,
        failure=1 - selection[0].max() / selection[0].sum(),
        box=box,
    )
