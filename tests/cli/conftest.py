"""Run the command line in this process."""

import json
from typing import NamedTuple

import pytest

from devote.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def words(self):
        """What was printed without frames and line breaks, which fall where 80 columns end."""
        return " ".join(self.out.replace("│", " ").split())

    @property
    def json(self):
        """The JSON that it printed."""
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def devote(capsys):
    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
