"""devote: many devices find the best of K options together, and exchange only a few messages."""

import devote.schemes  # registers the schemes, whichever module a program imports first
from devote.problems import PROBLEMS, Problem
from devote.protocol import ExperimentSpec
from devote.simulate.players import run_players

__version__ = "0.1.0"
