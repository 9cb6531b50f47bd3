"""The paper's theorems as functions: quorums, failure probabilities and bounds.

Plain formulas that need nothing but Python; ``betainc``, ``clopper_pearson`` and what is made of
them (Theorem 2's probability, Theorem 4's failure) call SciPy. Where the paper claims more than
holds, the claim and what holds stand side by side (:func:`claimed_failure`, :func:`vote_failure`);
where it hides a constant inside an O, that constant is 1 here and the docstring says so.
"""

from devote.theory.activity import coupon_collector as coupon_collector
from devote.theory.activity import p_star as p_star
from devote.theory.binomial import binomial_tail as binomial_tail
from devote.theory.characteristic import characteristic_time as characteristic_time
from devote.theory.characteristic import sample_lower_bound as sample_lower_bound
from devote.theory.errors import TheoryError as TheoryError
from devote.theory.failure import claimed_failure as claimed_failure
from devote.theory.failure import vote_failure as vote_failure
from devote.theory.intervals import betainc as betainc
from devote.theory.intervals import clopper_pearson as clopper_pearson
from devote.theory.property_1 import LoneFailure as LoneFailure
from devote.theory.property_1 import lone_failure as lone_failure
from devote.theory.quorums import message_bound as message_bound
from devote.theory.quorums import quorum as quorum
from devote.theory.quorums import split_possible as split_possible
from devote.theory.quorums import stall_possible as stall_possible
from devote.theory.resets import printed_phi as printed_phi
from devote.theory.resets import recommended_phi as recommended_phi
from devote.theory.resets import reset_plays as reset_plays
from devote.theory.resets import ser4_failure as ser4_failure
from devote.theory.resets import ser4_failure_over_terms as ser4_failure_over_terms
from devote.theory.resets import ser4_message_bound as ser4_message_bound
from devote.theory.resets import ser4_suboptimal_plays_bound as ser4_suboptimal_plays_bound
from devote.theory.resets import why_not_theorem_4 as why_not_theorem_4
from devote.theory.samples import lower_bound as lower_bound
from devote.theory.samples import median_elimination_bound as median_elimination_bound
from devote.theory.samples import ser3_bound as ser3_bound
from devote.theory.samples import successive_elimination_bound as successive_elimination_bound
from devote.theory.samples import theorem_2_holds as theorem_2_holds
from devote.theory.samples import theorem_2_probability as theorem_2_probability
from devote.theory.samples import theorem_2_samples as theorem_2_samples
from devote.theory.samples import uniform_players_bound as uniform_players_bound
