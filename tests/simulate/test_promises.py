"""The standing of each promise, and that its words fit it."""

import pytest

from devote.kernels.registry import ALGORITHMS
from devote.problems import PROBLEMS, Problem
from devote.protocol import ExperimentSpec
from devote.simulate import simulate
from devote.simulate.promises import broken_assumption, can_stall, message_bound, promises
from devote.simulate.setting import Setting

STATIONARY = {"1", "2"}


def setting_of(algorithm="ser3", problem="1", protocol="jury", n_players=64):
    endless = algorithm == "ser4"
    spec = ExperimentSpec(arms=10, algorithm=algorithm, phi=1e-4 if endless else 0.0)
    return Setting.of(spec, PROBLEMS[problem], n_players, protocol, 1000 if endless else None)


def promised(setting):
    return {promise.name: promise for promise in promises(setting)}


@pytest.mark.parametrize("problem", list(PROBLEMS))
@pytest.mark.parametrize(
    ("protocol", "n_players"), [("jury", 64), ("decentralized", 28), ("isolated", 8), ("pooled", 8)]
)
def test_nothing_is_proved_where_rewards_change_or_players_differ(problem, protocol, n_players):
    found = promised(setting_of(problem=problem, protocol=protocol, n_players=n_players))
    expected = "proved" if problem in STATIONARY else "claimed"
    why = broken_assumption(PROBLEMS[problem])
    for name in ("right answer", "one device"):
        assert found[name].standing == expected
        assert why in found[name].words
    assert bool(why) == (expected == "claimed")


@pytest.mark.parametrize("protocol", ["decentralized", "jury", "isolated", "pooled"])
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "worst_case"])
@pytest.mark.parametrize("n_players", [29, 64])
def test_the_words_fit_the_standing(protocol, algorithm, n_players):
    found = promised(setting_of(algorithm, protocol=protocol, n_players=n_players))
    for name in ("right answer", "one device"):
        words = found[name].words
        if found[name].standing == "proved":
            assert "claimed" not in words
            assert "not proved" not in words.lower()
        else:
            assert "which is proved" not in words
            assert "holds as it stands" not in words
    if found["one device"].standing == "claimed":
        assert found["right answer"].standing == "claimed"


def test_recorded_rewards_read_in_order_are_not_covered():
    table = [[0.0, 1.0], [1.0, 0.0]]
    assert broken_assumption(Problem("log", replay=table))
    assert not broken_assumption(Problem("log", replay=table, replay_order="resample"))
    assert not broken_assumption(Problem("flat", [0.7, 0.5], drift=[0.0, 0.0]))


@pytest.mark.parametrize("n_players", [29, 64, 1000])
def test_erratum_5_a_jury_can_stall_however_many_players_there_are(n_players):
    setting = setting_of(n_players=n_players)
    assert can_stall(setting)
    assert promised(setting)["one answer"].standing == "refuted"


@pytest.mark.parametrize(("absent", "n_players"), [(0, 32), (1, 70)])
def test_a_jury_keeps_to_its_message_bound(absent, n_players):
    spec = ExperimentSpec(arms=3, absent=absent)
    problem = Problem("toy", [0.9, 0.1, 0.1])
    bound = message_bound(Setting.of(spec, problem, n_players, "jury"))
    result = simulate(spec, problem, n_players, protocol="jury", trials=5)
    assert result.broadcasts.max() <= bound
    assert absent or (result.broadcasts == bound).all()


def test_ser4_keeps_to_its_message_bound_term_by_term():
    setting = setting_of("ser4", protocol="decentralized")
    assert "in each term" in promised(setting)["few messages"].words


def test_privacy_is_told_as_it_was_measured():
    words = promised(setting_of())["privacy"].words
    for number in (".811 [.799, .823]", ".419 [.404, .435]", "2,712 of 2,712", "N = 32", "N = 64"):
        assert number in words
