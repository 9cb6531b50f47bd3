"""Loud activations of a window that were made in passing, put in order and added up."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from devote.simulate.engine.gpu import heard

TIMES = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=12)


@given(TIMES, st.integers(1, 5))
def test_they_are_put_in_the_order_of_time(when, mates):
    order = np.zeros(len(when), dtype=np.int32)
    for me in range(mates):
        heard.put_in_order(when, len(when), me, mates, order)
    assert order.tolist() == np.argsort(when, kind="stable").tolist()


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 20), st.booleans(), st.data())
def test_some_of_them_are_added_up_by_any_number_of_threads(begin, more, mates, counted, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    adds, order = rng.integers(-2, 3, (20, 3 + heard.N_OWN)), rng.permutation(20)
    tally, own = np.zeros(3, dtype=np.int64), np.zeros(heard.N_OWN, dtype=np.int64)
    for me in range(mates):
        some = own if counted else own[:0]
        heard.add_up(adds, order, begin, begin + more, me, mates, tally, some)
    total = adds[order[begin : begin + more]].sum(axis=0)
    assert tally.tolist() == total[:3].tolist()
    assert own.tolist() == (total[3:] * counted).tolist()
