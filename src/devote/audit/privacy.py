"""What one player's messages give away, measured.

Three questions, each once with the player's own messages and once with everybody's: (a) which arm
is good for this player; (b) which group it belongs to; (c) how often it was active, as more or less
than the median player and as a number. Definition 3 would cap every answer to the first at
``1 - eta``. Having everybody's messages is question (d).

A problem without groups says nothing about (b), and one whose players all wake equally often little
about (c): those two are then put to a problem that does, and every answer names its problem.

Paper: Definition 3; Theorem 1, part 1 of its proof.
Differs from print: the inequality runs the other way, and nothing caps the adversary (erratum 8).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devote.audit import adversaries as attack
from devote.audit.adversaries import CountError, View, count_error, view_runs
from devote.audit.rates import (
    AuditError,
    Progress,
    Rate,
    epsilon_lower_bound,
    epsilon_of,
    rate_of,
    to_json,
)
from devote.checks import Checks
from devote.problems import Problem, Split, Uniform, get_problem
from devote.protocol import ExperimentSpec
from devote.rules import get_algorithm
from devote.simulator import Scenario

GROUPS = replace(get_problem("5"), name="groups", activity=Uniform())
"""Two halves of the players with best arms 0 and 5; all wake equally often."""

LEAST = 200


@dataclass(frozen=True)
class Leak:
    """How well one adversary did.

    ``voted`` and ``silent`` split the runs by whether the player had spoken of an arm by the end,
    and ``complete`` are those whose messages left one arm;
    ``baseline`` is the best success without any message, ``cap`` what Definition 3 claims (None
    where it claims nothing), ``dp_epsilon`` the least epsilon of differential privacy that the
    success leaves possible. ``count`` is the error of an estimated number of activations, for the
    question about activity; ``stand_in`` says that the problem is not the one that was asked about.
    """

    question: str
    others_known: bool
    problem: str
    stand_in: bool
    success: Rate
    voted: Rate
    complete: Rate
    silent: Rate
    baseline: float
    cap: float | None
    dp_epsilon: float
    count: CountError | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return to_json(self, cap="claimed_cap", dp_epsilon="dp_epsilon_at_least")


def audit_privacy(
    spec: ExperimentSpec,
    problem: Problem,
    n_players: int,
    *,
    horizon: int | None = None,
    runs: int = 2_000,
    seed: int = 0,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> list[Leak]:
    """Put every adversary to work, ``runs`` independent runs each.

    A subroutine that resets (SER4) runs to ``horizon``; its players vote anew in every term.

    Paper: Definition 3; Theorem 4 claims the same of DSER4.
    """
    remedy = "Half of them teach the adversary, half measure it."
    Checks(AuditError).whole("runs", runs, least=LEAST, remedy=remedy)
    if problem.switches and get_algorithm(spec.algorithm).endless:
        raise AuditError(
            f"problem {problem.name}: its best arm switches, so that which arm is good for a "
            "player has no one answer.\nAudit resets on a problem whose means stay, such as 1."
        )
    asked = (problem, with_groups(problem), with_habits(problem))
    scenarios = [Scenario(spec.with_(arms=one.n_arms), one, n_players, horizon) for one in asked]
    views: list[list[View]] = []
    for done, scenario in enumerate(scenarios):
        if progress is not None:
            progress(done, len(scenarios), scenario.label)
        same = scenarios.index(scenario)
        views.append(
            views[same] if same < done else view_runs(scenario, runs, seed=seed, workers=workers)
        )
    leaks = [
        *best_arm(views[0], scenarios[0]),
        *group(views[1], scenarios[1]),
        *activity(views[2], scenarios[2]),
    ]
    return [replace(leak, stand_in=leak.problem != problem.name) for leak in leaks]


def with_groups(problem: Problem) -> Problem:
    """The problem itself if its players form groups, else one in which they do.

    >>> with_groups(get_problem("5")).name, with_groups(get_problem("1")).name
    ('5', 'groups')
    """
    return problem if len(problem.groups) > 1 else GROUPS


def with_habits(problem: Problem) -> Problem:
    """The problem itself if some players wake more often, else its arms with half of them busy.

    >>> with_habits(get_problem("2")).name, with_habits(get_problem("1")).name
    ('2', '1, half of the players busy')
    """
    if problem.activity != Uniform():
        return problem
    return replace(problem, name=f"{problem.name}, half of the players busy", activity=Split())


def best_arm(views: Sequence[View], scenario: Scenario) -> list[Leak]:
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
        leaks.append(_leak("best arm", others, scenario, views, right, chance, epsilon))
    return leaks


def group(views: Sequence[View], scenario: Scenario) -> list[Leak]:
    """Question (b): tell which group a player belongs to, from votes on the groups' best arms."""
    means = [row for _, row in scenario.problem.by_group]
    arms = tuple(dict.fromkeys(row.index(max(row)) for row in means))
    return _learned(
        "group",
        scenario,
        views,
        lambda view: view.group,
        (
            lambda taught: attack.votes_on(arms),
            lambda taught: attack.votes_on_knowing_others(arms),
        ),
    )


def activity(views: Sequence[View], scenario: Scenario) -> list[Leak]:
    """Question (c): was a player active more often than the median one, and how often."""
    half = len(views) // 2
    told = _learned(
        "activity",
        scenario,
        views,
        lambda view: int(view.busy),
        (attack.time_of_first, lambda taught: attack.rank_of_first),
    )
    return [
        replace(leak, count=count_error(views[:half], views[half:], others=leak.others_known))
        for leak in told
    ]


def _learned(
    question: str,
    scenario: Scenario,
    views: Sequence[View],
    secret: Callable[[View], int],
    ways: tuple[Callable[[Sequence[View]], Any], Callable[[Sequence[View]], Any]],
) -> list[Leak]:
    half = len(views) // 2
    taught, tested = views[:half], views[half:]
    secrets = [secret(view) for view in tested]
    chance = max(Counter(secrets).values()) / len(secrets)
    leaks = []
    for others, way in enumerate(ways):
        guess = attack.learn(taught, way(taught), secret)
        guesses = [guess(view) for view in tested]
        right = [mine == truth for mine, truth in zip(guesses, secrets, strict=True)]
        # Of several groups the first against the rest, whose mixture is no easier to tell from it.
        first = [[int(it == 0) for it in told] for told in (guesses, secrets)]
        epsilon = epsilon_of(*first)
        leaks.append(_leak(question, bool(others), scenario, tested, right, chance, epsilon))
    return leaks


def _leak(
    question: str,
    others: bool,
    scenario: Scenario,
    views: Sequence[View],
    right: list[bool],
    baseline: float,
    epsilon: float,
) -> Leak:
    pairs = list(zip(right, views, strict=True))
    return Leak(
        question=question,
        others_known=others,
        problem=scenario.problem.name,
        stand_in=False,
        success=rate_of(right),
        voted=rate_of([was for was, view in pairs if not view.silent]),
        complete=rate_of([was for was, view in pairs if len(view.left) == 1]),
        silent=rate_of([was for was, view in pairs if view.silent]),
        baseline=baseline,
        cap=1.0 - scenario.spec.eta if question == "best arm" else None,
        dp_epsilon=epsilon,
    )
