"""Makes ``tests/vectors``: ``python -m tests.wire.make_vectors``. The same bytes each time."""

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from devote.boards.board import Envelope, TallySnapshot
from devote.boards.identity import Identity, begin_chain, extend_chain, is_key
from devote.gossip.digests import bucket_count, item_id, root, summarize
from devote.protocol import ExperimentSpec, Message
from devote.protocol.messages import (
    OPERATOR,
    Scope,
    Withdrawal,
    canonical,
    digest,
    entry,
    serverless,
    signed_bytes,
    to_bytes,
    to_dict,
)
from devote.rules.randomizer import GRID, blur, blur_reward, truthful
from devote.schemes import Answer, Claim, Jury, Pick, Reset, SegmentedAnswer, Survey, Vote
from devote.schemes.survey.signed_subsets import SignedSubsets, draw_noise, pack, signed_subset

FOLDER = Path(__file__).parents[1] / "vectors"
BOARD, OTHER = "5f0c2f1de7a84b7a9d3a6c1b0e4f7788", "00112233445566778899aabbccddeeff"
NAME = "banner"
VALUES: list[Any] = [
    None, True, False, 0, -0.0, 1, -1, 0.1, 0.25, 1e-7, 1e21, 5e-324, 2**53, 1 / 3,
    "", "red", 'quote " and \\ back', "é", "👍 arm", "\x00", [], {}, [1, [2, "3"]],
    {"b": [0.25, "é", None], "a": 2}, {"Z": 1, "a": 2, "_": 3}, {"1": True, "": False},
]  # fmt: skip
SPECS = {
    "plain": ExperimentSpec(arms=3, name=NAME),
    "named": ExperimentSpec(arms=["rot", "grün", "👍"], name="a.b:c-d_e", epsilon=0.1, delta=1e-6),
    "votes": ExperimentSpec(arms=4, name=NAME, scheme={"quorum": 2}),
    "ceil": ExperimentSpec(arms=4, name=NAME, eta=0.5, delta=0.25, scheme={"quorum": "ceil"}),
    "terms": ExperimentSpec(
        arms=3, name=NAME, algorithm="ser4", options={"phi": 0.01}, scheme={"quorum": 2}
    ),
    "jury": ExperimentSpec(arms=3, name=NAME, scheme=Jury(seats=9, seat_after=5)),
    "hung jury": ExperimentSpec(arms=9, name=NAME, scheme=Jury(seats=9, liars=1)),
    "private jury": ExperimentSpec(
        arms=3, name=NAME, algorithm="mixture_elimination", scheme=Jury(seats=15, privacy=4.0)
    ),
    "survey": ExperimentSpec(
        arms=3, name=NAME, algorithm="mixture_elimination", epsilon=0.9, scheme=Survey(4.0)
    ),
    "two answers": ExperimentSpec(
        arms=2, name=NAME, algorithm="mixture_elimination", options={"rho": 2.5},
        scheme=Survey(2.0, answers=2, reply_after=30.0),
    ),
    "plain survey": ExperimentSpec(
        arms=4, name=NAME, algorithm="mixture_elimination", epsilon=0.3, delta=0.3,
        scheme=Survey(None),
    ),
    "betting": ExperimentSpec(arms=4, name=NAME, epsilon=0.2, delta=0.3, scheme=Survey(None)),
    "private betting": ExperimentSpec(
        arms=3, name=NAME, epsilon=0.9, scheme=Survey(4.0, answers=2, reply_after=30.0)
    ),
    "withdrawn": ExperimentSpec(
        arms=4, name=NAME, epsilon=0.2, delta=0.2, scheme=Survey(None, reply_after=30.0)
    ),
    "liars": ExperimentSpec(arms=3, name=NAME, epsilon=0.5, scheme=Survey(None, liars=3)),
    "segments": ExperimentSpec(
        arms=3, name=NAME, epsilon=0.5, delta=0.4,
        scheme=Survey(4.0, segments=("phone", "tablet", "desktop")),
    ),
    "private segments": ExperimentSpec(
        arms=2, name=NAME, epsilon=0.4, delta=0.9,
        scheme=Survey(1.0, liars=1, segments=tuple(f"kind {z}" for z in range(40))),
    ),
    "two segments": ExperimentSpec(
        arms=3, name=NAME, epsilon=0.5, delta=0.5, scheme=Survey(None, segments=("new", "known")),
    ),
}  # fmt: skip


