"""``devote serve --config``: its options from a TOML file.

Each key of the file is an option of the command, so that there is one set of names and of checks;
``[limits]`` has the limits. The command line goes before the file.
"""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from devote.cli.errors import CommandError
from devote.errors import did_you_mean

LIMITS = "devote.limits"
"""Where the limits of the file are kept while the command line is read."""

NOT_IN_A_FILE = {"config", "help", "import", "limit"}


def read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Let the file of ``--config`` say what the command line does not."""
    if path is not None:
        known = {
            option.opts[0].lstrip("-").replace("-", "_"): option for option in ctx.command.params
        }
        options = {name: option for name, option in known.items() if name not in NOT_IN_A_FILE}
        values = _load(path)
        limits = values.pop("limits", {})
        ctx.default_map = {
            str(options[name].name): _checked(path, name, value, options[name])
            for name, value in _known(path, values, [*options, "limits"]).items()
        }
        ctx.meta[LIMITS] = _limits(path, limits)
    return path


def join_limits(ctx: typer.Context, given: list[str] | None) -> list[str]:
    """The limits of the file, then those of the command line, which replace them."""
    return [*ctx.meta.get(LIMITS, ()), *(given or ())]


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{path} is not TOML: {error}.\nWrite lines such as port = 8600."
        ) from None


def _known(path: Path, values: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values under names as options have them in Python; refuse names that are not known."""
    spelt = {name.replace("-", "_"): value for name, value in values.items()}
    for name in spelt:
        if name not in names:
            raise CommandError(
                f"{path} has a key {name!r} that is not known.\n{did_you_mean(name, names)}"
                f"Use: {', '.join(names)}."
            )
    return spelt


def _checked(path: Path, name: str, value: Any, option: Any) -> Any:
    """A value of the kind that the option takes."""
    if option.multiple:
        good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        kind = 'a list of texts, such as ["..."]'
    elif option.is_flag:
        good, kind = isinstance(value, bool), "true or false"
    elif type(option.default) is int or option.min is not None:
        good, kind = type(value) is int, "a whole number"
    else:
        good, kind = isinstance(value, str), 'a text, such as "..."'
    if not good:
        raise CommandError(f"{path}: {name} = {value!r} is not {kind}.\nCorrect it.")
    return value


def _limits(path: Path, limits: Any) -> list[str]:
    from devote.server.settings import LIMITS as KNOWN

    if not isinstance(limits, dict):
        raise CommandError(f"{path}: limits must be a table.\nWrite [limits] and lines below it.")
    for name, value in _known(path, limits, list(KNOWN)).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise CommandError(f"{path}: {name} = {value!r} is not a number.\nCorrect it.")
    return [f"{name}={value}" for name, value in limits.items()]
