"""``devote peers``: whom a device without a server knows."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli import options
from devote.cli.gossip import read_settings
from devote.cli.options import takes
from devote.cli.terminal import console, table, tell

if TYPE_CHECKING:
    from devote.gossip.exchange import Answers

StoreFile = Annotated[Path, takes("FILE", "The device's store; the device may be running.")]
Setting = Annotated[
    list[str] | None, takes("NAME=VALUE", "As of `devote device`, such as TLS files.", "--gossip")
]
Address = Annotated[str, typer.Argument(metavar="HOST:PORT", help="Where a peer listens.")]
STORE = Path("device.db")

peers = typer.Typer(add_completion=False, no_args_is_help=True)


def _open(store: Path, words: list[str] | None) -> "Answers":
    import random

    from devote.gossip.exchange import Answers
    from devote.gossip.peers import PeerBook
    from devote.gossip.votes import VoteSet

    settings = read_settings(words or [])
    votes = VoteSet(store)
    return Answers(votes, PeerBook(votes, settings, random.Random()), settings)


@peers.command("list")
def list_(store: StoreFile = STORE, json: options.Json = False) -> None:
    """The addresses that a device knows, and who told them.

    Example:
        devote peers list --store device.db
    """
    own = _open(store, None)
    known = sorted(own.peers.known.values(), key=lambda peer: peer.address)
    told = [
        {"address": p.address, "told by": "operator" if p.given else "member", "voter": p.voter}
        for p in known
    ]
    rows = [(row["address"], row["told by"], row["voter"][:12] or "-") for row in told]
    own.votes.close()
    heads = ("address", "told by", "member")
    tell(told, json, lambda _: console().print(table("bl", heads, rows)))


@peers.command()
def add(address: Address, store: StoreFile = STORE, json: options.Json = False) -> None:
    """Tell a device of a peer; one that runs asks it within a minute or so.

    Example:
        devote peers add 10.0.0.8:7700 --store device.db
    """
    own = _open(store, None)
    try:
        own.peers.give(address)
    finally:
        own.votes.close()
    tell({"added": address}, json, lambda _: None)


@peers.command()
def remove(address: Address, store: StoreFile = STORE, json: options.Json = False) -> None:
    """Forget an address; a device that runs forgets it when it is started again.

    Example:
        devote peers remove 10.0.0.8:7700 --store device.db
    """
    own = _open(store, None)
    own.peers.forget(address)
    own.votes.close()
    tell({"removed": address}, json, lambda _: None)


@peers.command()
def health(store: StoreFile = STORE, setting: Setting = None, json: options.Json = False) -> None:
    """Ask every known peer once: does it answer, who is it, does it hold the same votes?

    Example:
        devote peers health --store device.db
    """
    import asyncio
    from contextlib import aclosing

    from devote.gossip.exchange import PeerHealth, check_peers
    from devote.gossip.http import Dialler

    own = _open(store, setting)

    async def ask() -> "list[PeerHealth]":
        async with aclosing(Dialler(own.settings)) as call:
            return await check_peers(own, call)

    try:
        found = asyncio.run(ask())
    finally:
        own.votes.close()
    rows = [
        (
            each.address,
            each.state,
            "-" if each.member is None else str(each.member),
            each.detail if each.seconds is None else f"{1000 * each.seconds:.0f} ms",
        )
        for each in sorted(found, key=lambda each: each.address)
    ]
    heads = ("address", "votes", "member", "answered")
    tell([asdict(e) for e in found], json, lambda _: console().print(table("bl", heads, rows)))
