"""What an experiment is: the arms, the subroutine, the scheme, and the promises asked of them.

Checked once, when it is made; everything downstream relies on it.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from devote.errors import did_you_mean
from devote.protocol.errors import SpecError
from devote.protocol.messages import MAX_ARMS, digest, is_identifier
from devote.protocol.scheme import SCHEMES, Scheme, check, make_scheme
from devote.rules import Algorithm, get_algorithm
from devote.rules.algorithm import AlgorithmError

VERSION = 2
LAST_TERM = 2**32 - 1
LAST_SERVERLESS_TERM = 255
LONGEST_NAME = 200
LEFT_OUT: Any = None
"""A field whose default depends on another."""

_KEY = re.compile(r"[0-9a-f]{64}")

_REMEDIES = {
    "epsilon": "It is how far from the best an arm may be and still do; rewards lie in [0, 1].",
    "eta": "It is the error allowed to one device alone.",
    "delta": "It is the error allowed to the group.",
}


class Options(Mapping[str, str | float]):
    """The options of a subroutine: a mapping that does not change and can be hashed."""

    def __init__(self, given: Mapping[str, str | float] | None = None) -> None:
        self._items = dict(sorted((given or {}).items(), key=str))

    def __getitem__(self, name: str) -> str | float:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


@dataclass(frozen=True)
class ExperimentSpec:
    """An experiment's specification.

    ``arms`` are names, or a number of arms to be named by their index. ``eta`` is the failure
    probability allowed to one device, ``delta`` to the group. Without ``algorithm`` and ``eta``
    they are the scheme's defaults. ``scheme`` is how the group decides: a scheme, its name, or a
    table with its name and parameters; without it, Decentralized Elimination. ``issuer`` is the
    public key of whoever certifies voters, where devices have no server (docs/serverless.md).

    Paper: Algorithm 2, inputs.

    >>> ExperimentSpec(arms=10).votes_needed
    28
    """

    arms: Sequence[str] | int
    name: str = "experiment"
    algorithm: str = LEFT_OUT
    options: Mapping[str, str | float] = Options()
    epsilon: float = 0.25
    eta: float = LEFT_OUT
    delta: float = 0.05
    scheme: Scheme = LEFT_OUT
    issuer: str = ""

    def __post_init__(self) -> None:
        self._set("arms", _arm_names(self.arms))
        if not is_identifier(self.name):
            raise SpecError(
                f"name={self.name!r} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nRename the experiment."
            )
        self._set("scheme", make_scheme(self.scheme))
        if self.algorithm is LEFT_OUT:
            self._set("algorithm", self.scheme.about.default_algorithm)
        if self.eta is LEFT_OUT:
            self._set("eta", self.scheme.about.default_eta)
        self._set("epsilon", check.fraction("epsilon", self.epsilon, _REMEDIES["epsilon"]))
        for name in ("eta", "delta"):
            self._set(name, check.probability(name, getattr(self, name), _REMEDIES[name]))
        if not isinstance(self.options, Mapping):
            raise SpecError(
                f"options={self.options!r} must be a table of names and values.\n"
                "Write {} for none."
            )
        algorithm = _algorithm(self.algorithm)
        _check_options(algorithm, self.options)
        # An option that is given at its default value is the same experiment.
        changed = {k: v for k, v in self.options.items() if v != algorithm.default(k)}
        self._set("options", Options(changed))
        if algorithm.most_arms is not None and self.n_arms > algorithm.most_arms:
            raise SpecError(
                f"{algorithm.name} takes up to {algorithm.most_arms:,} arms, because its memory "
                f"grows with their square, but there are {self.n_arms:,}.\n"
                "Use fewer arms, or another algorithm, such as mixture_elimination."
            )
        self._set("scheme", self.scheme.completed(self))
        self.scheme.check(self)
        self._check_issuer()

    def _check_issuer(self) -> None:
        if self.issuer == "":
            return
        if not isinstance(self.issuer, str) or _KEY.fullmatch(self.issuer) is None:
            raise SpecError(
                f"issuer={self.issuer!r} must be a public key, 64 digits and letters from a to f.\n"
                "Make one with: devote certify key"
            )
        about = self.scheme.about
        if about.needs_order:
            known = SCHEMES.values()
            fit = (s for s in known if s.about.deployable and not s.about.needs_order)
            others = ", ".join(scheme.name for scheme in fit)
            raise SpecError(
                f"{self.scheme.name} cannot do without a server: {about.why_order}.\n"
                f"Use one of: {others}; or leave out issuer and run a server."
            )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @cached_property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return len(self.arm_names)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The names of the arms."""
        assert isinstance(self.arms, tuple)
        return self.arms

    @property
    def votes_needed(self) -> int | None:
        """The number of messages that decide on an arm, None where none do.

        Paper: Algorithm 2, line 6.
        """
        return self.scheme.votes_needed(self)

    @property
    def resets(self) -> bool:
        """Whether the subroutine resets itself, and so never ends."""
        return _algorithm(self.algorithm).endless

    @property
    def last_term(self) -> int:
        """The last term there can be, so that no member can fill the devices of all others."""
        return LAST_SERVERLESS_TERM if self.issuer else LAST_TERM

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that must be the same for players to play together."""
        return digest(self.to_dict())

    def check_players(self, n_players: int) -> None:
        """Refuse a number of players that can never decide."""
        n = check.whole("n_players", n_players, least=1, remedy="Somebody must play.")
        if n < self.scheme.fewest_players(self):
            raise SpecError(self.scheme.too_few(self, n))

    def to_dict(self) -> dict[str, Any]:
        """The canonical form, as JSON values: what the fingerprint covers and what is sent.

        It names everything, defaults too, so that no later default can change what it means. Only
        fields that are empty are left out.
        """
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        defaults = _algorithm(self.algorithm)
        options = {name: defaults.default(name) for name in sorted(defaults.options)}
        values.update(arms=list(self.arm_names), options={**options, **self.options})
        values["scheme"] = self.scheme.to_dict()
        values = {name: value for name, value in values.items() if value not in ("", None)}
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
        known = [item.name for item in fields(cls)]
        for name in given:
            if name not in known:
                raise SpecError(
                    f"{name!r} is not a field of a specification.\n{did_you_mean(name, known)}"
                    f"The fields are: {', '.join(sorted(known))}."
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
            raise SpecError(
                f"The specification is not valid JSON: {error}.\nWrite one JSON object, {{...}}."
            ) from None
        if not isinstance(values, dict):
            raise SpecError("The specification is not a JSON object.\nWrite {...}.")
        return cls.from_dict(values)

    @classmethod
    def from_toml(cls, text: str) -> "ExperimentSpec":
        """Read TOML text."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SpecError(
                f"The specification is not valid TOML: {error}.\nWrite it as in docs/fleet.md."
            ) from None
        return cls.from_dict(values)

    def with_(self, **changes: Any) -> "ExperimentSpec":
        """The same specification but for these fields.

        Another scheme takes its own defaults of ``algorithm`` and ``eta``, unless they are given.

        >>> ExperimentSpec(arms=3).with_(eta=0.5).eta
        0.5
        """
        if "scheme" in changes:
            for name in ("algorithm", "eta"):
                default = getattr(self.scheme.about, f"default_{name}")
                if name not in changes and getattr(self, name) == default:
                    changes[name] = LEFT_OUT
        return replace(self, **changes)


