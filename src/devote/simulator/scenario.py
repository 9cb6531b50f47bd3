"""What is simulated: a specification, a problem and a number of players that fit together."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from devote.errors import did_you_mean
from devote.problems import Problem
from devote.protocol import ExperimentSpec, Scheme, SpecError
from devote.protocol.scheme import check
from devote.rules import Algorithm, Rule, get_algorithm
from devote.simulator.errors import NeverEnds

if TYPE_CHECKING:
    from devote.simulator.parts import Part

PATIENCE = 20_000.0
"""The default limit is so many pulls per arm for the rarest player, over epsilon squared.

Median Elimination, the most patient rule here, makes fewer than 10,000 (K arms, any number of
them, delta down to 5e-5), all others a hundred times fewer.
"""

ENGINES = ("auto", "event", "passes", "cuda")
"""``event``: one pull after another. ``passes``: each player alone between decisions, on a clock
of its own; the same law, other numbers. ``cuda``: passes on a GPU, many trials at once; what
passes cannot run is there run pull by pull. ``auto``: passes where they can be used and pay."""

PASSES_PAY = 2048
"""``auto`` takes passes from so many players on: with fewer, to compile them takes longer than most
runs save."""

PASSES_PAY_ALONE = 32
"""From so many on where nobody sends anything: there is then one pass and no decision."""


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
        n_segments = len(self.scheme.sending.segments)
        if n_segments and len(self.problem.groups) != n_segments:
            raise SpecError(
                f"The specification has {n_segments} segments, the problem "
                f"{len(self.problem.groups)} groups of players.\nGive both the same number: "
                "Problem(groups=[means of each segment], shares=[...])."
            )
        if self.horizon is not None:
            check.whole("horizon", self.horizon, least=1, remedy="It is a number of pulls.")
        elif self.algorithm.endless:
            raise SpecError(
                f"{self.spec.algorithm} never stops by itself.\nGive a horizon, a number of pulls."
            )
        check_engine(self.engine)
        if self.engine == "passes" and (why := self.why_no_passes):
            raise SpecError(f"engine='passes' cannot run this: {why}.\nUse engine event or auto.")
        if self.engine == "cuda" and self.part is None:
            raise SpecError(
                "engine='cuda' cannot run this: there is no compiled simulator of the "
                f"scheme {self.scheme.name}.\nUse engine event or auto."
            )

    @property
    def part(self) -> "Part | None":
        """The scheme's part of the compiled simulator; None where there is none."""
        from devote.simulator.parts import part_of  # needs NumPy, which player objects do not

        return part_of(self.scheme)

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
        return self.scheme.learner(self.spec, self.n_players).rule

    def check_goes_on(self, samples: int, broadcasts: int) -> None:
        """Raise NeverEnds if a trial without a horizon has made far more pulls than any needs.

        The limit is ``PATIENCE * n_arms / epsilon**2`` pulls of the player who wakes least often.
        """
        if self.horizon is not None:
            return
        each = PATIENCE * self.spec.n_arms / self.rule.epsilon**2
        # That player has at most one pull of N: only beyond that are the weights needed.
        if samples < each * self.n_players:
            return
        rarest = min(filter(None, self.problem.activity.weights(self.n_players)))
        if samples < each / rarest:
            return
        raise NeverEnds(
            f"A trial of {self.label} has made {samples:,} pulls, sent {broadcasts:,} messages "
            "and has not ended.\n"
            f"Check the rule with devote.check_algorithm({self.spec.algorithm!r}), or give a "
            "horizon: trials that reach it are kept as unfinished."
        )

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
    def parameters(self) -> str:
        """The scheme's parameters that are not at their defaults, for people."""
        scheme = self.scheme
        changed = {
            item.name: getattr(scheme, item.name)
            for item in fields(scheme)
            if getattr(scheme, item.name) != item.default
        }
        return " ".join(f"{name}={value}" for name, value in changed.items())

    @property
    def label(self) -> str:
        """A few words for people, with all that is not at its default.

        >>> from devote.problems import PROBLEMS
        >>> Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 64).label
        'decentralized ser3, problem 1, 64 players'
        >>> spec = ExperimentSpec(arms=10, eta=0.5, scheme={"quorum": 9})
        >>> Scenario(spec, PROBLEMS["1"].with_activity("zipf:1.1"), 64).label
        'decentralized quorum=9 ser3 eta=0.5, problem 1 zipf:1.1, 64 players'
        """
        spec, activity = self.spec, self.problem.activity.spec
        usual = {item.name: item.default for item in fields(spec)}
        usual["eta"] = self.scheme.about.default_eta
        given = {name: getattr(spec, name) for name in ("epsilon", "eta", "delta")}
        changed = {name: value for name, value in given.items() if value != usual[name]}
        words = [
            *(self.scheme.name, self.parameters, spec.algorithm),
            *(f"{name}={value}" for name, value in {**spec.options, **changed}.items()),
        ]
        return (
            f"{' '.join(filter(None, words))}, problem {self.problem.name}"
            f"{'' if activity == 'uniform' else ' ' + activity}, {self.n_players:,} players"
            f"{'' if self.horizon is None else f', horizon {self.horizon:,}'}"
        )

    @property
    def runs_on(self) -> str:
        """What runs it: one of ``ENGINES``, or ``players`` where the scheme has no compiled part.

        >>> from devote.problems import PROBLEMS
        >>> Scenario(ExperimentSpec(arms=10), PROBLEMS["1"], 10_000).runs_on
        'passes'
        """
        if self.part is None:
            return "players"
        if self.engine != "auto":
            return self.engine
        enough = PASSES_PAY if self.scheme.about.by_message else PASSES_PAY_ALONE
        return "event" if self.n_players < enough or self.why_no_passes else "passes"

    @property
    def why_no_passes(self) -> str:
        """Why the passes engine cannot run it; empty if it can."""
        problem = self.problem
        if self.part is None or not self.part.in_passes:
            return f"in the scheme {self.scheme.name} every pull concerns all players"
        if problem.drift is not None or problem.switches:
            return "its rewards change with the number of pulls, which no player alone can know"
        if problem.replay is not None:
            return "it replays rewards in the order of all pulls, which no player alone can know"
        if self.algorithm.endless:
            return f"{self.spec.algorithm} resets all players, and never stops by itself"
        if self.horizon is not None:
            return "a horizon counts the pulls of all players, which no player alone can know"
        return ""

    def in_order(self) -> "Scenario":
        """The same, one pull after another, as whoever keeps more than the outcome needs it."""
        if self.runs_on in ("event", "players"):
            return self
        if self.engine != "auto":
            raise SpecError(
                f"engine={self.engine!r} keeps neither a trace nor a record: it does not know the "
                "order of all pulls.\nUse engine event or auto."
            )
        return replace(self, engine="event")

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
