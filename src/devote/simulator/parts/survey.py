"""The survey in the compiled simulator: one learner, and players who answer through their noise."""

from typing import Any, NamedTuple

from devote.protocol import ExperimentSpec
from devote.rules import State
from devote.rules.randomizer import blur_reward
from devote.schemes.survey.scheme import Survey
from devote.schemes.survey.tally import leader, seeds, uniform
from devote.simulator.loop import record
from devote.simulator.part import Ending, Part, Subroutine
from devote.simulator.workspace import FAULT, EventView, Setup

USED_UP = FAULT + 1
"""All answers are given, and there is no decision."""

NO_RULE = -2
"""In place of a number of eliminated arms: the rule did what no rule may."""

ONES, USED, ASKED = range(3)
"""Columns of ``by_arm``: answers that say 1; answers that the learner has taken, or never will;
whether it asks about the arm now."""


class Constants(NamedTuple):
    """Answers of each device, how often a bit is the truth, the seeds of the learner's draws."""

    answers: int
    truths: int
    first: int
    second: int


def constants(spec: ExperimentSpec, n_players: int) -> Constants:
    """The survey's parameters."""
    scheme = spec.scheme
    assert isinstance(scheme, Survey)
    return Constants(scheme.answers, scheme.truths, *seeds(spec))


def learn_decision(
    setup: Setup, view: EventView, state: State, player: Any, active: int, noise: float, t: float
) -> None:
    """Learn of the decision."""
    if view.trial.n_shared == 1 and not player.knows:
        player.knows = 1
        view.trial.holding += 1


def is_asked(view: EventView, player: Any) -> bool:
    """Whether a player answers with this play."""
    return bool(view.trial.n_shared > 1 and player.given < view.setup.scheme.answers)


def answer_about(sub: Subroutine, view: EventView, state: State, player: Any, u: float) -> int:
    """An arm that is asked about, drawn uniformly; after its answers, the one that leads."""
    if not is_asked(view, player):
        return int(view.trial.leader)
    if view.trial.n_asked == 0:  # not looked up yet
        renew_asked(sub, view, state)
    place = int(u * view.trial.n_asked)
    for k in range(len(view.shared)):
        if view.tables.by_arm[k, ASKED]:
            if place == 0:
                return k
            place -= 1
    return -1


def answer(
    sub: Subroutine,
    view: EventView,
    state: State,
    player: Any,
    arm: int,
    reward: float,
    noise: float,
) -> int:
    """Answer, and feed the learner."""
    if not is_asked(view, player):
        return 0
    group, scheme = view.trial, view.setup.scheme
    bit = blur_reward(reward, noise, scheme.truths)
    player.given += 1
    if player.first_vote < 0:
        player.first_vote = player.active
    view.tables.voted[view.tables.tally[arm], arm] = bit
    view.tables.by_arm[arm, ONES] += bit
    record(view, group.time, arm)
    if not view.tables.by_arm[arm, ASKED]:
        view.tables.by_arm[arm, USED] += 1
    elif not feed(sub, view, state):
        return NO_RULE
    group.leader = leader(
        view.tables.tally[: len(view.shared)], view.tables.by_arm[:, ONES], view.shared
    )
    if group.n_shared > 1 and group.broadcasts >= view.setup.n_players * scheme.answers:
        group.ended = USED_UP
    return 0


def feed(sub: Subroutine, view: EventView, state: State) -> bool:
    """Hand the learner the answers it asks for, as long as they are there.

    ``group.wanted`` is the arm it waits for and 1, or 0 while it has not been asked. Returns
    whether the rule did what a rule may.
    """
    rule, ask, learn_from = sub[:3]
    group, scheme = view.trial, view.setup.scheme
    while group.n_shared > 1:
        if group.wanted == 0:
            group.wanted = ask(rule, state, uniform(scheme.first, scheme.second, group.step)) + 1
            group.step += 1
        arm = group.wanted - 1
        if arm < 0 or arm >= len(view.shared):
            return False
        place = view.tables.by_arm[arm, USED]
        if place == view.tables.tally[arm]:
            return True
        view.tables.by_arm[arm, USED] += 1
        group.wanted = 0
        n_out = learn_from(rule, state, arm, float(view.tables.voted[place, arm]), view.out)
        if n_out < 0 or n_out >= group.n_shared:
            return False
        for j in range(n_out):
            view.shared[view.out[j]] = 0
            group.pending = 1
        group.n_shared -= n_out
        renew_asked(sub, view, state)
    return True


def renew_asked(sub: Subroutine, view: EventView, state: State) -> None:
    """Look up which arms the learner asks about, and empty the queues of those that have gone."""
    rule, asks = sub[0], sub[3]
    view.trial.n_asked = 0
    for k in range(len(view.shared)):
        if asks(rule, state, k):
            view.tables.by_arm[k, ASKED] = 1
            view.trial.n_asked += 1
        elif view.tables.by_arm[k, ASKED]:
            view.tables.by_arm[k, ASKED] = 0
            view.tables.by_arm[k, USED] = view.tables.tally[k]


def winners(end: Ending) -> list[int]:
    """The arms still asked about, the highest estimate first, those without answers last."""
    kept = [k for k in range(len(end.shared)) if end.shared[k]]
    return sorted(kept, key=lambda k: -end.by_arm[k, ONES] / end.tally[k] if end.tally[k] else 1.0)


PART = Part(
    winners,
    wake=learn_decision,
    constants=constants,
    events=("elimination", "answer"),
    one_learner=True,
    play=answer_about,
    take=answer,
    group=("leader", "step", "wanted", "n_asked"),
    player=("given", "knows"),
    by_arm=lambda constants, n_arms: (n_arms, ASKED + 1),
    keeps_log=True,
    messages_of_a_player=lambda constants: int(constants.answers),
)
