"""What a device has chosen: the arm to play, and the play that its reward belongs to."""


class Choice(int):
    """One play of one arm. It is the arm's number, so it indexes and compares as one.

    ``name`` is the arm's name. ``play`` tells this play from all others, also from other plays
    of the same arm: a random text of no meaning, which may travel with what is shown and be
    given to ``reward`` in place of the choice.

    >>> choice = Choice(1, name="green", play="9f3c")
    >>> ("red", "green")[choice], choice == 1, choice.name
    ('green', True, 'green')
    """

    name: str
    play: str

    def __new__(cls, arm: int, name: str, play: str) -> "Choice":
        """A play of ``arm``; only a device makes one that it knows."""
        choice = super().__new__(cls, arm)
        choice.name = name
        choice.play = play
        return choice

    @property
    def arm(self) -> int:
        """The arm's number, as a plain one."""
        return int(self)

    def __getnewargs__(self) -> tuple[int, str, str]:  # type: ignore[override]
        return int(self), self.name, self.play

    def __repr__(self) -> str:
        return f"Choice({int(self)}, name={self.name!r}, play={self.play!r})"

    __str__ = int.__repr__
