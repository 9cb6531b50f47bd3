"""A ballot is a set: what it says depends on the votes it holds and on nothing else."""

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import algorithm_2

from devote.protocol import ExperimentSpec
from devote.schemes import Ballot, Reset, Vote

MANY = 4 * settings().max_examples
N_ARMS, N_PLAYERS, QUORUM = 4, 4, 2

voters = st.sampled_from([f"n{i}" for i in range(N_PLAYERS)])
terms = st.integers(0, 2)
votes = st.builds(Vote, st.just("demo"), terms, st.integers(0, N_ARMS - 1), voters)
resets = st.builds(Reset, st.just("demo"), st.integers(1, 3), voters)
histories = st.lists(st.one_of(votes, votes, votes, resets), max_size=30)


def empty(n_arms=N_ARMS, quorum=QUORUM):
    return Ballot(ExperimentSpec(arms=n_arms, name="demo", scheme={"quorum": quorum}))


def ballot_of(messages):
    ballot = empty()
    for message in messages:
        ballot.add(message)
    return ballot


def state_of(ballot):
    return (
        ballot.term,
        ballot.votes,
        ballot.counts,
        ballot.shared,
        tuple(ballot.shared_mask),
        ballot.answer,
        [ballot.voted(f"n{i}") for i in range(N_PLAYERS)],
        ballot.status(),
        ballot.status(N_PLAYERS),
        ballot.view(),
    )


@settings(max_examples=MANY)
@given(histories, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(history, rng):
    other = history + rng.sample(history, len(history) // 2)
    rng.shuffle(other)
    assert state_of(ballot_of(other)) == state_of(ballot_of(history))


@settings(max_examples=MANY)
@given(histories, histories, histories)
def test_taking_in_histories_is_commutative_associative_and_idempotent(x, y, z):
    assert state_of(ballot_of(x + y)) == state_of(ballot_of(y + x))
    assert state_of(ballot_of((x + y) + z)) == state_of(ballot_of(y + (z + x)))
    assert state_of(ballot_of(x + x)) == state_of(ballot_of(x))


@settings(max_examples=MANY)
@given(histories)
def test_the_shared_set_is_the_reference_s_in_the_highest_term(history):
    term = max([0, *(message.term for message in history)])
    by_arm = {
        k: {m.voter for m in history if isinstance(m, Vote) and (m.term, m.arm) == (term, k)}
        for k in range(N_ARMS)
    }
    ballot = ballot_of(history)
    assert ballot.term == term
    assert set(ballot.shared) == algorithm_2.shared_set(by_arm, QUORUM)
    assert ballot.counts == tuple(len(by_arm[k]) for k in range(N_ARMS))


@settings(max_examples=MANY)
@given(histories)
def test_the_status_is_the_reference_s(history):
    """With players who hold the arms they have not voted against, or the shared arm."""
    ballot = ballot_of(history)
    by_arm = {k: {n for n in range(N_PLAYERS) if k in ballot.voted(f"n{n}")} for k in range(N_ARMS)}

    holder = SimpleNamespace(remaining=set(ballot.shared))
    expected = algorithm_2.status([holder] * N_PLAYERS, by_arm, QUORUM)
    assert ballot.status(N_PLAYERS) == {"unfinished": "open"}.get(expected, expected)


def test_adding_says_whether_it_was_new():
    ballot = ballot_of([])
    vote = Vote("demo", 0, 1, "n0")
    assert [ballot.add(vote), ballot.add(vote)] == [True, False]
    assert [ballot.add(Reset("demo", 2, "n1")), ballot.add(Reset("demo", 2, "n2"))] == [True, False]
    assert [ballot.add(Reset("demo", 1, "n1")), ballot.term] == [False, 2]


def test_a_vote_of_a_later_term_opens_it_and_older_votes_no_longer_count():
    ballot = ballot_of([Vote("demo", 0, 1, "n0"), Vote("demo", 0, 1, "n1")])
    assert ballot.shared == (0, 2, 3)
    ballot.add(Vote("demo", 1, 2, "n0"))
    assert (ballot.term, ballot.counts, ballot.shared) == (1, (0, 0, 1, 0), (0, 1, 2, 3))
    ballot.add(Vote("demo", 0, 3, "n0"))
    assert (ballot.counts, len(ballot.votes)) == ((0, 0, 1, 0), 4)


def test_erratum_5_a_stall_is_told_from_the_votes_and_the_number_of_players_alone():
    """Two of four keep arm 0, two keep arm 1; with a quorum of three nobody wins."""
    ballot = empty(n_arms=3, quorum=3)
    for n in range(4):
        assert ballot.status(4) == "open"
        ballot.add(Vote("demo", 0, 2, f"n{n}"))
        ballot.add(Vote("demo", 0, n % 2, f"n{n}"))
    assert ballot.status(4) == "stalled"
    assert ballot.answer == (0, 1)
    assert ballot.status() == "open"
    assert ballot.status(5) == "open"


def test_the_answer_of_a_stall_has_the_fewest_votes_first():
    ballot = empty(n_arms=2, quorum=3)
    for voter, arm in (("a", 0), ("b", 0), ("c", 1)):
        ballot.add(Vote("demo", 0, arm, voter))
    assert (ballot.status(3), ballot.answer) == ("stalled", (1, 0))
