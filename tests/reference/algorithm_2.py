"""Algorithm 2 of the paper, Decentralized Elimination, as close to its printed lines as it works.

Sets and dicts, the standard library only, and nothing of the library under test. Each step is
marked with the printed line it transcribes; where it departs, with the erratum that makes it:

1.  line 14: one eliminated arm is enough to send.
2.  lines 5-10: the shared set is derived from the votes, by every player, each time it wakes.
3.  line 6: the shared set never empties; the arm with the fewest votes stays.
4.  line 8: a player left with nothing restarts on the shared set.
5.  line 22: ends agreed on one shared arm, or stalled when no further vote can come.
14. a reset is a message that opens the next term; older votes no longer count.

``run`` also has the two baselines of section 5: 1-privacy (``isolated``: every player alone at
delta / N) and 0-privacy (``pooled``: one shared learner at delta).
"""

from dataclasses import dataclass, field
from itertools import islice


@dataclass
class Result:
    samples: int = 0
    broadcasts: int = 0
    deliveries: int = 0
    status: str = "unfinished"
    winners: list[int] = field(default_factory=list)
    conflicts: int = 0
    resets: int = 0
    votes: list[tuple[int, int, int, int]] = field(default_factory=list)  # t, player, arm, term
    pulls: list[tuple[int, int, float]] = field(default_factory=list)  # player, arm, reward
    first_vote: dict[int, int] = field(default_factory=dict)  # player -> its pulls by then


def run(
    protocol,
    subroutine_factory,
    n_arms,
    n_players,
    epsilon,
    eta,
    delta,
    quorum,
    uniforms,
    wake,
    pay,
    horizon,
    phi=0.0,
):
    """One run on a stream of triples (u_wake, u_choose, u_reward), one triple per pull.

    ``subroutine_factory(n_arms, epsilon, eta, phi=phi)`` makes a learner, ``wake(u)`` says who is
    active, and ``pay(t, player, arm, u)`` the reward of pull ``t``. Arms, players, pulls and terms
    count from 0.
    """
    stream = enumerate(islice(uniforms, horizon))

    def learner(eta):
        return subroutine_factory(n_arms, epsilon, eta, phi=phi)

    if protocol == "decentralized":
        learners = [learner(eta) for _ in range(n_players)]
        return decentralized(learners, n_arms, quorum, stream, wake, pay)
    if protocol == "isolated":
        learners = [learner(delta / n_players) for _ in range(n_players)]
        return isolated(learners, stream, wake, pay)
    if protocol == "pooled":
        return pooled(learner(delta), n_players, stream, wake, pay)
    raise ValueError(f"protocol={protocol!r} is none of decentralized, isolated, pooled.")


def shared_set(voters: dict[int, set[int]], quorum: int) -> set[int]:
    """K(l): a pure function of the set of votes (errata 2 and 3)."""
    shared = {k for k in voters if len(voters[k]) < quorum}
    if not shared:
        shared = {min(voters, key=lambda k: (len(voters[k]), k))}
    return shared


def decentralized(learners, n_arms, quorum, stream, wake, pay):
    """Algorithm 2. ``learners[n].remaining`` is K^n(l^n)."""
    result = Result()
    players = range(len(learners))
    endless = learners[0].endless

    # Initialization: no votes, lambda_k^n = 0; n in voters[term][k] says lambda_k^n = 1.
    voters = {0: {k: set() for k in range(n_arms)}}
    terms = dict.fromkeys(players, 0)  # the term each player was in when it last read
    pulled = dict.fromkeys(players, 0)  # t^n

    # 1: repeat
    for t, (u_wake, u_choose, u_reward) in stream:
        # 2: player n is sampled
        n = wake(u_wake)
        learner = learners[n]

        # 3: player n gets the messages of the others (erratum 14: the highest term wins)
        term = max(voters)
        if terms[n] < term:
            terms[n] = term
            learner.restart()

        # 4-7: arms with enough votes leave the shared set (errata 2, 3)
        shared = shared_set(voters[term], quorum)

        # 8, 11: ... and the player's own set (erratum 4: if nothing is left, start over)
        if not learner.remaining & shared:
            result.conflicts += 1
            learner.restart()
        for k in learner.remaining - shared:
            learner.drop(k)

        # 13: ArmSelection plays an arm and returns the arms it eliminates
        arm = learner.choose(u_choose)
        reward = pay(t, n, arm, u_reward)
        eliminated = learner.observe(arm, reward)
        result.pulls.append((n, arm, reward))

        # 21: t^n := t^n + 1
        pulled[n] += 1

        # 14-20: each eliminated arm is sent (errata 1, 4: also a single one, and none twice);
        # 17, K^n := K^n \ {k}, is done by observe
        if eliminated == "reset":  # erratum 14
            result.resets += 1
            terms[n] = term + 1
            voters[term + 1] = {k: set() for k in range(n_arms)}
        else:
            for k in eliminated:
                if n not in voters[term][k]:
                    voters[term][k].add(n)
                    result.votes.append((t, n, k, term))
                    result.first_vote.setdefault(n, pulled[n])

        # 22: until ... (erratum 5)
        result.status = status(learners, voters[max(voters)], quorum)
        if result.status != "unfinished" and not endless:
            break

    voters = voters[max(voters)]
    result.winners = sorted(shared_set(voters, quorum), key=lambda k: (len(voters[k]), k))
    result.samples = len(result.pulls)
    result.broadcasts = len(result.votes) + result.resets
    result.deliveries = result.broadcasts * (len(players) - 1)
    return result


def status(learners, voters, quorum):
    """Line 22, as erratum 5 has it."""
    shared = shared_set(voters, quorum)
    if len(shared) == 1:
        all_hold_it = all(learner.remaining == shared for learner in learners)
        return "agreed" if all_hold_it else "unfinished"
    for n in range(len(learners)):
        if len([k for k in shared if n not in voters[k]]) > 1:
            return "unfinished"  # player n may still vote
    return "stalled"


def isolated(learners, stream, wake, pay):
    """1-privacy: no messages; ends when every player is down to one arm."""
    result = Result()
    for t, (u_wake, u_choose, u_reward) in stream:
        n = wake(u_wake)
        arm = learners[n].choose(u_choose)
        reward = pay(t, n, arm, u_reward)
        result.resets += learners[n].observe(arm, reward) == "reset"
        result.pulls.append((n, arm, reward))

        if any(len(learner.remaining) > 1 for learner in learners):
            result.status = "unfinished"
        elif all(learner.remaining == learners[0].remaining for learner in learners):
            result.status = "agreed"
        else:
            result.status = "disagreed"
        if result.status != "unfinished" and not learners[0].endless:
            break

    result.winners = sorted(set().union(*(learner.remaining for learner in learners)))
    result.samples = len(result.pulls)
    return result


def pooled(learner, n_players, stream, wake, pay):
    """0-privacy: whoever wakes plays for the one learner; every sample is sent to all."""
    result = Result()
    for t, (u_wake, u_choose, u_reward) in stream:
        n = wake(u_wake)
        arm = learner.choose(u_choose)
        reward = pay(t, n, arm, u_reward)
        result.resets += learner.observe(arm, reward) == "reset"
        result.pulls.append((n, arm, reward))

        result.status = "agreed" if len(learner.remaining) == 1 else "unfinished"
        if result.status != "unfinished" and not learner.endless:
            break

    result.winners = sorted(learner.remaining)
    result.samples = len(result.pulls)
    result.broadcasts = result.samples
    result.deliveries = result.broadcasts * (n_players - 1)
    return result
