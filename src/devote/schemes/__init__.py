"""How a group decides: one module for each way, behind the contract of ``protocol.scheme``.

Importing this package registers them; the first is the default. A scheme of one's own registers
itself with ``register_scheme`` from wherever it is.
"""

from devote.protocol.scheme import SCHEMES, make_scheme, register_scheme
from devote.schemes.decentralized import Ballot, Decentralized, Reset, Vote
from devote.schemes.isolated import Isolated, lone_spec
from devote.schemes.jury.scheme import Jury
from devote.schemes.jury.tally import Claim, Pick
from devote.schemes.pooled import Pooled
from devote.schemes.survey.scheme import Survey
from devote.schemes.survey.tally import Answer, SegmentedAnswer

for _scheme in (Decentralized, Jury, Survey, Isolated, Pooled):
    register_scheme(_scheme)

__all__ = [
    "SCHEMES",
    "Answer",
    "Ballot",
    "Claim",
    "Decentralized",
    "Isolated",
    "Jury",
    "Pick",
    "Pooled",
    "Reset",
    "SegmentedAnswer",
    "Survey",
    "Vote",
    "lone_spec",
    "make_scheme",
    "register_scheme",
]
