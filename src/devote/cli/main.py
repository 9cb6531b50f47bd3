"""The entry point: finds the command that the words call, parses its options, and runs it.

To add a command, write a function in the file of its group (``lab``, ``plan``, ``fleet``,
``operator``) under ``@command``. Heavy imports belong inside the function, so that
``devote --help`` stays quick.
"""

import inspect
import os
import sys
import textwrap
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import NoReturn

from devote import __version__
from devote.cli import fleet, lab, operator, plan  # noqa: F401  (they register their commands)
from devote.cli.options import COMMANDS, Command, CommandError
from devote.cli.render import note, show
from devote.errors import DevoteError, did_you_mean
from devote.extras import missing_extra

GROUPS = {
    "Lab": "simulate sweep plan reproduce audit watch schemes algorithms problems",
    "Fleet": "demo device certify peers",
    "Operator": "serve experiments withdraw invites revoke token backup restore migrate verify",
}
"""The commands as the help lists them."""

FAMILIES = {
    "audit": "Measure how far each promise holds.",
    "experiments": "Open, list, close, export or delete the experiments of a server.",
    "token": "The tokens of a server: replace, add, list, remove.",
    "certify": "Who may vote where there is no server: keys, tickets, revocations.",
    "peers": "The peers that a device without a server knows: list, add, remove, health.",
}
"""Commands that have commands below them."""

BROKEN_PIPE = 141
"""The exit code where nobody reads the output any more: 128 and the number of SIGPIPE."""

INTERRUPTED = 130


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message[:1].upper()}{message[1:]}.\nSee {self.prog} --help.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 2, and one line on stderr, on bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    shows_traceback = given[:1] == ["--traceback"]
    try:
        code = _run(given[1:] if shows_traceback else given)
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        if str(stop):  # how to go on, where there is a way
            note(str(stop))
        return INTERRUPTED
    except BrokenPipeError:
        return _end_unread()
    except SystemExit as stop:
        # rich makes a broken pipe into an exit with code 1.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        return _end_unread()
    except Exception as error:
        message = bad_input(error)
        if shows_traceback or message is None:
            show(*traceback.format_exc().splitlines(), error=True)
            return 1
        note(message)
        return 2
    return code


def bad_input(error: Exception) -> str | None:
    """The message if this is the user's to correct, None if it is a fault of the program."""
    if isinstance(error, ModuleNotFoundError):
        missing = missing_extra(error)
        return None if missing is None else str(missing)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}. Choose another file or folder."
    if isinstance(error, (DevoteError, OSError)):
        return str(error) or type(error).__name__
    return None


def _end_unread() -> int:
    """End as other programs do whose reader has closed the pipe, as ``head`` does."""
    # What is still buffered would be written, and fail again, when Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
    return BROKEN_PIPE


def _run(given: list[str]) -> int:
    match given:
        case ["--version", *_]:
            show(f"devote {__version__}")
            return 0
        case ["--show-completion", *_]:
            print(completion())
            return 0
        case [] | ["--help" | "-h", *_]:
            print(_overview())
            return 0 if given else 2
    name, rest = given[0], given[1:]
    if name in FAMILIES:
        if not rest or rest[0] in ("--help", "-h"):
            print(_family(name))
            return 0 if rest else 2
        name, rest = f"{name} {rest[0]}", rest[1:]
    elif rest and f"{name} {rest[0]}" in COMMANDS:
        name, rest = f"{name} {rest[0]}", rest[1:]
    if name not in COMMANDS:
        known = [words for words in COMMANDS if words.count(" ") == name.count(" ")]
        hint = did_you_mean(name, [*known, *FAMILIES])
        raise CommandError(f"No such command {name!r}. {hint}\nSee devote --help.")
    command, parser = COMMANDS[name], parser_of(name)
    if "--help" in rest or "-h" in rest:
        print(parser.format_help())
        return 0
    rest = join_values(rest, command)
    found, unknown = parser.parse_known_intermixed_args(rest)
    if getattr(found, "config", None) is not None:
        found, unknown = parser.parse_known_intermixed_args(
            [*operator.read_config(found.config, rest), *rest]
        )
    if unknown:
        flags = [option.name for option in command.options if not option.is_argument]
        what = "option" if unknown[0].startswith("-") else "argument"
        hint = did_you_mean(unknown[0], flags) if what == "option" else ""
        raise CommandError(f"No such {what} {unknown[0]}. {hint}\nSee devote {name} --help.")
    if files := getattr(found, "import_", None):
        from devote.rules import import_rules

        for file in files:
            import_rules(file)
    code = command.run(found)
    return code if isinstance(code, int) else 0


