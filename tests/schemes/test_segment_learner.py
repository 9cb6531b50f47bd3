"""The learner of segments beside a twin that keeps every round and multiplies every step."""

import random
from decimal import Decimal, localcontext

import pytest

from devote.schemes.survey.segment_learner import (
    asks_about,
    best_looking,
    log_capital,
    make_bets,
    new_segments,
    next_missing,
    pair_steps,
    take,
)
from devote.schemes.survey.signed_subsets import SignedSubsets, best_size


class Twin:
    """One segment as the definition says: all rounds, exact steps, products in 40 digits."""

    def __init__(self, subsets, *, n_arms, epsilon, delta, liars):
        self.n_arms, self.liars = n_arms, liars
        slope = Decimal(subsets.own - subsets.other) / 2**53
        member = Decimal(subsets.own + subsets.other) / 2**53
        stranger = (subsets.size - member) / (subsets.n_segments - 1)

        def step(a, b, c):
            present = (abs(a) + abs(b) - 2 * stranger) / (member - stranger)
            return (a - b) / (2 * slope) + c * present / 2

        signs = (-1, 0, 1)
        # As in make_bets: the grid of the noise may take so much from a gap.
        self.epsilon = Decimal(epsilon) - Decimal(4) / 2**53 / slope
        self.steps = {
            c: {(a, b): step(a, b, c) for a in signs for b in signs} for c in (self.epsilon, 0)
        }
        loss = -min(min(table.values()) for table in self.steps.values())
        share = min(Decimal("0.02"), 1 / Decimal(2 * subsets.n_segments))
        sign_part = Decimal(subsets.size) / subsets.n_segments / (2 * slope**2)
        share_part = stranger * (1 - stranger) / (2 * (member - stranger) ** 2)
        variance = sign_part + Decimal(epsilon) ** 2 * share_part
        stake = Decimal("0.95") / loss
        wanted = Decimal("1.4") * Decimal(epsilon) * share / variance
        self.stakes = [stake]
        while self.stakes[-1] > wanted:
            self.stakes.append(self.stakes[-1] / 2)
        self.threshold = subsets.n_segments * (n_arms - 1) / Decimal(delta)
        self.rounds, self.now = [], {}
        self.given = [[] for _ in range(n_arms)]
        self.alive, self.settled = set(range(n_arms)), set()
        self.leader, self.judged, self.is_decided = None, 0, False

    def asked(self):
        if self.is_decided:
            return []
        if self.leader is None:
            return sorted(self.alive)
        return [k for k in sorted(self.alive) if (self.leader, k) not in self.settled]

    def missing(self):
        return next((k for k in self.asked() if k not in self.now), -1)

    def capital(self, j, k, c):
        table = self.steps[c]
        products = []
        for stake in self.stakes:
            product = Decimal(1)
            for row in self.rounds:
                if j in row and k in row:
                    product *= 1 + stake * table[row[j], row[k]]
            most, least = max(table.values()), min(table.values())
            products.append(product / ((1 + stake * most) / (1 + stake * least)) ** self.liars)
        return sum(products) / len(products)

    def take(self, arm, sign):
        self.now[arm] = sign
        self.given[arm].append(sign)
        if self.missing() >= 0:
            return
        self.rounds.append(self.now)
        self.now = {}
        if len(self.rounds) <= self.judged + self.judged // 500:
            return
        self.judged = len(self.rounds)
        means = {k: Decimal(sum(self.given[k])) / len(self.given[k]) for k in sorted(self.alive)}
        self.leader = max(means, key=means.get)
        for k in sorted(self.alive - {self.leader}):
            pair = (self.leader, k)
            if pair not in self.settled and self.capital(*pair, self.epsilon) >= self.threshold:
                self.settled.add(pair)
            if pair in self.settled and self.capital(*pair, 0) >= self.threshold:
                self.alive.remove(k)
        self.is_decided = self.asked() == [self.leader]


SETTINGS = [
    (2, 2, 1.0, 0.3, 0),
    (3, 3, 4.0, 0.2, 0),
    (3, 4, None, 0.2, 0),
    (4, 2, 2.0, 0.4, 2),
    (5, 5, 4.0, 0.3, 1),
]


