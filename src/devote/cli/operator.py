"""The operator: a server, its experiments, invites, tokens and store, and the check of a log."""

import os
import re
import sys
import tomllib
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devote.cli.options import (
    AS_OPERATOR,
    COMMANDS,
    IMPORT,
    JSON,
    KINDS,
    CommandError,
    check_writable,
    command,
    read_moment,
    read_spec_file,
)
from devote.cli.render import Cell, answer, indented, note, number, progress_bar, show, table, words
from devote.errors import did_you_mean

if TYPE_CHECKING:
    from devote.boards.logs import Log, SignedStatement, Statement
    from devote.boards.operator import Operator
    from devote.boards.verification import Report
    from devote.server.settings import Grant

NAME = "experiment EXPERIMENT  The experiment's name."


def call_operator(given: Namespace, *, public: bool = False) -> "Operator":
    """A client for the operator's calls; with ``public`` it can do without a token."""
    from devote.boards.operator import Operator

    url, token = _server(given), os.environ.get("DEVOTE_TOKEN")
    if token and given.token_file is None:
        return Operator(url, token)
    file = given.token_file or Path("devote-server.db.token")
    if file.is_file():
        return Operator(url, file)
    if public:
        return Operator(url)
    raise CommandError(
        f"This needs the operator's token, and {file} is not there.\n"
        "Give --token-file, or set DEVOTE_TOKEN; `devote serve` printed where it is."
    )


def _server(given: Namespace) -> str:
    return given.server or os.environ.get("DEVOTE_SERVER") or "http://127.0.0.1:8600"


CONFIG_EXCLUDES = {"--config", "--import", "--limit"}
"""Options of ``devote serve`` that are not keys of its file."""


@command(
    "serve",
    "--config FILE  Options from a TOML file; those given here go before it.",
    "--store FILE|NATS  Where everything is kept: a file, or nats://... nodes. [devote-server.db]",
    "--host ADDRESS  Address to listen on. [127.0.0.1]",
    "--port PORT  Port to listen on. [8600]",
    "--token-file FILE  The operator's token, made if missing. Default: by the store.",
    "--certificate PEM  TLS certificate; needs --key.",
    "--key PEM  TLS private key.",
    "--admin-port PORT  A port of their own for metrics and the operator's calls.",
    "--public-url URL  Where devices and people reach this server; links and `open` print it.",
    "--limit NAME=VALUE...  Change a limit, such as streams=200.",
    "--allow-origin ORIGIN...  Let pages of this site take part, as https://shop.example.",
    IMPORT,
)
def serve(given: Namespace) -> None:
    """Serve experiments to devices, and a page to watch them on.

    Nothing but specifications, who is enrolled and messages is stored; no address is logged.

    Examples:
        devote serve
        devote serve --allow-origin https://shop.example
        devote serve --config devote.toml
        devote serve --host 0.0.0.0 --certificate cert.pem --key key.pem --limit streams=500
        devote serve --store nats://10.0.0.1:4222,10.0.0.2:4222,10.0.0.3:4222
    """
    from devote.boards.store import is_nats, open_store
    from devote.page.page import add_page
    from devote.server.limits import check_origin
    from devote.server.serve import check_address, check_tls, only_server, run_server
    from devote.server.settings import load_settings, read_limits

    tls: dict[str, Any] = {"certificate": given.certificate, "key": given.key}
    check_tls(**tls)
    read_limits(given.limit)
    others: dict[str, Any] = {
        "origins": tuple(check_origin(origin) for origin in given.allow_origin),
        "public_url": given.public_url or "",
    }
    ports = {"port": given.port, "admin_port": given.admin_port}
    for port in ports.values():
        if port is not None:
            check_address(given.host, port)
    beside = Path("devote-nats" if is_nats(given.store) else given.store)
    with only_server(given.store):
        store = open_store(given.store)
        where = given.token_file or beside.with_name(beside.name + ".token")
        settings = load_settings(where, given.limit, **others)
        scheme = "http" if given.certificate is None else "https"
        page = given.public_url or f"{scheme}://{given.host}:{given.port}"
        note(f"the page is at {page.rstrip('/')}/")
        note(f"the operator's token is in {where}")
        run_server(store, settings=settings, extend=add_page, host=given.host, **ports, **tls)


