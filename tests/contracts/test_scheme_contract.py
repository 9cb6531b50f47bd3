"""What every registered scheme must do: each scheme by each check.

A new scheme is checked by being registered; ``SMALL`` may give it parameters with which a run of
a few players is short. The scheme of ``examples/scheme`` comes from outside.
"""

import json
from dataclasses import FrozenInstanceError, fields
from random import Random

import pytest
from examples.scheme import compiled, first_to_finish
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.toml import to_toml

from devote.problems import Problem, Weights
from devote.protocol import (
    Bound,
    Case,
    ExperimentSpec,
    Promise,
    RemoteProtocolError,
    SpecError,
    from_json,
    restore_player,
    to_json,
)
from devote.protocol.messages import KINDS, kind_of, to_dict
from devote.protocol.scheme import make_scheme
from devote.schemes import SCHEMES
from devote.simulator import Scenario, run_players, run_trial
from devote.simulator.parts import part_of

assert first_to_finish.FirstToFinish.name in SCHEMES
assert compiled.PART is part_of(first_to_finish.FirstToFinish())

SMALL = {
    "decentralized": [{"quorum": 2}],
    "jury": [
        {"seats": 5, "seat_after": 3},
        {"seats": 9, "seat_after": 2, "privacy": 3.0, "vote_after": 60, "liars": 1},
    ],
    "survey": [{"privacy": 900.0, "answers": 300}],
}
EXAMPLES = {
    f"{name}{i or ''}": {"name": name, **parameters}
    for name in SCHEMES
    for i, parameters in enumerate(SMALL.get(name, [{}]))
}
every_scheme = pytest.mark.parametrize("name", SCHEMES)
every_example = pytest.mark.parametrize("scheme", EXAMPLES.values(), ids=EXAMPLES)

WITH_PARTS = {
    name: scheme for name, scheme in EXAMPLES.items() if part_of(make_scheme(scheme)) is not None
}
"""The slow path has players in place of tables."""

N_ARMS = 3
VOTERS = [f"n{i}" for i in range(12)]


def spec_of(scheme, **changes):
    given = {"epsilon": 0.6, "eta": 0.2, "delta": 0.2}
    return ExperimentSpec(arms=N_ARMS, name="contract", scheme=scheme, **(given | changes))


def enough_players(spec):
    return max(3, spec.scheme.fewest_players(spec))


def players_of(spec):
    """Distinct players by index, as devices would be."""
    n = enough_players(spec)
    return [spec.scheme.player(spec, VOTERS[i], n) for i in range(n)]


def seen_of(tally):
    """Everything a tally says."""
    return (
        tally.status(),
        tally.status(len(VOTERS)),
        tally.answer,
        tally.shared,
        json.dumps(tally.view()),
    )


def any_message(draw, form, experiment="contract"):
    """Any message of a kind that could come over the wire; its numbers are kept small."""
    (kind,) = (kind for kind in KINDS.values() if kind.form is form)
    values = {"experiment": experiment, "voter": draw(st.sampled_from(VOTERS))}
    for name, number in kind.numbers.items():
        most = N_ARMS - 1 if number.most is None else min(number.most, number.least + 2)
        values[name] = draw(st.integers(number.least, most))
    return form(**values)


@st.composite
def offers(draw, spec):
    """Messages of the scheme's kinds, some of them several times."""
    kinds = st.sampled_from(spec.scheme.about.messages)
    return [any_message(draw, draw(kinds)) for _ in range(draw(st.integers(0, 30)))]


def accepted(spec, offered):
    """What a board takes of these messages, in order, and its tally."""
    tally, board = spec.scheme.tally(spec), []
    for message in offered:
        if tally.refusal(message) is None:
            tally.add(message)
            board.append(message)
    return tally, board


def foreign_messages(scheme):
    """One message of each kind that another scheme has."""
    data = {"experiment": "contract", "voter": "n0"}
    for kind in KINDS.values():
        if kind.form not in scheme.about.messages:
            yield kind.form(**data, **{name: number.least for name, number in kind.numbers.items()})


# Parameters


@every_example
def test_parameters_round_trip_through_json_and_toml(scheme):
    spec = spec_of(scheme)
    for same in (
        ExperimentSpec.from_json(spec.to_json()),
        ExperimentSpec.from_toml(to_toml(spec.to_dict())),
        ExperimentSpec.from_dict(json.loads(json.dumps(spec.to_dict()))),
        spec.with_(scheme=make_scheme(json.loads(json.dumps(spec.scheme.to_dict())))),
    ):
        assert same == spec
        assert type(same.scheme) is type(spec.scheme)
        assert same.fingerprint == spec.fingerprint


