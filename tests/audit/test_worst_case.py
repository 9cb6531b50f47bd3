"""Promises at their worst: what any M of N players do, and what a jury does.

Each count is held to its exact law by a two-sided binomial test at 1e-7; there are fewer than
ten, so the false-alarm probability is below 1e-6. The promises themselves are held by the same
counts: a jury that failed twice as often as is promised would be found out with probability .99.
"""

import random

import pytest

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.rules.algorithm import ALGORITHMS, Algorithm, register
from devote.rules.state import COUNT, keep_only
from devote.schemes import Jury
from devote.schemes.jury.scheme import Juror
from devote.schemes.jury.tally import Claim
from devote.simulator import run_players, simulate
from devote.theory import binomial_tail, vote_failure

ETA, DELTA = 0.9, 0.05
SPEC = ExperimentSpec(arms=2, algorithm="worst_case", eta=ETA, delta=DELTA)
ARMS = Problem("two", (0.9, 0.1))
FALSE_ALARM = 1e-7
SMALL = Jury(seats=7)


def consistent(count, runs, probability):
    above = binomial_tail(count, runs, probability=probability)
    below = binomial_tail(runs - count, runs, probability=1.0 - probability)
    return min(above, below) >= FALSE_ALARM / 2


def caught_if_twice(promised, runs):
    """The probability that a failure rate of twice the promise is refused."""
    least = next(
        count
        for count in range(int(promised * runs), runs)
        if binomial_tail(count, runs, probability=promised) < FALSE_ALARM / 2
    )
    return binomial_tail(least, runs, probability=2 * promised)


def failures(spec, problem, n_players, runs):
    winners = simulate(spec, problem, n_players, trials=runs, seed=11).winners
    return sum(0 not in arms for arms in winners)


@pytest.fixture
def subroutine(request):
    """An algorithm of a test's own, registered while it runs."""

    def add(name, choose, observe):
        register(Algorithm(name, "", "", choose, observe, lambda n_arms: 1, n_floats=1))
        request.addfinalizer(lambda: ALGORITHMS.pop(name))

    return add


@pytest.mark.slow
@pytest.mark.parametrize("n_players", [28, 29, 32, 64, 128])
def test_decentralized_fails_as_often_as_any_28_of_n_do(n_players):
    """From 29 players on far above delta, and fewer runs are enough to tell twice the rate."""
    runs = 1_800 if n_players == 28 else 600 if n_players < 64 else 300
    count = failures(SPEC, ARMS, n_players, runs)
    exact = vote_failure(n_players, lone=ETA, quorum=28)
    assert exact > 0.5 or caught_if_twice(exact, runs) > 0.99
    assert consistent(count, runs, min(exact, 1.0 - 1e-12))
    if n_players > 28:
        assert binomial_tail(count, runs, probability=DELTA) < FALSE_ALARM, "above delta for sure"


@pytest.mark.slow
@pytest.mark.parametrize("n_players", [7, 10, 30, 70])
def test_the_jury_fails_as_often_as_is_promised_at_every_n_from_j_to_10_j(n_players):
    """4 of 7 decide between two arms: wrong when 4 or more of 7 are, .0333 at eta = .2."""
    spec = ExperimentSpec(arms=2, algorithm="worst_case", scheme=SMALL)
    promised = SMALL.failure(spec, spec.votes_needed)
    assert (spec.eta, spec.votes_needed, 2 * spec.votes_needed - 1) == (0.2, 4, SMALL.seats)
    assert promised <= DELTA
    runs = 2_500
    assert caught_if_twice(promised, runs) > 0.99
    assert consistent(failures(spec, ARMS, n_players, runs), runs, promised)


@pytest.mark.slow
def test_the_default_jury_of_two_arms_is_right_before_enough_of_it_can_be_wrong():
    """10 of 29 decide, so the first 19 picks do: P(Bin(19, .2) >= 10) = .0016, far below .049."""
    spec = ExperimentSpec(arms=2, algorithm="worst_case", scheme=Jury())
    needed, runs = spec.votes_needed, 1_500
    exact = binomial_tail(needed, 2 * needed - 1, probability=spec.eta)
    assert exact < Jury().failure(spec, needed) / 25
    assert consistent(failures(spec, ARMS, 64, runs), runs, exact)