SEEDS = {"betting": "x27", "plain survey": "x15"}
"""With these, arms go out while others are asked about; and one is asked about again."""


def identity(number: int) -> Identity:
    return Identity.from_private_bytes(number.to_bytes(32, "big"))


def _said(number: int, kind: type, *fields: int) -> Message:
    voter = identity(number).voter if number else OPERATOR
    message: Message = kind(NAME, *fields, voter)
    return message


def _canonical() -> list[Any]:
    return [{"value": v, "bytes": canonical(v).hex(), "sha256": digest(v)} for v in VALUES]


def _fingerprints() -> list[Any]:
    specs = (*SPECS.values(), ISSUED)
    return [{"spec": s.to_dict(), "fingerprint": s.fingerprint} for s in specs]


TWO = ["red", "green"]
WRITTEN: list[list[dict[str, Any]]] = [
    [
        {"arms": 3},
        {"arms": ["0", "1", "2"], "version": 2, "algorithm": "ser3",
         "options": {"radius": "union"}, "epsilon": 0.25, "eta": 0.9, "delta": 0.05, "issuer": "",
         "scheme": {"quorum": "paper"}},
    ],
    [{"arms": 3, "algorithm": "betting"}],
    [
        {"arms": 3, "scheme": "jury"},
        {"arms": 3, "eta": 0.2, "algorithm": "betting",
         "scheme": {"name": "jury", "seats": 29, "privacy": None}},
    ],
    [{"arms": 3, "algorithm": "ser3", "scheme": {"name": "jury", "privacy": "none"}}],
    [
        {"arms": TWO, "scheme": {"name": "survey"}},
        {"arms": TWO, "algorithm": "betting", "options": {}, "scheme": {
            "name": "survey", "privacy": 1, "answers": 1, "reply_after": 60, "liars": 0}},
    ],
    [{"arms": TWO, "algorithm": "ser3", "scheme": {"name": "survey"}}],
    [
        {"arms": TWO, "scheme": {"name": "survey", "privacy": None}},
        {"arms": TWO, "scheme": {"name": "survey", "privacy": "none", "liars": 0}},
    ],
    [{"arms": TWO, "scheme": {"name": "survey", "privacy": "none", "liars": 2}}],
    [
        {"arms": TWO, "algorithm": "mixture_elimination", "scheme": "survey"},
        {"arms": TWO, "algorithm": "mixture_elimination", "options": {"rho": 5},
         "scheme": "survey"},
    ],
    [{"arms": 3, "algorithm": "ser4", "options": {"phi": 0.01}}],
    [
        {"arms": TWO, "epsilon": 0.1, "scheme": {"name": "survey", "segments": TWO}},
        {"arms": TWO, "epsilon": 0.1, "scheme": {
            "name": "survey", "segments": TWO, "subset": 1, "privacy": 1}},
    ],
    [{"arms": 3, "epsilon": 0.1, "scheme": {
        "name": "survey", "segments": list("abcdefghij"), "privacy": 2}}],
    [{"arms": 3, "epsilon": 0.1, "scheme": {"name": "survey", "segments": list("abcdefghij")}}],
]  # fmt: skip
"""Specifications as people write them, in groups that mean the same."""


def _specifications() -> list[Any]:
    rows = []
    for given in (given for group in WRITTEN for given in group):
        written = {"name": NAME, **given}
        spec = ExperimentSpec.from_dict(written)
        canonical = {"spec": spec.to_dict(), "fingerprint": spec.fingerprint}
        rows.append({"written": written, **canonical})
    return rows