@every_example
def test_parameters_are_frozen_and_can_be_hashed(scheme):
    spec = spec_of(scheme)
    assert {spec.scheme: 1}[make_scheme(scheme)] == 1
    assert hash(spec) == hash(ExperimentSpec.from_json(spec.to_json()))
    for item in fields(spec.scheme):
        with pytest.raises(FrozenInstanceError):
            setattr(spec.scheme, item.name, getattr(spec.scheme, item.name))


@every_scheme
def test_every_parameter_has_a_default_and_a_sentence(name):
    form = SCHEMES[name]
    assert make_scheme(name) == form()
    assert set(form.about.parameters) == {item.name for item in fields(form)}
    assert form.name == name
    assert form.about.summary
    assert form.about.source
    assert 0 < form.about.default_eta < 1


@every_scheme
def test_a_parameter_that_it_has_not_is_refused_with_a_hint(name):
    own = [item.name for item in fields(SCHEMES[name])]
    with pytest.raises(SpecError, match=rf"'colour' is not a parameter of {name}\.\n.*{name} has"):
        spec_of({"name": name, "colour": 1})
    for parameter in own:
        with pytest.raises(SpecError, match=f"Did you mean '{parameter}'"):
            spec_of({"name": name, f"{parameter}s": 1})
    for other, form in SCHEMES.items():
        for item in fields(form):
            if item.name not in own:
                with pytest.raises(SpecError, match=f"of {name}, but of .*{other}"):
                    spec_of({"name": name, item.name: 1})


@every_scheme
def test_a_misspelt_name_is_answered_with_it(name):
    with pytest.raises(SpecError, match=f"Did you mean '{name}'.*Use one of: "):
        spec_of(f"{name}x")


@every_example
def test_too_few_players_are_refused_with_the_number_that_does(scheme):
    spec = spec_of(scheme)
    fewest = spec.scheme.fewest_players(spec)
    spec.check_players(fewest)
    with pytest.raises(SpecError, match="0 must be a whole number"):
        spec.check_players(0)
    if fewest > 1:
        with pytest.raises(SpecError, match=rf"{fewest - 1}[ .].*\n.*{fewest} players"):
            spec.check_players(fewest - 1)


@every_example
@pytest.mark.parametrize("known", [False, True])
def test_bounds_and_promises_are_sentences_with_their_standing(scheme, known):
    spec = spec_of(scheme)
    case = Case(spec, enough_players(spec), n_optimal=1) if known else Case(spec)
    for bound in spec.scheme.guarantees(case).bounds:
        assert isinstance(bound, Bound)
        assert 0 <= bound.value <= 1
        assert bound.text
    for promise in spec.scheme.guarantees(case).promises:
        assert isinstance(promise, Promise)
        assert promise.standing in ("proved", "measured", "claimed", "refuted")
        assert promise.words


# The tally


@every_example
def test_an_empty_tally_is_open_and_its_view_has_the_documented_shape(scheme):
    spec = spec_of(scheme)
    tally = spec.scheme.tally(spec)
    assert tally.status() == tally.status(5) == "open"
    assert tally.shared == tuple(range(N_ARMS))
    assert sorted(tally.answer) == list(range(N_ARMS))


MAY_SAY = {"notes", "progress", "leader", "states", "estimates", "answers_needed"}
MAY_SAY |= {"segments", "mismatch"}


def assert_says_what_it_must(tally, spec):
    view = tally.view()
    assert set(view) - MAY_SAY == {"heading", "counts", "needed", "facts"}
    assert len(view.get("estimates", spec.arms)) == N_ARMS
    assert ("estimates" in view) is (tally.estimates() is not None)
    assert all(isinstance(note, str) for note in view.get("notes", []))
    assert [type(text) for text in view.get("states", [""] * N_ARMS)] == [str] * N_ARMS
    assert view.get("leader") in (None, *tally.shared)
    for label, done, of, text in view.get("progress", []):
        assert isinstance(label, str)
        assert isinstance(text, str)
        assert 0 <= done <= (done if of is None else of)
    assert json.loads(json.dumps(view)) == view
    assert isinstance(view["heading"], str)
    assert view["needed"] == spec.votes_needed
    assert len(view["counts"]) == (N_ARMS if spec.scheme.about.by_message else 0)
    assert all(isinstance(count, int) and count >= 0 for count in view["counts"])
    assert all(isinstance(text, str) for fact in view["facts"] for text in fact)
    assert all(len(fact) == 2 for fact in view["facts"])
    for arms in (tally.answer, tally.shared):
        assert arms
        assert len(set(arms)) == len(arms)
        assert set(arms) <= set(range(N_ARMS))
    if tally.status() == "agreed":
        assert tally.answer == tally.shared
        assert len(tally.answer) == 1