def keep_a_good_arm():
    """A subroutine that ends with the last arm with probability eta, else with any other."""

    def choose(rule, state, u):
        state.floats[0] = u
        for k in range(len(state.alive)):
            if state.alive[k]:
                return k
        return -1

    def observe(rule, state, arm, reward, out):
        if state.ints[COUNT] == 1:
            return 0
        n_good = len(state.alive) - 1
        kept = n_good
        u = state.floats[0]
        if u >= rule.eta:
            kept = int((u - rule.eta) / (1.0 - rule.eta) * n_good)
        if not state.alive[kept]:
            kept = arm
        return keep_only(state, kept, out)

    return choose, observe


@pytest.mark.slow
def test_where_good_arms_split_the_jury_its_promise_is_met_to_the_letter(subroutine):
    """Eleven good arms and one bad: no good one gets 10 of 29 picks, the bad one as promised."""
    subroutine("split_jury", *keep_a_good_arm())
    spec = ExperimentSpec(arms=12, algorithm="split_jury", scheme=Jury())
    problem = Problem("one bad", (0.9,) * 11 + (0.1,))
    promised = Jury().failure(spec, spec.votes_needed)
    runs = 1_500
    assert caught_if_twice(promised, runs) > 0.98
    winners = simulate(spec, problem, 40, trials=runs, seed=5).winners
    assert consistent(sum(arms == (11,) for arms in winners), runs, promised)


@pytest.mark.slow
def test_with_two_good_arms_the_bound_for_one_is_no_bound(subroutine):
    """Players who fail with .9 and else keep either of two good arms: .95, not .79, at N = 32.

    Both good arms go when at most 4 players keep each, for which 24 failures are enough. With .95
    the 250 runs tell the two apart with probability .99.
    """
    n_players, eta = 32, 0.9
    subroutine("split_case", *keep_a_good_arm())
    spec = ExperimentSpec(arms=3, algorithm="split_case", eta=eta, delta=DELTA)
    problem = Problem("three", (0.9, 0.9, 0.1))
    runs = [run_players(spec, problem, n_players, seed=3, trial=i) for i in range(250)]
    lost = sum(set(run.winners) == {2} for run in runs)
    exact = vote_failure(n_players, lone=eta, quorum=28)
    assert binomial_tail(lost, len(runs), probability=exact) < 1e-7


def _play_the_first(rule, state, u):
    for k in range(len(state.alive)):
        if state.alive[k]:
            return k
    return -1


def _err_on_a_first_reward_of_1(rule, state, arm, reward, out):
    if state.ints[COUNT] == 1:
        return 0
    return keep_only(state, 1 if reward > 0.5 else 0, out)


class ClaimsOnReward(Juror):
    """The first jury's hole: a seat is claimed when a reward has come."""

    def _wake(self, noise):
        if self.is_juror:
            super()._wake(noise)

    def _learn(self, eliminated, *, was_reset):
        if not self._claimed and not self.tally.is_full:
            self._claimed = True
            self._send([Claim(self.spec.name, self.voter)])
        super()._learn(eliminated, was_reset=was_reset)


def verdict_of_a_fleet(players, dice):
    """Users come and go; a click is heard at once, no click only when the user is back."""

    def tell(messages):
        for message in messages:
            for player in players:
                player.receive(message)

    while players[0].tally.status() == "open":
        player = dice.choice(players)
        if player.pending is not None:
            tell(player.reward(0.0))
        player.activate(dice.random())
        tell(player.outgoing())
        if dice.random() < 0.2:
            tell(player.reward(1.0))
    return players[0].tally.verdict


def test_rewards_cannot_choose_the_jury(subroutine):
    """A subroutine that errs exactly when its first reward is 1, and clicks that arrive first.

    Arm 0 pays 1 with probability eta = .2, so that each device errs as often as is allowed. The
    first jury's claims were sent when a reward came: the erring devices took the seats, here too
    in most of 200 fleets. Claims at activation cannot depend on rewards: 2,500 fleets, wrong as
    often as is promised; twice as often would be found out with probability .99.
    """
    subroutine("first_reward", _play_the_first, _err_on_a_first_reward_of_1)
    jury = Jury(seats=7, seat_after=1)
    spec = ExperimentSpec(arms=2, algorithm="first_reward", scheme=jury)
    promised = jury.failure(spec, spec.votes_needed)
    dice = random.Random(7)

    def fleet(form):
        return [form(spec, str(n)) for n in range(70)]

    holed = sum(verdict_of_a_fleet(fleet(ClaimsOnReward), dice) == 1 for _ in range(200))
    assert holed > 100
    runs = 2_500
    wrong = sum(verdict_of_a_fleet(fleet(Juror), dice) == 1 for _ in range(runs))
    assert caught_if_twice(promised, runs) > 0.99
    assert consistent(wrong, runs, promised)
