"""An experiment is checked once, with errors that give the value, the rule and the remedy."""

import json
import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devote.kernels.registry import ALGORITHMS
from devote.protocol import ExperimentSpec, SpecError, get_protocol

MANY = 4 * settings().max_examples
GOOD = {"arms": 3}


def refused(build, match):
    with pytest.raises(SpecError, match=match) as caught:
        build()
    problem, _, remedy = str(caught.value).partition("\n")
    assert problem
    assert remedy


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilon": 0.0}, r"epsilon=0.0 must be in \(0, 1\]\.\nIt is how far from the best"),
        ({"epsilon": -0.1}, r"epsilon=-0.1 must be in"),
        ({"epsilon": 1.01}, r"epsilon=1.01 must be in"),
        ({"epsilon": math.nan}, r"epsilon=nan must be in"),
        ({"epsilon": math.inf}, r"epsilon=inf must be in"),
        ({"epsilon": "0.1"}, r"epsilon='0.1' must be in"),
        ({"epsilon": True}, r"epsilon=True must be in"),
        ({"epsilon": None}, r"epsilon=None must be in"),
        ({"epsilon": 10**400}, r"must be in \(0, 1\]"),
        ({"eta": 0}, r"eta=0 must be in \(0, 1\)\.\nIt is the probability with which one device"),
        ({"eta": 1.0}, r"eta=1.0 must be in \(0, 1\)"),
        ({"eta": math.nan}, r"eta=nan must be in"),
        (
            {"delta": 0.0},
            r"delta=0.0 must be in \(0, 1\)\.\nIt is the probability with which the v",
        ),
        ({"delta": 1}, r"delta=1 must be in \(0, 1\)"),
        ({"delta": -0.5}, r"delta=-0.5 must be in"),
        ({"delta": 0.9}, r"delta=0.9 with eta=0.9 needs 1 vote .* at most eta\^2.\nUse a lower"),
        ({"delta": 0.95}, r"delta must be at most eta\^2"),
        ({"quorum": 0}, r"quorum=0 must be 'paper', 'ceil' or a number of votes"),
        ({"quorum": -1}, r"quorum=-1 must be"),
        ({"quorum": 2.0}, r"quorum=2.0 must be"),
        ({"quorum": True}, r"quorum=True must be"),
        ({"quorum": "majority"}, r"quorum='majority' must be"),
        ({"quorum": None}, r"quorum=None must be"),
        ({"phi": 0.1}, r"phi=0.1 has no meaning for ser3, which never resets.\nLeave phi out"),
        ({"phi": -0.1, "algorithm": "ser4"}, r"phi=-0.1 must be in \(0, 1\]\.\nIt is the prob"),
        ({"phi": 1.5, "algorithm": "ser4"}, r"phi=1.5 must be in"),
        ({"phi": math.nan, "algorithm": "ser4"}, r"phi=nan must be in"),
        ({"phi": "x", "algorithm": "ser4"}, r"phi='x' must be in"),
        ({"algorithm": "ser4"}, r"phi=0 with ser4 never resets.\nGive phi in \(0, 1\]"),
        ({"algorithm": "ser33"}, r"algorithm='ser33' is not known.\nDid you mean 'ser3'\? Use one"),
        ({"algorithm": "median"}, r"Did you mean 'median_elimination'"),
        ({"algorithm": ["ser3"]}, r"is not known.\n"),
        ({"algorithm": None}, r"algorithm=None is not known"),
        ({"options": {"radius": "wide"}}, r"radius='wide' is not one of: union, active"),
        ({"options": {"radius": ["union"]}}, r"is not one of: union, active"),
        ({"options": {"raduis": "union"}}, r"option 'raduis' is not one of ser3's: radius"),
        ({"options": {"radius": "union"}, "algorithm": "lucb"}, r"not one of lucb's: none"),
        *(
            ({"options": {"rho": rho}, "algorithm": "mixture_elimination"}, r"a number above 0")
            for rho in (0, -1.0, float("nan"), "five")
        ),
        ({"options": "radius"}, r"options='radius' must be a table of names and values"),
        ({"options": 3}, r"options=3 must be a table"),
        ({"options": {1: "union", "radius": "union"}}, r"option 1 is not one of"),
        ({"arms": 1}, r"1 arms: there must be from 2 to 65536.\nWith one option"),
        ({"arms": ["only"]}, r"1 arms: there must be from 2"),
        ({"arms": 0}, r"0 arms: there must be from 2"),
        ({"arms": -3}, r"-3 arms: there must be from 2"),
        ({"arms": 10**12}, r"1000000000000 arms: there must be from 2"),
        ({"arms": True}, r"arms=True must be a list of names, or their number"),
        ({"arms": "ab"}, r"arms='ab' must be a list"),
        ({"arms": 2.0}, r"arms=2.0 must be a list"),
        ({"arms": None}, r"arms=None must be a list"),
        ({"arms": ["a", "a"]}, r"Two arms have the same name"),
        ({"arms": ["a", ""]}, r"arm name '' must be a text"),
        ({"arms": ["a", " "]}, r"arm name ' ' must be a text"),
        ({"arms": ["a", 2]}, r"arm name 2 must be a text"),
        ({"arms": ["a", "b" * 201]}, r"must be a text of 1 to 200"),
        ({"arms": ["a", "\ud800"]}, r"must be a text of 1 to 200"),
        ({"name": ""}, r"name='' must be 1 to 64 of"),
        ({"name": "two words"}, r"name='two words' must be"),
        ({"name": "né"}, r"name='né' must be"),
        ({"name": 5}, r"name=5 must be"),
    ],
)
def test_a_bad_value_is_refused_with_the_rule_and_the_remedy(change, match):
    refused(lambda: ExperimentSpec(**(GOOD | change)), match)
    refused(lambda: ExperimentSpec(arms=3, name="good").with_(**change), match)


