"""From the words of the command line to the values the library takes.

Only what the library cannot see is checked here: whether a text is a list, a pair or a number.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devote.problems import Problem
    from devote.protocol import ExperimentSpec
    from devote.simulate.reset_plan import Changes

DEFAULT_PROBLEM = "1"
DEFAULT_ARMS = 10


def read_means(text: str) -> tuple[float, ...]:
    """A list of means.

    >>> read_means(".7, .5,.1")
    (0.7, 0.5, 0.1)
    """
    words = [word.strip() for word in text.split(",")]
    for place, word in enumerate(words):
        if not _is_number(word):
            fault = f"{word!r}" if word else "nothing"
            raise ValueError(
                f"--means {text!r} has {fault} in place {place + 1}, not a number.\n"
                "Write numbers in [0, 1] separated by commas, such as .7,.5,.3"
            )
    return tuple(map(float, words))


def read_options(words: Sequence[str] | None) -> dict[str, str | float]:
    """A subroutine's options.

    >>> read_options(["radius=active"])
    {'radius': 'active'}
    """
    options: dict[str, str | float] = {}
    for word in words or ():
        name, equals, value = (part.strip() for part in word.partition("="))
        if not (name and equals and value):
            raise ValueError(f"--option {word!r} is not a pair.\nWrite it as radius=active")
        options[name] = float(value) if _is_number(value) else value
    return options


def read_quorum(text: str) -> str | int:
    """A rule, or a number of votes.

    >>> read_quorum("ceil"), read_quorum("28")
    ('ceil', 28)
    """
    try:
        return int(text)
    except ValueError:
        return text


def read_problem(name: str | None, means: str | None, activity: str | None) -> "Problem":
    """The named problem, or one made of means; either with other habits of the players.

    >>> read_problem("2", ".9,.1", None).activity.spec
    'split:0.5,0.8'
    """
    from devote.problems import Problem, get_problem

    numbers = None if means is None else read_means(means)
    if name is None and numbers is not None:
        problem = Problem("(your means)", numbers, summary="means given by hand")
    else:
        problem = get_problem(DEFAULT_PROBLEM if name is None else name)
        if numbers is not None:
            problem = replace(
                problem,
                name=f"{problem.name} (your means)",
                means=numbers,
                summary=f"the players of problem {problem.name}; means given by hand",
            )
    return problem if activity is None else problem.with_activity(activity)


def read_arms(arms: int | None, means: str | None) -> int:
    """The number of arms, from either, or ten.

    >>> read_arms(None, ".7,.5"), read_arms(4, None)
    (2, 4)
    """
    if means is None:
        return DEFAULT_ARMS if arms is None else arms
    n_means = len(read_means(means))
    if arms not in (None, n_means):
        raise ValueError(f"--arms {arms} with {n_means} means.\nLeave --arms out.")
    return n_means


def read_fleet(spec: "ExperimentSpec", means: str | None, activity: str | None) -> "Problem":
    """The arms and players to plan for: given by hand, or assumed."""
    if means is not None:
        return read_problem(None, means, activity)

    from devote.simulate.plan import default_problem

    problem = default_problem(spec.n_arms)
    return problem if activity is None else problem.with_activity(activity)


def read_changes(algorithm: str, switches: int | None, horizon: int | None) -> "Changes | None":
    """What a plan for ser4 must know, and no other takes.

    >>> read_changes("ser4", 2, 180_000)
    Changes(switches=2, horizon=180000)
    """
    if algorithm != "ser4":
        if switches is None and horizon is None:
            return None
        raise ValueError("--switches and --horizon are for resets.\nGive --algorithm ser4 as well.")
    if switches is None or horizon is None:
        raise ValueError(
            "A plan for ser4 needs to know what changes.\n"
            "Give --switches, how often the best arm does, and --horizon, within how many events."
        )

    from devote.simulate.reset_plan import Changes

    return Changes(switches, horizon)


def read_spec(
    n_arms: int,
    *,
    protocol: str,
    algorithm: str,
    option: Sequence[str] | None,
    quorum: str,
    **promises: Any,
) -> "ExperimentSpec":
    """The specification that the options stand for.

    >>> read_spec(3, protocol="jury", algorithm="ser3", option=None, quorum="28").protocol
    'jury'
    """
    from devote.protocol import ExperimentSpec, get_protocol

    return ExperimentSpec(
        arms=n_arms,
        algorithm=algorithm,
        options=read_options(option),
        quorum=read_quorum(quorum),
        # Only a vote is part of a specification; the baselines are for simulations.
        protocol=protocol if get_protocol(protocol).votes else "decentralized",
        **promises,
    )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
