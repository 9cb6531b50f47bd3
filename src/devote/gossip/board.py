"""A board that is nowhere: each device has the whole of it and exchanges it with others.

To its device it is a board like any other. What is posted is in this device's own set at once and
is pushed to a few peers; rounds with random peers bring the rest. The numbers and the order are
this device's own: the schemes that can do without a server need none.

Until a peer has been met since the start, and again when none answers for a while, the board is
unavailable: a device that reaches nobody must not take its own votes for everybody's.
"""

import asyncio
import random
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from devote.boards.board import (
    BoardAlone,
    BoardRefused,
    BoardUnavailable,
    EnrolmentRefused,
    Envelope,
    Experiment,
    Outcome,
    Snapshot,
)
from devote.boards.database import StoreError
from devote.boards.identity import Identity
from devote.boards.sqlite import SqliteBoard
from devote.extras import naming_extras
from devote.gossip.credentials import Certificate, Ticket
from devote.gossip.exchange import Answers, PeerLied, Unreachable, meet, push
from devote.gossip.http import App, Dialler, Dials, GossipApp, Listener
from devote.gossip.peers import Peer, PeerBook
from devote.gossip.settings import GossipError, GossipSettings, parse_url
from devote.gossip.votes import Item, VoteSet

SILENCE = 5
"""Rounds without any answer after which a device counts as alone."""

PUSH_AFTER = 0.1
"""Seconds for which new votes are gathered before they are pushed."""

AT_ONCE = 4
"""Peers that are asked at a time."""

LONGEST = 6
"""A meeting takes at most so many times the patience for one answer; slow peers hold few others up.
"""

MANY = 50
"""More new votes than this at once are a backlog, which is not pushed on."""


