"""The jury: who sits in it, what a juror says and when, and what the board makes of it.

Beside every player runs a shadow: a learner that gets the same uniforms and rewards and hears
nobody. Until it has read the verdict a player must be its shadow, which is what the proof rests
on: the jurors' runs are independent, and each is wrong with probability at most eta.
"""

import json
from fractions import Fraction
from math import comb
from random import Random

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from devote.protocol import ExperimentSpec, Learner, SpecError, from_json, restore_player, to_json
from devote.rules.randomizer import GRID, blur
from devote.schemes import Claim, Jury, Pick
from devote.simulator.reference import standing_by_tally

ENOUGH = 100_000


def learner_of(spec):
    return Learner(spec.scheme.learner(spec))


def jury_spec(n_arms=3, **changes):
    """Five seats: three picks decide."""
    given = {"eta": 0.2, "delta": 0.1, "epsilon": 1.0}
    fields = {name: changes.pop(name) for name in (*given, "algorithm") if name in changes}
    scheme = {"name": "jury", "seats": 5, "seat_after": 3} | changes
    return ExperimentSpec(arms=n_arms, name="court", scheme=scheme, **(given | fields))


def tally_of(spec, messages):
    tally = spec.scheme.tally(spec)
    for message in messages:
        assert tally.refusal(message) is None
        tally.add(message)
    return tally


def claims(*voters):
    return [Claim("court", voter) for voter in voters]


def picks(**arms):
    return [Pick("court", arm, voter) for voter, arm in arms.items()]


def seen_of(tally):
    return tally.picks, tally.counts, tally.verdict, tally.shared, tally.answer, tally.status()


# The board


def test_the_first_claims_in_the_board_s_order_are_the_jury_one_per_voter():
    tally = tally_of(jury_spec(), claims("b", "a", "b", "c", "e", "d"))
    assert list(tally.picks) == ["b", "a", "c", "e", "d"]
    assert tally.is_full
    assert "All 5 seats of the jury are taken.\n" in tally.refusal(Claim("court", "f"))
    assert tally.refusal(Claim("court", "a")) is None, "a juror's claim may come again"
    assert not tally.add(Claim("court", "f"))
    assert "f" not in tally.picks


def test_only_jurors_pick_and_each_once():
    tally = tally_of(jury_spec(), claims("a", "b"))
    assert "has no seat in the jury.\n" in tally.refusal(Pick("court", 1, "z"))
    assert not tally.add(Pick("court", 1, "z"))
    assert tally.add(Pick("court", 1, "a"))
    assert not tally.add(Pick("court", 1, "a"))
    assert tally.refusal(Pick("court", 1, "a")) is None, "what came before may come again"
    assert "picked another arm.\nA juror picks once." in tally.refusal(Pick("court", 2, "a"))
    assert not tally.add(Pick("court", 2, "a"))
    assert tally.counts == (0, 1, 0)


def test_the_verdict_is_the_first_arm_with_enough_picks_and_it_stands_whatever_comes_after():
    """With six seats two arms can both have three picks: the first to get there is it."""
    spec = jury_spec(seats=6, delta=0.3)
    assert spec.votes_needed == 3
    board = claims(*"abcdef") + picks(a=1, b=2, c=2, d=1, e=1)
    tally = tally_of(spec, board)
    assert (tally.verdict, tally.status(), tally.answer, tally.shared) == (1, "agreed", (1,), (1,))
    tally.add(Pick("court", 2, "f"))
    assert tally.counts == (0, 3, 3)
    assert (tally.verdict, tally.status(), tally.answer, tally.shared) == (1, "agreed", (1,), (1,))
    other = tally_of(spec, claims(*"abcdef") + picks(a=1, b=2, c=2, d=1, f=2, e=1))
    assert (other.counts, other.verdict) == ((0, 3, 3), 2)


def test_all_picks_in_and_no_arm_with_enough_is_a_stall_the_arms_with_picks_first():
    tally = tally_of(jury_spec(n_arms=4), claims(*"abcde") + picks(a=2, b=1, c=2, d=1))
    assert (tally.status(), tally.answer) == ("open", (1, 2, 0, 3))
    tally.add(Pick("court", 3, "e"))
    assert (tally.status(), tally.answer, tally.verdict) == ("stalled", (1, 2, 3), None)
    assert tally.shared == (0, 1, 2, 3)


