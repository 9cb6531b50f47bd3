"""What an operator does to a server: open and close experiments, hand out invites, look at both."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx

from devote.boards.board import BoardRefused, Experiment, ExperimentState, is_address
from devote.boards.http import HEADERS, fetch, parse_answer, trusted
from devote.boards.store import Revocation
from devote.protocol import Message
from devote.protocol.messages import from_dict

AT_ONCE = 2_000
"""Devices and invites that are revoked by one call."""


class Operator(AbstractContextManager["Operator"]):
    """A client of the operator's calls at ``server``, such as ``http://127.0.0.1:8600``.

    Reading what devices read needs no token; everything else does. A ``token`` that is the path of
    a file is read again at each call: so it can be replaced while a program goes on using it.
    """

    def __init__(
        self, server: str, token: str | Path | None = None, *, timeout: float = 10.0
    ) -> None:
        self.server = server.rstrip("/")
        if not is_address(self.server):
            raise BoardRefused(
                f"{server!r} is not the address of a server.\nGive one like http://127.0.0.1:8600."
            )
        self._token = token
        self.joined_at = ""
        """Where devices join the experiment for which invites were made last."""
        self._client = httpx.Client(headers=HEADERS, timeout=timeout, verify=trusted())

    def open(
        self, experiment: Experiment, *, ends: int | None = None, delete_after: int | None = None
    ) -> str:
        """Open an experiment; returns its address, which is what devices join."""
        names = ("enrolment", "players", "baseline", "log")
        body = {name: getattr(experiment, name) for name in names}
        body |= {"spec": experiment.spec.to_dict(), "ends": ends, "delete_after": delete_after}
        url: str | None = self._ask("POST", "/experiments", body)["url"]
        return url or f"{self.server}/experiments/{experiment.name}"

    def experiments(self) -> list[Experiment]:
        """All experiments on the server."""
        found = self._ask("GET", "/experiments")
        return [Experiment.from_dict(item) for item in found["experiments"]]

    def overview(self) -> list[dict[str, Any]]:
        """All experiments, archived ones too, with what they have come to and their invites.

        Without a token only what is public: nothing archived, and nothing of invites.
        """
        if self._token is not None:
            return list(self._ask("GET", "/overview")["experiments"])
        return [self._public(item) for item in self.experiments()]

    def _public(self, experiment: Experiment) -> dict[str, Any]:
        found = self._ask("GET", f"/experiments/{experiment.name}/tally")
        names, tally = experiment.spec.arm_names, found["tally"]
        return {
            **experiment.facts,
            **self._ask("GET", f"/experiments/{experiment.name}/standing"),
            "enrolled": experiment.enrolled,
            "messages": found["number"],
            "status": tally["status"],
            "answer": [names[arm] for arm in tally["answer"]],
            "withdrawn": [names[arm] for arm in tally.get("withdrawn", ())],
            "mismatch": tally.get("mismatch", False),
        }

    def change(self, name: str, **standing: Any) -> ExperimentState:
        """Give an experiment another ``state``, ``ends`` or ``delete_after``, None for none."""
        return ExperimentState(**self._ask("POST", f"/experiments/{name}/standing", standing))

    def withdraw(self, name: str, arm: str) -> dict[str, Any]:
        """Withdraw an option: where it stands in the log, and what the error is at most now."""
        done: dict[str, Any] = self._ask("POST", f"/experiments/{name}/withdrawals", {"arm": arm})
        return done

    def delete(self, name: str) -> None:
        """Delete an experiment and all its messages."""
        self._ask("DELETE", f"/experiments/{name}")

    def invites(self, name: str, count: int, expires: int | None = None) -> list[str]:
        """Make single-use invites; they are shown once, the server keeps only their hashes.

        From the moment ``expires`` on, in seconds since 1970, they are no longer good.
        """
        asked = {"count": count} if expires is None else {"count": count, "expires": expires}
        answer = self._ask("POST", f"/experiments/{name}/invites", asked)
        self.joined_at = answer["url"] or f"{self.server}/experiments/{name}"
        return list(answer["invites"])

    def revoke(
        self, name: str, *, voters: Sequence[str] = (), invites: Sequence[str] = ()
    ) -> Revocation:
        """Take nothing more from these voters, and let nobody enrol by these invites."""
        done = Revocation()
        named = [("voters", voter) for voter in voters] + [("invites", text) for text in invites]
        for start in range(0, max(1, len(named)), AT_ONCE):
            asked: dict[str, list[str]] = {"voters": [], "invites": []}
            for kind, text in named[start : start + AT_ONCE]:
                asked[kind].append(text)
            done += Revocation(**self._ask("POST", f"/experiments/{name}/revocations", asked))
        return done

    def revoke_all_invites(self, name: str) -> Revocation:
        """Let nobody enrol by any invite made so far."""
        return Revocation(**self._ask("DELETE", f"/experiments/{name}/invites"))

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

    def _headers(self) -> dict[str, str]:
        token = self._token
        if isinstance(token, Path):
            token = (token.read_text().split() or [""])[0]
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        response, content = fetch(
            self._client, method, self.server + path, json=body, headers=self._headers()
        )
        answer = parse_answer(self.server, response, content)
        if response.is_success:
            return answer
        if response.status_code == httpx.codes.UNAUTHORIZED:
            given = self._token is not None
            raise BoardRefused(
                f"{self.server} needs the operator's token, and "
                + ("this is another.\n" if given else "none was given.\n")
                + "Use the one in the file that `devote serve` named when it was started there."
            )
        raise BoardRefused(str(answer.get("error", f"The server answered {response.status_code}.")))
