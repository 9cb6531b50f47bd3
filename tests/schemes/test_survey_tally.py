"""What a survey's board counts, refuses and shows."""

import json
from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schemes.surveys import answer, small, stacks

from devote.protocol import RemoteProtocolError
from devote.protocol.learner import Learner
from devote.protocol.messages import Scope, from_json, to_bytes, to_json
from devote.schemes import Claim
from devote.schemes.survey import answers_expected
from devote.schemes.survey.tally import Answers


def fold(spec, messages):
    tally = spec.scheme.tally(spec)
    taken = [tally.add(message) for message in messages]
    return tally, taken


def interleaved(rows, order):
    """The answers of all arms in some order of arms, each by a voter of its own."""
    places = [0] * len(rows)
    messages = []
    for arm in order:
        if places[arm] < len(rows[arm]):
            messages.append(answer(arm, rows[arm][places[arm]], f"{arm}-{places[arm]}"))
            places[arm] += 1
    return messages


@given(
    seed=st.integers(0, 1000),
    means=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), min_size=2, max_size=4),
    algorithm=st.sampled_from(["mixture_elimination", "ser3", "lucb", "median_elimination"]),
    shuffle=st.randoms(use_true_random=False),
)
def test_the_result_depends_on_each_arms_own_answers_not_on_how_arms_take_turns(
    seed, means, algorithm, shuffle
):
    spec = small(len(means), algorithm=algorithm, epsilon=0.9)
    rows = stacks(spec, means, seed, 400)
    order = [arm for _ in range(400) for arm in range(len(means))]
    results = set()
    for _ in range(3):
        tally, _ = fold(spec, interleaved(rows, order))
        learner = tally.learner.state
        results.add((tally.answer, tuple(learner.pulls), tuple(learner.sums), tally.status()))
        shuffle.shuffle(order)
    assert len(results) == 1


@given(
    seed=st.integers(0, 1000),
    means=st.lists(st.floats(0, 1), min_size=2, max_size=4),
    algorithm=st.sampled_from(["betting", "mixture_elimination"]),
    liars=st.integers(0, 2),
)
def test_it_is_the_same_as_asking_one_by_one(seed, means, algorithm, liars):
    spec = small(len(means), algorithm=algorithm, liars=liars * (algorithm == "betting"))
    draw = Random(seed).random
    learner, tally = Learner(spec.scheme.learner(spec)), spec.scheme.tally(spec)
    while learner.best is None:
        arm = learner.activate(0.5)
        bit = int(draw() < means[arm])
        learner.reward(bit)
        assert arm in tally.asked
        assert tally.add(answer(arm, bit, len(tally)))
        for word in ("alive", "pulls", "sums", "ints"):
            assert getattr(tally.learner.state, word) == getattr(learner.state, word)
    assert tally.answer == (learner.best,)


def read_aloud(spec, messages):
    """The queues as they are described, without what the tally remembers in between.

    Each arm that the learner asks about has a queue. An answer about such an arm joins it; another
    one does not. The learner takes answers as long as the queue of the arm it wants has one. The
    queue of an arm that is no longer asked about is emptied.
    """
    learner = Learner(spec.scheme.learner(spec))
    asks = partial(learner.algorithm.asks, learner.rule, learner.state)
    queues = {k: [] for k in range(spec.n_arms) if asks(k)}
    for message in messages:
        if message.arm in queues:
            queues[message.arm].append(message.bit)
        while learner.best is None:
            arm = learner.pending if learner.pending is not None else learner.activate(0.5)
            if not queues[arm]:
                break
            learner.reward(queues[arm].pop(0))
            queues = {k: queues.get(k, []) for k in range(spec.n_arms) if asks(k)}
    return learner


