"""The run of many light devices in segments, short; and that its check finds what is wrong."""

from dataclasses import replace

import pytest
from tests.device.segments_run import Report, run
from tests.schemes.segments import NAMES, deciding, segmented_spec

from devote.protocol import ExperimentSpec
from devote.schemes import Survey

MEANS = {"phone": (1.0, 0.0, 0.0), "tablet": (0.0, 1.0, 0.0), "desktop": (0.0, 0.0, 1.0)}
SPEC = ExperimentSpec(
    arms=3, name="segments", epsilon=0.5, delta=1e-6, scheme=Survey(4.0, segments=NAMES)
)


def test_devices_of_three_segments_end_with_three_right_answers_verified(tmp_path):
    """delta makes a wrong answer as rare as 1e-6.

    In 500 runs without a server the most answers needed were 495, with a mean of 346 and a standard
    deviation of 48: that 800 do not suffice is as rare.
    """
    report = run(tmp_path, devices=800, spec=SPEC, means=MEANS)
    report.check()
    assert set(report.joined) == set(NAMES)
    assert report.shown_late


BEST = dict.fromkeys(NAMES, (0.0, 0.0, 1.0))
SMALL = segmented_spec(name="segments")


def a_report(**changes):
    board = [answer for _, answer in deciding(SMALL, 0, 1, 2)]
    late = [("phone", 2), ("desktop", 2)]
    good = Report(SMALL, BEST, acknowledged=board, shown_late=late, board=board, is_verified=True)
    return replace(good, **{name: change(good) for name, change in changes.items()})


@pytest.mark.parametrize(
    ("fault", "changes"),
    [
        ("is lost", {"board": lambda good: good.board[:-1]}),
        ("made up", {"acknowledged": lambda good: good.board[1:]}),
        (None, {"board": lambda good: [*good.board, good.board[0]]}),
        (None, {"is_verified": lambda good: False}),
        ("a wrong answer", {"means": lambda good: {**BEST, "phone": (1.0, 0.0, 0.0)}}),
        ("another's answer", {"shown_late": lambda good: [("phone", 1)]}),
        (
            "undecided",
            {name: lambda good: good.board[:-3] for name in ("board", "acknowledged")},
        ),
    ],
)
def test_the_check_sees_what_is_lost_doubled_wrong_or_shown_amiss(fault, changes):
    a_report().check()
    with pytest.raises(AssertionError, match=fault):
        a_report(**changes).check()