def join_values(given: Sequence[str], command: Command) -> list[str]:
    """The words with each value joined to its option, as a value may begin with a dash.

    >>> join_values(["--means", "-.1,.4", "--json"], COMMANDS["simulate"])
    ['--means=-.1,.4', '--json']
    """
    valued = {option.name for option in command.options if option.metavar}
    joined: list[str] = []
    rest = iter(given)
    for word in rest:
        value = next(rest, None) if word in valued else None
        joined.append(word if value is None else f"{word}={value}")
    return joined


def parser_of(name: str) -> ArgumentParser:
    """The parser of one command, with its help."""
    command = COMMANDS[name]
    text, _, examples = help_of(command).partition("\n\nExample")
    width = min(100, get_terminal_size().columns - 2)
    arguments = [one for one in command.options if one.is_argument]
    places = (f"[{one.metavar}...]" if one.many else str(one.metavar) for one in arguments)
    parser = _Parser(
        prog=f"devote {name}",
        usage=" ".join([f"devote {name} [OPTIONS]", *places]),
        description="\n\n".join(
            textwrap.fill(part, width, break_on_hyphens=False) for part in text.split("\n\n")
        ),
        epilog=f"example{examples}",
        formatter_class=RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    for option in command.options:
        option.add_to(parser)
    parser.add_argument("-h", "--help", action="store_true", help="Show this message and exit.")
    return parser


def help_of(command: Command) -> str:
    """Its help: what it does, more about that, and examples."""
    return inspect.cleandoc(command.run.__doc__ or "")


def _summary(name: str) -> str:
    return FAMILIES.get(name) or help_of(COMMANDS[name]).partition("\n")[0]


def _overview() -> str:
    shown = [
        "usage: devote [--version] [--traceback] [--show-completion] COMMAND [OPTIONS]\n",
        "Many devices find the best of K options together, and exchange only a few messages.",
    ]
    for group, names in GROUPS.items():
        shown += ["", f"{group}:", *map(_listed, names.split())]
    shown += [
        "",
        "options:",
        "  --version          Show the version.",
        "  --traceback        Show where an error came from.",
        "  --show-completion  Print a script of completions for bash or zsh, to be sourced.",
        "",
        "Every command has --help with examples.",
    ]
    return "\n".join(shown)


def _family(name: str) -> str:
    below = [words for words in COMMANDS if words.startswith(f"{name} ")]
    head = [f"usage: devote {name} COMMAND [OPTIONS]", "", FAMILIES[name], ""]
    return "\n".join([*head, *map(_listed, below)])


def _listed(name: str) -> str:
    """A command and what it does, wrapped to the width of the terminal."""
    width = min(100, get_terminal_size().columns - 2)
    text = f"  {name.split()[-1]:12} {_summary(name)}"
    return textwrap.fill(text, width, subsequent_indent=" " * 15)


def completion() -> str:
    """A script for bash, and for zsh with ``bashcompinit``, which completes names and options."""
    lists = {
        words: [option.name for option in command.options if not option.is_argument]
        for words, command in COMMANDS.items()
    }
    for name in FAMILIES:
        lists[name] = [words.split()[1] for words in COMMANDS if words.startswith(f"{name} ")]
    cases = [
        f'    "{words}"|"{words} -"*) list="{" ".join([*found, "--help"])}" ;;'
        for words, found in lists.items()
    ]
    names = " ".join(" ".join(GROUPS.values()).split())
    return "\n".join(
        [
            '[ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit',
            "_devote() {",
            f'  local list="{names}"',
            '  case "${COMP_WORDS[*]:1:$((COMP_CWORD < 3 ? COMP_CWORD - 1 : 2))}" in',
            *cases,
            "  esac",
            '  COMPREPLY=($(compgen -W "$list" -- "${COMP_WORDS[COMP_CWORD]}"))',
            "}",
            "complete -o default -F _devote devote",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
