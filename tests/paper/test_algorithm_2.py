"""Algorithm 2, Decentralized Elimination, line by line, and where print differs (errata 1-5).

Each test quotes the line it holds. The subroutine is ``worst_case`` where a vote is wanted at
once: after one pull it keeps the first remaining arm, or the last if its coin is below eta.
"""

import pytest

from devote.problems import Problem
from devote.protocol import ExperimentSpec, SpecError
from devote.schemes import Ballot, Vote
from devote.simulator import run_players

FIRST, LAST = 0.99, 0.0
"""Coins with which ``worst_case`` keeps the first or the last remaining arm, at eta = .5."""


def spec(arms=3, quorum=2, **changes):
    fields = {"algorithm": "worst_case", "eta": 0.5, "scheme": {"quorum": quorum}} | changes
    return ExperimentSpec(arms=arms, **fields)


def player_of(spec, voter):
    return spec.scheme.player(spec, voter)


def vote(arm, voter, term=0):
    return Vote("experiment", term, arm, voter)


def wake(player, coin=FIRST):
    """One activation; the messages it sends."""
    player.activate(coin)
    return player.reward(1.0)


def script(n_players, *steps):
    """Uniforms that wake the given players with the given coins."""
    return [((player + 0.5) / n_players, coin, 0.5) for player, coin in steps]


def test_inputs_epsilon_eta_and_delta_have_the_printed_ranges():
    """Inputs: "epsilon in (0,1], eta in (0,1), delta in [eta^N, eta^2]"."""
    for name, bad in (("epsilon", 0), ("epsilon", 1.1), ("eta", 0), ("eta", 1)):
        with pytest.raises(SpecError, match=name):
            ExperimentSpec(arms=2, **{name: bad})
    with pytest.raises(SpecError, match=r"eta\^2"):
        ExperimentSpec(arms=2, eta=0.9, delta=0.9)
    paper = ExperimentSpec(arms=2, eta=0.9, delta=0.05)
    paper.check_players(28)
    with pytest.raises(SpecError, match="27 players"):
        paper.check_players(27)


def test_initialization_all_arms_remain_and_nobody_has_voted():
    """Initialization: "K(l) := K, K^n(l^n) := K, for all (k, n) lambda^n_k := 0"."""
    player = player_of(spec(), "n")
    assert player.shared == player.remaining == (0, 1, 2)
    assert not player.tally.votes
    assert player.tally.counts == (0, 0, 0)


def test_line_3_messages_are_read_when_the_player_is_active():
    """Line 3: "player n gets the messages lambda_k^j from other players"."""
    player = player_of(spec(quorum=1), "n")
    player.receive(vote(1, "a"))
    assert player.remaining == (0, 1, 2)
    player.activate(FIRST)
    assert player.remaining == (0, 2)


def test_line_6_an_arm_is_eliminated_by_floor_log_delta_over_log_eta_votes():
    """Line 6: "if sum_j lambda^j_k >= floor(log delta / log eta)"."""
    paper = ExperimentSpec(arms=3, eta=0.9, delta=0.05)
    assert paper.votes_needed == 28
    ballot = Ballot(paper)
    for n in range(27):
        ballot.add(vote(2, f"n{n}"))
    assert ballot.shared == (0, 1, 2)
    ballot.add(vote(2, "n26"))  # again the same player
    assert ballot.shared == (0, 1, 2)
    ballot.add(vote(2, "n27"))
    assert ballot.shared == (0, 1)


def test_lines_7_and_8_the_arm_leaves_the_shared_set_and_the_active_players_own():
    """Line 7: "K(l) := K(l) \\ {k}"; line 8: "K^n(l^n) := K^n(l^n) \\ {k}"."""
    player = player_of(spec(quorum=2), "n")
    player.receive(vote(0, "a"))
    player.receive(vote(0, "b"))
    assert player.shared == (1, 2)
    assert player.activate(FIRST) == 1
    assert player.remaining == (1, 2)


def test_line_11_when_one_arm_is_shared_it_is_the_players_set():
    """Line 11: "else K^n(l^n) := K(l)"."""
    player = player_of(spec(quorum=1), "n")
    for arm in (0, 2):
        player.receive(vote(arm, "a"))
    assert player.activate(FIRST) == 1
    assert player.best == 1
    assert player.reward(1.0) == []


def test_line_13_the_subroutine_plays_a_remaining_arm():
    """Line 13: "ArmSelection(epsilon, eta, K^n(l^n))"."""
    player = player_of(spec(arms=5, quorum=1, algorithm="ser3"), "n")
    player.receive(vote(0, "a"))
    player.receive(vote(3, "a"))
    played = set()
    for i in range(30):
        played.add(player.activate(i / 30))
        player.reward(0.0)
    assert played == {1, 2, 4}


