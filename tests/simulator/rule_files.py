"""A small rule in a file of its own, and the same with one fault each."""

GOOD = '''\
"""A hundred pulls each, then the best."""

from devote.rules import Algorithm, register
from devote.rules.state import COUNT, add, best_mean, drop, keep_only, least_pulled


def enough(state):
    return state.pulls[least_pulled(state)] >= 100


def choose(rule, state, u):
    return least_pulled(state)


def observe(rule, state, arm, reward, out):
    add(state, arm, reward)
    state.ints[1] = arm
    if state.ints[COUNT] == 1 or not enough(state):
        return 0
    return keep_only(state, best_mean(state), out)


ALGORITHM = register(
    Algorithm(
        name="NAME",
        summary="a hundred pulls each, then the best",
        source="a test",
        choose=choose,
        observe=observe,
        n_ints=lambda n_arms: 2,
    )
)
'''


def write_rule(folder, name, *changes):
    """Write the rule under a name of its own, with some of its text replaced."""
    text = GOOD.replace("NAME", name)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path


def line_of(path, text):
    """The number of the first line with this text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)
