"""The nine ArmSelection subroutines (paper, section 3.1 and 4) and two more, the obvious way.

Sets, dicts and the standard library only, nothing of the library under test: this is the oracle
that everything fast is compared with, run for run, on the same uniform random numbers.

Each class keeps ``remaining`` and answers ``choose(u)``, ``observe(arm, reward)``, ``drop(arm)``
and ``restart()``. ``K`` in a formula is always the original number of arms; every ``argmax`` and
``argmin`` takes the lowest index among equals; the empirical best is never eliminated.
"""

from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from math import ceil, inf, log, sqrt


def argmax(arms: Iterable[int], value: Callable[[int], float]) -> int:
    return max(sorted(arms), key=value)  # max() keeps the first of equals


def argmin(arms: Iterable[int], value: Callable[[int], float]) -> int:
    return min(sorted(arms), key=value)


def kl(p: float, q: float) -> float:
    """Bernoulli Kullback-Leibler divergence d(p, q), with 0 log 0 = 0."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += inf if b <= 0 else a * log(a / b)
    return total


def kl_upper(mean: float, pulls: int, beta: float) -> float:
    """The largest q in [mean, 1] with pulls * d(mean, q) <= beta."""
    inside, outside = mean, 1.0
    for _ in range(120):
        q = (inside + outside) / 2
        inside, outside = (q, outside) if pulls * kl(mean, q) <= beta else (inside, q)
    return inside


def kl_lower(mean: float, pulls: int, beta: float) -> float:
    """The smallest q in [0, mean] with pulls * d(mean, q) <= beta."""
    inside, outside = mean, 0.0
    for _ in range(120):
        q = (inside + outside) / 2
        inside, outside = (q, outside) if pulls * kl(mean, q) <= beta else (inside, q)
    return inside


class Subroutine:
    """What all of them share: the remaining set, pulls and sums."""

    endless = False  # True: it goes on after one arm is left, so only a horizon ends it

    def __init__(self, n_arms, epsilon, eta, phi=0.0, radius="union"):
        self.n_arms, self.epsilon, self.eta = n_arms, epsilon, eta
        self.phi, self.radius_form = phi, radius
        self.restart()

    def restart(self) -> None:
        """Fresh state, on all arms."""
        self.remaining = set(range(self.n_arms))
        self.pulls = dict.fromkeys(range(self.n_arms), 0)
        self.sums = dict.fromkeys(range(self.n_arms), 0.0)
        self.total = 0

    def drop(self, arm: int) -> None:
        """Take out an arm from outside: skipped from now on, nothing else changes."""
        self.remaining.discard(arm)

    def choose(self, u: float) -> int:
        self.u = u
        if len(self.remaining) == 1:
            (only,) = self.remaining
            return only
        return self.sample(u)

    def observe(self, arm: int, reward: float) -> list[int] | str:
        """Learn from one pull; the arms eliminated by it, or "reset"."""
        self.pulls[arm] += 1
        self.sums[arm] += reward
        self.total += 1
        eliminated = self.eliminate(arm) if len(self.remaining) > 1 else []
        self.remaining -= set(eliminated)
        return eliminated

    def sample(self, u: float) -> int:
        raise NotImplementedError

    def eliminate(self, arm: int) -> list[int]:
        raise NotImplementedError

    def mean(self, k: int) -> float:
        return self.sums[k] / self.pulls[k]

    def all_but(self, arm: int) -> list[int]:
        return sorted(self.remaining - {arm})


class RoundRobin(Subroutine):
    """One pull of each remaining arm, then again."""

    def sample(self, u):
        return argmin(self.remaining, lambda k: self.pulls[k])

    def round_is_over(self, arm):
        return all(self.pulls[k] >= self.pulls[arm] for k in self.remaining)


class Naive(RoundRobin):
    """Every arm ceil(4/eps^2 ln(2K/eta)) times, then keep the best."""

    def budget(self):
        return ceil(4 / self.epsilon**2 * log(2 * self.n_arms / self.eta))

    def eliminate(self, arm):
        if any(self.pulls[k] < self.budget() for k in self.remaining):
            return []
        return self.all_but(argmax(self.remaining, self.mean))


class MedianElimination(RoundRobin):
    """Epoch l: ceil(4/eps_l^2 ln(3/eta_l)) fresh pulls each, then drop the worse half."""

    def restart(self):
        super().restart()
        self.epsilon_l, self.eta_l = self.epsilon / 4, self.eta / 2

    def budget(self):
        return ceil(4 / self.epsilon_l**2 * log(3 / self.eta_l))

    def eliminate(self, arm):
        if any(self.pulls[k] < self.budget() for k in self.remaining):
            return []
        u, kept, eliminated = self.u, set(self.remaining), []
        for _ in range(len(self.remaining) // 2):
            lowest = min(self.mean(k) for k in kept)
            ties = sorted(k for k in kept if self.mean(k) == lowest)
            pick = int(u * len(ties))
            u = u * len(ties) - pick  # what is left of u is uniform again
            kept.remove(ties[pick])
            eliminated.append(ties[pick])
        self.pulls = dict.fromkeys(self.pulls, 0)
        self.sums = dict.fromkeys(self.sums, 0.0)
        self.epsilon_l, self.eta_l = self.epsilon_l * 3 / 4, self.eta_l / 2
        return eliminated


class SuccessiveElimination(RoundRobin):
    """After each round t, drop what lies 2 a_t below the best; stop at a_t <= eps/2."""

    def eliminate(self, arm):
        if not self.round_is_over(arm):
            return []
        t = self.pulls[arm]
        a = sqrt(log(4.01 * self.n_arms * t**2 / self.eta) / t)
        best = argmax(self.remaining, self.mean)
        if a <= self.epsilon / 2:
            return self.all_but(best)
        return [k for k in self.all_but(best) if self.mean(best) - self.mean(k) >= 2 * a]


class KLRacing(RoundRobin):
    """After each round t, drop the worst if L_best > U_worst - eps."""

    def eliminate(self, arm):
        if not self.round_is_over(arm):
            return []
        t = self.pulls[arm]
        beta = log(11.1 * self.n_arms / self.eta) + 1.1 * log(t)
        best = argmax(self.remaining, self.mean)
        worst = argmin(self.all_but(best), self.mean)
        lower = kl_lower(self.mean(best), self.pulls[best], beta)
        upper = kl_upper(self.mean(worst), self.pulls[worst], beta)
        return [worst] if lower > upper - self.epsilon else []


class ExploreThenCommit(Subroutine):
    """Each arm once, then adaptive pairs of arms; tested after every pull."""

    def sample(self, u):
        unseen = [k for k in self.remaining if self.pulls[k] == 0]
        return min(unseen) if unseen else self.sample_adaptively()

    def eliminate(self, arm):
        if any(self.pulls[k] == 0 for k in self.remaining):
            return []
        return self.commit()


class LUCB(ExploreThenCommit):
    """Pull h = the empirical best and l = its best rival in turn, until U_l - L_h < eps."""

    def restart(self):
        super().restart()
        self.rival = None  # the second arm of a pair under way

    def radius(self, k):
        t = self.total
        return sqrt(log(1.25 * self.n_arms * t**4 / self.eta) / (2 * self.pulls[k]))

    def upper(self, k):
        return self.mean(k) + self.radius(k)

    def lower(self, k):
        return self.mean(k) - self.radius(k)

    def pair(self):
        h = argmax(self.remaining, self.mean)
        return h, argmax(self.all_but(h), self.upper)

    def sample_adaptively(self):
        pending, self.rival = self.rival, None
        if pending in self.remaining:
            return pending
        h, self.rival = self.pair()
        return h

    def commit(self):
        h, rival = self.pair()
        return self.all_but(h) if self.upper(rival) - self.lower(h) < self.epsilon else []


class KLLUCB(LUCB):
    """LUCB with Kullback-Leibler bounds."""

    def beta(self):
        a = 405.5 * self.n_arms * self.total**1.1 / self.eta
        return log(a) + log(log(a))

    def upper(self, k):
        return kl_upper(self.mean(k), self.pulls[k], self.beta())

    def lower(self, k):
        return kl_lower(self.mean(k), self.pulls[k], self.beta())


class UGapEc(ExploreThenCommit):
    """J = argmin B, u = its best rival; pull the less known of the two, until B_J < eps."""

    def radius(self, k):
        t = self.total
        return sqrt(0.5 * log(4 * self.n_arms * t**3 / self.eta) / self.pulls[k])

    def upper(self, k):
        return self.mean(k) + self.radius(k)

    def gap(self, k):  # B_k
        lower = self.mean(k) - self.radius(k)
        return max(self.upper(i) for i in self.remaining if i != k) - lower

    def sample_adaptively(self):
        j = argmin(self.remaining, self.gap)
        u = argmax(self.all_but(j), self.upper)
        return j if self.radius(j) >= self.radius(u) else u

    def commit(self):
        j = argmin(self.remaining, self.gap)
        return self.all_but(j) if self.gap(j) < self.epsilon else []


class SER3(Subroutine):
    """Successive Elimination with the remaining arms freshly shuffled each round tau."""

    def restart(self):
        super().restart()
        self.tau = 0
        self.row = []  # remaining arms not yet played this round
        self.spare = 1.0  # what is left of the uniform that chose the arm

    def drop(self, arm):
        super().drop(arm)
        self.row = [k for k in self.row if k != arm]

    def choose(self, u):
        if not self.row:
            self.row = sorted(self.remaining)
            self.tau += 1
        i = int(u * len(self.row))
        self.spare = u * len(self.row) - i
        arm = self.row[i]
        self.row[i] = self.row[-1]
        self.row.pop()
        return arm

    def radius(self):
        if self.radius_form == "union":
            return sqrt(log(4 * self.n_arms * self.tau**2 / self.eta) / (2 * self.tau))
        return sqrt(log(2 * len(self.remaining) * self.tau / self.eta) / self.tau)

    def eliminate(self, arm):
        if self.row or self.tau < log(self.n_arms / self.eta):
            return []
        best = argmax(self.remaining, lambda k: self.sums[k])
        return [
            k
            for k in self.all_but(best)
            if self.mean(best) - self.mean(k) + self.epsilon >= 2 * self.radius()
        ]


class SER4(SER3):
    """SER3 that starts over with probability phi after each pull (erratum 14)."""

    endless = True

    def observe(self, arm, reward):
        if self.spare < self.phi:
            self.restart()
            return "reset"
        return super().observe(arm, reward)


class MixtureElimination(RoundRobin):
    """After each round tau, stop if all leads are above b - eps; else drop leads above b."""

    def __init__(self, n_arms, epsilon, eta, phi=0.0, rho=5.0):
        self.rho = rho
        super().__init__(n_arms, epsilon, eta)

    def restart(self):
        super().restart()
        self.judged = 0

    def bound(self, tau):
        level = log(sqrt(1 + tau / self.rho) * (self.n_arms - 1) / self.eta)
        return sqrt((1 + self.rho / tau) / tau * level)

    def observe(self, arm, reward):
        late = self.judge()  # a round that ended because others took out the rest of it
        self.remaining -= set(late)
        return late + super().observe(arm, reward)

    def eliminate(self, arm):
        return self.judge()

    def judge(self):
        rounds = {self.pulls[k] for k in self.remaining}
        if len(self.remaining) == 1 or len(rounds) > 1 or max(rounds) == self.judged:
            return []
        (self.judged,) = rounds
        b = self.bound(self.judged)
        best = argmax(self.remaining, self.mean)
        leads = {k: self.mean(best) - self.mean(k) for k in self.all_but(best)}
        if all(lead + self.epsilon >= b for lead in leads.values()):
            return self.all_but(best)
        return [k for k, lead in leads.items() if lead >= b]


class Betting(Subroutine):
    """Rounds of one bit from each asked arm; capital bet on the leader decides about the others.

    Nothing is added up: every question is answered from the list of all rounds so far. Numbers
    have forty digits. ``liars``: the capital is the least that is left wherever so many lies stand.
    """

    digits = Context(prec=40)

    def __init__(self, n_arms, epsilon, eta, phi=0.0, radius="union", liars=0):
        self.liars = liars
        super().__init__(n_arms, epsilon, eta)
        self.threshold = self.digits.divide(Decimal(n_arms - 1), Decimal(eta))
        self.grid = [min(Decimal("1.4") * Decimal(epsilon), Decimal("0.9"))]
        while self.grid[-1] < Decimal("0.9"):
            self.grid.append(min(Decimal("1.5") * self.grid[-1], Decimal("0.9")))

    def restart(self):
        super().restart()
        self.rounds = []  # of each complete round: the bit of each arm that it asked
        self.row = {}  # the bits of this round
        self.leader = None
        self.settled = set()  # pairs (j, a): a is settled against j

    def asked(self):
        """The leader and whoever is not settled against it; all before the first judgement."""
        return {k for k in self.remaining if (self.leader, k) not in self.settled}

    def choose(self, u):
        self.u = u
        lacking = self.asked() - set(self.row)
        return min(lacking or self.asked() or self.remaining)

    def observe(self, arm, reward):
        late = self.judge()  # a round that others completed by taking out what it lacked
        bit = int(self.u < reward)
        self.pulls[arm] += 1
        self.sums[arm] += bit
        if len(self.remaining) == 1 or arm not in self.asked():
            return late
        self.row[arm] = bit
        return late + self.judge()

    def judge(self):
        """Once a round is complete: who is settled against the leader, and who goes."""
        if len(self.remaining) == 1 or self.asked() - set(self.row):
            return []
        self.rounds.append({k: bit for k, bit in self.row.items() if k in self.remaining})
        self.row = {}
        self.leader = argmax(self.remaining, self.mean)
        gone = []
        for a in self.all_but(self.leader):
            if self.is_proved(self.leader, a, self.epsilon):
                self.settled.add((self.leader, a))
            if self.is_proved(self.leader, a, 0):
                gone.append(a)
        left = [a for a in self.all_but(self.leader) if a not in gone]
        if all((self.leader, a) in self.settled for a in left):
            gone += left
        self.remaining -= set(gone)
        return gone

    def is_proved(self, j, a, s):
        """Whether the capital bet on j, at most s below a, is enough wherever lies may stand."""
        both = [row[j] - row[a] for row in self.rounds if j in row and a in row]
        wins, draws, losses = (both.count(d) for d in (1, 0, -1))
        least = min(
            self.capital(wins - undone, draws + undone - made, losses + made, s)
            for undone in range(min(self.liars, wins) + 1)
            for made in range(min(self.liars - undone, draws + undone) + 1)
        )
        return least >= self.threshold

    def capital(self, wins, draws, losses, s):
        s, ten = Decimal(s), self.digits
        total = Decimal(0)
        for g in self.grid:
            term = ten.power(1 + g * (1 + s), wins)
            term = ten.multiply(term, ten.power(1 - g * (1 - s), losses))
            total += ten.multiply(term, ten.power(1 + g * s, draws))
        return ten.divide(total, len(self.grid))


SUBROUTINES = {
    "naive": Naive,
    "median_elimination": MedianElimination,
    "successive_elimination": SuccessiveElimination,
    "kl_racing": KLRacing,
    "lucb": LUCB,
    "kl_lucb": KLLUCB,
    "ugapec": UGapEc,
    "ser3": SER3,
    "ser4": SER4,
    "mixture_elimination": MixtureElimination,
    "betting": Betting,
}
