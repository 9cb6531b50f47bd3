"""One's own data: logs, samples and laws as problems."""

import random
from collections import Counter
from types import SimpleNamespace

import pytest

from devote.problems import Problem, ProblemError, made_log, pay, problem_of_laws, read_log
from devote.protocol import ExperimentSpec
from devote.simulator import simulate

ROWS = [(3, "b", 0.5), (1, "a", 1), (2, "b", 0), (4, "a", 0.25), (5, "b", 1)]


def test_a_pull_pays_one_of_the_arms_own_samples_each_equally_often():
    problem = Problem("p", samples=[[0.1, 0.2, 0.3], [0.9]])
    env = problem.environment(4)
    n = 3_000
    paid = Counter(pay(env, 0, 0, 0, (i + 0.5) / n) for i in range(n))
    assert paid == {0.1: n / 3, 0.2: n / 3, 0.3: n / 3}
    assert {pay(env, t, 2, 1, u) for t in range(3) for u in (0.0, 0.5, 1 - 2**-53)} == {0.9}
    assert problem.means == pytest.approx((0.2, 0.9))
    assert Problem.from_dict(problem.to_dict()) == problem


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"samples": [[0.1], []]}, r"samples has no row, or an empty one\.\nGive"),
        ({"samples": [[0.1], [2]]}, r"row 1 of samples holds a reward that is not a number"),
        ({"samples": [[0.1], [1]], "drift": [0, 0]}, r"samples pays .*\nGive samples alone"),
        ({"samples": [[0.1], [1]], "replay": [[0, 1]]}, r"\nGive replay alone"),
        ({"samples": [[0.1], [1]], "means": [0.5, 0.5]}, r"are not the averages"),
    ],
)
def test_samples_that_make_no_problem_are_refused(given, message):
    with pytest.raises(ProblemError, match=message):
        Problem("p", **given)


def test_a_log_is_sorted_by_time_and_split_by_arm():
    log = read_log(ROWS)
    assert log.arms == ("a", "b")
    assert log.by_arm() == [[1.0, 0.25], [0.0, 0.5, 1.0]]
    assert log.problem().samples == ((1.0, 0.25), (0.0, 0.5, 1.0))
    assert log.problem().means == (0.625, 0.5)
    rejected = log.problem(how="reject", activity=log.problem().activity)
    assert rejected.replay == ((1.0, 0.0), (0.25, 0.5))
    assert repr(log) == "<Log of 5 events, 2 arms>"


def test_a_csv_file_and_a_frame_give_the_same_log(tmp_path):
    path = tmp_path / "clicks.csv"
    lines = "\n".join(f"{time},{arm},{reward}" for time, arm, reward in ROWS)
    path.write_text(f"when,banner,click\n{lines}\n")
    names = ("when", "banner", "click")
    assert read_log(path, names) == read_log(str(path), names) == read_log(ROWS)
    columns = dict(zip(names, zip(*ROWS, strict=True), strict=True))

    class Frame(dict):
        columns = names

        def __getitem__(self, name):
            return SimpleNamespace(tolist=lambda: list(columns[name]))

    assert read_log(Frame(), names) == read_log(ROWS)
    with pytest.raises(ProblemError, match=r"no column 'time', only when, banner, click\.\nName"):
        read_log(path)


def test_a_real_frame_is_read():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["time", "arm", "reward"])
    assert read_log(frame) == read_log(ROWS)
    frame["time"] = pandas.to_datetime(frame["time"], unit="D")
    assert read_log(frame) == read_log(ROWS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, "a", 3.75), (1, "b", 0)], r"event 1 of the log has a reward that is not a number"),
        ([(0, "a", ""), (1, "b", 0)], r"event 1 .*\nRescale the rewards"),
        ([(0, "a", 1), (1, "a", 0)], r"1 arm\(s\).*\nGive events of at least 2"),
        ([(0, "a"), (1, "a", 0)], r"event 1 of the log is not a row of three"),
        ([(float("nan"), "a", 1), (1, "b", 0)], r"event 1 of the log has no time"),
        ([("monday", "a", 1), (1, "b", 0)], r"some times of the log are numbers, others not"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_without_telling_a_reward(rows, message):
    with pytest.raises(ProblemError, match=message) as told:
        read_log(rows)
    assert "3.75" not in str(told.value)


def test_both_ways_of_reading_a_log_find_its_best_arm():
    log = made_log([0.9, 0.3, 0.2], 3_000, seed=1)
    assert log == made_log([0.9, 0.3, 0.2], 3_000, seed=1)
    for how in ("resample", "reject"):
        problem = log.problem(how=how)
        spec = ExperimentSpec(arms=log.arms, epsilon=0.4, scheme={"quorum": 3})
        result = simulate(spec, problem, 8, trials=3)
        assert set(result.answers) == {0}


def test_resampling_a_log_pays_its_own_averages():
    """Draws of one arm: the mean of n = 20,000 is within 5 standard errors (false alarm 6e-7);
    a law off by .02 would be caught with probability above .999.
    """
    log = made_log([0.5, 0.3], 500, seed=2)
    problem = log.problem()
    env, dice = problem.environment(1), random.Random(3)
    n = 20_000
    mean = sum(pay(env, 0, 0, 1, dice.random()) for _ in range(n)) / n
    assert abs(mean - problem.means[1]) < 5 * 0.5 / n**0.5


def test_a_law_of_ones_own_is_kept_up_to_the_number_of_points():
    """Beta(2, 1) has the inverse sqrt(u) and the mean 2/3; the second arm pays 0.2 or 0.6."""
    laws = [lambda u: u**0.5, lambda u: 0.6 if u < 0.25 else 0.2]
    problem = problem_of_laws("laws", laws, points=2_000)
    assert problem.means == pytest.approx((2 / 3, 0.3), abs=1 / 2_000)
    with pytest.raises(ProblemError, match="not a number in"):
        problem_of_laws("laws", [lambda u: 2 * u, lambda u: u])