class GossipBoard(SqliteBoard):
    """The votes beside the device store at ``store``, exchanged with the peers in ``url``.

    The first time it needs the ``ticket`` that the issuer made. ``make_page`` makes the page that
    it shows to people, from the store of the votes.
    """

    takes_back: ClassVar[bool] = True

    def __init__(
        self,
        url: str,
        store: str | Path,
        *,
        ticket: str | Path | None = None,
        settings: GossipSettings | None = None,
        dials: Callable[[GossipSettings], Dials] = Dialler,
        dice: random.Random | None = None,
        make_page: Callable[..., App] | None = None,
    ) -> None:
        addresses, name = parse_url(url)
        self.settings = settings or GossipSettings()
        self._ticket = None if ticket is None else Ticket.read(ticket)
        given = None if self._ticket is None else self._ticket.spec
        if given is not None and given.name != name:
            raise GossipError(
                f"The ticket is for experiment {given.name!r}, not for {name!r}.\nUse its address."
            )
        self.votes = VoteSet(store, given)
        try:
            super().__init__(self.votes.board, name)
            self.poll = None
            self._dice = dice or random.Random()
            self.peers = PeerBook(self.votes, self.settings, self._dice)
            for address in (*addresses, *(self._ticket.peers if self._ticket else ())):
                known = self.peers.known.get(address)
                if known is None or not known.given:
                    self.peers.give(address)
        except BaseException:
            self.votes.close(keep_unused=False)
            raise
        self.answers = Answers(self.votes, self.peers, self.settings)
        self.answers.on_new = self._on_new
        self._call: Dials | None = None
        self._dials = dials
        self._make_page = make_page
        self._listener: Listener | None = None
        self.app: GossipApp | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._meeting: dict[str, asyncio.Task[None]] = {}
        self._fresh: list[Item] = []
        self._has_fresh = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._met_at: int | None = None
        self._met = 0

    async def fetch_experiment(self) -> Experiment:
        """The experiment, as the ticket or the store has it."""
        self._check_company()
        return await super().fetch_experiment()

    async def enrol(self, identity: Identity, invite: str | None = None) -> Outcome:
        """Take this device's own certificate; refused if it is another's or none."""
        known = self.votes.certificates.get(identity.voter)
        certificate = self._certificate_of(identity)
        if certificate.number in self.votes.revoked:
            raise EnrolmentRefused(_revoked(certificate))
        self.votes.certify(certificate)
        return Outcome.DUPLICATE if known else Outcome.ACCEPTED

    def _certificate_of(self, identity: Identity) -> Certificate:
        """The certificate in the ticket, or the one that is known; BoardRefused if it is none."""
        known = self.votes.certificates.get(identity.voter)
        certificate = self._ticket.certificate if self._ticket else known
        if certificate is None or certificate.voter != identity.voter:
            whose = "none" if certificate is None else f"one of {certificate.voter[:12]}..."
            raise BoardRefused(
                f"This device's key is {identity.voter}, and the certificate is {whose}.\n"
                "Have this key certified: devote certify issue; then join again with its ticket."
            )
        return certificate

    async def begin(self, identity: Identity) -> None:
        """Listen, if that is wanted, and begin to exchange votes."""
        if self._tasks:
            return
        certificate = self._certificate_of(identity)
        if certificate.number not in self.votes.revoked:
            self.votes.certify(certificate)
        self._call = self._dials(self.settings)
        address = ""
        if self.settings.listen:
            self._listener = Listener(self.settings)
            address = self.settings.announce or _reachable(self._listener.address)
            page = None if self._make_page is None else self._make_page(self.votes.board)
            self.app = GossipApp(self.answers, self.settings, page)
            await self._listener.start(self.app)
        self.answers.introduce(identity, address, self.votes.next_start())
        self._loop = asyncio.get_running_loop()
        self._tasks = [
            asyncio.create_task(self._meet_forever()),
            asyncio.create_task(self._push_forever()),
        ]
        if self.settings.discover:
            with naming_extras():
                from devote.gossip.discovery import discover

            self._tasks.append(asyncio.create_task(discover(self.answers)))

    @property
    def address(self) -> str:
        """Where this device listens, empty if nowhere."""
        return "" if self._listener is None else self._listener.address

    async def publish(self, envelope: Envelope) -> Outcome:
        """Put a message into this device's set, and push it to a few peers."""
        try:
            receipt, item = await asyncio.to_thread(self.votes.post, envelope)
        except StoreError as error:
            raise BoardUnavailable(str(error)) from error
        if item is not None:
            self._on_new([item])
        return receipt.outcome_or_raise()

    async def snapshot(self, after: int = 0) -> Snapshot:
        """All messages with a number above ``after``."""
        self._check_company()
        return await super().snapshot(after)

    async def aclose(self) -> None:
        """Stop exchanging, and close the files."""
        tasks = [*self._tasks, *self._meeting.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._listener is not None:
            await self._listener.aclose()
        if self._call is not None:
            await self._call.aclose()
        self.votes.close(keep_unused=False)

    async def meet_one(self, peer: Peer) -> None:
        """Exchange sets with one peer, and remember how it went."""
        assert self._call is not None, "begin first"
        try:
            async with asyncio.timeout(LONGEST * self.settings.patience):
                await meet(self.answers, peer, self._call)
        except (Unreachable, PeerLied, TimeoutError) as error:
            self.peers.note(peer, worked=False, lied=isinstance(error, PeerLied))
        else:
            self.peers.note(peer, worked=True)
        finally:
            self._meeting.pop(peer.address, None)

    async def _try(self, peer: Peer) -> None:
        with suppress(StoreError):  # it shows when the device next uses its board
            await self.meet_one(peer)

    async def _meet_forever(self) -> None:
        """Compare votes with a few peers in each period, at most ``AT_ONCE`` at a time."""
        while True:
            if self.peers.round % 16 == 0:  # `devote peers` may have changed the stored ones
                with suppress(StoreError):
                    self.peers.reload()
            for peer in self.peers.choose(turn=True):
                # A peer that does not answer must not keep the others waiting.
                if peer.address not in self._meeting and len(self._meeting) < AT_ONCE:
                    self._meeting[peer.address] = asyncio.create_task(self._try(peer))
            await asyncio.sleep(self.settings.period * (0.5 + self._dice.random()))

    async def _push_forever(self) -> None:
        assert self._call is not None
        while True:
            await self._has_fresh.wait()
            await asyncio.sleep(PUSH_AFTER * (0.5 + self._dice.random()))
            self._has_fresh.clear()
            items, self._fresh = self._fresh, []
            peers = self.peers.choose(self.settings.fanout)
            pushing = [push(self.answers, peer, self._call, items) for peer in peers if peer.proven]
            await asyncio.gather(*pushing, return_exceptions=True)

    def _on_new(self, items: list[Item]) -> None:
        """Votes that were new here: wake the device, and push them to a few peers."""
        self.notify()
        loop = self._loop
        if loop is not None and len(items) <= MANY:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._pass_on, items)

    def _pass_on(self, items: list[Item]) -> None:
        if len(self._fresh) <= MANY:
            self._fresh += items
            self._has_fresh.set()

    def _check_company(self) -> None:
        """BoardAlone if no peer was met for a while, in either direction."""
        if self._loop is None:
            return
        if self.answers.met > self._met:
            self._met, self._met_at = self.answers.met, self.peers.round
        if self._met_at is None or self.peers.round - self._met_at > SILENCE:
            known = len(self.peers.known)
            raise BoardAlone(
                f"None of the {known} known peers of {self.spec.name!r} answers.\n"
                "Check them with `devote peers health`, or add one with `devote peers add`."
            )


def _revoked(certificate: Certificate) -> str:
    return (
        f"Certificate {certificate.number} was revoked.\n"
        "To take part again, have the key of a new store certified."
    )


def _reachable(address: str) -> str:
    """The address with this machine's own IP where it is bound to all of them."""
    host, _, port = address.rpartition(":")
    if host not in ("0.0.0.0", "[::]"):
        return address
    family, far = (
        (socket.AF_INET, "10.255.255.255") if host == "0.0.0.0" else (socket.AF_INET6, "fdff::1")
    )
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((far, 9))  # which sends nothing
        found = probe.getsockname()[0]
        host = f"[{found}]" if ":" in found else found
    return f"{host}:{port}"
