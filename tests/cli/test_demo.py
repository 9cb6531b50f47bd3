"""``devote demo`` as a command, and in a terminal: its page stays until Enter or Ctrl-C."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

DEVOTE = Path(sys.executable).with_name("devote")
SMALL = ("demo", "--players", "30", "--means", ".9,.1")


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
@pytest.mark.parametrize("scheme", ["decentralized", "jury"])
def test_a_small_demo_finds_the_best_banner(devote, scheme):
    ran = devote("demo", "--players", 32, "--means", ".9,.1", "--scheme", scheme, "--json")
    assert (ran.code, ran.err, ran.out.count("\n")) == (0, "", 1)
    printed = json.loads(ran.out)
    assert (printed["status"], printed["answer"], printed["n_players"]) == ("agreed", [0], 32)
    needed, arm = {"decentralized": (28, 1), "jury": (10, 0)}[scheme]
    assert printed["counts"][arm] >= needed
    # A verdict may come before all seats are claimed, but each pick is a seated juror's.
    assert printed["messages"] >= needed * (2 if scheme == "jury" else 1)
    assert printed["pulls"] > printed["messages"]
    assert (printed["server_starts"], printed["crowd_starts"]) == (1, 2)


@pytest.mark.slow
def test_without_a_terminal_it_tells_the_story_and_ends_by_itself():
    ran = subprocess.run([DEVOTE, *SMALL], capture_output=True, text=True, timeout=280)
    assert (ran.returncode, ran.stderr) == (0, "")
    for part in ("watch it at http://127.0.0.1:", "The answer: Banner 0", "eavesdropper"):
        assert part in ran.stdout
    assert "until you press Enter" not in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("how", ["Enter", "Ctrl-C"])
def test_in_a_terminal_its_page_stays_until_enter_or_ctrl_c(how):
    terminal, inner = pty.openpty()
    process = subprocess.Popen([DEVOTE, *SMALL], stdin=inner, stdout=inner, stderr=inner)
    os.close(inner)
    try:
        seen, until = "", time.monotonic() + 250
        while "until you press Enter" not in seen:
            assert time.monotonic() < until, seen
            if select.select([terminal], [], [], 1.0)[0]:
                seen += os.read(terminal, 4096).decode(errors="replace")
        page = re.search(r"stays at (http://\S+?)/#banner", seen)[1]
        with urllib.request.urlopen(page, timeout=10) as answer:
            assert b"<html" in answer.read().lower()
        if how == "Enter":
            os.write(terminal, b"\n")
        else:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(page, timeout=10)
