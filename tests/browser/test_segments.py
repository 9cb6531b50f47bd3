"""A browser with a segment: what it shows and answers, and that nothing else tells the segment."""

import itertools
import json

import pytest
from tests.browser import what_leaves
from tests.browser.world import choose, status, survey, wait_sent
from tests.schemes.segments import NAMES, segmented_spec

pytestmark = pytest.mark.browser
_numbers = itertools.count(1)

CHOOSE = "async (segment) => window.choice = await device.choose({ segment })"
TOLD = "() => ({ code: device.status().trouble?.code, text: device.status().trouble?.message })"


def open_with(world, *decided, reply_after=1.0):
    """A survey with segments, some of them decided; its address."""
    name, arms = f"segments-{next(_numbers)}", ("spring", "summer", "autumn")
    spec = segmented_spec(name=name, reply_after=reply_after, arms=arms)
    return world.open_decided(spec, *decided), spec


def test_a_decided_segment_shows_its_answer_and_answers_as_it_was_asked(visitor, world):
    _, spec = open_with(world, 1, 2)
    found = {}
    for segment in NAMES:
        page = visitor.join(f"{world.address}/{segment}/../experiments/{spec.name}")
        shown = [page.evaluate(CHOOSE, segment)["name"]]
        page.evaluate("async () => device.reward(1, choice)")
        wait_sent(page)
        shown.append(page.evaluate(CHOOSE, segment)["name"])
        found[segment] = (*shown, page.evaluate("() => device.best()"), status(page)["best"])
    assert found["tablet"] == found["desktop"] == ("autumn",) * 4
    assert found["phone"][2:] == (None, None)
    answers = [json.loads(text)["message"] for text in visitor.posted]
    assert [answer["type"] for answer in answers] == ["segmented_answer"] * 3
    assert world.verify(spec)
    assert {answer["voter"] for answer in answers} <= {a.voter for a in world.answers(spec)}


@pytest.mark.parametrize(
    ("segment", "part"),
    [("watch", "no such segment"), (None, "none was given"), (7, "no such segment")],
)
def test_a_wrong_segment_is_told_and_the_visitor_sees_a_banner(visitor, world, segment, part):
    url, _ = open_with(world)
    page = visitor.join(url)
    given = {} if segment is None else {"segment": segment}
    assert page.evaluate("async (given) => (await device.choose(given)).play", given) is None
    told = page.evaluate(TOLD)
    assert told["code"] == "segment"
    assert part in told["text"]
    assert "watch" not in told["text"]
    assert page.evaluate(CHOOSE, "phone")["play"] is not None, "it can be put right"
    assert page.evaluate(TOLD) == {"code": None, "text": None}


def test_a_segment_where_there_are_none_is_told(visitor, world):
    page = visitor.join(world.open(survey(), "open"))
    assert page.evaluate(CHOOSE, "phone")["play"] is None
    assert "has no segments" in page.evaluate(TOLD)["text"]
    assert choose(page)["play"] is not None


def test_another_segment_than_before_is_told_also_after_a_reload_and_not_which_it_was(
    visitor, world
):
    url, _ = open_with(world, reply_after=60.0)
    page = visitor.join(url)
    first = page.evaluate(CHOOSE, "tablet")
    page = visitor.join(url)
    assert page.evaluate(CHOOSE, "phone")["play"] is None
    told = page.evaluate(TOLD)
    assert told["code"] == "segment"
    assert "another segment" in told["text"]
    assert "tablet" not in told["text"]
    assert page.evaluate(CHOOSE, "tablet") == first


# The same seeds: the moment drawn for the answer is the record's own.
RUN = """async ([server, name, segment]) => {
  const plainFetch = window.fetch, plainValues = crypto.getRandomValues;
  let state = 12345;
  crypto.getRandomValues = (words) => words.map(() => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state ^ (state >>> 13);
  });
  const noted = [];
  const url = `${server}/${name}-${segment}/../experiments/${name}`;
  window.fetch = (at, options = {}) => {
    const body = options.body ? JSON.parse(options.body) : null;
    for (const one of [body, body?.message])
      for (const hidden of ["low", "high", "voter", "signature"]) if (one) delete one[hidden];
    noted.push([options.method ?? "GET", at.slice(url.length).replace(/voter=\\w+/, ""), body]);
    return plainFetch(at, options);
  };
  const device = devote.join(url, { fallback: "plain", within: 60_000 });
  await device.ready;
  const choice = await device.choose({ segment });
  const database = await new Promise((done) => {
    indexedDB.open("devote", 1).onsuccess = (event) => done(event.target.result);
  });
  const { play } = await new Promise((done) => {
    database.transaction("experiments").objectStore("experiments").get(url).onsuccess =
      (event) => done(event.target.result);
  });
  database.close();
  await device.reward(1, choice);
  while (device.status().sent === 0) await new Promise((done) => setTimeout(done, 20));
  await device.choose({ segment });
  device.close();
  [window.fetch, crypto.getRandomValues] = [plainFetch, plainValues];
  return { noted, wait: play.leavesAt - play.askedAt, asked: play.arm, shown: choice.name };
}"""


@pytest.mark.parametrize("decided", [(), (0,), (1, 2)])
def test_with_the_same_seeds_every_segment_makes_the_same_requests(visitor, world, decided):
    _, spec = open_with(world, *decided)
    page = visitor.visit()
    found = {}
    for segment in NAMES:
        seen = page.evaluate(RUN, [world.address, spec.name, segment])
        for _, _, body in seen["noted"]:
            if body and "message" in body:
                body["message"].pop("seen")  # the number of answers before it
        found[segment] = seen
        if NAMES.index(segment) in decided:
            assert seen.pop("shown") == "autumn"
        else:
            assert seen.pop("shown") == spec.arm_names[seen["asked"]]
    assert found["phone"] == found["tablet"] == found["desktop"]
    posted = [body for method, path, body in found["phone"]["noted"] if path == "/messages"]
    assert len(posted) == 1


@pytest.fixture(scope="module")
def leaves(chromium, world):
    return what_leaves.measure(chromium, world, runs=14, by="segment")


def test_answers_of_two_segments_leave_at_the_same_times(leaves):
    leaves.check()
