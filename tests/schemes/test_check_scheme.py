"""``check_scheme`` passes the project's schemes and names the fault of broken ones."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from examples.scheme.first_to_finish import Finished, FirstFinish, FirstToFinish, Runner

from devote import check_scheme
from devote.protocol import Bound, Guarantees, Sending
from devote.protocol.messages import ARM, message
from devote.protocol.scheme import SCHEMES, register_scheme
from devote.schemes import SCHEMES as KNOWN
from devote.simulator import SchemeFault

PARAMETERS = {
    "decentralized": {"quorum": 2},
    "jury": {"seats": 9, "seat_after": 2, "privacy": 3.0, "vote_after": 60, "liars": 1},
}
PLAYERS = {"survey": 400}


@pytest.mark.parametrize("name", list(KNOWN))
def test_the_schemes_of_the_project_have_no_fault(name):
    check_scheme({"name": name, **PARAMETERS.get(name, {})}, n_players=PLAYERS.get(name))


@message("toss", arm=ARM)
@dataclass(frozen=True, slots=True)
class Toss:
    experiment: str
    arm: int
    voter: str


class LastCounts(FirstFinish):
    """A message that comes again changes the tally."""

    def add(self, message):
        self.finished.pop(message.voter, None)
        self.finished[message.voter] = message.arm
        return True


class BareRefusal(FirstFinish):
    def _refusal(self, message):
        return "No."


class Forgetful(Runner):
    """Keeps something that is not saved."""

    reads = 0

    def _read(self):
        super()._read()
        self.reads += 1

    def to_dict(self):
        return {**super().to_dict(), "reads": self.reads}


class Stray(Runner):
    """Sends a message that the scheme does not list."""

    def _learn(self, eliminated, *, was_reset):
        self._send([Toss(self.spec.name, 0, self.voter)])


class Tossing(Runner):
    """Its message depends on the noise."""

    def _wake(self, noise):
        if not self.tally.finished:
            self._send([Finished(self.spec.name, int(3 * noise), self.voter)])


def broken(**members):
    """The example with other members, registered until the test is over."""
    form = type("Broken", (FirstToFinish,), {"__doc__": "Broken.", **members})
    form.name = "broken"
    return register_scheme(dataclass(frozen=True)(form))


@pytest.fixture(autouse=True)
def _unregister():
    yield
    SCHEMES.pop("broken", None)


def tally_of(form):
    return lambda self, spec: form(spec)


def player_of(form):
    return lambda self, spec, voter, n_players=None: form(spec, voter, n_players)


ABOUT = FirstToFinish.about


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"about": replace(ABOUT, parameters={"x": "It is x."})}, "the fields differ: x"),
        ({"__annotations__": {"x": int}, "x": 1}, "the fields differ: x"),
        ({"to_dict": lambda self: {"name": "first_to_finish"}}, "is read back as"),
        ({"guarantees": lambda self, case: None}, "Return a Guarantees"),
        (
            {"guarantees": lambda self, case: Guarantees(bounds=(Bound("proved", 2.0, "x"),))},
            "is no bound",
        ),
        ({"planning": lambda self, spec: None}, "Return a Planning"),
        ({"tally": tally_of(LastCounts)}, "not harmless when it comes again"),
        ({"tally": tally_of(BareRefusal)}, "has no remedy"),
        ({"about": replace(ABOUT, why_order="")}, "another order of the same messages"),
        ({"player": player_of(Stray)}, "sends a Toss"),
        ({"player": player_of(Forgetful)}, "differs from the one that was saved"),
        ({"player": player_of(Tossing)}, "depend on the noise"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_scheme_is_named_with_its_fault_and_a_remedy(members, what):
    with pytest.raises(SchemeFault) as caught:
        check_scheme(broken(**members)(), n_players=6)
    text = str(caught.value)
    assert what in text
    assert "\n" in text


def test_noise_that_is_announced_is_no_fault():
    form = broken(player=player_of(Tossing), sending=property(lambda self: Sending(noisy=True)))
    check_scheme(form(), n_players=6)


def test_a_scheme_that_is_not_registered_is_refused():
    class Unknown(FirstToFinish):
        name: ClassVar[str] = "unknown"

    with pytest.raises(SchemeFault, match="not registered"):
        check_scheme(Unknown())


def test_a_run_without_an_answer_is_named():
    with pytest.raises(SchemeFault, match=r"no answer after 5,000 plays\.\nGive check_scheme more"):
        check_scheme("survey", n_players=9)
