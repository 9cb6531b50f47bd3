"""Surveys with segments: what devices send, and what the board counts, refuses and shows."""

import itertools
import json
from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schemes.segments import NAMES, public
from tests.schemes.surveys import answer
from tests.schemes.test_signed_subsets import REWARDS, odds

from devote.protocol import (
    ExperimentSpec,
    LocalProtocolError,
    RemoteProtocolError,
    SpecError,
    from_json,
    restore_player,
    to_json,
)
from devote.rules.randomizer import GRID
from devote.schemes import SegmentedAnswer, Survey
from devote.schemes.survey.respondent import COIN
from devote.schemes.survey.segment_learner import asks_about, make_bets, new_segments, take
from devote.schemes.survey.signed_subsets import pack, unpack


def spec_of(arms=3, segments=NAMES, *, privacy=None, liars=0, subset=None, **changes):
    scheme = Survey(privacy=privacy, liars=liars, segments=tuple(segments), subset=subset)
    given = {"epsilon": 0.4, "delta": 0.3, **changes}
    return ExperimentSpec(arms=arms, scheme=scheme, **given)


def device(spec, voter="me"):
    return spec.scheme.player(spec, voter)


def segmented(arm, signs, voter, seen=0):
    return SegmentedAnswer("experiment", arm, *pack(signs), 1, seen, str(voter))


def visitor(spec, tally, segment, means, rng, voter):
    """One user from choice to answer; means are those of the user's segment."""
    player = device(spec, str(voter))
    player.read(tally.public())
    arm = player.activate(rng.random(), segment=segment, draws=rng.random)
    return arm, player.reward(float(rng.random() < means[arm]))


@pytest.mark.parametrize("n", [2, 31, 32, 33, 64])
@given(data=st.data())
def test_signs_travel_as_two_numbers_that_every_language_has(n, data):
    signs = tuple(data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n)))
    low, high = pack(signs)
    assert max(low, high) < 3**32 < 2**53
    assert unpack(low, high, n) == signs
    if signs[-1]:
        assert unpack(low, high, n - 1) is None, "digits beyond the last segment"


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"segments": "phone"}, "must be a list"),
        ({"segments": ["phone"]}, "from 2 to 64"),
        ({"segments": [str(k) for k in range(65)]}, "from 2 to 64"),
        ({"segments": ["phone", "phone"]}, "Two segments have the same name"),
        ({"segments": ["phone", " "]}, "segment name"),
        ({"segments": ["phone", 3]}, "segment name"),
        ({"segments": NAMES, "answers": 2}, "answers = 1"),
        ({"segments": NAMES, "subset": 3}, "from 1 to 2"),
        ({"segments": NAMES, "subset": 2, "privacy": None}, "from 1 to 1"),
        ({"subset": 2}, "without segments"),
    ],
)
def test_what_cannot_be_segments_is_refused(given, part):
    with pytest.raises(SpecError, match=part):
        Survey(**given)


def test_the_specification_names_the_segments_and_how_many_an_answer_holds():
    spec = spec_of(segments=NAMES, privacy=1.0, epsilon=0.1)
    assert spec.scheme.subset == 2
    written = spec.to_dict()["scheme"]
    assert (written["segments"], written["subset"]) == (list(NAMES), 2)
    assert ExperimentSpec.from_json(spec.to_json()) == spec
    assert spec.fingerprint != spec_of(segments=NAMES[::-1], privacy=1.0, epsilon=0.1).fingerprint
    bare = ExperimentSpec(arms=3, scheme=Survey())
    assert not {"segments", "subset"} & set(bare.to_dict()["scheme"])
    with pytest.raises(SpecError, match="Use betting"):
        spec.with_(algorithm="mixture_elimination")
    with pytest.raises(SpecError, match="fill the memory"):  # 4 kB took 1.3 GB of each device
        spec.with_(arms=512, scheme=Survey(segments=tuple(map(str, range(64)))))
    with pytest.raises(SpecError, match="epsilon"):
        spec_of(privacy=0.001, epsilon=1e-4)


