"""Segments in compiled code are those of the functions that devices and boards run."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devote.protocol import ExperimentSpec, SpecError
from devote.rules import split
from devote.schemes import SegmentedAnswer, Survey
from devote.schemes.survey.signed_subsets import SignedSubsets, draw_noise, pack, signed_subset
from devote.simulator.parts.segments import Blur, write_signs
from devote.simulator.segments import simulate_segments


class Draws:
    """Random numbers split off one, in the order in which compiled code splits them."""

    def __init__(self, u):
        self.u = u

    def __call__(self, bits):
        draw, self.u = split(self.u)
        return int(draw * 2**bits)


@given(st.integers(2, 64), st.data(), st.sampled_from([None, 0.5, 4.0]))
def test_signs_are_those_of_a_device(n_segments, data, privacy):
    size = 1 if privacy is None else data.draw(st.integers(1, n_segments - 1))
    segment = data.draw(st.integers(0, n_segments - 1))
    reward, seed = data.draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])), data.draw(st.integers(0, 999))
    subsets, u = SignedSubsets.of(n_segments, size, privacy), Random(seed).random()
    row = np.zeros(n_segments, np.int8)
    write_signs(Blur.of(subsets), segment, reward, u, row)
    noise = draw_noise(subsets, segment, Draws(u))
    assert tuple(row.tolist()) == signed_subset(subsets, segment, reward, noise)


def spec_of(n_segments, privacy, **more):
    names = tuple(str(z) for z in range(n_segments))
    scheme = Survey(privacy=privacy, segments=names, liars=more.pop("liars", 0))
    return ExperimentSpec(**{"arms": 3, "epsilon": 0.4, "delta": 0.3, "scheme": scheme, **more})


def in_plain_python(spec, means, shares, seed, run, stale=0, crowd=0, lag=0, most=2_000):
    """The same run: answers of devices' functions, folded by the board's own tally."""
    rng, tally = np.random.default_rng([seed, run]), spec.scheme.tally(spec)
    subsets, segments = spec.scheme.subsets, range(len(means))
    seen, is_decided, under_way = tally.asked, [False] * len(means), []
    decided, sent = [0] * len(means), 0
    upto = np.cumsum(shares) / sum(shares)
    while tally.status() == "open" and sent < most:
        if sent >= crowd and (not stale or sent % stale == 0):
            seen, is_decided = tally.asked, [tally.is_decided(z) for z in segments]
        arm = seen[int(rng.random() * len(seen))]
        z = int((upto <= rng.random()).sum())
        reward = float(rng.random() < means[z][arm])
        noise = draw_noise(subsets, z, Draws(rng.random()))
        signs = signed_subset(subsets, z, 0.5 if is_decided[z] else reward, noise)
        under_way.append((arm, signs))
        if len(under_way) <= lag:
            continue
        arm, signs = under_way.pop(0)
        tally.add(SegmentedAnswer(spec.name, arm, *pack(signs), 1, 0, str(sent)))
        sent += 1
        for z in segments:
            decided[z] = decided[z] or sent * tally.is_decided(z)
    winners = [tally.leader(z) if tally.is_decided(z) else -1 for z in segments]
    return sent, winners, decided


@pytest.mark.parametrize(
    "how", [{}, {"stale": 30}, {"crowd": 150}, {"lag": 60}, {"most": 150}, {"stale": 7, "lag": 3}]
)
@pytest.mark.parametrize(
    ("privacy", "liars", "shares"),
    [(None, 0, [0.5, 0.3, 0.2]), (4.0, 1, [2.0, 1.0]), (2.0, 0, [0.25] * 4)],
)
def test_every_run_is_that_of_the_tally_in_plain_python(privacy, liars, shares, how):
    """No statistics: fed the same random numbers, both decide after the same answers."""
    n = len(shares)
    spec = spec_of(n, privacy, liars=liars)
    means = [[1.0 if k == z % 3 else 0.1 * k for k in range(3)] for z in range(n)]
    found = simulate_segments(spec, means, shares, runs=4, first=2, seed=5, **how)
    rows = (found.answers.tolist(), found.winner.tolist(), found.decided.tolist())
    expected = [in_plain_python(spec, means, shares, 5, run, **how) for run in range(2, 6)]
    assert list(zip(*rows, strict=True)) == expected


def test_a_decided_segment_and_one_that_is_not_are_told_apart():
    """Else the test above might compare runs in which nothing is decided."""
    spec = spec_of(2, None)
    found = simulate_segments(spec, [[1.0, 0, 0]] * 2, [1.0, 0.001], runs=5, most=300)
    assert (found.winner == [0, -1]).all()
    assert (found.decided[:, 0] < 300).all()


@pytest.mark.parametrize(("means", "shares"), [([[0.5, 0.5, 0.5]], [1.0]), ([[0.5] * 3] * 2, [1])])
def test_each_segment_needs_its_means_and_its_share(means, shares):
    with pytest.raises(SpecError, match="for 2 segments"):
        simulate_segments(spec_of(2, None), means, shares)