def _algorithm(name: str) -> Algorithm:
    try:
        return get_algorithm(name)
    except AlgorithmError as error:
        raise SpecError(str(error)) from None


def _check_options(algorithm: Algorithm, options: Mapping[str, str | float]) -> None:
    if algorithm.endless:
        check.fraction(
            "phi",
            options.get("phi", 0.0),
            "It is the probability of a reset after a pull: give it as an option.",
        )
    for option, value in options.items():
        if option not in algorithm.options:
            raise SpecError(
                f"option {option!r} is not one of {algorithm.name}'s: "
                f"{', '.join(algorithm.options) or 'none'}.\n"
                + (did_you_mean(option, algorithm.options).strip() or "Remove it.")
            )
        allowed = algorithm.options[option]
        if not isinstance(allowed, tuple):
            check.positive(option, value, f"The default is {allowed}.")
        elif value not in allowed:
            raise SpecError(
                f"{option}={value!r} is not one of: {', '.join(allowed)}.\nUse one of these."
            )


def _arm_names(arms: object) -> tuple[str, ...]:
    """The names of the arms, given as such or as their number."""
    if isinstance(arms, str | bool) or not isinstance(arms, int | Sequence):
        raise SpecError(f"arms={arms!r} must be a list of names, or their number.\nGive a list.")
    n_arms = arms if isinstance(arms, int) else len(arms)
    if not 2 <= n_arms <= MAX_ARMS:
        raise SpecError(
            f"{n_arms} arms: there must be from 2 to {MAX_ARMS}.\n"
            "With one option there is nothing to find out."
        )
    return check_names(map(str, range(arms)) if isinstance(arms, int) else arms, "arm")


def check_names(given: Iterable[object], what: str) -> tuple[str, ...]:
    """Names that people read: texts that can be written down, each once."""
    names: list[str] = []
    for name in given:
        # Half a surrogate pair cannot be written down.
        if (
            not isinstance(name, str)
            or not 1 <= len(name.strip()) <= len(name) <= LONGEST_NAME
            or any("\ud800" <= character <= "\udfff" for character in name)
        ):
            raise SpecError(
                f"{what} name {name!r} must be a text of 1 to {LONGEST_NAME} characters.\n"
                "Rename it."
            )
        names.append(name)
    if len(set(names)) != len(names):
        raise SpecError(f"Two {what}s have the same name.\nGive each its own.")
    return tuple(names)
