"""The survey in the compiled simulator: one learner, and players who answer through their noise."""

from typing import NamedTuple

from devote.protocol import ExperimentSpec
from devote.rules import State
from devote.rules.randomizer import blur_reward
from devote.schemes.survey.scheme import Survey
from devote.schemes.survey.tally import leader, seeds, uniform
from devote.simulator.parts.part import Ending, Part, Subroutine
from devote.simulator.workspace import (
    AGREED,
    ELIMINATION,
    FAULT,
    Workspace,
    note_eliminations,
    send,
)

ANSWER = ELIMINATION + 1

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


def wake(work: Workspace, state: State, player: int, noise: float) -> None:
    """Learn of the decision."""
    p = work.players[player]
    if work.group.n_shared == 1 and not p.knows:
        p.knows = 1
        work.group.holding += 1


def is_asked(work: Workspace, player: int) -> bool:
    """Whether a player answers with this play."""
    return bool(work.group.n_shared > 1 and work.players[player].given < work.scheme.answers)


def choose(sub: Subroutine, work: Workspace, state: State, player: int, u: float) -> int:
    """An arm that is asked about, drawn uniformly; after its answers, the one that leads."""
    if not is_asked(work, player):
        return int(work.group.leader)
    if work.group.n_asked == 0:  # not looked up yet
        renew_asked(sub, work, state)
    place = int(u * work.group.n_asked)
    for k in range(len(work.shared)):
        if work.by_arm[k, ASKED]:
            if place == 0:
                return k
            place -= 1
    return -1


def observe(
    sub: Subroutine,
    work: Workspace,
    state: State,
    player: int,
    arm: int,
    reward: float,
    noise: float,
) -> int:
    """Answer, and feed the learner."""
    if not is_asked(work, player):
        return 0
    group = work.group
    bit = blur_reward(reward, noise, work.scheme.truths)
    work.players[player].given += 1
    send(work, ANSWER, player, arm)
    work.voted[work.tally[arm], arm] = bit
    work.tally[arm] += 1
    work.by_arm[arm, ONES] += bit
    n_shared = group.n_shared
    if not work.by_arm[arm, ASKED]:
        work.by_arm[arm, USED] += 1
    else:
        fault = feed(sub, work, state)
        if fault != 0:
            return fault
    if group.n_shared < n_shared:
        note_eliminations(work, player)
    group.leader = leader(work.tally, work.by_arm[:, ONES], work.shared)
    if group.n_shared == 1:
        group.decided = group.time + 1
    return 0


def feed(sub: Subroutine, work: Workspace, state: State) -> int:
    """Hand the learner the answers it asks for, as long as they are there; 0, or NO_RULE.

    ``group.wanted`` is the arm it waits for and 1, or 0 while it has not been asked.
    """
    rule, ask, learn_from = sub[:3]
    group = work.group
    while group.n_shared > 1:
        if group.wanted == 0:
            u = uniform(work.scheme.first, work.scheme.second, group.step)
            group.wanted = ask(rule, state, u) + 1
            group.step += 1
        arm = group.wanted - 1
        if arm < 0 or arm >= len(work.tally):
            return NO_RULE
        place = work.by_arm[arm, USED]
        if place == work.tally[arm]:
            return 0
        work.by_arm[arm, USED] += 1
        group.wanted = 0
        bit = float(work.voted[place, arm])
        n_out = learn_from(rule, state, arm, bit, work.out)
        if n_out < 0 or n_out >= group.n_shared:
            return NO_RULE
        for j in range(n_out):
            work.shared[work.out[j]] = 0
        group.n_shared -= n_out
        renew_asked(sub, work, state)
    return 0


def renew_asked(sub: Subroutine, work: Workspace, state: State) -> None:
    """Look up which arms the learner asks about, and empty the queues of those that have gone."""
    rule, asks = sub[0], sub[3]
    work.group.n_asked = 0
    for k in range(len(work.tally)):
        if asks(rule, state, k):
            work.by_arm[k, ASKED] = 1
            work.group.n_asked += 1
        elif work.by_arm[k, ASKED]:
            work.by_arm[k, ASKED] = 0
            work.by_arm[k, USED] = work.tally[k]


def ended(work: Workspace) -> int:
    """AGREED once everybody knows the decision, USED_UP without one after all answers, or 0."""
    if work.group.n_shared == 1:
        return AGREED if work.group.holding == work.n_players else 0
    return USED_UP if work.group.broadcasts >= work.n_players * work.scheme.answers else 0


def winners(end: Ending) -> list[int]:
    """The arms still asked about, the highest estimate first, those without answers last."""
    kept = [k for k in range(len(end.tally)) if end.shared[k]]
    return sorted(kept, key=lambda k: -end.by_arm[k, ONES] / end.tally[k] if end.tally[k] else 1.0)


PART = Part(
    ended,
    winners,
    wake,
    group=("leader", "step", "wanted", "n_asked"),
    player=("given", "knows"),
    events=("elimination", "answer"),
    constants=constants,
    one_learner=True,
    choose=choose,
    observe=observe,
    arm_words=ASKED + 1,
    keeps_log=True,
    messages_of_a_player=lambda constants: int(constants.answers),
)
