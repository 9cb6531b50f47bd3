"""Section 6's sentence needs a frequent group of at least M players (erratum 21)."""

import pytest

from devote.simulator import run_sweep
from devote.studies.frequent_players import scenario
from devote.studies.variants import SER3, UGAPEC


@pytest.mark.parametrize("variant", [SER3, UGAPEC], ids=["ser3", "ugapec"])
def test_erratum_21_16_frequent_players_lose_to_the_rest_and_28_win(variant):
    """20 runs each. In 100 other runs of each no run ended otherwise, so that with probability
    1 - 1e-6 less than 13 % do. For the best arm of a group of M or more to lose, 28 players must
    vote against it, most of them of that group: not one did. A sentence that held for 16 players
    would be seen in every run.
    """
    few, enough = run_sweep(
        [scenario(variant, 16), scenario(variant, 28)], trials=20, seed=21, workers=1
    )
    assert few.winners == ((5,),) * 20
    assert enough.winners == ((0,),) * 20
