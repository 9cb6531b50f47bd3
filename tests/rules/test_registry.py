"""Subroutines by name."""

from dataclasses import replace

import pytest

from devote.rules import get_algorithm, register
from devote.rules.algorithm import ALGORITHMS


def test_registering_the_same_subroutine_again_changes_nothing():
    known = dict(ALGORITHMS)
    register(get_algorithm("ser3"))
    assert known == ALGORITHMS


def test_another_subroutine_of_a_taken_name_is_refused_unless_it_replaces(monkeypatch):
    other = replace(get_algorithm("ser3"), summary="another")
    with pytest.raises(ValueError, match=r"'ser3' is registered already.\nGive yours another name"):
        register(other)
    assert get_algorithm("ser3") is not other
    monkeypatch.setitem(ALGORITHMS, "ser3", get_algorithm("ser3"))
    register(other, replace=True)
    assert get_algorithm("ser3") is other


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"algorithm='ugape' is not known.\nDid you mean 'ugapec'"):
        get_algorithm("ugape")
    with pytest.raises(ValueError, match=r"'zzz' is not known.\nUse one of: naive, "):
        get_algorithm("zzz")


def test_options_become_the_numbers_that_kernels_read():
    ser3 = get_algorithm("ser3")
    options = [{}, {"radius": "union"}, {"radius": "active"}]
    rules = [ser3.rule(n_arms=3, epsilon=0.25, eta=0.9, options=o) for o in options]
    assert [rule.options for rule in rules] == [(0.0,), (0.0,), (1.0,)]
