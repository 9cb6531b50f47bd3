"""The jury, over a network that delays, loses, repeats and reorders everything.

A board grants each seat once; a claim that it denies is never seen again. Beside every player runs
a shadow: a learner that gets the same uniforms and rewards and hears nobody. A juror must be its
shadow, which is what the proof in ``docs/proofs.md`` rests on.
"""

import itertools
import json
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from devote.kernels.votes import jury_failure, jury_size
from devote.protocol import (
    Ballot,
    ExperimentSpec,
    Learner,
    Player,
    Seat,
    SpecError,
    Vote,
    from_bytes,
    from_json,
    get_protocol,
    to_bytes,
    to_json,
)
from devote.theory import binomial_tail

ENOUGH = 100_000
JURY = get_protocol("jury")
uniforms = st.floats(0.0, 1.0, exclude_max=True)


class Jury(RuleBasedStateMachine):
    @initialize(
        n_arms=st.integers(2, 4),
        delta=st.sampled_from([0.25, 0.125]),
        absent=st.sampled_from([0, 0, 1]),
        seat_after=st.integers(1, 6),
        spare=st.integers(0, 3),
        seed=st.integers(0, 2**32),
        data=st.data(),
    )
    def begin(self, n_arms, delta, absent, seat_after, spare, seed, data):
        self.rng = Random(seed)
        self.spec = ExperimentSpec(
            arms=n_arms,
            name="court",
            epsilon=1.0,
            eta=0.5,
            delta=delta,
            protocol="jury",
            seat_after=seat_after,
            absent=absent,
        )
        n_players = self.spec.jury_size + spare
        row = st.lists(st.sampled_from([0.0, 0.4, 0.5, 1.0]), min_size=n_arms, max_size=n_arms)
        self.means = data.draw(row)
        self.players = [Player(self.spec, f"n{i}") for i in range(n_players)]
        self.shadows = [Learner(self.spec, self.spec.eta) for _ in self.players]
        self.board = []  # what the board took, in order
        self.granted = {}
        self.denied = 0
        self.delivered = [set() for _ in self.players]

    def who(self, data):
        return data.draw(st.integers(0, len(self.players) - 1))

    def pull(self, n, u=None):
        u = self.rng.random() if u is None else u
        player, shadow = self.players[n], self.shadows[n]
        arm = player.activate(u)
        lone = shadow.activate(u)
        assert arm in player.remaining
        # One coin per pull for all arms: juror and shadow, who play the same arm, earn the same.
        coin = self.rng.random()
        shadow.reward(float(coin < self.means[lone]))
        for message in player.reward(float(coin < self.means[arm])):
            self.send(n, message)

    def send(self, n, message):
        if isinstance(message, Seat):
            if self.granted.setdefault(message.seat, message.voter) != message.voter:
                self.denied += 1
                return
        else:
            assert self.players[n].is_juror
            self.delivered[n].add(len(self.board))
        self.board.append(message)

    def deliver(self, n, i):
        message, n_arms = self.board[i], self.spec.n_arms
        coded = (
            from_bytes(to_bytes(message), n_arms) if i % 2 else from_json(to_json(message), n_arms)
        )
        self.players[n].receive(coded)
        self.delivered[n].add(i)

    @rule(data=st.data(), pulls=st.integers(1, 40))
    def play_a_while(self, data, pulls):
        n = self.who(data)
        for _ in range(pulls):
            self.pull(n)

    @rule()
    def all_play_before_anything_arrives(self):
        """Seats are claimed at once by several."""
        for _ in range(self.spec.seat_after):
            for n in range(len(self.players)):
                self.pull(n)

    @precondition(lambda self: self.board)
    @rule(data=st.data())
    def deliver_one(self, data):
        self.deliver(self.who(data), data.draw(st.integers(0, len(self.board) - 1)))

    @precondition(lambda self: self.board)
    @rule(data=st.data())
    def deliver_all_to_one_in_disorder(self, data):
        n = self.who(data)
        order = list(range(len(self.board)))
        self.rng.shuffle(order)
        for i in order + order[:2]:
            self.deliver(n, i)

    @rule(data=st.data())
    def save_and_restore(self, data):
        n = self.who(data)
        saved = json.loads(json.dumps(self.players[n].to_dict()))
        restored = Player.from_dict(self.spec, saved)
        assert restored.to_dict() == self.players[n].to_dict()
        self.players[n] = restored

    @invariant()
    def a_juror_is_its_shadow_while_the_vote_is_open(self):
        for n, player in enumerate(getattr(self, "players", ())):
            shadow = self.shadows[n]
            if player.is_juror and len(player.shared) > 1:
                assert player.remaining == shadow.remaining

    @invariant()
    def an_arm_is_out_only_by_the_lone_judgement_of_all_jurors_but_the_absent(self):
        if not hasattr(self, "players"):
            return
        for player in self.players:
            if not player.tally.jury_complete:
                assert len(player.shared) == self.spec.n_arms
                continue
            jury = [int(name[1:]) for name in player.tally.jury]
            assert len(set(jury)) == self.spec.jury_size
            for arm in set(range(self.spec.n_arms)) - set(player.shared):
                against = [n for n in jury if arm not in self.shadows[n].remaining]
                assert len(against) >= self.spec.jury_size - self.spec.absent

    @invariant()
    def nobody_sits_on_two_seats_and_seats_do_not_pass(self):
        assert len(set(getattr(self, "granted", {}).values())) == len(getattr(self, "granted", {}))
        for player in getattr(self, "players", ()):
            assert set(player.tally.jury) <= set(self.granted.values())

    @invariant()
    def a_ballot_is_a_function_of_the_set_of_messages(self):
        for n, player in enumerate(getattr(self, "players", ())):
            seen = [self.board[i] for i in self.delivered[n]]
            self.rng.shuffle(seen)
            same = ballot_of(self.spec, seen)
            assert_agree(player.tally, same)

    def flush(self):
        for n in range(len(self.players)):
            for i in set(range(len(self.board))) - self.delivered[n]:
                self.deliver(n, i)

    def outcome(self):
        ballot = self.players[0].tally
        status = ballot.status(len(self.players))
        if status == "agreed" and any(p.remaining != ballot.shared for p in self.players):
            return "open"
        return status

    def teardown(self):
        if not hasattr(self, "players"):
            return
        self.flush()
        for i in range(ENOUGH):
            if self.outcome() != "open":
                break
            self.pull(i % len(self.players))
            self.flush()
        assert self.outcome() in ("agreed", "stalled")
        votes = [message for message in self.board if isinstance(message, Vote)]
        assert len(set(votes)) == len(votes)
        assert {vote.voter for vote in votes} <= set(self.granted.values())
        before = len(self.board)
        for _ in range(20):
            for n in range(len(self.players)):
                self.pull(n)
        assert len(self.board) == before, "an ended vote is silent, also when it has stalled"
        for player in self.players:
            assert_agree(player.tally, self.players[0].tally)


