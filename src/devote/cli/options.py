"""The options that several subcommands share, so that they read the same everywhere.

``simulate``, ``watch``, ``plan`` and ``audit`` share one block, ``ScenarioOptions``: a command that
is decorated with ``scenario_options`` takes all of them and gets them as its first argument.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

from typer import Option

from devote.cli.values import read_means, read_pairs
from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec, Scheme
from devote.protocol.scheme import make_scheme
from devote.protocol.spec import LEFT_OUT
from devote.simulate import Scenario

DEFAULT_PROBLEM = "1"

Means: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="LIST",
        help="Mean reward of each arm, such as .7,.5,.3; with --problem it replaces the "
        "problem's arms and keeps who wakes.",
    ),
]
SchemeName: TypeAlias = Annotated[
    str | None,
    Option(
        "--scheme",
        metavar="NAME",
        help="How the group decides, one of `devote schemes`; the first of them if left out.",
    ),
]
Parameters: TypeAlias = Annotated[
    list[str] | None,
    Option("--set", metavar="NAME=VALUE", help="A parameter of the scheme; may be repeated."),
]
Players: TypeAlias = Annotated[int, Option(metavar="N", help="Number of devices.")]
Seed: TypeAlias = Annotated[int, Option(metavar="S", help="The same seed gives the same numbers.")]
Json: TypeAlias = Annotated[
    bool, Option("--json", help="One JSON object on stdout instead of a table.")
]
Workers: TypeAlias = Annotated[
    int, Option(min=0, metavar="W", help="Processes to run trials in; 0: one per core.")
]


def read_scheme(name: str | None, parameters: Sequence[str] | None) -> Scheme:
    """The scheme of that name, or the first there is, with its parameters.

    >>> read_scheme(None, ["quorum=5"])
    Decentralized(quorum=5)
    """
    named = {} if name is None else {"name": name}
    return make_scheme({**read_pairs("--set", parameters), **named})


@dataclass(frozen=True)
class ScenarioOptions:
    """What is simulated, as it stands on the command line."""

    scheme: SchemeName = None
    parameters: Parameters = None
    algorithm: Annotated[
        str, Option(metavar="NAME", help="The subroutine, one of `devote algorithms`.")
    ] = "ser3"
    option: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="An option of the subroutine; may be repeated."),
    ] = None
    means: Means = None
    problem: Annotated[str | None, Option(metavar="NAME", help="One of `devote problems`.")] = None
    activity: Annotated[
        str | None,
        Option(metavar="WHO", help="Who wakes: uniform, split, zipf:1.1 or weights:1,2,3."),
    ] = None
    players: Players = 64
    epsilon: Annotated[
        float, Option(metavar="E", help="How far from the best an arm may be and still do.")
    ] = 0.25
    eta: Annotated[
        float | None,
        Option(
            metavar="P",
            help="Error allowed to one device alone; the scheme's default if left out.",
        ),
    ] = None
    delta: Annotated[float, Option(metavar="P", help="Error allowed to the group.")] = 0.05
    horizon: Annotated[
        int | None,
        Option(metavar="T", help="Stop after this many pulls; unfinished runs say so."),
    ] = None

    def read_problem(self, assumed: Problem | None = None) -> Problem:
        """The named problem, or one made of means; either with other habits of the players.

        With neither a name nor means it is ``assumed``, or the paper's first.

        >>> ScenarioOptions(problem="2", means=".9,.1").read_problem().activity.spec
        'split:0.5,0.8'
        """
        numbers = None if self.means is None else read_means(self.means)
        if self.problem is None and numbers is not None:
            problem = Problem("(your means)", numbers, summary="means given by hand")
        elif self.problem is None and assumed is not None:
            problem = assumed
        else:
            problem = get_problem(DEFAULT_PROBLEM if self.problem is None else self.problem)
            if numbers is not None:
                name = f"{problem.name} (your means)"
                summary = f"the players of problem {problem.name}; means given by hand"
                problem = replace(problem, name=name, means=numbers, summary=summary)
        return problem if self.activity is None else problem.with_activity(self.activity)

    def read_spec(self, n_arms: int) -> ExperimentSpec:
        """The specification for so many arms.

        >>> ScenarioOptions(parameters=["quorum=5"]).read_spec(3).votes_needed
        5
        """
        return ExperimentSpec(
            arms=n_arms,
            algorithm=self.algorithm,
            options=read_pairs("--option", self.option),
            epsilon=self.epsilon,
            eta=LEFT_OUT if self.eta is None else self.eta,
            delta=self.delta,
            scheme=read_scheme(self.scheme, self.parameters),
        )

    def read_scenario(self) -> Scenario:
        """The whole scenario."""
        problem = self.read_problem()
        return Scenario(self.read_spec(problem.n_arms), problem, self.players, self.horizon)


def scenario_options(
    *without: str, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a scenario; it gets ``ScenarioOptions`` as first argument.

    ``without`` names those that it does not take, ``defaults`` are its own.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    shared = [
        item.replace(kind=kind, default=defaults.get(item.name, item.default))
        for item in inspect.signature(ScenarioOptions).parameters.values()
        if item.name not in without
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            asked = ScenarioOptions(**{item.name: given.pop(item.name) for item in shared})
            command(asked, **given)

        _, *own = inspect.signature(command).parameters.values()
        parameters = [*shared, *(item.replace(kind=kind) for item in own)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return decorate
