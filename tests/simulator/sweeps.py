"""Sweeps to run and to interrupt, and what it means for two to have the same results."""

import dataclasses
import json

import numpy as np

from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.simulator import Result, Scenario


def small_cells(sizes=(8, 12), means=(0.9, 0.6, 0.1)):
    """Three schemes by a few numbers of players: trials of a millisecond."""
    spec = ExperimentSpec(arms=3, epsilon=0.5, scheme={"quorum": 3})
    problem = Problem("toy", means)
    specs = [spec, spec.with_(scheme="isolated"), spec.with_(scheme="pooled")]
    return [Scenario(one, problem, n) for one in specs for n in sizes]


def long_cells():
    """One scheme, trials of some tens of milliseconds: long enough to be killed in one."""
    problem = Problem("toy", (0.7, 0.5, 0.3, *[0.1] * 7))
    return [Scenario(ExperimentSpec(arms=10, epsilon=0.25), problem, n) for n in (400, 800)]


def trials_in(file):
    """The cell and the number of each trial in the whole lines of a file, in order."""
    whole = file.read_bytes().rpartition(b"\n")[0].splitlines()
    lines = [json.loads(line) for line in whole]
    return sorted((line["cell"], t) for line in lines if "trial" in line for t in line["trial"])


def assert_same_results(one, other):
    """Every field of every result."""
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert isinstance(left, Result)
        for field in dataclasses.fields(Result):
            a, b = getattr(left, field.name), getattr(right, field.name)
            if isinstance(a, np.ndarray):
                assert a.dtype == b.dtype, field.name
                np.testing.assert_array_equal(a, b)
            else:
                assert a == b, field.name
