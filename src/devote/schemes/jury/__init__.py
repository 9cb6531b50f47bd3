"""The jury: a few devices learn alone, each says which arm it ended with, and c of J decide."""

from devote.schemes.jury.messages import Claim, Pick
from devote.schemes.jury.player import Juror
from devote.schemes.jury.scheme import Jury
from devote.schemes.jury.tally import Verdict

__all__ = ["Claim", "Juror", "Jury", "Pick", "Verdict"]