def read_config(path: Path, given: Sequence[str]) -> list[str]:
    """The words that stand for a file of ``serve --config``, so that its values are checked alike.

    Each key is an option of the command; ``[limits]`` has the limits. An option that may be
    repeated is left out if it is ``given`` on the command line.
    """
    from devote.server.settings import LIMITS

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{path} is not TOML: {error}.\nWrite lines such as port = 8600."
        ) from None
    options = {
        option.attribute: option
        for option in COMMANDS["serve"].options
        if option.name not in CONFIG_EXCLUDES
    }
    limits = values.pop("limits", {})
    if not isinstance(limits, dict):
        raise CommandError(f"{path}: limits must be a table.\nWrite [limits] and lines below it.")
    found = []
    for name, value in _known(path, values, [*options, "limits"]).items():
        option = options[name]
        kind: Any = list if option.many else int if option.kind is KINDS["PORT"] else str
        if type(value) is not kind:
            meant = {list: 'a list of texts, such as ["..."]', int: "a whole number", str: "a text"}
            raise CommandError(f"{path}: {name} = {value!r} is not {meant[kind]}.\nCorrect it.")
        if not (option.many and any(word.startswith(option.name) for word in given)):
            found += [f"{option.name}={item}" for item in (value if option.many else [value])]
    for name, value in _known(path, limits, list(LIMITS)).items():
        if type(value) not in (int, float):
            raise CommandError(f"{path}: {name} = {value!r} is not a number.\nCorrect it.")
        found.append(f"--limit={name}={value}")
    return found


