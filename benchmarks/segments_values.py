"""Answers until every segment of a survey is decided, beside reference values.

Run ``python -m benchmarks.segments_values`` in the root of the repository: ten minutes on two
cores, ``--share 0.1`` for a tenth of the runs. The first table has the settings of the reference (a
program written apart): means with standard errors, and by how many standard errors of both they
differ. The second has settings of our own: the compiled stream beside the tally that boards run,
which is given answers by the functions that devices run. The third has the worst gap: how often
any segment is wrong where the other arms are just past epsilon. The first and third are simulated
by ``devote.simulator.segments``.
"""

import argparse
import random
from dataclasses import dataclass
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from devote import ExperimentSpec
from devote.schemes import SegmentedAnswer, Survey
from devote.schemes.survey.signed_subsets import draw_noise, pack, signed_subset
from devote.simulator.answers import simulate_answers
from devote.simulator.segments import SegmentRuns, simulate_segments
from devote.theory import clopper_pearson

SEED = 1
Rows = list[list[float]]


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:,.0f} ± {self.error:,.0f}"


def estimate(values: ArrayLike) -> Estimate:
    found = np.asarray(values, dtype=float)
    return Estimate(float(found.mean()), float(found.std(ddof=1) / len(found) ** 0.5))


@dataclass(frozen=True)
class Setting:
    """What arms pay in each segment, and how large segments are."""

    name: str
    means: Rows
    shares: list[float]
    epsilon: float = 0.1
    delta: float = 0.05

    def spec(self, privacy: float | None) -> ExperimentSpec:
        """A survey of this setting."""
        names = tuple(str(z) for z in range(len(self.means)))
        scheme = Survey(privacy=privacy, segments=names)
        n_arms = len(self.means[0])
        return ExperimentSpec(arms=n_arms, epsilon=self.epsilon, delta=self.delta, scheme=scheme)

    def simulate(self, privacy: float | None, runs: int) -> SegmentRuns:
        """Streams of answers until all segments are decided."""
        return simulate_segments(self.spec(privacy), self.means, self.shares, runs=runs, seed=SEED)

    def wrong(self, found: SegmentRuns) -> int:
        """Runs in which some segment has an arm that is not epsilon-optimal for it."""
        means = np.array(self.means)
        bad = means < means.max(axis=1, keepdims=True) - self.epsilon - 1e-12
        return int(bad[np.arange(len(means)), found.winner].any(axis=1).sum())


def opposite(n_segments: int, best: float = 0.6, rest: float = 0.4, n_arms: int = 5) -> Rows:
    """The best arm of segment z is z mod K."""
    return [[best if k == z % n_arms else rest for k in range(n_arms)] for z in range(n_segments)]


def equal(n: int) -> list[float]:
    return [1 / n] * n


def falling(n: int) -> list[float]:
    return [1 / (z + 1) for z in range(n)]


CLICKS = Setting("S 4, K 4, .05 and .03", opposite(4, 0.05, 0.03, 4), equal(4), epsilon=0.01)
TABLE: tuple[tuple[Setting, dict[float | None, tuple[int, float, float]]], ...] = (
    (
        Setting("S 3, equal", opposite(3), equal(3)),
        {
            None: (1_000, 1_933, 30),
            4.0: (1_000, 2_329, 36),
            2.0: (600, 6_904, 151),
            1.0: (300, 29_520, 967),
        },
    ),
    (
        Setting("S 3, 1/z", opposite(3), falling(3)),
        {
            None: (1_000, 2_628, 55),
            4.0: (1_000, 3_522, 77),
            2.0: (600, 13_291, 483),
            1.0: (300, 63_734, 2_732),
        },
    ),
    (
        Setting("S 10, equal", opposite(10), equal(10)),
        {
            None: (400, 9_125, 140),
            4.0: (400, 17_110, 293),
            2.0: (100, 119_979, 2_761),
            1.0: (60, 475_000, 20_000),
        },
    ),
    (
        Setting("S 10, 1/z", opposite(10), falling(10)),
        {
            None: (400, 19_018, 351),
            4.0: (200, 52_318, 1_924),
            2.0: (60, 655_000, 48_000),
            1.0: (30, 2_800_000, 0),
        },
    ),
    (CLICKS, {4.0: (60, 234_000, 12_000), 2.0: (40, 1_200_000, 0)}),
)
"""Runs, the reference value and its standard error, 0 if it is not known, by privacy."""

LARGEST = {None: 1_948, 4.0: 3_138, 2.0: 7_299}
"""After how many answers the largest segment of S 10, 1/z is decided in the reference."""

OWN = (
    (Setting("two kinds, four banners", [[0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.3]], [0.7, 0.3]),
     2.0),
    (Setting("five kinds, one of 5 %", opposite(5, 0.8, 0.3, 3), [0.4, 0.3, 0.15, 0.1, 0.05],
             epsilon=0.2), 4.0),
    (Setting("eight kinds, ties", [[0.9, 0.9, 0.2]] * 4 + [[0.2, 0.2, 0.9]] * 4, equal(8),
             epsilon=0.3), 3.0),
)  # fmt: skip

