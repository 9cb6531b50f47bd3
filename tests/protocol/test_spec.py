"""An experiment is checked once, with errors that give the value, the rule and the remedy."""

import json
import math
from dataclasses import FrozenInstanceError, fields
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.toml import to_toml

from devote.protocol import ExperimentSpec, SpecError
from devote.rules.algorithm import ALGORITHMS
from devote.schemes import SCHEMES

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
        ({"epsilon": math.nan}, r"epsilon=nan must be finite"),
        ({"epsilon": math.inf}, r"epsilon=inf must be finite"),
        ({"epsilon": "0.1"}, r"epsilon='0.1' must be a number"),
        ({"epsilon": True}, r"epsilon=True must be a number"),
        ({"epsilon": None}, r"epsilon=None must be a number"),
        ({"epsilon": 10**400}, r"must be finite"),
        ({"eta": 0}, r"eta=0 must be in \(0, 1\)\.\nIt is the error allowed to one device"),
        ({"eta": 1.0}, r"eta=1.0 must be in \(0, 1\)"),
        ({"eta": math.nan}, r"eta=nan must be finite"),
        (
            {"delta": 0.0},
            r"delta=0.0 must be in \(0, 1\)\.\nIt is the error allowed to the g",
        ),
        ({"delta": 1}, r"delta=1 must be in \(0, 1\)"),
        ({"delta": -0.5}, r"delta=-0.5 must be in"),
        ({"delta": 0.9}, r"delta=0.9 with eta=0.9 needs 1 vote .* at most eta\^2.\nUse a lower"),
        ({"delta": 0.95}, r"delta must be at most eta\^2"),
        (
            {"scheme": {"quorum": 0}},
            r"quorum=0 must be a whole number, 1 or more.\n'paper' is floor",
        ),
        ({"scheme": {"quorum": -1}}, r"quorum=-1 must be"),
        ({"scheme": {"quorum": 2.0}}, r"quorum=2.0 must be"),
        ({"scheme": {"quorum": True}}, r"quorum=True must be"),
        ({"scheme": {"quorum": "majority"}}, r"quorum='majority' must be"),
        ({"scheme": {"quorum": None}}, r"quorum=None must be"),
        ({"options": {"phi": 0.1}}, r"option 'phi' is not one of ser3's: radius"),
        (
            {"options": {"phi": -0.1}, "algorithm": "ser4"},
            r"phi=-0.1 must be in \(0, 1\]\.\nIt is the",
        ),
        ({"options": {"phi": 1.5}, "algorithm": "ser4"}, r"phi=1.5 must be in"),
        ({"options": {"phi": math.nan}, "algorithm": "ser4"}, r"phi=nan must be finite"),
        ({"options": {"phi": "x"}, "algorithm": "ser4"}, r"phi='x' must be a number"),
        ({"options": {"phi": True}, "algorithm": "ser4"}, r"phi=True must be a number"),
        ({"algorithm": "ser4"}, r"phi=0.0 must be in \(0, 1\]\.\nIt is the probability of a reset"),
        ({"algorithm": "ser33"}, r"algorithm='ser33' is not known.\nDid you mean 'ser3'\? Use one"),
        ({"algorithm": "median"}, r"Did you mean 'median_elimination'"),
        ({"algorithm": ["ser3"]}, r"is not known.\n"),
        ({"algorithm": 3}, r"algorithm=3 is not known"),
        ({"options": {"radius": "wide"}}, r"radius='wide' is not one of: union, active"),
        ({"options": {"radius": ["union"]}}, r"is not one of: union, active"),
        ({"options": {"raduis": "union"}}, r"option 'raduis' is not one of ser3's: radius"),
        ({"options": {"radius": "union"}, "algorithm": "lucb"}, r"not one of lucb's: none"),
        *(
            ({"options": {"rho": rho}, "algorithm": "mixture_elimination"}, r"rho=.* must be")
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
@pytest.mark.parametrize("scheme", SCHEMES)
def test_nobody_is_not_a_number_of_players(scheme, n_players, match):
    refused(lambda: ExperimentSpec(arms=3, scheme=scheme).check_players(n_players), match)


def test_a_quorum_larger_than_the_number_of_players_is_refused_in_these_words():
    with pytest.raises(SpecError) as caught:
        ExperimentSpec(arms=3).check_players(16)
    assert str(caught.value) == (
        "delta=0.05 with eta=0.9 needs 28 votes to eliminate an arm, but there are 16 players.\n"
        "Use at least 28 players, a lower eta, or a higher delta."
    )


def test_a_quorum_given_as_a_number_is_what_the_error_speaks_of():
    refused(
        lambda: ExperimentSpec(arms=3, scheme={"quorum": 7}).check_players(6),
        r"quorum=7 needs 7 votes to eliminate an arm, but there are 6 players.\n"
        r"Use at least 7 players, or a lower quorum",
    )


def test_isolated_and_pooled_players_need_no_quorum():
    for scheme in ("isolated", "pooled"):
        spec = ExperimentSpec(arms=3, scheme=scheme)
        spec.check_players(1)
        assert spec.votes_needed is None


def test_an_unknown_scheme_is_answered_with_the_nearest():
    for build in (
        lambda name: ExperimentSpec(arms=3, scheme=name),
        lambda name: ExperimentSpec(arms=3, scheme={"name": name}),
        lambda name: ExperimentSpec.from_dict({"arms": 3, "scheme": {"name": name}}),
    ):
        refused(partial(build, "centralized"), r"'centralized' is not known.\nDid you mean 'dec")
        refused(partial(build, "zzz"), r"scheme='zzz' is not known.\nUse one of: decentralized")
        refused(partial(build, 3), r"scheme=3 is not known")


def test_each_scheme_hands_its_own_eta_to_the_subroutine():
    spec = ExperimentSpec(arms=3)
    etas = [
        one.scheme.learner(one, 32).eta
        for one in (spec, spec.with_(scheme="isolated"), spec.with_(scheme="pooled"))
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
            if option != "phi" and draw(st.booleans())
        }
        | ({"phi": draw(st.floats(1e-9, 1.0))} if algorithm.endless else {}),
        epsilon=draw(st.floats(1e-6, 1.0)),
        eta=eta,
        delta=draw(st.floats(eta**20, eta**2.1)),
        scheme={"quorum": draw(st.sampled_from(["paper", "ceil"]) | st.integers(1, 10**6))},
    )


