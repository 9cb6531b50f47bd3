"""Segments for tests: a survey with three, a tally of it, and answers that decide some of them."""

from random import Random

from tests.server.live import identity

from devote.protocol import ExperimentSpec
from devote.schemes import SegmentedAnswer, Survey
from devote.schemes.survey.signed_subsets import pack

NAMES = ("phone", "tablet", "desktop")


def segmented_spec(*, privacy=4.0, reply_after=60.0, arms=3, **changes):
    """A survey with three segments that a hundred answers or so can decide."""
    scheme = Survey(privacy, reply_after=reply_after, segments=NAMES)
    return ExperimentSpec(arms=arms, scheme=scheme, **{"epsilon": 0.4, "delta": 0.3, **changes})


def row(z, decided):
    """How segment z stands if arm z leads there."""
    return {"status": "agreed" if decided else "open", "leader": z, "shared": [z], "asked": []}


def public(decided=(), asked=(0, 1, 2), status="open"):
    """A tally of three arms and segments, some of them decided."""
    arms = [0, 1, 2]
    return {
        "status": status,
        "answer": arms,
        "shared": arms,
        "asked": list(asked),
        "counts": [1, 1, 1],
        "snapshot": 7,
        "segments": [row(z, z in decided) for z in range(3)],
    }


def deciding(spec, *segments, best=2):
    """Signers and answers that make an arm the answer of some segments, and of no other."""
    tally, number = spec.scheme.tally(spec), 100
    for z in segments:
        while not tally.is_decided(z):
            for arm in range(spec.n_arms):
                signs = [0] * len(spec.scheme.segments)
                signs[z] = 1 if arm == best else -1
                number += 1
                voter = identity(number)
                answer = SegmentedAnswer(spec.name, arm, *pack(signs), 1, 0, voter.voter)
                if tally.add(answer):
                    yield voter, answer


def visits(spec, means, seed=7, most=100_000):
    """Signers and answers of visitors of all segments alike, up to the decision.

    ``means`` has a row for each segment.
    """
    rng, tally, number = Random(seed), spec.scheme.tally(spec), 0
    segments = spec.scheme.segments
    while tally.status() == "open" and number < most:
        number += 1
        voter, z = identity(number), rng.randrange(len(segments))
        player = spec.scheme.player(spec, voter.voter)
        player.read(tally.public())
        arm = player.activate(rng.random(), segment=segments[z], draws=rng.random)
        [answer] = player.reward(float(rng.random() < means[z][arm]))
        tally.add(answer)
        yield voter, answer
