"""Whose turn it is where a team of threads merges a window, against plain sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from devote.simulate.engine.gpu import turns
from devote.simulate.engine.gpu.turns import NEVER_AGAIN, UNTRIED
from devote.simulate.engine.windows import GAP, LIMIT, N_TIMES

TIMES = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=12)


@given(TIMES, st.integers(1, 5))
def test_players_are_dealt_in_the_order_of_time(when, mates):
    order = np.zeros(len(when), dtype=np.int32)
    for me in range(mates):
        turns.deal_by_time(when, len(when), me, mates, order)
    assert order.tolist() == np.argsort(when, kind="stable").tolist()


@given(TIMES, st.integers(1, 5), st.data())
def test_a_thread_knows_its_first_player_and_when_the_second_one_halts(when, mates, data):
    me = data.draw(st.integers(0, mates - 1))
    order = np.argsort(when, kind="stable")
    for i in data.draw(st.sets(st.integers(0, len(when) - 1))):
        when[i] = NEVER_AGAIN
    own = sorted((when[i], j) for j, i in enumerate(order) if j % mates == me)
    own = [(time, order[j]) for time, j in own if time < NEVER_AGAIN]
    place, front, following = turns.first_of(when, len(when), me, mates, order, True)
    assert (front, place) == (own[0] if own else (NEVER_AGAIN, -1))
    assert following == (own[1][0] if len(own) > 1 else NEVER_AGAIN)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 9)), min_size=1, max_size=8))
def test_whoever_comes_first_is_found_and_nobody_overtakes(shown):
    """``nexts`` below 0 stands for a player who was not tried: it holds up all after it."""
    fronts = [float(front) for front, _ in shown]
    nexts = [UNTRIED if later < 0 else float(front + later) for front, later in shown]
    places = sorted(range(len(shown)), key=lambda i: (fronts[i], i))
    for rank, me in enumerate(places):
        earliest, is_tried, n_before, is_clear = turns.look_round(fronts, nexts, me, len(shown))
        assert (earliest, n_before) == (fronts[places[0]], rank)
        assert is_tried == (nexts[places[0]] != UNTRIED)
        assert is_clear == all(nexts[i] > fronts[me] for i in places[:rank])


@given(st.integers(1, 1000), st.integers(1, 128), st.floats(0.0, 99.0))
def test_a_window_is_shortened_if_too_many_have_halted_or_have_far_to_go(n_halted, mates, first):
    times = np.zeros(N_TIMES)
    times[LIMIT], times[GAP] = 100.0, 0.5
    end = turns.less_to_merge(times, n_halted, mates, first)
    far = -(-n_halted // mates) * (100.0 - first) > turns.FAR * 0.5
    if n_halted > turns.CROWD or far:
        assert first < end <= first + 0.25 * (100.0 - first)
    else:
        assert end == 100.0
