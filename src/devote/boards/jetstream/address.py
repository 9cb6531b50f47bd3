"""The address of a store on NATS: which nodes to ask, and under which name everything is kept."""

import re
from dataclasses import dataclass
from typing import Self

from devote.boards.database import StoreError

SCHEMES = ("nats", "tls")
DEFAULT_PORT = 4222

_ADDRESS = re.compile(
    r"(?P<scheme>[a-z]+)://(?:(?P<login>[^@/]+)@)?(?P<hosts>[^@/]+)(?:/(?P<name>.*))?"
)
_HOST = re.compile(r"(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_PORT = re.compile(r":[0-9]+$")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")


def is_nats(where: object) -> bool:
    """Whether a place is an address on NATS, and not the path of a file.

    >>> is_nats("nats://127.0.0.1:4222"), is_nats("devote-server.db")
    (True, False)
    """
    return isinstance(where, str) and where.partition("://")[0] in SCHEMES and "://" in where


@dataclass(frozen=True)
class NatsAddress:
    """``nats://host:port,host:port/name``; ``name`` tells stores on the same nodes apart.

    ``tls://`` asks for TLS; ``nats://user:password@host`` logs in, or ``nats://token@host``.

    >>> address = NatsAddress.parse("nats://me:secret@10.0.0.1,10.0.0.2:4333/shop")
    >>> address.servers[1], address.name
    ('nats://me:secret@10.0.0.2:4333', 'shop')
    >>> print(address)
    nats://10.0.0.1:4222,10.0.0.2:4333/shop
    """

    scheme: str
    login: str
    hosts: tuple[str, ...]
    name: str = "devote"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address; StoreError if it is none."""
        found = _ADDRESS.fullmatch(text)
        hosts = found["hosts"].split(",") if found else []
        if found is None or found["scheme"] not in SCHEMES or not all(map(_is_host, hosts)):
            shown = re.sub("//[^/]*@", "//", text)
            raise StoreError(
                f"{shown!r} is not the address of a store on NATS.\n"
                "Give one like nats://127.0.0.1:4222, several hosts with commas between them."
            )
        name = found["name"] or "devote"
        if _NAME.fullmatch(name) is None:
            raise StoreError(
                f"The name {name!r} in the address of a store must be 1 to 32 of A-Z a-z 0-9 _ -.\n"
                "Give one like nats://127.0.0.1:4222/shop, or none."
            )
        full = tuple(host if _PORT.search(host) else f"{host}:{DEFAULT_PORT}" for host in hosts)
        return cls(found["scheme"], found["login"] or "", full, name)

    @property
    def servers(self) -> tuple[str, ...]:
        """The address of each node, with the login."""
        login = f"{self.login}@" if self.login else ""
        return tuple(f"{self.scheme}://{login}{host}" for host in self.hosts)

    def __str__(self) -> str:
        """The address without the login."""
        return f"{self.scheme}://{','.join(self.hosts)}/{self.name}"


def _is_host(text: str) -> bool:
    found = _HOST.fullmatch(text)
    return found is not None and 0 < int(found["port"] or DEFAULT_PORT) < 65536
