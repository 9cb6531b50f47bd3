"""Labels at line ends never overlap and stay near their lines."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from devote.studies.curves import spread

HEIGHT, GAP = 200.0, 11.0
heights = st.lists(st.floats(0, HEIGHT), min_size=1, max_size=12)


@given(heights)
def test_labels_are_apart_and_inside_and_in_order(wanted):
    placed = spread(wanted, GAP, 0.0, HEIGHT)
    ordered = sorted(placed)
    assert all(b - a >= GAP - 1e-9 for a, b in pairwise(ordered))
    assert ordered[0] >= -1e-9
    assert ordered[-1] <= HEIGHT + 1e-9
    ranks = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert [placed[i] for i in ranks] == ordered


@given(st.lists(st.integers(0, 10), min_size=1, max_size=10, unique=True))
def test_labels_with_room_are_not_moved(slots):
    wanted = [20.0 * slot for slot in slots]
    assert spread(wanted, GAP, 0.0, HEIGHT) == wanted
