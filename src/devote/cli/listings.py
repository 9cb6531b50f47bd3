"""``devote schemes``, ``devote algorithms``, ``devote problems``: what there is to choose from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from devote.cli import options
from devote.cli.terminal import console, table, tell
from devote.kernels.registry import ALGORITHMS
from devote.problems import PROBLEMS
from devote.protocol.scheme import SCHEMES

Told = dict[str, Any]


def _listing(
    summary: str,
    heads: Sequence[str],
    known: Mapping[str, Any],
    describe: Callable[[Any], Told],
    show: Callable[[Told], Sequence[str]],
) -> Callable[[bool], None]:
    """A command that lists what is known: ``describe`` is for JSON, ``show`` for a row."""
    layout = "b" + "l" * (len(heads) - 2) + "d"

    def listing(json: options.Json = False) -> None:
        rows = [describe(one) for one in known.values()]
        look = {"padding": (0, 2, 1, 0)}
        tell(rows, json, lambda _: console().print(table(layout, heads, map(show, rows), **look)))

    name = f"devote {heads[0]}s"
    listing.__doc__ = f"{summary}\n\nExamples:\n{name}\n{name} --json"
    return listing


def _scheme(scheme: Any) -> Told:
    names = ("name", "summary", "paper_name", "deployable", "default_eta")
    parameters = [
        {"name": item.name, "default": item.default, "meaning": scheme.remedies.get(item.name, "")}
        for item in fields(scheme)
    ]
    return {**{name: getattr(scheme, name) for name in names}, "parameters": parameters}


def _scheme_row(told: Told) -> Sequence[str]:
    words = told["summary"]
    if not told["deployable"]:
        words += "\n[dim]a baseline, for simulations only[/dim]"
    for item in told["parameters"]:
        default = "" if item["default"] is None else item["default"]
        words += f"\n[dim]--set {item['name']}={default}  {item['meaning']}[/dim]"
    return told["name"], words, told["paper_name"]


def _algorithm(algorithm: Any) -> Told:
    names = ("name", "summary", "source", "endless")
    return {
        **{name: getattr(algorithm, name) for name in names},
        "options": dict(algorithm.options),
    }


def _algorithm_row(told: Told) -> Sequence[str]:
    words = told["summary"]
    for name, allowed in told["options"].items():
        choice = " or ".join(allowed) if isinstance(allowed, tuple) else f"{allowed:g}"
        words += f"\n[dim]--option {name}={choice}[/dim]"
    return told["name"], words, told["source"]


schemes = _listing(
    "The schemes there are: how a group decides, with the parameters of each.",
    ("scheme", "how the group decides", "in the paper"),
    SCHEMES,
    _scheme,
    _scheme_row,
)
algorithms = _listing(
    "The subroutines there are, with their options and where they come from.",
    ("algorithm", "what it does", "source"),
    ALGORITHMS,
    _algorithm,
    _algorithm_row,
)
problems = _listing(
    "The problems there are: what arms pay, who wakes, and where each comes from.",
    ("problem", "what it is", "who wakes", "source"),
    PROBLEMS,
    lambda problem: problem.to_dict(),
    lambda told: [told[name] for name in ("name", "summary", "activity", "source")],
)
