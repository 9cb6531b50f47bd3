"""``devote schemes``, ``devote algorithms``, ``devote problems``: what there is to choose from."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from devote.cli import options
from devote.cli.terminal import console, table, tell
from devote.problems import PROBLEMS
from devote.protocol.scheme import SCHEMES
from devote.rules.outside import load_entry_points
from devote.rules.registry import ALGORITHMS

Told = dict[str, Any]


def _listing(
    summary: str,
    columns: Mapping[str, str],
    known: Mapping[str, Any],
    tell_one: Callable[[Any], Told],
) -> Callable[[bool], None]:
    """A command that lists what is known; ``columns`` are heads and keys of what is told."""
    layout = "b" + "l" * (len(columns) - 2) + "d"

    def show(told: list[Told]) -> None:
        rows = [[{**one, "summary": _words(one)}[key] for key in columns.values()] for one in told]
        console().print(table(layout, list(columns), rows, padding=(0, 2, 1, 0)))

    def listing(json: options.Json = False) -> None:
        load_entry_points()
        tell([tell_one(one) for one in known.values()], json, show)

    name = f"devote {next(iter(columns))}s"
    listing.__doc__ = f"{summary}\n\nExamples:\n{name}\n{name} --json"
    return listing


def _words(told: Told) -> str:
    """The summary, and below it what can be set."""
    lines = [] if told.get("deployable", True) else ["for simulations only"]
    for item in told.get("parameters", ()):
        default = "" if item["default"] is None else item["default"]
        lines.append(f"--set {item['name']}={default}  {item['meaning']}")
    for name, allowed in told.get("options", {}).items():
        choice = " or ".join(allowed) if isinstance(allowed, tuple) else f"{allowed:g}"
        lines.append(f"--option {name}={choice}")
    return "\n".join([told["summary"], *(f"[dim]{line}[/dim]" for line in lines)])


def _tell_scheme(scheme: Any) -> Told:
    about, names = scheme.about, ("summary", "source", "deployable", "default_eta")
    parameters = [
        {"name": item.name, "default": item.default, "meaning": about.parameters.get(item.name, "")}
        for item in fields(scheme)
    ]
    told = {"name": scheme.name, **{name: getattr(about, name) for name in names}}
    return {**told, "parameters": parameters}


def _tell_algorithm(algorithm: Any) -> Told:
    told = {name: getattr(algorithm, name) for name in ("name", "summary", "source", "endless")}
    return {**told, "options": dict(algorithm.options)}


schemes = _listing(
    "The schemes there are: how a group decides, with the parameters of each.",
    {"scheme": "name", "how the group decides": "summary", "in the paper": "source"},
    SCHEMES,
    _tell_scheme,
)
algorithms = _listing(
    "The subroutines there are, with their options and where they come from.",
    {"algorithm": "name", "what it does": "summary", "source": "source"},
    ALGORITHMS,
    _tell_algorithm,
)
problems = _listing(
    "The problems there are: what arms pay, who wakes, and where each comes from.",
    {"problem": "name", "what it is": "summary", "who wakes": "activity", "source": "source"},
    PROBLEMS,
    lambda problem: problem.to_dict(),
)
