"""``devote schemes``, ``devote algorithms``, ``devote problems``: what there is to choose from."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from devote.cli import options
from devote.cli.terminal import console, tell
from devote.kernels import Algorithm
from devote.kernels.registry import ALGORITHMS
from devote.problems import PROBLEMS
from devote.protocol import Scheme
from devote.protocol.scheme import SCHEMES


def schemes(json: options.Json = False) -> None:
    """The schemes there are: how a group decides, with the parameters of each.

    Examples:
        devote schemes
        devote schemes --json
    """
    names = ("name", "summary", "paper_name", "deployable", "default_eta")
    told = [_pick(one, names) | {"parameters": _parameters(one)} for one in SCHEMES.values()]
    rows = [(one.name, _scheme_words(one), one.paper_name) for one in SCHEMES.values()]
    _tell_listing(told, json, ("scheme", "how the group decides", "in the paper"), rows)


def algorithms(json: options.Json = False) -> None:
    """The subroutines there are, with their options and where they come from.

    Examples:
        devote algorithms
        devote algorithms --json
    """
    names = ("name", "summary", "source", "endless")
    told = [_pick(one, names) | {"options": dict(one.options)} for one in ALGORITHMS.values()]
    rows = [(one.name, _algorithm_words(one), one.source) for one in ALGORITHMS.values()]
    _tell_listing(told, json, ("algorithm", "what it does", "source"), rows)


def problems(json: options.Json = False) -> None:
    """The problems there are: what arms pay, who wakes, and where each comes from.

    Examples:
        devote problems
        devote problems --json
    """
    told = [one.to_dict() for one in PROBLEMS.values()]
    rows = [(one.name, one.summary, one.activity.spec, one.source) for one in PROBLEMS.values()]
    _tell_listing(told, json, ("problem", "what it is", "who wakes", "source"), rows)


def _pick(one: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def _parameters(scheme: type[Scheme]) -> list[dict[str, Any]]:
    return [
        {"name": item.name, "default": item.default, "meaning": scheme.remedies.get(item.name, "")}
        for item in fields(scheme)
    ]


def _scheme_words(scheme: type[Scheme]) -> str:
    words = scheme.summary
    if not scheme.deployable:
        words += "\n[dim]a baseline, for simulations only[/dim]"
    for item in _parameters(scheme):
        default = "" if item["default"] is None else item["default"]
        words += f"\n[dim]--set {item['name']}={default}  {item['meaning']}[/dim]"
    return words


def _algorithm_words(algorithm: Algorithm) -> str:
    words = algorithm.summary
    for name, allowed in algorithm.options.items():
        choice = " or ".join(allowed) if isinstance(allowed, tuple) else f"{allowed:g}"
        words += f"\n[dim]--option {name}={choice}[/dim]"
    return words


def _tell_listing(
    told: list[dict[str, Any]], json: bool, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    from devote.cli.tables import table

    layout = "b" + "l" * (len(heads) - 2) + "d"
    tell(told, json, lambda _: console().print(table(layout, heads, rows, padding=(0, 2, 1, 0))))
