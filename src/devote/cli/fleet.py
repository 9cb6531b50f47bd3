"""The fleet: the demonstration, one device in the terminal, and devices without a server."""

import os
import random
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from devote.cli.options import (
    IMPORT,
    JSON,
    MEANS,
    SCHEME,
    SEED,
    SET,
    CommandError,
    command,
    read_means,
    read_scheme,
    read_spec_file,
)
from devote.cli.render import Cell, answer, console, note, number, show, table, words
from devote.errors import did_you_mean

if TYPE_CHECKING:
    from devote.boards.board import Experiment
    from devote.boards.identity import Identity
    from devote.demo.demonstration import Outcome
    from devote.device import Device
    from devote.gossip import GossipBoard, GossipSettings, Ticket
    from devote.gossip.exchange import Answers, PeerHealth
    from devote.protocol import ExperimentSpec, Message


@command(
    "demo",
    "--players N  Number of devices; 64, and 3,000 in a survey.",
    "--chaos  Kill server and devices as it goes.",
    "--gossip  No server: 32 devices, and a network that breaks in two.",
    *(MEANS, SCHEME, SET, SEED, JSON),
)
def demo(given: Namespace) -> None:
    """The main job end to end: ten banners, 64 real devices with hidden users, and a server.

    In a terminal its page stays until Enter or Ctrl-C.

    Examples:
        devote demo
        devote demo --chaos
        devote demo --players 100 --means .8,.4,.4,.1
        devote demo --scheme jury --set seats=9
        devote demo --scheme survey --set privacy=2
        devote demo --gossip
    """
    from rich.status import Status

    from devote.demo.demonstration import MEANS as RATES
    from devote.demo.demonstration import Happening, banner_experiment, demonstrate, quickly
    from devote.problems import Problem

    rates = RATES if given.means is None else read_means(given.means)
    Problem("hidden", rates)  # refuses what cannot be a click rate
    scheme = read_scheme(given.scheme, quickly(given.scheme, given.set))
    if scheme.sending.segments:
        raise CommandError(
            "The users of this demonstration are of one kind.\n"
            "Leave segments out; make banner shows them."
        )
    if given.gossip:
        from devote.demo.gossip import DEVICES, between_peers, demonstrate_gossip

        if given.chaos:
            raise CommandError("--gossip has no server to kill.\nLeave out --chaos.")
        experiment = between_peers(scheme, players=given.players or DEVICES, arms=len(rates))
        story = demonstrate_gossip(experiment, means=rates, seed=given.seed)
    else:
        experiment = banner_experiment(scheme, players=given.players, arms=len(rates))
        story = demonstrate(experiment, means=rates, chaos=given.chaos, seed=given.seed)
    page = ""
    status = Status("starting ...", console=console(quiet=given.json))
    with _interrupted_with_its_terminal(), closing(story), status:
        if not given.json:
            show(*_introduction(experiment))
        for item in story:
            if not isinstance(item, Happening):
                status.stop()
                answer(given.json, item.to_dict(), *conclusion(item))
                if page and not given.json and sys.stdin.isatty() and sys.stdout.isatty():
                    _wait_for_enter(page)
            elif item.kind == "messages":
                status.update(words(f"{item.text} so far"))
            elif not given.json:
                page = item.text if item.kind == "open" else page
                text = f"watch it at {page}" if item.kind == "open" else item.text
                style = {"open": "bold", "chaos": "red"}.get(item.kind, "")
                show(words((f"{item.seconds:5.1f} s  ", "dim"), (text, style)))


@contextmanager
def _interrupted_with_its_terminal() -> Iterator[None]:
    """Let SIGTERM and SIGHUP act as Ctrl-C does: no server and no devices outlive the command."""
    named = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    numbers = [n for n in named if n is not None and signal.getsignal(n) is not signal.SIG_IGN]
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _wait_for_enter(page: str) -> None:
    """Until then the demonstration's server runs on."""
    with suppress(KeyboardInterrupt):
        show("", f"The page stays at {page} until you press Enter or Ctrl-C.")
        sys.stdin.readline()