class Naive:
    """Segments as they are described: a list of queues, and answers handed out one by one."""

    def __init__(self, spec):
        self.spec, survey = spec, spec.scheme
        self.bets = make_bets(
            survey.subsets,
            n_arms=spec.n_arms,
            epsilon=spec.epsilon,
            delta=spec.delta,
            liars=survey.liars,
        )
        self.learners = new_segments(len(survey.segments), spec.n_arms)
        self.queues = [{k: [] for k in range(spec.n_arms)} for _ in survey.segments]

    def asks(self, z):
        return [k for k in range(self.spec.n_arms) if asks_about(self.bets, self.learners, z, k)]

    def add(self, arm, signs):
        for z, sign in enumerate(signs):
            queues = self.queues[z]
            if arm in queues:
                queues[arm].append(sign)
            while queues and (missing := self.missing(z)) is not None and queues[missing]:
                take(self.bets, self.learners, z, missing, queues[missing].pop(0))
                for k in set(queues) - set(self.asks(z)):
                    del queues[k]
                for k in set(self.asks(z)) - set(queues):
                    queues[k] = []

    def missing(self, z):
        first = z * self.spec.n_arms
        return next((k for k in self.asks(z) if not self.learners.signs[first + k]), None)


@given(
    seed=st.integers(0, 1000),
    privacy=st.sampled_from([None, 4.0]),
    liars=st.integers(0, 1),
    means=st.lists(
        st.lists(st.sampled_from([0.0, 0.3, 0.9, 1.0]), min_size=3, max_size=3),
        min_size=2,
        max_size=3,
    ),
)
def test_each_segment_learns_from_queues_as_they_are_described(seed, privacy, liars, means):
    spec = spec_of(3, NAMES[: len(means)], privacy=privacy, liars=liars)
    tally, naive, rng = spec.scheme.tally(spec), Naive(spec), Random(seed)
    for n in range(250):
        if tally.status() != "open":
            break
        arm, z = rng.choice([*tally.asked, rng.randrange(3)]), rng.randrange(len(means))
        signs = [0] * len(means)
        signs[z] = 1 if rng.random() < means[z][arm] else -1
        while sum(map(abs, signs)) < spec.scheme.subset:
            signs[rng.randrange(len(means))] = 1
        assert tally.add(segmented(arm, signs, n))
        naive.add(arm, signs)
        assert tally.learners == naive.learners
        union = sorted({k for z in range(len(means)) for k in naive.asks(z)})
        if union:
            assert list(tally.asked) == union
    public = tally.public()
    assert public["shared"] == sorted(public["answer"]) == list(tally.shared)
    assert [row["asked"] for row in public["segments"]] == [
        naive.asks(z) for z in range(len(means))
    ]


@pytest.mark.parametrize("privacy", [None, 4.0])
def test_visitors_of_three_kinds_end_with_the_best_arm_of_each(privacy):
    """Without noise about 100 answers; delta .01 and gaps of 1 leave no chance to be wrong."""
    means = {"phone": (1.0, 0.0, 0.0), "tablet": (0.0, 1.0, 0.0), "desktop": (0.0, 0.0, 1.0)}
    spec = spec_of(privacy=privacy, delta=0.01)
    tally, rng, shown = spec.scheme.tally(spec), Random(5), []
    while tally.status() == "open":
        segment = rng.choice(NAMES)
        arm, messages = visitor(spec, tally, segment, means[segment], rng, len(tally))
        [message] = messages
        assert from_json(to_json(message), spec.n_arms) == message
        if tally.is_decided(NAMES.index(segment)):
            shown.append(arm == NAMES.index(segment))
        assert tally.refusal(message) is None
        assert tally.add(message)
    assert [tally.leader(z) for z in range(3)] == [0, 1, 2]
    assert shown
    assert all(shown), "a decided segment is shown its answer"
    assert tally.shared == (0, 1, 2)
    assert "decided" in tally.refusal(segmented(0, (1, 0, 0), "late"))
    settled = device(spec)
    settled.read(tally.public())
    assert settled.settled is None, "of which segment?"
    assert settled.activate(0.9, segment="tablet", draws=rng.random) == 1
    assert not settled.is_asked
    assert (settled.settled, settled.best) == (1, 1)


@given(u=st.floats(0, 1, exclude_max=True), seed=st.integers(0, 99))
def test_the_arm_asked_about_does_not_depend_on_the_segment_nor_on_what_it_is_shown(u, seed):
    spec = spec_of(privacy=2.0)
    for decided in ((), (1,), (0, 2)):
        sent = []
        for z, segment in enumerate(NAMES):
            player = device(spec)
            player.read(public(decided, asked=(0, 2)))
            arm = player.activate(u, segment=segment, draws=Random(seed).random)
            assert arm == (z if z in decided else (0, 2)[int(u * 2)])
            assert player.is_asked, "also when its segment is decided"
            [message] = player.reward(1.0)
            sent.append((message.arm, message.seen, message.number))
        assert set(sent) == {((0, 2)[int(u * 2)], 7, 1)}


