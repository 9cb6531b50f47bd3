"""The page about users who differ has the table that its script prints."""

from pathlib import Path

from scripts.users_differ import PROBLEMS, SCHEMES, cell

PAGE = Path(__file__).parents[2] / "docs" / "users_differ.md"
ROWS = [
    [part.strip() for part in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
]


def test_the_table_has_the_scripts_problems_and_schemes():
    head, *rows = ROWS
    assert [name.split()[0] for name in head[1:]] == [scheme.name for scheme in SCHEMES]
    assert [row[0] for row in rows] == [f"{one.name}, N = {n:,}" for one, n in PROBLEMS]


def test_the_last_row_is_what_the_script_measures():
    """The same seeds give the same runs; 64 players take no time."""
    problem, n_players = PROBLEMS[-1]
    assert ROWS[-1][1:] == [cell(scheme, problem, n_players, 40) for scheme in SCHEMES]