@settings(max_examples=MANY)
@given(specs())
def test_json_and_toml_give_back_an_equal_specification(spec):
    for same in (
        ExperimentSpec.from_json(spec.to_json()),
        ExperimentSpec.from_toml(to_toml(spec.to_dict())),
        ExperimentSpec.from_dict(json.loads(json.dumps(spec.to_dict()))),
    ):
        assert same == spec
        assert same.fingerprint == spec.fingerprint
        assert same.votes_needed == spec.votes_needed


def test_names_beyond_the_basic_plane_and_control_characters_survive_toml():
    spec = ExperimentSpec(arms=["\U0001f600", 'tab\tquote"back\\slash', "del\x7fete", "new\nline"])
    assert ExperimentSpec.from_toml(to_toml(spec.to_dict())) == spec


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
        (lambda: ExperimentSpec.from_json('{"arms": 3, "version": 3}'), "version 3 is not 2"),
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
        lambda: ExperimentSpec.from_dict({"arms": 3, "epsilom": 1}),
        r"Did you mean 'epsilon'\? The fields are",
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
        {"scheme": {"quorum": "ceil"}},
        {"scheme": {"quorum": 28}},
        {"scheme": "isolated"},
        {"scheme": "jury"},
        {"scheme": {"name": "jury", "seats": 30}},
        {"algorithm": "ser4", "options": {"phi": 0.1}},
    ]
    prints = [base.fingerprint, *(base.with_(**change).fingerprint for change in changes)]
    assert len(set(prints)) == len(prints)
    assert ExperimentSpec(arms=["0", "1", "2"]).fingerprint == base.fingerprint


def test_a_specification_is_frozen():
    with pytest.raises(FrozenInstanceError):
        ExperimentSpec(arms=3).eta = 0.5


def test_the_quorum_rules_round_down_and_up_and_a_number_is_itself():
    votes = [
        ExperimentSpec(arms=3, scheme={"quorum": rule}).votes_needed
        for rule in ("paper", "ceil", 5)
    ]
    assert votes == [28, 29, 5]


def test_specifications_are_values_that_can_be_hashed():
    one = ExperimentSpec(arms=3, options={"radius": "active"}, scheme={"quorum": 5})
    other = ExperimentSpec.from_json(one.to_json())
    assert hash(one) == hash(other)
    assert {one, other, ExperimentSpec(arms=3)} == {one, ExperimentSpec(arms=3)}
    assert hash(one.options) == hash(other.options)
    with pytest.raises(TypeError):
        one.options["radius"] = "union"


def test_another_scheme_takes_its_own_eta_and_algorithm_unless_they_were_chosen():
    spec = ExperimentSpec(arms=3)
    for field, here, there, chosen in (
        ("eta", 0.9, 0.2, 0.5),
        ("algorithm", "ser3", "betting", "lucb"),
    ):
        assert getattr(spec, field) == here
        assert getattr(spec.with_(scheme="jury"), field) == there
        assert getattr(spec.with_(scheme="jury").with_(scheme="decentralized"), field) == here
        assert getattr(spec.with_(**{field: chosen}).with_(scheme="jury"), field) == chosen
        assert getattr(spec.with_(**{"scheme": "jury", field: chosen}), field) == chosen
    assert spec.with_(scheme="survey").algorithm == "betting"
    assert spec.with_(scheme="survey", algorithm="ser3").algorithm == "ser3"


