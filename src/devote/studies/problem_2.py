"""Half of the players generates 80 % of the events: samples of six algorithms.

Paper: the figure "50 % of players generates 80 % of events", panel (a).
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from devote.studies.claim import Case, Claim, Range
from devote.studies.drawing.curves import curve, draw_counts, samples_figure
from devote.studies.estimates import Estimate, exponent, mean, mean_count, ratio, slopes
from devote.studies.measuring import CLEARLY, cases_for, compared
from devote.studies.settings import Settings
from devote.studies.study import Planned, Study, Table, grid, shared_learners
from devote.studies.variants import RADIUS_FORMS, SER3, SUBROUTINES, UGAPEC, Variant

WHERE = "section 5.2"
DIP = (32, 64)
"""Paper: "between 32 to 64 players"."""
STATIONARY = ("1", "2")


def scenarios(settings: Settings) -> list[Planned]:
    """All six algorithms on problem 2, and on problem 1, with which the paper compares it."""
    return grid(settings, STATIONARY) + shared_learners(settings, "2")


def figure(table: Table) -> Figure:
    """Panel (a) the six algorithms, panel (b) both problems side by side."""
    return samples_figure(
        table,
        "2",
        _draw_both_problems,
        "Problem 2: half of the players generates 80 % of the events. With 32 players the 28 "
        "votes an arm needs must wait for rare players; with 64 they need not.",
    )


def _draw_both_problems(axes: Axes, table: Table) -> None:
    curves = [
        curve(
            table,
            variant,
            scheme="decentralized",
            problem=problem,
            label=f"{variant.label}, problem {problem}",
            **look,
        )
        for variant in (SER3, UGAPEC)
        for problem, look in (("2", {}), ("1", {"marker": "", "width": 1.0}))
    ]
    draw_counts(axes, table, curves)
    axes.set_title("(b) Decentralized, problems 1 and 2")


def claims(table: Table) -> list[Claim]:
    """The rows."""
    return [
        _super_linear(table),
        _uneven(
            table,
            name="1-privacy-uneven",
            quote="Worse, when the distribution of players moves away from the uniformity [...], "
            "the performances of 1-privacy baselines decreases",
            scheme="isolated",
            asked=("above 1", Range(low=1.0)),
        ),
        _uneven(
            table,
            name="decentralized-uneven",
            quote="Contrary to 1-privacy baselines, the performances of Decentralized UGapEc and "
            "Decentralized SER3 increases in Problem 2",
            scheme="decentralized",
            asked=("below 1 from 64 players", Range(high=1.0)),
            least=DIP[1],
            note="The paper's next sentence sets 32 players apart: there the sample complexity "
            "is higher.",
        ),
        _dip(table),
        _linear(table),
        _rare_voters(
            table,
            name="waits-for-rare-players",
            quote="In Problem 2 with 32 players, it means that the algorithm has to wait for "
            "infrequent players votes to terminate.",
            n_players=32,
            asked=("above 1", Range(low=1.0)),
        ),
        _rare_voters(
            table,
            name="no-wait-with-64",
            quote="When the number of players is 64, this issue disappears.",
            n_players=64,
            asked=("below 1", Range(high=1.0)),
        ),
        _outperforms(table),
        _gain_grows(table),
        _decentralized(table),
    ]


def _super_linear(table: Table) -> Claim:
    def growth(variant: Variant) -> tuple[Estimate, ...]:
        if len(table.players) < 2:
            return ()
        return tuple(
            exponent(table.players, table.trials_by_players(variant, "isolated", problem)).located(
                f"problem {problem}"
            )
            for problem in ("1", "2")
        )

    return Claim(
        name="1-privacy-super-linear",
        quote="the sample efficiency of 1-privacy baselines is horrendous on both problems: it "
        "increases super-linearly as the number of players increases",
        where=WHERE,
        measured="exponent b of samples ~ N^b",
        asked="above 1",
        cases=cases_for(SUBROUTINES, growth, Range(low=1.0)),
        across="subroutine",
        along="problem",
    )


def _uneven(
    table: Table,
    *,
    name: str,
    quote: str,
    scheme: str,
    asked: tuple[str, Range],
    least: int = 0,
    note: str = "",
) -> Claim:
    words, wanted = asked

    def cases(players: tuple[int, ...], reading: str = "") -> tuple[Case, ...]:
        return cases_for(
            SUBROUTINES,
            lambda v: compared(table, (v, scheme, "2"), (v, scheme, "1"), players),
            wanted,
            reading=reading,
        )

    meant = tuple(n for n in table.players if n >= least)
    whole = cases(table.players, "with 32 players too") if meant != table.players else ()
    return Claim(
        name=name,
        quote=quote,
        where=WHERE,
        measured="samples on problem 2 / samples on problem 1",
        asked=words,
        cases=cases(meant) + whole,
        across="subroutine",
        note=note,
    )


def _dip(table: Table) -> Claim:
    def change(variant: Variant) -> tuple[Estimate, ...]:
        if not set(DIP) <= set(table.players):
            return ()
        few, more = (table.samples(variant, "decentralized", "2", n) for n in DIP)
        return (ratio(more, few),)

    return Claim(
        name="dip-32-64",
        quote="first the sample complexity decreases (between 32 to 64 players)",
        where=WHERE,
        measured="samples of Decentralized Elimination on problem 2 with 64 players / with 32",
        asked="below 1",
        cases=cases_for(SUBROUTINES, change, Range(high=1.0)),
        across="subroutine",
        over_players=False,
    )


def _linear(table: Table) -> Claim:
    players = [n for n in table.players if n >= DIP[1]]
    middle = len(players) // 2

    def proportional(variant: Variant) -> tuple[Estimate, ...]:
        trials = table.trials_by_players(variant, "decentralized", "2", players)
        return (exponent(players, trials),)

    def straight(variant: Variant) -> tuple[Estimate, ...]:
        trials = table.trials_by_players(variant, "decentralized", "2", players)
        n = np.array(players, dtype=np.float64)
        early = (trials[:, middle] - trials[:, 0]) / (n[middle] - n[0])
        late = (trials[:, -1] - trials[:, middle]) / (n[-1] - n[middle])
        return (mean(late / early),)

    cases: tuple[Case, ...] = ()
    if len(players) >= 3:
        power = "as a power of N, exponent from .9 to 1.1"
        cases = cases_for(SUBROUTINES, straight, Range(0.8, 1.25)) + cases_for(
            SUBROUTINES, proportional, Range(0.9, 1.1), reading=power
        )
    return Claim(
        name="linear-from-64",
        quote="and then the sample complexity linearly increases with the number of players",
        where=WHERE,
        measured="samples per further player of Decentralized Elimination on problem 2 from 64 "
        "players: late half of the range / early half",
        asked="a straight line: from .8 to 1.25",
        cases=cases,
        across="subroutine",
    )


def _rare_voters(
    table: Table, *, name: str, quote: str, n_players: int, asked: tuple[str, Range]
) -> Claim:
    """Whose votes problem 2 waits for."""
    words, wanted = asked

    def rare_voters(variant: Variant) -> tuple[Estimate, ...]:
        if n_players not in table.players:
            return ()
        result = table[variant.scenario("2", "decentralized", n_players)]
        weights = np.array(result.problem.activity.weights(n_players))
        rare = weights < weights.max()
        voters = (result.first_vote[:, rare] >= 0).sum(axis=1)
        return (mean_count(voters, most=float(rare.sum())),)

    return Claim(
        name=name,
        quote=quote,
        where=WHERE,
        measured=f"infrequent players who vote before the end, with {n_players} players",
        asked=f"{words}, a run",
        cases=cases_for(SUBROUTINES, rare_voters, wanted),
        across="subroutine",
        over_players=False,
    )


def _on_both(measure: Callable[..., tuple[Estimate, ...]], least: float) -> tuple[Case, ...]:
    """A case for each problem and form; ``measure`` takes SER3 and the problem."""
    cases: list[Case] = []
    for problem in STATIONARY:
        on_it = partial(measure, problem=problem)
        cases += cases_for(RADIUS_FORMS, on_it, Range(low=least), label=f"problem {problem}, ")
    return tuple(cases)


def _outperforms(table: Table) -> Claim:
    def slower(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return compared(table, (ser3, "isolated", problem), (UGAPEC, "isolated", problem))

    return Claim(
        name="1-privacy-ugapec-better",
        quote="1-privacy-UGapEc clearly outperforms 1-privacy-SER3 on stationary problems",
        where=WHERE,
        measured="samples of 1-privacy SER3 / samples of 1-privacy UGapEc",
        asked=f"above {CLEARLY}",
        cases=_on_both(slower, CLEARLY),
        across="problem",
    )


def _gain_grows(table: Table) -> Claim:
    def per_doubling(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        if len(table.players) < 2:
            return ()
        above, below = (
            np.log2(table.trials_by_players(v, "isolated", problem)) for v in (ser3, UGAPEC)
        )
        doublings = np.log2(np.array(table.players, dtype=np.float64))
        return (mean(100 * (2 ** slopes(doublings, above - below) - 1)),)

    return Claim(
        name="1-privacy-ugapec-gain-grows",
        quote="Moreover, the performance gain of 1-privacy-UGapEc increases with the number of "
        "players",
        where=WHERE,
        measured="change of samples of 1-privacy SER3 / samples of 1-privacy UGapEc with each "
        "doubling of N, in per cent",
        asked="above 0",
        cases=_on_both(per_doubling, 0.0),
        across="problem",
        note="Whether there is a gain at all is the row before.",
    )


def _decentralized(table: Table) -> Claim:
    def faster(ser3: Variant, problem: str) -> tuple[Estimate, ...]:
        return compared(table, (UGAPEC, "decentralized", problem), (ser3, "decentralized", problem))

    return Claim(
        name="decentralized-ser3-better",
        quote="Decentralized SER3 clearly outperforms Decentralized UGapEc",
        where=WHERE,
        measured="samples of Decentralized UGapEc / samples of Decentralized SER3",
        asked=f"above {CLEARLY}",
        cases=_on_both(faster, CLEARLY),
        across="problem",
    )


STUDIES = (Study("problem-2", scenarios, figure, claims),)
