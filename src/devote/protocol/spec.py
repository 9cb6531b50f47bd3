"""What an experiment is: the arms, the subroutine, and the promises asked of it.

Checked once, when it is made; everything downstream relies on it.
"""

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from devote.kernels import quorum
from devote.kernels.votes import jury_size
from devote.protocol import checks
from devote.protocol.errors import SpecError

VERSION = 1


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
        self._set("arms", checks.arm_names(self.arms))
        self._set("options", checks.sorted_options(self.options))
        checks.check_name(self.name)
        for name in ("epsilon", "eta", "delta"):
            self._set(name, checks.fraction(name, getattr(self, name)))
        algorithm = checks.known_algorithm(self.algorithm, self.options)
        self._set("phi", checks.reset_probability(self.phi, algorithm))
        checks.check_quorum(self.quorum)
        if self.quorum in checks.QUORUM_RULES and self.votes_needed < 2:
            raise SpecError(
                f"delta={self.delta} with eta={self.eta} needs {self.votes_needed} vote to "
                "eliminate an arm, but delta must be at most eta^2.\n"
                "Use a lower delta, a lower eta, or give the quorum as a number."
            )
        checks.check_protocol(self.protocol)
        checks.check_whole("seat_after", self.seat_after, 1)
        checks.check_whole("absent", self.absent, 0)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

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
        checks.check_player_count(n_players)
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


def _toml(value: object) -> str:
    """A JSON value as TOML writes it: the same, but for surrogate pairs and DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
