"""What one player's messages give away, measured.

Four questions, each once with the player's own messages and once with everybody's: which arm is
good for this player; which of two groups it belongs to; whether it is a frequent user. Definition
3 would cap every answer to the first at ``1 - eta``.

Paper: Definition 3; Theorem 1, part 1 of its proof.
Differs from print: the inequality runs the other way, and nothing caps the adversary (erratum 8).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devote.audit import adversaries as attack
from devote.audit.batches import Progress, Rate
from devote.audit.errors import AuditError
from devote.audit.leak import epsilon_lower_bound, epsilon_of, rate_of
from devote.audit.views import View, view_runs
from devote.problems import Problem, Split, Uniform, get_problem
from devote.protocol import ExperimentSpec
from devote.simulate.cell import Cell

GROUPS = replace(get_problem("5"), name="groups", activity=Uniform())
"""Two halves of the players with best arms 0 and 5; all wake equally often."""

LEAST = 200


@dataclass(frozen=True)
class Leak:
    """How well one adversary did.

    ``voted`` and ``silent`` split the runs by whether the player had voted by the end, and
    ``complete`` are those who had voted against all arms but one;
    ``baseline`` is the best success without any message, ``cap`` what Definition 3 claims (None
    where it claims nothing), ``dp_epsilon`` the least epsilon of differential privacy that the
    success leaves possible.
    """

    question: str
    others_known: bool
    problem: str
    success: Rate
    voted: Rate
    complete: Rate
    silent: Rate
    baseline: float
    cap: float | None
    dp_epsilon: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "question": self.question,
            "others_known": self.others_known,
            "problem": self.problem,
            "success": self.success.to_dict(),
            "voted": self.voted.to_dict(),
            "complete": self.complete.to_dict(),
            "silent": self.silent.to_dict(),
            "baseline": self.baseline,
            "claimed_cap": self.cap,
            "dp_epsilon_at_least": self.dp_epsilon,
        }


def audit_privacy(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    protocol: str = "decentralized",
    *,
    runs: int = 2_000,
    seed: int = 0,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> list[Leak]:
    """Put every adversary to work, ``runs`` independent runs each.

    Paper: Definition 3.
    """
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < LEAST:
        raise AuditError(
            f"runs={runs!r} must be a whole number, {LEAST} or more.\n"
            "Half of them teach the adversary, half measure it."
        )
    skewed = replace(problem, activity=Split()) if not problem.groups else problem
    two_groups = Cell(spec.with_(arms=GROUPS.n_arms), GROUPS, n_players, protocol)
    cells = (
        Cell(spec, problem, n_players, protocol),
        two_groups,
        Cell(spec, skewed, n_players, protocol),
    )
    for cell in cells:
        _ = cell.setting
    views = []
    for done, cell in enumerate(cells):
        if progress is not None:
            progress(done, len(cells), cell.label)
        views.append(view_runs(cell, runs, seed=seed, workers=workers))
    return [
        *best_arm(views[0], cells[0]),
        *group(views[1], two_groups),
        *activity(views[2], cells[2]),
    ]


def best_arm(views: Sequence[View], cell: Cell) -> list[Leak]:
    """Question (a): name an arm that is epsilon-optimal for this player."""
    leaks = []
    for others, guess in ((False, attack.name_arm), (True, attack.name_arm_knowing_others)):
        named = [guess(view) for view in views]
        right = [arm in view.optimal for arm, view in zip(named, views, strict=True)]
        # Arms relabelled so that the worst are best: how often they are named here is how often
        # the arms that are best here would be named there.
        worst = [arm in view.worst for arm, view in zip(named, views, strict=True)]
        epsilon = epsilon_lower_bound(sum(right), len(right), sum(worst), len(worst))
        chance = sum(len(view.optimal) for view in views) / sum(view.n_arms for view in views)
        leaks.append(_leak("best arm", others, cell, views, right, chance, epsilon))
    return leaks


def group(views: Sequence[View], cell: Cell) -> list[Leak]:
    """Question (b): tell which of two groups a player belongs to."""
    arms = (0, 5)
    return _learned(
        "group",
        cell,
        views,
        lambda view: view.group,
        (
            lambda taught: attack.votes_on(*arms),
            lambda taught: attack.votes_on_knowing_others(*arms),
        ),
    )


def activity(views: Sequence[View], cell: Cell) -> list[Leak]:
    """Question (c): tell whether a player was active more often than the median one."""
    return _learned(
        "activity",
        cell,
        views,
        lambda view: int(view.busy),
        (attack.time_of_first, lambda taught: attack.rank_of_first),
    )


def _learned(
    question: str,
    cell: Cell,
    views: Sequence[View],
    secret: Callable[[View], int],
    ways: tuple[Callable[[Sequence[View]], Any], Callable[[Sequence[View]], Any]],
) -> list[Leak]:
    half = len(views) // 2
    taught, tested = views[:half], views[half:]
    secrets = [secret(view) for view in tested]
    chance = max(secrets.count(0), secrets.count(1)) / len(secrets)
    leaks = []
    for others, way in enumerate(ways):
        guess = attack.learn(taught, way(taught), secret)
        guesses = [guess(view) for view in tested]
        right = [mine == truth for mine, truth in zip(guesses, secrets, strict=True)]
        epsilon = epsilon_of(guesses, secrets)
        leaks.append(_leak(question, bool(others), cell, tested, right, chance, epsilon))
    return leaks


def _leak(
    question: str,
    others: bool,
    cell: Cell,
    views: Sequence[View],
    right: list[bool],
    baseline: float,
    epsilon: float,
) -> Leak:
    pairs = list(zip(right, views, strict=True))
    return Leak(
        question=question,
        others_known=others,
        problem=cell.problem.name,
        success=rate_of(right),
        voted=rate_of([was for was, view in pairs if not view.silent]),
        complete=rate_of([was for was, view in pairs if len(view.against) == view.n_arms - 1]),
        silent=rate_of([was for was, view in pairs if view.silent]),
        baseline=baseline,
        cap=1.0 - cell.spec.eta if question == "best arm" else None,
        dp_epsilon=epsilon,
    )