def test_a_decided_segments_answer_does_not_depend_on_its_reward_and_is_a_fair_coin():
    """Without privacy all noise is the place: half of the places give each sign."""
    spec = spec_of(privacy=None)
    sent = {}
    for place in (0.0, 0.2, 0.5 - 2**-53, 0.5, 0.9):
        for reward in (0.0, 1.0):
            player = device(spec)
            player.read(public(decided=(1,)))
            player.activate(0.0, segment="tablet", draws=iter([place]).__next__)
            [message] = player.reward(reward)
            sent.setdefault(place, set()).add(unpack(message.low, message.high, 3))
    plus, minus = {(0, 1, 0)}, {(0, -1, 0)}
    assert list(sent.values()) == [plus, plus, plus, minus, minus]


def chances(spec, tally, segment, reward):
    """The exact probability of each message of a device that has read a tally; arms drawn alike."""
    subsets, n = spec.scheme.subsets, len(spec.scheme.segments)
    z, bits = spec.scheme.segments.index(segment), (n - 1).bit_length()
    first = subsets.absent + subsets.other
    kinds = [first + int(x * (subsets.own - subsets.other)) for x in (*REWARDS, COIN)]
    ends = sorted({0, subsets.absent, *kinds, GRID})
    strangers = [other for other in range(n) if other != z]
    noises = [
        [*(other / 2**bits for other in others), *(sign / 2 for sign in signs)]
        for others in itertools.permutations(strangers, subsets.size)
        for signs in itertools.product((0, 1), repeat=subsets.size)
    ]
    found = Counter()
    for begin, end in itertools.pairwise(ends):
        for noise in noises:
            sent = set()
            for place in (begin, end - 1):  # and so all places in between
                player = device(spec)
                player.read(tally)
                draws = iter([place / GRID, *noise])
                player.activate(0.6, segment=segment, draws=draws.__next__)
                sent.update(player.reward(reward))
                assert next(draws, None) is None
            [message] = sent
            found[message] += Fraction(end - begin, GRID * len(noises))
    assert sum(found.values()) == 1
    return found


@pytest.mark.parametrize("privacy", [1.0, 4.0])
@pytest.mark.parametrize("size", [1, 2])
def test_a_server_that_shows_a_device_what_it_likes_learns_no_more_than_the_privacy_allows(
    size, privacy
):
    """Whichever arms it asks about and whatever it says of the segments, also of this one only."""
    spec = spec_of(privacy=privacy, subset=size, epsilon=0.1)
    for decided in itertools.chain(*(itertools.combinations(range(3), n) for n in range(3))):
        for asked in ((0, 1, 2), (2,), (0, 1)):
            tables = [
                chances(spec, public(decided, asked), segment, reward)
                for segment in NAMES
                for reward in REWARDS
            ]
            assert len({(message.arm, message.seen) for table in tables for message in table}) == 1
            for message in set().union(*tables):
                likely = [table[message] for table in tables]
                assert max(likely) <= odds(privacy) * min(likely)


def test_once_it_has_answered_a_device_plays_what_leads_in_its_segment():
    spec = spec_of(privacy=2.0)
    player = device(spec)
    player.read(public())
    player.activate(0.1, segment="desktop", draws=Random(1).random)
    player.reward(1.0)
    for u in (0.0, 0.5, 0.99):
        assert player.activate(u, segment="desktop", draws=Random(1).random) == 2
        assert not player.is_asked
        assert player.reward(0.0) == []
    with pytest.raises(LocalProtocolError, match="another segment before"):
        player.activate(0.5, segment="phone", draws=Random(1).random)


@pytest.mark.parametrize("x", [0.0, 0.4, 1.0])
def test_a_crash_draws_no_noise_again_and_nothing_is_kept_once_the_answer_is_made(x):
    spec = spec_of(privacy=1.0)
    sent = []
    for crashes in (False, True):
        player = device(spec)
        player.read(public())
        player.activate(0.4, segment="tablet", draws=Random(8).random)
        noise = player.to_dict()["own"]["noise"]
        if crashes:
            player = restore_player(spec, json.loads(player.to_json()))
            assert player.is_asked
        sent.append(player.reward(x))
        kept = json.loads(player.to_json())["own"]
        assert str(noise[0]) not in json.dumps(kept)
        assert (kept["noise"], kept["question"], kept["segment"]) == (None, None, 1)
    assert sent[0] == sent[1]
    player = restore_player(spec, kept_player := json.loads(player.to_json()))
    assert json.loads(player.to_json()) == kept_player
    player.recall(sent[0][0])
    assert player.answers_left == 0


