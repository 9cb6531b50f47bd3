"""Players over a network that delays, repeats, reorders and loses, and devices that restart.

A hypothesis state machine drives several players. Messages wait in the network until a rule
delivers them, maybe again, maybe never; players are saved and restored at any point. At the
end everything is delivered, and the run is driven on until it has an outcome.
"""

import json
from random import Random
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from devote.protocol import ExperimentSpec, from_json, restore_player, to_json
from devote.schemes import Ballot, Reset, Vote

uniforms = st.floats(0.0, 1.0, exclude_max=True)
ENOUGH = 200_000


class UnreliableNetwork(RuleBasedStateMachine):
    algorithm = "ser3"
    options: ClassVar = {}

    @initialize(
        n_players=st.integers(2, 6),
        n_arms=st.integers(2, 5),
        data=st.data(),
        seed=st.integers(0, 2**32),
    )
    def begin(self, n_players, n_arms, data, seed):
        self.rng = Random(seed)
        self.spec = ExperimentSpec(
            arms=n_arms,
            name="storm",
            algorithm=self.algorithm,
            epsilon=1.0,
            eta=0.9,
            scheme={"quorum": data.draw(st.integers(1, n_players))},
            options=self.options,
        )
        means = st.sampled_from([0.0, 0.4, 0.5, 1.0])
        row = st.lists(means, min_size=n_arms, max_size=n_arms)
        self.means = data.draw(st.lists(row, min_size=n_players, max_size=n_players))
        self.players = [self.spec.scheme.player(self.spec, f"n{i}") for i in range(n_players)]
        self.sent = []  # every message, in the order of sending
        self.delivered = [set() for _ in self.players]  # indices into sent

    def pull(self, n, u=None):
        player = self.players[n]
        arm = player.activate(self.rng.random() if u is None else u)
        assert arm in player.remaining
        assert set(player.remaining) <= set(player.shared)
        self.settle(n)

    def settle(self, n):
        player = self.players[n]
        assert player.pending in player.remaining
        mean = self.means[n][player.pending]
        for message in player.reward(float(self.rng.random() < mean)):
            self.delivered[n].add(len(self.sent))
            self.sent.append(message)

    def deliver(self, n, i):
        # Over the wire.
        self.players[n].receive(from_json(to_json(self.sent[i]), self.spec.n_arms))
        self.delivered[n].add(i)

    def who(self, data):
        return data.draw(st.integers(0, len(self.players) - 1))

    @rule(data=st.data(), u=uniforms)
    def activate_and_reward(self, data, u):
        n = self.who(data)
        if self.players[n].pending is None:
            self.pull(n, u)

    @rule(data=st.data(), pulls=st.integers(1, 60))
    def play_a_while(self, data, pulls):
        n = self.who(data)
        if self.players[n].pending is None:
            for _ in range(pulls):
                self.pull(n)

    @rule(data=st.data(), u=uniforms)
    def activate_and_wait(self, data, u):
        player = self.players[self.who(data)]
        if player.pending is None:
            assert player.activate(u) in player.remaining

    @rule(data=st.data())
    def the_reward_comes(self, data):
        n = self.who(data)
        if self.players[n].pending is not None:
            self.settle(n)

    @rule(data=st.data())
    def the_reward_will_never_come(self, data):
        player = self.players[self.who(data)]
        if player.pending is not None:
            player.abandon()

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def deliver_one(self, data):
        """Any message to any player: late, again, before earlier ones."""
        self.deliver(self.who(data), data.draw(st.integers(0, len(self.sent) - 1)))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def deliver_all_to_one_in_disorder(self, data):
        n = self.who(data)
        order = list(range(len(self.sent)))
        self.rng.shuffle(order)
        for i in order:
            self.deliver(n, i)

    @rule(data=st.data())
    def merge_ballots(self, data):
        """Two devices meet and exchange all they have seen."""
        a, b = self.who(data), self.who(data)
        for i in self.delivered[a] | self.delivered[b]:
            self.deliver(a, i)
            self.deliver(b, i)
        one, other = self.players[a].tally, self.players[b].tally
        assert_agree_on_everything(one, other, len(self.players))

    @rule(data=st.data())
    def save_and_restore(self, data):
        n = self.who(data)
        saved = json.loads(json.dumps(self.players[n].to_dict()))
        seen = [self.sent[i] for i in self.delivered[n]]
        restored = restore_player(self.spec, saved, seen)
        assert restored.to_dict() == self.players[n].to_dict()
        self.players[n] = restored

    @invariant()
    def everybody_always_has_an_arm_to_play(self):
        for player in getattr(self, "players", ()):
            assert player.remaining
            assert player.shared

    @invariant()
    def at_most_one_vote_per_player_arm_and_term(self):
        votes = [m for m in getattr(self, "sent", ()) if isinstance(m, Vote)]
        assert len(set(votes)) == len(votes)

    @invariant()
    def a_message_has_its_sender_s_name_and_nothing_else(self):
        for message in getattr(self, "sent", ())[-5:]:
            expected = {"v", "type", "experiment", "term", "voter"}
            if isinstance(message, Vote):
                expected.add("arm")
            assert set(json.loads(to_json(message))) == expected
            assert message.experiment == "storm"

    @invariant()
    def a_ballot_is_a_function_of_the_set_of_messages(self):
        for n, player in enumerate(getattr(self, "players", ())):
            seen = [self.sent[i] for i in self.delivered[n]]
            self.rng.shuffle(seen)
            same = Ballot(self.spec)
            for message in seen:
                same.add(message)
            assert_agree_on_everything(player.tally, same, len(self.players))

    def flush(self):
        for n in range(len(self.players)):
            for i in set(range(len(self.sent))) - self.delivered[n]:
                self.deliver(n, i)

    def outcome(self):
        """``stalled`` by the votes, or ``agreed`` when all hold the one shared arm."""
        ballot = self.players[0].tally
        status = ballot.status(len(self.players))
        if status == "agreed" and any(p.remaining != ballot.shared for p in self.players):
            return "open"
        return status

    def teardown(self):
        if not hasattr(self, "players"):
            return
        for n, player in enumerate(self.players):
            if player.pending is not None:
                self.settle(n)
        self.flush()
        self.drive_to_the_end()
        ballots = [player.tally for player in self.players]
        for ballot in ballots:
            assert_agree_on_everything(ballot, ballots[0], len(self.players))

    def drive_to_the_end(self):
        for i in range(ENOUGH):
            if self.outcome() != "open":
                break
            self.pull(i % len(self.players))
            self.flush()
        assert self.outcome() in ("agreed", "stalled")
        if self.outcome() == "stalled":
            self.a_stall_is_final()

    def a_stall_is_final(self):
        votes = len(self.sent)
        for _ in range(30):
            for n in range(len(self.players)):
                self.pull(n)
        assert len(self.sent) == votes


