"""The page for everybody: by keyboard, by ear, on a phone, in the dark, without motion."""

import pytest
from playwright.sync_api import expect

from devote.protocol import ExperimentSpec

pytestmark = pytest.mark.browser

LONG = "W" * 120
SPEC = ExperimentSpec(arms=["red", "green", LONG], name="banner", scheme={"quorum": 3})

CONTRASTS = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.checkVisibility()) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([walk.currentNode.data.trim().slice(0, 40), ratio]);
  }
  return found;
}"""


@pytest.fixture
def busy(server):
    """A server with an experiment in the midst of it: one option out, one nearly."""
    server.open(SPEC, players=4)
    for voter in (1, 2, 3):
        server.vote("banner", voter, 2)
    server.vote("banner", 1, 1)
    return server


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_the_contrast_of_wcag_aa(busy, onlooker, scheme):
    for fragment, shown in [("#banner", "#arms"), ("#", "#cards")]:
        page = onlooker(fragment, color_scheme=scheme)
        expect(page.page.locator(shown)).to_be_visible()
        found = page.page.evaluate(CONTRASTS)
        assert len(found) > 5
        assert [item for item in found if item[1] < 4.5] == []


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_needs_no_sideways_scrolling(busy, onlooker, width):
    for fragment, shown in [("#banner", "#arms"), ("#", "#cards")]:
        page = onlooker(fragment, width=width)
        expect(page.page.locator(shown)).to_be_visible()
        assert page.overflow() == 0


def test_everything_is_reached_by_keyboard_in_order_and_focus_is_seen(busy, onlooker):
    page = onlooker("#banner")
    page.sees("#name", "banner")
    reached = []
    for _ in range(4):
        page.page.keyboard.press("Tab")
        focused = page.page.locator(":focus")
        reached.append(focused.get_attribute("id") or focused.inner_text().strip())
        assert focused.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
        expect(focused).to_be_in_viewport()
    assert reached == ["skip", "devote", "All experiments", "What leaves a device"]


def test_the_skip_link_goes_to_the_content_and_not_to_an_experiment_called_main(busy, onlooker):
    page = onlooker("#banner")
    page.sees("#name", "banner")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#main")).to_be_focused()
    assert page.page.url.endswith("/#banner")
    page.page.keyboard.press("Tab")
    expect(page.page.get_by_role("link", name="All experiments")).to_be_focused()


def test_an_experiment_is_opened_by_keyboard_and_focus_moves_into_it(busy, onlooker):
    page = onlooker("#")
    page.sees("#cards strong", ["banner"])
    for _ in range(4):
        page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    page.sees("#name", "banner")
    expect(page.page.locator("#main")).to_be_focused()


def test_what_is_drawn_is_also_said(busy, onlooker):
    page = onlooker("#banner").page
    picture = page.get_by_role("img", name="4 messages in order. Went out:")
    expect(picture).to_be_visible()
    expect(picture).to_have_attribute(
        "aria-label", f"4 messages in order. Went out: {LONG} at message 3."
    )
    options = page.get_by_role("list", name="Votes against, by option").get_by_role("listitem")
    assert [" ".join(text.split()) for text in options.all_inner_texts()] == [
        "red 0 of 3 still in",
        "green 1 of 3 still in",
        f"{LONG} 3 of 3 out at 3",
    ]
    expect(page.get_by_role("status").filter(has_text="Keep running: 2 of 3")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("img:not([alt])").count() == 0
    assert page.get_by_role("heading", level=1).count() == 1


@pytest.mark.parametrize(("wish", "seconds"), [("reduce", "0s"), ("no-preference", "0.4s")])
def test_nothing_moves_for_those_who_asked_for_that(busy, onlooker, wish, seconds):
    page = onlooker("#banner", reduced_motion=wish).page
    bar = page.locator("#arms .fill").first
    expect(bar).to_be_attached()
    moving = bar.evaluate("node => getComputedStyle(node).transitionDuration")
    assert moving.split(", ")[0] == seconds


def test_what_has_not_changed_is_not_drawn_again_so_nothing_is_read_out_twice(busy, onlooker):
    page = onlooker("#banner")
    page.sees("#arms li:nth-child(2) .count", "1 of 3")
    page.page.evaluate(
        "document.querySelectorAll('#arms li, #verdict').forEach((node) => { node.kept = true; })"
    )
    busy.vote("banner", 2, 1)
    page.sees("#arms li:nth-child(2) .count", "2 of 3")
    kept = "nodes => nodes.every((node) => node.kept)"
    assert page.page.locator("#arms li, #verdict").evaluate_all(kept)
