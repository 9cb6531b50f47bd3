"""The page of a survey and of a private jury in headless Chromium, wide and narrow at once."""

import dataclasses
import re

import pytest
from tests.page.board_rows import rows
from tests.page.surveys import ARMS, SURVEY, answers
from tests.page.test_browser_access import CONTRASTS
from tests.server.live import identity, open_store

from devote.protocol import ExperimentSpec

pytestmark = pytest.mark.browser

# Of each track: where its bar begins and ends and where the middle of its mark is, from 0 to 1.
PLACES = """rows => rows.map((row) => {
  const [track, bar, mark] = [".track", ".fill", ".mark"]
    .map((name) => row.querySelector(name).getBoundingClientRect());
  const at = (x) => (x - track.left) / track.width;
  return [at(bar.left), at(bar.right), at((mark.left + mark.right) / 2)];
})"""


def send_all(server, messages, start=0):
    for number, message in enumerate(messages, start=start + 1):
        server.send(number, dataclasses.replace(message, voter=identity(number).voter))


def fold(messages):
    tally = SURVEY.scheme.tally(SURVEY)
    for message in messages:
        tally.add(message)
    return tally


def still(onlooker, fragment):
    """Wide and light, narrow and dark; without motion, so that what is drawn stays where it is."""
    return [
        onlooker(fragment, width=width, color_scheme=scheme, reduced_motion="reduce")
        for width, scheme in ((1280, "light"), (360, "dark"))
    ]


def poor_contrasts(page):
    """Texts with less contrast than WCAG AA asks for."""
    return [item for item in page.page.evaluate(CONTRASTS) if item[1] < 4.5]


def test_a_surveys_intervals_close_in_where_the_numbers_are_until_it_is_decided(server, onlooker):
    found = answers()
    server.open(SURVEY, players=200)
    pages = still(onlooker, "#survey")
    for page in pages:
        page.sees("#verdict", "Waiting for the first message")
        page.sees("#progress div", "Answers0 so far")
        page.sees("#arms .count", ["–0 answers"] * 4)
    send_all(server, found[:40])
    tally = fold(found[:40])
    needed, leader = tally.view()["answers_needed"], ARMS[tally.leader]
    for page in pages:
        page.sees("#progress dd", f"40 of about {needed}")
        page.sees("#verdict", f"Keep running: 40 of about {needed} answers")
        states = ["in the lead" if name == leader else "in the running" for name in ARMS]
        page.sees("#arms .state", states)
        page.sees("#scale span", ["0 %", "50 %", "100 %"])
        drawn = page.page.locator("#arms li").evaluate_all(PLACES)
        for (mean, low, high), place in zip(tally.estimates(), drawn, strict=True):
            assert place == pytest.approx([low, high, mean], abs=0.01)
        mean, low, high = (round(100 * end) for end in tally.estimates()[1])
        words = f"{mean} %{low} to {high} %, {tally.counts[1]} answers"
        page.sees("#arms li:nth-child(2) .count", words)
    send_all(server, found[40:60], start=40)
    before, tally = tally, fold(found[:60])
    assert tally.shared == (1, 2)
    for page in pages:
        page.sees("#progress dd", f"60 of about {tally.view()['answers_needed']}")
        page.sees_classes("#arms li", ["out", "in leads", "in", "out"])
        page.sees("#arms .state", ["out", "in the lead", "in the running", "out"])
        drawn = page.page.locator("#arms li").evaluate_all(PLACES)
        widths = [high - low for low, high, _ in drawn]
        assert poor_contrasts(page) == []
        assert widths[1] < before.estimates()[1][2] - before.estimates()[1][1]
    send_all(server, found[60:], start=60)
    for page in pages:
        page.sees("#verdict", "Use green")
        page.sees("#warnings li", re.compile(f"With {len(found)} answers nobody would notice"))
        page.sees("#progress dd", f"{len(found)}: decided")
        page.sees_classes("#arms li", ["out", "winner", "out", "out"])
        ends = page.page.locator("#lanes .lane.tall .end").evaluate_all(
            "paths => paths.map((path) => path.getAttribute('d'))"
        )
        assert ends == ["M51 0V100", "", f"M{len(found)} 0V100", "M50 0V100"]
        label = page.page.locator("#timeline").get_attribute("aria-label")
        assert "grey at message 50, red at message 51" in label
        assert page.overflow() == 0


def test_a_survey_of_click_rates_has_a_scale_that_ends_near_them(server, onlooker, tmp_path):
    spec = SURVEY.with_(scheme={"name": "survey", "privacy": "none"}, epsilon=0.01, name="clicks")
    server.open(spec)
    posted = rows(answers(spec, (0.05, 0.04, 0.03, 0.03), most=2_000))
    with open_store(tmp_path / "server.db") as store, store.database.write() as db:
        db.executemany("INSERT INTO messages VALUES ('clicks', ?, 'x', ?, ?)", posted)
    for page in still(onlooker, "#clicks"):
        page.sees("#scale span", ["0 %", "10 %", "20 %"])
        assert "to 20 % at the top" in page.page.locator("#what").inner_text()
        drawn = page.page.locator("#arms li").evaluate_all(PLACES)
        assert all(0 <= low < mean < high <= 1 for low, high, mean in drawn)
        assert page.overflow() == 0


def test_a_private_jurys_picks_stand_against_the_line_at_what_decides(server, onlooker):
    scheme = {"name": "jury", "seats": 9, "privacy": 6.0, "vote_after": 300}
    spec = ExperimentSpec(
        arms=ARMS, name="jury", algorithm="mixture_elimination", eta=0.01, scheme=scheme
    )
    needed = spec.votes_needed
    assert needed == 6
    server.open(spec, players=9)
    for voter in range(1, 10):
        server.claim("jury", voter)
    for voter in range(1, 6):
        server.pick("jury", voter, 0 if voter < 4 else 2)
    for page in still(onlooker, "#jury"):
        page.sees("#progress div", ["Seats taken9 of 9", "Jurors who have picked5 of 9"])
        page.sees("#verdict", "Keep running: 4 of 4 options are left")
        page.sees("#scale span", f"{needed} decide")
        page.sees("#counted", "Picks, by option")
        page.sees("#lanes .lane.other .name", "claims")
        page.sees("#messages span", ["Claim", "Pick: red"])
        assert "Noise hides what each juror found" in page.page.locator("#notes").text_content()
        assert "Privacy, proved: " in page.page.locator("#private").text_content()
        drawn = page.page.locator("#arms li").evaluate_all(PLACES)
        assert poor_contrasts(page) == []
        lengths, marks = [end for _, end, _ in drawn], [mark for _, _, mark in drawn]
        assert marks == pytest.approx([0.8] * 4, abs=0.01)
        assert lengths == pytest.approx([0.8 * n / needed for n in (3, 0, 2, 0)], abs=0.01)
        assert page.overflow() == 0
    for voter in range(6, 10):
        server.pick("jury", voter, 0)
    page.sees("#verdict", "Use red")
    page.sees("#arms .count", ["7", "0 of 6", "2 of 6", "0 of 6"])
    page.sees_classes("#arms li", ["winner", "lost", "lost", "lost"])
