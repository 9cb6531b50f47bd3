"""An OpenFeature provider: a flag is an experiment, a variant an arm, a tracked event a reward.

::

    from openfeature import api

    provider = DevoteProvider(
        "http://127.0.0.1:8600", "devices/", flags={"banner": Flag(rewards={"banner-clicked": 1.0})}
    )
    api.set_provider(provider)
    shop = api.get_client()
    user = EvaluationContext(targeting_key="7f3c")
    text = shop.get_string_value("banner", "spring", user)
    shop.track("banner-clicked", user)

Each targeting key is a user with a device, and so a store, of its own; all share one ``Client``. An
evaluation is ``choose``, an event ``reward``: both happen in the store, and only the first
evaluation of a user waits for the network, no longer than ``within`` seconds. Nothing of the
evaluation context leaves the process: not the targeting key, not the segment.

A device must stay open until its answer has left. It is closed after that, when there are many, and
opened again for its user. After a restart those that have something to send are opened first.
"""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitTimeout
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, Unpack
from urllib.parse import quote

import httpx
from openfeature.evaluation_context import EvaluationContext
from openfeature.event import ProviderEventDetails
from openfeature.exception import (
    FlagNotFoundError,
    GeneralError,
    OpenFeatureError,
    ProviderFatalError,
    ProviderNotReadyError,
    TargetingKeyMissingError,
    TypeMismatchError,
)
from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
from openfeature.provider import AbstractProvider, Metadata
from openfeature.track import TrackingEventDetails

from devote.boards.board import BoardRefused, BoardUnavailable
from devote.boards.http import fetch, parse_answer
from devote.device import (
    Choice,
    Client,
    Device,
    DeviceStatus,
    JoinError,
    JoinRefused,
    NoExperiment,
    StaysOut,
)
from devote.device.device import JoinOptions
from devote.errors import DevoteError

T = TypeVar("T")
Values = Sequence[FlagValueType] | Mapping[str, FlagValueType]

MISSING_FOR = 30.0
"""Seconds for which an experiment that the server does not know is not asked for again."""

JOINING = 8
"""So many devices join at once."""


@dataclass(frozen=True)
class Flag:
    """What a flag's events and arms mean.

    ``rewards`` gives the reward, from 0 to 1, of each event that is one; an event's own value is
    used instead if it lies there. ``values`` gives the value of an arm: without it, the arm's name
    is the value of a string flag, and is read as JSON for the other types. ``join`` says how this
    flag is joined, such as with ``traffic`` or ``exclusive``, beside what is said for all.
    """

    rewards: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, FlagValueType] = field(default_factory=dict)
    join: JoinOptions = field(default_factory=JoinOptions)