def _keys() -> list[Any]:
    secrets = ["9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"]
    secrets += [number.to_bytes(32, "big").hex() for number in range(1, 6)]
    good = [(s, Identity.from_private_bytes(bytes.fromhex(s)).voter) for s in secrets]
    ys = [0, 1, 2**255 - 20, *range(2**255 - 19, 2**255)]
    spelt = ["26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"]
    spelt += ["c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"]
    ys += [int.from_bytes(bytes.fromhex(text), "little") for text in spelt]
    bad = [(y | sign).to_bytes(32, "little").hex() for y in ys for sign in (0, 2**255)]
    bad += [good[0][1].upper(), good[0][1][:-2], good[0][1] + "00", ""]
    rows = [{"secret": s, "voter": voter, "good": True} for s, voter in good]
    assert not any(map(is_key, bad))
    return [*rows, *({"voter": voter, "good": False} for voter in bad)]


def _signed(number: int, message: Message, scope: Scope) -> dict[str, Any]:
    return {
        "secret": identity(number).to_private_bytes().hex(),
        "message": to_dict(message),
        "board": scope.board,
        "fingerprint": scope.fingerprint,
        "line": to_bytes(message, scope).decode(),
        "signature": identity(number).sign(message, scope).signature,
    }


KINDS = {
    "votes": [(Vote, 0, 3), (Vote, 0, 0)],
    "terms": [(Vote, 2**32 - 1, 2), (Reset, 1), (Reset, 2**32 - 1)],
    "jury": [(Claim,), (Pick, 0), (Pick, 2)],
    "survey": [(Answer, 2, 1, 1, 0), (Answer, 0, 0, 65535, 2**53)],
    "segments": [(SegmentedAnswer, 2, 3**32 - 1, 3**32 - 1, 1, 2**53)],
}


def _messages() -> list[Any]:
    rows = []
    for name, examples in KINDS.items():
        scope = Scope(BOARD, SPECS[name].fingerprint)
        rows += [_signed(n, _said(n, *each), scope) for n, each in enumerate(examples, start=1)]
    for number, name in enumerate(SPECS, start=1):
        voter, scope = identity(number).voter, Scope(BOARD, SPECS[name].fingerprint)
        rows.append({
            "secret": identity(number).to_private_bytes().hex(),
            "message": {"type": "enrolment", "voter": voter},
            "board": scope.board,
            "fingerprint": scope.fingerprint,
            "line": signed_bytes("enrolment", {"voter": voter}, scope).decode(),
            "signature": identity(number).sign_enrolment(scope),
        })  # fmt: skip
    return rows


def _moved() -> list[Any]:
    """Good signatures, beside another board, specification or message; and good for any text."""
    rows = []
    for row in _messages():
        voter, names = row["message"]["voter"], ("message", "board", "fingerprint", "signature")
        shown = {name: row[name] for name in names}
        rows.append({**shown, "board": OTHER})
        rows.append({**shown, "fingerprint": SPECS["plain"].with_(eta=0.5).fingerprint})
        rows.append({**shown, "message": {**row["message"], "voter": identity(99).voter}})
        rows.append({**shown, "message": {**row["message"], "voter": voter.upper()}})
        if "arm" in row["message"]:
            arm = row["message"]["arm"] + 1
            rows.append({**shown, "message": {**row["message"], "arm": arm}})
        neutral = "01" + "00" * 31
        small = {**row["message"], "voter": neutral}
        rows.append({**shown, "message": small, "signature": neutral + "00" * 32})
    return rows


PRIVACIES = (0.001, 0.5, 1.0, 2.0, 4.0, 20.0)


def _truths() -> list[Any]:
    return [
        {"privacy": e, "arms": arms, "truths": truthful(e, arms)}
        for e in PRIVACIES
        for arms in (2, 3, 10, 1000)
    ]


