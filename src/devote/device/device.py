"""A device as a program uses it.

``Device`` is for programs that block, ``AsyncDevice`` for others, and ``Client`` holds many devices
behind one connection pool and one thread. A device reads and sends in a task on an event loop; its
verbs only touch the store: they work offline and never wait for the network.
"""

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import httpx

from devote.boards.board import (
    Board,
    BoardRefused,
    BoardUnavailable,
    UnknownExperiment,
    read_link,
)
from devote.boards.database import StoreError
from devote.boards.http import HEADERS, HttpBoard, trusted
from devote.device.core import SYSTEM_RANDOM, Core, DeviceStatus
from devote.device.errors import DeviceError, JoinError, JoinRefused, NoExperiment, StaysOut
from devote.device.ledger import Ledger, Limits
from devote.device.steps import Choice, Clock, Expiry, OnExpire
from devote.device.store import Store, has_waiting
from devote.device.sync import Pace, Terms, join, run_forever, sync_once
from devote.errors import DevoteError
from devote.protocol import ExperimentSpec

if TYPE_CHECKING:
    from devote.gossip import GossipSettings

T = TypeVar("T")

NO_CONSENT = (
    "The user has not consented; nothing is stored or sent.\nCall consent() once that has changed."
)
NEEDS_FALLBACK = (
    "With consent=False a device needs a fallback to play, and a server.\n"
    "Pass fallback=, or join once the user has consented."
)

JOINING = Pace(base=1.0, cap=300.0)  # how a first join is tried again
AT_HAND = Pace(every=2.0, base=0.25, cap=2.0)  # the board is on the device: no traffic
SHARED = Pace(streams=False)  # many devices share a few connections, and none keeps one

CONNECTIONS = 32
FRESH = 1.0
"""The connections of a client, and the seconds for which its devices share one read of a tally."""


class JoinOptions(TypedDict, total=False):
    """What may be passed to ``join`` besides the address and the store.

    ``invite``: a single-use invite; needed the first time only, if the address has none in it.

    ``fallback``: the arm to play until the first join has worked, its name or its number; see
    ``AsyncDevice.join``.

    ``privacy`` and ``fingerprint`` pin what the device accepts: the highest e of local differential
    privacy that is proved for all that it ever sends, and the one specification.

    ``traffic``, ``exclusive`` and ``budget`` say whether the device takes part at all, see
    ``Limits``; if not, it shows its fallback, or StaysOut is raised. They count in the folder of
    the store, which must be one user's, or in that of a ``Client`` for each user. ``sticky``: a
    device that was asked once plays that arm until a survey has settled. With ``consent=False``
    nothing is stored or sent before ``consent`` is called; until then it plays its fallback.

    ``expire_after`` and ``on_expire`` say what becomes of a pull whose reward never comes, see
    ``Expiry``. ``dice`` gives a uniform number for each new pull. ``board`` is any board to use in
    place of the one at the address; the device closes it. ``gossip`` says how to exchange votes
    with other devices where there is no server (docs/serverless.md).
    """

    invite: str | None
    fallback: str | int | None
    privacy: float | None
    fingerprint: str | None
    traffic: float
    exclusive: str | None
    budget: float | None
    sticky: bool
    consent: bool
    expire_after: float | None
    on_expire: OnExpire
    dice: Callable[[], float] | None
    clock: Clock | None
    pace: Pace | None
    board: Board | None
    gossip: "GossipSettings | None"


def is_gossip(url: str) -> bool:
    """Whether an address is of devices that have no server."""
    return url.startswith("gossip:")


def prepare_store(path: str | Path, spec: ExperimentSpec) -> str:
    """Make the store and the key of a device that needs no server; returns the key to certify.

    A store that is prepared already gives its key again.
    """
    from devote.gossip.credentials import scope_of

    scope = scope_of(spec)
    store = Store.open(path)
    try:
        identity = store.identity(spec.name)
        store.bind(scope)
        return identity.voter
    finally:
        store.close()


