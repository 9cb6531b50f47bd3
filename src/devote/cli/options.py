"""The options that several subcommands share, so that they read the same everywhere.

``simulate``, ``watch``, ``plan`` and ``audit`` share one block, ``ScenarioOptions``: a command that
is decorated with ``scenario_options`` takes all of them and gets them as its first argument.

Texts are checked here only for what the library cannot see: whether one is a list, a pair or a
number.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from devote.cli.errors import CommandError
from devote.problems import Problem, get_problem
from devote.protocol import ExperimentSpec, Scheme
from devote.protocol.scheme import make_scheme
from devote.protocol.spec import LEFT_OUT
from devote.simulator import Scenario

DEFAULT_PROBLEM = "1"


def takes(metavar: str, meaning: str, *names: str, **limits: Any) -> Any:
    """An option with a value: what stands for it in the help, and what it means."""
    return typer.Option(*names, metavar=metavar, help=meaning, **limits)


Means = Annotated[
    str | None, takes("LIST", "Means of the arms, such as .7,.5,.3; in place of the problem's.")
]
SchemeName = Annotated[
    str | None,
    takes("NAME", "How the group decides; by default the first of `devote schemes`.", "--scheme"),
]
Parameters = Annotated[
    list[str] | None, takes("NAME=VALUE", "A parameter of the scheme; may be repeated.", "--set")
]
Players = Annotated[int, takes("N", "Number of devices.")]
Seed = Annotated[int, takes("S", "The same seed gives the same numbers.")]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of tables and text.")]
Engine = Annotated[
    str,
    takes(
        "NAME",
        "What runs the trials: event, passes, cuda, or auto for the faster of the first two.",
    ),
]
Workers = Annotated[int, takes("W", "Processes to run in; 0: one per core.", min=0)]


def read_means(text: str) -> tuple[float, ...]:
    """A list of means.

    >>> read_means(".7, .5,.1")
    (0.7, 0.5, 0.1)
    """
    words = [word.strip() for word in text.split(",")]
    for place, word in enumerate(words):
        if isinstance(_value(word), str):
            fault = f"{word!r}" if word else "nothing"
            raise CommandError(
                f"--means {text!r} has {fault} in place {place + 1}, not a number.\n"
                "Write numbers in [0, 1] separated by commas, such as .7,.5,.3"
            )
    return tuple(map(float, words))


def read_pairs(flag: str, words: Sequence[str] | None) -> dict[str, str | float]:
    """Names with values; what looks like a number is one.

    >>> read_pairs("--set", ["quorum=5", "privacy=2.5", "quorum=ceil"])
    {'quorum': 'ceil', 'privacy': 2.5}
    """
    pairs: dict[str, str | float] = {}
    for word in words or ():
        name, equals, value = (part.strip() for part in word.partition("="))
        if not (name and equals and value):
            raise CommandError(f"{flag} {word!r} is not a pair.\nWrite it as name=value.")
        pairs[name] = _value(value)
    return pairs


def _value(text: str) -> str | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read_scheme(name: str | None, parameters: Sequence[str] | None) -> Scheme:
    """The scheme of that name, or the first there is, with its parameters.

    >>> read_scheme(None, ["quorum=5"])
    Decentralized(quorum=5)
    """
    named = {} if name is None else {"name": name}
    return make_scheme({**read_pairs("--set", parameters), **named})


@dataclass(frozen=True)
class ScenarioOptions:
    """What is simulated, how it is run and told, as it stands on the command line."""

    scheme: SchemeName = None
    parameters: Parameters = None
    algorithm: Annotated[str, takes("NAME", "The subroutine, one of `devote algorithms`.")] = "ser3"
    option: Annotated[
        list[str] | None, takes("NAME=VALUE", "An option of the subroutine; may be repeated.")
    ] = None
    means: Means = None
    problem: Annotated[str | None, takes("NAME", "One of `devote problems`.")] = None
    activity: Annotated[
        str | None, takes("WHO", "Who wakes: uniform, split, zipf:1.1 or weights:1,2,3.")
    ] = None
    players: Players = 64
    epsilon: Annotated[float, takes("E", "How far from the best a good arm may be.")] = 0.25
    eta: Annotated[
        float | None,
        takes("P", "Error allowed to one device alone; the scheme's default if left out."),
    ] = None
    delta: Annotated[float, takes("P", "Error allowed to the group.")] = 0.05
    horizon: Annotated[int | None, takes("T", "Stop after so many pulls, ended or not.")] = None

    engine: Engine = "auto"
    workers: Workers = 1
    seed: Seed = 0
    json: Json = False

    @property
    def running(self) -> dict[str, Any]:
        """How trials are run, as the library takes it."""
        return {"seed": self.seed, "workers": self.workers or None}

    def read_problem(self, assumed: Problem | None = None) -> Problem:
        """The named problem, or one made of means, with another activity if one is given.

        With neither a name nor means it is ``assumed``, or the paper's first.
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
        spec = self.read_spec(problem.n_arms)
        return Scenario(spec, problem, self.players, self.horizon, self.engine)


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
