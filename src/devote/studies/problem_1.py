"""Uniform players: samples and messages of six algorithms.

Paper: the figure "Uniform distribution of players", panels (a) and (b).
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from devote.simulator.estimates import Estimate, deviation_ratio, exact, mean, ratio
from devote.studies.claim import Case, Range, Row, cases_for, judged
from devote.studies.drawing import style
from devote.studies.drawing.curves import Curve, curve, draw_counts, samples_figure
from devote.studies.drawing.style import Axes, Figure
from devote.studies.study import ALONE_FACTOR, Plan, Settings, Study, Table, grid
from devote.studies.variants import QUORUM, RADIUS_FORMS, SER3, SUBROUTINES, UGAPEC, Variant


def scenarios(settings: Settings) -> Plan:
    """All six algorithms, SER3 in both forms; and single learners many times over."""
    singles = [v.alone(n) for n in settings.extremes for v in SUBROUTINES.values()]
    many = dict.fromkeys(singles, ALONE_FACTOR * settings.trials)
    return grid(settings, ["1"], shared=["1"]) | many


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
    def counts(per_sender: tuple[Estimate, ...], receivers: bool, **look: Any) -> Curve:
        factors = [n - 1 if receivers else 1 for n in table.players]
        estimates = tuple(
            Estimate(f * e.value, f * e.low, f * e.high)
            for f, e in zip(factors, per_sender, strict=True)
        )
        sent = curve(table, SER3, scheme="decentralized", problem="1", estimates=estimates)
        return replace(sent, **look)

    def shared_samples(variant: Variant) -> Curve:
        """Of 0-privacy: each sample goes to N - 1 others."""
        samples = (mean(table[variant.shared()].samples_until_all_know),) * len(table.players)
        colour, line = style.SUBROUTINES[variant.label], style.dots(variant.label)
        look = {"label": f"0-privacy {variant.label}", "colour": colour, "line": line}
        return counts(samples, True, marker="", **look)

    votes = table.at_each(lambda n: mean(table[SER3.scenario("1", "decentralized", n)].broadcasts))
    grey = {"colour": style.GREY, "line": "-.", "marker": ""}
    curves = [
        shared_samples(SER3),
        shared_samples(UGAPEC),
        counts(votes, False, label="Decentralized", colour=style.BLACK),
        counts(votes, True, label="Decentralized × (N−1)", **grey),
    ]
    draw_counts(axes, table, curves, of="messages")
    axes.set_ylim(bottom=30)
    axes.annotate(
        "1-privacy: no messages", (0.03, 0.03), xycoords="axes fraction", color=style.GREY, size=8.5
    )
    axes.set_title("(b) Problem 1: messages")


def claims(table: Table) -> list[Row]:
    """What section 5.2 and the caption say about problem 1, messages and votes."""
    runs = ALONE_FACTOR * table.trials
    ugapec = table[UGAPEC.shared()].samples_until_all_know

    def count(what: str, variant: Variant, scheme: str, n: int) -> Any:
        return getattr(table[variant.scenario("1", scheme, n)], what)

    def per_sample(what: str, n: int) -> Estimate:
        sent, samples = (
            count(one, UGAPEC, "pooled", n) for one in (what, "samples_until_all_know")
        )
        return ratio(sent / (n - 1), samples)

    def orders(what: str, variant: Variant, n: int) -> Estimate:
        votes = count(what, variant, "decentralized", n)
        return mean(np.log10(count("deliveries", variant, "pooled", n) / votes))

    def voters(variant: Variant, n: int) -> Estimate:
        return mean((count("first_vote", variant, "decentralized", n) >= 0).sum(axis=1))

    def votes_per_arm(n: int) -> Estimate:
        return mean(count("broadcasts", SER3, "decentralized", n) / 9)

    def sent_alone(variant: Variant, n: int) -> Estimate:
        return mean(count("broadcasts", variant, "isolated", n))

    def spread(variant: Variant, n: int) -> Estimate:
        return deviation_ratio(
            table[variant.alone(n)].samples_until_all_know,
            table[UGAPEC.alone(n)].samples_until_all_know,
        )

    def each(measure: Any, **players: Any) -> Any:
        return lambda variant: table.at_each(partial(measure, variant), **players)

    def shared(variant: Variant) -> tuple[Estimate, ...]:
        return (mean(table[variant.shared()].samples_until_all_know),)

    same = cases_for(
        RADIUS_FORMS,
        lambda v: (ratio(table[v.shared()].samples_until_all_know, ugapec),),
        Range(0.9, 1.1),
    )
    needed = (
        Case("formula", (exact(QUORUM),), Range(28, 28)),
        Case("counted", table.at_each(votes_per_arm), Range(28, 28)),
    )
    as_one = "a broadcast counted as one message"
    one_each = (
        Case(
            "a message per receiver", table.at_each(partial(per_sample, "deliveries")), Range(1, 1)
        ),
        Case("UGapEc", table.at_each(partial(per_sample, "broadcasts")), Range(1, 1), "", as_one),
    )
    # Counted in both ways (erratum 9).
    magnitude = [
        case
        for what, reading in (("broadcasts", ""), ("deliveries", "counted like for like"))
        for case in cases_for(
            RADIUS_FORMS, each(partial(orders, what)), Range(3, 4), reading=reading
        )
    ]
    variance = each(spread, players=table.extremes)
    return [
        judged("0-privacy-same", same, runs=runs),
        judged("0-privacy-800", cases_for(SUBROUTINES, shared, Range(720, 880)), runs=runs),
        judged("quorum-28", needed),
        judged("1-privacy-silent", cases_for(SUBROUTINES, each(sent_alone), Range(0, 0))),
        judged("0-privacy-messages", one_each),
        judged("orders-of-magnitude", magnitude),
        judged("1-privacy-variance", cases_for(RADIUS_FORMS, variance, Range(low=1)), runs=runs),
        judged("groups-of-voters", cases_for(RADIUS_FORMS, each(voters), Range(low=29))),
    ]


STUDIES = (Study("problem-1", scenarios, figure, claims),)
