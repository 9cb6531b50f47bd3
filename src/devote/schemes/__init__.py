"""How a group decides: one module for each way, behind the contract of ``protocol.scheme``.

Importing this package registers them; the first is the default. A scheme of one's own registers
itself with ``register_scheme`` from wherever it is.
"""

from devote.protocol.scheme import SCHEMES, make_scheme, register_scheme
from devote.schemes import version_1
from devote.schemes.decentralized import Ballot, Decentralized, Reset, Vote
from devote.schemes.isolated import Isolated, lone_spec
from devote.schemes.jury import Claim, Jury, Pick
from devote.schemes.pooled import Pooled

for _scheme in (Decentralized, Jury, Isolated, Pooled):
    register_scheme(_scheme)

version_1.register()

__all__ = [
    "SCHEMES",
    "Ballot",
    "Claim",
    "Decentralized",
    "Isolated",
    "Jury",
    "Pick",
    "Pooled",
    "Reset",
    "Vote",
    "lone_spec",
    "make_scheme",
    "register_scheme",
]