def test_empty_seats_leave_it_open():
    tally = tally_of(jury_spec(), claims(*"abcd") + picks(a=0, b=1, c=0, d=1))
    assert tally.status() == "open"


@given(
    st.lists(
        st.builds(Claim, st.just("court"), st.sampled_from("abcdefgh"))
        | st.builds(Pick, st.just("court"), st.integers(0, 2), st.sampled_from("abcdefgh")),
        max_size=60,
    )
)
def test_the_tally_is_the_rule_read_aloud(offered):
    """Against a slow reading of the rule; refused messages and repetitions change nothing."""
    spec = jury_spec()
    tally = spec.scheme.tally(spec)
    board = []
    for message in offered:
        before = seen_of(tally)
        if tally.refusal(message) is not None:
            tally.add(message)
            assert seen_of(tally) == before
            continue
        board.append(message)
        tally.add(message)
    jury = list(dict.fromkeys(m.voter for m in board if isinstance(m, Claim)))[:5]
    sent = list(dict.fromkeys((m.voter, m.arm) for m in board if isinstance(m, Pick)))
    verdict, counts = None, [0, 0, 0]
    for voter, arm in sent:
        assert voter in jury
        counts[arm] += 1
        if verdict is None and counts[arm] == 3:
            verdict = arm
    assert len({voter for voter, _ in sent}) == len(sent), "nobody picks twice"
    assert list(tally.picks) == jury
    assert (list(tally.counts), tally.verdict) == (counts, verdict)
    stalled = verdict is None and len(sent) == 5
    assert tally.status() == ("agreed" if verdict is not None else "stalled" if stalled else "open")


# How many picks decide


@pytest.mark.parametrize(
    ("n_arms", "eta", "jury", "needed"),
    [
        (10, 0.2, {}, 10),
        (10, 0.1, {"seats": 29, "privacy": 4.0}, 10),
        (10, 0.1, {"seats": 29, "privacy": 3.0}, 9),
        (10, 0.1, {"seats": 61, "privacy": 2.0}, 14),
        (10, 0.1, {"seats": 300, "privacy": 1.0}, 46),
    ],
)
def test_the_picks_that_decide_in_the_settings_of_reference(n_arms, eta, jury, needed):
    spec = ExperimentSpec(arms=n_arms, eta=eta, delta=0.05, scheme={"name": "jury"} | jury)
    assert spec.votes_needed == needed
    assert spec.scheme.tally(spec).needed == needed


def exact_tail(least, n, p):
    """P(Bin(n, p) >= least), in whole numbers."""
    p = Fraction(p)
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(0, least), n + 1))


@pytest.mark.parametrize("privacy", [None, 3.0])
@pytest.mark.parametrize("liars", [0, 1, 4])
@pytest.mark.parametrize(
    ("seats", "eta", "delta"), [(29, 0.2, 0.05), (40, 0.1, 0.01), (61, 0.3, 0.1)]
)
def test_the_picks_that_decide_are_the_fewest_that_meet_delta(seats, eta, delta, liars, privacy):
    """``liars + min{c : P(Bin(J - liars, eta) >= c) <= delta}``.

    If private, a sum over the bad arms: one has all of eta, and all have a juror's pick by noise.
    """
    scheme = {"name": "jury", "seats": seats, "liars": liars, "privacy": privacy}
    spec = ExperimentSpec(arms=5, eta=eta, delta=delta, scheme=scheme)
    honest = seats - liars
    truth = spec.scheme.truths(5) / GRID
    lie = (1 - truth) / 4

    def failure(c):
        if privacy is None:
            return exact_tail(c, honest, eta)
        wrong = lie + (truth - lie) * (eta + (1 - eta) / 5)
        unsure = lie + (truth - lie) / 5
        one = exact_tail(c, honest, wrong)
        return one + 3 * (exact_tail(c, honest, unsure) if c - 1 >= honest * wrong else one)

    least = next(c for c in range(seats + 2) if failure(c) <= delta)
    assert spec.votes_needed == liars + least
    assert spec.scheme.failure(spec, spec.votes_needed) == pytest.approx(float(failure(least)))
    assert spec.scheme.failure(spec, spec.votes_needed) <= delta
    assert spec.scheme.failure(spec, spec.votes_needed - 1) > delta


