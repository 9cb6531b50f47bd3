"""What section 5.2 and the caption say about problem 1, messages and votes."""

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, deviation_ratio, exact, mean, ratio
from devote.studies.measuring import at_each
from devote.studies.problem_1.messages import message_claims
from devote.studies.problem_1.sweep import ALONE_FACTOR, alone, extremes, zero_privacy
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import RADIUS_FORMS, SER3, SUBROUTINES, UGAPEC
from devote.studies.verdicts import Case, Range

RESULTS = "section 5.2"


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [
        _the_same(table, settings),
        _eight_hundred(table, settings),
        _quorum(table, settings),
        *message_claims(table, settings),
        _variance(table, settings),
        _groups_of_voters(table, settings),
    ]


def _the_same(table: Table, settings: Settings) -> Claim:
    ugapec = table[zero_privacy(UGAPEC)].samples
    return Claim(
        name="0-privacy-same",
        quote="The sample complexities of 0-privacy baselines are the same",
        where="figure 'Uniform distribution of players', caption",
        measured="samples of 0-privacy SER3 / samples of 0-privacy UGapEc, over "
        f"{ALONE_FACTOR * settings.trials:,} trials",
        asked="within 10 % of 1",
        cases=tuple(
            Case(
                form,
                (ratio(table[zero_privacy(variant)].samples, ugapec),),
                Range(0.9, 1.1),
                form,
            )
            for form, variant in RADIUS_FORMS.items()
        ),
        over_players=False,
    )


def _eight_hundred(table: Table, settings: Settings) -> Claim:
    return Claim(
        name="0-privacy-800",
        quote="The sample complexities of 0-privacy baselines are the same: 800.",
        where="figure 'Uniform distribution of players', caption",
        measured=f"samples of 0-privacy, over {ALONE_FACTOR * settings.trials:,} trials",
        asked="within 10 % of 800",
        cases=tuple(
            Case(name, (mean(table[zero_privacy(v)].samples),), Range(720, 880), v.form)
            for name, v in SUBROUTINES.items()
        ),
        across="subroutine",
        over_players=False,
    )


def _quorum(table: Table, settings: Settings) -> Claim:
    def votes_per_arm(n: int) -> Estimate:
        return mean(table[SER3.cell("1", "decentralized", n)].broadcasts / 9)

    return Claim(
        name="quorum-28",
        quote="the number M [...] of player votes required to eliminate an arm is 28",
        where=RESULTS,
        measured="M by the formula; votes broadcast / arms eliminated by Decentralized SER3",
        asked="28 exactly",
        cases=(
            Case("formula", (exact(SER3.spec().votes_needed),), Range(28, 28)),
            Case(
                "counted",
                at_each(settings.players, votes_per_arm),
                Range(28, 28),
            ),
        ),
        across="formula or count",
        note="0.9^28 = 0.0523 is more than delta = 0.05: 28 votes fall short, 29 would do "
        "(erratum 6).",
    )


def _variance(table: Table, settings: Settings) -> Claim:
    def spread(form: str, n: int) -> Estimate:
        ser3, ugapec = (table[alone(v, n)].samples for v in (RADIUS_FORMS[form], UGAPEC))
        return deviation_ratio(ser3, ugapec)

    return Claim(
        name="1-privacy-variance",
        quote="1-privacy-UGapEc reduces the variance of the sample complexity",
        where=RESULTS,
        measured="standard deviation of one player's samples at delta/N, SER3 / UGapEc, over "
        f"{ALONE_FACTOR * settings.trials:,} trials",
        asked="above 1",
        cases=tuple(
            Case(
                form,
                at_each(extremes(settings), spread, form),
                Range(low=1.0),
                form,
            )
            for form in RADIUS_FORMS
        ),
    )


def _groups_of_voters(table: Table, settings: Settings) -> Claim:
    def voters(form: str, n: int) -> Estimate:
        result = table[RADIUS_FORMS[form].cell("1", "decentralized", n)]
        return mean((result.first_vote >= 0).sum(axis=1))

    return Claim(
        name="groups-of-voters",
        quote="the different suboptimal arms [...] are progressively eliminated by different "
        "groups of voting players",
        where=RESULTS,
        measured="players of Decentralized SER3 who vote at least once; one group would be 28",
        asked="29 or more",
        cases=tuple(
            Case(
                form,
                at_each(settings.players, voters, form),
                Range(low=29),
                form,
            )
            for form in RADIUS_FORMS
        ),
    )
