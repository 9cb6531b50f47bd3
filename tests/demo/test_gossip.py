"""``devote demo --gossip``: no server, a network that breaks in two, the answer on both sides."""

import pytest

from devote.demo.gossip import between_peers, demonstrate_gossip
from devote.protocol import SpecError
from devote.schemes import Decentralized, Jury
from devote.theory import split_possible


@pytest.mark.slow
@pytest.mark.usefixtures("forked_programs")
def test_both_sides_of_a_network_that_broke_and_healed_have_the_answer():
    experiment = between_peers(Decentralized(), players=6, arms=3)
    *happened, outcome = demonstrate_gossip(experiment, means=(0.9, 0.2, 0.1))
    assert outcome.status == "agreed"
    assert outcome.tally.answer == (0,)
    texts = [happening.text for happening in happened if happening.kind in ("chaos", "out")]
    assert "breaks in two" in texts[0]
    assert "heals" in texts[1]
    assert [line.split(";")[0] for line in texts[2:]] == [
        "side 1, every device: Banner 0",
        "side 2, every device: Banner 0",
    ]


def test_the_sides_of_the_demonstration_cannot_decide_differently():
    for players, arms in ((32, 10), (6, 3), (5, 2)):
        spec = between_peers(Decentralized(), players=players, arms=arms).spec
        assert not split_possible(players, spec.votes_needed, arms)


def test_a_scheme_that_needs_an_order_is_refused():
    with pytest.raises(SpecError, match="jury cannot do without a server"):
        between_peers(Jury(), players=32, arms=10)
