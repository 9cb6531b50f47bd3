"""The built client passes the wire's vectors in Node and Chromium; a wrong encoding does not."""

import json

import pytest
from tests.browser.site import CLIENT, ROOT

VECTORS = ROOT / "tests" / "vectors"
HARNESS = ROOT / "clients/js/test/vectors.mjs"
NOT_IN_BROWSERS = ("certificates", "sets", "snapshots")
"""What only devices without a server say, and what only other devices keep."""
ENCODED = {"canonical", "fingerprints", "specifications", "tallies"}
COUNT = sum(
    len(json.loads(file.read_text()))
    for file in VECTORS.glob("*.json")
    if file.stem not in NOT_IN_BROWSERS
)

RUN = """async () => {
  const { run } = await import("/clients/js/test/vectors.mjs");
  const client = await import("/clients/js/dist/devote.js");
  return run(client, async (name) => (await fetch(`/tests/vectors/${name}.json`)).json());
}"""


@pytest.fixture(scope="module")
def wrong():
    """The client with one letter of its canonical encoding changed: how numbers begin."""
    text = CLIENT.read_text()
    assert text.count('"#"') == 1
    return text.replace('"#"', '"$"')


def test_the_vectors_pass_in_node(node):
    assert node(HARNESS) == (0, f"{COUNT} vectors, 0 wrong\n")


def test_a_wrong_encoding_fails_the_vectors_in_node(node, wrong, tmp_path):
    (tmp_path / "wrong.mjs").write_text(wrong)
    code, said = node(HARNESS, tmp_path / "wrong.mjs")
    assert code == 1
    failed = {line.split(":")[0] for line in said.splitlines()[:-1]}
    assert failed == ENCODED


@pytest.mark.browser
def test_the_vectors_pass_in_chromium(chromium, site):
    page = chromium.new_page()
    page.goto(site.origin)
    assert page.evaluate(RUN) == {"count": COUNT, "wrong": []}
    page.close()


@pytest.mark.browser
def test_a_wrong_encoding_fails_the_vectors_in_chromium(chromium, site, wrong):
    site.changed["clients/js/dist/devote.js"] = wrong.encode()
    try:
        page = chromium.new_page()
        page.goto(site.origin)
        found = page.evaluate(RUN)
        page.close()
    finally:
        site.changed.clear()
    assert {text.split(":")[0] for text in found["wrong"]} == ENCODED