@every_example
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_a_tally_is_a_function_of_what_the_board_took(scheme, data, seed):
    """Redelivery is harmless, a refused message changes nothing and a new tally says the same;
    where order is not needed, any order gives the same.
    """
    spec = spec_of(scheme)
    tally, board = spec.scheme.tally(spec), []
    for message in data.draw(offers(spec)) if spec.scheme.about.messages else []:
        before = seen_of(tally)
        reason = tally.refusal(message)
        assert seen_of(tally) == before, "asking changes nothing"
        if reason is not None:
            assert "\n" in reason, "a reason says what to do"
            continue
        new = tally.add(message)
        assert new or seen_of(tally) == before
        board.append(message)
        after = seen_of(tally)
        assert tally.refusal(message) is None, "what was taken may come again"
        assert tally.add(message) is False
        assert seen_of(tally) == after
        assert_says_what_it_must(tally, spec)
    again = spec.scheme.tally(spec)
    for message in board + board:
        again.add(message)
    assert seen_of(again) == seen_of(tally)
    if not spec.scheme.about.needs_order:
        Random(seed).shuffle(board)
        other = spec.scheme.tally(spec)
        for message in board:
            other.add(message)
        assert seen_of(other) == seen_of(tally)
    event(tally.status())


@every_example
def test_order_matters_where_a_scheme_says_so_and_nowhere_else(scheme):
    """Some board of a scheme that needs its order means something else in another.

    With a subroutine that one reward decides, so that few messages are enough.
    """
    spec = spec_of(scheme, algorithm="worst_case")
    differs = False

    @settings(max_examples=80, database=None)
    @given(data=st.data(), seed=st.integers(0, 2**32))
    def search(data, seed):
        nonlocal differs
        tally, board = accepted(spec, data.draw(offers(spec)) if spec.scheme.about.messages else [])
        shuffled = list(board)
        Random(seed).shuffle(shuffled)
        other = spec.scheme.tally(spec)
        for message in shuffled:
            other.add(message)
        differs |= seen_of(other) != seen_of(tally)

    search()
    assert differs == spec.scheme.about.needs_order


@every_example
def test_a_message_of_another_scheme_or_experiment_is_refused_by_tally_and_player(scheme):
    spec = spec_of(scheme)
    tally = spec.scheme.tally(spec)
    player = players_of(spec)[0]
    foreign = list(foreign_messages(spec.scheme))
    assert foreign
    before = player.to_dict(), seen_of(player.tally), seen_of(tally)
    for message in foreign:
        reason = tally.refusal(message)
        assert reason is not None
        assert f"{spec.scheme.name} has no such message.\n" in reason
        with pytest.raises(RemoteProtocolError, match=rf"no message of {spec.scheme.name}\.\n"):
            player.receive(message)
    for form in spec.scheme.about.messages:
        values = to_dict(next(m for m in sample_of_kinds() if type(m) is form))
        message = from_json(json.dumps(values | {"experiment": "other"}), N_ARMS)
        assert "for experiment 'other'" in tally.refusal(message)
        with pytest.raises(RemoteProtocolError, match="for experiment 'other' reached a player"):
            player.receive(message)
    assert (player.to_dict(), seen_of(player.tally), seen_of(tally)) == before


def sample_of_kinds():
    for kind in KINDS.values():
        numbers = {name: number.least for name, number in kind.numbers.items()}
        yield kind.form(experiment="contract", voter="n0", **numbers)


# The player


class Room:
    """Players, a board in order, and everybody's reading of it, with rewards by a coin."""

    def __init__(self, spec, seed, means=(0.9, 0.4, 0.1)):
        self.spec = spec
        self.rng = Random(seed)
        self.noise = Random(seed + 1)
        self.means = means
        self.players = players_of(spec)
        self.tally = spec.scheme.tally(spec)
        self.board = []
        self.sent = []

    def step(self, n, *, noise=None, between=None):
        player = self.players[n]
        drawn = self.noise.random()
        arm = player.activate(self.rng.random(), drawn if noise is None else noise)
        self.post(player.outgoing())
        if between is not None:
            between(n)
            player = self.players[n]
        self.post(player.reward(float(self.rng.random() < self.means[arm])))
        return arm

    def post(self, messages):
        self.sent += messages
        for message in messages:
            if (
                type(message) in self.spec.scheme.about.messages
                and self.tally.refusal(message) is None
            ):
                self.tally.add(message)
                self.board.append(message)
                for player in self.players:
                    player.receive(message)

    def restore(self, n):
        saved = json.loads(self.players[n].to_json())
        self.players[n] = restore_player(self.spec, saved, self.board, len(self.players))

    def seen(self):
        return (
            [(p.to_dict(), seen_of(p.tally), p.remaining, p.best) for p in self.players],
            self.sent,
        )


