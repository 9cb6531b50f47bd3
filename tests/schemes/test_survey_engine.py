"""The compiled survey and ``Respondent`` objects make the very same run of the same uniforms."""

from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.schemes.surveys import small

from devote.problems import Problem, Split, Uniform, Zipf
from devote.rules.algorithm import ALGORITHMS
from devote.simulator import Scenario, run_players, run_trial
from devote.simulator.reference import REFERENCES, separate_players
from devote.simulator.run import BLOCK

QUICK = ("mixture_elimination", "ser3")


def both(scenario, **trial):
    engine = run_trial(scenario, trace=True, **trial)
    players = run_players(
        scenario.spec,
        scenario.problem,
        scenario.n_players,
        horizon=scenario.horizon,
        trace=True,
        **trial,
    )
    # Not by assert: pytest would spend minutes on telling two long traces apart.
    if engine != players:
        pytest.fail(f"{scenario.spec} with {scenario.n_players} players, {trial}")
    return engine


@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), min_size=2, max_size=5),
    algorithm=st.sampled_from(QUICK),
    family=st.sampled_from(["bernoulli", "beta", "uniform"]),
    privacy=st.sampled_from([None, 0.7, 3.0]),
    answers=st.integers(1, 3),
    extra=st.integers(0, 60),
    activity=st.sampled_from([Uniform(), Split(), Zipf(1.0)]),
    seed=st.integers(0, 2**64),
)
def test_engine_equals_players_in_any_small_survey(
    means, algorithm, family, privacy, answers, extra, activity, seed
):
    spec = small(len(means), algorithm=algorithm, privacy=privacy, answers=answers, epsilon=0.9)
    problem = Problem("w", means, activity=activity, rewards=family)
    n_players = spec.scheme.fewest_players(spec) + extra
    run = both(Scenario(spec, problem, n_players, horizon=1_500), seed=seed, trial=0)
    event(run.status)


def check_subroutine(algorithm):
    spec = small(3, algorithm=algorithm, epsilon=0.9, privacy=24.0, answers=8, delta=0.4)
    statuses = set()
    fewest = spec.scheme.fewest_players(spec)
    for n_players in (fewest, fewest + 50):
        run = both(Scenario(spec, Problem("w", [0.9, 0.5, 0.1]), n_players), seed=2, trial=0)
        statuses.add(run.status)
    assert "agreed" in statuses


@pytest.mark.parametrize("algorithm", [*QUICK, "lucb", "worst_case"])
def test_engine_equals_players_for_some_subroutines(algorithm):
    check_subroutine(algorithm)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", sorted({*ALGORITHMS} - {*QUICK, "lucb", "ser4"}))
def test_engine_equals_players_for_every_other_subroutine(algorithm):
    check_subroutine(algorithm)


def test_a_survey_of_too_few_ends_unfinished_when_all_have_answered():
    spec = small(3, epsilon=0.1)
    scenario = Scenario(spec, Problem("close", [0.5, 0.5, 0.5]), 40)
    run = both(scenario, seed=1, trial=0)
    assert run.status == "unfinished"
    assert run.broadcasts == 40
    assert run.samples == -1
    assert min(run.first_vote) == 1 == max(run.first_vote)
    assert sorted(run.winners) == [0, 1, 2]


def test_samples_count_until_everybody_knows_and_broadcasts_until_the_decision():
    spec = small(3, epsilon=0.5)
    run = both(Scenario(spec, Problem("easy", [0.9, 0.1, 0.1]), 200), seed=1, trial=0)
    assert run.status == "agreed"
    assert run.winners == (0,)
    assert run.epsilon_optimal
    answers = [event for event in run.trace if event.kind == "answer"]
    assert len(answers) == run.broadcasts <= run.samples < run.samples_until_all_know
    assert answers[-1].time == run.samples - 1


def test_the_log_of_answers_grows_past_its_first_block():
    spec = small(2, epsilon=0.02, delta=1e-3, answers=60_000)
    run = both(Scenario(spec, Problem("close", [0.5, 0.5]), 3), seed=1, trial=0)
    assert run.status == "agreed"
    assert run.broadcasts > 4 * BLOCK


def test_players_of_a_run_that_share_a_tally_are_as_players_with_their_own(monkeypatch):
    spec = small(3, privacy=2.0, epsilon=0.9)
    problem = Problem("w", [0.9, 0.5, 0.1])
    shared = run_players(spec, problem, 60, seed=3, horizon=400)
    apart = replace(REFERENCES["survey"], players=separate_players)
    monkeypatch.setitem(REFERENCES, "survey", apart)
    assert run_players(spec, problem, 60, seed=3, horizon=400) == shared
