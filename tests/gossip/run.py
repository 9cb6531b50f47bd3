"""The long run without a server: partitions, kills, a late joiner; every claim is checked.

``python -m tests.gossip.run --devices 32 --cuts 50`` parts the network at random that often, kills
a random device in each partition (the first known peers first), heals, and measures how long it
takes until all sets are equal. At the end it checks, from the files alone:

- the sets of all devices are the union of what all devices have sent: no vote lost, none twice;
- every decision that any device ever took stands by the whole set: an arm that was out is out, an
  answer is the answer;
- the answer is the right one.
"""

import argparse
import asyncio
import json
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.gossip.fleets import ISSUER, revocation
from tests.gossip.processes import Fleet, Plan, equal, pss

from devote.device.store import Store
from devote.gossip import GossipSettings
from devote.gossip.http import hand_over
from devote.gossip.votes import VoteSet
from devote.protocol import ExperimentSpec, to_json

MEANS = (0.9, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
FIRST_VOTE, LAST_VOTE = 80, 520
"""Pulls of a device between which it casts about all of its votes."""

EASY, EASY_VOTES = (0.95, 0.1, 0.05), (10, 60)
"""The same for runs that must not take long."""

HEALED = 60.0


def spec_for(devices: int, arms: int = len(MEANS), **changes: Any) -> ExperimentSpec:
    """A quorum so high that two parts of the network cannot decide otherwise: K M > N (K - 1)."""
    quorum = devices * (arms - 1) // arms + 1
    given = {"name": "banner", "epsilon": 0.2, "scheme": {"quorum": quorum}, **changes}
    return ExperimentSpec(arms=arms, issuer=ISSUER.voter, **given)


def run(
    devices: int, cuts: int, *, seed: int, period: float, folder: Path, rest: float = 30.0
) -> dict[str, Any]:
    """Run it and check it; for ``rest`` seconds the cost of doing nothing is measured."""
    dice = random.Random(seed)
    means, votes = (EASY, EASY_VOTES) if rest < 10.0 else (MEANS, (FIRST_VOTE, LAST_VOTE))
    plan = Plan(folder, spec_for(devices, len(means)), means, devices + 2, period)
    fleet = Fleet(plan)
    healing: list[float] = []
    members = range(devices)
    try:
        for n in members:
            fleet.prepare(n)
        for n in members:
            fleet.start(n)
        fleet.await_(lambda shown: not any(t["offline"] for t in shown.values()), 120, "all join")
        victims = [0, 1]
        for cut in range(cuts):
            plan.network.cut(set(dice.sample(members, dice.randint(1, devices - 1))))
            plan.budget = votes[0] + (votes[1] - votes[0]) * (cut + 1) // cuts
            time.sleep(period * dice.random())
            victim = victims.pop() if victims else dice.choice(members)
            fleet.kill(victim)
            time.sleep(period * dice.random())
            fleet.start(victim)
            fleet.await_(played(plan.budget), 300, "all play")
            plan.network.cut(set())
            healing.append(fleet.await_(equal, HEALED, f"equal after cut {cut}"))
        plan.budget = 10**6
        agree = lambda shown: all(t["best"] == 0 for t in shown.values())  # noqa: E731
        fleet.await_(agree, 300, "the right answer")
        plan.budget = 0
        fleet.await_(equal, HEALED, "equal at the end")
        figures = _measure(fleet, plan, devices, rest)
        late = _join_late(fleet, plan, devices)
        times = 10 if rest > 10.0 else 1
        late["seconds until all have a new item"] = _spread(_spreading(fleet, plan, devices, times))
        for n in list(fleet.pids):
            fleet.kill(n)
        figures |= _check(plan, devices)
    finally:
        fleet.close()
    return {
        "devices": devices,
        "network": plan.network.kind,
        "period": period,
        "cuts and kills": cuts,
        "seconds from healing to equal sets": _spread(healing),
        **late,
        **figures,
    }


def played(budget: int) -> Any:
    """Whether all have made their pulls."""
    return lambda shown: all(each["pulls"] >= budget for each in shown.values())


def _join_late(fleet: Fleet, plan: Plan, devices: int) -> dict[str, Any]:
    """One that knows a live peer, and one that knows only an address where nobody answers."""
    root = plan.standing(0)["root"]
    fleet.start(devices, [random.randrange(devices)])
    took = fleet.await_(lambda shown: shown[devices]["root"] == root, HEALED, "the late joiner")
    rounds = plan.standing(devices)["round"]
    fleet.kill(devices)
    fleet.start(devices + 1, [devices])  # which is dead
    degrades = lambda shown: bool(shown[devices + 1]["degraded"])  # noqa: E731
    fleet.await_(degrades, HEALED, "the one that knows only the dead")
    shown = plan.standing(devices + 1)
    fleet.kill(devices + 1)
    assert shown["best"] is None
    return {
        "late joiner": f"{took:.1f} s, {rounds} rounds",
        "knows only dead": shown["degraded"][0],
    }


def _spreading(fleet: Fleet, plan: Plan, devices: int, times: int) -> list[float]:
    """How long it takes until everybody has something new: revocations of numbers never issued."""
    took = []
    for number in range(10**6, 10**6 + times):
        before = plan.standing(0)["root"]
        fleet.start_work(devices, _tell_one, plan, devices, random.randrange(devices), number)
        changed = lambda shown: equal(shown) and shown[0]["root"] != before  # noqa: B023, E731
        took.append(fleet.await_(changed, HEALED, "a new item"))
    return took


def _tell_one(plan: Plan, n: int, to: int, number: int) -> None:
    plan.network.enter(n)
    fingerprint, items = plan.spec.fingerprint, [revocation(number, plan.spec)]
    settings = GossipSettings(allow=plan.network.allow)
    asyncio.run(hand_over(settings, fingerprint, plan.network.address(to), items))


def _measure(fleet: Fleet, plan: Plan, devices: int, seconds: float) -> dict[str, Any]:
    """What it costs when nothing happens."""
    members = range(devices)
    before = {n: (plan.network.traffic(n), plan.standing(n)) for n in members}
    time.sleep(seconds)
    bytes_, bodies, cpu = [], [], []
    for n in members:
        was, shown = before[n][1], plan.standing(n)
        bytes_.append(plan.network.traffic(n) - before[n][0])
        bodies.append(shown["bodies"] - was["bodies"])
        cpu.append(shown["cpu"] - was["cpu"])
    memory = [pss(fleet.pids[n]) for n in members]
    hour = 3600 / seconds
    return {
        "items": plan.standing(0)["items"],
        "idle: MB per device and hour, with headers": round(
            statistics.mean(bytes_) * hour / 1e6, 2
        ),
        "idle: MB of bodies per device and hour": round(statistics.mean(bodies) * hour / 1e6, 2),
        "idle: share of a core, all devices": round(sum(cpu) / seconds, 3),
        "memory per device, MB (share of common pages, own)": [
            round(statistics.mean(m[k] for m in memory) / 1e6, 1) for k in (0, 1)
        ],
    }


def _check(plan: Plan, devices: int) -> dict[str, Any]:
    """Check everything that was claimed, from the files."""
    sent: set[str] = set()
    for n in range(devices):
        store = Store.open(plan.store(n))
        sent |= {to_json(message) for message in store.load().outbox}
        store.close()
        acknowledged = plan.store(n).with_suffix(".acknowledged").read_text().split("\n")[:-1]
        assert set(acknowledged) <= sent, "an acknowledged vote is in no store"
    tallies = []
    for n in range(devices):
        votes = VoteSet(plan.store(n))
        _, rows = votes.board.rows(plan.spec.name)
        held = [row[1] for row in rows]
        assert len(held) == len(set(held)), "a vote counted twice"
        assert set(held) == sent, "a vote lost, or one that nobody has sent"
        tallies.append(votes.board.tally(plan.spec.name).tally)
        votes.close()
    whole = tallies[0]
    assert all(tally == whole for tally in tallies)
    assert whole["answer"] == [0], whole
    decisions = 0
    for n in range(devices):
        for line in plan.store(n).with_suffix(".decisions").read_text().splitlines():
            decided = json.loads(line)
            decisions += 1
            assert set(whole["shared"]) <= set(decided["shared"]), (n, decided, whole)
            assert decided["best"] in (None, whole["answer"][0]), (n, decided, whole)
    return {"votes": len(sent), "decisions checked": decisions, "answer": whole["answer"]}


def _spread(values: list[float]) -> str:
    if not values:
        return "-"
    middle, most = statistics.median(values), max(values)
    return f"median {middle:.1f}, most {most:.1f} ({len(values)} times)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=32)
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--period", type=float, default=2.0)
    parser.add_argument("--rest", type=float, default=30.0)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="devote-gossip-"))
    began = time.monotonic()
    how = {"seed": given.seed, "period": given.period, "rest": given.rest}
    figures = run(given.devices, given.cuts, folder=folder, **how)
    figures["seconds in all"] = round(time.monotonic() - began)
    for name, value in figures.items():
        print(f"{name}: {value}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
