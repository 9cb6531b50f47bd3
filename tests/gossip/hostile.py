"""Hostile peers of four kinds among honest ones: ``python -m tests.gossip.hostile``.

All are members, with certificates of their own, and answer at an address of their own, so that
honest devices turn to them; and all attack as well:

- *garbage*: no JSON, bodies without end, answers that never end, votes with broken signatures, all
  the votes that a member can sign;
- *floods*: as many requests as it can send, large bodies, connections that never ask anything;
- *false digests*: always another set, wants everything again, has nothing;
- *poisoned addresses*: signs the address of a victim as its own, again and again with a higher
  sequence, and hands out addresses that nobody signed.

The honest ones must come to the right answer with equal sets, in bounded memory and traffic, and
the victim must be asked little.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import shutil
import tempfile
import time
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from tests.gossip.fleets import certified, member, vote
from tests.gossip.processes import Fleet, Plan, equal, pss
from tests.gossip.run import EASY, EASY_VOTES, HEALED, LAST_VOTE, MEANS, spec_for

from devote.boards.identity import Identity
from devote.gossip.credentials import scope_of

KINDS = ("garbage", "floods", "false digests", "poisoned addresses")
HEADERS = {"Devote-Version": "2", "Content-Type": "application/json"}


class Hostile:
    """A member that keeps no rule; ``victim`` is whom a poisoner would have attacked."""

    def __init__(self, plan: Plan, n: int, kind: str, honest: list[int], victim: str) -> None:
        self.plan, self.n, self.kind = plan, n, kind
        self.honest = [plan.network.address(h) for h in honest]
        self.victim = victim
        self.identity: Identity = member(1_000 + n)
        self.number = 1_000 + n
        self.certificate = certified(self.identity.voter, self.number, plan.spec)
        self.sequence = 0
        self.sent = self.asked = 0

    def record(self, address: str) -> dict[str, Any]:
        self.sequence += 1
        fields = {"address": address, "sequence": self.sequence, "voter": self.identity.voter}
        return {
            **fields,
            "number": self.number,
            "certificate": self.certificate.signature,
            "signature": self.identity.sign_fields("address", fields, scope_of(self.plan.spec)),
        }

    def who(self, nonce: str) -> dict[str, Any]:
        fields = {"nonce": int(nonce, 16), "voter": self.identity.voter}
        proof = self.identity.sign_fields("peer", fields, scope_of(self.plan.spec))
        return {"me": self.record(self.plan.network.address(self.n)), "proof": proof}

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        """What an honest device gets that asks this one."""
        body = b""
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        self.asked += 1
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}
        reply: Any = {"same": False, "buckets": b64encode(secrets.token_bytes(256)).decode()}
        if "who" in asked:
            reply["who"] = self.who(asked["who"])
        if "peers" in asked:
            reply["peers"] = self.lies()
        if scope["path"].endswith("trade"):
            held = asked.get("held", {}).values()
            reply = {"items": [], "want": b64encode(_joined(held)).decode()}
        if scope["path"].endswith("push"):
            reply = {"new": len(asked.get("items", []))}
        text = json.dumps(reply).encode()
        if self.kind == "garbage" and "who" not in asked:
            text = random.choice([b"\xff{", b"[" * 50_000, b"{}", b"7", text])
        headers = [(b"devote-version", b"2"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if self.kind == "garbage" and random.random() < 0.3:
            for _ in range(10_000):  # without end
                await send({"type": "http.response.body", "body": b" " * 65_536, "more_body": True})
                await asyncio.sleep(random.choice([0.0, 1.0]))
        await send({"type": "http.response.body", "body": text})

    def lies(self) -> list[Any]:
        unsigned = {**self.record(self.victim), "address": "10.77.200.1:7700"}
        return [self.record(self.victim), unsigned, {"address": self.victim}, 7]

    async def attack(self) -> None:
        """Turn to the honest ones, again and again."""
        limits = httpx.Limits(max_connections=50)
        async with httpx.AsyncClient(headers=HEADERS, limits=limits, timeout=5.0) as client:
            while True:
                target = random.choice(self.honest)
                try:
                    await getattr(self, "_" + self.kind.split()[0])(client, target)
                except (httpx.HTTPError, OSError):
                    await asyncio.sleep(0.05)

    async def _post(self, client: httpx.AsyncClient, target: str, path: str, what: Any) -> None:
        body = what if isinstance(what, bytes) else self._body(what)
        await client.post(f"http://{target}/gossip/{path}", content=body)
        self.sent += 1

    def _body(self, what: dict[str, Any]) -> bytes:
        return json.dumps({"fingerprint": self.plan.spec.fingerprint, **what}).encode()

    async def _introduce(self, client: httpx.AsyncClient, target: str) -> None:
        me = self.record(self.plan.network.address(self.n))
        await self._post(client, target, "compare", {"root": "0" * 32, "me": me})

    async def _garbage(self, client: httpx.AsyncClient, target: str) -> None:
        await self._introduce(client, target)
        broken = {**vote(self.number, 0, spec=self.plan.spec), "signature": "0" * 128}
        for what in (b"\xff\x00", b"[" * 100_000, b"null", {"items": [broken] * 100}):
            await self._post(client, target, "push", what)
        arms = range(self.plan.spec.n_arms)
        mine = [vote(self.number, arm, spec=self.plan.spec) for arm in arms]  # the best one too
        await self._post(client, target, "push", {"items": mine})
        await self._post(client, target, "trade", {"count": -1, "held": {"x": "y"}})
        await asyncio.sleep(self.plan.period / 10.0)

    async def _floods(self, client: httpx.AsyncClient, target: str) -> None:
        await self._introduce(client, target)
        host, port = target.split(":")
        idle = []
        for _ in range(20):
            try:
                idle.append(await asyncio.open_connection(host, int(port)))
            except OSError:
                break
        large = self._body({"items": ["x" * 200] * 1_000})
        work = [self._post(client, target, "compare", {"root": "1" * 32}) for _ in range(40)]
        work += [self._post(client, target, "push", large) for _ in range(5)]
        work += [self._post(client, target, "push", b" " * 400_000)]
        await asyncio.gather(*work, return_exceptions=True)
        for _, writer in idle:
            writer.close()
        await asyncio.sleep(0.02 if self.plan.period > 1.0 else 0.25)

    async def _false(self, client: httpx.AsyncClient, target: str) -> None:
        await self._introduce(client, target)
        held = {str(n): b64encode(secrets.token_bytes(160)).decode() for n in range(32)}
        await self._post(client, target, "trade", {"count": 32, "held": held})
        await asyncio.sleep(self.plan.period / 10.0)

    async def _poisoned(self, client: httpx.AsyncClient, target: str) -> None:
        for lie in self.lies():
            await self._post(client, target, "compare", {"root": "2" * 32, "me": lie})
        await asyncio.sleep(self.plan.period / 10.0)

    async def run(self) -> None:
        host, port = self.plan.network.address(self.n).split(":")
        config = uvicorn.Config(
            self.answer, host=host, port=int(port), log_level="critical", lifespan="off"
        )
        serving = asyncio.create_task(uvicorn.Server(config).serve())
        attacking = [asyncio.create_task(self.attack())]
        while not serving.done():
            self.plan.report(self.n, {"sent": self.sent, "asked": self.asked})
            await asyncio.sleep(0.2)
        attacking[0].cancel()


def _joined(held: Any) -> bytes:
    return b"".join(b64decode(ids) for ids in held)[: 16 * 200]


def run_hostile(plan: Plan, n: int, kind: str, honest: list[int], victim: str) -> None:
    plan.network.enter(n)
    os.nice(5)
    asyncio.run(Hostile(plan, n, kind, honest, victim).run())


def run_victim(plan: Plan, n: int) -> None:
    """Counts who turns to it; it knows nothing of devote."""
    plan.network.enter(n)
    requests = 0

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        nonlocal requests
        requests += 1
        plan.report(n, {"requests": requests})
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"?"})

    plan.report(n, {"requests": 0})
    host, port = plan.network.address(n).split(":")
    uvicorn.run(answer, host=host, port=int(port), log_level="critical", lifespan="off")


def run(
    honest: int, hostile: int, *, period: float, seconds: float, folder: Path
) -> dict[str, Any]:
    """Honest devices play to the end among hostile ones."""
    devices = honest + hostile
    means, last = (EASY, EASY_VOTES[1]) if seconds < 10.0 else (MEANS, LAST_VOTE)
    plan = Plan(folder, spec_for(honest, len(means)), means, devices + 1, period)
    fleet, other = Fleet(plan), Fleet(plan)
    members = list(range(honest))
    victim = devices
    other.fork(victim, run_victim, plan, victim)
    try:
        for n in members:
            fleet.start(n)
        for k, n in enumerate(range(honest, devices)):
            kind = KINDS[k % len(KINDS)]
            other.fork(n, run_hostile, plan, n, kind, members, plan.network.address(victim))
        began = time.monotonic()
        fleet.await_(lambda shown: not any(t["offline"] for t in shown.values()), 120, "all join")
        plan.budget = 10 * last
        agree = lambda shown: all(t["best"] == 0 for t in shown.values())  # noqa: E731
        fleet.await_(lambda shown: agree(shown) and equal(shown), 300, "equal and right")
        took = time.monotonic() - began
        before = {
            n: (plan.network.traffic(n), plan.standing(n), pss(fleet.pids[n])) for n in members
        }
        requests = plan.standing(victim)["requests"]
        time.sleep(seconds)
        fleet.await_(equal, HEALED, "equal under attack")
        shown = {n: plan.standing(n) for n in members}
        memory = [pss(fleet.pids[n])[1] for n in members]
        grown = [m - before[n][2][1] for n, m in zip(members, memory, strict=True)]
        cpu = sum(shown[n]["cpu"] - before[n][1]["cpu"] for n in members)
        traffic = [plan.network.traffic(n) - before[n][0] for n in members]
        figures = {
            "network": plan.network.kind,
            "honest, hostile": [honest, hostile],
            "seconds to equal sets and the right answer": round(took, 1),
            "items (the votes that hostile members signed are among them)": shown[0]["items"],
            f"then in {seconds:.0f} s: requests of all hostile ones": sum(
                plan.standing(n)["sent"] for n in range(honest, devices)
            ),
            "refused by honest ones, in all": sum(t["refused"] for t in shown.values()),
            "KB/s per honest device, both ways, with headers": round(
                sum(traffic) / seconds / honest / 1e3, 1
            ),
            "share of a core per honest device": round(cpu / seconds / honest, 4),
            "MB of own memory: most, and most growth": [
                round(max(memory) / 1e6, 1),
                round(max(grown) / 1e6, 1),
            ],
            "requests that the victim got, before and in that time": [
                requests,
                plan.standing(victim)["requests"] - requests,
            ],
            "addresses kept, most": max(t["peers"] for t in shown.values()),
        }
    finally:
        other.end()
        fleet.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--honest", type=int, default=22)
    parser.add_argument("--hostile", type=int, default=10)
    parser.add_argument("--period", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="devote-hostile-"))
    figures = run(
        given.honest, given.hostile, period=given.period, seconds=given.seconds, folder=folder
    )
    for name, value in figures.items():
        print(f"{name}: {value}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
