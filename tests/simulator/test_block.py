"""Trials by column: what goes in one by one comes out one by one, whatever was done in between."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from devote.simulator import Trial
from devote.simulator.block import COUNTS, KINDS, Block
from devote.simulator.results_file import block_from_dict, block_to_dict, from_line, to_line
from devote.simulator.trial import STATUSES, Event, Point, Record

N_ARMS, N_PLAYERS = 3, 4

TRIALS = st.builds(
    Trial,
    **dict.fromkeys(COUNTS, st.integers(-1, 2**63 - 1)),
    status=st.sampled_from(STATUSES),
    winners=st.permutations(range(N_ARMS)).flatmap(
        lambda arms: st.integers(1, N_ARMS).map(lambda n: tuple(arms[:n]))
    ),
    epsilon_optimal=st.booleans(),
    holds_epsilon_optimal=st.booleans(),
    first_vote=st.tuples(*[st.integers(-1, 2**31 - 1)] * N_PLAYERS),
    player_answers=st.just((1, -1, 0, 2)),
    trace=st.none() | st.just((Event(0, "vote", 1, 2, 0),)),
    record=st.none() | st.just(Record((Point(1, 0, 0, 3),), (1, 0, 0), (0, 0, 1, 0))),
)


def block_of(runs):
    return Block.from_trials(runs, N_ARMS, N_PLAYERS)


@given(runs=st.lists(TRIALS, max_size=6), others=st.lists(TRIALS, max_size=3), data=st.data())
def test_a_block_is_a_sequence_of_its_trials(runs, others, data):
    block = block_of(runs)
    assert list(block) == runs
    assert [block[i] for i in range(len(runs))] == runs
    assert list(Block.join([block, block_of(others), block])) == [*runs, *others, *runs]
    assert list(block[1:3]) == runs[1:3]
    order = data.draw(st.permutations(range(len(runs))))
    assert list(block.take(np.array(order, dtype=np.int64))) == [runs[i] for i in order]
    assert block.winners == tuple(run.winners for run in runs)
    assert block.status == tuple(run.status for run in runs)
    for status in STATUSES:
        assert block.ended(status).tolist() == [run.status == status for run in runs]
    for arm in range(N_ARMS):
        assert block.leaves(arm).tolist() == [arm in run.winners for run in runs]


@given(runs=st.lists(TRIALS, min_size=1, max_size=3))
def test_a_line_gives_back_its_block(runs):
    block = block_of(runs)
    line = to_line(block_to_dict(block))
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    read = block_from_dict(from_line(line[:-1]), len(runs))
    for name in KINDS:
        one, other = getattr(read, name), getattr(block, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert list(read) == runs


def test_a_byte_that_was_changed_anywhere_in_a_line_is_noticed():
    line = to_line({"votes": list(range(2_000))})[:-1]
    assert from_line(line) is not None
    for place in range(0, len(line), 7):
        other = bytes([line[place] ^ 1])
        assert from_line(line[:place] + other + line[place + 1 :]) is None
