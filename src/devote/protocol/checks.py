"""What a specification's fields must be; each check refuses with the value, the rule and a remedy.

They look at values only, and give back what is to be kept where that differs from what was given.
"""

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from devote.kernels import Algorithm, get_algorithm
from devote.protocol.errors import SpecError
from devote.protocol.messages import MAX_ARMS, is_identifier

QUORUM_RULES = ("paper", "ceil")
VOTING_PROTOCOLS = ("decentralized", "jury")
LONGEST_NAME = 200

_REMEDIES = {
    "epsilon": "It is how far from the best an arm may be and still do; rewards lie in [0, 1].",
    "eta": "It is the error allowed to one device alone; 0.9 is the paper's.",
    "delta": "It is the error allowed to the vote; 0.05 is the paper's.",
    "seat_after": "The more, the surer the jury is made of the most active players.",
    "absent": "It is the number of jurors who may vanish without stopping the vote.",
}


def arm_names(arms: object) -> tuple[str, ...]:
    """The names of the arms, given as such or as their number.

    >>> arm_names(3)
    ('0', '1', '2')
    """
    if isinstance(arms, int) and not isinstance(arms, bool):
        _check_count(arms)
        arms = tuple(str(k) for k in range(arms))
    if isinstance(arms, str) or not isinstance(arms, Sequence):
        raise SpecError(f"arms={arms!r} must be a list of names, or their number.\nGive a list.")
    _check_count(len(arms))
    names = tuple(arms)
    for name in names:
        if not _is_name(name):
            raise SpecError(
                f"arm name {name!r} must be a text of 1 to {LONGEST_NAME} characters.\nRename it."
            )
    if len(set(names)) != len(names):
        raise SpecError("Two arms have the same name.\nGive each its own.")
    return names


def sorted_options(options: object) -> dict[str, str | float]:
    """The options in the order of their names."""
    if not isinstance(options, Mapping):
        raise SpecError(
            f"options={options!r} must be a table of names and values.\nWrite {{}} for none."
        )
    return dict(sorted(options.items(), key=str))


def check_name(name: object) -> None:
    """An experiment's name is part of its address."""
    if not is_identifier(name):
        raise SpecError(
            f"name={name!r} must be 1 to 64 of A-Z a-z 0-9 _ . : -\nRename the experiment."
        )


def fraction(name: str, value: object) -> float:
    """Epsilon, eta or delta; only epsilon may be 1."""
    upper_end = "1]" if name == "epsilon" else "1)"
    if not _is_number(value) or not 0.0 < value <= 1.0 or (upper_end == "1)" and value == 1):
        raise SpecError(f"{name}={value!r} must be in (0, {upper_end}.\n{_REMEDIES[name]}")
    return float(value)


def known_algorithm(name: str, options: Mapping[str, str | float]) -> Algorithm:
    """The subroutine of that name, if it takes these options."""
    try:
        algorithm = get_algorithm(name)
    except ValueError as error:
        raise SpecError(str(error)) from None
    for option, value in options.items():
        if option not in algorithm.options:
            known = ", ".join(algorithm.options) or "none"
            near = difflib.get_close_matches(str(option), algorithm.options, n=1, cutoff=0.4)
            raise SpecError(
                f"option {option!r} is not one of {name}'s: {known}.\n"
                + (f"Did you mean {near[0]!r}?" if near else "Remove it.")
            )
        allowed = algorithm.options[option]
        if isinstance(allowed, tuple) and value not in allowed:
            raise SpecError(
                f"{option}={value!r} is not one of: {', '.join(allowed)}.\nUse one of these."
            )
        if not isinstance(allowed, tuple) and not (_is_number(value) and value > 0):
            raise SpecError(
                f"{option}={value!r} must be a number above 0.\nThe default is {allowed}."
            )
    return algorithm


def reset_probability(phi: object, algorithm: Algorithm) -> float:
    """Phi, which a subroutine that resets needs and no other has."""
    if not _is_number(phi) or not 0.0 <= phi <= 1.0:
        raise SpecError(
            f"phi={phi!r} must be in (0, 1].\n"
            "It is the probability of a reset after a pull; devote plan recommends one."
        )
    if algorithm.endless and phi == 0.0:
        raise SpecError(
            f"phi=0 with {algorithm.name} never resets.\n"
            "Give phi in (0, 1], or use ser3, which needs none."
        )
    if not algorithm.endless and phi != 0.0:
        raise SpecError(
            f"phi={phi!r} has no meaning for {algorithm.name}, which never resets.\n"
            "Leave phi out, or use ser4."
        )
    return float(phi)


def check_quorum(quorum: object) -> None:
    """A rule, or the number of votes itself."""
    if quorum not in QUORUM_RULES and not _is_whole(quorum, 1):
        raise SpecError(
            f"quorum={quorum!r} must be 'paper', 'ceil' or a number of votes, 1 or more.\n"
            "'paper' is floor(log delta / log eta), 'ceil' rounds up."
        )


def check_protocol(protocol: object) -> None:
    """One that devices can run."""
    if protocol not in VOTING_PROTOCOLS:
        raise SpecError(
            f"protocol={protocol!r} is not one of: {', '.join(VOTING_PROTOCOLS)}.\n"
            "The baselines isolated and pooled are for simulations, which take them by name."
        )


def check_whole(name: str, value: object, least: int) -> None:
    """``seat_after`` or ``absent``."""
    if not _is_whole(value, least):
        raise SpecError(
            f"{name}={value!r} must be a whole number, {least} or more.\n{_REMEDIES[name]}"
        )


def check_player_count(n_players: object) -> None:
    """At least one."""
    if not _is_whole(n_players, 1):
        raise SpecError(
            f"n_players={n_players!r} must be a whole number, 1 or more.\nSomebody must play."
        )


def _check_count(n_arms: int) -> None:
    if not 2 <= n_arms <= MAX_ARMS:
        raise SpecError(
            f"{n_arms} arms: there must be from 2 to {MAX_ARMS}.\n"
            "With one option there is nothing to find out."
        )


def _is_name(name: object) -> bool:
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        return False
    # Half a surrogate pair cannot be written down.
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _is_number(value: object) -> TypeGuard[int | float]:
    # Compared, not converted: an int may be too large for a float.
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -math.inf < value < math.inf
    )


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
