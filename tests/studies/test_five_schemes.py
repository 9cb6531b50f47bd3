"""The README's picture: drawn from what was measured, and true of what the schemes promise."""

from pathlib import Path

from scripts.five_schemes import (
    ALGORITHM,
    PRIVACY,
    SCHEMES,
    Comparison,
    compare_schemes,
    main,
)

from devote import ExperimentSpec, Jury, Scenario, get_problem
from devote.plan.promises import case_of, failure_bounds

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
KEPT = Comparison.load(FIGURES / "five-schemes.json")


def scenario(scheme, **rest):
    spec = ExperimentSpec(arms=10, algorithm=ALGORITHM, scheme=scheme, **rest)
    return Scenario(spec, get_problem("1"), KEPT.n_players)


def privacy_of(one):
    promises = {row.name: row.standing for row in one.scheme.guarantees(case_of(one)).promises}
    return promises["privacy"]


def test_the_pictures_are_drawn_from_the_numbers_beside_them(tmp_path):
    KEPT.save(tmp_path / "five-schemes.json")
    main(tmp_path, measure=False)
    for name in ("five-schemes.svg", "five-schemes-narrow.svg"):
        assert (tmp_path / name).read_text() == (FIGURES / name).read_text()


def test_what_it_says_of_privacy_and_error_is_what_each_scheme_promises():
    for scheme, row in zip(SCHEMES, KEPT.rows, strict=True):
        one = scenario(scheme)
        assert row["scheme"] == scheme.name
        assert row["proved_error"] == failure_bounds(one).proved
        assert row["proved_privacy"] == (privacy_of(one) == "proved")
        assert row["proved_privacy"] == (PRIVACY[scheme.name][0] == "proved")
    assert PRIVACY["jury"][0] == "if asked for"
    assert privacy_of(scenario(Jury(privacy=1.0, seats=300), eta=0.1)) == "proved"


def test_the_numbers_are_those_that_its_command_measures():
    """One trial of each at a fraction of the size: the same columns in the same order of size."""
    small = {
        row["scheme"]: row for row in compare_schemes(n_players=2_000, trials=1, workers=1).rows
    }
    assert list(small) == [row["scheme"] for row in KEPT.rows]
    assert small["isolated"]["messages"] == 0
    assert small["pooled"]["samples"] == small["pooled"]["messages"]
    assert 30 <= small["jury"]["messages"] <= 58
    assert (
        small["pooled"]["samples"] < small["survey"]["samples"] < small["decentralized"]["samples"]
    )
    assert (
        small["decentralized"]["samples"] < small["jury"]["samples"] < small["isolated"]["samples"]
    )
