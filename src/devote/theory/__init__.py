"""The paper's theorems as functions: quorums, failure probabilities and bounds.

Plain formulas that need nothing but Python. Where the paper claims more than holds, the claim
and what holds stand side by side (:func:`claimed_failure`, :func:`honest_failure`); where it
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
from devote.theory.bounds import Bound, failure_bounds
from devote.theory.characteristic import characteristic_time, sample_lower_bound
from devote.theory.failure import claimed_failure, honest_failure
from devote.theory.intervals import clopper_pearson
from devote.theory.property_1 import LoneFailure, lone_failure, ser3_lone_failure
from devote.theory.quorums import (
    jury_message_bound,
    message_bound,
    quorum,
    resolve_quorum,
    stall_possible,
)
from devote.theory.resets import optimal_phi, ser4_message_bound, ser4_suboptimal_plays_bound
from devote.theory.samples import (
    lower_bound,
    median_elimination_bound,
    ser3_bound,
    successive_elimination_bound,
    theorem_2_probability,
    theorem_2_samples,
    uniform_players_bound,
)

__all__ = [
    "Bound",
    "LoneFailure",
    "beta_quantile",
    "betainc",
    "betainc_upper",
    "binomial_tail",
    "characteristic_time",
    "claimed_failure",
    "clopper_pearson",
    "coupon_collector",
    "failure_bounds",
    "honest_failure",
    "jury_message_bound",
    "log_beta",
    "lone_failure",
    "lower_bound",
    "median_elimination_bound",
    "message_bound",
    "optimal_phi",
    "p_star",
    "quorum",
    "resolve_quorum",
    "sample_lower_bound",
    "ser3_bound",
    "ser3_lone_failure",
    "ser4_message_bound",
    "ser4_suboptimal_plays_bound",
    "stall_possible",
    "successive_elimination_bound",
    "theorem_2_probability",
    "theorem_2_samples",
    "uniform_players_bound",
]
