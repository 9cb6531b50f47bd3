"""What Decentralized Elimination is worth: the paper's claims, and what is proved of them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from devote import theory
from devote.protocol.planning import Bound, Case, Guarantees, Promise
from devote.schemes.lone import alone, one_device, right_answer

if TYPE_CHECKING:
    from devote.schemes.decentralized.scheme import Decentralized

SAYS_NOTHING = 0.99
"""A bound above this is not shown, because it says nothing."""


def bounds(scheme: "Decentralized", case: Case) -> tuple[Bound, ...]:
    """What can be said of a wrong answer, the boldest first and the soundest last.

    Paper: Theorem 1.
    Differs from print: any M of N players can vote an arm out (errata 7 and 19).
    """
    spec, n, votes = case.spec, case.n_players, scheme.votes_needed(case.spec)
    claim = (
        f"What the paper prints: eta to the power of {votes}. It holds for {votes} devices chosen "
        "beforehand."
    )
    claimed = Bound("claimed", theory.claimed_failure(spec.eta, votes), claim)
    if n is not None and n < votes:
        return (claimed,)
    found = alone(spec, spec.eta)
    broken = case.broken if n is not None else "more devices may still join"
    if n == votes and found.bound is not None and not broken:
        value = theory.vote_failure(n, lone=min(1.0, found.bound), quorum=votes)
        text = f"Here all {votes} must be wrong together: the claim holds, and more."
        return (claimed, Bound("proved", value, text))
    lone = found.wrong_vote
    if broken or lone is None or n is None:
        why = broken or f"{spec.algorithm}: {found.why}"
        return (replace(claimed, text=f"{claim} Nothing is proved here: {why}."),)
    value = theory.vote_failure(n, lone=min(1.0, lone), quorum=votes)
    text = (
        f"Any {votes} of {n} can throw an arm out, and one device votes against the only "
        f"good arm with probability at most {lone:.2g}"
    )
    if value > SAYS_NOTHING:
        text += ": too much for a bound on the vote. Use a jury, or another subroutine."
        return (replace(claimed, text=f"{claim} {text}"),)
    if case.n_optimal == 1:
        return (claimed, Bound("proved", value, f"{text}: this bound follows."))
    text += ": this bound follows, where one arm alone is good."
    if case.n_optimal is not None:
        text += f" Here {case.n_optimal} arms are good, which it does not cover."
    text += " With several good arms use a jury."
    return (claimed, Bound("if one arm is good", value, text))


def _no_sample_bound(case: Case, votes: int) -> str:
    """Why Theorem 2 bounds no samples here; empty where it does.

    Paper: Theorem 2; erratum 15.
    """
    if case.broken:
        return f"Theorem 2 does not apply: {case.broken}."
    if case.n_optimal is None:
        return "Theorem 2 holds where one arm is epsilon-optimal, and here that is not known."
    if theory.theorem_2_holds(case.n_optimal, quorum=votes):
        return ""
    return (
        f"Theorem 2 does not hold here: {case.n_optimal} arms are epsilon-optimal, so {votes} "
        f"devices that are done may keep different arms. It takes up to {2 * votes - 1} of them."
    )


def guarantees(scheme: "Decentralized", case: Case) -> Guarantees:
    """Every bound and promise with its standing.

    Paper: Theorem 1: the answer, the communication cost (``M K - 1`` votes in each term; erratum
    2), one answer (part 2 of its proof; errata 5 and 20), the privacy level (erratum 8).
    """
    spec, votes, n = case.spec, scheme.votes_needed(case.spec), case.n_players
    found = bounds(scheme, case)
    message_bound = theory.message_bound(votes, spec.n_arms)
    can_stall = n is None or n < votes or theory.stall_possible(n, votes)
    when = " in each term, a reset apart" if spec.resets else ""
    one_answer = Promise(
        "one answer",
        "proved",
        f"{n} players are at least 2 x {votes} - 1: no split can stall.",
    )
    if can_stall:
        one_answer = Promise(
            "one answer",
            "refuted",
            f"Up to 2 x {votes} - 2 players can split over two near-equal arms so that no quorum "
            f"forms; the {'term' if spec.resets else 'run'} then ends stalled, and says so. "
            f"Use {2 * votes - 1} players or more to rule it out.",
        )
    rows = (
        right_answer(found),
        one_device(case, spec.eta),
        Promise(
            "few messages",
            "proved",
            f"At most {message_bound} votes are broadcast{when}, if each is read "
            "before the next device wakes.",
        ),
        one_answer,
        Promise(
            "privacy",
            "refuted",
            "Rewards stay on the device. But its votes point at its best arm: the paper claims at "
            f"most {1 - spec.eta:.2g} certainty, and its inequality runs the other way (success at "
            "least that). Measured at eta .9 on problem 1, from a voter's own messages against a "
            "claimed cap of .1: .811 [.799, .823] at N = 32, .419 [.404, .435] at N = 64; who "
            "voted against all arms but one is named every time (2,712 of 2,712).",
        ),
    )
    return Guarantees(
        bounds=found,
        promises=rows,
        message_bound=message_bound,
        can_stall=can_stall,
        no_sample_bound=_no_sample_bound(case, votes),
    )
