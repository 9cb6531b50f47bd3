"""Whether a device takes part, as its app has set: traffic, exclusive, budget, consent, sticky.

Who stays out sends nothing, always shows its fallback, and says why.
"""

import itertools
import sqlite3

import pytest
import scipy
from tests.device.worlds import SPEC, PretendServer
from tests.tools import until

from devote.boards.board import BoardUnavailable
from devote.device import Client, Device, DeviceError, JoinError, StaysOut
from devote.device.ledger import Ledger, Limits
from devote.device.sync import Pace
from devote.schemes import Survey

QUICK = Pace(every=0.1, base=0.02, cap=0.1)


class Board(PretendServer):
    """A survey; it counts the requests to join."""

    def __init__(self, name="banner", privacy=2.0, **how):
        scheme = Survey(privacy, reply_after=how.pop("reply_after", 60.0))
        super().__init__(SPEC.with_(name=name, scheme=scheme), players=None)
        self.joins, self.loses_answers = 0, False

    async def join(self, *args, **kwargs):
        self.joins += 1
        self.pins = kwargs
        joined = await super().join(*args, **kwargs)
        if self.loses_answers:
            raise BoardUnavailable("The answer was lost.")
        return joined


def url(name="banner"):
    return f"http://127.0.0.1:9/experiments/{name}"


def join(folder, board, store="", **options):
    name = board.spec.name
    store = folder / f"{store or name}.db"
    return Device.join(url(name), store=store, board=board, pace=QUICK, **options)


def stays_out(folder, board, why, **options):
    """It raises, with a fallback it plays that, again after a restart; nothing is sent."""
    before = board.joins
    with pytest.raises(StaysOut, match=why):
        join(folder, board, **options)
    for _ in range(2):
        with join(folder, board, fallback="plain", **options) as device:
            choice = device.choose()
            device.reward(1.0, choice)
            assert choice.name == "plain"
            assert why in "".join(device.status().degraded)
            assert device.status().offline_since is None
            assert not device.status().joined
    assert board.joins == before


# Traffic.


@pytest.mark.parametrize("traffic", [0.0, -0.1, 1.1, float("nan")])
def test_a_traffic_that_is_no_share_is_refused(tmp_path, traffic):
    with pytest.raises(DeviceError, match="more than 0 and at most 1"):
        join(tmp_path, Board(), traffic=traffic)
    assert list(tmp_path.iterdir()) == []


def taking_part(folder, users, traffic, name):
    found = set()
    for user in range(users):
        try:
            Ledger(folder, str(user), url(name)).admit(f"{name} {user}", Limits(traffic=traffic))
            found.add(user)
        except StaysOut:
            pass
    return found


def test_traffic_takes_the_same_share_of_users_and_is_independent_between_experiments(tmp_path):
    """False alarm 1e-6 each; with probability .999 a share of .45, or of both of .15, is found."""
    users = 300
    first, second = (taking_part(tmp_path, users, 0.3, name) for name in ("one", "two"))
    for found, share in ((first, 0.3), (second, 0.3), (first & second, 0.09)):
        assert scipy.stats.binomtest(len(found), users, share).pvalue > 1e-6
    assert taking_part(tmp_path, 50, 0.3, "one") == {user for user in first if user < 50}
    more = taking_part(tmp_path, 50, 0.6, "one")
    assert {user for user in first if user < 50} <= more, "a higher traffic drops nobody"


def test_a_user_alone_in_a_folder_is_drawn_once(tmp_path):
    """Of 40 users alone, who try ten times, all are in or out each time.

    If some were drawn again each time, all 40 would be so with probability 1e-108.
    """
    for user in range(40):
        folder = tmp_path / str(user)
        folder.mkdir()
        assert len({len(taking_part(folder, 1, 0.5, "one")) for _ in range(10)}) == 1


def test_a_user_that_is_not_in_the_traffic_shows_a_default_and_leaves_no_store(tmp_path):
    stays_out(tmp_path, Board(), "traffic=1e-12", traffic=1e-12)
    assert [file.name for file in tmp_path.glob("*.db")] == ["ledger.db"]


def test_a_device_that_takes_part_goes_on_when_traffic_is_lowered(tmp_path):
    board = Board()
    join(tmp_path, board, traffic=1.0).close()
    with join(tmp_path, board, traffic=1e-12) as device:
        assert device.status().joined


def test_nothing_that_is_sent_or_shown_has_the_secret(tmp_path):
    board = Board()
    with join(tmp_path, board, traffic=0.999999) as device:
        device.choose()
        with sqlite3.connect(tmp_path / "ledger.db") as db:
            ((secret,),) = db.execute("SELECT secret FROM secret").fetchall()
        assert secret.hex() not in repr(vars(board)) + repr(device.status())
        assert secret not in (tmp_path / "banner.db").read_bytes()


# Exclusive.


def test_of_an_exclusive_group_a_user_joins_the_first_only(tmp_path):
    with (
        join(tmp_path, Board("one"), exclusive="checkout"),
        join(tmp_path, Board("free")) as free,
        join(tmp_path, Board("else"), exclusive="search") as other,
    ):
        assert free.status().joined
        assert other.status().joined
        stays_out(tmp_path, Board("two"), "one, of the same group", exclusive="checkout")
    with join(tmp_path, Board("one"), exclusive="checkout") as again:
        assert again.status().joined


