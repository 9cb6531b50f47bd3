"""Is a scheme one? Everything that devices, boards, planners and simulators rely on, in seconds.

In the manner of ``check_algorithm``: the first fault is raised, with the class that it is in and
what to do about it. A few players decide about three arms, over a board that takes what the tally
does not refuse; meanwhile players are saved and restored, and messages are posted again.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from random import Random
from typing import Any

from devote.errors import DevoteError
from devote.problems import Problem
from devote.protocol import (
    Case,
    ExperimentSpec,
    Guarantees,
    Message,
    Planning,
    Player,
    Scheme,
    Tally,
    from_json,
    restore_player,
    to_json,
)
from devote.protocol.messages import KINDS
from devote.protocol.scheme import SCHEMES, make_scheme
from devote.simulator.parts import part_of
from devote.simulator.reference import reference_of
from devote.simulator.rule_check import both_ways
from devote.simulator.scenario import Scenario

MEANS = (0.9, 0.4, 0.1)
STEPS = 5_000
"""Plays of all players together within which a run should come to an answer."""

BOARDS = 40
"""Random boards that are read in two orders."""

VIEW = {"heading", "counts", "needed", "facts"}


class SchemeFault(DevoteError):
    """What is wrong with a scheme."""


def check_scheme(
    scheme: Scheme | str | dict[str, Any], *, n_players: int | None = None, **spec: Any
) -> None:
    """Raise ``SchemeFault`` at the first fault of a scheme; return if there is none.

    Give a scheme, its name, or a table with its name and parameters, such that ``n_players`` (by
    default as few as can decide) have an answer within a few thousand plays. ``spec`` are further
    fields of the specification that is tried.

    >>> check_scheme({"name": "jury", "seats": 5, "seat_after": 3})
    """
    made = make_scheme(scheme)
    given = {"epsilon": 0.6, "eta": 0.2, "delta": 0.2, **spec}
    tried = ExperimentSpec(arms=len(MEANS), name="check", scheme=made, **given)
    _check_form(tried)
    planned = tried.scheme.planning(tried)
    if not isinstance(planned, Planning):
        raise _fault(made, "planning gave no Planning.", "Return a Planning.")
    n = n_players or max(3, planned.enough_players or 0, made.fewest_players(tried))
    _check_guarantees(tried, n)
    empty = made.tally(tried)
    _check_tally(tried, empty)
    if empty.status() != "open" or len(empty.shared) != tried.n_arms:
        raise _fault(empty, "an empty tally has decided something.", "Begin with all arms shared.")
    _Run(tried, n, seed=1).play()
    _check_order(tried)
    _check_noise(tried, n)
    _check_compiled(tried, n)


def _fault(where: object, what: str, remedy: str) -> SchemeFault:
    return SchemeFault(f"{type(where).__name__}: {what}\n{remedy}")


def _check_form(spec: ExperimentSpec) -> None:
    """It is registered, has a sentence for each parameter, and survives JSON."""
    scheme = spec.scheme
    if SCHEMES.get(scheme.name) is not type(scheme):
        raise _fault(scheme, "it is not registered by its name.", "Decorate it: @register_scheme.")
    if odd := {item.name for item in fields(scheme)} ^ set(scheme.about.parameters):
        raise _fault(
            scheme,
            f"about.parameters and the fields differ: {', '.join(sorted(odd))}.",
            "Give a sentence for each parameter, and for nothing else.",
        )
    again = ExperimentSpec.from_json(spec.to_json())
    if again != spec or again.fingerprint != spec.fingerprint:
        raise _fault(
            scheme,
            f"{scheme.to_dict()} is read back as {again.scheme.to_dict()}.",
            "Let to_dict give what __post_init__ turns into the same parameters.",
        )
    fewest = scheme.fewest_players(spec)
    if fewest > 1 and "\n" not in scheme.too_few(spec, fewest - 1):
        raise _fault(scheme, "too_few has no remedy.", "Say in a second line what to do.")


def _check_guarantees(spec: ExperimentSpec, n_players: int) -> None:
    """What a planner asks, with and without a number of players."""
    for case in (Case(spec), Case(spec, n_players, n_optimal=1)):
        found = spec.scheme.guarantees(case)
        if not isinstance(found, Guarantees):
            raise _fault(spec.scheme, f"guarantees gave {found!r}.", "Return a Guarantees.")
        for bound in found.bounds:
            if not 0.0 <= bound.value <= 1.0 or not bound.text:
                raise _fault(
                    spec.scheme, f"{bound} is no bound.", "Give a probability and a sentence."
                )


def _check_tally(spec: ExperimentSpec, tally: Tally) -> None:
    """What the page and devices are shown is JSON, and the answer names arms."""
    view, public = tally.view(), tally.public()
    if not set(view) >= VIEW or json.loads(json.dumps([view, public])) != [view, public]:
        raise _fault(
            tally,
            f"view and public are {view!r} and {public!r}.",
            "Use lists, texts and numbers; see Tally.view for its fields.",
        )
    if spec.scheme.about.by_message and len(view["counts"]) != spec.n_arms:
        raise _fault(tally, "view has not one count for each arm.", "Give a number for each arm.")
    if not tally.answer or not set(tally.answer) <= set(range(spec.n_arms)):
        raise _fault(tally, f"answer is {tally.answer}.", "Name one arm or more, by index.")


def _seen(tally: Tally) -> object:
    return tally.status(), tally.answer, tally.shared, json.dumps(tally.view())


class _Run:
    """Some players, a board in order, and everybody's reading of it."""

    def __init__(
        self, spec: ExperimentSpec, n_players: int, seed: int, noise: float | None = None
    ) -> None:
        self.spec, self.n_players = spec, n_players
        self.rng, self.noise = Random(seed), noise
        players = reference_of(spec.scheme).players(spec, n_players)
        self.players: list[Player] = list({id(player): player for player in players}.values())
        self.tally = spec.scheme.tally(spec)
        self.board: list[Message] = []

    def play(self, steps: int = STEPS) -> None:
        """Wake players at random until the group has its answer."""
        about = self.spec.scheme.about
        for step in range(steps):
            n = self.rng.randrange(len(self.players))
            self._step(self.players[n])
            if step % 50 == 0 and about.deployable:
                self.players[n] = self._restored(self.players[n])
            is_open = self.tally.status(self.n_players) == "open"
            if not is_open if about.by_message else all(p.best is not None for p in self.players):
                return
        if self.noise is None:
            raise _fault(
                self.spec.scheme,
                f"{self.n_players} players have no answer after {steps:,} plays.",
                "Give check_scheme more players, or parameters with which they decide sooner.",
            )

    def _step(self, player: Player) -> None:
        noise = self.rng.random()
        arm = player.activate(self.rng.random(), noise if self.noise is None else self.noise)
        if not 0 <= arm < self.spec.n_arms:
            raise _fault(player, f"it played arm {arm}.", "Play an arm of the specification.")
        self._post(player, player.outgoing())
        self._post(player, player.reward(float(self.rng.random() < MEANS[arm])))

    def _post(self, player: Player, messages: Sequence[Message]) -> None:
        about = self.spec.scheme.about
        for message in messages:
            if type(message) not in about.messages:
                if about.messages or about.deployable:
                    raise _fault(
                        player,
                        f"it sends a {type(message).__name__}, which about.messages lacks.",
                        "List each kind of message there.",
                    )
                continue
            if message.voter != player.voter or from_json(to_json(message), 3) != message:
                raise _fault(
                    player,
                    f"{message} does not come back from JSON in its sender's name.",
                    "Declare the kind with @message and send it with the player's voter.",
                )
            self._deliver(message)

    def _deliver(self, message: Message) -> None:
        """Post a message twice; the second time nothing may change."""
        tally, before = self.tally, _seen(self.tally)
        reason = tally.refusal(message)
        if _seen(tally) != before:
            raise _fault(tally, "refusal changes the tally.", "Change it in add alone.")
        if reason is not None:
            if "\n" not in reason:
                raise _fault(tally, f"{reason!r} has no remedy.", "Add one in a second line.")
            return
        tally.add(message)
        after = _seen(tally)
        if tally.refusal(message) is not None or tally.add(message) or _seen(tally) != after:
            raise _fault(
                tally,
                "a message that was taken is not harmless when it comes again.",
                "Do not refuse it; let add return False and change nothing.",
            )
        _check_tally(self.spec, tally)
        self.board.append(message)
        for player in self.players:
            player.receive(message)

    def _restored(self, player: Player) -> Player:
        """A player that was saved and restored."""
        saved = json.loads(player.to_json())
        again = restore_player(self.spec, saved, self.board, self.n_players)
        if again.to_dict() != player.to_dict() or _seen(again.tally) != _seen(player.tally):
            raise _fault(
                player,
                "a restored player differs from the one that was saved.",
                "Let _own give all that the player keeps, and _restore take it over.",
            )
        return again


