"""What section 4 says about DSER4."""

from devote.studies.claim import Claim
from devote.studies.estimates import Estimate, ratio
from devote.studies.settings import Settings
from devote.studies.switches.regret import total
from devote.studies.switches.sweep import HORIZON, PHI, PHIS, cell, crowd, printed_phi
from devote.studies.table import Table
from devote.studies.variants import SER4
from devote.studies.verdicts import Case, Range
from devote.theory import ser4_message_bound


def claims(table: Table, settings: Settings) -> list[Claim]:
    """The rows."""
    return [_handles_switches(table, settings), _messages(table, settings)]


def _handles_switches(table: Table, settings: Settings) -> Claim:
    without = total(table, settings, None)
    printed = printed_phi(crowd(settings))

    def against(phi: float) -> Estimate:
        return ratio(total(table, settings, phi), without).located(_named(phi))

    return Claim(
        name="dser4-handles-switches",
        quote="DSER4 handles any sequence of rewards: when Assumption 4 does not hold a switch "
        "occurs",
        where="section 4",
        measured="suboptimal plays of DSER4 / suboptimal plays of DSER3 on problem 4",
        asked="below 1",
        cases=(
            Case("phi chosen by trying", (against(PHI),), Range(high=1.0)),
            Case("phi that Theorem 4 sets", (against(printed),), Range(high=1.0)),
        ),
        across="phi",
        note=f"Theorem 4's proof sets phi to {printed:.2g}, a reset every {1 / printed:,.0f} "
        f"pulls; {PHI:g} is one every {1 / PHI:,.0f}.",
    )


def _messages(table: Table, settings: Settings) -> Claim:
    n = crowd(settings)

    def share(phi: float) -> Estimate:
        result = table[cell(n, HORIZON, phi)]
        quorum = SER4.spec(phi=phi).votes_needed
        bound = ser4_message_bound(phi, horizon=HORIZON, quorum=quorum, n_arms=10)
        return ratio(result.broadcasts, [bound] * len(result.broadcasts)).located(_named(phi))

    return Claim(
        name="dser4-messages",
        quote="DSER4 [...] exchanges on average at most phi T (M K - 1) messages",
        where="section 4, Theorem 4",
        measured="messages of DSER4 on problem 4 / phi T (M K - 1)",
        asked="at most 1",
        cases=(
            Case(
                "broadcasts",
                tuple(share(phi) for phi in (*PHIS, printed_phi(n))),
                Range(high=1.0),
            ),
        ),
        along="phi",
        note="As printed the bound leaves out the term that a run starts in, so that a small phi "
        "may break it.",
    )


def _named(phi: float) -> str:
    return f"phi = {phi:.2g}"
