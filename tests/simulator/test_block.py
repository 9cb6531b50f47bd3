"""Trials by column: what goes in one by one comes out one by one, whatever was done in between."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.simulator import Trial
from devote.simulator.block import COUNTS, KINDS, Block
from devote.simulator.results_file import (
    LONG,
    block_from_dict,
    block_to_dict,
    from_line,
    pack,
    to_line,
    unpack,
)
from devote.simulator.trial import STATUSES, Event, Point, Record

N_ARMS, N_PLAYERS = 3, 4
WHOLE = st.integers(-1, 2**40)

TRIALS = st.builds(
    Trial,
    **dict.fromkeys(COUNTS, WHOLE),
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
    assert block.first_vote.tolist() == [list(run.first_vote) for run in runs]
    for status in STATUSES:
        assert block.ended(status).tolist() == [run.status == status for run in runs]
    for arm in range(N_ARMS):
        assert block.leaves(arm).tolist() == [arm in run.winners for run in runs]


@pytest.mark.parametrize("times", [1, LONG])
@given(runs=st.lists(TRIALS, min_size=1, max_size=3))
def test_a_line_gives_back_its_block_with_columns_as_lists_or_as_bytes(times, runs):
    block = Block.join([block_of(runs)] * times)
    line = to_line(block_to_dict(block))
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert isinstance(json.loads(line)["samples"], list if times == 1 else dict)
    read = block_from_dict(from_line(line[:-1]))
    for name in KINDS:
        one, other = getattr(read, name), getattr(block, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert list(read[: len(runs)]) == runs


@given(st.lists(st.integers(-(2**63), 2**63 - 1)) | st.lists(st.integers(-128, 127), min_size=LONG))
def test_whole_numbers_of_any_size_are_kept(numbers):
    column = np.array(numbers, dtype=np.int64)
    assert unpack(json.loads(json.dumps(pack(column))), np.int64).tolist() == numbers


def test_a_byte_that_was_changed_anywhere_in_a_line_is_noticed():
    line = to_line({"votes": pack(np.arange(2 * LONG))})[:-1]
    assert from_line(line) is not None
    for place in range(0, len(line), 7):
        other = bytes([line[place] ^ 1])
        assert from_line(line[:place] + other + line[place + 1 :]) is None
