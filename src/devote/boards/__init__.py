"""Where messages are posted and read.

A board keeps one experiment's messages; ``board`` says what every board does. A new board is one
file and one line here: the contract tests find it in ``BOARDS`` and run every check on it.
Boards are named, not imported, because each needs its own extras.
"""

BOARDS = {
    "memory": "devote.boards.memory:MemoryBoard",
    "sqlite": "devote.boards.sqlite:SqliteBoard",
    "http": "devote.boards.http:HttpBoard",
}