def _noises(draw: random.Random) -> list[float]:
    return [0.0, 1 - 2**-53, *(draw.random() for _ in range(10))]


def _picks() -> list[Any]:
    draw, rows = random.Random(1), []
    for e, arms in ((0.5, 2), (1.0, 3), (4.0, 10)):
        truths = truthful(e, arms)
        edges = [truths / GRID, (truths - 1) / GRID]
        for noise in (*_noises(draw), *edges):
            truth = draw.randrange(arms)
            blurred = blur(truth, noise, truths, arms)
            rows.append(
                {"truth": truth, "noise": noise, "truths": truths, "arms": arms, "told": blurred}
            )
    return rows


def _bits() -> list[Any]:
    draw, rows = random.Random(2), []
    for truths in (truthful(0.5, 2), truthful(2.0, 2), GRID):
        for reward in (0.0, 1.0, 0.5, draw.random()):
            edge = GRID - truths + int(reward * (2 * truths - GRID))
            noises = [n for n in (edge / GRID, (edge - 1) / GRID) if 0.0 <= n < 1.0]
            for noise in (*_noises(draw), *noises):
                blurred = blur_reward(reward, noise, truths)
                rows.append({"reward": reward, "noise": noise, "truths": truths, "told": blurred})
    return rows


def _subsets() -> list[Any]:
    """The whole numbers of the noise of segments."""
    rows = []
    for e in PRIVACIES:
        for n, d in ((2, 1), (3, 1), (3, 2), (10, 3), (10, 8), (64, 1), (64, 63)):
            made = SignedSubsets.of(n, d, e)
            rows.append({
                "segments": n, "subset": d, "privacy": e,
                "own": made.own, "other": made.other, "absent": made.absent,
            })  # fmt: skip
    return rows


def _signed_subsets() -> list[Any]:
    """An answer from its uniform numbers, as many as it takes."""
    draw, rows = random.Random(3), []
    for n, d, e in ((3, 1, 4.0), (3, 2, 1.0), (10, 3, 2.0), (40, 30, 0.5), (64, 1, 4.0)):
        made = SignedSubsets.of(n, d, e)
        half = made.absent + made.other + int(0.5 * (made.own - made.other))
        edges = [made.absent, half, made.absent + made.other, made.absent + made.own, GRID - 1]
        places = [place for edge in edges for place in (edge - 1, edge) if place < GRID]
        for place in (0, *places, *(draw.randrange(GRID) for _ in range(4))):
            for reward in (0.0, 0.5, 1.0):
                used: list[float] = []
                words = itertools.chain([place / GRID], iter(draw.random, None))

                def bits(n_bits: int, used: list[float], words: Iterator[float]) -> int:
                    used.append(next(words))
                    return int(used[-1] * 2**n_bits)

                segment = draw.randrange(n)
                noise = draw_noise(made, segment, partial(bits, used=used, words=words))
                low, high = pack(signed_subset(made, segment, reward, noise))
                rows.append({
                    "segments": n, "subset": d, "own": made.own, "other": made.other,
                    "segment": segment, "reward": reward, "uniforms": used,
                    "low": low, "high": high,
                })  # fmt: skip
    return rows


def _segmented(spec: ExperimentSpec, draw: random.Random) -> list[tuple[Any, ...]]:
    """Answers of as many devices as voters, with better arms for each segment; and bad ones."""
    assert isinstance(spec.scheme, Survey)
    made, n = spec.scheme.subsets, len(spec.scheme.segments)
    offered: list[tuple[Any, ...]] = []
    for v in range(1, 121 if n < 32 else 41):
        arm, segment = draw.randrange(spec.n_arms), draw.randrange(n)
        reward = float(draw.random() < (0.95 if arm == segment % spec.n_arms else 0.05))
        noise = draw_noise(made, segment, draw.getrandbits)
        low, high = pack(signed_subset(made, segment, reward, noise))
        offered.append((v, SegmentedAnswer, arm, low, high, 1, v - 1 - (v - 1) % 7))
    offered += [(121, SegmentedAnswer, 0, 0, 0, 1, 0), (122, SegmentedAnswer, 0, 1, 1, 1, 0)]
    offered += [(123, SegmentedAnswer, 0, 3**n if n < 32 else 0, 3**31, 1, 0), (2, Claim)]
    offered += [(3, Answer, 0, 1, 1, 0), (1, SegmentedAnswer, 1, *offered[0][3:])]
    return offered