@given(
    seed=st.integers(0, 1000),
    means=st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.9, 1.0]), min_size=2, max_size=5),
    algorithm=st.sampled_from(["betting", "mixture_elimination", "lucb"]),
    epsilon=st.sampled_from([0.02, 0.1, 0.5]),
    runs=st.integers(1, 40),
)
def test_queues_are_as_described_in_whatever_order_answers_come(
    seed, means, algorithm, epsilon, runs
):
    """Up to ``runs`` answers about one arm in a row, also about arms no longer asked about."""
    spec = small(len(means), algorithm=algorithm, epsilon=epsilon)
    rng = Random(seed)
    tally, messages = spec.scheme.tally(spec), []
    while len(messages) < 600 and tally.status() == "open":
        arm = rng.randrange(len(means))
        for _ in range(rng.randint(1, runs)):
            message = answer(arm, int(rng.random() < means[arm]), len(messages))
            if tally.refusal(message) is None:
                messages.append(message)
                tally.add(message)
    same = read_aloud(spec, messages)
    for word in ("alive", "pulls", "sums", "ints"):
        assert getattr(tally.learner.state, word) == getattr(same.state, word)
    assert len(tally) == len(messages) == sum(tally.counts)


def test_an_answer_counts_once_and_a_second_one_is_refused():
    spec = small(answers=2)
    tally, taken = fold(spec, [answer(0, 1, "a"), answer(0, 1, "a"), answer(1, 0, "a", 2)])
    assert taken == [True, False, True]
    assert tally.refusal(answer(0, 1, "a")) is None, "sending twice is harmless"
    assert "another answer" in tally.refusal(answer(0, 0, "a"))
    assert "another answer" in tally.refusal(answer(1, 1, "a"))
    assert "each device gives 2" in tally.refusal(answer(1, 1, "a", 3))
    assert tally.add(answer(0, 0, "a")) is False
    assert tally.counts == (1, 1, 0)
    assert len(tally) == 2
    assert tally.refusal(Claim("experiment", "a")) is not None


@pytest.mark.parametrize("algorithm", ["betting", "mixture_elimination"])
def test_answers_about_arms_no_longer_asked_about_are_counted_and_not_learned_from(algorithm):
    spec = small(3, epsilon=0.1, algorithm=algorithm)
    tally = spec.scheme.tally(spec)
    voters = iter(range(10**6))
    assert tally.asked == (0, 1, 2)
    while len(tally.asked) == 3:
        for arm, bit in ((0, 1), (1, 1), (2, int(len(tally) % 9 < 6))):
            tally.add(answer(arm, bit, next(voters)))
    assert tally.asked == (0, 1)
    assert tally.shared == ((0, 1, 2) if algorithm == "betting" else (0, 1))
    assert tally.status() == "open"
    before, learner = tally.public(), json.dumps(tally.learner.to_dict())
    assert tally.refusal(answer(2, 1, "late")) is None
    assert tally.add(answer(2, 1, "late")) is True
    assert json.dumps(tally.learner.to_dict()) == learner
    counts = [*before["counts"][:2], before["counts"][2] + 1]
    assert tally.public() == before | {"counts": counts, "snapshot": before["snapshot"] + 1}
    assert tally.refusal(answer(2, 0, "late")) is not None, "a device answers once"


def test_a_decided_survey_refuses_answers():
    spec = small(3, epsilon=0.1)
    tally = spec.scheme.tally(spec)
    voters = iter(range(10**6))
    while tally.status() == "open":
        for arm in tally.asked:
            tally.add(answer(arm, int(arm == 0), next(voters)))
    assert tally.answer == (0,) == tally.shared
    assert "decided" in tally.refusal(answer(0, 1, "late"))
    assert tally.status(5) == "agreed"


def test_a_bit_is_0_or_1_and_a_number_from_1():
    for field, value in (
        ("bit", 2),
        ("bit", True),
        ("number", 0),
        ("number", 2**16),
        ("arm", 9),
        ("seen", -1),
        ("seen", 2**53 + 1),
    ):
        text = to_json(answer(0, 1, "a")).replace(f'"{field}":', f'"{field}":0,"x":')
        values = {**json.loads(to_json(answer(0, 1, "a"))), field: value}
        for bad in (text, json.dumps(values)):
            with pytest.raises(RemoteProtocolError):
                from_json(bad, 3)
    message = answer(2, 1, "a", 65535)
    assert from_json(to_json(message), 3) == message
    signed = b"devote/2 answer b0a2 9f3c 2 1 experiment 65535 0 a"
    assert to_bytes(message, Scope("b0a2", "9f3c")) == signed


