"""Ten thousand random and mutated bodies: none is taken, none changes the board, all answered."""

import asyncio
import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.boards.local import scope
from tests.server.live import SPEC, TOKEN, api, body, enrolled, identity, raw_post, served, vote

VOTER = identity(1)
PATHS = ("/experiments/banner/messages", "/experiments/banner/enrolments", "/experiments")
REFUSED = {400, 403, 413, 415, 422}
ODD = [None, True, -1, 0, 1.5, 2**70, "", "0" * 64, "é", "\ud800", [], {}, [[]], {"v": 1}]


def mutate(rng: random.Random, good: dict) -> bytes:
    """A valid body with one thing wrong: a value, a field, or a few bytes."""
    fields = json.loads(json.dumps(good))
    place = fields["message"] if rng.random() < 0.6 and "message" in fields else fields
    key = rng.choice(list(place))
    how = rng.randrange(5)
    if how == 0:
        place[key] = rng.choice([odd for odd in ODD if odd != place[key]])
    elif how == 1:
        del place[key]
    elif how == 2:
        place[rng.choice(["x", "", "reward", "Arm"])] = rng.choice(ODD)
    text = bytearray(json.dumps(fields).encode())
    if how == 3:
        # Within the signature, so that what is left is JSON and well-formed but not signed.
        at = text.index(b'"signature": "') + 14 + rng.randrange(128)
        text[at] = rng.choice([c for c in b"0123456789abcdef" if c != text[at]])
    elif how == 4:
        cut = rng.randrange(1, len(text) - 1)
        text[cut : cut + 1 + rng.randrange(9)] = rng.randbytes(rng.randrange(8))
    return bytes(text)


def means(content: bytes, good: dict) -> bool:
    """Whether a body still says the same: a change within white space changes nothing."""
    try:
        return json.loads(content) == good
    except ValueError:
        return False


@served(voter_rate=float("inf"), write_rate=float("inf"))
async def test_ten_thousand_mutated_bodies_are_refused_and_change_nothing(server):
    rng, newcomer, refused = random.Random(4), identity(2), 0
    request = {"voter": newcomer.voter, "signature": newcomer.sign_enrolment(scope(SPEC))}
    await server.post(vote(VOTER, 3))
    before = (server.store.rows("banner"), enrolled(server.store))
    for n in range(10_000):
        good = request if n % 5 == 0 else body(vote(VOTER, n % 3))
        content = rng.randbytes(rng.randrange(600)) if n % 7 == 0 else mutate(rng, good)
        if not means(content, good):
            path = PATHS[1] if n % 5 == 0 else PATHS[0]
            status, answer = await raw_post(server.app, path, content)
            assert status in REFUSED, content
            assert json.loads(answer)["error"]
            refused += 1
    assert refused > 9_900
    assert (server.store.rows("banner"), enrolled(server.store)) == before
    assert (await server.client.get("/health")).status_code == 200


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NAMES = ("message", "signature", "voter", "invite", "spec", "enrolment", "players")
SPECS = ("arms", "name", "algorithm", "options", "epsilon", "scheme", "version", "eta")
specs = st.dictionaries(st.sampled_from(SPECS), values)
bodies = st.dictionaries(st.sampled_from(NAMES), values | specs) | values


def test_bodies_of_any_json_are_refused_and_never_break_the_server():
    with asyncio.Runner() as runner:
        opened = api(":memory:")
        server = runner.run(opened.__aenter__())

        @settings(max_examples=8 * settings().max_examples)
        @given(path=st.sampled_from(PATHS), fields=bodies)
        def refused(path, fields):
            content = json.dumps(fields).encode()
            status, answer = runner.run(raw_post(server.app, path, content, TOKEN))
            assert status in REFUSED, answer
            assert json.loads(answer)["error"]

        refused()
        assert server.store.rows("banner") == (0, [])
        assert enrolled(server.store) == []
        runner.run(opened.__aexit__(None, None, None))
