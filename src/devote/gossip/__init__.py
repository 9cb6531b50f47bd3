"""Devices without a server: each keeps the whole set of votes and exchanges it with others.

Votes only ever grow, and what follows from them is a function of the set. So devices that hand
each other what the other lacks, again and again, come to the same answer.
"""

from devote.gossip.board import GossipBoard as GossipBoard
from devote.gossip.credentials import Certificate as Certificate
from devote.gossip.credentials import Ticket as Ticket
from devote.gossip.settings import GossipError as GossipError
from devote.gossip.settings import GossipSettings as GossipSettings