@every_example
@given(seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=10)
def test_a_player_saved_and_restored_in_mid_run_goes_on_identically(scheme, seed, data):
    spec = spec_of(scheme)
    stays, restarts = Room(spec, seed), Room(spec, seed)
    turns = Random(seed + 2)
    saves = data.draw(st.sets(st.integers(0, 400), max_size=12))
    for t in range(400):
        n = turns.randrange(len(stays.players))
        between = restarts.restore if t in saves else None
        assert restarts.step(n, between=between) == stays.step(n)
        if t + 1 in saves:
            restarts.restore(turns.randrange(len(stays.players)))
        else:
            turns.randrange(1)
    assert restarts.seen() == stays.seen()
    event(f"sent {min(3, len(stays.sent))}")


@every_example
def test_what_players_say_is_taken_by_the_board_and_read_over_the_wire(scheme):
    """Every message is of the scheme's kinds, in its sender's name, and decodes to itself."""
    spec = spec_of(scheme)
    room = Room(spec, 5)
    turns = Random(6)
    for _ in range(1_500):
        room.step(turns.randrange(len(room.players)))
    if not spec.scheme.about.messages:
        return
    assert room.sent
    assert {type(message) for message in room.sent} <= set(spec.scheme.about.messages)
    for message in room.sent:
        assert kind_of(message).form is type(message)
        assert from_json(to_json(message), N_ARMS) == message
        assert (message.experiment, message.voter in VOTERS) == ("contract", True)
    # A simulated world delivers at once: nobody says what is no longer wanted.
    assert room.board == room.sent
    assert room.tally.status(len(room.players)) in ("agreed", "stalled")


@every_example
def test_noise_changes_what_is_said_only_where_the_scheme_is_noisy(scheme):
    """The same run with the least and the most noise there is."""
    spec = spec_of(scheme)
    runs = []
    for noise in (0.0, 1.0 - 2**-53):
        room, turns = Room(spec, 8), Random(9)
        for _ in range(800):
            room.step(turns.randrange(len(room.players)), noise=noise)
        runs.append(room.sent)
    assert (runs[0] != runs[1]) == spec.scheme.sending.noisy


@every_example
def test_a_simulation_draws_noise_only_where_the_scheme_is_noisy(scheme, monkeypatch):
    from devote.simulator import players
    from devote.simulator.streams import stream

    drawn = []

    def watched(seed, trial, name):
        drawn.append(name)
        return stream(seed, trial, name)

    monkeypatch.setattr(players, "stream", watched)
    spec = spec_of(scheme)
    run_players(spec, Problem("toy", (0.9, 0.4, 0.1)), enough_players(spec), horizon=30)
    assert ("noise" in drawn) == spec.scheme.sending.noisy


# Simulation


@every_example
@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), min_size=3, max_size=3),
    weights=st.lists(st.integers(1, 9), min_size=12, max_size=12),
    n_players=st.integers(1, 12),
    epsilon=st.sampled_from([0.5, 0.6, 0.9]),
    horizon=st.integers(1, 40) | st.integers(41, 2_000),
    seed=st.integers(0, 2**64),
)
def test_the_engine_is_the_players_at_any_pull(
    scheme, means, weights, n_players, epsilon, horizon, seed
):
    """Cut at any pull, so that every state on the way is compared, not only the last one."""
    spec = spec_of(scheme, epsilon=epsilon)
    n_players = max(n_players, spec.scheme.fewest_players(spec))
    problem = Problem("any", means, activity=Weights(weights[:n_players]))
    scenario = Scenario(spec, problem, n_players, horizon)
    fast = run_trial(scenario, seed=seed, trial=1, trace=True)
    slow = run_players(spec, problem, n_players, seed=seed, trial=1, horizon=horizon, trace=True)
    if fast != slow:
        pytest.fail(f"{spec}, {n_players} players, {means}, {horizon=} {seed=}")
    event(fast.status)


@every_example
def test_a_run_ends_and_says_when_the_group_had_its_answer(scheme):
    spec = spec_of(scheme)
    n_players = enough_players(spec)
    run = run_players(spec, Problem("toy", (0.9, 0.1, 0.1)), n_players, seed=3)
    assert run.status in ("agreed", "stalled")
    assert 0 < run.samples <= run.samples_until_all_know
    assert run.deliveries == run.broadcasts * (n_players - 1)
    assert run.winners


@pytest.mark.parametrize("scheme", WITH_PARTS.values(), ids=WITH_PARTS)
def test_the_constants_of_a_compiled_part_are_whole_numbers_with_names(scheme):
    spec = spec_of(scheme)
    part = part_of(spec.scheme)
    constants = part.constants(spec, enough_players(spec))
    assert constants._fields
    assert all(type(value) is int for value in constants)
