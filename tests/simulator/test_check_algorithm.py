"""Every fault of a rule is caught, with the file, the line and what to do."""

import pytest
from tests.simulator.rule_files import line_of, write_rule

import devote
from devote.rules import import_rules
from devote.rules.algorithm import ALGORITHMS, AlgorithmError
from devote.simulator import AlgorithmFault, check_algorithm

KEEP = "    return keep_only(state, best_mean(state), out)"
WORD = "    state.ints[1] = arm"

FAULTS = {
    "writing past its words": (
        [(WORD, "    state.ints[2] = arm")],
        "state.ints[2]",
        r"ints\[2\] is written, but ints has 2 words\.\nAsk for more words: n_ints",
    ),
    "a negative index": (
        [(WORD, "    state.ints[arm - 1] = 1")],
        "state.ints[arm - 1]",
        r"ints\[-1\] is written",
    ),
    "floats it did not ask for": (
        [(WORD, "    state.floats[0] = 1.0")],
        "state.floats[0]",
        r"floats has 0 words\.\nAsk for more words: n_floats",
    ),
    "writing the number of arms": (
        [(WORD, "    state.ints[0] = arm")],
        "state.ints[0]",
        r"word 0 of ints is written, .*\nUse words from 1 on",
    ),
    "dropping every arm": (
        [(KEEP, "    for k in range(rule.n_arms):\n        drop(state, k)\n    return 0")],
        "        drop(state, k)",
        r"is taken out, and it is the last one\.\nKeep at least one arm",
    ),
    "never voting": (
        [(KEEP, "    return 0")],
        "def observe",
        r"still keeps arms \[0, 1, 2\] after [\d,]+ pulls .* never votes\.\nDrop arms with drop",
    ),
    "keeping the worst": (
        [("    add(state, arm, reward)", "    add(state, arm, 1.0 - reward)")],
        "def observe",
        r"kept arm \d, which never paid, and dropped arm 0",
    ),
    "not telling": (
        [(KEEP, KEEP.replace("return ", "") + "\n    return 0")],
        "def observe",
        r"wrote \[\], but the arms it took out are .*\nWrite each arm",
    ),
    "unequal on lists and arrays": (
        [(WORD, "    state.ints[1] = reward / 2")],
        "state.ints[1]",
        r"ints\[1\] is set to 0\.\d+, and an array would keep 0.*\nKeep such numbers in floats",
    ),
    "only lists can": (
        [(WORD, "    state.alive.index(1)\n    best = max(state.sums.copy())")],
        "state.alive.index",
        r"'numpy\.ndarray' object has no attribute 'index'\.\nUse indexing",
    ),
    "a memory of its own": (
        [
            ("def choose", "SEEN = []\n\n\ndef choose"),
            (
                "    return least_pulled(state)\n\n\ndef observe",
                "    SEEN.append(1)\n    if len(SEEN) % 7 == 0:\n        return best_sum(state)\n"
                "    return least_pulled(state)\n\n\ndef observe",
            ),
            ("best_mean, drop", "best_mean, best_sum, drop"),
        ],
        "def observe",
        r"when it runs again.*\nKeep all memory in state",
    ),
    "an arm that is gone": (
        [
            (
                "    return least_pulled(state)\n\n\ndef observe",
                "    return int(u * rule.n_arms)\n\n\ndef observe",
            )
        ],
        "def choose",
        r"choose returned \d, but the remaining arms are .*\nLook at state\.alive",
    ),
    "a power": (
        [(WORD, "    state.ints[1] = arm ** 2")],
        "arm ** 2",
        r"observe uses \*\*",
    ),
    "an error of its own": (
        [(WORD, "    state.ints[1] = int(1 / (reward - 1.0))")],
        "reward - 1.0",
        r"observe raised ZeroDivisionError",
    ),
    "too few arguments": (
        [("def choose(rule, state, u)", "def choose(rule, state)")],
        "def choose",
        r"choose takes 2 arguments, not 3\.\nWrite def choose\(rule, state, u\)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_line_and_a_remedy(fault, tmp_path, forget):
    changes, place, message = FAULTS[fault]
    path = write_rule(tmp_path, f"fault_{list(FAULTS).index(fault)}", *changes)
    rule = import_rules(path).ALGORITHM
    with pytest.raises(AlgorithmFault, match=message) as told:
        check_algorithm(rule, compiled=False)
    # A function begins at its decorator.
    lines = path.read_text().split(place)[0].count("\n") + 1
    assert told.value.file == str(path)
    assert told.value.line == lines
    assert str(told.value).startswith(f"{path.name}:{lines}: ")


def test_a_rule_that_cannot_be_compiled_is_told_with_its_line(tmp_path, forget):
    path = write_rule(tmp_path, "odd_types", (WORD, "    state.ints[1] = {1: arm}.get('a', arm)"))
    rule = import_rules(path).ALGORITHM
    del ALGORITHMS["odd_types"]
    with pytest.raises(AlgorithmFault, match=r"cannot be compiled: .*\nUse indexing") as told:
        check_algorithm(rule)
    assert told.value.line == line_of(path, "get('a', arm)")
    assert "odd_types" not in ALGORITHMS


def test_a_good_rule_passes(tmp_path, forget):
    """That it also passes compiled is tested in ``tests/docs``, where it is then used."""
    assert devote.check_algorithm(str(write_rule(tmp_path, "good_rule")), compiled=False) is None


@pytest.mark.parametrize("name", ["kl_lucb", "median_elimination", "ser4"])
def test_devotes_own_rules_pass(name):
    check_algorithm(name, compiled=False)


def test_what_is_no_algorithm_is_said():
    with pytest.raises(AlgorithmError, match="is not an Algorithm"):
        check_algorithm(3)
    with pytest.raises(AlgorithmError, match=r"not known\.\n.*--import my_rule\.py"):
        check_algorithm("nothing_of_that_name")