def _said_in(name: str) -> list[tuple[int, Message]]:
    """What is offered to a board: more than it takes."""
    draw = random.Random(f"vectors/{SEEDS.get(name, name)}")
    voters = range(1, 21)
    offered: list[tuple[Any, ...]] = []
    match name:
        case "votes" | "ceil" | "plain":
            offered = [(v, Vote, 0, draw.randrange(3)) for v in (1, 2, 3, 1, 2, 3, 4, 5)]
            offered += [(v, Vote, 0, arm) for arm in (0, 1, 2) for v in voters[:4]]
            offered += [(1, Vote, 1, 1), (1, Reset, 1), (2, Claim)]
        case "terms":
            offered = [(1, Vote, 0, 0), (2, Vote, 0, 0), (3, Vote, 2, 0), (2, Reset, 1)]
            offered += [(1, Vote, 1, 2), (1, Vote, 0, 1), (1, Vote, 2, 1), (2, Vote, 2, 1)]
            offered += [(3, Reset, 2), (1, Vote, 2, 0), (2, Vote, 2, 0), (2, Vote, 2, 2)]
        case "jury" | "hung jury" | "private jury":
            offered = [(20, Pick, 0), *((v, Claim) for v in voters[:12])]
            arms = 9 if name == "hung jury" else 2
            offered += [(v, Pick, v % arms if arms > 2 else int(v % 4 == 0)) for v in voters]
            offered += [(1, Pick, 2), (2, Vote, 0, 1)]
        case "segments" | "private segments" | "two segments":
            offered = _segmented(SPECS[name], draw)
        case _:
            chances, spec = (0.1, 0.9, 0.4, 0.8), SPECS[name]
            for v in range(1, 151 if name in SEEDS else 61):
                arm, number = draw.randrange(spec.n_arms), 1 + (v % 2 if name == "survey" else 0)
                bit = int(draw.random() < chances[arm])
                offered.append((v, Answer, arm, bit, number, v - 1 - (v - 1) % 7))
            offered += [(1, Answer, 0, 1, 2, 0), (1, Answer, 1, 1, 1, 0), (2, Claim)]
            offered.append((*offered[4][:-1], 99))
            if name == "withdrawn":  # the best arm, in the midst of a round; twice; and another
                for place, arm in ((14, 1), (18, 1), (40, 0)):
                    offered.insert(place, (0, Withdrawal, arm))
    return [(number, _said(number, kind, *fields)) for number, kind, *fields in offered]


def _tallies() -> list[Any]:
    rows = []
    for name, spec in SPECS.items():
        if name == "named":
            continue
        players = 4 if name in ("votes", "ceil") else None
        scope, tally = Scope(BOARD, spec.fingerprint), spec.scheme.tally(spec)
        log: list[Any] = []
        taken: list[bool] = []
        tallies: list[Any] = []
        there: set[Message] = set()
        head = begin_chain(scope)
        for number, message in _said_in(name):
            envelope = Envelope(message, entry(message, scope))
            if number:
                envelope = identity(number).sign(message, scope)
            log.append({"message": to_dict(message), "signature": envelope.signature})
            taken.append(message not in there and tally.refusal(message) is None)
            if taken[-1]:
                tally.add(message)
                there.add(message)
                head = extend_chain(head, envelope, scope)
            tallies.append(tally.public(players))
        rows.append({
            "name": name, "spec": spec.to_dict(), "board": BOARD, "players": players,
            "log": log, "taken": taken, "tallies": tallies, "head": head.hex(),
        })  # fmt: skip
    return rows


