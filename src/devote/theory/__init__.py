"""The paper's theorems as functions: quorums, failure probabilities and bounds.

Plain formulas that need nothing but Python. Where the paper claims more than holds, the claim
and what holds stand side by side (:func:`claimed_failure`, :func:`vote_failure`); where it
hides a constant inside an O, that constant is 1 here and the docstring says so.
"""

from devote.theory.activity import coupon_collector, p_star
from devote.theory.beta import (
    beta_quantile,
    betainc,
    betainc_upper,
    binomial_tail,
    log_beta,
)
from devote.theory.characteristic import characteristic_time, sample_lower_bound
from devote.theory.errors import TheoryError
from devote.theory.failure import claimed_failure, vote_failure
from devote.theory.intervals import clopper_pearson
from devote.theory.property_1 import LoneFailure, lone_failure, ser3_lone_failure
from devote.theory.quorums import (
    message_bound,
    quorum,
    stall_possible,
)
from devote.theory.resets import (
    printed_phi,
    recommended_phi,
    reset_plays,
    ser4_failure,
    ser4_failure_over_terms,
    ser4_message_bound,
    ser4_suboptimal_plays_bound,
    why_not_theorem_4,
)
from devote.theory.samples import (
    lower_bound,
    median_elimination_bound,
    ser3_bound,
    successive_elimination_bound,
    theorem_2_holds,
    theorem_2_probability,
    theorem_2_samples,
    uniform_players_bound,
)

__all__ = [
    "LoneFailure",
    "TheoryError",
    "beta_quantile",
    "betainc",
    "betainc_upper",
    "binomial_tail",
    "characteristic_time",
    "claimed_failure",
    "clopper_pearson",
    "coupon_collector",
    "log_beta",
    "lone_failure",
    "lower_bound",
    "median_elimination_bound",
    "message_bound",
    "p_star",
    "printed_phi",
    "quorum",
    "recommended_phi",
    "reset_plays",
    "sample_lower_bound",
    "ser3_bound",
    "ser3_lone_failure",
    "ser4_failure",
    "ser4_failure_over_terms",
    "ser4_message_bound",
    "ser4_suboptimal_plays_bound",
    "stall_possible",
    "successive_elimination_bound",
    "theorem_2_holds",
    "theorem_2_probability",
    "theorem_2_samples",
    "uniform_players_bound",
    "vote_failure",
    "why_not_theorem_4",
]