def test_the_canonical_form_names_everything_but_empty_fields():
    """So no later default can change what a specification means."""
    assert ExperimentSpec(arms=3).to_dict() == {
        "version": 2,
        "name": "experiment",
        "arms": ["0", "1", "2"],
        "algorithm": "ser3",
        "options": {"radius": "union"},
        "epsilon": 0.25,
        "eta": 0.9,
        "delta": 0.05,
        "scheme": {"name": "decentralized", "quorum": "paper"},
    }
    for scheme in SCHEMES.values():
        spec = ExperimentSpec(arms=2, scheme=scheme.name)
        written = spec.to_dict()
        assert set(written) == {"version", *(item.name for item in fields(spec))} - {"issuer"}
        left_out = {"segments", "subset"}  # of a survey without them
        assert set(written["scheme"]) == {"name", *(f.name for f in fields(scheme))} - left_out
        assert None not in written["scheme"].values()
        assert ExperimentSpec.from_dict(written) == spec
    for name in ("jury", "survey"):
        spec = ExperimentSpec(arms=2, scheme={"name": name, "privacy": None})
        assert spec.to_dict()["scheme"]["privacy"] == "none"
        assert ExperimentSpec.from_json(spec.to_json()) == spec


def test_a_choice_that_is_another_schemes_default_is_a_choice():
    """``algorithm = "ser3"`` where the default is betting is written and kept."""
    survey = ExperimentSpec(arms=3, scheme="survey")
    chosen = ExperimentSpec(arms=3, scheme="survey", algorithm="ser3")
    assert chosen.fingerprint != survey.fingerprint
    assert chosen.to_dict()["algorithm"] == "ser3"
    assert ExperimentSpec.from_json(chosen.to_json()).algorithm == "ser3"
    assert survey.to_dict()["algorithm"] == "betting"


def test_defaults_that_are_written_out_leave_the_fingerprint_as_it_is():
    terse = ExperimentSpec(arms=3)
    explicit = ExperimentSpec(
        arms=["0", "1", "2"],
        name="experiment",
        algorithm="ser3",
        options={"radius": "union"},
        epsilon=0.25,
        eta=0.9,
        delta=0.05,
        scheme={"name": "decentralized", "quorum": "paper"},
    )
    assert explicit.fingerprint == terse.fingerprint
    jury = ExperimentSpec(arms=3, scheme="jury")
    table = {"name": "jury", "seats": 29, "seat_after": 20, "liars": 0, "vote_after": 300}
    assert ExperimentSpec(arms=3, eta=0.2, scheme=table).fingerprint == jury.fingerprint
    reset = ExperimentSpec(arms=3, algorithm="ser4", options={"phi": 0.1})
    assert reset.with_(options={"phi": 0.1, "radius": "union"}).fingerprint == reset.fingerprint


@pytest.mark.parametrize(
    ("scheme", "match"),
    [
        ({"seats": 9}, r"'seats' is not a parameter of decentralized, but of jury"),
        ({"name": "jury", "quorum": 3}, r"'quorum' is not a parameter of jury, but of decentra"),
        ({"name": "isolated", "seats": 3}, r"not a parameter of isolated, but of jury.\nisolated"),
        ({"name": "jury", "seets": 3}, r"'seets' is not a parameter of jury.\nDid you mean 'seats"),
        (
            {"name": "jury", "seats": 0},
            r"seats=0 must be a whole number, 1 or more.\nIt is the num",
        ),
        ({"name": "jury", "seats": 2.0}, r"seats=2.0 must be a whole number"),
        ({"name": "jury", "seats": 10**6}, r"seats=1000000 is more than 100,000"),
        ({"name": "jury", "seat_after": 0}, r"seat_after=0 must be a whole number, 1 or more"),
        ({"name": "jury", "liars": -1}, r"liars=-1 must be a whole number, 0 or more"),
        ({"name": "jury", "liars": 29}, r"liars=29 of 29 jurors leave nobody to trust"),
        ({"name": "jury", "privacy": 0.0}, r"privacy=0.0 must be above 0"),
        ({"name": "jury", "privacy": 31}, r"privacy=31 hides nothing.\nUse a number from"),
        ({"name": "jury", "privacy": 1e-9}, r"privacy=1e-09 leaves nothing but noise"),
        ({"name": "jury", "privacy": math.nan}, r"privacy=nan must be finite"),
        ({"name": "jury", "privacy": "4"}, r"privacy='4' must be a number"),
        ({"name": "jury", "seats": 1}, r"1 jurors cannot be sure: 2 of them .*\nUse \d+ seats"),
        ({"name": "jury", "seats": 1, "privacy": 1.0}, r"1 jurors cannot be sure: 2 of"),
        (
            {"name": "jury", "privacy": 4.0, "vote_after": 10},
            r"vote_after=10 comes before anybody can be done",
        ),
    ],
)
def test_a_bad_parameter_of_a_scheme_is_refused_with_the_rule_and_the_remedy(scheme, match):
    refused(lambda: ExperimentSpec(arms=10, scheme=scheme), match)
    refused(lambda: ExperimentSpec.from_dict({"arms": 10, "scheme": scheme}), match)


def test_a_jury_needs_a_subroutine_that_ends():
    refused(
        lambda: ExperimentSpec(
            arms=3, algorithm="ser4", options={"phi": 0.1}, scheme="jury", eta=0.2
        ),
        r"ser4 never ends, and a juror sends the arm it ended with",
    )