class UnreliableNetworkWithResets(UnreliableNetwork):
    algorithm = "ser4"
    options: ClassVar = {"phi": 0.01}

    def drive_to_the_end(self):
        """Resets never end, so neither does the run; but whoever wakes joins the last term."""
        for i in range(500):
            self.pull(i % len(self.players))
            self.flush()
        last = max([0, *(message.term for message in self.sent)])
        for player in self.players:
            assert player.tally.term == last
            player.activate(0.5)
            assert player.term == last
            player.abandon()

    @invariant()
    def every_term_is_opened_by_a_reset(self):
        opened = {m.term for m in getattr(self, "sent", ()) if isinstance(m, Reset)}
        assert opened == set(range(1, len(opened) + 1))


def assert_agree_on_everything(one, other, n_players):
    assert one.term == other.term
    assert one.votes == other.votes
    assert one.counts == other.counts
    assert one.shared == other.shared
    assert one.shared_mask == other.shared_mask
    assert one.answer == other.answer
    assert one.status() == other.status()
    assert one.status(n_players) == other.status(n_players)
    assert one.view() == other.view()


class TestSer3(UnreliableNetwork.TestCase):
    settings = settings(max_examples=2 * settings().max_examples)


class TestSer4WithResets(UnreliableNetworkWithResets.TestCase):
    settings = settings(max_examples=2 * settings().max_examples)
