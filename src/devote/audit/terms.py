"""Terms of a run with resets, each judged by itself.

Paper: section 4, Theorem 4; each term is a run of Decentralized Elimination.
"""

from devote.simulator import Scenario, Trial


def failed_terms(scenario: Scenario, run: Trial) -> list[bool]:
    """For each term that was decided before its reset, whether it failed.

    A term is decided when one arm is left, or none that is good: then it has failed. An arm is
    good if it is epsilon-optimal when the term opens or now, because a term that a switch falls
    into may answer for either side of it. The run must have been traced.

    Paper: Theorem 4, whose failure probability is about all terms together.
    """
    assert run.trace is not None
    spec, problem = scenario.spec, scenario.problem

    def good(time: int) -> frozenset[int]:
        return problem.optimal(scenario.n_players, time, spec.epsilon)

    every = frozenset(range(spec.n_arms))
    opened, left, decided = 0, every, False
    verdicts = []
    for event in run.trace:
        if event.kind == "reset":
            opened, left, decided = event.time + 1, every, False
        elif event.kind == "elimination" and not decided:
            left -= {event.arm}
            failed = left.isdisjoint(good(opened) | good(event.time))
            if failed or len(left) == 1:
                decided = True
                verdicts.append(failed)
    return verdicts