def _introduction(experiment: "Experiment") -> Iterator[str]:
    from devote.schemes import Vote

    spec = experiment.spec
    yield f"{experiment.players} devices look for the best of {spec.n_arms} banners."
    yield "What users click stays on their device."
    if Vote in spec.scheme.about.messages:
        yield "Devices only send each other which banners are not good enough."
        yield f"{spec.votes_needed} such votes drop a banner."
    else:
        summary = spec.scheme.about.summary
        here = "" if spec.votes_needed is None else f" (here {spec.votes_needed})"
        yield f"{summary[:1].upper()}{summary[1:]}{here}."
    yield ""


EAVESDROPPED = 4


def conclusion(outcome: "Outcome") -> Iterator[Cell]:
    """The answer, what it cost, what an eavesdropper saw, and the truth beside it."""
    from devote.schemes import Answer

    spec, tally = outcome.experiment.spec, outcome.tally
    arms, view = spec.arm_names, tally.view()
    winner = tally.answer[0] if outcome.status == "agreed" else None
    yield ""
    if winner is not None:
        yield (f"The answer: {arms[winner]}", "bold green")
    else:
        names = ", ".join(arms[k] for k in tally.answer)
        yield (f"Stalled: the devices could not agree between {names}", "bold")
    estimates = view.get("estimates")
    heads = ("banner", view["heading"], *(["estimated"] if estimates else []), "hidden click rate")
    rates = table("lr", heads, ())
    for k, mean in enumerate(outcome.means):
        truth = f"{mean:.2f}" + ("  <- the best" if mean == max(outcome.means) else "")
        guess = [_interval(estimates[k])] if estimates else []
        style = "bold green" if k == winner else ""
        rates.add_row(words(arms[k]), f"{view['counts'][k]:,}", *guess, truth, style=style)
    yield rates
    yield ""
    n, size = len(outcome.messages), outcome.bytes_sent
    known = ", of which the server saw none"
    if not outcome.server_starts:
        known = ", which stayed where they were seen"
    elif Answer in spec.scheme.about.messages:
        known = f"; the server was sent one bit about {n:,} of them"
    yield f"{outcome.seconds:.0f} s, {number(outcome.pulls)} banner views{known}."
    yield f"{n:,} messages of {size:,} bytes in all (with signatures {size + 128 * n:,})."
    if outcome.server_kills or outcome.crowd_kills:
        yield (
            f"The server was killed {outcome.server_kills} times, processes full of devices "
            f"{outcome.crowd_kills} times."
        )
    elif outcome.chaos:
        yield "It was over before anything could be killed; use more players."
    yield ""
    yield "All that an eavesdropper saw of the device that sent most:"
    for message in outcome.busiest[:EAVESDROPPED]:
        yield words("  ", (f"{message.voter[:12]}...", "dim"), f" {_words(spec, message)}")
    if (more := len(outcome.busiest) - EAVESDROPPED) > 0:
        yield f"  ... and {more} more like it, and when each was sent"
    yield ("What that gives away, and what it does not: docs/guarantees.md", "dim")


def _interval(estimate: list[float] | None) -> str:
    """An estimate with the ends of its interval, or a dash."""
    return "-" if estimate is None else "{:.2f}  [{:.2f}, {:.2f}]".format(*estimate)


def _words(spec: "ExperimentSpec", message: "Message") -> str:
    from devote.protocol.messages import kind_of
    from devote.schemes import Answer, Vote

    arm = getattr(message, "arm", None)
    name = "" if arm is None else repr(spec.arm_names[arm])
    if isinstance(message, Vote):
        return f"votes: {name} is not good enough"
    if isinstance(message, Answer):
        noise = "" if getattr(spec.scheme, "privacy", None) is None else ", which may be noise"
        return f"answers {name}: {message.bit}{noise}"
    return f"sends: {kind_of(message).name} {name}".rstrip()


