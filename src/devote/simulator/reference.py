"""What the slow path needs of a scheme: its players, how the group stands, when a run is over.

The group stands as its tally does, or, where nothing follows from messages, as its players do.
Schemes that differ from that are listed in ``REFERENCES``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from devote.protocol import ExperimentSpec, Player, RunStatus, Scheme
from devote.rules import COUNT
from devote.schemes import Survey
from devote.schemes.survey.tally import SurveyTally

Standing: TypeAlias = tuple[RunStatus, tuple[int, ...]]
"""How a run stands, and the arms that may be the answer, the likeliest first."""


def separate_players(spec: ExperimentSpec, n_players: int) -> list[Player]:
    """Players by index."""
    return [spec.scheme.player(spec, str(n), n_players) for n in range(n_players)]


def standing_by_tally(players: Sequence[Player], n_players: int) -> Standing:
    """Agreed once every player holds the arm that the tally has settled on."""
    tally = players[0].tally
    status, shared = tally.status(n_players), tally.shared
    if status == "agreed" and all(player.remaining == shared for player in players):
        return "agreed", tally.answer
    return ("stalled" if status == "stalled" else "unfinished"), tally.answer


def over_by_tally(players: Sequence[Player], n_players: int) -> bool:
    """Once the run has agreed or stalled; while the tally is open its answer is not looked up."""
    if players[0].tally.status(n_players) == "open":
        return False
    return standing_by_tally(players, n_players)[0] != "unfinished"


@dataclass(frozen=True)
class Reference:
    """A scheme on the slow path; ``is_over`` is asked after each pull."""

    players: Callable[[ExperimentSpec, int], list[Player]] = separate_players
    standing: Callable[[Sequence[Player], int], Standing] = standing_by_tally
    is_over: Callable[[Sequence[Player], int], bool] = over_by_tally


def one_player(spec: ExperimentSpec, n_players: int) -> list[Player]:
    """The same player, N times."""
    return [spec.scheme.player(spec, "0", n_players)] * n_players


def one_tally(spec: ExperimentSpec, n_players: int) -> list[Player]:
    """Players with one tally in common, so that the board's learner is run once."""
    players = separate_players(spec, n_players)
    for player in players:
        player.tally = players[0].tally
    return players


def standing_by_arms(players: Sequence[Player], n_players: int) -> Standing:
    """Agreed once all hold the same arm, stalled once each holds one but they differ."""
    winners = tuple(sorted({arm for player in players for arm in player.remaining}))
    if any(player.best is None for player in players):
        return "unfinished", winners
    return ("agreed" if len(winners) == 1 else "stalled"), winners


def over_by_arms(players: Sequence[Player], n_players: int) -> bool:
    """Once each holds one arm."""
    return all(player.learner.state.ints[COUNT] == 1 for player in players)


def over_by_answers(players: Sequence[Player], n_players: int) -> bool:
    """Once everybody holds the answer, or all answers are given without a decision."""
    survey, tally = players[0].spec.scheme, players[0].tally
    assert isinstance(survey, Survey)
    assert isinstance(tally, SurveyTally)
    if tally.status() == "open":
        return len(tally) >= n_players * survey.answers
    return standing_by_settled(players, n_players)[0] != "unfinished"


def standing_by_settled(players: Sequence[Player], n_players: int) -> Standing:
    """Agreed once every player holds the answer, that of its segment if there are any."""
    status = players[0].tally.status()
    if status == "agreed" and any(player.remaining != (player.settled,) for player in players):
        status = "open"
    return ("agreed" if status == "agreed" else "unfinished"), players[0].tally.answer


REFERENCES = {
    "pooled": Reference(one_player, standing_by_arms, over_by_arms),
    "survey": Reference(one_tally, standing_by_settled, over_by_answers),
}


def reference_of(scheme: Scheme) -> Reference:
    """What the slow path needs of a scheme."""
    by_arms = Reference(standing=standing_by_arms, is_over=over_by_arms)
    return REFERENCES.get(scheme.name, Reference() if scheme.about.by_message else by_arms)