def test_erratum_1_line_14_a_single_eliminated_arm_is_sent_too():
    """Line 14 prints "if |eliminated| > 1": with two arms nothing would ever be sent."""
    assert wake(player_of(spec(arms=2), "n")) == [vote(1, "n")]


def test_lines_15_to_18_an_elimination_opens_an_epoch_and_is_sent_to_all():
    """Line 15: "l^n := l^n + 1"; 16: "for all k"; 17: "K^n(l^n) \\ {k}"; 18: "lambda_k^n is sent
    to other players".
    """
    player = player_of(spec(arms=4), "n")
    assert wake(player) == [vote(arm, "n") for arm in (1, 2, 3)]
    assert (player.epoch, player.remaining) == (1, (0,))
    assert player.tally.voted("n") == {1, 2, 3}
    assert wake(player) == []
    assert player.epoch == 1


def test_line_21_every_activation_counts_as_one_sample():
    """Line 21: "t^n := t^n + 1"; total samples are the activations of all players."""
    run = run_players(spec(quorum=2), Problem("p", [0.9, 0.5, 0.1]), 4, horizon=3)
    assert run.samples_until_all_know == 3
    pulls = script(4, (2, LAST), (2, LAST), (2, LAST), (1, LAST), (0, LAST), (3, LAST))
    run = run_players(spec(quorum=2), Problem("p", [0.9, 0.5, 0.1]), 4, uniforms=pulls)
    assert (run.samples_until_all_know, run.status) == (6, "agreed")
    assert run.first_vote == (-1, 1, 1, -1)


def test_erratum_2_lines_5_to_10_every_player_drops_the_arm_when_it_wakes():
    """As printed only the player who happens to be active when the quorum is there drops the
    arm: "K^n(l^n) := K^n(l^n) \\ {k}" for that n, and the others go on voting against it.
    """
    players = [player_of(spec(quorum=2), str(n)) for n in range(5)]
    sent = []
    for player in players:
        for message in wake(player, LAST):
            sent.append(message)
            for other in players:
                other.receive(message)
    assert [message.voter for message in sent] == ["0", "0", "1", "1"]
    assert all(player.remaining == (2,) for player in players)


def test_erratum_3_line_6_the_last_arm_is_never_voted_out():
    """Line 6 as printed tests "all k in K(l)": every arm may have its quorum, and K(l) is empty."""
    ballot = Ballot(spec(arms=3, quorum=2))
    for voter, arms in (("a", (0, 1)), ("b", (1, 2)), ("c", (0, 2)), ("d", (1,))):
        for arm in arms:
            ballot.add(vote(arm, voter))
    assert ballot.counts == (2, 3, 2)
    assert ballot.shared == (0,)  # fewest votes, lowest index


def test_erratum_4_line_8_a_player_whose_only_arm_is_voted_out_starts_over_on_the_shared_set():
    """As printed "K^n(l^n) := K^n(l^n) \\ {k}" leaves this player with nothing to play."""
    player = player_of(spec(arms=3, quorum=2), "n")
    wake(player, LAST)
    assert player.remaining == (2,)
    for voter in "ab":
        player.receive(vote(2, voter))
    assert player.activate(LAST) in (0, 1)
    assert player.conflicts == 1
    assert player.remaining == player.shared == (0, 1)
    assert player.reward(1.0) == []  # against arm 0 again, which was sent before
    assert player.tally.counts == (1, 1, 2)


def test_erratum_5_line_22_ends_when_all_hold_the_one_shared_arm():
    """Line 22: "until for all n |K^n(l^n)| = 1"."""
    pulls = script(3, (0, FIRST), (1, FIRST), (2, FIRST))
    run = run_players(spec(quorum=2), Problem("p", [0.9, 0.5, 0.1]), 3, uniforms=pulls)
    assert (run.status, run.winners, run.samples_until_all_know) == ("agreed", (0,), 3)


def test_erratum_5_line_22_players_with_different_arms_are_stalled_not_done():
    """As printed the run would stop here with each |K^n| = 1, right with probability 1 - eta.

    "it exists a time such that for K-1 arms, there are M voting players" is false: two players
    keep arm 0, two keep arm 1, and three votes are needed.
    """
    pulls = script(4, (0, FIRST), (1, FIRST), (2, LAST), (3, LAST))
    run = run_players(spec(arms=2, quorum=3), Problem("p", [0.5, 0.5]), 4, uniforms=pulls)
    assert (run.status, run.winners, run.samples_until_all_know) == ("stalled", (0, 1), 4)
    assert run.trace is None


def test_output_every_player_holds_the_arm():
    """Output: "an arm in each set K^n(l^n)"."""
    players = [player_of(spec(quorum=2), str(n)) for n in range(4)]
    for player in players:
        for message in wake(player):
            for other in players:
                other.receive(message)
    assert {player.best for player in players} == {0}
