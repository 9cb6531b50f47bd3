"""TLS by the usual files."""

import asyncio
import ssl

import httpx
import pytest
from tests.server.certificates import make_authority
from tests.server.live import SPEC, api, identity, serving, vote

from devote.boards.board import BoardRefused, EndOfBacklog, Outcome, Posted
from devote.boards.http import HttpBoard


def test_votes_go_over_tls_and_an_unknown_certificate_is_not_believed(tmp_path):
    authority, issue = make_authority(tmp_path)
    certificate, key = issue("server")

    async def main():
        async with (
            api(tmp_path / "board.db") as server,
            serving(server.app, certificate=certificate, key=key) as url,
            httpx.AsyncClient(verify=ssl.create_default_context(cafile=str(authority))) as trusting,
        ):
            assert url.startswith("https://")
            board = HttpBoard(f"{url}/experiments/{SPEC.name}", trusting)
            await board.enrol(identity(1))
            assert await board.publish(vote(identity(1))) is Outcome.ACCEPTED
            events = board.stream()
            assert await anext(events) == Posted(1, vote(identity(1)))
            assert await anext(events) == EndOfBacklog(1)
            await events.aclose()
            async with HttpBoard(board.url) as doubting:
                with pytest.raises(BoardRefused, match="is not trusted"):
                    await doubting.snapshot()

    asyncio.run(main())
