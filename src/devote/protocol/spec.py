"""What an experiment is: the arms, the subroutine, and the promises asked of it.

Checked once, when it is made; everything downstream relies on it.
"""

import difflib
import hashlib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from devote.kernels import get_algorithm, quorum
from devote.kernels.votes import jury_size
from devote.protocol.errors import SpecError
from devote.protocol.messages import MAX_ARMS, is_identifier

VERSION = 1
QUORUM_RULES = ("paper", "ceil")
VOTING_PROTOCOLS = ("decentralized", "jury")


@dataclass(frozen=True)
class ExperimentSpec:
    """An experiment's specification.

    ``arms`` are names, or a number of arms to be named by their index. ``quorum`` is a rule,
    ``paper`` or ``ceil``, or the number of votes itself. ``phi`` is SER4's probability of a
    reset after each pull. ``protocol`` is what devices run, ``decentralized`` or ``jury``; for a
    jury, ``seat_after`` is the number of activations after which a player may claim a seat, and
    ``absent`` the number of jurors who may vanish.

    Paper: Algorithm 2, inputs.

    >>> ExperimentSpec(arms=10).votes_needed
    28
    """

    arms: Sequence[str] | int
    name: str = "experiment"
    algorithm: str = "ser3"
    options: Mapping[str, str | float] = field(default_factory=dict)
    epsilon: float = 0.25
    eta: float = 0.9
    delta: float = 0.05
    quorum: str | int = "paper"
    phi: float = 0.0
    protocol: str = "decentralized"
    seat_after: int = 50
    absent: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", _arm_names(self.arms))
        if not isinstance(self.options, Mapping):
            raise SpecError(
                f"options={self.options!r} must be a table of names and values.\n"
                "Write {} for none."
            )
        object.__setattr__(self, "options", dict(sorted(self.options.items(), key=str)))
        if not is_identifier(self.name):
            raise SpecError(
                f"name={self.name!r} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nRename the experiment."
            )
        for name, upper_end in (("epsilon", "1]"), ("eta", "1)"), ("delta", "1)")):
            value = getattr(self, name)
            if (
                not _is_number(value)
                or not 0.0 < value <= 1.0
                or (upper_end == "1)" and value == 1)
            ):
                raise SpecError(f"{name}={value!r} must be in (0, {upper_end}.\n{_REMEDIES[name]}")
            object.__setattr__(self, name, float(value))
        self._check_algorithm()
        self._check_quorum()

    def _check_algorithm(self) -> None:
        try:
            algorithm = get_algorithm(self.algorithm)
        except ValueError as error:
            raise SpecError(str(error)) from None
        for name, value in self.options.items():
            if name not in algorithm.options:
                known = ", ".join(algorithm.options) or "none"
                near = difflib.get_close_matches(str(name), algorithm.options, n=1, cutoff=0.4)
                raise SpecError(
                    f"option {name!r} is not one of {self.algorithm}'s: {known}.\n"
                    + (f"Did you mean {near[0]!r}?" if near else "Remove it.")
                )
            allowed = algorithm.options[name]
            if isinstance(allowed, tuple) and value not in allowed:
                raise SpecError(
                    f"{name}={value!r} is not one of: {', '.join(allowed)}.\nUse one of these."
                )
            if not isinstance(allowed, tuple) and not _is_number(value):
                raise SpecError(f"{name}={value!r} must be a number.\nThe default is {allowed}.")
        if not _is_number(self.phi) or not 0.0 <= self.phi <= 1.0:
            raise SpecError(
                f"phi={self.phi!r} must be in (0, 1].\n"
                "It is the probability of a reset after a pull; theory.optimal_phi suggests one."
            )
        if algorithm.endless and self.phi == 0.0:
            raise SpecError(
                f"phi=0 with {self.algorithm} never resets.\n"
                "Give phi in (0, 1], or use ser3, which needs none."
            )
        if not algorithm.endless and self.phi != 0.0:
            raise SpecError(
                f"phi={self.phi!r} has no meaning for {self.algorithm}, which never resets.\n"
                "Leave phi out, or use ser4."
            )
        object.__setattr__(self, "phi", float(self.phi))

    def _check_quorum(self) -> None:
        if self.quorum in QUORUM_RULES:
            if self.votes_needed < 2:
                raise SpecError(
                    f"delta={self.delta} with eta={self.eta} needs {self.votes_needed} vote to "
                    "eliminate an arm, but delta must be at most eta^2.\n"
                    "Use a lower delta, a lower eta, or give the quorum as a number."
                )
        elif not isinstance(self.quorum, int) or isinstance(self.quorum, bool) or self.quorum < 1:
            raise SpecError(
                f"quorum={self.quorum!r} must be 'paper', 'ceil' or a number of votes, 1 or more.\n"
                "'paper' is floor(log delta / log eta), 'ceil' rounds up."
            )

        self._check_jury()

    def _check_jury(self) -> None:
        if self.protocol not in VOTING_PROTOCOLS:
            raise SpecError(
                f"protocol={self.protocol!r} is not one of: {', '.join(VOTING_PROTOCOLS)}.\n"
                "The baselines isolated and pooled are for simulations, which take them by name."
            )
        for name, least in (("seat_after", 1), ("absent", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise SpecError(
                    f"{name}={value!r} must be a whole number, {least} or more.\n{_REMEDIES[name]}"
                )

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        assert not isinstance(self.arms, int)
        return len(self.arms)

    @cached_property
    def votes_needed(self) -> int:
        """M, the number of votes that eliminate an arm.

        Paper: Algorithm 2, line 6.
        """
        if isinstance(self.quorum, str):
            return quorum(self.delta, self.eta, self.quorum)
        return self.quorum

    @cached_property
    def jury_size(self) -> int:
        """J, the number of seats in the jury; J - ``absent`` votes eliminate an arm.

        >>> ExperimentSpec(arms=10).jury_size
        29
        """
        return jury_size(self.delta, self.eta, absent=self.absent, n_arms=self.n_arms)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that must be the same for players to play together."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def check_players(self, n_players: int, *, votes_needed: int | None = None) -> None:
        """Refuse a number of players that can never eliminate an arm.

        Paper: Algorithm 2 asks for ``delta >= eta^N``, which is M <= N.
        """
        if not isinstance(n_players, int) or isinstance(n_players, bool) or n_players < 1:
            raise SpecError(
                f"n_players={n_players!r} must be a whole number, 1 or more.\nSomebody must play."
            )
        needed = self.votes_needed if votes_needed is None else votes_needed
        if n_players < needed:
            cause = f"delta={self.delta} with eta={self.eta}"
            remedy = "a lower eta, or a higher delta"
            if needed == self.quorum:
                cause, remedy = f"quorum={needed}", "or a lower quorum"
            raise SpecError(
                f"{cause} needs {needed} votes to eliminate an arm, but there are {n_players} "
                f"players.\nUse at least {needed} players, {remedy}."
            )

    def to_dict(self) -> dict[str, Any]:
        """The specification as JSON values."""
        values = asdict(self)
        values["arms"] = list(values["arms"])
        return {"version": VERSION, **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ExperimentSpec":
        """Read what ``to_dict`` gave, or a person wrote; unknown fields are refused."""
        given = dict(values)
        version = given.pop("version", VERSION)
        if version != VERSION:
            raise SpecError(
                f"A specification of version {version!r} is not {VERSION}.\nUpgrade devote."
            )
        known = {item.name for item in fields(cls)}
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"Did you mean {near[0]!r}? " if near else ""
                raise SpecError(
                    f"{name!r} is not a field of a specification.\n"
                    f"{hint}The fields are: {', '.join(sorted(known))}."
                )
        if "arms" not in given:
            raise SpecError("A specification needs arms.\nGive their names, or their number.")
        return cls(**given)

    def to_json(self) -> str:
        """The specification as JSON text."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> "ExperimentSpec":
        """Read JSON text."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SpecError(f"The specification is not valid JSON: {error}.\nMend it.") from None
        if not isinstance(values, dict):
            raise SpecError("The specification is not a JSON object.\nWrite {...}.")
        return cls.from_dict(values)

    def to_toml(self) -> str:
        """The specification as TOML text."""
        values = self.to_dict()
        options = values.pop("options")
        lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
        if options:
            lines += ["", "[options]"]
            lines += [f"{name} = {_toml(value)}" for name, value in options.items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> "ExperimentSpec":
        """Read TOML text."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"The specification is not valid TOML: {error}.\nMend it.") from None
        return cls.from_dict(values)

    def with_(self, **changes: Any) -> "ExperimentSpec":
        """The same specification but for these fields.

        >>> ExperimentSpec(arms=3).with_(eta=0.5).eta
        0.5
        """
        return replace(self, **changes)


_REMEDIES = {
    "epsilon": "It is how far from the best an arm may be and still do; rewards lie in [0, 1].",
    "eta": "It is the probability with which one device may be wrong; 0.9 is the paper's.",
    "seat_after": "The more, the surer the jury is made of the most active players.",
    "absent": "It is the number of jurors who may vanish without stopping the vote.",
    "delta": "It is the probability with which the vote may be wrong; 0.05 is the paper's.",
}


def _is_number(value: object) -> bool:
    # Compared, not converted: an int may be too large for a float.
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -math.inf < value < math.inf
    )


def _toml(value: object) -> str:
    """A JSON value as TOML writes it: the same, but for surrogate pairs and DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _arm_names(arms: object) -> tuple[str, ...]:
    if isinstance(arms, int) and not isinstance(arms, bool):
        _check_count(arms)
        arms = tuple(str(k) for k in range(arms))
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise SpecError(f"arms={arms!r} must be a list of names, or their number.\nGive a list.")
    _check_count(len(arms))
    names = tuple(arms)
    for name in names:
        if not isinstance(name, str) or not name.strip() or len(name) > 200 or not _is_text(name):
            raise SpecError(f"arm name {name!r} must be a text of 1 to 200 characters.\nRename it.")
    if len(set(names)) != len(names):
        raise SpecError("Two arms have the same name.\nGive each its own.")
    return names


def _check_count(n_arms: int) -> None:
    if not 2 <= n_arms <= MAX_ARMS:
        raise SpecError(
            f"{n_arms} arms: there must be from 2 to {MAX_ARMS}.\n"
            "With one option there is nothing to find out."
        )


def _is_text(name: str) -> bool:
    """Whether a string can be written down: half a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in name)