@given(
    n_arms=st.integers(2, 5),
    seats=st.integers(2, 14),
    eta=st.sampled_from([0.05, 0.2, 0.5, 0.9]),
    privacy=st.sampled_from([0.3, 1.0, 2.0, 4.0]),
    n_bad=st.integers(1, 4),
    data=st.data(),
)
def test_however_jurors_differ_a_wrong_arm_has_enough_picks_at_most_as_often_as_stated(
    n_arms, seats, eta, privacy, n_bad, data
):
    """Each juror ends with each bad arm with a chance of its own, eta in all at most, and is not
    done with another. The chance that an arm has enough picks is computed, juror by juror.
    """
    n_bad = min(n_bad, n_arms - 1)
    try:
        spec = jury_spec(n_arms, seats=seats, privacy=privacy, eta=eta, delta=0.999999)
    except SpecError:  # so few jurors, so often wrong, cannot decide at all
        reject()
    truth = spec.scheme.truths(n_arms) / GRID
    lie = (1 - truth) / (n_arms - 1)
    share = st.floats(0, 1)
    counts = [[1.0] for _ in range(n_bad)]
    for _ in range(seats):
        wrong = eta * data.draw(st.sampled_from([0.0, 1.0]) | share)
        sizes = [data.draw(st.sampled_from([0.0, 1.0]) | share) for _ in range(n_bad)]
        ends = [wrong * size / (sum(sizes) or 1.0) for size in sizes]
        unsure = (1 - sum(ends)) * data.draw(st.sampled_from([0.0, 1.0]) | share)
        for row, end in zip(counts, ends, strict=True):
            chance = lie + (truth - lie) * (end + unsure / n_arms)
            row[:] = [
                before * (1 - chance) + more * chance
                for before, more in zip([*row, 0.0], [0.0, *row], strict=True)
            ]
    for needed in range(1, seats + 1):
        found = sum(sum(row[needed:]) for row in counts)
        assert min(1.0, found) <= spec.scheme.failure(spec, needed) * (1 + 1e-9)


def test_with_liars_more_picks_are_needed_and_no_number_of_liars_alone_decides():
    needed = [jury_spec(seats=29, liars=liars).votes_needed for liars in range(8)]
    assert needed == sorted(needed)
    assert all(c > liars for liars, c in enumerate(needed))
    spec = jury_spec(seats=29, liars=5)
    jurors = [f"n{i}" for i in range(29)]
    lies = [Pick("court", 2, voter) for voter in jurors[:5]]
    assert tally_of(spec, claims(*jurors) + lies).status() == "open"


def test_a_jury_larger_than_the_fleet_is_refused_with_the_number_needed():
    spec = ExperimentSpec(arms=2, scheme="jury")
    with pytest.raises(SpecError, match=r"there are 28\.\nUse at least 29 players"):
        spec.check_players(28)
    spec.check_players(29)


# Who claims, and when


def claim_times(spec, n_players, activations, pay, *, lost=frozenset()):
    """Who claims at which activation of all, in a world that pays by ``pay``."""
    rng = Random(7)
    players = [spec.scheme.player(spec, f"n{i}") for i in range(n_players)]
    board, found = spec.scheme.tally(spec), []
    for t, n in enumerate(activations):
        arm = players[n].activate(rng.random(), rng.random())
        sent = players[n].outgoing()
        if t in lost:
            players[n].abandon()
        else:
            sent += players[n].reward(pay(t, n, arm))
        for message in sent:
            if isinstance(message, Claim):
                found.append((t, n))
            if board.refusal(message) is None:
                board.add(message)
                for player in players:
                    player.receive(message)
    return found