class _Member:
    """One device in one experiment, from before its first join on: what both kinds share.

    For tests and tools: ``board`` is what it reads and posts to, ``core`` the device without its
    network.
    """

    def __init__(
        self, url: str, store: str | Path, options: JoinOptions, owner: tuple[Path, str] | None
    ) -> None:
        if unknown := options.keys() - JoinOptions.__annotations__.keys():
            raise TypeError(f"join() got an unexpected keyword argument {unknown.pop()!r}")
        url, linked = read_link(url)
        self._terms = Terms(
            url=url,
            invite=options.get("invite") or linked,
            expiry=Expiry(options.get("expire_after"), options.get("on_expire", "drop")),
            privacy=options.get("privacy"),
            fingerprint=options.get("fingerprint"),
            limits=Limits(
                traffic=options.get("traffic", 1.0),
                exclusive=options.get("exclusive"),
                budget=options.get("budget"),
            ),
            sticky=options.get("sticky", False),
        )
        self._ledger = Ledger(*(owner or (Path(store).parent, "")), url)
        self._store = Path(store)
        self._consented = asyncio.Event()
        if options.get("consent", True):
            self._consented.set()
        elif options.get("fallback") is None or is_gossip(url):
            raise DeviceError(NEEDS_FALLBACK)
        self._pace = options.get("pace")
        self.board = options.get("board") or self._make_board(store, options.get("gossip"))
        self._is_removable = not self._store.exists()
        self._stays_out = False
        self.core = Core(
            Store.open(store if self._consented.is_set() else ":memory:"),
            starts=False,
            experiment=self._terms.experiment,
            fallback=_as_choice(options.get("fallback")),
            expiry=self._terms.expiry,
            sticky=self._terms.sticky,
            clock=options.get("clock") or Clock(),
            dice=options.get("dice") or SYSTEM_RANDOM,
            on_message=self._wake_up,
        )
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it reads and sends: until it is closed."""
        return self._task is not None

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms; none until the first join has worked."""
        return self.core.record.spec.arm_names if self.core.joined else ()

    @property
    def segments(self) -> tuple[str, ...]:
        """The names of the segments, none where all users are of one kind; as ``arms``."""
        return self.core.record.sending.segments if self.core.joined else ()

    def consent(self) -> None:
        """The user has consented: join, in the background, after ``join(consent=False)``."""
        self._loop.call_soon_threadsafe(self._consented.set)

    def best(self) -> int | None:
        """The arm the group, or this device's segment, has settled on; or None."""
        return self.core.best()

    def status(self) -> DeviceStatus:
        """How fresh the view is, what has left the device, and how the group stands."""
        return self.core.status()

    def _make_board(self, store: str | Path, settings: "GossipSettings | None") -> Board:
        url = self._terms.url
        if is_gossip(url):
            from devote.gossip import GossipBoard

            return GossipBoard(url, store, ticket=self._terms.invite, settings=settings)
        try:
            return HttpBoard(url)
        except BoardRefused as error:
            raise JoinRefused(str(error)) from None

    @classmethod
    async def _begin(
        cls,
        url: str,
        store: str | Path,
        options: JoinOptions,
        owner: tuple[Path, str] | None = None,
    ) -> Self:
        """Join, and go on in the background; with a fallback also if it cannot be joined yet.

        ``owner`` is where the ledger of its user is, and who that is.
        """
        self = cls(url, store, options, owner)
        try:
            if self._consented.is_set():
                await self._join()
            else:
                self.core.health.sync = NO_CONSENT
        except BaseException as error:
            is_remote = isinstance(error, DevoteError) and not isinstance(error, StoreError)
            if self.core.fallback is None or not is_remote:
                await self._end()
                if isinstance(error, BoardUnavailable):
                    hint = "The first join needs the board, or a fallback; later ones work offline."
                    raise JoinError(f"{error}\n{hint}") from None
                if isinstance(error, UnknownExperiment):
                    raise NoExperiment(str(error)) from None
                if isinstance(error, BoardRefused):
                    raise JoinRefused(str(error)) from None
                raise
        self._task = asyncio.create_task(self._run())
        return self

    async def _join(self) -> None:
        """Join, with the ledger asked first if the app has set limits.

        If that fails, a new store is removed at the end and the ledger's entry withdrawn, unless
        the server may have enrolled its key: it got the request, and its answer is not known.
        """
        health, terms, limits = self.core.health, self._terms, self._terms.limits
        is_temporary = self.core.store.path == ":memory:" and str(self._store) != ":memory:"
        if is_temporary:  # it was opened before consent, so that nothing was stored
            self.core.store.close()
            self.core.store = Store.open(self._store)
        store, is_limited = self.core.store, limits != Limits() and not self.core.store.has_joined
        voter = store.identity(terms.experiment).voter
        try:
            if is_limited:
                terms = replace(terms, left=self._ledger.admit(voter, limits))
            await join(self.core, self.board, terms)
            if is_limited:
                self._ledger.settle(voter, self.core.record.sending.privacy)
        except BaseException as error:
            self._stays_out = isinstance(error, StaysOut)
            is_unsent = isinstance(error, BoardUnavailable) and not error.is_sent
            is_answered = isinstance(error, BoardRefused | DeviceError)
            self._is_removable = self._is_removable and (is_unsent or is_answered)
            if self._is_removable and is_limited:
                self._ledger.withdraw(voter)
            if not self._stays_out:
                health.offline(error)
            failed = f"Joining failed ({type(error).__name__})."
            health.sync = str(error) if isinstance(error, DevoteError) else failed
            raise
        self._is_removable = False

    async def _run(self) -> None:
        pace, failures, health = self._pace or JOINING, 0, self.core.health
        if not self._consented.is_set():
            await self._consented.wait()
            health.sync = None
            with suppress(Exception):
                await self._join()
        while not self.core.joined:
            if self._stays_out:
                return
            failures += 1
            await asyncio.sleep(pace.wait(health, failures, SYSTEM_RANDOM()))
            with suppress(Exception):
                await self._join()
        at_hand = AT_HAND if is_gossip(self._terms.url) else None
        await run_forever(self.core, self.board, wake=self._wake, pace=self._pace or at_hand)

    def _wake_up(self) -> None:
        with suppress(RuntimeError):  # the loop has ended: the message is kept for the next start
            self._loop.call_soon_threadsafe(self._wake.set)

    async def _sync(self, *, verify_history: bool = True) -> bool:
        if not self.core.joined:
            return False
        self.core.health.unbar()
        return await sync_once(self.core, self.board, verify_history=verify_history)

    async def _close(self, grace: float) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        if grace > 0.0 and self.core.joined and self.core.waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._sync(), grace)
        await self._end()

    async def _end(self) -> None:
        await self.board.aclose()
        if self._is_removable:
            self.core.store.remove()
        else:
            self.core.close()


