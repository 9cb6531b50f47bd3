"""What a reproduction is asked for: how many trials, which numbers of players, which seed."""

from dataclasses import dataclass

from devote.errors import DevoteError

PAPER_PLAYERS = (32, 64, 128, 256, 512, 1024)
"""Paper: Figures 6 to 8; the numbers of players run from 32, in powers of two."""

PAPER_TRIALS = 20
"""Paper: section 5.1, "averaged over 20 trials"."""

QUORUM = 28
MOST_PLAYERS = 1 << 20


class StudyError(DevoteError, ValueError):
    """A figure that does not exist, or settings or a folder that cannot be used."""


@dataclass(frozen=True)
class Settings:
    """Trials, numbers of players and the seed of one reproduction."""

    players: tuple[int, ...] = PAPER_PLAYERS
    trials: int = PAPER_TRIALS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.trials < 2:
            raise StudyError(
                f"trials={self.trials} gives no interval.\nUse at least 2; the paper has 20."
            )
        if not self.players:
            raise StudyError("There are no numbers of players.\nGive some, such as 32..1024.")
        object.__setattr__(self, "players", tuple(sorted(set(self.players))))
        for n in self.players:
            if not QUORUM <= n <= MOST_PLAYERS:
                raise StudyError(
                    f"{n} players: the paper's settings need {QUORUM} votes to eliminate an arm.\n"
                    f"Use from {QUORUM} to {MOST_PLAYERS:,} players; the paper has 32..1024."
                )

    @property
    def missing(self) -> tuple[int, ...]:
        """The paper's numbers of players that are left out: verdicts may differ without them.

        >>> Settings(players=(32, 64, 128)).missing
        (256, 512, 1024)
        """
        return tuple(n for n in PAPER_PLAYERS if n not in self.players)


def parse_players(text: str) -> tuple[int, ...]:
    """Numbers of players: a list such as ``32,64``, or ``32..1024``, doubling from the first.

    >>> parse_players("32..256")
    (32, 64, 128, 256)
    >>> parse_players("32,1024")
    (32, 1024)
    """
    first, dots, last = text.partition("..")
    try:
        if not dots:
            return tuple(int(part) for part in text.split(","))
        start, end = int(first), int(last)
    except ValueError:
        raise StudyError(
            f"players={text!r} is not a list of numbers.\nWrite 32..1024 or 32,64,128."
        ) from None
    if not 1 <= start <= end:
        raise StudyError(
            f"players={text!r} runs backwards or from nothing.\nWrite the smaller number first."
        )
    return tuple(start << i for i in range((end // start).bit_length()))
