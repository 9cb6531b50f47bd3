"""Algorithm 1, the Decentralized Exploration Problem, line by line, as the slow path runs it.

Lines 1 and 8, and what every line changes, are held in full by the comparison with the reference.
"""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from devote.problems import Problem, Weights, pay, pick
from devote.protocol import ExperimentSpec, Learner
from devote.simulator import run_players
from devote.simulator.streams import stream
from devote.theory import binomial_tail

PROBLEM = Problem("p", [0.9, 0.5, 0.1])
SPEC = ExperimentSpec(arms=3, algorithm="ser3", epsilon=0.5, eta=0.5, delta=0.2)


def test_line_2_a_player_is_sampled_by_its_share():
    """Line 2: "a player is sampled: n ~ P_x".

    Two-sided exact binomial test per player at 1e-7: false alarm below 3e-7. A share of .125
    instead of .1 is found with probability .99.
    """
    weights = (0.6, 0.3, 0.1)
    waking = Problem("p", [1, 0], activity=Weights(weights)).waking(3)
    draw = stream(1, 0, "wake").random
    woken = [pick(*waking, draw()) for _ in range(10_000)]
    for player, share in enumerate(weights):
        count = woken.count(player)
        above = binomial_tail(count, len(woken), probability=share)
        below = binomial_tail(len(woken) - count, len(woken), probability=1 - share)
        assert min(above, below) >= 0.5e-7


@given(st.integers(0, 10**6))
def test_lines_3_to_7_are_receive_activate_reward_and_send(seed):
    """Lines 3-7: "player n gets the messages of other players", "arm k in K^n(l^n) is played by
    player n", "player n receives reward", "if player n updates K^n(l^n) then l^n := l^n + 1",
    "player n sends a message to other players".

    The loop written out with players gives what ``run_players`` gives.
    """
    rng = random.Random(seed)
    uniforms = [(rng.random(), rng.random(), rng.random()) for _ in range(800)]
    run = run_players(SPEC, PROBLEM, 4, uniforms=uniforms, horizon=800, trace=True)

    env, waking = PROBLEM.environment(4), PROBLEM.waking(4)
    players = [SPEC.scheme.player(SPEC, str(n)) for n in range(4)]
    mailbox = []
    for t, (u_wake, u_choose, u_pay) in enumerate(uniforms[: run.samples_until_all_know]):
        n = pick(*waking, u_wake)
        for message in mailbox:
            if message.voter != players[n].voter:
                players[n].receive(message)
        arm = players[n].activate(u_choose)
        assert arm in players[n].remaining
        before, epoch = players[n].remaining, players[n].epoch
        mailbox += players[n].reward(pay(env, t, n, arm, u_pay))
        assert players[n].epoch == epoch + (players[n].remaining != before)
    votes = [(e.term, e.arm, str(e.player)) for e in run.trace if e.kind == "vote"]
    assert [(m.term, m.arm, m.voter) for m in mailbox] == votes
    assert run.status == "agreed"
    assert {player.best for player in players} == set(run.winners)


def test_line_8_it_ends_when_every_player_is_down_to_one_arm():
    """Line 8: "until for all n |K^n(l^n)| = 1"; players who say nothing just do that."""
    run = run_players(SPEC.with_(scheme="isolated"), PROBLEM, 4, seed=3)
    settings = replace(SPEC.scheme.learner(SPEC), eta=SPEC.delta / 4)
    players = [Learner(settings) for _ in range(4)]
    env, waking = PROBLEM.environment(4), PROBLEM.waking(4)
    wake, choose, reward = (stream(3, 0, name).random for name in ("wake", "choose", "pay"))
    for t in range(run.samples_until_all_know):
        assert any(player.best is None for player in players)
        n = pick(*waking, wake())
        arm = players[n].activate(choose())
        players[n].reward(pay(env, t, n, arm, reward()))
    assert all(player.best is not None for player in players)
