"""What a command takes: its options, those that several share, and how their texts are read.

``@command`` registers a function under the words that call it, with a line of text for each option.
The function gets what was given as attributes, calls the library, and renders. Texts are checked
here only for what the library cannot see: whether one is a list, a pair, a number or a moment.
"""

import keyword
import os
import re
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from devote.errors import DevoteError

if TYPE_CHECKING:
    from devote.problems import Problem
    from devote.protocol import ExperimentSpec, Scheme
    from devote.simulator import Scenario


class CommandError(DevoteError, ValueError):
    """Options that the command line cannot read, or that do not go together."""


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of whole numbers within bounds."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\s*[+-]?\d+\s*", text):
            raise ArgumentTypeError(f"{text!r} is not a whole number")
        if int(text) < least or (most is not None and int(text) > most):
            bounds = f"{least} or more" if most is None else f"from {least} to {most}"
            raise ArgumentTypeError(f"{text!r} must be {bounds}")
        return int(text)

    return read


def decimal(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None


KINDS: dict[str, Callable[[str], Any]] = {
    "INTEGER": whole(-sys.maxsize),
    "N": whole(-sys.maxsize),
    "NUMBER": whole(-sys.maxsize),
    "COUNT": whole(1),
    "W": whole(0),
    "PORT": whole(1, 65535),
    "X": decimal,
    "P": decimal,
    **dict.fromkeys(("FILE", "FOLDER", "PEM", "SPEC", "STORE"), Path),
}
"""How a value is read, by what stands for it in the help; other values are texts."""

DECLARED = re.compile(
    r"(?P<name>--[a-z-]+|[a-z]+)(?: (?P<optional>\[)?(?P<metavar>[^\s\]]+?)(?P<many>\.\.\.)?\]?)?  "
    r"(?P<help>.*?)(?: \[(?P<default>[^\]]+)\])?"
)


@dataclass(frozen=True)
class Option:
    """An option, an argument if its name has no dashes, or a switch if no value follows it."""

    name: str
    metavar: str | None
    many: bool
    optional: bool
    help: str
    default: Any

    @classmethod
    def parse(cls, text: str) -> "Option":
        """Read a declaration: name, value, two spaces, help, default.

        A value with dots may be repeated; an argument in brackets may be left out.

        >>> Option.parse("--trials COUNT  Number of trials. [20]").default
        20
        >>> Option.parse("figures [FIGURE...]  Which; all by default.").metavar
        'FIGURE'
        """
        found = DECLARED.fullmatch(text)
        assert found is not None, text
        name, optional, metavar, many, meaning, default = found.groups()
        option = cls(name, metavar, bool(many), bool(optional), meaning, default)
        return option if default is None else replace(option, default=option.kind(default))

    @property
    def is_argument(self) -> bool:
        """Whether it is given by its place."""
        return not self.name.startswith("-")

    @property
    def attribute(self) -> str:
        """The name under which a command finds its value: ``--import`` gives ``import_``."""
        name = self.name.lstrip("-").replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def kind(self) -> Callable[[str], Any]:
        """The reader of its value."""
        return KINDS.get((self.metavar or "").partition(".")[0], str)

    def add_to(self, parser: ArgumentParser) -> None:
        """Let a parser read it."""
        how: dict[str, Any] = {"metavar": self.metavar, "type": self.kind}
        if self.is_argument:
            how["nargs"] = {(0, 0): None, (0, 1): "?", (1, 0): "+", (1, 1): "*"}[
                self.many, self.optional
            ]
            parser.add_argument(self.attribute, help=self.help, **how)
        elif self.metavar is None:
            parser.add_argument(self.name, dest=self.attribute, help=self.help, action="store_true")
        else:
            how |= {"action": "append", "default": []} if self.many else {"default": self.default}
            default = "" if self.default is None else f" (default: {self.default})"
            more = "; may be repeated" if self.many else ""
            meaning = f"{self.help.removesuffix('.')}{more}.{default}"
            parser.add_argument(self.name, dest=self.attribute, help=meaning, **how)


Run: TypeAlias = Callable[[Namespace], object]
"""What a command does with what was given; it may return an exit code."""


@dataclass(frozen=True)
class Command:
    """What runs when its words are called; the docstring of ``run`` is its help."""

    run: Run
    options: tuple[Option, ...]


COMMANDS: dict[str, Command] = {}
"""Every command by its words, such as ``experiments open``."""


def command(
    words: str, *declared: str, without: Collection[str] = (), **defaults: Any
) -> Callable[[Run], Run]:
    """Register a command with its options.

    ``without`` and ``defaults`` are about options that it shares with others; of two with the same
    name the later holds.
    """
    options = {option.name: option for option in map(Option.parse, declared)}
    own = tuple(
        replace(option, default=defaults.get(option.attribute, option.default))
        for name, option in options.items()
        if name not in without
    )

    def register(run: Run) -> Run:
        COMMANDS[words] = Command(run, own)
        return run

    return register


JSON = "--json  JSON instead of tables and text."
MEANS = "--means LIST  Means of the arms, such as .7,.5,.3; in place of the problem's."
SCHEME = "--scheme NAME  How the group decides; by default the first of `devote schemes`."
SET = "--set NAME=VALUE...  A parameter of the scheme."
SEED = "--seed INTEGER  The same seed gives the same numbers. [0]"
WORKERS = "--workers W  Processes to run in; 0: one per core. [1]"
ENGINE = (
    "--engine NAME  What runs the trials: event, passes, cuda, or auto for the faster of the "
    "first two. [auto]"
)
IMPORT = "--import FILE.py...  Import a file with a subroutine of your own first."
SCENARIO = (
    SCHEME,
    SET,
    "--algorithm NAME  The subroutine, one of `devote algorithms`; by default the scheme's.",
    "--option NAME=VALUE...  An option of the subroutine.",
    MEANS,
    "--problem NAME  One of `devote problems`.",
    "--activity WHO  Who wakes: uniform, split, zipf:1.1 or weights:1,2,3.",
    "--players N  Number of devices. [64]",
    "--epsilon X  How far from the best a good arm may be. [0.25]",
    "--eta P  Error allowed to one device alone; by default the scheme's.",
    "--delta P  Error allowed to the group. [0.05]",
    "--horizon N  Stop after so many pulls, ended or not.",
    ENGINE,
    WORKERS,
    SEED,
    JSON,
    IMPORT,
)
"""What is simulated and how: the options of ``simulate``, ``watch``, ``plan`` and ``audit``."""

AS_OPERATOR = (
    "--server URL  The server's address; else DEVOTE_SERVER, or http://127.0.0.1:8600.",
    "--token-file FILE  The operator's token; else DEVOTE_TOKEN, or devote-server.db.token.",
    JSON,
)


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


def read_pairs(flag: str, words: Sequence[str]) -> dict[str, str | float]:
    """Names with values; what looks like a number is one.

    >>> read_pairs("--set", ["quorum=5", "privacy=2.5", "quorum=ceil"])
    {'quorum': 'ceil', 'privacy': 2.5}
    """
    pairs: dict[str, str | float] = {}
    for word in words:
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


def read_scheme(name: str | None, parameters: Sequence[str]) -> "Scheme":
    """The scheme of that name, or the first there is, with its parameters; lists have commas.

    >>> read_scheme(None, ["quorum=5"])
    Decentralized(quorum=5)
    """
    from devote.protocol.scheme import make_scheme

    named = {} if name is None else {"name": name}
    found = read_pairs("--set", parameters)
    values = {k: v.split(",") if isinstance(v, str) and "," in v else v for k, v in found.items()}
    return make_scheme({**values, **named})


def read_problem(given: Namespace, assumed: "Problem | None" = None) -> "Problem":
    """The named problem, or one made of means, with another activity if one is given.

    With neither a name nor means it is ``assumed``, or the paper's first.
    """
    from devote.problems import Problem, get_problem

    means = None if given.means is None else read_means(given.means)
    if given.problem is None and means is not None:
        problem = Problem("(your means)", means, summary="means given by hand")
    elif given.problem is None and assumed is not None:
        problem = assumed
    else:
        problem = get_problem(given.problem or "1")
        if means is not None:
            name = f"{problem.name} (your means)"
            summary = f"the players of problem {problem.name}; means given by hand"
            problem = replace(problem, name=name, means=means, summary=summary)
    return problem if given.activity is None else problem.with_activity(given.activity)


def read_spec(given: Namespace, n_arms: int) -> "ExperimentSpec":
    """The specification for so many arms."""
    from devote.protocol import ExperimentSpec
    from devote.protocol.spec import LEFT_OUT

    return ExperimentSpec(
        arms=n_arms,
        algorithm=LEFT_OUT if given.algorithm is None else given.algorithm,
        options=read_pairs("--option", given.option),
        epsilon=given.epsilon,
        eta=LEFT_OUT if given.eta is None else given.eta,
        delta=given.delta,
        scheme=read_scheme(given.scheme, given.set),
    )


def read_scenario(
    given: Namespace, problem: "Problem | None" = None, n_players: int | None = None
) -> "Scenario":
    """The whole scenario, with another problem or number of players in place of those given."""
    from devote.simulator import Scenario

    problem = problem or read_problem(given)
    spec = read_spec(given, problem.n_arms)
    n_players = given.players if n_players is None else n_players
    return Scenario(spec, problem, n_players, given.horizon, getattr(given, "engine", "auto"))


def running(given: Namespace) -> dict[str, Any]:
    """How trials are run, as the library takes it."""
    return {"seed": given.seed, "workers": given.workers or None}


def read_spec_file(file: Path) -> "ExperimentSpec":
    """A specification: a .toml or .json file."""
    from devote.protocol import ExperimentSpec

    read = ExperimentSpec.from_toml if file.suffix == ".toml" else ExperimentSpec.from_json
    return read(file.read_text(encoding="utf-8"))


_LENGTH = re.compile(r"(\d{1,6})([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def read_moment(text: str) -> int:
    """A moment in seconds since 1970: a date, a date and a time, or a length of time from now.

    >>> read_moment("2026-11-01"), read_moment("2026-11-01T01:00+01:00")
    (1793491200, 1793491200)
    >>> hour, week = read_moment("2h") - read_moment("1h"), read_moment("1w") - read_moment("7d")
    >>> abs(hour - 3600) <= 1, abs(week) <= 1
    (True, True)
    """
    if length := _LENGTH.fullmatch(text.strip()):
        return int(time.time()) + int(length[1]) * _SECONDS[length[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise CommandError(
            f"{text!r} is not a moment.\nWrite a date such as 2027-01-31 or 2027-01-31T18:00, in "
            "UTC, or a time from now such as 30d."
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def check_writable(path: Path, suffixes: Collection[str] = (), *, new: bool = False) -> None:
    """Refuse, before any work, a file that cannot be written, or of a kind that is not known."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise CommandError(
            f"{path} ends in {path.suffix or 'nothing'!r}, which is not a kind of file known here."
            f"\nName it with {' or '.join(suffixes)}."
        )
    folder, why = path.absolute().parent, None
    if not folder.is_dir():
        why = f"there is no folder {folder}.\nCreate it first."
    elif path.is_dir():
        why = "it is a folder.\nName a file in it."
    elif not os.access(path if path.exists() else folder, os.W_OK):
        why = "no permission.\nChoose another place."
    if why:
        raise CommandError(f"{path} cannot be written: {why}")
    if new and path.exists():
        raise CommandError(f"{path} is there already.\nChoose another name.")
