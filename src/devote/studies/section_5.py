"""Samples and messages on the paper's three problems: Figures 6 to 8, and what section 5.2 says.

The last study, ``radius-forms``, is this project's own. The paper prints no radius of SER3; two
valid ones give different answers to some of its sentences, which say so in their rows.

Paper: section 5.2.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from devote.studies import style
from devote.studies.claim import CLEARLY, Case, Range, Row, cases_for, judged
from devote.studies.curves import (
    LOWER_BOUND,
    Curve,
    curve,
    draw_counts,
    draw_curves,
    level,
    samples_figure,
    write_labels,
)
from devote.studies.estimates import (
    Estimate,
    deviation_ratio,
    exact,
    exponent,
    mean,
    mean_count,
    ratio,
    slopes,
)
from devote.studies.study import ALONE_FACTOR, Plan, Settings, Study, Table, grid
from devote.studies.style import Axes, Figure
from devote.studies.variants import (
    FORM,
    MEDIAN_ELIMINATION,
    QUORUM,
    RADIUS_FORMS,
    SCHEMES,
    SER3,
    SUBROUTINES,
    SUCCESSIVE_ELIMINATION,
    UGAPEC,
    Variant,
)

Estimates = tuple[Estimate, ...]

ABOVE, BELOW = Range(low=1.0), Range(high=1.0)
STATIONARY = ("1", "2")
VOTES, ALONE = "decentralized", "isolated"


# Problem 1, uniform players: the figure "Uniform distribution of players", panels (a) and (b).


def problem_1_scenarios(settings: Settings) -> Plan:
    """All six algorithms, SER3 in both forms; and single learners many times over."""
    singles = [v.alone(n) for n in settings.extremes for v in SUBROUTINES.values()]
    many = dict.fromkeys(singles, ALONE_FACTOR * settings.trials)
    return grid(settings, ["1"], shared=["1"]) | many


def _draw_messages(axes: Axes, table: Table) -> None:
    """Panel (b): messages sent, for 0-privacy and one vote curve also times their receivers."""

    def counts(per_sender: Estimates, receivers: bool, **look: Any) -> Curve:
        """A curve of these counts; with ``receivers`` each is multiplied by N - 1."""
        factors = [n - 1 if receivers else 1 for n in table.players]
        estimates = tuple(
            Estimate(f * e.value, f * e.low, f * e.high)
            for f, e in zip(factors, per_sender, strict=True)
        )
        return replace(curve(table, SER3, VOTES, "1", estimates=estimates), **look)

    def shared_samples(variant: Variant) -> Curve:
        """Of 0-privacy: each sample goes to N - 1 others."""
        samples = (mean(table.shared(variant)),) * len(table.players)
        colour, line = style.SUBROUTINES[variant.label], style.dots(variant.label)
        look = {"label": f"0-privacy {variant.label}", "colour": colour, "line": line}
        return counts(samples, True, marker="", **look)

    votes = table.at_each(lambda n: mean(table[SER3.scenario("1", VOTES, n)].broadcasts))
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


def problem_1_claims(table: Table) -> list[Row]:
    """What section 5.2 and the caption say about problem 1, messages and votes."""
    runs = ALONE_FACTOR * table.trials

    def count(what: str, variant: Variant, scheme: str, n: int) -> Any:
        return getattr(table[variant.scenario("1", scheme, n)], what)

    def per_sample(what: str, n: int) -> Estimate:
        sent = count(what, UGAPEC, "pooled", n) / (n - 1)
        return ratio(sent, table.samples(UGAPEC, "pooled", "1", n))

    def orders(what: str, variant: Variant, n: int) -> Estimate:
        shared = count("deliveries", variant, "pooled", n)
        return mean(np.log10(shared / count(what, variant, VOTES, n)))

    def voters(variant: Variant, n: int) -> Estimate:
        return mean((count("first_vote", variant, VOTES, n) >= 0).sum(axis=1))

    def sent_alone(variant: Variant, n: int) -> Estimate:
        return mean(count("broadcasts", variant, ALONE, n))

    def spread(variant: Variant, n: int) -> Estimate:
        return deviation_ratio(*(table.samples_of(v.alone(n)) for v in (variant, UGAPEC)))

    def each(measure: Any, **players: Any) -> Callable[[Variant], Estimates]:
        return lambda variant: table.at_each(partial(measure, variant), **players)

    def same(variant: Variant) -> Estimates:
        return (ratio(table.shared(variant), table.shared(UGAPEC)),)

    def shared(variant: Variant) -> Estimates:
        return (mean(table.shared(variant)),)

    votes_per_arm = table.at_each(lambda n: mean(count("broadcasts", SER3, VOTES, n) / 9))
    needed = (
        Case("formula", (exact(QUORUM),), Range(28, 28)),
        Case("counted", votes_per_arm, Range(28, 28)),
    )
    to_each, to_all = (table.at_each(per_sample, what) for what in ("deliveries", "broadcasts"))
    as_one = "a broadcast counted as one message"
    one_each = (
        Case("a message per receiver", to_each, Range(1, 1)),
        Case("UGapEc", to_all, Range(1, 1), reading=as_one),
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
        judged("0-privacy-same", cases_for(RADIUS_FORMS, same, Range(0.9, 1.1)), runs=runs),
        judged("0-privacy-800", cases_for(SUBROUTINES, shared, Range(720, 880)), runs=runs),
        judged("quorum-28", needed),
        judged("1-privacy-silent", cases_for(SUBROUTINES, each(sent_alone), Range(0, 0))),
        judged("0-privacy-messages", one_each),
        judged("orders-of-magnitude", magnitude),
        judged("1-privacy-variance", cases_for(RADIUS_FORMS, variance, ABOVE), runs=runs),
        judged("groups-of-voters", cases_for(RADIUS_FORMS, each(voters), Range(low=29))),
    ]


# Problem 2: the figure "50 % of players generates 80 % of events", panel (a).

DIP = (32, 64)
"""Paper: "between 32 to 64 players"."""


def _draw_both_problems(axes: Axes, table: Table) -> None:
    curves = []
    for variant in (SER3, UGAPEC):
        for problem, look in (("2", {}), ("1", {"marker": "", "width": 1.0})):
            look["label"] = f"{variant.label}, problem {problem}"
            curves.append(curve(table, variant, VOTES, problem, **look))
    draw_counts(axes, table, curves)
    axes.set_title("(b) Decentralized, problems 1 and 2")


def problem_2_claims(table: Table) -> list[Row]:
    """What section 5.2 says about problem 2, and about UGapEc against SER3 on problems 1 and 2.

    A case that needs numbers of players which were not run has no estimates.
    """
    sizes = table.players
    more = tuple(n for n in sizes if n >= DIP[1])

    def growth(variant: Variant) -> Estimates:
        curves = {p: table.trials_by_players(variant, ALONE, p) for p in STATIONARY}
        found = (exponent(sizes, some).located(f"problem {p}") for p, some in curves.items())
        return tuple(found) if len(sizes) > 1 else ()

    def uneven(variant: Variant, scheme: str, players: tuple[int, ...]) -> Estimates:
        return table.compared((variant, scheme, "2"), (variant, scheme, "1"), players=players)

    def dip(variant: Variant) -> Estimates:
        if not set(DIP) <= set(sizes):
            return ()
        few, many = (table.samples(variant, VOTES, "2", n) for n in DIP)
        return (ratio(many, few),)

    def rare_voters(variant: Variant, n_players: int) -> Estimates:
        if n_players not in sizes:
            return ()
        result = table[variant.scenario("2", VOTES, n_players)]
        weights = np.array(result.problem.activity.weights(n_players))
        rare = weights < weights.max()
        voters = (result.first_vote[:, rare] >= 0).sum(axis=1)
        return (mean_count(voters, most=float(rare.sum())),)

    faster = cases_for(SUBROUTINES, partial(uneven, scheme=VOTES, players=more), BELOW)
    if more != sizes:
        all_sizes = partial(uneven, scheme=VOTES, players=sizes)
        faster += cases_for(SUBROUTINES, all_sizes, BELOW, reading="with 32 players too")
    worse = cases_for(SUBROUTINES, partial(uneven, scheme=ALONE, players=sizes), ABOVE)
    few, many = (partial(rare_voters, n_players=n) for n in DIP)
    return [
        judged("1-privacy-super-linear", cases_for(SUBROUTINES, growth, ABOVE)),
        judged("1-privacy-uneven", worse),
        judged("decentralized-uneven", faster),
        judged("dip-32-64", cases_for(SUBROUTINES, dip, BELOW)),
        judged("linear-from-64", _linear(table, more)),
        judged("waits-for-rare-players", cases_for(SUBROUTINES, few, ABOVE)),
        judged("no-wait-with-64", cases_for(SUBROUTINES, many, BELOW)),
        *_ugapec_against_ser3(table),
    ]


def _linear(table: Table, players: tuple[int, ...]) -> tuple[Case, ...]:
    """Whether samples grow along a straight line; and, as another reading, as a power of N."""
    if len(players) < 3:
        return ()
    n, middle = np.array(players, dtype=np.float64), len(players) // 2
    trials = {v: table.trials_by_players(v, VOTES, "2", players) for v in SUBROUTINES.values()}

    def straight(variant: Variant) -> Estimates:
        samples = trials[variant]
        early = (samples[:, middle] - samples[:, 0]) / (n[middle] - n[0])
        late = (samples[:, -1] - samples[:, middle]) / (n[-1] - n[middle])
        return (mean(late / early),)

    def power(variant: Variant) -> Estimates:
        return (exponent(players, trials[variant]),)

    reading = "as a power of N, exponent from .9 to 1.1"
    return cases_for(SUBROUTINES, straight, Range(0.8, 1.25)) + cases_for(
        SUBROUTINES, power, Range(0.9, 1.1), reading=reading
    )


def _ugapec_against_ser3(table: Table) -> list[Row]:
    """On the two stationary problems."""

    def slower(ser3: Variant, problem: str) -> Estimates:
        return table.compared((ser3, ALONE, problem), (UGAPEC, ALONE, problem))

    def per_doubling(ser3: Variant, problem: str) -> Estimates:
        if len(table.players) < 2:
            return ()
        ours, theirs = (np.log2(table.trials_by_players(v, ALONE, problem)) for v in (ser3, UGAPEC))
        doublings = np.log2(np.array(table.players, dtype=np.float64))
        return (mean(100 * (2 ** slopes(doublings, ours - theirs) - 1)),)

    def faster(ser3: Variant, problem: str) -> Estimates:
        return table.compared((UGAPEC, VOTES, problem), (ser3, VOTES, problem))

    rows = []
    for name, measure, least in (
        ("1-privacy-ugapec-better", slower, CLEARLY),
        ("1-privacy-ugapec-gain-grows", per_doubling, 0.0),
        ("decentralized-ser3-better", faster, CLEARLY),
    ):
        cases: tuple[Case, ...] = ()
        for p in STATIONARY:
            there = partial(measure, problem=p)
            cases += cases_for(RADIUS_FORMS, there, Range(low=least), label=f"problem {p}, ")
        rows.append(judged(name, cases, clearly=CLEARLY))
    return rows


# Problem 3: the figure "the mean rewards of suboptimal arms linearly decrease", panel (b).

SHIFTS = (0.94, 0.98, 1.02, 1.06)
"""Four curves side by side at each number of players, so that no bar hides another."""


def _draw_relative(axes: Axes, table: Table) -> None:
    curves = []
    for shift, (scheme, variant) in zip(
        SHIFTS, product((ALONE, VOTES), (SER3, UGAPEC)), strict=True
    ):
        drifting, steady = (table.trials_by_players(variant, scheme, p) for p in ("3", "1"))
        relative = tuple(map(mean, (drifting / steady).T))
        curves.append(curve(table, variant, scheme, "3", estimates=relative, shift=shift))
    labels = draw_curves(axes, curves)
    style.players_axis(axes, table.players)
    axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
    axes.set_ylabel("samples, problem 3 / problem 1")
    axes.set_title("(b) Problem 3 relative to problem 1")
    write_labels(axes, labels)


def problem_3_claims(table: Table) -> list[Row]:
    """What section 5.2 says about decreasing rewards."""

    def behind(ser3: Variant, scheme: str) -> Estimates:
        """How many times SER3's samples UGapEc takes on problem 3."""
        return table.compared((UGAPEC, scheme, "3"), (ser3, scheme, "3"))

    def lagging(ser3: Variant, scheme: str) -> Estimates:
        """Trial by trial: how far UGapEc lags behind SER3 with the drift, against without it."""

        def lag(n: int) -> Estimate:
            drifting, steady = (
                table.samples(UGAPEC, scheme, p, n) / table.samples(ser3, scheme, p, n)
                for p in ("3", "1")
            )
            return mean(drifting / steady)

        return table.at_each(lag)

    collapse: tuple[Case, ...] = ()
    for measure, reading in ((behind, ""), (lagging, "against SER3, relative to problem 1")):
        for way in (ALONE, VOTES):
            look = {"reading": reading, "label": f"{SCHEMES[way]}, "}
            collapse += cases_for(RADIUS_FORMS, partial(measure, scheme=way), ABOVE, **look)
    for way in (ALONE, VOTES):
        slower = table.compared((UGAPEC, way, "3"), (UGAPEC, way, "1"))
        reading = "UGapEc alone, relative to problem 1"
        collapse += (Case(SCHEMES[way], slower, ABOVE, reading=reading),)
    alone, votes = (partial(behind, scheme=way) for way in (ALONE, VOTES))
    return [
        judged("1-privacy-drift", cases_for(RADIUS_FORMS, alone, ABOVE)),
        judged("decentralized-drift", cases_for(RADIUS_FORMS, votes, ABOVE)),
        judged("ugapec-collapses", collapse),
    ]