@pytest.mark.parametrize(
    ("n_players", "match"),
    [
        (0, r"n_players=0 must be a whole number, 1 or more"),
        (-1, r"n_players=-1 must be"),
        (2.0, r"n_players=2.0 must be"),
        (True, r"n_players=True must be"),
        (None, r"n_players=None must be"),
    ],
)
@pytest.mark.parametrize("protocol", ["decentralized", "isolated", "pooled"])
def test_nobody_is_not_a_number_of_players(protocol, n_players, match):
    refused(lambda: get_protocol(protocol).check(ExperimentSpec(arms=3), n_players), match)


def test_a_quorum_larger_than_the_number_of_players_is_refused_in_these_words():
    with pytest.raises(SpecError) as caught:
        ExperimentSpec(arms=3).check_players(16)
    assert str(caught.value) == (
        "delta=0.05 with eta=0.9 needs 28 votes to eliminate an arm, but there are 16 players.\n"
        "Use at least 28 players, a lower eta, or a higher delta."
    )


def test_a_quorum_given_as_a_number_is_what_the_error_speaks_of():
    refused(
        lambda: ExperimentSpec(arms=3, quorum=7).check_players(6),
        r"quorum=7 needs 7 votes to eliminate an arm, but there are 6 players.\n"
        r"Use at least 7 players, or a lower quorum",
    )


def test_isolated_and_pooled_players_need_no_quorum():
    for protocol in ("isolated", "pooled"):
        get_protocol(protocol).check(ExperimentSpec(arms=3), 1)


def test_an_unknown_protocol_is_answered_with_the_nearest():
    refused(lambda: get_protocol("centralized"), r"'centralized' is not known.\nDid you mean 'dec")
    refused(lambda: get_protocol("zzz"), r"protocol='zzz' is not known.\nUse one of: decentralized")


def test_each_protocol_hands_its_own_eta_to_the_subroutine():
    spec = ExperimentSpec(arms=3)
    etas = [
        get_protocol(name).subroutine_eta(spec, 32)
        for name in ("decentralized", "isolated", "pooled")
    ]
    assert etas == [0.9, 0.05 / 32, 0.05]


@st.composite
def specs(draw):
    name = draw(st.sampled_from(sorted(ALGORITHMS)))
    algorithm = ALGORITHMS[name]
    texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
        str.strip
    )
    arms = st.integers(2, 6) | st.lists(texts, min_size=2, max_size=6, unique=True)
    eta = draw(st.floats(0.01, 0.99))
    return ExperimentSpec(
        arms=draw(arms),
        name=draw(st.text("abcXYZ09_.:-", min_size=1, max_size=64)),
        algorithm=name,
        options={
            option: draw(
                st.sampled_from(allowed)
                if isinstance(allowed, tuple)
                else st.floats(1e-6, 1e6) | st.integers(1, 100)
            )
            for option, allowed in algorithm.options.items()
            if draw(st.booleans())
        },
        epsilon=draw(st.floats(1e-6, 1.0)),
        eta=eta,
        delta=draw(st.floats(eta**20, eta**2.1)),
        quorum=draw(st.sampled_from(["paper", "ceil"]) | st.integers(1, 10**6)),
        phi=draw(st.floats(1e-9, 1.0)) if algorithm.endless else 0.0,
    )


