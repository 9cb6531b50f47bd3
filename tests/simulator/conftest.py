"""What several tests of the simulator share."""

import sys

import pytest

from devote.rules.algorithm import ALGORITHMS


@pytest.fixture
def forget():
    """Take out the rules that a test has registered, and the files that it has imported."""
    known, modules, path = dict(ALGORITHMS), set(sys.modules), list(sys.path)
    yield
    ALGORITHMS.clear()
    ALGORITHMS.update(known)
    for name in set(sys.modules) - modules:
        if "rule" in name:
            del sys.modules[name]
    sys.path[:] = path
