"""What the README says is so: each number comes from where it was measured, each block runs."""

import json
import math
import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location

from scripts.five_schemes import Comparison
from scripts.pages import counts
from tests.docs.markdown import DOCS, PAGES, ROOT, blocks_of, text_of, words_of
from tests.server.live import TOKEN, open_store, serving_in_thread

from devote import ExperimentSpec
from devote.boards.board import Experiment
from devote.boards.operator import Operator
from devote.cli.main import COMMANDS
from devote.server import Settings, create_app
from devote.simulator import check_algorithm

README = text_of(ROOT / "README.md")
BLOCKS = [text for _, language, text, _ in blocks_of(ROOT / "README.md") if language == "python"]
COMPARED = Comparison.load(DOCS / "figures/five-schemes.json")
ROWS = {row["scheme"]: row for row in COMPARED.rows}


def test_the_verdicts_and_the_promises_that_fail_are_those_that_were_measured():
    verdicts = json.loads(text_of(DOCS / "claims.json"))["verdicts"]
    words, measured = words_of(ROOT / "README.md"), text_of(DOCS / "paper_promises.md")
    assert counts(verdicts) in words
    assert "error is .196 with 29 devices, where .0523 is claimed" in words
    assert re.search(r"\| 29 \| 0\.1961 .*\| 0\.0523 \|", measured)
    assert "named with probability .811, where at most .1 is claimed" in words
    assert re.search(r"\| names a good arm \| 0\.811 ", measured)


def test_the_picture_says_what_was_measured():
    alt = re.search(r'alt="([^"]+)"', README)[1]
    for row in COMPARED.rows:
        messages = f"{row['messages']:,.0f} messages" if row["messages"] else "no messages"
        assert f"{row['scheme']}: {row['samples']:,.0f} samples, {messages}" in alt
        assert row["wrong"] == 0
    assert f"{COMPARED.n_players:,} devices" in alt
    least = ROWS["pooled"]["samples"]
    assert f"{round(ROWS['isolated']['samples'] / least, -3):,.0f} times as many" in README
    assert f"{ROWS['survey']['samples'] / least:.0f} times as many" in README
    assert f"at most {math.e:.1f}" in README


def test_what_it_says_of_proofs_is_what_the_schemes_promise():
    assert {name for name, row in ROWS.items() if row["proved_error"] is None} == {"decentralized"}
    assert {name for name, row in ROWS.items() if row["proved_privacy"]} == {"isolated", "survey"}


def test_the_simulation_runs_and_finds_the_best(capsys):
    assert len("\n".join(BLOCKS).split("\n")) <= 26
    there = {}
    exec(compile(BLOCKS[0], "README.md", "exec"), there)
    assert "good answers" in capsys.readouterr().out
    assert set(there["result"].answers) == {0}


def test_the_device_joins_plays_and_tells(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spec = ExperimentSpec(arms=["blue", "green", "red"], name="banner")
    with open_store(tmp_path / "server.db") as store:
        app = create_app(store, Settings(token=TOKEN))
        with serving_in_thread(app) as server, Operator(server, TOKEN) as operator:
            operator.open(Experiment(spec, "invite"))
            [invite] = operator.invites("banner", 1)
            block = BLOCKS[1].replace("http://127.0.0.1:8600", server).replace("...", invite)
            exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out == "None\n"


def test_the_commands_it_names_exist():
    assert set(re.findall(r"`devote (\w+)", README)) <= {words.split()[0] for words in COMMANDS}
    targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), flags=re.M))
    assert set(re.findall(r"`make ([a-z]+)`", README)) <= targets
    extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    assert "pip install '.[all]'" in README
    for page in PAGES:
        for named in re.findall(r"pip\s+install\s+'\.\[([a-z,]+)\]'", text_of(page)):
            assert set(named.split(",")) <= set(extras["optional-dependencies"]), page.name
    assert extras["requires-python"] == ">=3.11"
    assert "Python 3.11 or later" in README


def test_it_leads_to_every_page():
    linked = set(re.findall(r"\]\(docs/(\w+\.md)", README))
    pages = {page.name for page in PAGES if page.parent == DOCS}
    assert pages - linked == {"reference.md"}  # it is made for the site


def test_the_rule_that_contributors_are_shown_is_without_fault(tmp_path):
    page = ROOT / "CONTRIBUTING.md"
    [block] = [text for _, language, text, _ in blocks_of(page) if language == "python"]
    (tmp_path / "mine.py").write_text(block, encoding="utf-8")
    spec = spec_from_file_location("mine", tmp_path / "mine.py")
    mine = module_from_spec(spec)
    spec.loader.exec_module(mine)
    check_algorithm(mine.ALGORITHM, compiled=False)