# The figure "Decentralized Median Elimination", panels (a) and (b).

ELIMINATIONS = (MEDIAN_ELIMINATION, SUCCESSIVE_ELIMINATION, UGAPEC, SER3)


def draw_median_elimination(table: Table) -> Figure:
    """Samples of four decentralized algorithms: panel (a) problem 1, panel (b) problem 2."""
    drawn, axes = style.panels(2)
    for letter, problem, panel in zip("ab", STATIONARY, axes, strict=True):
        curves = [curve(table, v, VOTES, problem, label=v.label) for v in ELIMINATIONS]
        draw_counts(panel, table, curves, bound=problem)
        panel.set_title(f"({letter}) Problem {problem}: samples until all are done")
    style.footnote(
        drawn,
        f"All under Decentralized Elimination. Points: means of {table.trials} trials. "
        f"{style.BARS} SER3 with radius “{FORM}”.",
        LOWER_BOUND,
    )
    return drawn


def median_elimination_claims(table: Table) -> list[Row]:
    """What sections 5.2 and 6 say about the choice of subroutine."""

    def cases(
        worse: Variant, better: Iterable[Variant], least: float, reading: str = ""
    ) -> list[Case]:
        return [
            Case(
                f"problem {problem}, {one.form or one.label}",
                table.compared((worse, VOTES, problem), (one, VOTES, problem)),
                Range(low=least),
                one.form,
                reading,
            )
            for one in better
            for problem in STATIONARY
        ]

    outperformed = cases(MEDIAN_ELIMINATION, (SUCCESSIVE_ELIMINATION, UGAPEC), CLEARLY)
    other = "with Successive Elimination for SER3"
    suits = cases(UGAPEC, RADIUS_FORMS.values(), 1.0)
    suits += cases(UGAPEC, [SUCCESSIVE_ELIMINATION], 1.0, other)
    return [
        judged("median-elimination-outperformed", outperformed, clearly=CLEARLY),
        judged("successive-elimination-suits", suits),
    ]