@command(
    "device",
    "url URL  The experiment's address.",
    "--store FILE  Where the device keeps its state. [device.db]",
    "--invite TEXT  A single-use invite; needed the first time only.",
    "--means LIST  Click rates of a user to play for you.",
    "--segment NAME  Which kind of user you are, where there are segments; it is not sent.",
    "--gossip NAME=VALUE...  Without a server: listen=HOST:PORT, announce, allow, period, "
    "certificate, key, authority, mutual, discover.",
    "--page  Without a server: show the page where this device listens.",
    "--stay  Go on exchanging messages after the answer, until Ctrl-C.",
    "--pulls COUNT  Stop after so many, or at the answer.",
    *(SEED, JSON, IMPORT),
)
def device(given: Namespace) -> None:
    """Join an experiment: with made-up clicks, or asking you at each turn (0..1, or an empty line).

    What you answer stays in the store; only the messages of the scheme leave. In a survey one
    noisy bit leaves a minute or so after the first turn. Stop with Ctrl-D or Ctrl-C and go on
    later with the same store.

    Examples:
        devote device http://127.0.0.1:8600/experiments/banner --invite ...
        devote device http://127.0.0.1:8600/experiments/banner --means .7,.5,.3 --pulls 1000
        devote device gossip://10.0.0.7:7700/banner --invite 3.json --gossip listen=0.0.0.0:7700
    """
    from devote.device import Device

    rates = None if given.means is None else read_means(given.means)
    board = None
    if given.url.startswith("gossip:"):
        board = _gossip_board(given)
    elif given.gossip or given.page:
        raise CommandError("--gossip and --page need a gossip:// address.\nLeave them out.")
    with Device.join(given.url, store=given.store, invite=given.invite, board=board) as joined:
        if rates is None:
            user = ask(joined.arms, sys.stdin, lambda text: show(text, error=given.json))
        else:
            user = made_up(rates, joined.arms, given.seed)
        play(joined, user, given.pulls, given.segment)
        while (wait := joined.status().reply_in) is not None:
            show(f"An answer leaves in {wait:.0f} s; Ctrl-C keeps it for later.", error=True)
            time.sleep(wait + 0.01)
        joined.sync()
        if given.stay:
            show(*str(joined.status()).splitlines(), "Ctrl-C ends it.", error=True)
            with suppress(KeyboardInterrupt):
                while True:
                    time.sleep(1.0)
        status, best = joined.status(), joined.best()
    settled = () if status.state == "open" else status.answer
    found = [joined.arms[k] for k in (settled if best is None else (best,))]
    value = {
        "experiment": status.experiment,
        "voter": status.voter,
        "state": status.state,
        "freshness": status.freshness,
        "answer": found,
        "sent": len(status.sent),
        "waiting": len(status.waiting),
        "degraded": list(status.degraded),
    }
    text = f"the answer: {' or '.join(found) or 'none yet'}"
    answer(given.json, value, *str(status).splitlines(), text)


User: TypeAlias = Callable[[int], float | None]
"""Given an arm, it returns what that was worth, or None to stop."""


def play(device: "Device", user: User, most: int | None = None, segment: str | None = None) -> int:
    """Take turns while there is no answer and the user goes on; returns how many."""
    turns = 0
    while _is_open(device) and (most is None or turns < most):
        choice = device.choose(segment)
        worth = user(choice)
        if worth is None:
            break
        device.reward(worth, choice)
        turns += 1
    return turns


def _is_open(device: "Device") -> bool:
    return device.best() is None and device.status().state == "open"


def made_up(means: Sequence[float], arms: Sequence[str], seed: int) -> User:
    """A user who clicks on arm k with probability ``means[k]``."""
    if len(means) != len(arms):
        raise CommandError(
            f"{len(means)} means were given, but the experiment has {len(arms)} arms.\n"
            "Pass one mean for each arm."
        )
    dice = random.Random(f"{seed}/user")
    return lambda arm: float(dice.random() < means[arm])


def ask(arms: Sequence[str], answers: TextIO, say: Callable[[str], object]) -> User:
    """A person at a terminal, or a program writing lines; stops at the end of its input."""

    def user(arm: int) -> float | None:
        say(f"{arms[arm]}? (0 to 1)")
        for row in answers:
            try:
                worth = float(row.strip() or "0")
            except ValueError:
                worth = -1.0
            if 0.0 <= worth <= 1.0:
                return worth
            say("A number from 0 to 1, please: 1 for a click, 0 or an empty line for none.")
        return None

    return user


