"""What section 5.2 says about decreasing rewards."""

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, mean, ratio
from devote.studies.measuring import at_each, compared
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import PROTOCOLS, RADIUS_FORMS, UGAPEC, Variant
from devote.studies.verdicts import Case, Range

WHERE = "section 5.2"


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [
        _outperformed(table, settings, "isolated"),
        _outperformed(table, settings, "decentralized"),
        _collapse(table, settings),
    ]


def _outperformed(table: Table, settings: Settings, protocol: str) -> Claim:
    name = PROTOCOLS[protocol]
    return Claim(
        name=f"{name.lower()}-drift",
        quote=f"[When the mean rewards of suboptimal arms are decreasing,] {name} UGapEc [is] "
        f"outperformed by {name} SER3",
        where=WHERE,
        measured=f"samples of {name} UGapEc / samples of {name} SER3 on problem 3",
        asked="above 1",
        cases=tuple(
            Case(
                form,
                compared(settings.players, table, (UGAPEC, protocol, "3"), (v, protocol, "3")),
                Range(low=1.0),
                form,
            )
            for form, v in RADIUS_FORMS.items()
        ),
    )


def _collapse(table: Table, settings: Settings) -> Claim:
    def outperformed(variant: Variant, protocol: str, n: int) -> Estimate:
        return ratio(
            table.samples(UGAPEC, protocol, "3", n), table.samples(variant, protocol, "3", n)
        )

    def worse(variant: Variant, protocol: str, n: int) -> Estimate:
        # Trial by trial: how far UGapEc lags behind SER3 with the drift, against without it.
        lag = [
            table.samples(UGAPEC, protocol, problem, n)
            / table.samples(variant, protocol, problem, n)
            for problem in ("3", "1")
        ]
        return mean(lag[0] / lag[1])

    return Claim(
        name="ugapec-collapses",
        quote="in comparison to SER3 the performances of UGapEc, which is not designed for "
        "non-stationary rewards, collapse",
        where=WHERE,
        measured="samples of UGapEc / samples of SER3 on problem 3: after a colon the paper goes "
        "on with the two rows above",
        asked="above 1",
        cases=tuple(
            Case(f"{PROTOCOLS[protocol]}, {form}", estimates, Range(low=1.0), form, reading)
            for reading, measure in (
                ("", outperformed),
                ("against SER3, relative to problem 1", worse),
            )
            for protocol in ("isolated", "decentralized")
            for form, variant in RADIUS_FORMS.items()
            for estimates in (at_each(settings.players, measure, variant, protocol),)
        )
        + tuple(
            Case(
                PROTOCOLS[protocol],
                compared(settings.players, table, (UGAPEC, protocol, "3"), (UGAPEC, protocol, "1")),
                Range(low=1.0),
                reading="UGapEc alone, relative to problem 1",
            )
            for protocol in ("isolated", "decentralized")
        ),
        across="protocol",
    )
