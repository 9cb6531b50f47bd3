"""A survey over HTTP whose server and devices are killed with ``kill -9`` while it runs."""

from collections import Counter
from dataclasses import replace

import pytest
from tests.device.survey_run import Report, run

from devote.protocol import ExperimentSpec, to_json
from devote.schemes import Answer, Survey

SPEC = ExperimentSpec(
    arms=3,
    name="survey",
    algorithm="mixture_elimination",
    epsilon=0.5,
    delta=1e-6,
    scheme=Survey(privacy=4.0, reply_after=1.0),
)
MEANS = (0.9, 0.1, 0.1)


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
def test_kills_lose_no_acknowledged_answer_count_none_twice_and_draw_no_noise_twice(tmp_path):
    """The long run with 5,000 devices is ``python -m tests.device.survey_run``.

    Noise comes from the operating system; ``delta`` makes a wrong answer as rare as 1e-6, and in
    400 simulated runs the most answers needed were 95.
    """
    kills = 0
    # Once it is decided, sometimes after 40 answers, visitors leave and no kill comes due any more:
    # then another survey takes the rest.
    for seed in range(1, 6):
        (tmp_path / str(seed)).mkdir()
        report = run(SPEC, tmp_path / str(seed), devices=160, kills=10, means=MEANS, seed=seed)
        report.check()
        assert report.answer == (0,)
        kills += report.server_kills + report.crowd_kills
        if kills >= 4:
            break
    assert kills >= 4


def a_report(**changes):
    answers = [Answer("survey", arm=0, bit=1, number=1, seen=0, voter=each) for each in ("a", "b")]
    texts = [(to_json(answer), "c0ffee") for answer in answers]
    good = Report(SPEC, Counter(texts), set(texts), answers, 0, 0, 1.0)
    return replace(good, **{name: change(good) for name, change in changes.items()})


@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ("board", lambda good: good.board[:1]),
        ("board", lambda good: [*good.board, good.board[0]]),
        ("left", lambda good: Counter([*good.left][:1])),
        (
            "left",
            lambda good: good.left + Counter([(to_json(replace(good.board[0], bit=0)), "c0ffee")]),
        ),
    ],
)
def test_the_check_sees_what_is_lost_doubled_made_up_or_said_in_two_ways(fault, change):
    a_report().check()
    with pytest.raises(AssertionError):
        a_report(**{fault: change}).check()
