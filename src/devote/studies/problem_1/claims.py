"""What section 5.2 and the caption say about problem 1, messages and votes."""

import numpy as np

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, deviation_ratio, exact, mean, ratio
from devote.studies.measuring import at_each, by_form, by_subroutine
from devote.studies.problem_1.sweep import extremes
from devote.studies.single_learners import ALONE_FACTOR, alone, zero_privacy
from devote.studies.table import Table
from devote.studies.variants import SER3, UGAPEC, Variant
from devote.studies.verdicts import Case, Range

RESULTS = "section 5.2"
CAPTION = "figure 'Uniform distribution of players', caption"


def claims(table: Table) -> list[Claim]:
    """The rows."""
    return [
        _the_same(table),
        _eight_hundred(table),
        _quorum(table),
        _zero(table),
        _one_per_other_player(table),
        _orders_of_magnitude(table),
        _variance(table),
        _groups_of_voters(table),
    ]


def _the_same(table: Table) -> Claim:
    ugapec = table[zero_privacy(UGAPEC)].samples
    return Claim(
        name="0-privacy-same",
        quote="The sample complexities of 0-privacy baselines are the same",
        where=CAPTION,
        measured="samples of 0-privacy SER3 / samples of 0-privacy UGapEc, over "
        f"{ALONE_FACTOR * table.trials:,} trials",
        asked="within 10 % of 1",
        cases=by_form(lambda v: (ratio(table[zero_privacy(v)].samples, ugapec),), Range(0.9, 1.1)),
        over_players=False,
    )


def _eight_hundred(table: Table) -> Claim:
    return Claim(
        name="0-privacy-800",
        quote="The sample complexities of 0-privacy baselines are the same: 800.",
        where=CAPTION,
        measured=f"samples of 0-privacy, over {ALONE_FACTOR * table.trials:,} trials",
        asked="within 10 % of 800",
        cases=by_subroutine(lambda v: (mean(table[zero_privacy(v)].samples),), Range(720, 880)),
        across="subroutine",
        over_players=False,
    )


def _quorum(table: Table) -> Claim:
    def votes_per_arm(n: int) -> Estimate:
        return mean(table[SER3.scenario("1", "decentralized", n)].broadcasts / 9)

    quorum = SER3.spec().votes_needed
    assert quorum is not None
    return Claim(
        name="quorum-28",
        quote="the number M [...] of player votes required to eliminate an arm is 28",
        where=RESULTS,
        measured="M by the formula; votes broadcast / arms eliminated by Decentralized SER3",
        asked="28 exactly",
        cases=(
            Case("formula", (exact(quorum),), Range(28, 28)),
            Case("counted", at_each(table.players, votes_per_arm), Range(28, 28)),
        ),
        across="formula or count",
        note="0.9^28 = 0.0523 is more than delta = 0.05: 28 votes fall short, 29 would do "
        "(erratum 6).",
    )


def _zero(table: Table) -> Claim:
    def sent(variant: Variant, n: int) -> Estimate:
        return mean(table[variant.scenario("1", "isolated", n)].broadcasts)

    return Claim(
        name="1-privacy-silent",
        quote="1-privacy baselines send zero messages",
        where=RESULTS,
        measured="messages of 1-privacy",
        asked="0 exactly",
        cases=by_subroutine(lambda v: at_each(table.players, sent, v), Range(0, 0)),
        across="subroutine",
    )


def _one_per_other_player(table: Table) -> Claim:
    def per_sample(count: str, n: int) -> Estimate:
        result = table[UGAPEC.scenario("1", "pooled", n)]
        return ratio(getattr(result, count) / (n - 1), result.samples)

    return Claim(
        name="0-privacy-messages",
        quote="0-privacy baselines send N-1 messages per time step until the epsilon-optimal "
        "arm is found",
        where=RESULTS,
        measured="messages of 0-privacy UGapEc per sample, divided by N-1",
        asked="1 exactly",
        cases=tuple(
            Case(label, at_each(table.players, per_sample, count), Range(1, 1), reading=reading)
            for label, count, reading in (
                ("a message per receiver", "deliveries", ""),
                ("UGapEc", "broadcasts", "a broadcast counted as one message"),
            )
        ),
    )


def _orders_of_magnitude(table: Table) -> Claim:
    """Counted in both ways (erratum 9)."""

    def orders(variant: Variant, count: str, n: int) -> Estimate:
        pooled = table[variant.scenario("1", "pooled", n)].deliveries
        votes = getattr(table[variant.scenario("1", "decentralized", n)], count)
        return mean(np.log10(pooled / votes))

    def counted(count: str, reading: str = "") -> tuple[Case, ...]:
        return by_form(lambda v: at_each(table.players, orders, v, count), Range(3, 4), reading)

    return Claim(
        name="orders-of-magnitude",
        quote="Decentralized SER3 needs three to four orders of magnitude less messages than "
        "0-privacy-SER3",
        where=RESULTS,
        measured="log10 of messages of 0-privacy SER3 / messages of Decentralized SER3",
        asked="from 3 to 4",
        cases=counted("broadcasts") + counted("deliveries", "counted like for like"),
        note="As printed, a sample shared with all is N-1 messages and a vote sent to all is one; "
        "like for like, both are N-1 (erratum 9).",
    )


def _variance(table: Table) -> Claim:
    def spread(variant: Variant, n: int) -> Estimate:
        return deviation_ratio(table[alone(variant, n)].samples, table[alone(UGAPEC, n)].samples)

    return Claim(
        name="1-privacy-variance",
        quote="1-privacy-UGapEc reduces the variance of the sample complexity",
        where=RESULTS,
        measured="standard deviation of one player's samples at delta/N, SER3 / UGapEc, over "
        f"{ALONE_FACTOR * table.trials:,} trials",
        asked="above 1",
        cases=by_form(lambda v: at_each(extremes(table.players), spread, v), Range(low=1.0)),
    )


def _groups_of_voters(table: Table) -> Claim:
    def voters(variant: Variant, n: int) -> Estimate:
        result = table[variant.scenario("1", "decentralized", n)]
        return mean((result.first_vote >= 0).sum(axis=1))

    return Claim(
        name="groups-of-voters",
        quote="the different suboptimal arms [...] are progressively eliminated by different "
        "groups of voting players",
        where=RESULTS,
        measured="players of Decentralized SER3 who vote at least once; one group would be 28",
        asked="29 or more",
        cases=by_form(lambda v: at_each(table.players, voters, v), Range(low=29)),
    )