SETTINGS: dict[type, Callable[[str], Any]] = {
    bool: lambda text: {"true": True, "yes": True, "false": False, "no": False}[text.lower()],
    tuple: lambda text: tuple(part for part in text.split(",") if part),
    type(None): Path,
}
"""How a setting is read, by the type of its default; others by the type itself."""


def read_settings(pairs: Sequence[str]) -> "GossipSettings":
    """Settings written as name=value; networks in ``allow`` are separated by commas."""
    from devote.gossip import GossipSettings

    known = {item.name: item.default for item in fields(GossipSettings)}
    given: dict[str, Any] = {}
    for word in pairs:
        name, equals, text = word.partition("=")
        if name not in known or not equals:
            raise CommandError(
                f"--gossip {word!r} is not a setting.\n{did_you_mean(name, known)}"
                f"Write NAME=VALUE; the names are: {', '.join(known)}."
            )
        default = known[name]
        try:
            given[name] = SETTINGS.get(type(default), type(default))(text)
        except (KeyError, ValueError):
            raise CommandError(
                f"--gossip {word!r} has a value of the wrong kind.\nThe default is {default!r}."
            ) from None
    return GossipSettings(**given)


def _gossip_board(given: Namespace) -> "GossipBoard":
    """The board of a device without a server, with a page if that is wanted."""
    from devote.gossip import GossipBoard

    settings = read_settings(given.gossip)
    if given.page and not settings.listen:
        raise CommandError(
            "--page needs an address to show it at.\nAdd --gossip listen=127.0.0.1:7700."
        )

    def make_page(store: Any) -> Any:
        from devote.page.page import add_page
        from devote.server import Settings, create_app

        app = create_app(store, Settings(streams=32))  # the other connections are for peers
        add_page(app)
        return app

    return GossipBoard(
        given.url,
        given.store,
        ticket=given.invite,
        settings=settings,
        make_page=make_page if given.page else None,
    )


SPEC = "spec SPEC  A specification with an issuer: a .toml or .json file."
KEY = "--key FILE  The issuer's private key. [issuer.key]"


