"""A device as a program uses it.

``Device`` is for programs that block, ``AsyncDevice`` for others, and ``Client`` holds many devices
behind one connection pool and one thread. A device reads and sends in a task on an event loop; its
verbs only touch the store: they work offline and never wait for the network.
"""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
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
from devote.device.core import SYSTEM_RANDOM, Core, DeviceStatus, Health
from devote.device.errors import DeviceError, JoinError, JoinRefused, NoExperiment
from devote.device.steps import Choice, Clock, Expiry, OnExpire, read_tally
from devote.device.store import Store, has_waiting
from devote.device.sync import Pace, Terms, join, run_forever, sync_once
from devote.errors import DevoteError
from devote.protocol import ExperimentSpec, ProtocolError

if TYPE_CHECKING:
    from devote.gossip import GossipSettings

T = TypeVar("T")

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

    ``expire_after`` and ``on_expire`` say what becomes of a pull whose reward never comes, see
    ``Expiry``. ``dice`` gives a uniform number for each new pull. ``board`` is any board to use in
    place of the one at the address; the device closes it. ``gossip`` says how to exchange votes
    with other devices where there is no server (docs/serverless.md).
    """

    invite: str | None
    fallback: str | int | None
    privacy: float | None
    fingerprint: str | None
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
    network, None before the first join.
    """

    def __init__(self, url: str, store: str | Path, options: JoinOptions) -> None:
        if unknown := options.keys() - JoinOptions.__annotations__.keys():
            raise TypeError(f"join() got an unexpected keyword argument {unknown.pop()!r}")
        url, linked = read_link(url)
        self._terms = Terms(
            url=url,
            invite=options.get("invite") or linked,
            expiry=Expiry(options.get("expire_after"), options.get("on_expire", "drop")),
            privacy=options.get("privacy"),
            fingerprint=options.get("fingerprint"),
        )
        self._options = options
        self._clock = options.get("clock") or Clock()
        self.board = options.get("board") or self._make_board(store)
        self._is_removable = not Path(store).exists()
        self._store = Store.open(store)
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._joining = Health(self._clock.start())
        self.core: Core | None = None

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms; none until the first join has worked."""
        return () if self.core is None else self.core.record.spec.arm_names

    def best(self) -> int | None:
        """The arm the group has settled on, or None."""
        return None if self.core is None else self.core.best()

    def status(self) -> DeviceStatus:
        """How fresh the view is, what has left the device, and how the group stands."""
        if self.core is not None:
            return self.core.status()
        name, health = self._terms.experiment, self._joining
        degraded = () if health.sync is None else (health.sync,)
        return DeviceStatus(name, degraded=degraded, offline_since=health.offline_since)

    def _make_board(self, store: str | Path) -> Board:
        url = self._terms.url
        if is_gossip(url):
            from devote.gossip import GossipBoard

            settings = self._options.get("gossip")
            return GossipBoard(url, store, ticket=self._terms.invite, settings=settings)
        try:
            return HttpBoard(url)
        except BoardRefused as error:
            raise JoinRefused(str(error)) from None

    @classmethod
    async def _begin(cls, url: str, store: str | Path, options: JoinOptions) -> Self:
        """Join, and go on in the background; with a fallback also if it cannot be joined yet."""
        self = cls(url, store, options)
        try:
            await self._join()
        except BaseException as error:
            is_remote = isinstance(error, DevoteError) and not isinstance(error, StoreError)
            if options.get("fallback") is None or not is_remote:
                await self._end()
                if isinstance(error, BoardUnavailable):
                    hint = "The first join needs the board, or a fallback; later ones work offline."
                    raise JoinError(f"{error}\n{hint}") from None
                if isinstance(error, UnknownExperiment):
                    raise NoExperiment(str(error)) from None
                if isinstance(error, BoardRefused):
                    raise JoinRefused(str(error)) from None
                raise
            self._note(error)
        self._task = asyncio.create_task(self._run())
        return self

    async def _join(self) -> None:
        try:
            joined = await join(self._store, self.board, self._terms)
        except BaseException as error:
            # A new store is removed again, unless the device may have been enrolled with its key.
            is_unsent = isinstance(error, BoardUnavailable) and not error.is_sent
            is_answered = isinstance(error, BoardRefused | DeviceError)
            self._is_removable = self._is_removable and (is_unsent or is_answered)
            raise
        self._is_removable = False
        dice = self._options.get("dice") or SYSTEM_RANDOM
        core = Core(self._store, expiry=self._terms.expiry, clock=self._clock, dice=dice)
        self._terms.check(core.record.spec)
        await self.board.begin(core.identity)
        if joined is not None:
            core.health.note(joined.tally)
            try:
                if core.must_recall:
                    core.recall(joined.sent)
                if core.record.spec.scheme.about.reads_tally:
                    core.change(read_tally, joined.tally)
            except ProtocolError as error:
                core.health.sync = str(error)
        core.on_message = self._on_message
        self.core = core

    async def _run(self) -> None:
        pace, failures = self._options.get("pace"), 0
        while self.core is None:
            failures += 1
            wait = (pace or JOINING).wait(self._joining, failures, SYSTEM_RANDOM())
            await asyncio.sleep(wait)
            try:
                await self._join()
            except Exception as error:
                self._note(error)
        pace = pace or (AT_HAND if is_gossip(self._terms.url) else None)
        await run_forever(self.core, self.board, wake=self._wake, pace=pace)

    def _note(self, error: BaseException) -> None:
        """Keep why the first join has not worked."""
        self._joining.offline(error)
        failed = f"Joining failed ({type(error).__name__})."
        self._joining.sync = str(error) if isinstance(error, DevoteError) else failed

    def _on_message(self) -> None:
        with suppress(RuntimeError):  # the loop has ended: the message is kept for the next start
            self._loop.call_soon_threadsafe(self._wake.set)

    def _choose(self) -> Choice:
        if self.core is not None:
            return self.core.choose()
        fallback = self._options.get("fallback")
        assert fallback is not None
        is_name = isinstance(fallback, str)
        return Choice(-1 if is_name else int(fallback), str(fallback) if is_name else "", "")

    def _pending(self) -> Choice | None:
        return None if self.core is None else self.core.pending()

    def _reward(self, x: float, choice: Choice | str | None) -> None:
        play = choice.play if isinstance(choice, Choice) else choice
        if self.core is not None and play != "":  # a fallback teaches nothing
            self.core.reward(x, choice)

    async def _sync(self, *, verify_history: bool = True) -> bool:
        if self.core is None:
            return False
        self.core.health.unbar()
        return await sync_once(self.core, self.board, verify_history=verify_history)

    async def _close(self, grace: float) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        if grace > 0.0 and self.core is not None and self.core.waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._sync(), grace)
        await self._end()

    async def _end(self) -> None:
        await self.board.aclose()
        if self._is_removable:
            self._store.remove()
        else:
            self._store.close()


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

    async def choose(self) -> Choice:
        """The arm to play; the pending choice again until its reward has come."""
        return await asyncio.to_thread(self._choose)

    async def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return await asyncio.to_thread(self._pending)

    async def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice, or the choice whose ``play`` this text is, paid: from 0 to 1.

        Raises ``LateReward`` if its play has expired and ``RepeatedReward`` if it has had its
        reward; nothing is counted then. Without a choice the reward is for the pending play;
        raises ``UnclearReward`` if one of the last 100 plays has expired, for whose reward
        this may be.
        """
        await asyncio.to_thread(self._reward, x, choice)

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