def _check_order(spec: ExperimentSpec) -> None:
    """If a scheme does not say that it needs an order, any order means the same."""
    about = spec.scheme.about
    if about.needs_order or not about.messages:
        return
    for seed in range(BOARDS):
        rng = Random(seed)
        given, mixed, board = spec.scheme.tally(spec), spec.scheme.tally(spec), []
        for _ in range(rng.randrange(30)):
            message = _random_message(spec, rng)
            if given.refusal(message) is None:
                given.add(message)
                board.append(message)
        for message in rng.sample(board, len(board)):
            mixed.add(message)
        if _seen(given) != _seen(mixed):
            raise _fault(
                given,
                "another order of the same messages means something else.",
                "Make the tally a function of the set of messages, or say about.why_order.",
            )


def _random_message(spec: ExperimentSpec, rng: Random) -> Message:
    """A message of one of the scheme's kinds, with small numbers."""
    form = rng.choice(spec.scheme.about.messages)
    values: dict[str, Any] = {"experiment": spec.name, "voter": rng.choice("abcdefgh")}
    (kind,) = (kind for kind in KINDS.values() if kind.form is form)
    for name, number in kind.numbers.items():
        most = spec.n_arms - 1 if number.most is None else min(number.most, number.least + 2)
        values[name] = rng.randint(number.least, most)
    made: Message = form(**values)
    return made


def _check_noise(spec: ExperimentSpec, n_players: int) -> None:
    """A scheme whose messages depend on the noise says so."""
    boards = []
    for noise in (0.0, 1.0 - 2**-53):
        run = _Run(spec, n_players, seed=3, noise=noise)
        run.play(steps=1_000)
        boards.append(run.board)
    if boards[0] != boards[1] and not spec.scheme.sending.noisy:
        raise _fault(
            spec.scheme, "its messages depend on the noise.", "Say so: sending has noisy=True."
        )


def _check_compiled(spec: ExperimentSpec, n_players: int) -> None:
    """Its part of the compiled simulator does what its players do."""
    if part_of(spec.scheme) is None:
        return
    for horizon in (40, 400, 2_000):
        fast, slow = both_ways(Scenario(spec, Problem("check", MEANS), n_players, horizon), 4)
        if fast != slow:
            raise _fault(
                spec.scheme,
                f"within {horizon} plays its compiled part and its players differ.",
                "Compare run_trial and run_players with trace=True to see where.",
            )
