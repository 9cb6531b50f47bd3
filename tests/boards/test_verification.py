"""A log is checked message by message: whatever one message was made to say, it is found."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.boards.local import scope
from tests.boards.logs import (
    HONEST,
    NAME,
    check,
    fold,
    items,
    survey_answers,
    survey_spec,
    voters,
)
from tests.server.live import body, identity

from devote.boards.board import Envelope
from devote.boards.logs import Remembered, Statement
from devote.boards.verification import CHECKS, LISTED
from devote.protocol.messages import OPERATOR, entry, kind_of
from devote.schemes import Answer, Claim, Pick, Vote


def checks(report):
    """By which checks something was found."""
    return {finding.check for finding in report.findings}


def places(report, name):
    return [finding.number for finding in report.findings if finding.check == name]


@pytest.mark.parametrize("scheme", HONEST)
def test_an_honest_log_of_every_scheme_passes(scheme):
    spec, log = HONEST[scheme]()
    statement = fold(spec, log)
    report = check(spec, items(log), voters(log), [statement], count=len(voters(log)))
    assert report.ok
    assert report.messages == report.number == len(log)
    assert report.voters == report.enrolled == len(voters(log))
    assert (report.status, list(report.answer)) == (
        statement.values["status"],
        statement.values["answer"],
    )
    assert {name for name in CHECKS if not report.checked[name]} == {"memory", "shown"}
    assert not any(report.wrong.values())


@pytest.mark.parametrize("scheme", HONEST)
def test_one_message_dropped_altered_doubled_or_invented_is_found_in_every_scheme(scheme):
    spec, log = HONEST[scheme]()
    statement, enrolled = fold(spec, log), voters(log)
    middle = len(log) // 2

    gap = [item for item in items(log) if item["number"] != middle]
    assert places(check(spec, gap, enrolled, [statement]), "numbers") == [middle]

    shorter = log[: middle - 1] + log[middle:]
    assert not check(spec, items(shorter), enrolled, [statement]).ok  # it counts more

    message = log[middle].message
    is_about = hasattr(message, "arm")
    other = {"arm": (message.arm + 1) % spec.n_arms} if is_about else {"voter": identity(999).voter}
    changed = replace(message, **other)
    altered = [*log[:middle], replace(log[middle], message=changed), *log[middle + 1 :]]
    assert places(check(spec, items(altered), enrolled, [statement]), "signatures") == [middle + 1]

    doubled = [*log, log[middle]]
    report = check(spec, items(doubled), enrolled, [replace(statement, number=len(doubled))])
    assert places(report, "doubles") == [len(doubled)]

    stranger = identity(999)
    forged = stranger.sign(replace(message, voter=stranger.voter), scope(spec))
    invented = [*log[:middle], forged, *log[middle:]]
    assert middle + 1 in places(check(spec, items(invented), enrolled, [statement]), "enrolment")


@given(data=st.data())
def test_any_one_change_to_a_log_is_found_by_who_kept_a_copy(data):
    """Dropped, moved, doubled or replaced, and numbered anew with a tally to match."""
    scheme = data.draw(st.sampled_from(sorted(HONEST)))
    spec, log = HONEST[scheme]()
    place = data.draw(st.integers(0, len(log) - 1))
    changed = [*log]
    taken = changed.pop(place)
    match data.draw(st.sampled_from(["drop", "move", "double", "replace"])):
        case "move":
            changed.insert(
                data.draw(st.integers(0, len(changed)).filter(lambda n: n != place)), taken
            )
        case "double":
            changed.insert(place, taken)
            changed.insert(data.draw(st.integers(0, len(changed))), taken)
        case "replace":
            stranger = identity(998)
            message = replace(taken.message, voter=stranger.voter)
            changed.insert(place, stranger.sign(message, scope(spec)))
    copy = Remembered("copy", scope(spec), [(n, e.message) for n, e in enumerate(log, 1)])
    enrolled = voters([*log, *changed])
    assert not check(spec, items(changed), enrolled, remembered=[copy]).ok
    assert check(spec, items(changed), enrolled).head != check(spec, items(log), enrolled).head


def test_who_remembers_a_message_finds_that_it_was_dropped_though_all_else_agrees():
    spec, log = survey_spec(), survey_answers(30)
    dropped = log[:10] + log[11:]
    statement = fold(spec, dropped)
    blind = check(spec, items(dropped), voters(log), [statement])
    assert blind.ok
    assert "left out" in blind.unchecked[0]
    own = Remembered("device.db", scope(spec), [(None, log[10].message)])
    report = check(spec, items(dropped), voters(log), [statement], [own])
    assert [finding.text for finding in report.findings] == [
        f"device.db has a message of {log[10].message.voter[:12]}..., the log has not"
    ]
    copy = Remembered(
        "copy", scope(spec), [(n, e.message) for n, e in enumerate(log, 1)], voters(log)
    )
    report = check(spec, items(dropped), voters(log), [statement], [copy])
    assert places(report, "memory") == [11, 12]
    assert "it is 11 now, and 18 others moved too" in report.findings[1].text
    head = Statement("head", 30, {"head": check(spec, items(log), voters(log)).head}, "--head")
    assert not check(spec, items(dropped), voters(log), [statement, head]).ok
    assert check(spec, items(log), voters(log), [head]).ok
    assert not any("left out" in row for row in report.unchecked)


def test_a_head_is_checked_where_it_was_taken():
    spec, log = survey_spec(), survey_answers(30)
    early = Statement("head", 12, {"head": check(spec, items(log[:12]), voters(log)).head})
    assert check(spec, items(log), voters(log), [early]).ok
    swapped = [*log[:4], log[5], log[4], *log[6:]]
    report = check(spec, items(swapped), voters(log), [early])
    assert checks(report) == {"count"}
    assert "gives as head" in report.findings[0].text


def test_a_specification_or_a_voter_that_changed_is_found_by_who_remembers():
    spec, log = survey_spec(), survey_answers(5)
    other = Remembered("device.db", scope(survey_spec(epsilon=0.5)), [])
    assert "another specification" in check(spec, [], set(), remembered=[other]).findings[0].text
    gone = Remembered("device.db", scope(spec), [], [identity(77).voter])
    report = check(spec, items(log), voters(log), remembered=[gone])
    assert "as enrolled, the list has not" in report.findings[0].text


def test_the_rules_are_replayed_in_the_order_of_the_board():
    spec, log = HONEST["jury"]()
    early = [log[9], *log[:9], *log[10:]]
    report = check(spec, items(early), voters(log))
    assert places(report, "rules") == [1]
    assert "no seat in the jury" in report.findings[0].text
    late = identity(50)
    tenth = [*log[:9], late.sign(Claim(NAME, late.voter), scope(spec)), *log[9:]]
    report = check(spec, items(tenth), voters(tenth))
    assert places(report, "rules") == [10]

    voter = identity(1)
    second = voter.sign(Pick(NAME, 2, voter.voter), scope(spec))
    assert places(check(spec, items([*log, second]), voters(log)), "rules") == [19]

    terms, votes = HONEST["terms"]()
    ahead = voter.sign(Vote(NAME, 9, 0, voter.voter), scope(terms))
    assert places(check(terms, items([ahead, *votes]), voters(votes)), "rules") == [1]
    elsewhere = voter.sign(Vote("other", 0, 0, voter.voter), scope(terms))
    assert places(check(terms, items([elsewhere, *votes]), voters(votes)), "rules") == [1]

    survey, answers = survey_spec(), survey_answers(3)
    again = voter.sign(Answer(NAME, 1, 0, 1, 0, voter.voter), scope(survey))
    assert answers[0].message != again.message
    assert places(check(survey, items([*answers, again]), voters(answers)), "rules") == [4]
    foreign = voter.sign(votes[0].message, scope(survey))
    assert places(check(survey, items([*answers, foreign]), voters(answers)), "rules") == [4]


def test_more_voters_than_may_be_or_fewer_than_are_claimed_are_found():
    spec, log = HONEST["decentralized"]()
    keys = {identity(n).voter for n in range(1, 8)}
    assert "at most 6 may be" in check(spec, items(log), keys, players=6).findings[0].text
    assert "but 7 are listed" in check(spec, items(log), keys, count=8).findings[0].text
    assert check(spec, items(log), keys, players=7, count=7).ok


def test_a_count_that_does_not_follow_from_the_log_is_found():
    spec, log = HONEST["decentralized"]()
    statement = fold(spec, log)
    wrong = replace(statement, values={**statement.values, "answer": [0]})
    report = check(spec, items(log), voters(log), [wrong])
    assert [finding.text for finding in report.findings] == [
        "the server gives as tally's answer [0] of 6 messages, the log gives [2]"
    ]
    more = replace(statement, number=7)
    assert (
        "refers to message 7, the log has 6"
        in check(spec, items(log), voters(log), [more]).findings[0].text
    )


@pytest.mark.parametrize(
    "item",
    [
        None,
        [],
        {},
        {"number": "1"},
        {"number": True, "message": {}, "signature": ""},
        {"number": 1},
        {"number": 1, "message": {"v": 1, "type": "vote"}, "signature": "00"},
        {"number": 1, "message": None, "signature": "00"},
        {"number": 1, "message": {"v": 2}, "signature": None},
    ],
)
def test_what_is_no_message_is_found_and_leaves_no_head(item):
    spec, log = HONEST["decentralized"]()
    report = check(spec, [item, *items(log)[1:]], voters(log))
    assert "form" in checks(report)
    assert report.head is None


def test_a_signature_that_is_none_is_wrong_and_not_an_error():
    spec, log = HONEST["decentralized"]()
    for text in ("", "zz", "é" * 128, "\ud800", log[0].signature.upper()):
        report = check(spec, [{**items(log)[0], "signature": text}], voters(log))
        assert places(report, "signatures") == [1]


def test_a_log_that_is_wrong_throughout_is_counted_and_not_listed_whole():
    spec, log = survey_spec(), survey_answers(60)
    report = check(spec, items(log), set())
    assert report.wrong["enrolment"] == 60
    assert len(report.findings) == LISTED


def test_numbers_that_go_back_or_skip_many_are_found():
    spec, log = survey_spec(), survey_answers(9)
    rows = items(log)
    report = check(spec, [*rows[:2], *rows[6:], rows[4]], voters(log))
    assert [finding.text for finding in report.findings] == [
        "messages 3 to 6 are missing",
        "it comes after message 9",
    ]


def test_every_kind_of_message_is_in_one_of_these_logs():
    found = {kind_of(e.message).form for make in HONEST.values() for e in make()[1]}
    known = {form for make in HONEST.values() for form in make()[0].scheme.about.messages}
    assert found == known
    assert body(HONEST["survey"]()[1][0])["message"]["type"] == "answer"


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("survey", Answer(NAME, 1, 1, 1, 0, OPERATOR)),
        ("decentralized", Vote(NAME, 0, 2, OPERATOR)),
        ("jury", Claim(NAME, OPERATOR)),
    ],
)
def test_of_the_operator_nothing_but_a_withdrawal_counts(scheme, message):
    """Whoever ran a server could add any number of answers that no enrolled key has signed."""
    spec, log = HONEST[scheme]()
    entered = Envelope(message, entry(message, scope(spec)))
    report = check(spec, items([entered, *log]), voters(log))
    assert places(report, "signatures") == [1]
