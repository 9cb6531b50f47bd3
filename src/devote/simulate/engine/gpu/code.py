"""What a kernel is made of."""

from typing import NamedTuple

from devote.kernels import Algorithm, get_algorithm
from devote.kernels.tables import Arena
from devote.problems.rewards import Environment
from devote.protocol.engine import Engine
from devote.protocol.scheme import SCHEMES
from devote.simulate.scenario import Scenario

ROWS = 128
"""Threads of a block that does rows, or runs lone players."""

SHARED_BYTES = 48 * 1024
"""What a block may have of the shared memory."""

Facts = tuple[int, int, int, int, int, int, int, int]
"""What kernels are compiled for: what the environment says before its buffers (but the number of
arms and of rows), whether what is suboptimal never changes, whether runs are endless, whether
there is noise, and whether time counts pulls. So none of it is asked at each pull."""


def facts_of(scenario: Scenario, plain: Environment, arena: Arena) -> Facts:
    """What its kernels are compiled for."""
    return (
        plain.kind,
        plain.n_groups,
        plain.n_segments,
        plain.resampled,
        arena.steady,
        arena.endless,
        int(scenario.scheme.noisy),
        int(not scenario.own_clocks),
    )


class Code(NamedTuple):
    """A subroutine, a scheme's part, how many words of each kind a state has, and facts."""

    algorithm: Algorithm
    engine: Engine
    n_arms: int
    n_ints: int
    n_floats: int
    facts: Facts

    @classmethod
    def of(cls, algorithm: str, scheme: str, n_arms: int, facts: Facts) -> "Code":
        """That of a subroutine and a scheme by their names."""
        engine, found = SCHEMES[scheme].engine, get_algorithm(algorithm)
        assert engine is not None
        return cls(found, engine, n_arms, found.n_ints(n_arms), max(1, found.n_floats), facts)

    @property
    def fits(self) -> bool:
        """Whether the states of a block's players fit into its shared memory."""
        return ROWS * (13 * self.n_arms + 4 * self.n_ints + 32) <= SHARED_BYTES
