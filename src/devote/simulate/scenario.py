"""What is simulated: a specification, a problem and a number of players that fit together."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from devote.errors import did_you_mean
from devote.kernels import Algorithm, Rule, get_algorithm
from devote.problems import Problem
from devote.protocol import ExperimentSpec, Scheme, SpecError
from devote.protocol.scheme import check
from devote.simulate.errors import NeverEnds

PATIENCE = 20_000.0
"""The default limit is so many pulls per arm for the rarest player, over epsilon squared.

Median Elimination, the most patient rule here, makes fewer than 10,000 (K arms, any number of
them, delta down to 5e-5), all others a hundred times fewer.
"""


QUIET = 1_000_000
"""Pulls without a message after which a rule from outside is asked whether it ever votes."""

_asked: set[object] = set()
"""The rules that were asked, and do."""

ENGINES = ("auto", "event", "clocks", "cuda")
"""``event``: one pull after another. ``clocks``: each player alone between decisions, on a clock
of its own; the same law, other numbers. ``cuda``: the same on a GPU, many trials at once.
``auto``: clocks where they can be used and are faster."""

CLOCKS_PAY = 2048
"""``auto`` takes clocks from so many players on: with fewer, to compile them takes longer than most
runs save."""

CLOCKS_PAY_EARLY = 32
"""From so many on where each makes thousands of pulls alone: its subroutine is ``patient``, or
nobody ever says anything. Then clocks are four to seven times as quick."""


def check_engine(engine: str) -> None:
    """Refuse an engine that there is not."""
    if engine not in ENGINES:
        raise SpecError(
            f"engine={engine!r} is not known.\n{did_you_mean(engine, ENGINES)}"
            f"Use one of: {', '.join(ENGINES)}."
        )


@dataclass(frozen=True)
class Scenario:
    """One setting of a simulation, checked before any work is done.

    ``horizon`` is the most pulls of a trial; a subroutine that never stops needs one. Without it
    a trial that goes on past every known rule's need (``PATIENCE``) is an error, see ``NeverEnds``.
    ``engine`` is one of ``ENGINES``: how it is run, which is no part of what is compared.
    """

    spec: ExperimentSpec
    problem: Problem
    n_players: int
    horizon: int | None = None
    engine: str = field(default="auto", compare=False)

    def __post_init__(self) -> None:
        self.spec.check_players(self.n_players)
        if self.spec.n_arms != self.problem.n_arms:
            raise SpecError(
                f"The specification has {self.spec.n_arms} arms, the problem "
                f"{self.problem.n_arms}.\nGive both the same number."
            )
        if self.horizon is not None:
            check.whole("horizon", self.horizon, least=1, remedy="It is a number of pulls.")
        elif self.algorithm.endless:
            raise SpecError(
                f"{self.spec.algorithm} never stops by itself.\nGive a horizon, a number of pulls."
            )
        check_engine(self.engine)
        if self.engine == "clocks" and (why := self._why_no_clocks()):
            raise SpecError(f"engine='clocks' cannot run this: {why}.\nUse engine event or auto.")
        if self.engine == "cuda" and (why := self._why_no_cuda()):
            raise SpecError(f"engine='cuda' cannot run this: {why}.\nUse engine event or auto.")

    @property
    def scheme(self) -> Scheme:
        """How the players decide."""
        return self.spec.scheme

    @property
    def algorithm(self) -> Algorithm:
        """The subroutine."""
        return get_algorithm(self.spec.algorithm)

    @property
    def rule(self) -> Rule:
        """The constants of the subroutine under this scheme."""
        return self.algorithm.rule(
            n_arms=self.spec.n_arms,
            epsilon=self.scheme.subroutine_epsilon(self.spec),
            eta=self.scheme.subroutine_eta(self.spec, self.n_players),
            options=self.spec.options,
            liars=self.scheme.subroutine_liars,
        )

    def check_goes_on(self, samples: int, broadcasts: int) -> None:
        """Refuse to go on with a trial without a horizon that has run past the default limit."""
        if self.horizon is not None:
            return
        if samples >= QUIET and not broadcasts:
            self._check_votes()
        each = PATIENCE * self.spec.n_arms / self.scheme.subroutine_epsilon(self.spec) ** 2
        # Nobody is rarer than one of N at best, so weights are looked at for long trials only.
        if samples < each * self.n_players:
            return
        rarest = min(filter(None, self.problem.activity.weights(self.n_players)))
        if samples < each / rarest:
            return
        said = "nobody has sent a message" if not broadcasts else f"{broadcasts:,} messages later"
        raise NeverEnds(
            f"A trial of {self.label} has made {samples:,} pulls, {said}, and has not ended.\n"
            f"Check the rule with devote.check_algorithm({self.spec.algorithm!r}), or give a "
            "horizon: trials that reach it are kept as unfinished."
        )

    def _check_votes(self) -> None:
        """A rule that keeps all arms where one always pays and the others never do has no end."""
        rule = self.algorithm.observe
        if rule in _asked or rule.__module__.startswith("devote."):
            return
        from devote.simulate.checking.play import check_votes

        check_votes(self.algorithm)
        _asked.add(rule)

    def optimal(self, t: int) -> frozenset[int]:
        """The arms that are epsilon-optimal at time t."""
        changes = self.problem.drift is not None or self.problem.switches
        return self._optimal_at(t) if changes else self._always_optimal

    @cached_property
    def _always_optimal(self) -> frozenset[int]:
        return self._optimal_at(0)

    def _optimal_at(self, t: int) -> frozenset[int]:
        return self.problem.optimal(self.n_players, t, self.spec.epsilon)

    @property
    def label(self) -> str:
        """A few words for people.

        >>> from devote.problems import PROBLEMS
        >>> Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 64).label
        'decentralized ser3, problem 1, 64 players'
        """
        options = "".join(f" {name}={value}" for name, value in self.spec.options.items())
        return (
            f"{self.scheme.name} {self.spec.algorithm}{options}, problem {self.problem.name}, "
            f"{self.n_players:,} players"
        )

    @property
    def runs_on(self) -> str:
        """What runs it: one of ``ENGINES``, or ``players`` where the scheme has no engine.

        >>> from devote.problems import PROBLEMS
        >>> Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 10_000).runs_on
        'clocks'
        """
        if self.scheme.engine is None:
            return "players"
        if self.engine != "auto":
            return self.engine
        clocks = self.scheme.engine.clocks
        if clocks is None or self.algorithm.endless or self._why_no_clocks():
            return "event"
        early = self.algorithm.patient or clocks.silent
        return (
            "clocks" if self.n_players >= (CLOCKS_PAY_EARLY if early else CLOCKS_PAY) else "event"
        )

    @property
    def own_clocks(self) -> bool:
        """Whether players can run on clocks of their own, each alone between decisions."""
        engine = self.scheme.engine
        return engine is not None and engine.clocks is not None and not self._why_no_clocks()

    def _why_no_cuda(self) -> str:
        """Why it cannot run on a GPU; empty if it can."""
        engine = self.scheme.engine
        if engine is None:
            return f"the scheme {self.scheme.name} has no part that compiles"
        if engine.keeps_log:
            return f"the scheme {self.scheme.name} keeps a log of messages, which grows"
        return ""

    def _why_no_clocks(self) -> str:
        """Why players cannot run on clocks of their own; empty if they can."""
        problem, engine = self.problem, self.scheme.engine
        if problem.drift is not None or problem.switches:
            return "its rewards change with the number of pulls, which no player alone can know"
        if problem.replay is not None and problem.replay_order == "time":
            return "it replays rewards in the order of all pulls, which no player alone can know"
        if engine is None or (engine.clocks is None and not engine.one_learner):
            return f"the scheme {self.scheme.name} does not say how players run alone"
        return ""

    def in_order(self) -> "Scenario":
        """The same, one pull after another, as whoever keeps more than the outcome needs it."""
        if self.loop[2] not in ("clocks", "cuda") and self.engine != "cuda":
            return self
        if self.engine != "auto":
            raise SpecError(
                f"engine={self.engine!r} keeps neither a trace nor a record: it does not know the "
                "order of all pulls.\nUse engine event or auto."
            )
        return replace(self, engine="event")

    @property
    def loop(self) -> tuple[str, str, str]:
        """What its compiled loop is specialised to."""
        engine = self.scheme.engine
        alone = engine is not None and not engine.one_learner
        return self.spec.algorithm, self.scheme.name, self.runs_on if alone else "event"

    def to_dict(self) -> dict[str, Any]:
        """The scenario as JSON values."""
        return {
            "spec": self.spec.to_dict(),
            "problem": self.problem.to_dict(),
            "n_players": self.n_players,
            "horizon": self.horizon,
            "engine": self.runs_on,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Scenario":
        """Read what ``to_dict`` gave."""
        return cls(
            spec=ExperimentSpec.from_dict(values["spec"]),
            problem=Problem.from_dict(values["problem"]),
            n_players=values["n_players"],
            horizon=values["horizon"],
            engine=values["engine"] if values.get("engine") in ENGINES else "event",
        )
