"""The paper's theorems as functions: quorums, failure probabilities and bounds.

``vote`` is what a device or a board may ask and needs nothing but Python; the rest may call SciPy.
Where the paper claims more than holds, the claim and what holds stand side by side
(:func:`claimed_failure`, :func:`vote_failure`); where it hides a constant inside an O, that
constant is 1 here and the docstring says so.
"""

from devote.theory.errors import TheoryError as TheoryError
from devote.theory.resets import printed_phi as printed_phi
from devote.theory.resets import recommended_phi as recommended_phi
from devote.theory.resets import reset_plays as reset_plays
from devote.theory.resets import ser4_failure as ser4_failure
from devote.theory.resets import ser4_failure_over_terms as ser4_failure_over_terms
from devote.theory.resets import ser4_message_bound as ser4_message_bound
from devote.theory.resets import why_not_theorem_4 as why_not_theorem_4
from devote.theory.samples import betainc as betainc
from devote.theory.samples import characteristic_time as characteristic_time
from devote.theory.samples import clopper_pearson as clopper_pearson
from devote.theory.samples import coupon_collector as coupon_collector
from devote.theory.samples import lower_bound as lower_bound
from devote.theory.samples import median_elimination_bound as median_elimination_bound
from devote.theory.samples import p_star as p_star
from devote.theory.samples import sample_lower_bound as sample_lower_bound
from devote.theory.samples import successive_elimination_bound as successive_elimination_bound
from devote.theory.samples import theorem_2_holds as theorem_2_holds
from devote.theory.samples import theorem_2_probability as theorem_2_probability
from devote.theory.samples import theorem_2_samples as theorem_2_samples
from devote.theory.vote import LoneFailure as LoneFailure
from devote.theory.vote import binomial_tail as binomial_tail
from devote.theory.vote import claimed_failure as claimed_failure
from devote.theory.vote import lone_failure as lone_failure
from devote.theory.vote import message_bound as message_bound
from devote.theory.vote import quorum as quorum
from devote.theory.vote import split_possible as split_possible
from devote.theory.vote import stall_possible as stall_possible
from devote.theory.vote import vote_failure as vote_failure
