"""What an operator does to a server: open experiments, hand out invites, look at the votes."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import httpx

from devote.boards.board import BoardRefused, BoardUnavailable
from devote.boards.experiment import Experiment, is_address
from devote.boards.http_answers import check_version, get, not_ours, unreachable
from devote.protocol import Message
from devote.protocol.messages import from_dict


class Operator(AbstractContextManager["Operator"]):
    """A client of the operator's calls at ``server``, such as ``http://127.0.0.1:8600``.

    Reading needs no token; opening an experiment and making invites do.
    """

    def __init__(self, server: str, token: str | None = None, *, timeout: float = 10.0) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.server = server.rstrip("/")
        if not is_address(self.server):
            raise BoardRefused(
                f"{server!r} is not the address of a server.\nGive one like http://127.0.0.1:8600."
            )
        self._client = httpx.Client(headers={"User-Agent": "devote", **headers}, timeout=timeout)

    def open(self, experiment: Experiment) -> str:
        """Open an experiment; returns its address, which is what devices join."""
        body = {
            "spec": experiment.spec.to_dict(),
            "enrolment": experiment.enrolment,
            "players": experiment.players,
        }
        self._ask("POST", "/experiments", body)
        return f"{self.server}/experiments/{experiment.name}"

    def experiments(self) -> list[Experiment]:
        """All experiments on the server."""
        found = self._ask("GET", "/experiments")
        return [Experiment.from_dict(item) for item in found["experiments"]]

    def invites(self, name: str, count: int) -> list[str]:
        """Make single-use invites; they are shown once, the server keeps only their hashes."""
        return list(self._ask("POST", f"/experiments/{name}/invites", {"count": count})["invites"])

    def messages(self, name: str, n_arms: int, after: int = 0) -> Sequence[tuple[int, Message]]:
        """The messages on an experiment's board above a number, with their numbers."""
        found: list[tuple[int, Message]] = []
        is_all = False
        while not is_all:
            answer = self._ask("GET", f"/experiments/{name}/messages?after={after}")
            page = [(i["number"], from_dict(i["message"], n_arms)) for i in answer["messages"]]
            is_all = answer["end"] or not page
            found += page
            after = page[-1][0] if page else after
        return found

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        try:
            response = get(self._client, method, self.server + path, json=body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = unreachable(self.server, error)
            if isinstance(problem, BoardRefused):
                raise problem from None
            raise BoardUnavailable(
                f"{self.server} does not answer ({type(error).__name__}).\n"
                "Check the address, and that `devote serve` is running there."
            ) from None
        check_version(self.server, response)
        try:
            answer = response.json()
        except ValueError:
            raise not_ours(self.server) from None
        if response.is_success:
            return answer
        if response.status_code == httpx.codes.UNAUTHORIZED:
            given = "Authorization" in self._client.headers
            raise BoardRefused(
                f"{self.server} needs the operator's token, and "
                + ("this is another.\n" if given else "none was given.\n")
                + "Use the one in the file that `devote serve` named when it was started there."
            )
        raise BoardRefused(str(answer.get("error", f"The server answered {response.status_code}.")))
