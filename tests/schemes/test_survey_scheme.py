"""What a survey takes as parameters, refuses, and promises."""

import math

import pytest
from tests.schemes.surveys import small

from devote.problems import PROBLEMS, Problem
from devote.protocol import Case, ExperimentSpec, SpecError
from devote.schemes import Survey
from devote.schemes.survey import answers_expected, fewest_answers
from devote.simulator import Scenario, run_players


def spec_of(**parameters):
    algorithm = parameters.pop("algorithm", "mixture_elimination")
    return ExperimentSpec(arms=10, algorithm=algorithm, scheme={"name": "survey", **parameters})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"privacy": 0}, "privacy=0 must be above 0"),
        ({"privacy": -1.0}, "above 0"),
        ({"privacy": float("nan")}, "must be finite"),
        ({"privacy": math.inf}, "must be finite"),
        ({"privacy": "much"}, "privacy='much' must be a number"),
        ({"privacy": True}, "must be a number"),
        ({"privacy": 31.0}, "hides nothing"),
        ({"privacy": 1e-6}, "nothing but noise"),
        ({"privacy": 1.0, "answers": 2000}, "nothing but noise"),
        ({"privacy": 1e-300}, "nothing but noise"),
        ({"answers": 0}, "1 or more"),
        ({"answers": 2**16}, "more than 65,535"),
        ({"reply_after": 0}, "above 0"),
        ({"reply_after": 0.999}, "less than 1 s"),
        ({"quorum": 3}, "but of decentralized"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused_with_a_remedy(parameters, words):
    with pytest.raises(SpecError, match=words) as refused:
        spec_of(**parameters)
    assert "\n" in str(refused.value)


def test_a_subroutine_that_never_ends_is_refused():
    with pytest.raises(SpecError, match="never ends"):
        ExperimentSpec(arms=3, algorithm="ser4", options={"phi": 0.1}, scheme="survey")


def test_an_epsilon_that_noise_makes_too_small_is_refused():
    with pytest.raises(SpecError, match="a million million answers"):
        ExperimentSpec(arms=2, epsilon=1e-4, scheme=Survey(privacy=0.001))


def test_no_noise_can_be_written_in_a_file():
    spec = ExperimentSpec.from_toml('arms = 3\n[scheme]\nname = "survey"\nprivacy = "none"\n')
    assert spec.scheme == Survey(privacy=None)
    assert ExperimentSpec.from_json(spec.to_json()) == spec
    assert spec.scheme.slope == 1.0


def test_too_few_devices_are_refused_where_it_is_certain_and_told_how_many_it_takes():
    spec = spec_of(privacy=1.0)
    fewest = fewest_answers(spec)
    assert fewest == 80
    with pytest.raises(SpecError, match="at least 80 answers, and about 6,234 if all"):
        spec.check_players(79)
    spec.check_players(80)
    spec_of(privacy=None, answers=7).check_players(10)
    with pytest.raises(SpecError, match="Use at least 10 devices"):
        spec_of(privacy=None, answers=7).check_players(9)


@pytest.mark.parametrize("algorithm", ["mixture_elimination", "ser3", "lucb", "naive", "ugapec"])
def test_no_survey_ends_with_fewer_answers_than_the_fewest(algorithm):
    spec = small(3, algorithm=algorithm, epsilon=0.5)
    fewest = fewest_answers(spec)
    for seed in range(5):
        trial = run_players(spec, Problem("easy", [1.0, 0.0, 0.0]), 400, seed=seed, horizon=900)
        assert trial.samples > 0
        assert trial.broadcasts >= fewest


@pytest.mark.parametrize(
    ("privacy", "drawn"), [(0.5, 4117), (1.0, 1184), (2.0, 487), (4.0, 334), (None, 316)]
)
def test_the_estimate_is_within_a_fifth_of_what_is_needed_on_problem_1(privacy, drawn):
    expected = answers_expected(spec_of(privacy=privacy), PROBLEMS["1"].means)
    assert abs(expected / drawn - 1.0) < 0.2


def test_the_estimate_at_real_click_rates_is_what_the_programs_apart_found():
    means = (0.05, 0.04, 0.03, 0.03)
    for privacy, found in ((None, 117_000), (2.0, 231_000), (1.0, 644_000)):
        spec = ExperimentSpec(
            arms=4,
            epsilon=0.005,
            algorithm="mixture_elimination",
            scheme=Survey(privacy),
        )
        assert 0.6 < answers_expected(spec, means) / found < 1.6
        assert answers_expected(spec) > answers_expected(spec, means)


def test_a_subroutine_without_a_formula_is_followed_up_to_a_point():
    assert answers_expected(spec_of(algorithm="ser3"), PROBLEMS["1"].means) > 3000
    assert answers_expected(spec_of(algorithm="naive", privacy=0.5)) is None


def test_every_answer_has_its_part_of_the_privacy():
    once, thrice = Survey(privacy=3.0), Survey(privacy=3.0, answers=3)
    assert once.privacy_per_answer == 3.0
    assert 0.999999 < thrice.privacy_per_answer < 1.0
    assert thrice.slope == pytest.approx(Survey(privacy=1.0).slope)
    assert thrice.slope <= Survey(privacy=1.0).slope


def test_the_error_is_proved_where_the_subroutine_is():
    for algorithm, name, value in (
        ("mixture_elimination", "proved", 0.05),
        ("ser3", "proved", 0.0004),
        ("kl_racing", "claimed", 0.05),
    ):
        spec = spec_of(algorithm=algorithm)
        [bound] = spec.scheme.guarantees(Case(spec)).bounds
        assert bound.name == name
        assert bound.value <= value
    spec = spec_of()
    [bound] = spec.scheme.guarantees(Case(spec, broken="rewards drift")).bounds
    assert bound.name == "claimed"
    assert "rewards drift" in bound.text


def test_each_promise_says_how_firm_it_is():
    spec = spec_of(privacy=2.0)
    standing = {
        promise.name: promise.standing for promise in spec.scheme.guarantees(Case(spec)).promises
    }
    assert standing == {
        "right answer": "proved",
        "few messages": "proved",
        "one answer": "measured",
        "liars": "refuted",
        "privacy": "proved",
    }
    bare = spec_of(privacy=None)
    assert {p.name: p.standing for p in bare.scheme.guarantees(Case(bare)).promises}[
        "privacy"
    ] == "refuted"


@pytest.mark.parametrize(("liars", "answers", "devices"), [(7, 1, 7), (7, 3, 2), (2, 3, 0)])
def test_lies_are_tolerated_up_to_the_number_that_is_asked_for_and_no_promise_goes_beyond(
    liars, answers, devices
):
    spec = spec_of(algorithm="betting", liars=liars, answers=answers, privacy="none")
    assert spec.scheme.planning(spec).liars_tolerated == devices
    [promise] = [p for p in spec.scheme.guarantees(Case(spec)).promises if p.name == "liars"]
    assert promise.standing == "proved"
    assert f"although up to {liars} answers lie" in promise.words
    assert "Beyond that nothing is promised" in promise.words
    [bound] = spec.scheme.guarantees(Case(spec)).bounds
    assert f"up to {liars} answers may lie" in bound.text


def test_where_users_differ_the_error_is_proved_for_one_answer_of_each_and_for_no_more():
    broken = "arms must pay all players alike"
    for answers, name in ((1, "proved"), (2, "claimed")):
        spec = spec_of(answers=answers, algorithm="betting")
        [differ] = spec.scheme.guarantees(Case(spec, broken=broken, users_differ=True)).bounds
        assert differ.name == name
        [drift] = spec.scheme.guarantees(Case(spec, broken="rewards must not change")).bounds
        assert drift.name == "claimed"
        [alike] = spec.scheme.guarantees(Case(spec)).bounds
        assert ("users may differ: each answers once" in alike.text) == (answers == 1)
        assert ("and pay all users alike" in alike.text) == (answers > 1)
        assert bool(spec.scheme.planning(spec).warnings) == (answers > 1)


def test_a_scenario_that_cannot_end_is_refused_before_it_starts():
    with pytest.raises(SpecError, match="Use at least"):
        Scenario(spec_of(), PROBLEMS["1"], 50)