def ballot_of(spec, messages):
    return Ballot.of(
        messages,
        n_arms=spec.n_arms,
        quorum=JURY.votes_needed(spec),
        n_seats=JURY.seats_to_fill(spec),
    )


def assert_agree(one, other):
    assert one == other
    assert one.jury == other.jury
    assert one.tally == other.tally
    assert one.shared == other.shared
    assert one.status() == other.status()
    assert one.to_dict() == other.to_dict()


class TestJury(Jury.TestCase):
    settings = settings(max_examples=2 * settings().max_examples, stateful_step_count=20)


@given(
    claims=st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abcdef")), max_size=12),
    votes=st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcdef")), max_size=20),
    seed=st.integers(0, 2**32),
)
def test_conflicting_claims_go_to_the_lowest_name_in_any_order(claims, votes, seed):
    """Also without a board: who sits where is a function of the set of claims."""
    messages = [Seat("x", seat, voter) for seat, voter in claims]
    messages += [Vote("x", 0, arm, voter) for arm, voter in votes]
    first = Ballot.of(messages, n_arms=3, quorum=3, n_seats=3)
    shuffled = messages * 2
    Random(seed).shuffle(shuffled)
    assert_agree(first, Ballot.of(shuffled, n_arms=3, quorum=3, n_seats=3))
    assert len(set(first.jury)) == len(first.jury), "nobody has two votes"
    if any(seat == 1 for seat, _ in claims):
        assert first.jury[0] == min(voter for seat, voter in claims if seat == 1)
    event(f"complete {first.jury_complete}")


def test_a_voter_who_claims_every_seat_has_one():
    """One device cannot be the jury."""
    claims = [Seat("x", seat, "a") for seat in (1, 2, 3)]
    ballot = Ballot.of([*claims, Vote("x", 0, 1, "a")], n_arms=2, quorum=3, n_seats=3)
    assert ballot.jury == ("a",)
    assert ballot.free_seat == 2
    assert ballot.shared == (0, 1)


@pytest.mark.parametrize(
    ("delta", "eta", "absent", "n_arms"),
    list(itertools.product([0.3, 0.05, 0.01], [0.5, 0.9], [0, 1, 2], [2, 3, 5])),
)
def test_the_jury_is_the_smallest_that_meets_delta(delta, eta, absent, n_arms):
    """``P(Bin(J, eta) >= J - (K-1) v) <= delta``, and one juror fewer does not do."""
    size = jury_size(delta, eta, absent=absent, n_arms=n_arms)
    hold = (n_arms - 1) * absent
    assert jury_failure(size, eta, hold) == pytest.approx(
        binomial_tail(size - hold, size, probability=eta)
    )
    assert jury_failure(size, eta, hold) <= delta * (1 + 1e-12)
    if size - 1 > hold:
        assert jury_failure(size - 1, eta, hold) > delta


def test_a_jury_larger_than_the_fleet_is_refused_with_the_number_needed():
    spec = ExperimentSpec(arms=2, protocol="jury")
    with pytest.raises(SpecError, match="29") as refusal:
        JURY.check(spec, 28)
    assert "at least 29 players" in str(refusal.value)
    JURY.check(spec, 29)


def test_activity_counts_also_where_the_reward_never_came():
    """Else who sits in the jury would depend on what arms pay."""
    spec = ExperimentSpec(arms=2, protocol="jury", seat_after=3)
    player = Player(spec, "n0")
    for _ in range(2):
        player.activate(0.5)
        player.abandon()
    player.activate(0.5)
    assert player.reward(0.0) == [Seat(spec.name, 1, "n0")]