@given(
    activations=st.lists(st.integers(0, 6), min_size=40, max_size=120),
    payments=st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3),
    lost=st.frozensets(st.integers(0, 119)),
    seat_after=st.integers(1, 40),
    algorithm=st.sampled_from(["ser3", "betting", "worst_case"]),
)
def test_nothing_that_arms_pay_nor_when_chooses_the_jury(
    activations, payments, lost, seat_after, algorithm
):
    """The same activity in any world of rewards: the same claims, at the same moments, also of
    players who have eliminated arms before, or are done.
    """
    spec = jury_spec(seat_after=seat_after, algorithm=algorithm)
    activations = 4 * activations
    plain = claim_times(spec, 7, activations, lambda t, n, arm: 1.0)
    other = claim_times(spec, 7, activations, lambda t, n, arm: payments[arm], lost=lost)
    turn, expected = dict.fromkeys(range(7), 0), []
    for t, n in enumerate(activations):
        turn[n] += 1
        if turn[n] == seat_after and len(expected) < 5:
            expected.append((t, n))
    # A verdict ends the claims: after three picks, so after three claims at least.
    for found in (plain, other):
        assert found == expected[: len(found)]
        assert len(found) >= min(3, len(expected))
    if algorithm == "ser3" and seat_after < 10:
        assert plain == other == expected


def test_a_claim_is_made_before_the_play_and_rewards_bring_none():
    spec = jury_spec(seat_after=2)
    player = spec.scheme.player(spec, "n0")
    for turn in (1, 2, 3):
        player.activate(0.5)
        assert player.outgoing() == (claims("n0") if turn == 2 else [])
        assert player.reward(1.0) == []


def test_a_player_claims_once_also_after_a_restart():
    spec = jury_spec(seat_after=1)
    player = spec.scheme.player(spec, "n0")
    player.activate(0.5)
    assert player.outgoing() == claims("n0")
    player.reward(0.5)
    player = restore_player(spec, json.loads(json.dumps(player.to_dict())))
    player.activate(0.5)
    assert player.outgoing() == []


# What a juror says


def down_to(player, arm, rng):
    """Play until one arm is left, which pays; what was said meanwhile."""
    sent = []
    while player.best is None:
        played = player.activate(rng.random())
        sent += player.outgoing()
        sent += player.reward(float(played == arm))
    assert player.best == arm
    return sent


def test_a_juror_says_once_which_arm_it_ended_with():
    spec = jury_spec(seat_after=1)
    player = spec.scheme.player(spec, "n0")
    player.receive(Claim("court", "n0"))
    assert down_to(player, 2, Random(1)) == picks(n0=2)
    for _ in range(10):
        player.activate(0.5)
        assert player.outgoing() + player.reward(1.0) == []


def test_a_player_that_is_done_before_it_is_seated_picks_when_it_sees_its_seat():
    spec = jury_spec(seat_after=1)
    player = spec.scheme.player(spec, "n0")
    assert down_to(player, 1, Random(1)) == claims("n0")
    player.activate(0.5)
    assert player.outgoing() + player.reward(1.0) == []
    player.receive(Claim("court", "n0"))
    player.activate(0.5)
    assert player.outgoing() == picks(n0=1)


def test_after_the_verdict_nobody_says_anything_and_everybody_holds_it():
    spec = jury_spec(seat_after=2)
    player = spec.scheme.player(spec, "n0")
    for message in claims(*"abcd", "n0") + picks(a=1, b=1, c=1):
        player.receive(message)
    for _ in range(40):
        player.activate(0.3)
        assert player.remaining == (1,)
        assert player.outgoing() + player.reward(0.0) == []


PRIVATE = {"privacy": 3.0, "vote_after": 60, "seats": 7, "delta": 0.3}


def private_run(pay, noise, *, vote_after=60, until=90):
    spec = jury_spec(**(PRIVATE | {"vote_after": vote_after}))
    player = spec.scheme.player(spec, "n0")
    player.receive(Claim("court", "n0"))
    rng, sent = Random(4), []
    for turn in range(1, until):
        before = player.best
        arm = player.activate(rng.random(), noise(turn))
        sent += [(turn, message, before) for message in player.outgoing()]
        sent += [(turn, message, before) for message in player.reward(pay(arm, turn))]
    return spec, sent


