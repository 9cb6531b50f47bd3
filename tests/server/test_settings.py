"""Settings as the command line gives them: a token in a file, and limits by name."""

import stat

import pytest

from devote.server.settings import Settings, load_settings


def test_a_token_is_made_once_kept_and_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "token"
    first = load_settings(path)
    assert len(first.token) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() == first.token
    assert load_settings(path).token == first.token


def test_two_servers_have_two_tokens(tmp_path):
    assert load_settings(tmp_path / "a").token != load_settings(tmp_path / "b").token


def test_limits_are_read_as_what_they_are(tmp_path):
    settings = load_settings(tmp_path / "token", ["streams=10", "heartbeat=0.5", "read_rate=1e9"])
    assert (settings.streams, settings.heartbeat, settings.read_rate) == (10, 0.5, 1e9)
    assert isinstance(settings.streams, int)
    assert settings.body == Settings().body


@pytest.mark.parametrize(
    ("limit", "remedy"),
    [
        ("strems=10", "Use one of: body, message_body"),
        ("token=0123456789abcdef", "limit 'token' is not known"),
        ("streams", "needs a number"),
        ("streams=many", "needs a number"),
        ("streams=1.5", "needs a number"),
        ("pace=0", "must be above 0"),
        ("heartbeat=-1", "must be above 0"),
        ("heartbeat=nan", "must be above 0"),
    ],
)
def test_a_bad_limit_is_refused(tmp_path, limit, remedy):
    with pytest.raises(ValueError, match=remedy):
        load_settings(tmp_path / "token", [limit])


@pytest.mark.parametrize("text", ["", "  \n", "short"])
def test_a_token_that_can_be_guessed_is_refused(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(ValueError, match="can be guessed"):
        load_settings(path)
    assert path.read_text() == text


def test_a_token_file_that_cannot_be_made_is_an_error_with_its_name(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        load_settings(tmp_path / "nowhere" / "token")


def test_the_token_is_not_shown():
    settings = Settings(token="a-token-of-some-length")
    assert "a-token" not in repr(settings)