# SER3 with each form of its radius, relative to UGapEc under the same scheme.

TICKS = (0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.4)


def draw_radius_forms(table: Table) -> Figure:
    """One panel per problem, on one scale."""
    drawn, panels = style.panels(3, size=(10.0, 4.3), between=0.1, sharey=True)
    for problem, axes in zip("123", panels, strict=True):
        axes.axhline(1.0, color=style.BLACK, linewidth=0.9)
        labels = draw_curves(axes, _relative_to_ugapec(table, problem))
        style.players_axis(axes, table.players)
        axes.set_yscale("log", base=2)
        axes.set_yticks(TICKS, [f"{value:g}" for value in TICKS])
        axes.minorticks_off()
        axes.set_ylim(0.34, 1.5)
        axes.set_title(f"Problem {problem}")
    write_labels(panels[-1], labels)
    panels[0].set_ylabel("samples of SER3 / samples of UGapEc")
    style.footnote(
        drawn,
        f"Points: ratios of means over {table.trials} trials (0-privacy, which does not "
        f"depend on N: one line, {ALONE_FACTOR * table.trials:,}). {style.BARS} Below 1 "
        "SER3 needs fewer samples.",
        "The paper, which prints no radius, has 1-privacy above 1 on problems 1 and 2, "
        "below 1 on problem 3, and 0-privacy at 1.",
    )
    return drawn