@given(
    st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3),
    st.integers(0, GRID - 1).map(lambda place: place / GRID),
)
def test_a_private_pick_is_sent_at_the_same_activation_whatever_the_rewards(means, noise):
    """One message, at the 60th activation: neither its moment nor its number tells anything."""
    coin = Random(5)
    spec, sent = private_run(
        lambda arm, turn: float(coin.random() < means[arm]), lambda turn: noise
    )
    ((turn, message, best),) = sent
    assert turn == 60
    truths = spec.scheme.truths(3)
    assert message.arm == (int(noise * 3) if best is None else blur(best, noise, truths, 3))


def test_a_private_juror_that_is_not_done_picks_any_arm_also_one_that_it_has_eliminated():
    """Else its pick would tell which arms it has eliminated, without any noise."""
    played = learner_of(jury_spec(epsilon=0.3, algorithm="ser3", eta=0.2))
    pulls = 0
    while len(played.remaining) == 3:
        played.reward(float(played.activate(0.5) != 2))
        pulls += 1
    assert played.remaining == (0, 1)
    spec = jury_spec(algorithm="ser3", **(PRIVATE | {"vote_after": pulls + 5, "epsilon": 0.3}))
    for noise, arm in ((0.0, 0), (0.5, 1), (0.99, 2)):
        player = spec.scheme.player(spec, "n0")
        player.receive(Claim("court", "n0"))
        sent = []
        for _ in range(pulls + 5):
            played_arm = player.activate(0.5, noise)
            assert player.best is None
            sent += player.outgoing()
            player.reward(float(played_arm != 2))
        assert sent == picks(n0=arm)


def test_the_noise_of_a_private_pick_is_that_of_its_own_activation_and_drawn_once():
    """No noise before or after the 60th activation has any influence."""

    def pay(arm, turn):
        return float(arm == 2)

    low = private_run(pay, lambda turn: 0.0)[1]
    assert private_run(pay, lambda turn: 0.0 if turn == 60 else 0.999)[1] == low
    high = private_run(pay, lambda turn: 0.999 if turn == 60 else 0.0)[1]
    assert [arm.arm for _, arm, _ in low] == [2]
    assert [arm.arm for _, arm, _ in high] == [1]


def test_a_private_pick_is_not_drawn_again_after_a_restart():
    spec = jury_spec(**PRIVATE)
    player = spec.scheme.player(spec, "n0")
    player.receive(Claim("court", "n0"))
    rng, sent = Random(4), []
    for _ in range(120):
        player.activate(rng.random(), rng.random())
        sent += player.outgoing()
        sent += player.reward(0.5)
        saved = json.loads(json.dumps(player.to_dict()))
        player = restore_player(spec, saved, claims("n0"))
    assert len(sent) == 1


def test_a_private_pick_is_due_also_where_rewards_never_came():
    spec = jury_spec(**PRIVATE)
    player = spec.scheme.player(spec, "n0")
    player.receive(Claim("court", "n0"))
    sent = []
    for turn in range(1, 70):
        player.activate(0.5, 0.99)
        sent += [(turn, message) for message in player.outgoing()]
        player.abandon()
    assert sent == [(60, Pick("court", 2, "n0"))]


# All of it, over an unreliable network


