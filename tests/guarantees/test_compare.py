"""The schemes side by side: who can, who cannot, which to use, what to relax."""

from dataclasses import replace

import pytest

from devote.guarantees.compare import compare
from devote.guarantees.plan import hardest_problem
from devote.guarantees.relax import relaxations
from devote.guarantees.weigh import Question, weigh
from devote.problems import PROBLEMS, Problem
from devote.protocol import SpecError
from devote.protocol.planning import Wish
from devote.protocol.scheme import SCHEMES
from devote.schemes import Decentralized, Jury, Survey
from devote.schemes.course import expected_pulls
from devote.theory import binomial_tail

pytestmark = pytest.mark.usefixtures("shipped_schemes")

CLICKS = (0.05, 0.04, 0.03, 0.03)
FORMS = (Decentralized, Jury, Survey)


def question(**wish):
    asked = {"n_players": 1_000, "n_arms": 4, "epsilon": 0.2, "delta": 0.05, **wish}
    return Question(Wish(**asked), plays_per_day=10.0, days=365.0)


@pytest.mark.parametrize(("privacy", "answers"), [(None, 117e3), (2.0, 231e3), (1.0, 644e3)])
def test_with_real_click_rates_a_million_can_and_a_thousand_cannot(privacy, answers):
    """The answers needed are those of a program written apart, within a seventh."""
    asked = question(n_arms=4, epsilon=0.005, privacy=privacy, means=CLICKS)
    for n, can in ((1_000, False), (1_000_000, True)):
        fleet = replace(asked, wish=replace(asked.wish, n_players=n))
        found = [weigh(form, fleet) for form in FORMS]
        assert any(not one.cannot for one in found) == can
        assert found[2].forecast.messages == pytest.approx(answers, rel=1 / 7)
    assert not weigh(Survey, fleet).cannot


def test_where_none_can_each_change_named_is_enough_and_the_next_smaller_is_not():
    asked = question(epsilon=0.005, privacy=1.0, means=CLICKS)
    changes = {row.asked: row for row in relaxations(asked, FORMS)}
    assert set(changes) == {"n_players", "epsilon", "days", "plays_per_day"}
    for name in ("n_players", "epsilon"):
        value = changes[name].value
        form = SCHEMES[changes[name].scheme]
        for factor, can in ((1.0, True), (0.85, False)):
            kind = int if name == "n_players" else float
            wish = replace(asked.wish, **{name: kind(value * factor)})
            assert (not weigh(form, replace(asked, wish=wish)).cannot) == can
    for name in ("days", "plays_per_day"):
        form = SCHEMES[changes[name].scheme]
        assert not weigh(form, replace(asked, **{name: changes[name].value})).cannot


def test_less_privacy_is_named_where_it_is_what_stands_in_the_way():
    asked = question(n_players=2_000, n_arms=10, epsilon=0.25, privacy=0.3)
    hurried = replace(asked, days=10.0)
    [row] = [row for row in relaxations(hurried, [Survey]) if row.asked == "privacy"]
    assert 0.3 < row.value < 3.0
    assert "in place of 0.3" in row.words


@pytest.mark.parametrize("n_arms", [2, 3, 4, 10, 50])
@pytest.mark.parametrize("n_players", [5, 40, 1_000])
def test_the_jury_that_is_planned_without_privacy_keeps_delta_and_cannot_stall(n_arms, n_players):
    spec = Jury.suited(Wish(n_players, n_arms, epsilon=0.2, delta=0.05))
    jury = spec.scheme
    assert jury.seats <= n_players
    assert jury.seats > n_arms * (spec.votes_needed - 1)
    assert binomial_tail(spec.votes_needed, jury.seats, probability=spec.eta) <= 0.05


@pytest.mark.parametrize(("privacy", "seats"), [(4.0, 29), (2.0, 61), (1.0, 300)])
def test_the_private_jury_that_is_planned_is_about_as_large_as_those_known_to_decide(
    privacy, seats
):
    """With ten options; schemes.md has juries that stalled in at most 3 of 200 runs."""
    wish = Wish(1_000, 10, epsilon=0.25, delta=0.05, privacy=privacy, means=PROBLEMS["1"].means)
    spec = Jury.suited(wish)
    assert 0.4 * seats < spec.scheme.seats <= seats
    assert sum(expected_pulls(spec, wish.means)) < spec.scheme.vote_after
    found = compare(Question(wish, 10.0, 365.0), PROBLEMS["1"], trials=5, seconds=60)
    [row] = [row for row in found.rows if row.name == "jury"]
    assert (row.answered, row.cannot) == (5, ())


def test_a_survey_for_many_and_a_jury_for_few():
    for n, name in ((200, "jury"), (2_000, "survey")):
        asked = question(n_players=n)
        found = compare(asked, hardest_problem(4), trials=2, seconds=60)
        assert found.use.name == name
        assert found.use.runs == found.use.answered == 2
        assert not found.relax
        [vote] = [row for row in found.rows if row.name == "decentralized"]
        assert vote.cannot == ("no error is proved",)
        assert vote.liars == 28


def test_a_survey_that_runs_out_of_devices_is_not_called_able():
    """About 480 answers are needed on average, 748 at the 95th percentile."""
    wish = question(
        n_players=480, n_arms=10, epsilon=0.25, privacy=2.0, means=PROBLEMS["1"].means
    ).wish
    assert weigh(Survey, Question(wish, 10.0, 365.0)).cannot
    enough = weigh(Survey, Question(replace(wish, n_players=800), 10.0, 365.0))
    assert enough.cannot == ()


def test_a_scheme_from_outside_is_compared_by_its_contract_alone(monkeypatch):
    from tests.schemes.first_to_finish import FirstToFinish

    monkeypatch.setitem(SCHEMES, FirstToFinish.name, FirstToFinish)
    asked = question(n_players=4, n_arms=2, epsilon=0.4, means=(0.9, 0.1))
    found = compare(asked, Problem("toy", [0.9, 0.1]), trials=2, seconds=60)
    [row] = [row for row in found.rows if row.name == "first_to_finish"]
    assert (row.runs, row.answered, row.cannot) == (2, 2, ())
    assert row.days > 0
    assert row.liars is None


def test_what_breaks_the_proofs_is_said():
    asked = replace(question(n_players=20_000), broken="rewards must not change")
    for form in FORMS:
        assert "its error is not proved here" in weigh(form, asked).cannot


@pytest.mark.parametrize(
    "change",
    [{"plays_per_day": 0}, {"days": -1}, {"days": float("nan")}],
)
def test_a_question_that_makes_no_sense_is_refused(change):
    with pytest.raises(SpecError):
        replace(question(), **change)


@pytest.mark.parametrize("wish", [{"privacy": 0.0}, {"privacy": float("nan")}, {"n_players": 0}])
def test_a_wish_that_makes_no_sense_is_refused(wish):
    with pytest.raises(SpecError):
        question(**wish)
