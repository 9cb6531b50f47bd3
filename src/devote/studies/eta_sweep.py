"""What eta really buys: the adversary's success, who is exposed, and the cost, over eta and N.

``devote audit privacy --figure`` runs and draws it. The picture is drawn from the saved sweep, and
drawing never simulates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

from devote.audit.adversaries import name_arm
from devote.audit.leak import rate_of
from devote.audit.views import view_runs
from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.schemes import Decentralized
from devote.simulator import Scenario
from devote.simulator.estimates import Estimate
from devote.simulator.progress import Progress
from devote.studies.drawing.curves import EndLabel, write_labels
from devote.studies.drawing.style import BARS, GREY, Axes, bars, house_style, panels, save
from devote.studies.sheet import Sheet
from devote.theory import quorum

ETAS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
PLAYERS = (64, 320, 1024)
"""The least that any quorum here needs but the highest, a little above that, and many."""
DELTA = 0.05
PROBLEM = "1"

LOOKS = (("#1a1a1a", "o"), ("#555555", "s"), ("#8f8f8f", "^"))
"""Shades and marks for numbers of players: colours are subroutines, and there is one."""


Point = dict[str, Any]
"""One eta and number of players.

``named`` is how often the adversary names an epsilon-optimal arm of a player who voted,
``all_but_one`` the same for players who voted against all arms but one; ``voters`` is the share
of players who had voted at the end.
"""


@dataclass(frozen=True)
class EtaSweep(Sheet):
    """All points, fewest players first and then by eta, with where they came from."""

    points: tuple[Point, ...]
    chance: float
    runs: int
    seed: int

    @property
    def etas(self) -> list[float]:
        """Every eta, in order."""
        return sorted({point["eta"] for point in self.points})

    @property
    def lines(self) -> Iterator[tuple[str, str, list[Point]]]:
        """Colour, mark and points of each number of players."""
        looks = cycle(LOOKS)
        for _, points in groupby(self.points, key=lambda point: point["n_players"]):
            yield (*next(looks), list(points))


def sweep_eta(
    *,
    etas: tuple[float, ...] = ETAS,
    players: tuple[int, ...] = PLAYERS,
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
        points.append(_point(scenario, runs, seed, workers))
    return EtaSweep(tuple(points), chance=2 / 10, runs=runs, seed=seed)


def eta_scenarios(etas: Sequence[float], players: Sequence[int]) -> list[Scenario]:
    """Every pair that can form a quorum."""
    votes = {eta: max(1, quorum(DELTA, eta)) for eta in etas}
    return [
        Scenario(
            ExperimentSpec(arms=10, eta=eta, delta=DELTA, scheme=Decentralized(votes[eta])),
            get_problem(PROBLEM),
            n_players,
        )
        for n_players in players
        for eta in etas
        if votes[eta] <= n_players
    ]


def _point(scenario: Scenario, runs: int, seed: int, workers: int | None) -> Point:
    views = view_runs(scenario, runs, seed=seed, workers=workers, voters=True)
    right = [name_arm(view) in view.optimal for view in views]
    complete = [was for was, view in zip(right, views, strict=True) if len(view.left) == 1]
    everybody = runs * scenario.n_players
    return {
        "eta": scenario.spec.eta,
        "n_players": scenario.n_players,
        "quorum": scenario.spec.votes_needed,
        "named": rate_of(right).to_dict(),
        "all_but_one": rate_of(complete).to_dict(),
        "voters": sum(view.voters for view in views) / everybody,
        "samples_per_player": sum(view.samples for view in views) / everybody,
    }


def draw_eta(sweep: EtaSweep, out: str | Path) -> list[Path]:
    """Success of the adversary, share of players heard of, samples: over eta, for each N.

    Saved as SVG, PDF and PNG, whichever of them ``out`` names.
    """
    with house_style():
        figure, (named, heard, cost) = panels(3, size=(11.0, 3.9), right=0.925, between=0.66)
        figure.subplots_adjust(left=0.06, top=0.915)
        _success(named, sweep)
        _lines(heard, sweep, "voters", top=1.04)
        heard.set_ylabel("share of players")
        heard.set_title("… and makes more players vote")
        most = max(point["samples_per_player"] for point in sweep.points)
        _lines(cost, sweep, "samples_per_player", top=1.04 * most)
        cost.set_ylabel("samples per player")
        cost.set_title("… at more samples each")
        note = (
            f"Decentralized SER3, problem 1, ε = .25, δ = .05, M = ⌊log δ / log η⌋; {sweep.runs} "
            f"runs per point, one voter of each. {BARS}"
        )
        figure.text(0.06, 0.02, note, fontsize=8, color=GREY)
    return save(figure, Path(out).parent, Path(out).stem)


def _success(axes: Axes, sweep: EtaSweep) -> None:
    etas = sweep.etas
    axes.plot(range(len(etas)), [1.0 - eta for eta in etas], color=GREY, linestyle=(0, (4, 2)))
    axes.annotate("claimed cap, 1 − η", (1.25, 0.7), color=GREY, fontsize=8.5)
    axes.axhline(sweep.chance, color=GREY, linewidth=0.9, linestyle=":")
    place = (len(etas) - 0.55, sweep.chance - 0.012)
    axes.annotate("without any\nmessage", place, ha="right", va="top", color=GREY, fontsize=8)
    _lines(axes, sweep, "named", top=1.04)
    for colour, _, points in sweep.lines:
        named = [Estimate(p["named"]["value"], *p["named"]["interval"]) for p in points]
        bars(axes, [etas.index(point["eta"]) for point in points], named, colour)
    axes.set_ylabel("a voter's good arm named")
    axes.set_title("A higher η gives a voter away")


def _lines(axes: Axes, sweep: EtaSweep, column: str, *, top: float) -> None:
    """One line for each N; the limits of the axes come first, as labels are placed by them."""
    etas = sweep.etas
    axes.set_ylim(0.0, top)
    axes.set_xlim(-0.4, len(etas) - 0.5)
    axes.set_xticks(range(len(etas)), [f"{eta:g}".lstrip("0") for eta in etas])
    axes.set_xlabel("η")
    ends = []
    for colour, mark, points in sweep.lines:
        x = [etas.index(point["eta"]) for point in points]
        y = [p[column]["value"] if column == "named" else p[column] for p in points]
        axes.plot(x, y, color=colour, marker=mark, markersize=4)
        name = f"N = {points[0]['n_players']:,}"
        if x[-1] == len(etas) - 1:
            ends.append(EndLabel(x[-1], y[-1], name, colour))
        else:  # A line that ends before the others is named on its left, apart from their ends.
            look: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 8.5}
            look |= {"xytext": (-7, 0), "textcoords": "offset points", "color": colour}
            axes.annotate(name, (x[-1], y[-1]), **look)
    write_labels(axes, ends)
