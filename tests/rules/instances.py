"""Random instances for comparing one form of a subroutine with another, step by step.

An instance fixes everything that comes from outside: the uniforms, what each arm would pay at
each step, and the shared set that the learner is merged with before it. ``play`` drives the
kernels; whoever is compared with them is driven the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

from devote.rules import RESET, Algorithm, Rule, merge

STEPS = {"kl_lucb": 200, "kl_racing": 600, "median_elimination": 2_500}
"""Long enough for a coarse epsilon to end every subroutine; the rest take 800."""


@dataclass(frozen=True)
class Instance:
    n_arms: int
    epsilon: float
    eta: float
    options: dict[str, str | float]
    uniforms: list[float] = field(repr=False)
    rewards: list[list[float]] = field(repr=False)  # by step, then arm
    shared: list[list[int]] = field(repr=False)  # by step, then arm: 1 if it is still shared

    def rule(self, algorithm: Algorithm) -> Rule:
        return algorithm.rule(
            n_arms=self.n_arms,
            epsilon=self.epsilon,
            eta=self.eta,
            options=self.options,
        )


@st.composite
def instances(draw, algorithm: Algorithm) -> Instance:
    n_arms = draw(st.integers(2, 5 if algorithm.name == "kl_lucb" else 8))
    coarse = algorithm.name == "median_elimination"
    mean = st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0]) | st.floats(0.0, 1.0)
    means = draw(st.lists(mean, min_size=n_arms, max_size=n_arms))
    continuous = draw(st.booleans())
    drops = draw(st.sampled_from([0.0, 0.002, 0.02]))
    rng = Random(draw(st.integers(0, 2**32)))
    steps = STEPS.get(algorithm.name, 800)
    return Instance(
        n_arms=n_arms,
        epsilon=draw(st.floats(0.8, 1.0) if coarse else st.floats(0.4, 1.0)),
        eta=draw(st.floats(0.01, 0.95)),
        options={
            name: draw(
                st.sampled_from(allowed) if isinstance(allowed, tuple) else st.floats(0.5, 50.0)
            )
            for name, allowed in algorithm.options.items()
            if name != "phi"
        }
        | ({"phi": draw(st.sampled_from([0.001, 0.02, 0.3]))} if algorithm.endless else {}),
        uniforms=[rng.random() for _ in range(steps)],
        rewards=[_rewards(means, continuous, rng.random) for _ in range(steps)],
        shared=list(_shrinking(n_arms, drops, steps, rng)),
    )


def _rewards(means: list[float], continuous: bool, draw: Callable[[], float]) -> list[float]:
    if continuous:
        return [mean + min(mean, 1.0 - mean) * (2.0 * draw() - 1.0) for mean in means]
    return [1.0 if draw() < mean else 0.0 for mean in means]


def _shrinking(n_arms: int, drops: float, steps: int, rng: Random):
    """A shared set that loses arms now and then, and once in a while is another altogether."""
    shared = [1] * n_arms
    for _ in range(steps):
        if rng.random() < drops:
            shared[rng.randrange(n_arms)] = 0
            if not any(shared) or rng.random() < 0.1:
                shared = [rng.randrange(2) for _ in range(n_arms)]
                shared[rng.randrange(n_arms)] = 1
        yield list(shared)


def play(algorithm: Algorithm, instance: Instance, state, out):
    """(conflict, arm played, arms eliminated or the reset) of one step after another."""
    rule = instance.rule(algorithm)
    for u, rewards, shared in zip(
        instance.uniforms, instance.rewards, instance.shared, strict=True
    ):
        conflict = merge(state, shared)
        arm = int(algorithm.choose(rule, state, u))
        n_out = algorithm.observe(rule, state, arm, rewards[arm], out)
        yield conflict, arm, "reset" if n_out == RESET else [int(k) for k in out[:n_out]]