def _snapshots() -> list[Any]:
    """What a server signs of its tallies: the moment is rounded down to ten minutes."""
    rows = []
    for name in ("votes", "survey"):
        spec = SPECS[name]
        scope, tally = Scope(BOARD, spec.fingerprint), spec.scheme.tally(spec)
        shown, head = TallySnapshot.of(scope, 0, tally.public(None)), begin_chain(scope)
        signed = identity(7).sign_snapshot(shown, head.hex(), 1_793_491_234.5)
        rows.append({
            "secret": identity(7).to_private_bytes().hex(), "signer": identity(7).voter,
            **asdict(scope), "tally": shown.tally, "fields": signed.fields,
            "signature": signed.signature, "header": str(signed),
        })  # fmt: skip
    return rows


ISSUER = 50
ISSUED = ExperimentSpec(
    arms=3, name=NAME, algorithm="ser4", options={"phi": 0.01}, scheme={"quorum": 2},
    issuer=identity(ISSUER).voter,
)  # fmt: skip


def _certificates() -> list[Any]:
    """What peers sign: the issuer for others, members for themselves."""
    scope, voter = serverless(ISSUED.fingerprint), identity(1).voter
    sent: list[tuple[int, str, dict[str, Any]]] = [
        (ISSUER, "certificate", {"number": 1, "voter": voter}),
        (ISSUER, "certificate", {"number": 2**32 - 1, "voter": identity(2).voter}),
        (ISSUER, "revocation", {"number": 1}),
        (1, "address", {"address": "10.0.0.7:7700", "sequence": 3, "voter": voter}),
        (1, "peer", {"nonce": int("00112233445566778899aabbccddeeff", 16), "voter": voter}),
    ]
    rows = []
    for number, kind, fields in sent:
        signer = identity(number)
        # Numbers as texts: a nonce is larger than 2^53.
        texts = {name: str(value) for name, value in fields.items()}
        line = signed_bytes(kind, fields, scope)
        rows.append({
            "secret": signer.to_private_bytes().hex(), "signer": signer.voter,
            "spec": ISSUED.to_dict(), "board": scope.board, "type": kind, "fields": texts,
            "line": line.decode(), "signature": signer.sign_fields(kind, fields, scope),
        })  # fmt: skip
    return rows


def _sets() -> list[Any]:
    """Sets of votes and revocations: their ids, what stands for all, and the digests."""
    rows = []
    for size in (0, 1, 5, 300):
        votes = [_said(n % 40 + 1, Vote, n // 120, n // 40 % 3) for n in range(size)]
        scope = serverless(ISSUED.fingerprint)
        lines = [to_bytes(vote, scope) for vote in votes]
        numbers = range(1, size // 10 + 1)
        lines += [signed_bytes("revocation", {"number": number}, scope) for number in numbers]
        ids = [item_id(line) for line in lines]
        count = bucket_count(len(ids))
        rows.append({
            "lines": [line.decode() for line in lines],
            "ids": "".join(item.hex() for item in ids), "root": root(ids),
            "count": count, "digests": summarize(ids, count).hex(),
        })  # fmt: skip
    return rows


MAKERS = {
    "canonical": _canonical,
    "fingerprints": _fingerprints,
    "specifications": _specifications,
    "keys": _keys,
    "messages": _messages,
    "snapshots": _snapshots,
    "moved": _moved,
    "truths": _truths,
    "picks": _picks,
    "bits": _bits,
    "subsets": _subsets,
    "signed_subsets": _signed_subsets,
    "tallies": _tallies,
    "certificates": _certificates,
    "sets": _sets,
}


def text(name: str) -> str:
    """A file's contents: one vector per line."""
    rows = (json.dumps(row, separators=(",", ":")) for row in MAKERS[name]())
    return "[\n" + ",\n".join(rows) + "\n]\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in MAKERS:
        (FOLDER / f"{name}.json").write_text(text(name))
