"""The operator withdraws an arm: what was dropped in its favour comes back, and the error stays."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.power import most_failures
from tests.schemes.segments import deciding, segmented_spec
from tests.schemes.surveys import answer, small

from devote.protocol import Case
from devote.protocol.messages import Withdrawal
from devote.rules import betting
from devote.schemes import SegmentedAnswer, Survey
from devote.schemes.survey.signed_subsets import pack

FOUR = small(4, epsilon=0.2, delta=0.2)


def withdrawal(arm, voter="operator"):
    return Withdrawal("experiment", arm, voter)


class Twin:
    """The same survey by sets and lists: a round keeps the arms with which it began."""

    def __init__(self, spec):
        self.rule = spec.scheme.learner(spec).rule
        arms = range(spec.n_arms)
        self.alive, self.gone, self.settled = set(arms), set(), set()
        self.rounds = {(j, a): 0 for j in arms for a in arms}
        self.wins = dict.fromkeys(self.rounds, 0)
        self.ones, self.pulls = [0] * spec.n_arms, [0] * spec.n_arms
        self.leader, self.must_reopen = None, False
        self.queues = [[] for _ in arms]
        self.round, self.bits = set(arms), {}

    @property
    def asked(self):
        return {k for k in self.alive if (self.leader, k) not in self.settled}

    def proved(self, j, a, s):
        wins, losses, rounds = self.wins[j, a], self.wins[a, j], self.rounds[j, a]
        return betting.is_proved(self.rule, wins, losses, rounds, s)

    def judge(self):
        j = max(sorted(self.alive), key=lambda k: self.ones[k] / self.pulls[k])
        self.leader = j
        for a in self.alive - {j}:
            if self.proved(j, a, self.rule.epsilon):
                self.settled.add((j, a))
        others = self.alive - {j}
        self.alive -= {a for a in others if (j, a) in self.settled and self.proved(j, a, 0.0)}
        if all((j, a) in self.settled for a in others):
            self.alive = {j}

    def end_round(self):
        for j in self.bits:
            for a in self.bits:
                self.rounds[j, a] += j != a
                self.wins[j, a] += self.bits[j] > self.bits[a]
        self.bits = {}
        if not self.must_reopen:
            self.judge()
        self.reopen()

    def reopen(self):
        if self.must_reopen:
            self.must_reopen, self.settled, self.leader = False, set(), None
            self.alive = set(range(len(self.pulls))) - self.gone
            if all(self.pulls[k] for k in self.alive):
                self.judge()
        self.round = self.asked
        self.drop_queues()

    def drop_queues(self):
        for k, queue in enumerate(self.queues):
            if k not in self.round:
                queue.clear()

    def feed(self):
        while len(self.alive) > 1:
            ready = [k for k in sorted(self.round - self.bits.keys()) if self.queues[k]]
            if not ready:
                return
            k = ready[0]
            if k != min(self.round - self.bits.keys()):
                return  # answers are taken in order of arms
            self.bits[k] = self.queues[k].pop(0)
            self.ones[k] += self.bits[k]
            self.pulls[k] += 1
            if self.bits.keys() == self.round:
                self.end_round()

    def answer(self, arm, bit):
        if arm in self.round:
            self.queues[arm].append(bit)
            self.feed()

    def withdraw(self, arm):
        self.gone.add(arm)
        self.must_reopen = True
        self.alive.discard(arm)
        self.round.discard(arm)
        self.bits.pop(arm, None)
        if not self.bits:
            self.reopen()
        elif self.bits.keys() == self.round or len(self.round) == 1:
            self.end_round()
        self.drop_queues()
        self.feed()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(0, 120), st.integers(0, 3))))
def test_withdrawals_at_any_time_are_what_a_plain_twin_makes_of_them(seed, planned):
    rng, tally, twin = random.Random(seed), FOUR.scheme.tally(FOUR), Twin(FOUR)
    means = [rng.random() for _ in range(4)]
    for n in range(400):
        for at, arm in planned:
            message = withdrawal(arm)
            if at == n and tally.refusal(message) is None and tally.add(message):
                twin.withdraw(arm)
        if tally.status() != "open":
            break
        arm = rng.randrange(4) if n % 7 == 0 else rng.choice(tally.asked)
        bit = int(rng.random() < means[arm])
        assert tally.add(answer(arm, bit, n, seen=tally.snapshot))
        twin.answer(arm, bit)
        assert set(tally.shared) == twin.alive
        assert len(twin.alive) == 1 or set(tally.asked) == twin.asked


def settled_against_arm_0():
    """Arm 0 always pays, arm 3 never, the others every other time, until arm 3 is settled."""
    tally, n = FOUR.scheme.tally(FOUR), 0
    for turn in range(20):
        for arm, bit in enumerate((1, turn % 2, turn % 2, 0)):
            tally.add(answer(arm, bit, n))
            n += 1
        if 3 not in tally.asked:
            break
    assert tally.asked == (0, 1, 2)
    return tally


def test_an_arm_that_lost_to_the_withdrawn_one_comes_back():
    tally = settled_against_arm_0()
    number = tally.snapshot
    assert tally.add(withdrawal(0))
    assert tally.shared == tally.asked == (1, 2, 3)
    assert tally.public()["withdrawn"] == [0]
    assert tally.public()["snapshot"] == number + 1
    assert tally.add(answer(0, 1, "late")), "a device that had shown it still answers"
    assert 0 not in tally.asked


def test_a_returning_arm_waits_for_the_next_round():
    """Otherwise an operator who has seen a bit could choose with what it is paired."""
    tally = settled_against_arm_0()
    tally.add(answer(0, 1, "x"))
    tally.add(answer(1, 1, "y"))
    assert tally.add(withdrawal(0))
    assert tally.asked == (1, 2), "the round goes on with those it began with"
    tally.add(answer(2, 1, "z"))
    assert tally.asked == (1, 2, 3)


def test_what_cannot_be_withdrawn_is_refused_with_a_reason():
    tally = FOUR.scheme.tally(FOUR)
    assert "Only the operator" in tally.refusal(withdrawal(1, "ab" * 32))
    for arm in (0, 1, 2):
        assert tally.refusal(withdrawal(arm)) is None
        assert tally.add(withdrawal(arm))
    assert not tally.add(withdrawal(2)), "again is harmless"
    assert "decided" in tally.refusal(withdrawal(3)), "one option is left"
    other = small(3, algorithm="mixture_elimination")
    assert "nothing is proved" in other.scheme.tally(other).refusal(withdrawal(1))


def test_m_withdrawals_cost_m_and_one_times_delta_and_a_mismatch_all_of_it():
    for spec in (FOUR, segmented_spec()):
        for m in range(3):
            (bound,) = spec.scheme.guarantees(Case(spec, withdrawn=m)).bounds
            assert (bound.name, bound.value) == ("proved", pytest.approx((m + 1) * spec.delta))
        tally = spec.scheme.tally(spec)
        tally.add(withdrawal(0))
        assert tally.case().withdrawn == 1
        tally.arrival.has_mismatch = True
        (bound,) = spec.scheme.guarantees(tally.case()).bounds
        assert bound.name == "claimed"
        promise = spec.scheme.guarantees(tally.case()).promises[0]
        assert promise.standing == "claimed"


def test_an_answer_is_rarely_wrong_although_the_best_arm_was_withdrawn():
    """400 runs at delta .2: a false alarm has probability 1e-6, a rate of .4 is found with .9."""
    means, wrong, runs = (0.9, 0.7, 0.5, 0.45), 0, 400
    for seed in range(runs):
        tally, rng, n = FOUR.scheme.tally(FOUR), random.Random(seed), 0
        while tally.status() == "open" and n < 100_000:
            if n == 40:
                tally.add(withdrawal(0))
            arm = rng.choice(tally.asked)
            tally.add(answer(arm, int(rng.random() < means[arm]), n, seen=tally.snapshot))
            n += 1
        best = max(means) if not tally.withdrawn else 0.7
        wrong += means[tally.answer[0]] < best - 0.2
    assert wrong <= most_failures(runs, 0.2)


def test_a_segment_whose_answer_is_withdrawn_is_open_again_and_takes_no_coins():
    """Devices that knew the segment as decided send coins: their snapshot tells."""
    spec = segmented_spec(privacy=None)
    tally = spec.scheme.tally(spec)
    for _, message in deciding(spec, 0):
        tally.add(message)
    before = tally.snapshot
    assert tally.is_decided(0)
    assert tally.leader(0) == 2
    tally.add(withdrawal(2))
    assert not tally.is_decided(0)
    assert tally.left(0) == [0, 1]
    assert 2 not in tally.asked
    rounds = tally.learners.rounds[0]
    signs = [1, 0, 0]
    for n, arm in enumerate((0, 1) * 5):
        tally.add(SegmentedAnswer("experiment", arm, *pack(signs), 1, before, f"old{n}"))
    assert tally.learners.rounds[0] == rounds
    for n, arm in enumerate((0, 1) * 5):
        seen = tally.snapshot
        tally.add(SegmentedAnswer("experiment", arm, *pack(signs), 1, seen, f"new{n}"))
    assert tally.learners.rounds[0] == rounds + 5


def test_a_segment_with_another_answer_stays_decided():
    spec = segmented_spec(privacy=None)
    tally = spec.scheme.tally(spec)
    for _, message in deciding(spec, 1):
        tally.add(message)
    tally.add(withdrawal(0))
    assert tally.is_decided(1)
    assert tally.public()["segments"][1]["leader"] == 2
    player = Survey(None, segments=("phone", "tablet", "desktop")).player(spec, "me")
    player.read(tally.public())  # devices take the tally
    assert 0 not in player.shared