def _in_thread(resolve: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
    """The same for programs that must not block: it may wait for the network or the disk."""

    async def run(*args: Any, **kwargs: Any) -> T:
        return await asyncio.to_thread(resolve, *args, **kwargs)

    return run


class DevoteProvider(AbstractProvider):
    """Flags are the experiments of ``server``; ``folder`` keeps the devices of its users.

    ``segment`` names the attribute of the evaluation context that is a user's segment. ``user`` is
    who evaluates without a targeting key: for a program that is one device. ``invites`` gives the
    invite of a flag and a user, when they meet first. At most ``most_open`` devices are open, with
    two files each. ``options`` are those of ``AsyncDevice.join``.
    """

    def __init__(
        self,
        server: str,
        folder: str | Path,
        *,
        flags: Mapping[str, Flag] | None = None,
        segment: str | None = None,
        user: str | None = None,
        invites: Callable[[str, str], str] | None = None,
        within: float = 0.5,
        most_open: int = 400,
        **options: Unpack[JoinOptions],
    ) -> None:
        super().__init__()
        self._server = server.rstrip("/")
        self._folder = folder
        self._flags = dict(flags or {})
        self._segment, self._user, self._invites = segment, user, invites
        self._within, self._most_open = within, most_open
        self._options = options
        self._lock = Lock()
        self._client: Client | None = None
        self._open: dict[Device, None] = {}
        self._missing: dict[str, float] = {}
        self._synced_at = self._offline_at = 0.0

    def get_metadata(self) -> Metadata:
        """The provider's name."""
        return Metadata(name="devote")

    # Lifecycle.

    def initialize(self, evaluation_context: EvaluationContext) -> None:
        """Open the devices that have an answer to send, and see whether the server answers."""
        self._client = Client(self._folder)
        self._joining = ThreadPoolExecutor(JOINING, "devote-openfeature")
        for flag, meaning in self._flags.items():
            for device in self._client.resume(self._url(flag), **self._options | meaning.join):
                self._open[device] = None
        address = f"{self._server}/health"
        try:
            with httpx.Client(timeout=10.0) as client:
                parse_answer(address, *fetch(client, "GET", address))
        except BoardUnavailable as error:  # devices that have joined go on without it
            self._offline_at = time.time()
            raise GeneralError(str(error)) from None
        except BoardRefused as error:
            raise ProviderFatalError(str(error)) from None

    def shutdown(self) -> None:
        """Close all devices; what they have not sent is kept, and sent after the next start."""
        client, self._client = self._client, None
        if client is not None:
            self._joining.shutdown(cancel_futures=True)
            client.close()
            self._open.clear()

    def _note(self, status: DeviceStatus) -> None:
        """Emit an event if the newest news of any device is that the server is away, or back."""
        with self._lock:
            was_stale = self._offline_at > self._synced_at
            if status.synced_ago is not None:
                self._synced_at = max(self._synced_at, time.time() - status.synced_ago)
            self._offline_at = max(self._offline_at, status.offline_since or 0.0)
            is_stale = self._offline_at > self._synced_at
        if is_stale and not was_stale:
            self.emit_provider_stale(ProviderEventDetails(message="The server does not answer."))
        elif was_stale and not is_stale:
            self.emit_provider_ready(ProviderEventDetails(message="The server answers again."))

    # Devices.

    def _url(self, flag: str) -> str:
        return f"{self._server}/experiments/{quote(flag, safe='')}"

    def _user_of(self, context: EvaluationContext | None) -> str:
        user = (context and context.targeting_key) or self._user
        if user is None:
            raise TargetingKeyMissingError("Give the user's key as targeting_key, or `user`.")
        return user

    def _device(self, flag: str, user: str) -> Device:
        """The device of a user, which takes part if that is possible in time."""
        if self._client is None:
            raise ProviderNotReadyError("The provider is shut down.")
        if time.monotonic() < self._missing.get(flag, 0.0):
            raise FlagNotFoundError(f"There is no experiment {flag!r}.")
        device = self._client.find(self._url(flag), user)
        if device is None:
            self._make_room()
            joining = self._joining.submit(self._join, self._client, flag, user)
            try:
                device = joining.result(self._within)
            except NoExperiment as error:
                self._missing[flag] = time.monotonic() + MISSING_FOR
                raise FlagNotFoundError(str(error)) from None
            except WaitTimeout:
                joining.cancel()
                raise ProviderNotReadyError(f"No answer within {self._within:g} s.") from None
            except StaysOut:
                raise
            except JoinRefused as error:
                raise GeneralError(str(error)) from None
            except JoinError as error:
                raise ProviderNotReadyError(str(error)) from None
            except DevoteError as error:
                raise GeneralError(str(error)) from None
        return device

    def _join(self, client: Client, flag: str, user: str) -> Device:
        options = self._options | self._flags.get(flag, Flag()).join
        if self._invites is not None:
            options["invite"] = self._invites(flag, user)
        device = client.device(self._url(flag), user, **options)
        with self._lock:
            self._open[device] = None
        return device

    def _make_room(self) -> None:
        """Close devices that have nothing left to send, the longest open first."""
        with self._lock:
            surplus = len(self._open) + 1 - self._most_open
            idle = [device for device in self._open if _is_idle(device)] if surplus > 0 else []
            for device in idle[:surplus]:
                del self._open[device]
        for device in idle[:surplus]:
            device.close(0.0)
        if len(idle) < surplus:
            raise GeneralError(
                f"All {self._most_open} devices wait for their answers to leave.\n"
                "Use a higher most_open, and let the process open twice as many files."
            )

    # Evaluation and tracking.

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Reward the user's question in each flag of which this event is a reward.

        An attribute ``play``, from the metadata of an evaluation, says which question is meant. An
        event without a question, too late, or a second one counts nothing.
        """
        details = tracking_event_details or TrackingEventDetails()
        for flag, meaning in self._flags.items():
            if tracking_event_name not in meaning.rewards:
                continue
            x = meaning.rewards[tracking_event_name]
            if details.value is not None and 0.0 <= details.value <= 1.0:
                x = float(details.value)
            with suppress(OpenFeatureError, DevoteError):
                user = self._user_of(evaluation_context)
                if self._client is not None and self._client.knows(self._url(flag), user):
                    device = self._device(flag, user)
                    play = details.attributes.get("play") or device.pending()
                    if isinstance(play, str | Choice):
                        device.reward(x, play)

    def _resolve(
        self, flag: str, default: Any, context: EvaluationContext | None, *kinds: type
    ) -> FlagResolutionDetails[Any]:
        try:
            device = self._device(flag, self._user_of(context))
        except StaysOut as error:
            why = {"why": str(error).partition("\n")[0]}
            return FlagResolutionDetails(value=default, reason=Reason.DEFAULT, flag_metadata=why)
        try:
            choice = device.choose(self._segment_of(device, context))
        except DevoteError as error:
            raise GeneralError(str(error)) from None
        status = device.status()
        self._note(status)
        if choice.play == "":  # the device takes no part
            return FlagResolutionDetails(value=default, reason=Reason.DEFAULT)
        return FlagResolutionDetails(
            value=self._value(flag, choice.name, kinds),
            variant=choice.name,
            reason=Reason.SPLIT if device.best() is None else Reason.STATIC,
            flag_metadata={"experiment": status.experiment, "play": choice.play},
        )

    def _segment_of(self, device: Device, context: EvaluationContext | None) -> str | None:
        if context is None or self._segment is None or not device.segments:
            return None
        found = context.attributes.get(self._segment)
        return found if isinstance(found, str) else None

    def _value(self, flag: str, arm: str, kinds: tuple[type, ...]) -> Any:
        values = self._flags.get(flag, Flag()).values
        value: Any = values.get(arm, arm)
        if arm not in values and str not in kinds:
            with suppress(ValueError):
                value = json.loads(arm)
        if type(value) not in kinds:
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise TypeMismatchError(f"The arm {arm!r} of {flag!r} is not of type {wanted}.")
        return value

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """The value of an arm named ``true`` or ``false``, or as ``values`` says."""
        return self._resolve(flag_key, default_value, evaluation_context, bool)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """The name of an arm, or as ``values`` says."""
        return self._resolve(flag_key, default_value, evaluation_context, str)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """The number that an arm's name is, or as ``values`` says."""
        return self._resolve(flag_key, default_value, evaluation_context, int)

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """The number that an arm's name is, or as ``values`` says."""
        found = self._resolve(flag_key, default_value, evaluation_context, float, int)
        found.value = float(found.value)
        return found

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Values,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Values]:
        """The JSON object or list that an arm's name is, or as ``values`` says."""
        return self._resolve(flag_key, default_value, evaluation_context, dict, list)

    resolve_boolean_details_async = _in_thread(resolve_boolean_details)
    resolve_string_details_async = _in_thread(resolve_string_details)
    resolve_integer_details_async = _in_thread(resolve_integer_details)
    resolve_float_details_async = _in_thread(resolve_float_details)
    resolve_object_details_async = _in_thread(resolve_object_details)


def _is_idle(device: Device) -> bool:
    status = device.status()
    return status.reply_in is None and not status.waiting
