"""The entry point: which subcommands there are, loaded only when one is called.

To add a subcommand, write ``cli/<name>.py`` with a function of that name (or a ``typer.Typer``, for
commands below it), and add one line to ``COMMANDS``. A file's heavy imports belong inside its
functions, so that ``devote --help`` stays quick.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from devote.cli.errors import BROKEN_PIPE, bad_input

COMMANDS = {
    "simulate": "Run trials of one scenario: samples, messages, who won.",
    "sweep": "A grid of scenarios from a file: grows, and goes on where it stopped.",
    "plan": "Which scheme for your fleet, and what it will cost, before anything is deployed.",
    "reproduce": "The paper again: its figures, and its sentences judged one by one.",
    "audit": "What each promise is worth: measured, with exact intervals.",
    "watch": "One run, live in the terminal: arms, messages about them, players done.",
    "demo": "The main job end to end: 64 real devices, a server, ten banners.",
    "serve": "A board for devices, and the page to watch it on.",
    "migrate": "Move experiments from a file to NATS, where servers share them.",
    "experiments": "Open, list, close, export or delete the experiments of a server.",
    "invites": "Single-use invites to an experiment, as lines, as links or in a file.",
    "revoke": "Take nothing more from a device, or let nobody use an invite.",
    "token": "Replace the operator's token.",
    "backup": "Copy a store to a file while its server runs.",
    "restore": "Put a copy in the place of a store.",
    "verify": "Read a whole log, check every message, and count it again.",
    "device": "One device in the terminal, for trying things out.",
    "certify": "Who may vote where there is no server: keys, tickets, revocations.",
    "peers": "Whom a device without a server knows: list, add, health.",
    "schemes": "The ways a group can decide.",
    "algorithms": "The subroutines there are.",
    "problems": "The problems there are.",
}
FILES = dict.fromkeys(("schemes", "algorithms", "problems"), "listings")
FILES["restore"] = "backup"
"""The file of a subcommand that does not have one of its own name."""

TAKE_RULES = {
    "simulate",
    "sweep",
    "plan",
    "audit",
    "watch",
    "serve",
    "experiments",
    "device",
    "certify",
    "algorithms",
}
"""The subcommands that take a subroutine, or a specification that names one."""


def load(name: str) -> Any:
    """The subcommand of that name, ready to run."""
    found = getattr(import_module(f"devote.cli.{FILES.get(name, name)}"), name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command()(found)
        found = alone
    command: Any = get_command(found)
    command.name = name
    inner = getattr(command, "commands", {}).values()
    for one in (command, *inner):
        one.help = _space_examples(one.help or COMMANDS[name])
    if name in TAKE_RULES:
        for one in inner or (command,):
            one.params.append(_import_option())
    return command


def _space_examples(text: str) -> str:
    """Each example becomes a paragraph: lines of one paragraph would be joined."""
    words, *found = re.split("^(Examples?):$", text, flags=re.M)
    if not found:
        return words
    title, lines = found
    examples = map(str.strip, lines.strip().splitlines())
    return "\n\n".join([f"{words}[bold]{title}[/bold]", *examples])


def _import_rules(files: list[str] | None) -> None:
    from devote.rules import import_rules

    for file in files or ():
        import_rules(file)


def _import_option() -> Any:
    """``--import``, which every command that takes a subroutine has."""
    alone = typer.Typer()

    @alone.command()
    def command(
        files: Annotated[
            list[str] | None,
            typer.Option(
                "--import",
                metavar="FILE.py",
                help="Import a file with a subroutine of your own first; may be repeated.",
                callback=_import_rules,
                is_eager=True,
                expose_value=False,
            ),
        ] = None,
    ) -> None: ...

    return next(one for one in get_command(alone).params if "--import" in one.opts)


class LazyGroup(TyperGroup):
    """A group that lists all subcommands and imports the one that is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, summary in COMMANDS.items():
            self.commands[name] = TyperCommand(name, help=summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Let the stubs find the name or suggest the nearest, then load what is behind it."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, stub if name is None else load(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand; Ctrl-C says how to go on where there is a way."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            if str(stop):
                typer.echo(f"devote: {' '.join(str(stop).split())}", err=True)
            raise


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from devote import __version__

        typer.echo(f"devote {__version__}")
        raise typer.Exit


@app.callback()
def devote(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error came from.")
    ] = False,
) -> None:
    """Many devices find the best of K options together, and exchange only a few messages."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2, and one line on stderr, on bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = get_command(app).main(args=given, prog_name="devote", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        return 130
    except BrokenPipeError:
        return _nobody_reads()
    except SystemExit as stop:
        # Below us a broken pipe is caught and made into an exit with code 1.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        return _nobody_reads()
    except Exception as error:
        line = bad_input(error)
        if "--traceback" in given or line is None:
            raise
        if line:
            typer.echo(f"devote: {line}", err=True)
        return 2
    return code if isinstance(code, int) else 0


def _nobody_reads() -> int:
    """The reader of a pipe has left, as ``head`` does: end like any other program in a pipe."""
    # What is still buffered would be written, and fail again, when Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
    return BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main())