@command("certify key", "--out FILE  The issuer's private key. [issuer.key]", JSON)
def certify_key(given: Namespace) -> None:
    """Make the issuer's key and print its public half, for `issuer = "..."` in a specification.

    Whoever has the file decides who may vote. Make one for each experiment. A file that is there
    already is kept, and its public half printed again.

    Example:
        devote certify key
    """
    from devote.boards.identity import Identity

    if not given.out.exists():
        secret = Identity.generate().to_private_bytes().hex()
        with os.fdopen(os.open(given.out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as f:
            f.write(secret + "\n")
    public = _load_key(given.out).voter
    answer(given.json, {"issuer": public, "file": str(given.out)}, public)


def _load_key(key: Path) -> "Identity":
    from devote.boards.identity import Identity

    try:
        return Identity.from_private_bytes(bytes.fromhex(key.read_text().strip()))
    except FileNotFoundError:
        raise CommandError(
            f"This needs the issuer's key, and {key} is not there.\n"
            "Give --key; `devote certify key` made it."
        ) from None
    except ValueError:
        raise CommandError(
            f"{key} is not a private key.\nUse what `devote certify key` wrote."
        ) from None


@command(
    "certify request",
    SPEC,
    "stores [STORE...]  Where devices keep their state. Default: device.db.",
    *(JSON, IMPORT),
)
def certify_request(given: Namespace) -> None:
    """On a device: make its key, which never leaves it, and print the public half to be certified.

    Example:
        devote certify request banner.toml device.db
    """
    from devote.device.device import prepare_store

    spec = read_spec_file(given.spec)
    made = {str(s): prepare_store(s, spec) for s in given.stores or [Path("device.db")]}
    answer(given.json, made, *made.values())


@command("device snapshots", "store STORE  The store of a device that nobody has open.", JSON)
def device_snapshots(given: Namespace) -> None:
    """Print what the board's servers have signed for a device, a line each.

    A line has the board, the fingerprint, the number of messages, the moment, the head of the log,
    the digest of the tally and the signature: nothing of the device. With it anybody can check
    that all devices were shown the same log: `devote verify URL --snapshots FILE`. The moments
    tell when the device has read, to ten minutes.

    Example:
        devote device snapshots device.db > snapshots.txt
    """
    from devote.device.store import read_snapshots

    name, scope, found = read_snapshots(given.store)
    lines = [f"{scope.board} {scope.fingerprint} {text}" for text in found]
    answer(given.json, {"experiment": name, "snapshots": lines}, *lines)


@command(
    "certify issue",
    SPEC,
    "voters [VOTER...]  Keys.",
    "--from FILE  Keys, one per line.",
    KEY,
    "--out FOLDER  Where tickets are kept. [tickets]",
    "--peer HOST:PORT...  A peer to ask first.",
    *(JSON, IMPORT),
)
def certify_issue(given: Namespace) -> None:
    """Certify keys, one or many: each gets a ticket, a file with which its device joins.

    Numbers go on from the highest in the folder; a key that has a ticket there keeps its number.
    Keep the tickets there: a number that is given twice is also revoked twice.

    Example:
        devote certify issue banner.toml --from keys.txt --peer 10.0.0.7:7700
    """
    from devote.files import write_whole
    from devote.gossip import Certificate, Ticket
    from devote.gossip.settings import parse_address

    wanted = [*given.voters, *(given.from_.read_text().split() if given.from_ else ())]
    if not wanted:
        raise CommandError("No key was given.\nGive keys, or a file of them with --from.")
    spec, issuer = read_spec_file(given.spec), _load_key(given.key)
    for address in given.peer:
        parse_address(address, port_0=False)
    before = [_read_ticket(file) for file in sorted(given.out.glob("*.json"))]
    numbers = {t.certificate.voter: t.certificate.number for t in before}
    tickets: dict[Path, Ticket] = {}
    for voter in wanted:
        one = numbers.setdefault(voter, max(numbers.values(), default=0) + 1)
        certificate = Certificate.issue(issuer, spec, voter=voter, number=one)
        tickets[given.out / f"{one}.json"] = Ticket(spec, certificate, tuple(given.peer))
    given.out.mkdir(parents=True, exist_ok=True)
    for place, ticket in tickets.items():
        write_whole(place, (ticket.to_json() + "\n").encode())
    here = {t.certificate.voter for t in before if t.spec.fingerprint == spec.fingerprint}
    note(_split(spec, len(here.union(wanted))))
    made = [str(place) for place in tickets]
    value = {"experiment": spec.name, "fingerprint": spec.fingerprint, "tickets": made}
    answer(given.json, value, *made)


def _read_ticket(file: Path) -> "Ticket":
    from devote.gossip import GossipError, Ticket

    try:
        return Ticket.read(file)
    except GossipError as error:
        raise CommandError(
            f"{file}: {str(error).splitlines()[0]}\n"
            "Take it out of the folder, and issue anew for whoever had it."
        ) from None


def _split(spec: "ExperimentSpec", members: int) -> str:
    """Whether two parts of the network could decide differently for a while."""
    from devote.theory import split_possible

    votes, arms = spec.votes_needed or 1, spec.n_arms
    cause = f"{members} certificates, {arms} options, {votes} votes drop one"
    if votes > members:
        return f"{cause}: nothing can be decided before {votes} devices are certified."
    if not split_possible(members, votes, arms):
        liars = arms * votes - members * (arms - 1) - 1
        lie = f"at most {liars} of the devices lie" if liars else "none of the devices lies"
        return f"{cause}: parts of a cut network never decide differently, if {lie}."
    least = members * (arms - 1) // arms + 1
    return (
        f"{cause}: two parts of a cut network can each settle on another option, until it heals. "
        f"A quorum of {least} rules that out."
    )


@command(
    "certify revoke",
    SPEC,
    "number NUMBER...  Numbers of certificates.",
    KEY,
    "--tell HOST:PORT  Hand it to a device that listens there.",
    "--gossip NAME=VALUE...  TLS files for --tell, as of `devote device`.",
    *(JSON, IMPORT),
)
def certify_revoke(given: Namespace) -> None:
    """Take certificates back, for good: their voters' votes no longer count, on any device.

    The devices pass it on among themselves. It may undo a decision that rested on those votes.

    Example:
        devote certify revoke banner.toml 7 --tell 10.0.0.7:7700
    """
    from devote.gossip.credentials import Revocation, is_number

    spec, issuer = read_spec_file(given.spec), _load_key(given.key)
    if issuer.voter != spec.issuer:
        raise CommandError(f"{given.key} is not the issuer's key of {spec.name!r}.\nGive --key.")
    for one in given.number:
        if not is_number(one):
            raise CommandError(f"{one} is not the number of a certificate.\nThey begin at 1.")
    items = [
        {"revoked": one, "signature": Revocation.issue(issuer, spec, one).signature}
        for one in given.number
    ]
    if given.tell is not None:
        import asyncio

        from devote.gossip.http import hand_over

        asyncio.run(hand_over(read_settings(given.gossip), spec.fingerprint, given.tell, items))
    else:
        note("no device has it yet. Give --tell with the address of a device that listens.")
    done = "signed" if given.tell is None else "revoked"
    answer(given.json, items, *(f"{done}: {one}" for one in given.number))


STORE = "--store FILE  The device's store; the device may be running. [device.db]"


@contextmanager
def _peers(given: Namespace) -> "Iterator[Answers]":
    from devote.gossip.exchange import Answers
    from devote.gossip.peers import PeerBook
    from devote.gossip.votes import VoteSet

    settings = read_settings(getattr(given, "gossip", ()))
    votes = VoteSet(given.store)
    try:
        yield Answers(votes, PeerBook(votes, settings, random.Random()), settings)
    finally:
        votes.close()


@command("peers list", STORE, JSON)
def peers_list(given: Namespace) -> None:
    """The addresses that a device knows, and where each came from.

    Example:
        devote peers list --store device.db
    """
    with _peers(given) as own:
        known = sorted(own.peers.known.values(), key=lambda peer: peer.address)
    value = [
        {"address": p.address, "source": "operator" if p.given else "member", "voter": p.voter}
        for p in known
    ]
    rows = [(row["address"], row["source"], row["voter"][:12] or "-") for row in value]
    shown = table("bl", "address,source,member", rows)
    answer(given.json, value, shown)


def _changes_peers(name: str, change: str, done: str, does: str) -> None:
    """Make the command that changes which addresses a device knows."""

    def run(given: Namespace) -> None:
        with _peers(given) as own:
            getattr(own.peers, change)(given.address)
        answer(given.json, {done: given.address})

    run.__doc__ = f"{does}\n\nExample:\n    devote peers {name} 10.0.0.8:7700 --store device.db\n"
    command(f"peers {name}", "address HOST:PORT  Where a peer listens.", STORE, JSON)(run)


_changes_peers(
    *("add", "give", "added"),
    "Give a device the address of a peer; one that runs asks it within a minute or so.",
)
_changes_peers(
    *("remove", "forget", "removed"),
    "Remove an address; a device that runs drops it when it is started again.",
)


@command(
    "peers health", STORE, "--gossip NAME=VALUE...  As of `devote device`, such as TLS files.", JSON
)
def peers_health(given: Namespace) -> None:
    """Ask every known peer once: does it answer, who is it, does it hold the same votes?

    Example:
        devote peers health --store device.db
    """
    import asyncio
    from contextlib import aclosing

    from devote.gossip.exchange import check_peers
    from devote.gossip.http import Dialler

    async def check(own: "Answers") -> "list[PeerHealth]":
        async with aclosing(Dialler(own.settings)) as call:
            return await check_peers(own, call)

    with _peers(given) as own:
        found = asyncio.run(check(own))
    rows = [
        (
            each.address,
            each.state,
            "-" if each.member is None else str(each.member),
            each.detail if each.seconds is None else f"{1000 * each.seconds:.0f} ms",
        )
        for each in sorted(found, key=lambda each: each.address)
    ]
    shown = table("bl", "address,votes,member,answered", rows)
    answer(given.json, [asdict(each) for each in found], shown)
