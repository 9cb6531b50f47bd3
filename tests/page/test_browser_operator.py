"""What an operator does on the page, and what the page says to somebody who cannot see it."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.page.surveys import BETTING, answers
from tests.page.test_browser_survey import send_all, still
from tests.server.live import TOKEN
from tests.tools import missing

from devote.boards.operator import Operator
from devote.schemes import Answer

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "docs" / "site" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def faults(page):
    """What axe finds: the rule and where."""
    if not AXE.is_file():
        missing("This test needs axe: npm ci --prefix docs/site")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("rules => axe.run({runOnly: rules})", RULES)
    return [(each["id"], each["nodes"][0]["html"][:100]) for each in found["violations"]]


def fill(page, **values):
    for name, value in values.items():
        page.locator(f"#draft-{name}").fill(value)


def test_an_experiment_is_planned_and_then_opened_and_operated_with_the_token(server, onlooker):
    page = onlooker("#/open")
    form = page.page
    commit = form.get_by_role("button", name="Open it")
    expect(commit).to_be_disabled()
    fill(form, name="tea", arms="green\nblack\nnone", baseline="none", token="wrong-token-wrong")
    form.get_by_role("button", name="What will it take?").click()
    expect(form.locator("#plan")).to_contain_text("needs the operator's token")
    expect(commit).to_be_disabled()
    fill(form, token=TOKEN)
    form.get_by_role("button", name="What will it take?").click()
    expect(form.locator("#plan li").first).to_contain_text("answers: ")
    expect(form.locator("#plan")).to_contain_text("with probability at most 5 % (proved)")
    expect(form.locator("#plan")).to_contain_text("must not lose its answer")
    fill(form, epsilon="2")  # another draft has no plan yet
    expect(commit).to_be_disabled()
    form.get_by_role("button", name="What will it take?").click()
    expect(commit).to_be_enabled()
    commit.click()
    page.sees("#name", "tea")
    page.sees("#verdict", "Waiting for the first message")
    with Operator(server.address, TOKEN) as operator:
        (experiment,) = operator.experiments()
    assert (experiment.baseline, experiment.spec.epsilon) == ("none", 0.02)
    form.get_by_text("Operate this experiment").click()
    form.locator("#count").fill("3")
    form.get_by_role("button", name="Make invites").click()
    page.sees("#done", "3 invites were made.")
    links = form.locator("#invites").input_value().splitlines()
    assert [link.startswith(f"{server.address}/experiments/tea#invite=") for link in links] == [
        True
    ] * 3
    form.locator("#broken").select_option("black")
    form.locator("#certain").check()
    form.get_by_role("button", name="Withdraw it").click()
    page.sees("#done", "It is withdrawn, as message 1.")
    expect(form.locator("#warnings")).to_contain_text("black was withdrawn")
    page.sees("#arms li:nth-child(2) .state span", "withdrawn")
    form.locator("#ends").fill("2099-12-31T18:00")
    form.get_by_role("button", name="Set the end").click()
    page.sees("#done", "The end date is set.")
    form.get_by_role("button", name="Close", exact=True).click()
    page.sees("#done", "It is closed now.")
    page.sees("#verdict", "No answer: it was closed after 0 answers")
    page.forgive("Failed to load resource: the server responded with a status of 401")


def test_a_moment_that_is_none_is_not_sent_as_no_moment(onlooker):
    """A year of five digits was read as none: what was to be deleted then was kept for good."""
    form = onlooker("#/open").page
    fill(form, name="tea", arms="green\nblack", token=TOKEN, delete="20266-01-01T00:00")
    form.get_by_role("button", name="What will it take?").click()
    assert not form.locator("#draft").evaluate("form => form.checkValidity()")
    expect(form.locator("#plan")).to_be_empty()
    expect(form.get_by_role("button", name="Open it")).to_be_disabled()


def test_the_option_that_was_chosen_stays_so_while_others_are_withdrawn(server, onlooker):
    """Options keep their order: the one below it was chosen in its place, and cannot come back."""
    server.open(BETTING)
    first, second, third, _ = BETTING.arm_names
    page = onlooker(f"#{BETTING.name}").page
    page.get_by_text("Operate this experiment").click()
    chosen, certain = page.locator("#broken"), page.locator("#certain")
    chosen.select_option(second)
    certain.check()
    with Operator(server.address, TOKEN) as operator:
        operator.withdraw(BETTING.name, first)
        expect(chosen.locator("option")).to_have_count(3)
        assert (chosen.input_value(), certain.is_checked()) == (second, True)
        operator.withdraw(BETTING.name, second)
        expect(chosen.locator("option")).to_have_count(2)
        assert (chosen.input_value(), certain.is_checked()) == (third, False)


def test_a_mismatch_takes_back_the_word_proved_and_marks_no_option(server, onlooker):
    spec = replace(BETTING, name="lost", epsilon=0.01)
    server.open(spec)
    rng, found = random.Random(5), []
    tally = spec.scheme.tally(spec)
    while tally.mismatch is None:
        arm = rng.choice(tally.asked)
        if arm and rng.random() < 0.9:
            continue  # answers about all arms but the first get lost
        found.append(Answer("lost", arm, rng.randrange(2), 1, tally.snapshot, str(len(found))))
        tally.add(found[-1])
    send_all(server, found)
    for page in still(onlooker, "#lost"):
        page.sees("#verdict", "Do not use a result of this: answers are missing for a reason")
        page.sees("#meaning", "Nothing is proved of this experiment any more.")
        page.sees("#arms .state span", ["not proved"] * 4)
        page.sees("#bounds small", ["claimed"])
        expect(page.page.locator("#warnings")).to_contain_text("missing for a reason")
        assert page.overflow() == 0


def test_the_difference_to_the_current_option_is_shown_with_its_interval(server, onlooker):
    with Operator(server.address, TOKEN) as operator:
        from devote.boards.board import Experiment

        operator.open(Experiment(BETTING, "open", baseline="blue"))
    found = answers(BETTING)
    send_all(server, found)
    page = onlooker(f"#{BETTING.name}")
    page.sees("#verdict", "Use green")
    page.sees("#arms li:nth-child(3) .state small", "the current option")
    text = page.page.locator("#arms li:nth-child(2) .state small").inner_text()
    mean, low, high = (
        float(part) for part in text.replace("points (", "").replace("to ", "").strip(")").split()
    )
    assert low < mean < high


@pytest.mark.parametrize("fragment", ["#survey", "#", "#/open", "#none"])
def test_axe_finds_nothing_wide_or_narrow_light_or_dark(server, onlooker, fragment):
    server.open(BETTING)
    send_all(server, answers(BETTING)[:20])
    for page in still(onlooker, fragment):
        expect(page.page.get_by_role("heading", level=1)).to_be_visible()
        for details in page.page.locator("details:visible > summary").all():
            details.click()
        assert faults(page.page) == []
        assert page.overflow() == 0
        page.page.goto("about:blank")  # it asks again for what is not there
        page.forgive("Failed to load resource")
