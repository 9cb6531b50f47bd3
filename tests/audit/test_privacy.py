"""The audit of privacy: adversaries who know what they see, and numbers that mean something."""

import math

import pytest

from devote.audit import AuditError, audit_privacy
from devote.audit.adversaries import learn, name_arm, name_arm_knowing_others
from devote.audit.leak import epsilon_lower_bound
from devote.audit.views import Sent, View, view_runs
from devote.problems import get_problem
from devote.protocol import ExperimentSpec
from devote.simulate.cell import Cell

SPEC = ExperimentSpec(arms=10, eta=0.5)


def view(against=(), *, answer=0, luck=0.0, busy=False):
    own = tuple(Sent(3, 10 + i, arm) for i, arm in enumerate(against))
    return View(
        player=3,
        n_arms=4,
        n_players=8,
        own=own,
        others=(),
        samples=100,
        optimal=frozenset({0}),
        worst=frozenset({3}),
        group=0,
        activations=20,
        busy=busy,
        answer=answer,
        luck=luck,
    )


def test_who_votes_against_all_but_one_names_that_one():
    assert name_arm(view((1, 2, 3))) == 0
    assert name_arm(view((0, 1, 2))) == 3


def test_who_is_silent_gives_nothing_away_but_what_all_know():
    named = {name_arm(view(luck=luck)) for luck in (0.0, 0.3, 0.6, 0.9)}
    assert named == {0, 1, 2, 3}
    assert name_arm_knowing_others(view(answer=2, luck=0.9)) == 2


def test_a_learning_adversary_guesses_what_it_saw_most():
    taught = [view((1,), busy=True)] * 3 + [view((1,))] + [view()] * 5
    guess = learn(taught, lambda v: v.against, lambda v: int(v.busy))
    assert guess(view((1,))) == 1
    assert guess(view()) == 0
    assert guess(view((2,))) == 0


def test_epsilon_of_differential_privacy_is_a_lower_bound():
    """A coin of randomised response with epsilon = 1 is never accused of more, at 95 %."""
    truth = math.e / (1 + math.e)
    n = 10_000
    found = epsilon_lower_bound(round(truth * n), n, round((1 - truth) * n), n)
    assert 0.9 < found <= 1.0
    assert epsilon_lower_bound(10, 20, 10, 20) == 0.0


def test_views_are_of_the_players_of_the_run_and_repeatable():
    cell = Cell(SPEC, get_problem("2"), 16)
    one, two = (view_runs(cell, 20, seed=4) for _ in range(2))
    assert one == two
    assert len({v.player for v in one}) > 5
    for seen in one:
        assert all(sent.player == seen.player for sent in seen.own)
        assert len(set(seen.against)) == len(seen.against)
        assert seen.optimal == {0, 1}


def test_definition_3_is_broken_where_eta_is_high():
    """At eta = .9 and N = 32 a player's own votes name a good arm far more often than .1.

    200 runs; fewer than 60 successes at a rate of .5 or more have probability below 1e-8.
    """
    leaks = audit_privacy(ExperimentSpec(arms=10), get_problem("1"), 32, runs=200)
    own = leaks[0]
    assert own.question == "best arm"
    assert own.cap == pytest.approx(0.1)
    assert own.success.interval[0] > 0.3 > own.baseline > own.cap
    assert own.complete.value == 1.0
    assert {leak.question for leak in leaks} == {"best arm", "group", "activity"}
    assert all(leak.success.value >= leak.baseline - 0.15 for leak in leaks)


def test_too_few_runs_are_refused():
    with pytest.raises(AuditError, match="200 or more"):
        audit_privacy(SPEC, get_problem("1"), 16, runs=10)
