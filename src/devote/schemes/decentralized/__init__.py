"""Decentralized Elimination: players vote arms out, and a quorum eliminates an arm for all.

Paper: Algorithm 2.
"""

from devote.schemes.decentralized.ballot import Ballot
from devote.schemes.decentralized.messages import Reset, Vote
from devote.schemes.decentralized.player import Voter
from devote.schemes.decentralized.scheme import Decentralized

__all__ = ["Ballot", "Decentralized", "Reset", "Vote", "Voter"]
