"""A token is replaced in its file while a server runs."""

import stat

import pytest

from devote.server.settings import Settings, Tokens, load_settings, write_token


def test_a_running_server_takes_the_new_token_and_no_longer_the_old(tmp_path):
    path = tmp_path / "token"
    settings = load_settings(path)
    token = Tokens(settings)
    assert token.grant_of(settings.token)
    for _ in range(3):
        before = path.read_text().strip()
        write_token(path)
        after = path.read_text().strip()
        assert before != after
        assert token.grant_of(after)
        assert not token.grant_of(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["token"]


@pytest.mark.parametrize("content", [None, "", "short", "\udcff" * 20])
def test_no_call_is_let_through_while_the_file_holds_no_good_token(tmp_path, content):
    path = tmp_path / "token"
    settings = load_settings(path)
    token = Tokens(settings)
    path.unlink()
    if content is not None:
        path.write_bytes(content.encode(errors="surrogateescape"))
    for given in ("", "short", content or "", settings.token):
        assert not token.grant_of(given.encode(errors="replace").decode())
    path.unlink(missing_ok=True)
    assert token.grant_of(write_token(path))


def test_without_a_file_it_is_the_settings_own():
    token = Tokens(Settings(token="a-token-of-some-length"))
    assert token.grant_of("a-token-of-some-length")
    assert not token.grant_of("a-token-of-some-lengti")
    assert not token.grant_of("ä-token")
