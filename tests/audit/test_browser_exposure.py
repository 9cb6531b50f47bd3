"""The browser client that ships, watched in Node: its chance is exact, and each break is caught.

See ``test_exposure`` for what is caught with which probability.
"""

from functools import partial

import pytest
from tests.audit.mutants import change_browser
from tests.audit.test_exposure import (
    CLICKS,
    JOINT,
    SEGMENT,
    exposed,
    segmented,
    survey,
)
from tests.tools import needed

from devote.audit.browser_device import watch_all
from devote.audit.watched import ALWAYS, LATER, NEVER, plan, secrets_of
from devote.rules.randomizer import GRID
from devote.schemes import Survey


@pytest.fixture(autouse=True)
def _node():
    needed("node")


@pytest.mark.slow
@pytest.mark.parametrize("spec", [survey(2.0), segmented(2.0)])
def test_the_client_that_ships_keeps_its_promise_and_is_not_idle(spec):
    rows = exposed(spec, *secrets_of(spec), runs=180, watch=watch_all)
    for row in rows:
        assert row.verdict == "consistent with the cap", row
    assert max(row.epsilon_at_least for row in rows) > 0.1


SENDS = ("device.ts", 'save();\n      return "counted";')
SOONER = (
    ("state.ts", "  play.noise = null;", "  play.noise = null; play.quick = x > 0 ? 30 : 0;"),
    (
        "core.ts",
        "performance.now() >= this.#leaves);",
        "performance.now() >= this.#leaves - (play.quick ?? 0));",
    ),
    ("core.ts", "this.#closes : this.#leaves)", "this.#closes : this.#leaves - (play.quick ?? 0))"),
)
BROKEN = {
    "a request at the click": (
        ((*SENDS, 'save(); setTimeout(() => void this.#sync());\n      return "counted";'),),
        survey(),
        CLICKS,
    ),
    "silent without a click": (
        (("core.ts", "      reward(state, play, 0);\n", "      state.play = null;\n"),),
        survey(),
        CLICKS,
    ),
    "30 ms sooner after a click": (SOONER, survey(), CLICKS),
    "Math.random": (
        (
            (
                "noise.ts",
                "crypto.getRandomValues(new Uint32Array(2));",
                "[Math.random() * 2 ** 32, Math.random() * 2 ** 32];",
            ),
        ),
        survey(),
        CLICKS,
    ),
    "noise once a page": (
        (("state.ts", "null ? uniform() :", "null ? 0.5 :"),),
        survey(),
        CLICKS,
    ),
    "an arm of the segment": (
        (("state.ts", "asked[Math.floor(uniform() * asked.length)]!", "asked[state.segment!]!"),),
        segmented(),
        JOINT,
    ),
    "a text beside the answer": (
        (
            (
                "state.ts",
                "voter: state.voter, arm: play.arm,",
                "voter: state.voter, arm: play.arm, mine: `s${state.segment}`,",
            ),
        ),
        segmented(),
        SEGMENT,
    ),
    "a word in the address": (
        (
            (
                "board.ts",
                'await this.#ask("/tally")',
                'await this.#ask(`/tally${globalThis.mine ?? ""}`)',
            ),
            (
                "state.ts",
                "  state.segment = segment;",
                '  state.segment = segment; globalThis.mine = segment === 1 ? "?x" : "";',
            ),
        ),
        segmented(),
        SEGMENT,
    ),
    "silence of a decided segment": (
        (
            (
                "state.ts",
                "const { leader, isDecided } = standing(state);",
                "const { leader, isDecided } = standing(state);\n  if (isDecided) return null;",
            ),
        ),
        segmented(),
        SEGMENT,
    ),
    "a segment that answers later": (
        (("state.ts", "after * (1 + EARLIEST", "after * (1 + state.segment! + EARLIEST"),),
        segmented(),
        SEGMENT,
    ),
    "fewer members in one segment": (
        (
            (
                "noise.ts",
                "const members = isPresent ? size - 1 : size;",
                "const members = (isPresent ? size - 1 : size) - (segment === 1 ? 1 : 0);",
            ),
        ),
        segmented(),
        SEGMENT,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_client_that_tells_is_caught(name, tmp_path):
    edits, spec, secret = BROKEN[name]
    client = change_browser(tmp_path, *edits)
    [row] = exposed(spec, secret, watch=partial(watch_all, client=client))
    assert row.is_broken, row


def answers(spec, world, uniforms, client=None):
    """What devices of one page process send, each with a number for all that it draws."""
    from devote.audit.browser_device import ask_node

    plans = [plan(spec, f"{i}")._replace(lost=(), restart=None) for i in range(len(uniforms))]
    return ask_node(spec, world, plans, uniforms=uniforms, client=client)


@pytest.mark.parametrize(("privacy", "n"), [(0.5, 1), (1.0, 1), (3.0, 2)])
def test_bit_arm_and_moment_are_those_of_getrandomvalues_and_the_coin_is_exact(privacy, n):
    """At the last place where the bit is 1, and at the next one; devices of one process."""
    scheme = Survey(privacy, answers=n)
    spec = survey().with_(arms=5, scheme=scheme)
    for world, places in ((ALWAYS, scheme.truths), (NEVER, GRID - scheme.truths)):
        below, at = (places - 1) / GRID, places / GRID
        uniforms = [below, at, below]
        found = answers(spec, world, uniforms)
        for u, one, bit in zip(uniforms, found, (1, 0, 1), strict=True):
            sent = [numbers for _, _, numbers in one["copies"]]
            assert [numbers[:3] for numbers in sent] == [[int(5 * u), bit, k + 1] for k in range(n)]
            waited = one["drawn"][0] - one["opens"][0]
            assert waited == pytest.approx(60.0 * (1.05 + 0.2 * u), abs=1e-6)


def test_a_coin_that_is_off_by_a_hundredth_and_noise_of_the_clock_are_caught(tmp_path):
    """The test above fails for them."""
    spec, places = survey(1.0), Survey(1.0).truths
    for number, edit in enumerate(
        (
            ("state.ts", "truths(each))", "truths(each) * 0.99)"),
            ("state.ts", "null ? uniform() :", "null ? (Date.now() % 1000) / 1000 :"),
            ("state.ts", "null ? uniform() :", "null ? (globalThis.once ??= uniform()) :"),
        )
    ):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        client = change_browser(folder, edit)
        uniforms = [(places - 1) / GRID, places / GRID] * 5
        found = answers(spec, ALWAYS, uniforms, client)
        assert [one["copies"][0][2][1] for one in found] != [1, 0] * 5


@pytest.mark.parametrize("world", [ALWAYS, LATER, NEVER])
def test_answers_leave_at_the_drawn_moment_whatever_the_user_does(world):
    """70 devices a world, reloads and all, but nothing lost: to a millisecond each."""
    spec = survey(1.0, answers=2)
    plans = [plan(spec, f"{i}")._replace(lost=()) for i in range(70)]
    for wire in watch_all(spec, world, plans):
        assert len(wire.firsts) == 2
        assert all(abs(wire.since_drawn(copy.time)) < 1e-3 for copy in wire.firsts)


def test_a_client_that_fails_is_reported_and_not_passed(tmp_path):
    from devote.audit import AuditError

    broken = tmp_path / "broken.js"
    broken.write_text("export const nothing = 1;")
    with pytest.raises(AuditError, match="failed under the audit"):
        watch_all(survey(), ALWAYS, [plan(survey(), "0")], broken)
