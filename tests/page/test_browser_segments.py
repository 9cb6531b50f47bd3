"""The page of a survey with segments in headless Chromium, wide and narrow at once."""

import pytest
from tests.page.test_browser_survey import poor_contrasts, send_all, still
from tests.schemes.segments import deciding, segmented_spec

pytestmark = pytest.mark.browser

ARMS = ("red", "green", "blue")
SPEC = segmented_spec(name="segments", arms=ARMS)


def test_each_segment_has_a_row_with_its_answer_its_progress_and_its_estimates(server, onlooker):
    server.open(SPEC)
    pages = still(onlooker, "#segments")
    for page in pages:
        page.sees("#verdict", "Waiting for the first message")
        page.sees("#segments h3", ["phone", "tablet", "desktop"])
        page.sees("#segments .head .state", ["Undecided"] * 3)
        page.sees("#segments .far", ["0 answers so far"] * 3)
        assert poor_contrasts(page) == []
    first = [answer for _, answer in deciding(SPEC, 1)]
    send_all(server, first)
    for page in pages:
        page.sees("#verdict", "Keep running: 1 of 3 segments have their answer")
        page.sees_classes("#segments > li", ["open", "agreed", "open"])
        state = page.page.locator("#segments .head .state")
        assert state.nth(1).inner_text() == "Settled: blue"
        assert state.nth(0).inner_text().endswith("leads, no promise")
        page.sees("#segments > li:nth-child(2) .far", f"{len(first)} answers: decided")
        rows = page.page.locator("#segments > li:nth-child(2) .arms li")
        assert rows.nth(2).get_attribute("class") == "winner"
        assert rows.nth(2).locator("b").inner_text() == "100 %"
        page.sees("#progress dd", "1 of 3")
        page.sees("#arms .state", ["in the running", "in the running", "the answer for tablet"])
        page.sees("#lanes .name", list(ARMS))
        assert page.page.locator("#messages span").text_content() == "Segmented answer: red"
        assert poor_contrasts(page) == []
        assert page.overflow() == 0
    everything = [answer for _, answer in deciding(SPEC, 1, 0, 2)]
    send_all(server, everything[len(first) :], start=len(first))
    for page in pages:
        text = "blue for phone, blue for tablet and blue for desktop"
        page.sees("#verdict", f"Use {text}")
        page.page.goto(f"{server.address}/")
        page.sees("#cards .state", f"Use {text}")