PAIR = opposite(3, 0.6, 0.4999, 2)
WORST = ((0.05, None), (0.05, 2.0), (0.5, None), (0.5, 4.0), (0.5, 2.0))


def runs_of(most: int, share: float) -> int:
    return max(4, round(most * share))


def reference_table(share: float) -> None:
    print("| setting | e | reference | measured | runs | difference | wrong |")
    print("|---|---|---|---|---|---|---|")
    for setting, cells in TABLE:
        for privacy, (most, mean, error) in cells.items():
            found = setting.simulate(privacy, runs_of(most, share))
            own = estimate(found.answers)
            sigmas = (own.mean - mean) / hypot(own.error, error)
            printed = f"{mean:,} ± {error:,}" if error else f"{mean:,}"
            print(
                f"| {setting.name} | {privacy or 'none'} | {printed} | {own} "
                f"| {len(found.answers)} | {sigmas:+.1f} s.e. | {setting.wrong(found)} |",
                flush=True,
            )
            if setting.name == "S 10, 1/z" and privacy in LARGEST:
                first = estimate(found.decided[:, 0])
                print(f"| ... its largest segment | {privacy or 'none'} | {LARGEST[privacy]:,} "
                      f"| {first} | {len(found.answers)} | | |", flush=True)  # fmt: skip


def on_a_board(setting: Setting, privacy: float | None, seed: int) -> int:
    """Answers of devices' functions until the tally of boards has decided all segments."""
    spec, rng = setting.spec(privacy), random.Random(seed)
    survey, tally = spec.scheme, spec.scheme.tally(spec)
    assert isinstance(survey, Survey)
    while tally.status() == "open":
        arm = rng.choice(tally.asked)
        [z] = rng.choices(range(len(setting.means)), setting.shares)
        reward = float(rng.random() < setting.means[z][arm])
        if tally.public()["segments"][z]["status"] == "agreed":
            reward = 0.5
        signs = signed_subset(
            survey.subsets, z, reward, draw_noise(survey.subsets, z, rng.getrandbits)
        )
        tally.add(SegmentedAnswer(spec.name, arm, *pack(signs), 1, 0, str(len(tally))))
    return len(tally)


def own_table(share: float) -> None:
    print("\n| setting | e | compiled | runs | boards' tally | runs | difference | wrong |")
    print("|---|---|---|---|---|---|---|---|")
    for setting, privacy in OWN:
        found = setting.simulate(privacy, runs_of(400, share))
        compiled = estimate(found.answers)
        runs = runs_of(40, share)
        tally = estimate([on_a_board(setting, privacy, seed) for seed in range(runs)])
        sigmas = (compiled.mean - tally.mean) / hypot(compiled.error, tally.error)
        print(
            f"| {setting.name} | {privacy} | {compiled} | {len(found.answers)} | {tally} | {runs} "
            f"| {sigmas:+.1f} s.e. | {setting.wrong(found)} |",
            flush=True,
        )


def worst_table(share: float) -> None:
    print("\n| worst gap: S 3, K 2, epsilon .1, .6 and .4999 | delta | any wrong | 95 % interval |")
    print("|---|---|---|---|")
    for delta, privacy in WORST:
        setting = Setting("worst gap", PAIR, equal(3), delta=delta)
        runs = runs_of(4_000 if delta == 0.05 else 1_000, share)
        found = setting.simulate(privacy, runs)
        wrong = setting.wrong(found)
        low, high = clopper_pearson(wrong, runs)
        print(
            f"| e {privacy or 'none'} | {delta} | {wrong} of {runs:,}: {wrong / runs:.4f} "
            f"| {low:.4f} to {high:.4f} |",
            flush=True,
        )


def public_table(share: float) -> None:
    """A survey for each segment, which everybody may know, beside segments that are private."""
    setting = Setting("clear", opposite(4, 0.5, 0.3, 4), equal(4))
    print("\n| S 4, K 4, .5 and .3 | public segments | private segments | factor |")
    print("|---|---|---|---|")
    for privacy in (1.0, 2.0, 4.0):
        spec = ExperimentSpec(
            arms=4, epsilon=0.1, delta=setting.delta / 4, scheme=Survey(privacy=privacy)
        )
        runs = runs_of(400, share)
        each = simulate_answers(spec, setting.means[0], runs=4 * runs, seed=SEED).answers
        clear = estimate(4 * each.reshape(runs, 4).max(axis=1))
        hidden = estimate(setting.simulate(privacy, runs_of(200, share)).answers)
        print(
            f"| e {privacy:g} | {clear} | {hidden} | {hidden.mean / clear.mean:.1f} |",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the runs (default 1)")
    share = parser.parse_args().share
    reference_table(share)
    own_table(share)
    worst_table(share)
    public_table(share)


if __name__ == "__main__":
    main()
