"""Uniform players: samples and messages of six algorithms.

Paper: the figure "Uniform distribution of players", panels (a) and (b).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.studies.claim import Case, Claim, Range
from devote.studies.drawing import style
from devote.studies.drawing.curves import Curve, curve, draw_counts, samples_figure
from devote.studies.estimates import Estimate, deviation_ratio, exact, mean, ratio
from devote.studies.measuring import at_each, cases_for
from devote.studies.settings import Settings
from devote.studies.study import ALONE_FACTOR, Planned, Study, Table, grid, shared_learners
from devote.studies.variants import RADIUS_FORMS, SER3, SUBROUTINES, UGAPEC, Variant

RESULTS = "section 5.2"
CAPTION = "figure 'Uniform distribution of players', caption"


def extremes(players: tuple[int, ...]) -> list[int]:
    """The smallest and the largest number of players."""
    return sorted({players[0], players[-1]})


def scenarios(settings: Settings) -> list[Planned]:
    """All six algorithms, SER3 in both forms; and single learners many times over."""
    variants = (*RADIUS_FORMS.values(), UGAPEC)
    single = [
        Planned(variant.alone(n), ALONE_FACTOR * settings.trials)
        for n in extremes(settings.players)
        for variant in variants
    ]
    crowd = grid(settings, ["1"], variants=variants)
    return crowd + shared_learners(settings, "1") + single


def figure(table: Table) -> Figure:
    """Panel (a) samples, panel (b) messages."""
    return samples_figure(
        table,
        "1",
        _draw_messages,
        "(b) As the paper counts: a vote sent to all is one message, a shared sample is "
        "N−1. Grey: votes counted like samples, once per receiver.",
    )


def _draw_messages(axes: Axes, table: Table) -> None:
    def per_receiver(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
        return tuple(
            Estimate((n - 1) * e.value, (n - 1) * e.low, (n - 1) * e.high)
            for n, e in zip(table.players, estimates, strict=True)
        )

    def shared_samples(variant: Variant) -> Curve:
        """Of 0-privacy: each sample goes to N - 1 others."""
        one = mean(table[variant.shared()].samples)
        return Curve(
            x=tuple(map(float, table.players)),
            estimates=per_receiver([one] * len(table.players)),
            label=f"0-privacy {variant.label}",
            colour=style.SUBROUTINES[variant.label],
            line=style.dots(variant.label),
        )

    ways = [SER3.scenario("1", "decentralized", n) for n in table.players]
    sent = tuple(mean(table[way].broadcasts) for way in ways)
    votes = curve(
        table,
        SER3,
        scheme="decentralized",
        problem="1",
        estimates=sent,
        label="Decentralized",
        colour=style.BLACK,
    )
    by_receiver = replace(
        votes,
        label="Decentralized × (N−1)",
        colour=style.GREY,
        estimates=per_receiver(sent),
        line="-.",
        marker="",
    )
    curves = [shared_samples(SER3), shared_samples(UGAPEC), votes, by_receiver]
    draw_counts(axes, table, curves, of="messages")
    axes.set_ylim(bottom=30)
    axes.annotate(
        "1-privacy: no messages", (0.03, 0.03), xycoords="axes fraction", color=style.GREY, size=8.5
    )
    axes.set_title("(b) Problem 1: messages")


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
    ugapec = table[UGAPEC.shared()].samples
    return Claim(
        name="0-privacy-same",
        quote="The sample complexities of 0-privacy baselines are the same",
        where=CAPTION,
        measured="samples of 0-privacy SER3 / samples of 0-privacy UGapEc, over "
        f"{ALONE_FACTOR * table.trials:,} trials",
        asked="within 10 % of 1",
        cases=cases_for(
            RADIUS_FORMS, lambda v: (ratio(table[v.shared()].samples, ugapec),), Range(0.9, 1.1)
        ),
        over_players=False,
    )


def _eight_hundred(table: Table) -> Claim:
    return Claim(
        name="0-privacy-800",
        quote="The sample complexities of 0-privacy baselines are the same: 800.",
        where=CAPTION,
        measured=f"samples of 0-privacy, over {ALONE_FACTOR * table.trials:,} trials",
        asked="within 10 % of 800",
        cases=cases_for(SUBROUTINES, lambda v: (mean(table[v.shared()].samples),), Range(720, 880)),
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
        cases=cases_for(SUBROUTINES, lambda v: at_each(table.players, sent, v), Range(0, 0)),
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
        return cases_for(
            RADIUS_FORMS,
            lambda v: at_each(table.players, orders, v, count),
            Range(3, 4),
            reading=reading,
        )

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
        return deviation_ratio(table[variant.alone(n)].samples, table[UGAPEC.alone(n)].samples)

    return Claim(
        name="1-privacy-variance",
        quote="1-privacy-UGapEc reduces the variance of the sample complexity",
        where=RESULTS,
        measured="standard deviation of one player's samples at delta/N, SER3 / UGapEc, over "
        f"{ALONE_FACTOR * table.trials:,} trials",
        asked="above 1",
        cases=cases_for(
            RADIUS_FORMS, lambda v: at_each(extremes(table.players), spread, v), Range(low=1.0)
        ),
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
        cases=cases_for(RADIUS_FORMS, lambda v: at_each(table.players, voters, v), Range(low=29)),
    )


STUDIES = (Study("problem-1", scenarios, figure, claims),)