class Court(RuleBasedStateMachine):
    """Devices read a prefix of the board's order, late or again; restarts come at any point."""

    @initialize(
        n_arms=st.integers(2, 4),
        seat_after=st.integers(1, 6),
        spare=st.integers(0, 3),
        seed=st.integers(0, 2**32),
        data=st.data(),
    )
    def begin(self, n_arms, seat_after, spare, seed, data):
        self.rng = Random(seed)
        self.spec = jury_spec(n_arms, seat_after=seat_after)
        n_players = self.spec.scheme.seats + spare
        row = st.lists(st.sampled_from([0.0, 0.4, 0.5, 1.0]), min_size=n_arms, max_size=n_arms)
        self.means = data.draw(row)
        self.players = [self.spec.scheme.player(self.spec, f"n{i}") for i in range(n_players)]
        self.shadows = [learner_of(self.spec) for _ in self.players]
        self.board = []  # what the board took, in order
        self.tally = self.spec.scheme.tally(self.spec)
        self.read = [0] * n_players
        self.sent = []

    def who(self, data):
        return data.draw(st.integers(0, len(self.players) - 1))

    def pull(self, n):
        player, shadow = self.players[n], self.shadows[n]
        u, coin = self.rng.random(), self.rng.random()
        arm, lone = player.activate(u), shadow.activate(u)
        assert arm in player.remaining
        self.send(n, player.outgoing(), self.spec.scheme.seat_after)
        # One coin per pull for all arms: player and shadow, who play the same arm, earn the same.
        shadow.reward(float(coin < self.means[lone]))
        self.send(n, player.reward(float(coin < self.means[arm])), None)

    def send(self, n, messages, claim_at):
        for message in messages:
            self.sent.append(message)
            if isinstance(message, Claim):
                assert self.players[n].activations == claim_at
            else:
                assert (message.arm,) == self.shadows[n].remaining
            if self.tally.refusal(message) is None:
                self.tally.add(message)
                self.board.append(message)

    def deliver(self, n, upto):
        for message in self.board[self.read[n] : upto]:
            self.players[n].receive(from_json(to_json(message), self.spec.n_arms))
        self.read[n] = max(self.read[n], upto)

    @rule(data=st.data(), pulls=st.integers(1, 40))
    def play_a_while(self, data, pulls):
        n = self.who(data)
        for _ in range(pulls):
            self.pull(n)

    @rule()
    def all_play_before_anything_arrives(self):
        """Seats are claimed at once by several."""
        for _ in range(self.spec.scheme.seat_after):
            for n in range(len(self.players)):
                self.pull(n)

    @rule(data=st.data())
    def read_some(self, data):
        n = self.who(data)
        self.deliver(n, data.draw(st.integers(self.read[n], len(self.board))))

    @precondition(lambda self: self.board)
    @rule(data=st.data())
    def read_again(self, data):
        n = self.who(data)
        for message in self.board[: self.read[n]]:
            self.players[n].receive(message)

    @rule(data=st.data())
    def save_and_restore(self, data):
        n = self.who(data)
        saved = json.loads(json.dumps(self.players[n].to_dict()))
        restored = restore_player(self.spec, saved, self.board[: self.read[n]])
        assert restored.to_dict() == self.players[n].to_dict()
        self.players[n] = restored

    @invariant()
    def everybody_is_its_shadow_until_it_reads_the_verdict(self):
        for n, player in enumerate(getattr(self, "players", ())):
            if player.tally.verdict is None:
                assert player.remaining == self.shadows[n].remaining

    @invariant()
    def a_tally_is_the_board_as_far_as_it_was_read(self):
        for n, player in enumerate(getattr(self, "players", ())):
            same = tally_of(self.spec, self.board[: self.read[n]])
            assert seen_of(player.tally) == seen_of(same)

    @invariant()
    def nobody_claims_or_picks_twice(self):
        sent = [(type(m), m.voter) for m in getattr(self, "sent", ())]
        assert len(set(sent)) == len(sent)

    def outcome(self):
        return standing_by_tally(self.players, len(self.players))[0]

    def flush(self):
        for n in range(len(self.players)):
            self.deliver(n, len(self.board))

    def teardown(self):
        if not hasattr(self, "players"):
            return
        self.flush()
        for i in range(ENOUGH):
            if self.outcome() != "unfinished":
                break
            self.pull(i % len(self.players))
            self.flush()
        assert self.outcome() in ("agreed", "stalled")
        assert len(self.board) <= 2 * self.spec.scheme.seats
        self.everybody_holds_the_verdict_or_nobody_speaks()

    def everybody_holds_the_verdict_or_nobody_speaks(self):
        before = len(self.sent)
        for _ in range(20):
            for n in range(len(self.players)):
                self.pull(n)
        assert len(self.sent) == before
        if self.tally.verdict is not None:
            assert all(player.best == self.tally.verdict for player in self.players)


class TestCourt(Court.TestCase):
    settings = settings(max_examples=2 * settings().max_examples, stateful_step_count=20)


def test_the_defaults_are_those_of_the_reference():
    assert Jury() == Jury(seats=29, seat_after=20, liars=0, privacy=None, vote_after=300)
    assert ExperimentSpec(arms=3, scheme="jury").eta == 0.2
