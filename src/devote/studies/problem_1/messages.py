"""What section 5.2 says about the number of messages, counted in both ways (erratum 9)."""

import numpy as np

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, mean, ratio
from devote.studies.measuring import at_each
from devote.studies.settings import Settings
from devote.studies.table import Table
from devote.studies.variants import RADIUS_FORMS, SUBROUTINES, UGAPEC, Variant
from devote.studies.verdicts import Case, Range

WHERE = "section 5.2"


def message_claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [
        _zero(table, settings),
        _one_per_other_player(table, settings),
        _orders_of_magnitude(table, settings),
    ]


def _zero(table: Table, settings: Settings) -> Claim:
    def sent(variant: Variant, n: int) -> Estimate:
        return mean(table[variant.cell("1", "isolated", n)].broadcasts)

    return Claim(
        name="1-privacy-silent",
        quote="1-privacy baselines send zero messages",
        where=WHERE,
        measured="messages of 1-privacy",
        asked="0 exactly",
        cases=tuple(
            Case(
                name,
                at_each(
                    settings.players,
                    sent,
                    variant,
                ),
                Range(0, 0),
                variant.form,
            )
            for name, variant in SUBROUTINES.items()
        ),
        across="subroutine",
    )


def _one_per_other_player(table: Table, settings: Settings) -> Claim:
    def per_sample(count: str, n: int) -> Estimate:
        result = table[UGAPEC.cell("1", "pooled", n)]
        return ratio(getattr(result, count) / (n - 1), result.samples)

    return Claim(
        name="0-privacy-messages",
        quote="0-privacy baselines send N-1 messages per time step until the epsilon-optimal "
        "arm is found",
        where=WHERE,
        measured="messages of 0-privacy UGapEc per sample, divided by N-1",
        asked="1 exactly",
        cases=tuple(
            Case(label, at_each(settings.players, per_sample, count), Range(1, 1), reading=reading)
            for label, count, reading in (
                ("a message per receiver", "deliveries", ""),
                ("UGapEc", "broadcasts", "a broadcast counted as one message"),
            )
        ),
    )


def _orders_of_magnitude(table: Table, settings: Settings) -> Claim:
    def orders(form: str, count: str, n: int) -> Estimate:
        variant = RADIUS_FORMS[form]
        pooled = table[variant.cell("1", "pooled", n)].deliveries
        votes = getattr(table[variant.cell("1", "decentralized", n)], count)
        return mean(np.log10(pooled / votes))

    return Claim(
        name="orders-of-magnitude",
        quote="Decentralized SER3 needs three to four orders of magnitude less messages than "
        "0-privacy-SER3",
        where=WHERE,
        measured="log10 of messages of 0-privacy SER3 / messages of Decentralized SER3",
        asked="from 3 to 4",
        cases=tuple(
            Case(
                form,
                at_each(settings.players, orders, form, count),
                Range(3, 4),
                form,
                reading,
            )
            for count, reading in (("broadcasts", ""), ("deliveries", "counted like for like"))
            for form in RADIUS_FORMS
        ),
        note="As printed, a sample shared with all is N-1 messages and a vote sent to all is one; "
        "like for like, both are N-1 (erratum 9).",
    )