def _relative_to_ugapec(table: Table, problem: str) -> list[Curve]:
    curves = []
    for form, variant in RADIUS_FORMS.items():
        for scheme in (VOTES, ALONE):
            relative = table.compared((variant, scheme, problem), (UGAPEC, scheme, problem))
            look = {"estimates": relative, "label": f"{SCHEMES[scheme]}, {form}"}
            curves.append(curve(table, variant, scheme, problem, **look))
        shared = ratio(table.shared(variant, problem), table.shared(UGAPEC, problem))
        curves.append(level(table, shared, f"{SCHEMES['pooled']}, {form}", variant))
    return curves


STUDIES = (
    Study(
        "problem-1",
        problem_1_scenarios,
        partial(
            samples_figure,
            problem="1",
            draw_beside=_draw_messages,
            note="(b) As the paper counts: a vote sent to all is one message, a shared sample is "
            "N−1. Grey: votes counted like samples, once per receiver.",
        ),
        problem_1_claims,
    ),
    Study(
        "problem-2",
        partial(grid, problems=STATIONARY, shared=["2"]),
        partial(
            samples_figure,
            problem="2",
            draw_beside=_draw_both_problems,
            note="Problem 2: half of the players generates 80 % of the events. With 32 players the "
            "28 votes an arm needs must wait for rare players; with 64 they need not.",
        ),
        problem_2_claims,
    ),
    Study(
        "problem-3",
        partial(grid, problems=["1", "3"], shared=["3"]),
        partial(
            samples_figure,
            problem="3",
            draw_beside=_draw_relative,
            note="Problem 3: all arms but the best lose 1e-5 per time step, down to 0, so that the "
            "gaps widen. (b) Below 1: the drift makes the problem easier.",
        ),
        problem_3_claims,
    ),
    Study(
        "median-elimination",
        partial(
            grid,
            problems=STATIONARY,
            variants=(*SUBROUTINES.values(), SUCCESSIVE_ELIMINATION, MEDIAN_ELIMINATION),
            schemes=[VOTES],
        ),
        draw_median_elimination,
        median_elimination_claims,
    ),
    Study("radius-forms", partial(grid, problems="123", shared=["1", "3"]), draw_radius_forms),
)