@pytest.mark.parametrize(
    ("names", "segment", "part"),
    [
        (NAMES, "watch", "This is no segment of 'experiment'.\nUse one of: phone, tablet, desktop"),
        (NAMES, None, "has segments, and none was given"),
        ((), "phone", "has no segments"),
    ],
)
def test_a_wrong_segment_is_refused_without_naming_it_and_nothing_changes(names, segment, part):
    spec = spec_of(segments=names)
    player = device(spec)
    before = player.to_json()
    with pytest.raises(LocalProtocolError) as error:
        player.activate(0.5, segment=segment, draws=Random(1).random)
    assert part in str(error.value)
    assert "watch" not in str(error.value)
    assert player.to_json() == before


def test_the_board_refuses_what_is_no_signed_subset_of_its_segments():
    spec = spec_of(privacy=1.0, epsilon=0.1)  # two of three
    tally = spec.scheme.tally(spec)
    before = tally.view()
    for signs in ((1, 0, 0), (0, 0, 0), (1, 1, -1), (1, 1, 0, 0, 1)):
        assert "does not hold 2 of 3" in tally.refusal(segmented(0, signs, "a"))
        assert tally.add(segmented(0, signs, "a")) is False
    assert "segments" in tally.refusal(answer(0, 1, "a"))
    assert tally.view() == before
    good = segmented(0, (1, 0, -1), "a")
    assert tally.refusal(good) is None
    assert [tally.add(good), tally.add(good)] == [True, False]
    assert tally.refusal(good) is None, "sending twice is harmless"
    assert "another answer" in tally.refusal(segmented(0, (-1, 0, -1), "a"))
    bare = ExperimentSpec(arms=3, scheme=Survey())
    assert "no segments" in bare.scheme.tally(bare).refusal(good)


def test_the_codec_refuses_numbers_out_of_range():
    values = json.loads(to_json(segmented(0, (1, 0, -1), "a")))
    for field, value in (("low", 3**32), ("high", -1), ("number", 2), ("low", True), ("arm", 3)):
        with pytest.raises(RemoteProtocolError):
            from_json(json.dumps(values | {field: value}), 3)


@pytest.mark.parametrize(
    "change",
    [
        {"segments": []},
        {"segments": [{"status": "open", "leader": 9}] * 3},
        {"segments": [{"status": "open"}] * 3},
        {"status": "agreed"},
        {"asked": []},
        {"asked": [3]},
    ],
)
def test_a_device_refuses_a_tally_that_is_none(change):
    with pytest.raises(RemoteProtocolError):
        device(spec_of()).read(public() | change)


def test_the_public_tally_has_a_few_hundred_bytes_for_each_segment():
    spec = spec_of(10, [str(z) for z in range(64)], privacy=4.0)
    assert len(json.dumps(spec.scheme.tally(spec).public())) < 200 * 64


def test_the_view_has_a_row_for_each_segment_whose_intervals_hold_the_truth():
    means = {"phone": (0.9, 0.3, 0.5), "tablet": (0.2, 0.8, 0.5), "desktop": (0.5, 0.5, 0.5)}
    spec = spec_of(privacy=4.0, epsilon=0.02, delta=0.01)
    tally, rng = spec.scheme.tally(spec), Random(2)
    empty = tally.view()["segments"][0]
    assert empty["estimates"] == [None] * 3
    assert (empty["leader"], empty["answer"], empty["share"]) == (None, None, None)
    for n in range(3_000):
        segment = NAMES[n % 3]
        tally.add(visitor(spec, tally, segment, means[segment], rng, n)[1][0])
    view = tally.view()
    assert json.loads(json.dumps(view)) == view
    for row in view["segments"]:
        assert abs(row["share"] - 1 / 3) < 0.1
        for truth, (mean, low, high) in zip(means[row["name"]], row["estimates"], strict=True):
            assert low <= truth <= high
            assert low <= mean <= high
            assert abs(mean - truth) < 0.15
        assert row["progress"][:2] == ["answers", 3_000]
    rows = view["segments"]
    assert [row["answer"] for row in rows] == [0, 1, None]
    assert [row["status"] for row in rows] == ["agreed", "agreed", "open"]
    assert view["mismatch"] is None
