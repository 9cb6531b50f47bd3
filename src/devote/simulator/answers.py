"""A survey as a stream of answers from as many devices as it takes, in compiled code.

What a survey costs does not depend on how many devices there are, only on which answers come. So
it is simulated without devices: answer after answer, each about an arm drawn among those that the
public tally asks about, until the board's learner has decided. The learner, the noise and the
queues are those of ``schemes.survey.tally``: a test feeds both the same random numbers.

Three ways in which devices know less than the tally can be simulated. ``lag``: so many answers are
under way at any time, because an answer leaves some time after its arm was drawn. ``crowd``: so
many devices are asked before the first answer has arrived. ``stale``: devices read the tally every
so many answers.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from devote.problems.activity import check
from devote.protocol import ExperimentSpec, SpecError
from devote.rules import Algorithm, Rule, get_algorithm, start
from devote.rules.randomizer import blur_reward
from devote.rules.state import COUNT, State, next_alive
from devote.schemes.survey.tally import seeds, uniform
from devote.simulator.compiling import compile_loop, of_algorithm
from devote.simulator.executors import worker_count
from devote.simulator.part import asks, choose, observe
from devote.simulator.run import new_learners
from devote.simulator.trial import NEVER

if TYPE_CHECKING:
    from devote.schemes.survey.scheme import Survey

NO_END = 2**62
"""More answers than any run takes."""


@dataclass(frozen=True, eq=False)
class AnswerRuns:
    """What simulated surveys came to, one place for each run.

    ``answers`` is how many had come when it was decided, or when the run was given up; ``winner``
    is the arm that won, -1 where none did.
    """

    answers: NDArray[np.int64]
    winner: NDArray[np.int64]

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Which runs came to an answer."""
        return np.asarray(self.winner != NEVER)


def simulate_answers(
    spec: ExperimentSpec,
    means: Sequence[float],
    *,
    runs: int = 400,
    first: int = 0,
    seed: int = 0,
    most: int = NO_END,
    stale: int = 0,
    crowd: int = 0,
    lag: int = 0,
) -> AnswerRuns:
    """Runs ``first``, ``first + 1``, ... of a survey whose arms pay ``means`` on average.

    A run is given up after ``most`` answers. Each has random numbers of its own, so that the
    result does not depend on how many threads share the runs.

    >>> spec = ExperimentSpec(arms=3, scheme="survey")
    >>> found = simulate_answers(spec, [0.9, 0.1, 0.1], runs=20)
    >>> found.winner.tolist() == [0] * 20, bool(60 < found.answers.mean() < 100)
    (True, True)
    """
    survey = cast("Survey", spec.scheme)
    pays = mean_rewards(spec, means)
    algorithm = get_algorithm(spec.algorithm)
    rule = survey.learner(spec).rule
    compiled = compiled_stream(algorithm)
    constants, limits = (survey.truths, *seeds(spec)), (most, stale, crowd, lag)

    def run(number: int) -> tuple[int, int]:
        """One run: its answers and its winner."""
        rng = np.random.default_rng([seed, number])
        return compiled(rule, constants, pays, rng, limits, new_learners(algorithm, spec.n_arms))

    table = np.array(in_threads(run, first, runs), dtype=np.int64).reshape(-1, 2)
    return AnswerRuns(table[:, 0], table[:, 1])


def in_threads(run: Callable[[int], Any], first: int, runs: int) -> list[Any]:
    """What runs from ``first`` on return; the first one compiles, threads share the others."""
    found = [run(first)] if runs > 0 else []
    with ThreadPoolExecutor(worker_count(None)) as threads:
        return found + list(threads.map(run, range(first + 1, first + runs)))


def mean_rewards(spec: ExperimentSpec, means: Sequence[float]) -> NDArray[np.float64]:
    """What each arm of a specification pays, as an array."""
    if len(means) != spec.n_arms:
        raise SpecError(
            f"{len(means)} means were given for {spec.n_arms} arms.\nGive one mean per arm."
        )
    return np.asarray(check.units("means", means), dtype=np.float64)


def compiled_stream(algorithm: Algorithm) -> Callable[..., tuple[int, int]]:
    """``stream`` for one subroutine."""
    return compile_loop(
        stream, of_algorithm(algorithm), f"answers_{algorithm.name}", makes_arrays=True
    )


def stream(rule: Rule, constants: Any, means: Any, rng: Any, limits: Any, state: State) -> Any:
    """One run: how many answers came, and the arm that won, -1 if none did."""
    n_arms = rule.n_arms
    truths, one, two = constants
    most, stale, crowd, lag = limits
    start(state)
    room = 64  # answers about an arm that may wait, until its queue is made longer
    queue = np.zeros((n_arms, room), dtype=np.int8)
    begin = np.zeros(n_arms, dtype=np.int64)
    waiting = np.zeros(n_arms, dtype=np.int64)
    asked = np.ones(n_arms, dtype=np.int8)
    seen = np.arange(n_arms)
    out = np.zeros(n_arms, dtype=np.int32)
    under_way = np.zeros((2, max(1, lag)), dtype=np.int16)
    n_seen = n_arms
    is_new = False
    step, wanted, drawn, answers = 0, -1, 0, 0
    while answers < most:
        if is_new and answers >= crowd and (stale == 0 or answers % stale == 0):
            n_seen = 0
            for k in range(n_arms):
                if asked[k]:
                    seen[n_seen] = k
                    n_seen += 1
            is_new = False
        arm = seen[int(rng.random() * n_seen)]
        reward = 1.0 if rng.random() < means[arm] else 0.0
        bit = blur_reward(reward, rng.random(), truths)
        drawn += 1
        if lag > 0:
            place = drawn % lag
            arm, under_way[0, place] = under_way[0, place], arm
            bit, under_way[1, place] = under_way[1, place], bit
            if drawn <= lag:
                continue
        answers += 1
        if not asked[arm]:
            continue
        if waiting[arm] == room:
            queue = np.concatenate((queue, queue), axis=1)  # one of the two copies is read
            room *= 2
        queue[arm, (begin[arm] + waiting[arm]) % room] = bit
        waiting[arm] += 1
        while True:
            if wanted < 0:
                wanted = choose(rule, state, uniform(one, two, step))
                step += 1
            if waiting[wanted] == 0:
                break
            taken = queue[wanted, begin[wanted]]
            begin[wanted] = (begin[wanted] + 1) % room
            waiting[wanted] -= 1
            observe(rule, state, wanted, float(taken), out)
            wanted = -1
            if state.ints[COUNT] == 1:
                return answers, next_alive(state, 0)
            for k in range(n_arms):
                is_asked = asks(rule, state, k)
                if is_asked != (asked[k] == 1):
                    is_new = True
                    asked[k] = is_asked
                    if not is_asked:
                        waiting[k] = 0
    return answers, -1
