"""What a command sweeps over, kept in a JSON file from which its picture is drawn.

``devote plan --sweep``: what a plan costs as eta, the number of players or epsilon varies.
``devote audit privacy --figure``: what eta really buys, over eta and N. Drawing never simulates.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from devote.audit.adversaries import name_arm, view_runs
from devote.audit.rates import rate_of
from devote.errors import did_you_mean
from devote.files import write_whole
from devote.plan.promises import summarise
from devote.problems import get_problem
from devote.protocol import ExperimentSpec, SpecError
from devote.schemes import Decentralized
from devote.simulator import ResultError, Scenario, run_sweep
from devote.simulator.sweep import Progress
from devote.studies import style
from devote.studies.curves import EndLabel, write_labels
from devote.studies.estimates import Estimate, mean
from devote.studies.style import Axes
from devote.theory import quorum


@dataclass(frozen=True)
class Sheet:
    """The base of what is saved; a subclass adds its fields."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def save(self, path: str | Path) -> Path:
        """Write as JSON; the file appears whole or not at all."""
        return write_whole(path, json.dumps(self.to_dict(), allow_nan=False).encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote; lists become tuples."""
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ResultError(
                f"{Path(path).name} is not a whole sweep ({type(error).__name__}).\n"
                "Run the sweep again."
            ) from None


AXES = {
    "eta": "η, the error allowed to one device",
    "players": "number of devices",
    "epsilon": "ε, how far from the best an arm may be",
}
"""Over what a plan may be swept, and how the picture names it."""

PLAN_ETAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)


@dataclass(frozen=True)
class PlanSweep(Sheet):
    """One summary per value of the axis, as ``summarise`` gives them."""

    axis: str
    values: tuple[float, ...]
    rows: tuple[dict[str, Any], ...]


def sweep_plan(
    base: Scenario,
    axis: str,
    *,
    trials: int = 5,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PlanSweep:
    """Simulate the plan at each value of the axis that can work at all.

    >>> from devote.problems import Problem
    >>> from devote.protocol import ExperimentSpec
    >>> base = Scenario(ExperimentSpec(arms=2, epsilon=0.5), Problem("toy", [0.9, 0.1]), 64)
    >>> sweep_plan(base, "players", trials=1, workers=1).values
    (28, 32, 64)
    """
    if axis not in AXES:
        raise SpecError(
            f"sweep={axis!r} is not known.\n{did_you_mean(axis, AXES)}"
            f"Use one of: {', '.join(AXES)}."
        )
    planned: dict[float, Scenario] = {}
    for value in _values(base, axis):
        with suppress(SpecError):
            if axis == "players":
                planned[value] = replace(base, n_players=int(value))
            else:
                planned[value] = replace(base, spec=base.spec.with_(**{axis: value}))
    how: dict[str, Any] = {"trials": trials, "seed": seed, "workers": workers, "progress": progress}
    results = run_sweep(list(planned.values()), **how)
    return PlanSweep(axis, tuple(planned), tuple(summarise(result) for result in results))


def _values(base: Scenario, axis: str) -> list[float]:
    if axis == "eta":
        return sorted({*PLAN_ETAS, base.spec.eta})
    if axis == "epsilon":
        return sorted({min(1.0, round(base.spec.epsilon * factor, 12)) for factor in FACTORS})
    least = max(2, base.scheme.fewest_players(base.spec))
    powers = {2**i for i in range(1, 31) if least < 2**i < base.n_players}
    return sorted({least, *powers, base.n_players})


def draw_plan(sweep: PlanSweep, out: str | Path) -> Path:
    """Samples on the left, messages on the right, against the axis; PNG or SVG by the name.

    Points are hollow where some runs did not end with one arm.
    """
    first, path = sweep.rows[0], Path(out)
    names = {"samples_until_all_know": "samples until all know", "broadcasts": first["sends"]}
    troubled = [row["status"]["agreed"] < row["trials"] for row in sweep.rows]
    fills = ["white" if trouble else style.BLACK for trouble in troubled]
    notes = [f"Means of {first['trials']} trials."]
    with style.house_style():
        figure, panels = style.panels(2, size=(9.0, 4.0), right=0.98, between=0.25)
        for axes, (name, label) in zip(panels, names.items(), strict=True):
            means = [row[name]["mean"] for row in sweep.rows]
            axes.plot(sweep.values, means, color=style.BLACK)
            axes.scatter(sweep.values, means, c=fills, edgecolors=style.BLACK, s=24, zorder=3)
            if first["trials"] > 1:
                estimates = [mean(row[name]["values"]) for row in sweep.rows]
                style.bars(axes, sweep.values, estimates, style.BLACK)
            if sweep.axis != "eta":
                axes.set_xscale("log")
                axes.set_xticks(sweep.values, [f"{value:,g}" for value in sweep.values])
                axes.minorticks_off()
            axes.set_xlabel(AXES[sweep.axis])
            if min(means) and max(means) > 4 * min(means):
                style.counts_axis(axes, label)
            else:
                axes.set_ylim(bottom=0)
                axes.set_ylabel(label)
        panels[0].set_title(
            f"{first['scheme']} {first['spec']['algorithm']}, {len(first['spec']['arms'])} arms"
        )
        notes += [style.BARS] if first["trials"] > 1 else []
        notes += ["Hollow: some runs without one answer."] if any(troubled) else []
        style.footnote(figure, " ".join(notes))
        [picture] = style.save(figure, path.parent, path.stem, [path.suffix.lstrip(".").lower()])
    return picture


ETAS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
PLAYERS = (64, 320, 1024)
"""The least that any quorum here needs but the highest, a little above that, and many."""
DELTA = 0.05

LOOKS = (("#1a1a1a", "o"), ("#555555", "s"), ("#8f8f8f", "^"))
"""Shades and marks for numbers of players: colours are subroutines, and there is one."""


@dataclass(frozen=True)
class EtaSweep(Sheet):
    """A point for each eta and number of players, fewest players first, and where it came from.

    ``named`` is how often the adversary names an epsilon-optimal arm of a player who voted,
    ``all_but_one`` the same for players who voted against all arms but one; ``voters`` is the
    share of players who had voted at the end.
    """

    points: tuple[dict[str, Any], ...]
    chance: float
    runs: int
    seed: int

    @property
    def etas(self) -> list[float]:
        """Every eta, in order."""
        return sorted({point["eta"] for point in self.points})


def sweep_eta(
    *,
    etas: Sequence[float] = ETAS,
    players: Sequence[int] = PLAYERS,
    runs: int = 300,
    seed: int = 0,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> EtaSweep:
    """Every eta at which a quorum can form, for every number of players.

    Paper: Definition 3; Theorem 1's quorum, ``floor(log delta / log eta)``.
    """
    scenarios = eta_scenarios(sorted(etas), sorted(players))
    points = []
    for done, scenario in enumerate(scenarios):
        if progress is not None:
            progress(done, len(scenarios), scenario.label)
        views = view_runs(scenario, runs, seed=seed, workers=workers, voters=True)
        right = [name_arm(view) in view.optimal for view in views]
        complete = [was for was, view in zip(right, views, strict=True) if len(view.left) == 1]
        everybody = runs * scenario.n_players
        points.append(
            {
                "eta": scenario.spec.eta,
                "n_players": scenario.n_players,
                "quorum": scenario.spec.votes_needed,
                "named": rate_of(right).to_dict(),
                "all_but_one": rate_of(complete).to_dict(),
                "voters": sum(view.voters for view in views) / everybody,
                "samples_per_player": sum(view.samples for view in views) / everybody,
            }
        )
    return EtaSweep(tuple(points), chance=2 / 10, runs=runs, seed=seed)


def eta_scenarios(etas: Sequence[float], players: Sequence[int]) -> list[Scenario]:
    """Every pair that can form a quorum, on problem 1."""
    votes = {eta: max(1, quorum(DELTA, eta)) for eta in etas}
    return [
        Scenario(
            ExperimentSpec(arms=10, eta=eta, delta=DELTA, scheme=Decentralized(votes[eta])),
            get_problem("1"),
            n_players,
        )
        for n_players in players
        for eta in etas
        if votes[eta] <= n_players
    ]


def draw_eta(sweep: EtaSweep, out: str | Path) -> list[Path]:
    """Success of the adversary, share of players who vote, samples: over eta, for each N.

    Saved as SVG, PDF and PNG, whichever of them ``out`` names.
    """
    with style.house_style():
        figure, (named, voters, cost) = style.panels(3, size=(11.0, 3.9), right=0.925, between=0.66)
        figure.subplots_adjust(left=0.06, top=0.915)
        _success(named, sweep)
        _lines(voters, sweep, "voters", top=1.04)
        voters.set_ylabel("share of players")
        voters.set_title("… and makes more players vote")
        most = max(point["samples_per_player"] for point in sweep.points)
        _lines(cost, sweep, "samples_per_player", top=1.04 * most)
        cost.set_ylabel("samples per player")
        cost.set_title("… at more samples each")
        note = (
            f"Decentralized SER3, problem 1, ε = .25, δ = .05, M = ⌊log δ / log η⌋; {sweep.runs} "
            f"runs per point, one voter of each. {style.BARS}"
        )
        figure.text(0.06, 0.02, note, fontsize=8, color=style.GREY)
    return style.save(figure, Path(out).parent, Path(out).stem)


def _success(axes: Axes, sweep: EtaSweep) -> None:
    etas, grey = sweep.etas, style.GREY
    axes.plot(range(len(etas)), [1.0 - eta for eta in etas], color=grey, linestyle=(0, (4, 2)))
    axes.annotate("claimed cap, 1 − η", (1.25, 0.7), color=grey, fontsize=8.5)
    axes.axhline(sweep.chance, color=grey, linewidth=0.9, linestyle=":")
    place = (len(etas) - 0.55, sweep.chance - 0.012)
    axes.annotate("without any\nmessage", place, ha="right", va="top", color=grey, fontsize=8)
    _lines(axes, sweep, "named", top=1.04)
    axes.set_ylabel("a voter's good arm named")
    axes.set_title("A higher η gives a voter away")


def _lines(axes: Axes, sweep: EtaSweep, column: str, *, top: float) -> None:
    """One line for each N; the limits of the axes come first, as labels are placed by them."""
    etas = sweep.etas
    axes.set_ylim(0.0, top)
    axes.set_xlim(-0.4, len(etas) - 0.5)
    axes.set_xticks(range(len(etas)), [f"{eta:g}".lstrip("0") for eta in etas])
    axes.set_xlabel("η")
    ends, drawn = [], []
    by_players = groupby(sweep.points, key=lambda point: point["n_players"])
    for (_, group), (colour, mark) in zip(by_players, LOOKS * len(sweep.points), strict=False):
        points = list(group)
        x = [etas.index(point["eta"]) for point in points]
        y = [p[column]["value"] if column == "named" else p[column] for p in points]
        axes.plot(x, y, color=colour, marker=mark, markersize=4)
        drawn.append((x, points, colour))
        name = f"N = {points[0]['n_players']:,}"
        if x[-1] == len(etas) - 1:
            ends.append(EndLabel(x[-1], y[-1], name, colour))
        else:  # A line that ends before the others is named on its left, apart from their ends.
            look: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 8.5}
            look |= {"xytext": (-7, 0), "textcoords": "offset points", "color": colour}
            axes.annotate(name, (x[-1], y[-1]), **look)
    write_labels(axes, ends)
    if column == "named":
        for x, points, colour in drawn:
            named = [Estimate(p["named"]["value"], *p["named"]["interval"]) for p in points]
            style.bars(axes, x, named, colour)
