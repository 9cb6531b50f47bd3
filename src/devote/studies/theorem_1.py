"""Theorem 1 with subroutines as bad as Property 1 allows, and what holds instead."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec
from devote.schemes import Isolated, Jury
from devote.simulator import Scenario
from devote.studies import style
from devote.studies.claim import Case, Range, Row, judged
from devote.studies.estimates import Estimate, exact, proportion
from devote.studies.study import Plan, Settings, Study, Table
from devote.studies.style import Figure
from devote.studies.variants import DELTA, ETA, QUORUM
from devote.theory import claimed_failure, lone_failure, vote_failure

ROUNDS = 50
"""How many times the trials asked for are run: failures are rare, and these runs are short."""

WORST = ExperimentSpec(arms=2, algorithm="worst_case", eta=ETA, delta=DELTA)
"""A subroutine that fails with probability exactly eta, under the paper's vote."""

CLAIMED = claimed_failure(ETA, QUORUM)

JURY = Jury(seats=11)
WORST_JURY = WORST.with_(scheme=JURY, eta=0.2)
NEEDED = JURY.votes_needed(WORST_JURY)
PROMISE = JURY.failure(WORST_JURY, NEEDED)
"""6 of 11 jurors decide; .0117, which a thousand runs tell from delta."""

TWO_ARMS = Problem("worst-case", (0.9, 0.1))
TIED = Problem("tied", (0.7, 0.7, *[0.1] * 8))
"""Two best arms, as in an A/A test."""

START = QUORUM - 1
"""Where the axis of players begins, without being on it."""

SPEC = ExperimentSpec(arms=10, eta=ETA, delta=DELTA)

# Isolated players get delta / N: alone, and with delta = eta, that is eta.
ALONE = Scenario(SPEC.with_(delta=ETA, eta=ETA, scheme=Isolated()), get_problem("1"), 1)


def scenarios(settings: Settings) -> Plan:
    """The worst subroutine under both votes, two tied arms, and a player alone."""
    players, trials = settings.players, ROUNDS * settings.trials
    worst = [Scenario(spec, TWO_ARMS, n) for spec in (WORST, WORST_JURY) for n in players]
    tied = [Scenario(SPEC, TIED, n) for n in players]
    return dict.fromkeys((*worst, ALONE), trials) | dict.fromkeys(tied, settings.trials)


def lost(table: Table, spec: ExperimentSpec, n_players: int) -> Estimate:
    """How often the best of two arms, arm 0, is not among those left."""
    return proportion(~table[Scenario(spec, TWO_ARMS, n_players)].leaves(0))


def _doublings(n: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log2(np.maximum(n - START, 0.5)))


def _players(doublings: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(2.0**doublings + START)


def figure(table: Table) -> Figure:
    """Failure of both votes over N, beside the claim and what any M of N give.

    Paper: Theorem 1.
    """
    drawn, [axes] = style.panels(1, size=(7.2, 3.9), right=0.8)
    for n in table.players:
        for spec, mark, fill in ((WORST, "o", style.BLACK), (WORST_JURY, "D", "white")):
            found = lost(table, spec, n)
            style.bars(axes, [n], [found], style.BLACK)
            axes.plot([n], [found.value], mark, color=style.BLACK, markerfacecolor=fill)
    sizes = range(QUORUM, max(table.players[-1], table.players[0] + 4) + 1)
    any_quorum = [vote_failure(n, lone=ETA, quorum=QUORUM) for n in sizes]
    axes.plot(list(sizes), any_quorum, color=style.BLACK, linewidth=1.0)
    axes.axhline(CLAIMED, color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.2)
    # A tick for each number that was run, on a scale that opens where all happens: next to M.
    axes.set_xscale("function", functions=(_doublings, _players))
    axes.set_xticks(table.players, [f"{n:,}" for n in table.players])
    axes.minorticks_off()
    axes.set_xlim(START + 0.75, START + 1.25 * (table.players[-1] - START))
    axes.set_xlabel("number of players")
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel("best arm voted out")
    axes.set_title("Subroutines that fail with probability η")
    look: dict[str, Any] = {"xycoords": "axes fraction", "va": "center", "fontsize": 8.5}
    for text, height, colour in (
        (f"decentralized:\nany {QUORUM} of N, η = {ETA:g}", 1.0, style.BLACK),
        (f"claimed, ηᴹ = {CLAIMED:.3f}", 0.115, style.GREY),
        (f"jury: {NEEDED} of {JURY.seats}, η = {WORST_JURY.eta:g}", 0.0, style.BLACK),
    ):
        axes.annotate(text, (1.02, (height + 0.03) / 1.08), color=colour, **look)
    style.footnote(
        drawn,
        f"Points: share of {ROUNDS * table.trials:,} runs, hollow for the jury (promised "
        f"{PROMISE:.3f}). {style.BARS}",
        f"Line: P(Bin(N, η) ≥ {QUORUM}), computed.",
    )
    return drawn


def claims(table: Table) -> list[Row]:
    """What Theorem 1 says, judged; and the same sentence for the jury.

    What the adversary of Definition 3 infers has three readings: as often as it is right, as it can
    certify by Property 1, or by what is proved of the algorithm, which it knows. Property 1 alone
    certifies an arm that a player keeps with probability 1 - eta, and no more: a subroutine that
    fails with probability exactly eta has the property.
    """

    def agreed(n: int) -> Estimate:
        return proportion(table[Scenario(SPEC, TIED, n)].ended("agreed"))

    failed = Case("decentralized", table.at_each(lost, table, WORST), Range(high=CLAIMED))
    jury = Case("jury", table.at_each(lost, table, WORST_JURY), Range(high=DELTA))
    numbers = {"needed": NEEDED, "seats": JURY.seats, "promise": PROMISE}
    numbers |= {"eta": WORST_JURY.eta, "delta": DELTA}
    tied = Case("two tied arms", table.at_each(agreed), Range(low=0.5))
    proved = lone_failure("ser3", n_arms=SPEC.n_arms, epsilon=SPEC.epsilon, eta=ETA).bound
    assert proved is not None
    named = proportion(table[ALONE].epsilon_optimal).located("one player's whole vote")
    inferred = [
        Case(label, (estimate,), Range(high=1 - ETA), reading=reading)
        for label, estimate, reading in (
            ("a player who votes to the end", named, ""),
            ("the least it can be", exact(1 - ETA), "what Property 1 certifies"),
            ("1 - its error", exact(1 - proved), "what the proof of SER3 certifies"),
        )
    ]
    return [
        judged("theorem-1-failure", [failed], claimed=CLAIMED),
        judged("theorem-1-failure-of-a-jury", [jury], **numbers),
        judged("theorem-1-ends", [tied]),
        judged("theorem-1-privacy", inferred, cap=1 - ETA),
    ]


STUDIES = (Study("theorem-1", scenarios, figure, claims),)