def test_the_public_tally_is_small_and_says_who_leads():
    spec = small(10, epsilon=0.05)
    tally, _ = fold(spec, [answer(k % 10, int(k % 10 == 4), k) for k in range(60)])
    public = tally.public(1000)
    assert public["status"] == "open"
    assert public["answer"][0] == 4 == tally.leader
    assert public["counts"] == [6] * 10
    assert public["shared"] == public["asked"] == list(range(10))
    assert public["snapshot"] == 60
    assert len(json.dumps(public)) < 300


@given(
    rows=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=5),
    privacy=st.sampled_from([None, 1.0, 4.0]),
)
def test_the_leader_is_the_first_of_the_answer(rows, privacy):
    spec = small(len(rows), privacy=privacy, epsilon=0.01, delta=1e-9)
    messages = [
        answer(arm, int(i < ones), f"{arm}-{i}")
        for arm, (ones, zeros) in enumerate(rows)
        for i in range(ones + zeros)
    ]
    tally, _ = fold(spec, messages)
    assert tally.answer[0] == tally.leader
    assert sorted(tally.answer) == list(tally.shared)
    best = max((ones / (ones + zeros) for ones, zeros in rows if ones + zeros), default=None)
    if best is not None:
        ones, zeros = rows[tally.leader]
        assert ones / (ones + zeros) == best


def test_the_view_has_means_with_their_intervals_and_about_how_many_answers_are_needed():
    spec = small(3, privacy=1.0, epsilon=0.01, delta=1e-3)
    tally = spec.scheme.tally(spec)
    view = tally.view()
    assert view["estimates"] == [None] * 3
    assert view["answers_needed"] is None
    assert view["progress"] == [["answers", 0, None, "0 so far"]]
    assert view["leader"] is None
    slope, means = spec.scheme.slope, (0.7, 0.5, 0.3)
    widths, needed = [], []
    for n in (50, 200):
        tally = spec.scheme.tally(spec)
        for arm, mean in enumerate(means):
            ones = round(n * ((1 - slope) / 2 + slope * mean))
            for i in range(n):
                tally.add(answer(arm, int(i * ones % n < ones), f"{arm}-{i}"))
        view = tally.view()
        assert view["counts"] == [n] * 3
        assert view["leader"] == 0
        for mean, (middle, low, high) in zip(means, view["estimates"], strict=True):
            assert low <= middle <= high
            assert abs(middle - mean) <= 0.5 / (n * slope) + 1e-9
        [middle, low, high] = view["estimates"][1]
        widths.append(high - low)
        needed.append(view["answers_needed"])
        text = f"{3 * n} of about {needed[-1]:,}"
        assert view["progress"] == [["answers", 3 * n, needed[-1], text]]
        assert "an estimate by a formula" in view["notes"][-1]
        json.dumps(view)
    assert widths[1] < widths[0]
    assert needed == pytest.approx([answers_expected(spec, means)] * 2, rel=0.3)


def test_whoever_folds_the_same_log_gets_the_same_result():
    spec = small(4, algorithm="ser3", epsilon=0.3)
    rows = stacks(spec, (0.9, 0.5, 0.5, 0.1), 3, 400)
    messages = interleaved(rows, [k % 4 for k in range(1600)])
    first, taken = fold(spec, messages)
    again, _ = fold(spec, [message for message, new in zip(messages, taken, strict=True) if new])
    assert first.view() == again.view()
    assert first.public() == again.public()
    other, _ = fold(spec.with_(name="other"), [])
    assert isinstance(other, Answers)
    assert other._seeds != first._seeds
