"""A rule of one's own, wherever it runs: from a file, a package, on workers, by every command."""

import importlib
import json
import sys

import pytest
from tests.simulator.rule_files import write_rule

from devote.cli.main import COMMANDS, main
from devote.problems import Problem
from devote.protocol import ExperimentSpec
from devote.rules import get_algorithm, import_rules
from devote.rules.algorithm import ALGORITHMS, AlgorithmError
from devote.rules.outside import Home, homes, settle
from devote.simulator import Scenario, run_players, run_trial, simulate
from devote.simulator.executors import local_executor

EASY = Problem("easy", [0.9, 0.1])


pytestmark = pytest.mark.usefixtures("forget")


def play(name):
    spec = ExperimentSpec(arms=2, algorithm=name, epsilon=0.5, scheme={"quorum": 2})
    return spec, EASY, 4


def test_a_file_is_imported_once(tmp_path):
    path = write_rule(tmp_path, "rule_a")
    module = import_rules(path)
    assert import_rules(str(path)) is module
    assert get_algorithm("rule_a") is module.ALGORITHM


def test_a_file_that_only_names_its_algorithm_is_registered_too(tmp_path):
    path = write_rule(tmp_path, "rule_b", ("register(\n", "(\n"), (", register\n", "\n"))
    import_rules(path)
    assert get_algorithm("rule_b").source == "a test"


def test_a_file_can_have_the_name_of_a_module(tmp_path):
    import random

    path = write_rule(tmp_path, "rule_c").rename(tmp_path / "random.py")
    import_rules(path)
    assert sys.modules["random"] is random
    assert "rule_c" in ALGORITHMS
    del sys.modules["devote_rule_random"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = 1 / 0\n", r"bad_rule\.py:2: ZeroDivisionError"),
        ("x = 1\n\ndef f(:\n", r"bad_rule\.py:3: SyntaxError"),
        ("import nowhere_to_be_found\n", r"bad_rule\.py:1: ModuleNotFoundError"),
    ],
)
def test_a_file_with_an_error_is_told_with_its_line(tmp_path, text, message):
    path = tmp_path / "bad_rule.py"
    path.write_text(text)
    with pytest.raises(AlgorithmError, match=message + r".*\nCorrect the file"):
        import_rules(path)
    assert "bad_rule" not in sys.modules


def test_a_missing_file_or_module_is_said(tmp_path):
    with pytest.raises(AlgorithmError, match=r"is not a file\.\nName a Python file"):
        import_rules(tmp_path / "rule.py")
    with pytest.raises(AlgorithmError, match=r"no module 'no_such_rules'.*\nName a file"):
        import_rules("no_such_rules")


def test_an_installed_package_offers_rules_as_entry_points(tmp_path, monkeypatch):
    write_rule(tmp_path, "rule_d")
    monkeypatch.syspath_prepend(tmp_path)
    info = tmp_path / "rules-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rules\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[devote.algorithms]\nrule_d = rule_d:ALGORITHM\n")
    importlib.invalidate_caches()
    assert get_algorithm("rule_d").name == "rule_d"
    (info / "entry_points.txt").write_text("[devote.algorithms]\nrule_e = json:dumps\n")
    with pytest.raises(AlgorithmError, match=r"'json:dumps', which is not an Algorithm\.\nPoint"):
        get_algorithm("rule_e")


def test_a_rule_that_never_votes_is_refused_without_a_horizon(tmp_path):
    keep = "keep_only(state, best_mean(state), out)"
    path = write_rule(tmp_path, "rule_j", (f"return {keep}", "return 0"))
    import_rules(path)
    for run in (run_players, simulate):
        with pytest.raises(AlgorithmError, match=r"rule_j\.py:\d+: .* never votes\.\nDrop arms"):
            run(*play("rule_j"))
    assert run_players(*play("rule_j"), horizon=2_000).status == "unfinished"


def test_a_rule_may_make_arrays_and_functions_of_its_own(tmp_path):
    """What ours have not: steps of the compiler that are left out for ours are needed for these."""
    body = """
    weights = np.zeros(len(state.pulls))
    for k in range(len(weights)):
        weights[k] = state.alive[k]
    half = lambda x: x / 2.0
    doubled = np.array([2.0 * w for w in weights]) + weights * 1.0
    return least_pulled(state) + int(half(np.sum(doubled) - 3.0 * np.sum(weights)))
"""
    plain = "\n    return least_pulled(state)\n\n\ndef observe"
    top = "from devote.rules import Algorithm"
    changes = (plain, f"{body}\n\ndef observe"), (top, f"import numpy as np\n{top}")
    import_rules(write_rule(tmp_path, "rule_k", *changes))
    compiled = run_trial(Scenario(*play("rule_k"), engine="event"), seed=3, trial=0)
    assert compiled == run_players(*play("rule_k"), seed=3, trial=0)


def test_worker_processes_know_the_rule(tmp_path):
    import_rules(write_rule(tmp_path, "rule_f"))
    here = run_players(*play("rule_f"))
    with local_executor(2) as pool:
        assert pool.submit(run_players, *play("rule_f")).result() == here


def test_a_worker_without_the_file_gets_its_text_and_a_changed_text_replaces_it(tmp_path):
    path = write_rule(tmp_path, "rule_g")
    import_rules(path)
    [home] = [one for one in homes() if one.names == ("rule_g",)]
    path.unlink()
    # What another machine sees: no such module, no such file.
    for name in ("rule_g",):
        del sys.modules[name]
        del ALGORITHMS[name]
    settle([home])
    assert run_players(*play("rule_g")).samples_until_all_know >= 2 * 200
    known = get_algorithm("rule_g")
    settle([home])
    assert get_algorithm("rule_g") is known
    changed = Home(home.names, home.module, home.file, home.source.replace(">= 100", ">= 10"))
    settle([changed])
    assert run_players(*play("rule_g")).samples_until_all_know < 200


def test_every_command_that_takes_an_algorithm_takes_import():
    takers = {name for name, command in COMMANDS.items() if "--import" in options_of(command)}
    for name, command in COMMANDS.items():
        assert name in takers or "--algorithm" not in options_of(command)
    # These read a specification, which names one.
    assert {"sweep", "serve", "device", "experiments open", "certify issue"} <= takers


def options_of(command):
    return {option.name for option in command.options}


def test_the_command_line_knows_an_imported_rule(tmp_path, capsys):
    path = write_rule(tmp_path, "rule_i")
    assert main(["algorithms", "--import", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told[-1]["name"] == "rule_i"
    assert main(["watch", "--import", str(tmp_path / "no.py")]) == 2
    assert "no.py is not a file. Name a Python file" in capsys.readouterr().err