@settings(max_examples=MANY)
@given(specs())
def test_json_and_toml_give_back_an_equal_specification(spec):
    for same in (
        ExperimentSpec.from_json(spec.to_json()),
        ExperimentSpec.from_toml(spec.to_toml()),
        ExperimentSpec.from_dict(json.loads(json.dumps(spec.to_dict()))),
    ):
        assert same == spec
        assert same.fingerprint == spec.fingerprint
        assert same.votes_needed == spec.votes_needed


def test_names_beyond_the_basic_plane_and_control_characters_survive_toml():
    spec = ExperimentSpec(arms=["\U0001f600", 'tab\tquote"back\\slash', "del\x7fete", "new\nline"])
    assert ExperimentSpec.from_toml(spec.to_toml()) == spec


def test_a_person_writes_only_what_differs():
    spec = ExperimentSpec.from_toml('arms = ["blue", "green"]\neta = 0.5\n')
    assert spec == ExperimentSpec(arms=["blue", "green"], eta=0.5)
    assert ExperimentSpec.from_json('{"arms": 3, "epsilon": 1}') == ExperimentSpec(3, epsilon=1.0)


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: ExperimentSpec.from_json("{"), "not valid JSON"),
        (lambda: ExperimentSpec.from_json(b"\xff"), "not valid JSON"),
        (lambda: ExperimentSpec.from_json("[" * 100_000), "not valid JSON"),
        (lambda: ExperimentSpec.from_json("[]"), "not a JSON object"),
        (lambda: ExperimentSpec.from_json("{}"), "needs arms"),
        (lambda: ExperimentSpec.from_json('{"arms": 3, "epsilon": NaN}'), "epsilon=nan must be"),
        (lambda: ExperimentSpec.from_json('{"arms": 3, "epsilom": 1}'), "'epsilom' is not a field"),
        (lambda: ExperimentSpec.from_json('{"arms": 3, "version": 2}'), "version 2 is not 1"),
        (lambda: ExperimentSpec.from_toml("arms ="), "not valid TOML"),
        (lambda: ExperimentSpec.from_toml("eta = 0.5"), "needs arms"),
        (lambda: ExperimentSpec.from_toml("arms = 3\noptions = 3"), "options=3 must be a table"),
        (lambda: ExperimentSpec.from_toml("arms = 3\n[option]\n"), "'option' is not a field"),
    ],
)
def test_a_document_that_is_no_specification_is_refused(build, match):
    refused(build, match)


def test_a_misspelt_field_is_answered_with_the_nearest():
    refused(
        lambda: ExperimentSpec.from_dict({"arms": 3, "quorom": 3}), r"Did you mean 'quorum'\? The f"
    )


def test_the_fingerprint_changes_with_every_field_and_with_nothing_else():
    base = ExperimentSpec(arms=3)
    changes = [
        {"arms": 4},
        {"arms": ["0", "1", "three"]},
        {"name": "other"},
        {"algorithm": "lucb"},
        {"options": {"radius": "active"}},
        {"epsilon": 0.3},
        {"eta": 0.8},
        {"delta": 0.06},
        {"quorum": "ceil"},
        {"quorum": 28},
        {"algorithm": "ser4", "phi": 0.1},
    ]
    prints = [base.fingerprint, *(base.with_(**change).fingerprint for change in changes)]
    assert len(set(prints)) == len(prints)
    assert ExperimentSpec(arms=["0", "1", "2"]).fingerprint == base.fingerprint


def test_a_specification_is_frozen():
    with pytest.raises(FrozenInstanceError):
        ExperimentSpec(arms=3).eta = 0.5


def test_the_quorum_rules_round_down_and_up_and_a_number_is_itself():
    votes = [ExperimentSpec(arms=3, quorum=rule).votes_needed for rule in ("paper", "ceil", 5)]
    assert votes == [28, 29, 5]
