"""The standing of each promise, and that its words fit it."""

import pytest

from devote.plan.promises import broken_assumption, case_of
from devote.problems import PROBLEMS, Problem
from devote.protocol import Case, ExperimentSpec
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import Scenario, simulate
from devote.theory import claimed_failure, lone_failure, vote_failure

STATIONARY = {"1", "2"}


def scenario_of(algorithm="ser3", problem="1", scheme="jury", n_players=64):
    endless = algorithm == "ser4"
    options = {"phi": 1e-4} if endless else {}
    spec = ExperimentSpec(arms=10, algorithm=algorithm, options=options, scheme=scheme)
    return Scenario(spec, PROBLEMS[problem], n_players, 1000 if endless else None)


def promised(scenario):
    return {
        promise.name: promise for promise in scenario.scheme.guarantees(case_of(scenario)).promises
    }


@pytest.mark.parametrize("problem", list(PROBLEMS))
@pytest.mark.parametrize(
    ("scheme", "n_players"), [("jury", 64), ("decentralized", 28), ("isolated", 8), ("pooled", 8)]
)
def test_nothing_is_proved_where_rewards_change_or_players_differ(problem, scheme, n_players):
    found = promised(scenario_of(problem=problem, scheme=scheme, n_players=n_players))
    expected = "proved" if problem in STATIONARY else "claimed"
    why = broken_assumption(PROBLEMS[problem])
    for name in ("right answer", "one device"):
        assert found[name].standing == expected
        assert why in found[name].words
    assert bool(why) == (expected == "claimed")


@pytest.mark.parametrize(
    ("scheme", "algorithm"),
    [
        (scheme, name)
        for scheme in ("decentralized", "jury", "isolated", "pooled")
        for name in ALGORITHMS
        if name != "worst_case" and (scheme, name) != ("jury", "ser4")
    ],
)
@pytest.mark.parametrize("n_players", [29, 64])
def test_the_words_fit_the_standing(scheme, algorithm, n_players):
    found = promised(scenario_of(algorithm, scheme=scheme, n_players=n_players))
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
    assert not broken_assumption(Problem("log", samples=table))
    assert not broken_assumption(Problem("flat", [0.7, 0.5], drift=[0.0, 0.0]))


@pytest.mark.parametrize("n_players", [29, 64, 1000])
def test_erratum_5_a_jury_of_ten_arms_can_stall_however_many_players_there_are(n_players):
    scenario = scenario_of(n_players=n_players)
    assert scenario.scheme.guarantees(case_of(scenario)).can_stall
    assert promised(scenario)["one answer"].standing == "measured"


def test_a_jury_cannot_stall_where_its_picks_are_too_many_for_the_arms():
    """29 picks of 3 arms give one of them at least 10."""
    for arms, stalls in ((2, False), (3, False), (4, True)):
        spec = ExperimentSpec(arms=arms, scheme="jury")
        scenario = Scenario(spec, Problem("equal", [0.5] * arms), 40)
        assert spec.votes_needed == 10
        assert scenario.scheme.guarantees(case_of(scenario)).can_stall == stalls
        assert (promised(scenario)["one answer"].standing == "proved") == (not stalls)


@pytest.mark.parametrize("n_players", [29, 64])
def test_a_jury_keeps_to_its_message_bound(n_players):
    spec = ExperimentSpec(arms=3, scheme="jury")
    result = simulate(spec, Problem("toy", [0.9, 0.1, 0.1]), n_players, trials=5)
    assert spec.scheme.guarantees(Case(spec)).message_bound == 58
    assert result.broadcasts.max() <= 58


def test_ser4_keeps_to_its_message_bound_term_by_term():
    scenario = scenario_of("ser4", scheme="decentralized")
    assert "in each term" in promised(scenario)["few messages"].words


def test_privacy_is_told_as_it_was_measured():
    words = promised(scenario_of(scheme="decentralized"))["privacy"].words
    for number in (".811 [.799, .823]", ".419 [.404, .435]", "2,712 of 2,712", "N = 32", "N = 64"):
        assert number in words


def bounds(algorithm, *, n_players, n_optimal=1, broken="", **fields):
    spec = ExperimentSpec(arms=10, algorithm=algorithm, **fields)
    return spec.scheme.guarantees(Case(spec, n_players, n_optimal, broken)).bounds


def names(algorithm, **case):
    return [row.name for row in bounds(algorithm, **case)]


def test_erratum_19_the_bound_is_that_of_the_subroutine_and_not_of_eta():
    lone = lone_failure("lucb", n_arms=10, epsilon=0.25, eta=0.9).wrong_vote
    claimed, proved = bounds("lucb", n_players=64)
    assert claimed.value == claimed_failure(0.9, 28)
    assert (claimed.name, proved.name) == ("claimed", "proved")
    assert proved.value == vote_failure(64, lone=lone, quorum=28) < 1e-7
    assert "Any 28 of 64" in proved.text


@pytest.mark.parametrize("n_optimal", [None, 2, 10])
def test_erratum_19_with_several_good_arms_or_unknown_ones_nothing_is_called_proved(n_optimal):
    rows = bounds("lucb", n_players=64, n_optimal=n_optimal)
    assert [row.name for row in rows] == ["claimed", "if one arm is good"]
    assert ("does not cover" in rows[1].text) == (n_optimal is not None)


def test_where_all_must_be_wrong_together_the_claim_is_proved_if_each_device_is():
    lone = lone_failure("lucb", n_arms=10, epsilon=0.25, eta=0.9).bound
    for n_optimal in (1, 2, None):
        _, proved = bounds("lucb", n_players=28, n_optimal=n_optimal)
        assert (proved.name, proved.value) == ("proved", pytest.approx(lone**28))
    assert names("lucb", n_players=28, broken="x") == ["claimed"]
    assert names("kl_racing", n_players=28) == ["claimed", "proved"]
    assert names("kl_racing", n_players=28, n_optimal=2) == ["claimed", "if one arm is good"]


@pytest.mark.parametrize("scheme", ["jury", "isolated", "pooled"])
def test_nothing_is_proved_of_devices_of_whom_nothing_is_proved(scheme):
    [proved] = bounds("lucb", n_players=64, scheme=scheme)
    [claimed] = bounds("kl_racing", n_players=64, scheme=scheme)
    assert (proved.name, claimed.name) == ("proved", "claimed")
    assert proved.value == claimed.value <= 0.05
    assert "not proved here: kl_racing alone: " in claimed.text
    assert "not proved" not in proved.text


def test_liars_weigh_in():
    rows = [
        bounds("lucb", n_players=200, scheme={"name": "jury", "liars": liars})[0]
        for liars in (0, 3)
    ]
    assert all(0.01 < row.value <= 0.05 for row in rows)