class Background:
    """A thread with an event loop, in which devices read and send."""

    def __init__(self) -> None:
        # The factory keeps the runner from giving its loop to the calling thread as well.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        # A daemon: a program that forgets to close its device must still be able to end.
        self._thread = threading.Thread(target=self._run, name="devote-device", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns; it is cancelled if the wait for it is interrupted."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the thread, with what is left on its loop."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _run(self) -> None:
        with self._runner:
            self._loop.run_forever()


class Device(_Member):
    """One device in one experiment; it reads and sends in a background thread.

    ::

        with Device.join(url, store="device.db", invite="...") as device:
            choice = device.choose()
            device.reward(1.0, choice)
            device.best(), device.status()

    ``choose`` and ``reward`` only touch the store: they work offline and never wait for the
    network. Several threads may share a device; it has one pull at a time.
    """

    _background: Background
    _after_close: Callable[[], None]

    @classmethod
    def join(cls, url: str, *, store: str | Path, **options: Unpack[JoinOptions]) -> Self:
        """Take part in the experiment at ``url``; see ``AsyncDevice.join``."""
        background = Background()
        try:
            self = background.run(cls._begin(url, store, options))
        except BaseException:
            background.stop()
            raise
        self._background, self._after_close = background, background.stop
        return self

    def choose(self) -> Choice:
        """The arm to play; the pending choice again until its reward has come."""
        return self._choose()

    def pending(self) -> Choice | None:
        """The choice that awaits its reward, also after a restart; None if there is none."""
        return self._pending()

    def reward(self, x: float, choice: Choice | str | None = None) -> None:
        """What the choice paid, from 0 to 1; see ``AsyncDevice.reward``."""
        self._reward(x, choice)

    def sync(self, *, verify_history: bool = True) -> bool:
        """Post and read now, waiting for the network; see ``AsyncDevice.sync``."""
        return self._background.run(self._sync(verify_history=verify_history))

    def close(self, grace: float = 2.0) -> None:
        """Stop, after up to ``grace`` seconds for messages still waiting; they are kept anyway."""
        if self._task is not None:
            self._background.run(self._close(grace))
            self._after_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Client:
    """Many devices, in one experiment or several, with one connection pool and one thread.

    It is for a web backend whose users are devices, or a process that plays for many screens::

        with Client("devices/") as client:
            device = client.device(url, user="7f3c")
            choice = device.choose()

    Each device has a store of its own in ``folder``. Devices of one client are tied together by the
    connections they share: a server can tell that they are of one process.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._background = Background()
        self._lock = threading.Lock()
        self.boards: dict[str, HttpBoard] = {}
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
        is_open = joined is not None and joined.done() and not joined.cancelled()
        return joined.result() if joined and is_open and not joined.exception() else None

    def knows(self, url: str, user: str = "") -> bool:
        """Whether the user has a store here."""
        return self._path(read_link(url)[0], user).exists()

    def _open(self, path: Path, url: str, options: JoinOptions) -> Device:
        address, _ = read_link(url)
        with self._lock:
            joining = self._joined.get(path)
            if joining is None:
                if "board" not in options and not is_gossip(address):
                    # Devices of an experiment share what is read of it.
                    if address not in self.boards:
                        self.boards[address] = HttpBoard(address, self._pool, fresh=FRESH)
                    options["board"] = self.boards[address]
                options.setdefault("pace", SHARED)
                joining = self._background.start(self._begin(path, url, options))
                self._joined[path] = joining
        try:
            return joining.result()
        except BaseException:
            joining.cancel()
            self._forget(path)
            raise

    async def _begin(self, path: Path, url: str, options: JoinOptions) -> Device:
        device = await Device._begin(url, path, options)
        device._background = self._background
        device._after_close = lambda: self._forget(path)
        return device

    def close(self, grace: float = 2.0) -> None:
        """Close all devices, after up to ``grace`` seconds for messages that wait."""
        with self._lock:
            joined, self._joined = self._joined, {}
        self._background.run(self._close([f.result() for f in joined.values()], grace))
        self._background.stop()

    async def _close(self, devices: list[Device], grace: float) -> None:
        await asyncio.gather(*(device._close(grace) for device in devices))
        await self._pool.aclose()

    def _path(self, url: str, user: str) -> Path:
        """The store of a user; its name does not tell who that is."""
        experiment = url.rstrip("/").rpartition("/")[2]
        folder = self._folder / quote(experiment, safe="")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{hashlib.sha256(user.encode()).hexdigest()[:32]}.db"

    def _forget(self, path: Path) -> None:
        with self._lock:
            self._joined.pop(path, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