@pytest.mark.parametrize(("n_segments", "n_arms", "privacy", "epsilon", "liars"), SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_the_learner_equals_the_twin_step_by_step(
    n_segments, n_arms, privacy, epsilon, liars, seed
):
    rng = random.Random(seed)
    subsets = SignedSubsets.of(n_segments, best_size(n_segments, privacy, epsilon), privacy)
    settings = {"n_arms": n_arms, "epsilon": epsilon, "delta": 0.3, "liars": liars}
    bets, segments = make_bets(subsets, **settings), new_segments(n_segments, n_arms)
    z = rng.randrange(n_segments)
    # Signs are likelier than a segment of this share would give them: something happens sooner.
    likely = [[rng.uniform(0.1, 0.9) for _ in range(3)] for _ in range(n_arms)]
    with localcontext(prec=40):
        twin = Twin(subsets, **settings)
        for n in range(240 * n_arms):
            arm = next_missing(bets, segments, z)
            assert arm == twin.missing(), n
            if arm < 0:
                break
            sign = rng.choices((-1, 0, 1), likely[arm])[0]
            take(bets, segments, z, arm, sign)
            twin.take(arm, sign)
            asked = [k for k in range(n_arms) if asks_about(bets, segments, z, k)]
            assert asked == twin.asked(), n
            if n % 50 == 0 and len(twin.rounds) > 1:
                j, k = rng.sample(range(n_arms), 2)
                for c, logs, costs in (
                    (twin.epsilon, bets.settling, bets.settling_cost),
                    (0, bets.dropping, bets.dropping_cost),
                ):
                    ours = log_capital(bets, segments, z, j, k, logs, costs)
                    assert ours == pytest.approx(float(twin.capital(j, k, c).ln()), abs=1e-8)
        if twin.is_decided:
            assert best_looking(bets, segments, z) == twin.leader


def test_the_settings_of_the_twin_settle_drop_and_decide():
    """Else the test above would compare learners to which nothing happens."""
    ends = 0
    for n_segments, n_arms, privacy, epsilon, liars in SETTINGS:
        rng = random.Random(1)
        subsets = SignedSubsets.of(n_segments, best_size(n_segments, privacy, epsilon), privacy)
        bets = make_bets(subsets, n_arms=n_arms, epsilon=epsilon, delta=0.3, liars=liars)
        segments = new_segments(n_segments, n_arms)
        likely = [[rng.uniform(0.1, 0.9) for _ in range(3)] for _ in range(n_arms)]
        for _ in range(240 * n_arms):
            arm = next_missing(bets, segments, 0)
            if arm < 0:
                break
            take(bets, segments, 0, arm, rng.choices((-1, 0, 1), likely[arm])[0])
        ends += segments.decided[0] + sum(segments.settled) + segments.alive.count(0)
    assert ends >= 10


@pytest.mark.parametrize("privacy", [None, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("n_segments", [2, 3, 10, 64])
def test_a_bad_arm_has_no_positive_step_on_average_whatever_the_share(n_segments, privacy):
    """E D(c) = share (mu_j - mu_k + c), from the exact probabilities of signs."""
    size = best_size(n_segments, privacy, 0.1)
    subsets = SignedSubsets.of(n_segments, size, privacy)
    own, other = subsets.probabilities
    stranger = subsets.presence[1]

    def chances(share, mean):
        plus = own * mean + other * (1.0 - mean)
        minus = own * (1.0 - mean) + other * mean
        rest = (1.0 - share) * stranger / 2.0
        signs = [share * minus + rest, 0.0, share * plus + rest]
        signs[1] = 1.0 - sum(signs)
        return signs

    for share in (0.001, 0.2, 1.0):
        for mu_j, mu_k, c in ((0.4, 0.6, 0.1), (0.5, 0.6, 0.1), (0.05, 0.03, 0.0)):
            steps = pair_steps(subsets, c)
            mean = sum(
                p * q * steps[3 * a + b]
                for a, p in enumerate(chances(share, mu_j))
                for b, q in enumerate(chances(share, mu_k))
            )
            assert mean == pytest.approx(share * (mu_j - mu_k + c), abs=1e-9)


def test_no_stake_can_lose_all():
    for n_segments in (2, 10, 64):
        for privacy in (None, 0.1, 4.0):
            size = best_size(n_segments, privacy, 0.05)
            subsets = SignedSubsets.of(n_segments, size, privacy)
            bets = make_bets(subsets, n_arms=3, epsilon=0.05, delta=0.1)
            lowest = min(*bets.settling, *bets.dropping)
            assert lowest >= -3.0  # log(1 - .95) = -2.996