def _known(path: Path, values: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values by names as Python has them; refuse names that are not known."""
    spelt = {name.replace("-", "_"): value for name, value in values.items()}
    for name in spelt:
        if name not in names:
            raise CommandError(
                f"{path} has a key {name!r} that is not known.\n{did_you_mean(name, names)}"
                f"Use: {', '.join(names)}."
            )
    return spelt


@command(
    "experiments open",
    "spec SPEC  A specification: a .toml or .json file.",
    "--enrolment HOW  invite, or open for trying out. [invite]",
    "--players N  At most so many devices; needed to recognise a stall.",
    "--baseline ARM  The option that users have today, with which the page compares.",
    "--log WHO  Who may read the log: public, or operator (bearers of a token). [public]",
    "--ends WHEN  When it closes by itself: a date in UTC, or 30d.",
    "--delete-after WHEN  When the server deletes it by itself.",
    *(*AS_OPERATOR, IMPORT),
)
def experiments_open(given: Namespace) -> None:
    """Open an experiment and print the address that devices join.

    Example:
        devote experiments open banner.toml --players 500
      where banner.toml holds
        name = "banner"
        arms = ["red", "green", "blue"]
    """
    from devote.boards.board import Experiment

    others = {"baseline": given.baseline or "", "log": given.log}
    spec = read_spec_file(given.spec)
    experiment = Experiment(spec, given.enrolment, given.players, **others)
    named = {"ends": given.ends, "delete_after": given.delete_after}
    moments = {name: text and read_moment(text) for name, text in named.items()}
    with call_operator(given) as calls:
        address = calls.open(experiment, **moments)
    answer(given.json, {"address": address, **_named(experiment.to_dict())}, address)


@command(
    "experiments list", "--all  The archived ones too; needs the token.", *(*AS_OPERATOR, IMPORT)
)
def experiments_list(given: Namespace) -> None:
    """The experiments on a server: how they stand, how many take part, and what came of them.

    Without the operator's token it shows what is public: no invites, and nothing archived.

    Example:
        devote experiments list
    """
    with call_operator(given, public=not given.all) as calls:
        found = calls.overview()
    items = [_named(item) for item in found if given.all or item["state"] != "archived"]
    heads = ["experiment", "state", "devices", "messages", "answer"]
    heads += ["invites"] if items and "invites" in items[0] else []
    answer(given.json, items, table("bl", heads, map(_experiment_row, items)))


def _experiment_row(item: dict[str, Any]) -> list[str]:
    from devote.boards.board import ExperimentState

    devices = number(item["enrolled"])
    devices += "" if item["n_players"] is None else f" of {number(item['n_players'])}"
    devices += f", {number(item['revoked'])} revoked" if item.get("revoked") else ""
    found = "none yet"
    if item["mismatch"]:
        found = "nothing proved: answers are missing for a reason"
    elif item["status"] != "open":
        stalled = item["status"] == "stalled"
        found = f"stalled: {' or '.join(item['answer'])}" if stalled else ", ".join(item["answer"])
    found += f"; withdrawn: {', '.join(item['withdrawn'])}" if item["withdrawn"] else ""
    state = ExperimentState(item["state"], item["ends"], item["delete_after"]).words
    row = [item["name"], state, devices, number(item["messages"]), found]
    if invites := item.get("invites"):
        kinds = ("used", "open", "expired")
        counts = [f"{number(invites[kind])} {kind}" for kind in kinds if invites[kind]]
        row.append(", ".join(counts) or "none")
    return row


def _named(values: dict[str, Any]) -> dict[str, Any]:
    """By the names that all commands use: the wire's ``players`` is ``n_players``."""
    return {"n_players" if name == "players" else name: one for name, one in values.items()}


def _change(given: Namespace, **change: Any) -> None:
    with call_operator(given) as calls:
        state = calls.change(given.experiment, **change)
    value = {"name": given.experiment, **vars(state)}
    answer(given.json, value, f"{given.experiment} is {state.words}.")


def _puts_into(state: str, name: str, does: str) -> None:
    """Make the command that puts an experiment into a state."""

    def run(given: Namespace) -> None:
        _change(given, state=state)

    run.__doc__ = f"{does}\n\nExample:\n    devote experiments {name} banner\n"
    command(f"experiments {name}", NAME, *AS_OPERATOR, IMPORT)(run)


_puts_into(
    "closed", "close", "Take no new messages and devices; all can be read, and devices play on."
)
_puts_into(
    "open", "reopen", "Take messages and devices again; an end date that has passed is removed."
)
_puts_into("archived", "archive", "Close an experiment and list it no more; its log stays.")


@command(
    "experiments end",
    NAME,
    "when WHEN  2027-01-31, 2027-01-31T18:00, 30d, or never.",
    *(*AS_OPERATOR, IMPORT),
)
def experiments_end(given: Namespace) -> None:
    """Set when an experiment closes by itself, by the server's clock; times are in UTC.

    Examples:
        devote experiments end banner 2027-01-31T18:00
        devote experiments end banner never
    """
    _change(given, ends=None if given.when == "never" else read_moment(given.when))


@command(
    "withdraw",
    NAME,
    "arm ARM  The option's name.",
    *(*AS_OPERATOR, IMPORT),
)
def withdraw(given: Namespace) -> None:
    """Withdraw an option that is broken: no device is asked about it any more, and it cannot win.

    Everybody sees it in the log, and it cannot be undone. Devices that have shown the option still
    answer. If options are withdrawn because of what was answered, the error that is proved grows:
    m withdrawals cost (m + 1) delta.

    Example:
        devote withdraw banner blue
    """
    with call_operator(given) as calls:
        done = calls.withdraw(given.experiment, given.arm)
    bound = done["bounds"][-1]
    text = f"{given.arm} is withdrawn from {given.experiment}, as message {done['number']:,}. "
    text += f"The error is at most {bound['value']:.3g} now ({bound['name']})."
    answer(given.json, {"experiment": given.experiment, "arm": given.arm, **done}, text)


@command(
    "experiments delete",
    NAME,
    "--yes  Do not ask.",
    "--after WHEN  Later, by itself: a date in UTC, 90d, or never.",
    *(*AS_OPERATOR, IMPORT),
)
def experiments_delete(given: Namespace) -> None:
    """Delete an experiment with all its messages, for good. Its name cannot be used again.

    Examples:
        devote experiments delete banner
        devote experiments delete banner --after 2027-06-30
    """
    name = given.experiment
    if given.after is not None:
        _change(given, delete_after=None if given.after == "never" else read_moment(given.after))
        return
    with call_operator(given) as calls:
        found = {item["name"]: item for item in calls.overview()}.get(name)
        if found is not None and not given.yes:
            size = f"{found['messages']:,} messages of {found['enrolled']:,} devices"
            show(f"This deletes {name} with {size} for good. Type its name to go on:", error=True)
            if sys.stdin.readline().strip() != name:
                raise CommandError(f"{name} was not deleted.\nType its name, or give --yes.")
        calls.delete(name)
    answer(given.json, {"deleted": name}, f"{name} is deleted.")


@command(
    "experiments export",
    NAME,
    "--output FILE  Where to; by default the experiment's name and .jsonl.",
    *(*AS_OPERATOR, IMPORT),
)
def experiments_export(given: Namespace) -> int:
    """Write the whole log to a file of JSON lines, checked message by message.

    `devote verify FILE` checks the file again, without the server. It needs a token only if the
    experiment was opened with --log operator.

    Example:
        devote experiments export banner --output banner.jsonl
    """
    from devote.boards.logs import HttpLog, LogCopy
    from devote.boards.verification import verify_log

    file = given.output or Path(f"{given.experiment}.jsonl")
    check_writable(file, new=True)
    url = f"{_server(given).rstrip('/')}/experiments/{given.experiment}"
    with (
        progress_bar() as progress,
        LogCopy(file) as copy,
        HttpLog(url, token=_log_token(given), copy=copy, progress=progress) as log,
    ):
        report = verify_log(log, progress=progress)
    n, check = report.messages, f"devote verify {file}"
    value = {"file": str(file), "messages": n, "head": report.head, "ok": report.ok}
    answer(given.json, value, f"{file}: {n:,} messages. Check it with `{check}`.")
    if not report.ok:
        note(f"something is wrong with this log: {check}")
    return int(not report.ok)


def _log_token(given: Namespace) -> str | None:
    """The token to read a log with, if one is there: most logs need none."""
    if given.token_file is None:
        return os.environ.get("DEVOTE_TOKEN")
    return (_token_file(given).read_text().split() or [""])[0]


AT_ONCE = 10_000
"""Invites that are made by one call; the server's default limit."""


@command(
    "invites",
    NAME,
    "--count COUNT  How many. [1]",
    "--expires WHEN  When they stop being good: a date in UTC, or 30d.",
    "--links  As links that a device can join by.",
    "--link-to URL  Links to this page of yours, with the invite after a #.",
    "--output FILE  A new file, readable by you only; else they are printed.",
    *AS_OPERATOR,
)
def invites(given: Namespace) -> None:
    """Make invites, one per line. The server keeps only their hashes: they are shown once.

    In a link the invite stands after the #, which browsers send to no server.

    Examples:
        devote invites banner --count 1000 > invites.txt
        devote invites banner --count 20000 --expires 30d --links --output links.txt
    """
    expires = None if given.expires is None else read_moment(given.expires)
    if given.link_to is not None and "#" in given.link_to:
        raise CommandError(
            f"--link-to {given.link_to!r} has a # already.\nLeave it out; one is added."
        )
    if given.output is not None:
        check_writable(given.output, new=True)

    def batches(calls: "Operator") -> Iterator[list[str]]:
        for start in range(0, given.count, AT_ONCE):
            size = min(AT_ONCE, given.count - start)
            made = calls.invites(given.experiment, size, expires)
            page = given.link_to or (calls.joined_at if given.links else None)
            yield made if page is None else [f"{page}#invite={text}" for text in made]

    with call_operator(given) as calls:
        if given.output is None:
            made = list(chain.from_iterable(batches(calls)))
        else:
            _write_private(given.output, batches(calls))
    value: dict[str, Any] = {"experiment": given.experiment}
    if given.output is None:
        answer(given.json, {**value, "invites": made}, *made)
    else:
        value |= {"file": str(given.output), "count": given.count}
        answer(given.json, value, f"{given.output}: {given.count:,} invites.")


def _write_private(output: Path, batches: Iterator[list[str]]) -> None:
    """Write each batch as it comes: invites that were made are never lost by a later failure."""
    first = next(batches)  # nothing is written if none can be made
    with open(os.open(output, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        for batch in chain([first], batches):
            file.writelines(f"{text}\n" for text in batch)
            file.flush()
        os.fsync(file.fileno())


@command(
    "revoke",
    NAME,
    "--device KEY...  A device, by its key.",
    "--invite TEXT...  An invite or a link.",
    "--invites FILE  All invites of a file that `devote invites` wrote.",
    "--all-invites  All invites that were not used yet.",
    *AS_OPERATOR,
)
def revoke(given: Namespace) -> None:
    """Take nothing more from a device, or let nobody enrol by an invite any more.

    What a device sent before it was revoked stays and counts. A device has its key in
    `device.status().voter`; nothing links an invite that was used to the key that used it.

    Examples:
        devote revoke banner --device 4cb5ab...
        devote revoke banner --invites lost.txt
    """
    texts = [*given.invite, *(given.invites.read_text().split() if given.invites else ())]
    texts = [text.rpartition("#invite=")[2] for text in texts]
    if not given.device and not texts and not given.all_invites:
        raise CommandError(
            "There is nothing to revoke.\nGive --device, --invite, --invites or --all-invites."
        )
    with call_operator(given) as calls:
        done = calls.revoke(given.experiment, voters=given.device, invites=texts)
        if given.all_invites:
            done += calls.revoke_all_invites(given.experiment)
    text = f"{done.devices:,} devices and {done.invites:,} invites are revoked."
    if done.unknown:
        text += f" {done.unknown:,} were not there: devices not enrolled, or invites used before."
    answer(given.json, vars(done), text)


TOKENS = (
    "--token-file FILE  The file of the server's tokens. [devote-server.db.token]",
    "--scope SCOPE  operator, inviter (of one experiment), or reader.",
    "--experiment NAME  The experiment of an inviter.",
    JSON,
)


@command("token rotate", *TOKENS, scope="operator")
def token_rotate(given: Namespace) -> None:
    """Put a new token into its file. Servers take it at once, and the old one no longer.

    Run it where the server runs. Copy the file to other servers, and to where you call from. To
    replace one without a gap, add another first and remove the old one later.

    Example:
        devote token rotate --token-file devote-server.db.token
    """
    from devote.server.settings import write_token

    made = write_token(_token_file(given), _grant(given))
    shown = {} if given.scope == "operator" else {"token": made}
    line_1 = f"A new token is in {given.token_file}; the old one is no longer good."
    value = {"token_file": str(given.token_file), **shown}
    answer(given.json, value, *(line_1, *shown.values()))


@command("token add", *TOKENS)
def token_add(given: Namespace) -> None:
    """Make one more token, with a scope of its own, and print it. Servers take it at once.

    An inviter makes invites for one experiment and does nothing else; a reader looks at the
    overview.

    Examples:
        devote token add --scope inviter --experiment banner > shop.token
        devote token add --scope reader
    """
    from devote.server.settings import write_token

    made = write_token(_token_file(given), _grant(given), keep=True)
    answer(given.json, {"token": made, "scope": given.scope}, made)


@command("token list", TOKENS[0], JSON)
def token_list(given: Namespace) -> None:
    """List what the tokens of a server allow, with their first four characters.

    Example:
        devote token list
    """
    from devote.server.settings import read_tokens

    found = read_tokens(_token_file(given).read_text())
    value = [{"begins": text[:4], **vars(grant)} for text, grant in found.items()]
    rows = [f"{text[:4]}...  {grant}" for text, grant in found.items()]
    answer(given.json, value, *rows)


@command("token remove", "begins BEGINS  Its first characters.", TOKENS[0], JSON)
def token_remove(given: Namespace) -> None:
    """Take a token away. Servers take it no longer.

    Example:
        devote token remove q7Lw
    """
    from devote.server.settings import remove_token

    removed = remove_token(_token_file(given), given.begins)
    answer(given.json, {"removed": str(removed)}, f"The token of {removed} is gone.")


def _grant(given: Namespace) -> "Grant":
    from devote.server.settings import SCOPES, Grant

    if given.scope not in SCOPES:
        raise CommandError(f"scope {given.scope!r} is not known.\nUse one of: {', '.join(SCOPES)}.")
    if (given.scope == "inviter") != bool(given.experiment):
        raise CommandError("An inviter needs --experiment, and no other scope takes it.")
    return Grant(given.scope, given.experiment or "")


def _token_file(given: Namespace) -> Path:
    file: Path = given.token_file
    if not file.is_file():
        raise CommandError(
            f"There is no token in {file}.\nGive --token-file; `devote serve` makes it."
        )
    return file


@command(
    "backup",
    "copy FILE  A new file for the copy.",
    "--store FILE|NATS  The store of `devote serve`. [devote-server.db]",
    JSON,
)
def backup(given: Namespace) -> None:
    """Copy a store to a new file while its server runs, as of one moment.

    Of a store on NATS too: the copy is a file that can be served, or moved back with `devote
    migrate`. The operator's token is not in it: keep that file too.

    Examples:
        devote backup monday.db
        devote backup monday.db --store nats://10.0.0.1,10.0.0.2,10.0.0.3
    """
    from devote.boards.backup import back_up
    from devote.boards.store import is_nats

    check_writable(given.copy)
    shown = re.sub("//[^/]*@", "//", given.store)  # without the login in its address
    if is_nats(given.store):
        from devote.boards.jetstream.migration import back_up as back_up_nats
        from devote.boards.jetstream.store import JetStreamStore

        with closing(JetStreamStore(given.store)) as store:
            size = back_up_nats(store, given.copy)
    else:
        size = back_up(Path(given.store), given.copy)
    value = {"store": shown, "file": str(given.copy), "bytes": size}
    answer(given.json, value, f"{given.copy}: a copy of {shown}, {size:,} bytes.")


@command(
    "restore",
    "copy FILE  A copy that a backup has made.",
    "--store FILE  The store of `devote serve`. [devote-server.db]",
    JSON,
)
def restore(given: Namespace) -> None:
    """Put a copy in the place of a store, whose server must not run; the old one is set aside.

    Example:
        devote restore monday.db
    """
    from devote.boards.backup import put_back

    check_writable(given.store)
    aside = put_back(given.copy, given.store)
    was = "" if aside is None else f" What was there is now {aside}."
    value = {
        "store": str(given.store),
        "file": str(given.copy),
        "set_aside": None if aside is None else str(aside),
    }
    answer(given.json, value, f"{given.store} holds what {given.copy} does.{was}")


@command(
    "migrate",
    "store FILE  The store of a server, stopped.",
    "nats NATS  Where to move it: nats://HOST:PORT,...",
    "--experiment NAME...  Only this one. Default: all.",
    JSON,
)
def migrate(given: Namespace) -> None:
    """Move experiments from a file to NATS, where any number of servers share them.

    Devices, unused invites and messages go along, and are read back and compared. The board stays
    the same: devices go on once they reach a server of the new store. The file is not changed.
    Stop its server first, and do not serve it again.

    Examples:
        devote migrate devote-server.db nats://10.0.0.1:4222,10.0.0.2:4222,10.0.0.3:4222
    """
    from devote.boards.database import StoreError
    from devote.boards.jetstream.connection import NatsAddress
    from devote.boards.jetstream.migration import migrate as move
    from devote.boards.jetstream.store import JetStreamStore
    from devote.boards.store import SqliteStore

    address = NatsAddress.parse(given.nats)
    if not given.store.exists():
        raise StoreError(f"There is no file {str(given.store)!r}.\nGive the store of a server.")
    with ExitStack() as stack:
        source = stack.enter_context(closing(SqliteStore(given.store)))
        names = given.experiment or [each.name for each in source.experiments()]
        for name in names:
            source.spec(name)  # before anything is moved
        target = stack.enter_context(closing(JetStreamStore(given.nats)))
        for name in names:
            moved = move(source, target, name)
            done = "moved, read back, the same" if moved.new else "there already, the same"
            size = f"{moved.messages:,} messages, {moved.devices:,} devices"
            text = f"{name}: {size}, {moved.invites:,} unused invites: {done}"
            answer(given.json, asdict(moved), text)
    note(f"serve it with `devote serve --store {address}`")


HEAD = re.compile(r"(\d{1,15}):([0-9a-f]{64})")


@command(
    "verify",
    "log URL|FILE  An experiment's address, or a saved log.",
    "--store FILE...  Check that all that the device of this store has read and sent is there.",
    "--against FILE  Check that all of a log saved earlier is still there.",
    "--head N:HEAD...  Check that the log is the same up to N as another reader's.",
    "--snapshots FILE...  What servers signed for devices, from `devote device snapshots`.",
    "--save FILE  Keep a copy of the log here.",
    "--token-file FILE  A token, for an experiment with --log operator.",
    JSON,
)
def verify(given: Namespace) -> int:
    """Read a whole log, check every message, and count it again.

    Checks numbers, signatures, enrolment, doubles and the rules of the scheme, and compares the
    count with what the server shows. Exit code 0: all is well; 1: something is
    wrong, and what; 2: the log could not be read.

    Examples:
        devote verify http://127.0.0.1:8600/experiments/banner --save monday.jsonl
        devote verify http://127.0.0.1:8600/experiments/banner --against monday.jsonl
        devote verify http://127.0.0.1:8600/experiments/banner --store device.db
        devote verify monday.jsonl
    """
    from devote.boards.logs import LogCopy, SavedLog
    from devote.boards.verification import verify_log
    from devote.device.store import remember
    from devote.page.page import summarize, view

    known: list[Statement] = [read_head(text) for text in given.head]
    known += [found for path in given.snapshots for found in read_snapshot_file(path)]
    if given.save is not None:
        check_writable(given.save)
        if given.save in (given.against, Path(given.log)):
            raise CommandError(
                f"--save {given.save} would replace the copy that is compared with.\n"
                "Keep that one, and choose another name."
            )
    with ExitStack() as stack:
        enter = stack.enter_context
        earlier = None if given.against is None else enter(SavedLog(given.against))
        progress = enter(progress_bar())
        copy = None if given.save is None else enter(LogCopy(given.save))
        source = enter(_open_log(given, copy=copy, progress=progress))
        name = source.experiment.name
        remembered = [remember(path, name) for path in given.store]
        if earlier is not None:
            if earlier.experiment.name != name:
                raise CommandError(
                    f"{given.against} is a log of {earlier.experiment.name!r}, not of {name!r}.\n"
                    "Give an earlier copy of the same log."
                )
            remembered.append(earlier.remembered())
        report = verify_log(
            source,
            statements=known,
            remembered=remembered,
            draws={"page": view, "list": summarize},
            progress=progress,
        )
    answer(given.json, _report_value(report), *_report(report))
    return int(not report.ok)


def read_head(text: str) -> "Statement":
    """A head as another reader has printed it, with the number up to which it reaches."""
    from devote.boards.logs import Statement

    found = HEAD.fullmatch(text.strip())
    if found is None:
        raise CommandError(
            f"--head {text!r} is not a head.\nGive one as `devote verify` prints it: a number, a "
            "colon, and 64 digits and letters from a to f."
        )
    return Statement("head", int(found[1]), {"head": found[2]}, "--head")


def read_snapshot_file(path: Path) -> "list[SignedStatement]":
    """The snapshots in a file, each with the board and the fingerprint that it is of."""
    from devote.boards.logs import snapshot_of
    from devote.protocol.messages import Scope

    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        board, fingerprint, text = [*line.split(" ", 2), "", ""][:3]
        found.append(snapshot_of(text, Scope(board, fingerprint), path.name))
    return found


def _open_log(given: Namespace, **options: Any) -> "Log":
    """The log at an address or in a file."""
    from devote.boards.board import is_address
    from devote.boards.logs import HttpLog, SavedLog

    log = given.log
    if not Path(log).is_file() and (is_address(log) or "/experiments/" in log):
        return HttpLog(log, token=_log_token(given), **options)
    return SavedLog(log, **options)


def _report_value(report: "Report") -> dict[str, Any]:
    spec = report.experiment.spec
    same = ("ok", "messages", "voters", "enrolled", "status", "number", "head")
    segments = [
        {"name": name, "status": status, "leader": spec.arm_names[leader]}
        for name, (status, leader) in zip(
            spec.scheme.sending.segments, report.segments, strict=True
        )
    ]
    return {
        "experiment": spec.name,
        "board": report.experiment.board,
        "fingerprint": spec.fingerprint,
        "scheme": spec.scheme.name,
        "answer": [spec.arm_names[arm] for arm in report.answer],
        **({"segments": segments} if segments else {}),
        **{name: getattr(report, name) for name in same},
        "bounds": [asdict(bound) for bound in report.bounds],
        "withdrawn": [spec.arm_names[arm] for arm in report.withdrawn],
        "mismatch": report.mismatch,
        "checked": dict(report.checked),
        "wrong": dict(report.wrong),
        "findings": [asdict(finding) for finding in report.findings],
        "unchecked": list(report.unchecked),
    }


def _report(report: "Report") -> Iterator[Cell]:
    """The verdict, each check, what is wrong, and what this cannot tell."""
    from devote.boards.verification import CHECKS

    spec, wrong = report.experiment.spec, sum(report.wrong.values())
    size = f"{report.messages:,} messages of {report.voters:,} voters, {report.enrolled:,} enrolled"
    yield words(f"{spec.name} ({spec.scheme.name}): {size}")
    if report.ok:
        yield ("All is well.", "bold green")
    else:
        yield (f"WRONG: {wrong:,} {'finding' if wrong == 1 else 'findings'}.", "bold red")
    rows = [
        (check, f"{report.checked[check]:,}", str(report.wrong[check] or "-"), meaning)
        for check, meaning in CHECKS.items()
    ]
    yield ""
    yield table("brrl", "check,checked,wrong,what is counted", rows)
    yield ""
    if not report.ok:
        yield ("What is wrong", "bold")
        for finding in report.findings:
            where = "" if finding.number is None else f"message {finding.number:,}: "
            yield indented(f"{finding.check}: {where}{finding.text}")
        if wrong > len(report.findings):
            yield indented(f"and {wrong - len(report.findings):,} more")
        yield ""
    yield ("What this cannot tell", "bold")
    yield from map(indented, report.unchecked)
    found = ", ".join(spec.arm_names[arm] for arm in report.answer)
    yield ""
    yield words(f"The good messages come to: {report.status}, {found}")
    for name, (status, leader) in zip(spec.scheme.sending.segments, report.segments, strict=True):
        how = "settled on" if status == "agreed" else "undecided, in the lead:"
        yield words(f"  {name}: {how} {spec.arm_names[leader]}")
    if report.withdrawn:
        gone = ", ".join(spec.arm_names[arm] for arm in report.withdrawn)
        yield words(f"The operator has withdrawn: {gone}.")
    if report.mismatch:
        yield (report.mismatch, "bold red")
    elif report.bounds and report.status == "agreed":
        bound = report.bounds[-1]
        yield words(f"Wrong with probability at most {bound.value:.3g} ({bound.name}).")
    if report.head is not None:
        yield f"head {report.number}:{report.head}"