def test_users_of_a_client_have_groups_and_budgets_of_their_own(tmp_path):
    with Client(tmp_path) as client:

        def device(name, user):
            limits = {"exclusive": "all", "budget": 3.0, "pace": QUICK}
            return client.device(url(name), user, board=Board(name), **limits)

        assert device("one", "ann").status().joined
        assert device("two", "bob").status().joined
        with pytest.raises(StaysOut, match="exclusive"):
            device("two", "ann")


# The privacy budget.


def test_a_budget_is_the_sum_of_e_over_the_experiments_of_a_user(tmp_path):
    for name, privacy in (("one", 2.0), ("two", 0.5)):
        join(tmp_path, Board(name, privacy), budget=3.0).close()
    board = Board("three", 1.0)
    with pytest.raises(StaysOut, match=r"privacy=1, but 0.5 is left of this user's budget of 3"):
        join(tmp_path, board, budget=3.0)
    assert board.ledger.enrolled == set()
    join(tmp_path, Board("four", 0.5), budget=3.0).close()
    stays_out(tmp_path, Board("five", 0.1), "used it up", budget=3.0)
    join(tmp_path, Board("five", 0.1), budget=3.2).close()


def test_no_board_is_told_what_is_left_of_a_budget(tmp_path):
    join(tmp_path, Board("one", 1.0), budget=3.25).close()
    board = Board("two", 2.0)
    join(tmp_path, board, budget=3.25, privacy=2.5).close()
    assert board.pins == {"privacy": 2.5, "fingerprint": None}
    refused = Board("three", 1.0)
    with pytest.raises(StaysOut, match="is left of this user"):
        join(tmp_path, refused, budget=3.25)
    assert refused.joins == 0


def test_an_experiment_without_proved_privacy_fits_no_budget(tmp_path):
    with pytest.raises(StaysOut, match="no proved privacy"):
        join(tmp_path, Board(privacy=None), budget=100.0)
    with pytest.raises(DeviceError, match="must be more than 0"):
        join(tmp_path, Board(), budget=0.0)


def test_a_join_whose_answer_was_lost_is_counted_until_it_is_known(tmp_path):
    """And once: the store has the key, with which it joins again."""
    one = Board("one", 1.0)
    one.loses_answers = True
    with pytest.raises(JoinError):
        join(tmp_path, one, budget=3.0)
    stays_out(tmp_path, Board("two", 1.0), "used it up", budget=3.0)
    one.loses_answers = False
    join(tmp_path, one, budget=3.0).close()
    join(tmp_path, Board("two", 1.0), budget=3.0).close()
    join(tmp_path, Board("three", 1.0), budget=3.0).close()


def test_a_new_store_in_the_same_experiment_is_counted_again(tmp_path):
    board = Board(privacy=2.0)
    join(tmp_path, board, budget=3.0).close()
    (tmp_path / "banner.db").unlink()
    with pytest.raises(StaysOut, match="1 is left"):
        join(tmp_path, board, budget=3.0)


# Consent.


def test_before_consent_nothing_is_stored_or_sent_and_afterwards_it_joins(tmp_path):
    board = Board()
    with join(tmp_path, board, fallback="plain", consent=False, budget=3.0) as device:
        assert device.choose().name == "plain"
        assert "has not consented" in device.status().degraded[0]
        assert list(tmp_path.iterdir()) == []
        assert board.joins == 0
        device.consent()
        until(lambda: device.status().joined)
        assert device.choose().play
        assert device.status().degraded == ()
    assert (tmp_path / "banner.db").exists()


def test_consent_that_is_never_given_leaves_nothing_and_needs_a_fallback(tmp_path):
    board = Board()
    join(tmp_path, board, fallback="plain", consent=False).close()
    with pytest.raises(DeviceError, match="needs a fallback"):
        join(tmp_path, board, consent=False)
    assert list(tmp_path.iterdir()) == []
    assert board.joins == 0


# Sticky.


def test_a_sticky_device_shows_the_arm_it_was_asked_about_until_there_is_an_answer(tmp_path):
    board = Board(reply_after=1.0)
    arms = {}
    for n, is_sticky in itertools.product(range(13), (True, False)):
        with join(tmp_path, board, f"{n}{is_sticky}", sticky=is_sticky) as device:
            first = device.choose()
            device.reward(0.0, first)
            again = [device.choose() for _ in range(3)]
            if is_sticky:
                assert {(choice, choice.name) for choice in again} == {(first, first.name)}
                device.reward(1.0, again[0])
            arms[n, is_sticky] = first, again[0]
    assert any(first != again for (_, is_sticky), (first, again) in arms.items() if not is_sticky)
    votes = PretendServer()
    with pytest.raises(DeviceError, match="in a survey only"):
        Device.join(url(), store=tmp_path / "votes.db", board=votes, sticky=True)
    assert votes.ledger.enrolled == set()
