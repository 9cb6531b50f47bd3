"""Uniform players: samples and messages of six algorithms.

Paper: the figure "Uniform distribution of players", panels (a) and (b).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from devote.simulate import Result
from devote.simulate.estimates import Estimate, deviation_ratio, exact, mean, ratio
from devote.studies.claim import Case, Claim, Range, cases_for, judged
from devote.studies.drawing import style
from devote.studies.drawing.curves import Curve, curve, draw_counts, samples_figure
from devote.studies.study import ALONE_FACTOR, Planned, Settings, Study, Table, grid
from devote.studies.variants import QUORUM, RADIUS_FORMS, SER3, SUBROUTINES, UGAPEC, Variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    return grid(settings, ["1"], variants=variants, shared=["1"]) + single


def figure(table: Table) -> "Figure":
    """Panel (a) samples, panel (b) messages."""
    return samples_figure(
        table,
        "1",
        _draw_messages,
        "(b) As the paper counts: a vote sent to all is one message, a shared sample is "
        "N−1. Grey: votes counted like samples, once per receiver.",
    )


def _draw_messages(axes: "Axes", table: Table) -> None:
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
    """What section 5.2 and the caption say about problem 1, messages and votes."""
    runs = ALONE_FACTOR * table.trials
    ugapec = table[UGAPEC.shared()].samples

    def result(variant: Variant, scheme: str, n: int) -> Result:
        return table[variant.scenario("1", scheme, n)]

    def votes_per_arm(n: int) -> Estimate:
        return mean(result(SER3, "decentralized", n).broadcasts / 9)

    def sent_alone(variant: Variant, n: int) -> Estimate:
        return mean(result(variant, "isolated", n).broadcasts)

    def per_sample(count: str, n: int) -> Estimate:
        shared = result(UGAPEC, "pooled", n)
        return ratio(getattr(shared, count) / (n - 1), shared.samples)

    def orders(count: str, variant: Variant, n: int) -> Estimate:
        votes = getattr(result(variant, "decentralized", n), count)
        return mean(np.log10(result(variant, "pooled", n).deliveries / votes))

    def spread(variant: Variant, n: int) -> Estimate:
        return deviation_ratio(table[variant.alone(n)].samples, table[UGAPEC.alone(n)].samples)

    def voters(variant: Variant, n: int) -> Estimate:
        return mean((result(variant, "decentralized", n).first_vote >= 0).sum(axis=1))

    same = cases_for(
        RADIUS_FORMS, lambda v: (ratio(table[v.shared()].samples, ugapec),), Range(0.9, 1.1)
    )
    eight_hundred = cases_for(
        SUBROUTINES, lambda v: (mean(table[v.shared()].samples),), Range(720, 880)
    )
    needed = (
        Case("formula", (exact(QUORUM),), Range(28, 28)),
        Case("counted", table.at_each(votes_per_arm), Range(28, 28)),
    )
    silent = cases_for(SUBROUTINES, lambda v: table.at_each(sent_alone, v), Range(0, 0))
    as_one = "a broadcast counted as one message"
    one_each = (
        Case("a message per receiver", table.at_each(per_sample, "deliveries"), Range(1, 1)),
        Case("UGapEc", table.at_each(per_sample, "broadcasts"), Range(1, 1), reading=as_one),
    )
    # Counted in both ways (erratum 9).
    magnitude = [
        case
        for count, reading in (("broadcasts", ""), ("deliveries", "counted like for like"))
        for case in cases_for(
            RADIUS_FORMS, partial(table.at_each, orders, count), Range(3, 4), reading=reading
        )
    ]
    variance = cases_for(
        RADIUS_FORMS,
        lambda v: table.at_each(spread, v, players=extremes(table.players)),
        Range(low=1.0),
    )
    groups = cases_for(RADIUS_FORMS, lambda v: table.at_each(voters, v), Range(low=29))
    return [
        judged("0-privacy-same", same, runs=runs),
        judged("0-privacy-800", eight_hundred, runs=runs),
        judged("quorum-28", needed),
        judged("1-privacy-silent", silent),
        judged("0-privacy-messages", one_each),
        judged("orders-of-magnitude", magnitude),
        judged("1-privacy-variance", variance, runs=runs),
        judged("groups-of-voters", groups),
    ]


STUDIES = (Study("problem-1", scenarios, figure, claims),)