def _as_choice(fallback: str | int | None) -> Choice | None:
    """A fallback as what is played: by its name it has the number -1, by its number no name."""
    if fallback is None:
        return None
    return Choice(-1, fallback, "") if isinstance(fallback, str) else Choice(fallback, "", "")


class AsyncDevice(_Member):
    """One device in one experiment; messages are read and sent by a task beside yours.

    ::

        async with await AsyncDevice.join(url, store="device.db", invite="...") as device:
            choice = await device.choose()
            await device.reward(1.0, choice)
    """

    @classmethod
    async def join(cls, url: str, *, store: str | Path, **options: Unpack[JoinOptions]) -> Self:
        """Take part in the experiment at ``url`` with the state in ``store``.

        ``url`` may be a link with an invite, as ``devote invites --links`` makes them. At
        ``gossip://HOST:PORT/NAME`` there is no server, and ``invite`` is a ticket.

        The first time, this makes the store, with a fresh key, and enrols with it; after that
        it needs no network. If the first join does not work, it raises JoinError; with a
        ``fallback`` it does not: the device plays that arm, tries again in the background, and
        takes part as soon as it can. Nothing is learned from a fallback. One that is given by its
        name has the number -1, one that is given by its number has no name.
        """
        return await cls._begin(url, store, options)

    async def choose(self, segment: str | None = None) -> Choice:
        """The arm to play; the pending choice again until its reward has come.

        ``segment`` is the kind of user, where the experiment has segments: the same each time. It
        stays on the device, which plays what its segment has settled on once it has.
        """
        return await asyncio.to_thread(self.core.choose, segment=segment)

    async def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return await asyncio.to_thread(self.core.pending)

    async def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice, or the choice whose ``play`` this text is, paid: from 0 to 1.

        Raises ``LateReward`` if its play has expired and ``RepeatedReward`` if it has had its
        reward; nothing is counted then. Without a choice the reward is for the pending play;
        raises ``UnclearReward`` if one of the last 100 plays has expired, for whose reward
        this may be.
        """
        await asyncio.to_thread(self.core.reward, x, choice)

    async def sync(self, *, verify_history: bool = True) -> bool:
        """Post and read now; returns whether that worked. Never needed, for tests and tools.

        Without ``verify_history`` the log is read only if the tally shows a decision.
        """
        return await self._sync(verify_history=verify_history)

    async def close(self, grace: float = 2.0) -> None:
        """Stop, after up to ``grace`` seconds for messages still waiting; they are kept anyway."""
        await self._close(grace)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@cache
def _shared_loop() -> asyncio.AbstractEventLoop:
    """The event loop on which the devices of this process read and send, in a thread."""
    loop = asyncio.new_event_loop()
    # A daemon: a program that forgets to close its device must still be able to end.
    threading.Thread(target=loop.run_forever, name="devote-device", daemon=True).start()
    return loop


os.register_at_fork(after_in_child=_shared_loop.cache_clear)  # a child has no such thread


def _result(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine on a loop returns; it is cancelled if the wait for it is interrupted."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


class Device(_Member):
    """One device in one experiment; it reads and sends in the background.

    ::

        with Device.join(url, store="device.db", invite="...") as device:
            choice = device.choose()
            device.reward(1.0, choice)
            device.best(), device.status()

    ``choose`` and ``reward`` only touch the store: they work offline and never wait for the
    network. Several threads may share a device; it has one pull at a time. The devices of a process
    share one background thread.
    """

    @classmethod
    def join(cls, url: str, *, store: str | Path, **options: Unpack[JoinOptions]) -> Self:
        """Take part in the experiment at ``url``; see ``AsyncDevice.join``."""
        return _result(_shared_loop(), cls._begin(url, store, options))

    def choose(self, segment: str | None = None) -> Choice:
        """The arm to play; see ``AsyncDevice.choose``."""
        return self.core.choose(segment=segment)

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return self.core.pending()

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice paid, from 0 to 1; see ``AsyncDevice.reward``."""
        self.core.reward(x, choice)

    def sync(self, *, verify_history: bool = True) -> bool:
        """Post and read now, waiting for the network; see ``AsyncDevice.sync``."""
        return _result(self._loop, self._sync(verify_history=verify_history))

    def close(self, grace: float = 2.0) -> None:
        """Stop, after up to ``grace`` seconds for messages still waiting; they are kept anyway."""
        _result(self._loop, self._close(grace))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Client:
    """Many devices, in one experiment or several, with one connection pool.

    It is for a web backend whose users are devices, or a process that plays for many screens::

        with Client("devices/") as client:
            device = client.device(url, user="7f3c")
            choice = device.choose()

    Each device has a store of its own in ``folder``. Devices of one client are tied together by the
    connections they share: a server can tell that they are of one process.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._loop = _shared_loop()
        self._lock = threading.Lock()
        self._boards: dict[str, HttpBoard] = {}
        self._joined: dict[Path, Future[Device]] = {}
        limits = httpx.Limits(max_connections=CONNECTIONS)
        self._pool = httpx.AsyncClient(headers=HEADERS, verify=trusted(), limits=limits)

    def device(self, url: str, user: str = "", **options: Unpack[JoinOptions]) -> Device:
        """The device of a user in the experiment at ``url``; options as of ``AsyncDevice.join``.

        A device that is open already is returned again. Close it when its user has gone: an open
        one keeps a file open and reads.
        """
        address, _ = read_link(url)
        return self._open(self._path(address, user), url, options)

    def resume(self, url: str, **options: Unpack[JoinOptions]) -> list[Device]:
        """Open the devices that have an answer to send, as after a restart of the process.

        Their users need not come back for it. Close each when its ``status().reply_in`` is None.
        """
        stores = sorted(self._path(read_link(url)[0], "").parent.glob("*.db"))
        return [self._open(path, url, options) for path in stores if has_waiting(path)]

    def find(self, url: str, user: str = "") -> Device | None:
        """The device of a user if it is open."""
        joined = self._joined.get(self._path(read_link(url)[0], user))
        return joined.result() if joined and joined.done() and _is_open(joined) else None

    def knows(self, url: str, user: str = "") -> bool:
        """Whether the user has a store here."""
        return self._path(read_link(url)[0], user).exists()

    def _open(self, path: Path, url: str, options: JoinOptions) -> Device:
        address, _ = read_link(url)
        with self._lock:
            joining = self._joined.get(path)
            if joining is None or (joining.done() and not _is_open(joining)):
                if "board" not in options and not is_gossip(address):
                    # Devices of an experiment share what is read of it.
                    if address not in self._boards:
                        self._boards[address] = HttpBoard(address, self._pool, fresh=FRESH)
                    options["board"] = self._boards[address]
                options.setdefault("pace", SHARED)
                work = Device._begin(url, path, options, (self._folder, path.stem))
                joining = asyncio.run_coroutine_threadsafe(work, self._loop)
                self._joined[path] = joining
        return joining.result()

    def close(self, grace: float = 2.0) -> None:
        """Close all devices, after up to ``grace`` seconds for messages that wait."""
        with self._lock:
            joined, self._joined = self._joined, {}
        devices = [future.result() for future in joined.values() if _is_open(future)]
        _result(self._loop, self._close(devices, grace))

    async def _close(self, devices: list[Device], grace: float) -> None:
        await asyncio.gather(*(device._close(grace) for device in devices))
        await self._pool.aclose()

    def _path(self, url: str, user: str) -> Path:
        """The store of a user, named by a hash: whoever guesses the user's name can check it."""
        experiment = url.rstrip("/").rpartition("/")[2]
        folder = self._folder / quote(experiment, safe="")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{hashlib.sha256(user.encode()).hexdigest()[:32]}.db"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_open(joining: "Future[Device]") -> bool:
    """Whether a device has been joined, or is played with a fallback, and was not closed since."""
    return joining.exception() is None and joining.result().is_open
