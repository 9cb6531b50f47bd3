"""How a device gossips: how often, with how many, where it listens, and what it bounds."""

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from devote.errors import DevoteError

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class GossipError(DevoteError, ValueError):
    """A certificate, an address or a setting that cannot be used."""


@dataclass(frozen=True)
class GossipSettings:
    """What an operator can set; the defaults suit a LAN.

    ``period`` is the mean time between two rounds in seconds, ``fanout`` to how many peers a new
    vote is pushed at once. ``listen`` is the host and port at which others may ask, none if empty;
    ``announce`` the address that others are given, by default the same. ``allow`` are the networks
    in which addresses that members announce may be dialled. ``certificate``, ``key`` and
    ``authority`` are PEM files: with them all peers use TLS, and with ``mutual`` each shows its
    certificate.

    ``peers`` bounds the addresses that are kept, ``body`` a request or an answer in bytes,
    ``patience`` the seconds one may take, ``connections`` those that are open at a time in each
    direction, ``rate`` and ``burst`` the requests of one address, per second and at once.
    ``discover`` looks for peers on the LAN (needs the extra ``lan``).
    """

    period: float = 2.0
    fanout: int = 3
    listen: str = ""
    announce: str = ""
    allow: tuple[str, ...] = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    mutual: bool = False
    peers: int = 64
    body: int = 262_144
    patience: float = 5.0
    connections: int = 32
    rate: float = 20.0
    burst: float = 100.0
    discover: bool = False

    def __post_init__(self) -> None:
        for name in ("period", "fanout", "peers", "body", "patience", "connections", "rate"):
            if not getattr(self, name) > 0:
                raise GossipError(f"{name}={getattr(self, name)!r} must be above 0.\nUse more.")
        files = (self.certificate, self.key, self.authority)
        if any(files) and not all(files):
            raise GossipError(
                "TLS among peers needs a certificate, its key and the authority that signs them "
                "all, and one is missing.\nGive three PEM files, or none."
            )
        if self.mutual and not all(files):
            raise GossipError("mutual TLS needs PEM files.\nGive certificate, key and authority.")
        for file in files:
            if file is not None and not Path(file).is_file():
                raise GossipError(f"{file} is not a file.\nGive the path of a PEM file.")
        for text in self.allow:
            try:
                ipaddress.ip_network(text)
            except ValueError:
                raise GossipError(
                    f"allow={text!r} is not a network.\nWrite one like 10.0.0.0/8."
                ) from None
        if self.listen:
            parse_address(self.listen)
        if self.announce and not _is_ip(parse_address(self.announce, port_0=False)[0]):
            raise GossipError(
                f"announce={self.announce!r} is a name, and devices dial no names that others "
                "announce.\nGive an IP address, such as 10.0.0.7:7700."
            )

    @property
    def scheme(self) -> str:
        """How peers are dialled."""
        return "http" if self.certificate is None else "https"

    def client_context(self) -> ssl.SSLContext | bool:
        """What to check of a peer that is dialled, and what to show to it."""
        if self.certificate is None:
            return False
        try:
            context = ssl.create_default_context(cafile=self.authority)
            # Members are known by their keys in the experiment, not by their machines' names.
            context.check_hostname = False
            context.load_cert_chain(self.certificate, self.key, password="")  # and ask nobody
        except OSError as error:
            raise GossipError(
                f"The TLS files {self.certificate}, {self.key} and {self.authority} cannot be used "
                f"({error.strerror or error}).\nGive PEM files that belong together, the key "
                "without a password."
            ) from None
        return context

    def may_dial(self, address: str) -> bool:
        """Whether an announced address may be dialled: an IP in ``allow``, no name."""
        try:
            host, _ = parse_address(address)
            number = ipaddress.ip_address(host)
        except (GossipError, ValueError):
            return False
        if number.is_multicast or number.is_unspecified:
            return False
        return any(number in ipaddress.ip_network(text) for text in self.allow)


def _is_ip(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def parse_address(text: str, *, port_0: bool = True) -> tuple[str, int]:
    """The host and the port of an address such as 10.0.0.7:7700 or [fd00::7]:7700.

    >>> parse_address("[fd00::7]:7700")
    ('fd00::7', 7700)
    """
    host, colon, port = text.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    fits = colon and host and port.isascii() and port.isdecimal() and len(text) <= 120
    bare = not any(letter in "/@?#[] \\\t\r\n" for letter in host) and host.isascii()
    if not fits or not bare or not (0 if port_0 else 1) <= int(port) <= 65535:
        raise GossipError(
            f"{text[:120]!r} is not an address of a peer.\nWrite host:port, such as 10.0.0.7:7700."
        )
    return host, int(port)


def parse_url(url: str) -> tuple[tuple[str, ...], str]:
    """The addresses and the name in ``gossip://HOST:PORT,HOST:PORT/NAME``; no address is fine.

    >>> parse_url("gossip://10.0.0.7:7700,10.0.0.8:7700/banner")
    (('10.0.0.7:7700', '10.0.0.8:7700'), 'banner')
    """
    places, slash, name = url.removeprefix("gossip://").rstrip("/").rpartition("/")
    if not url.startswith("gossip://") or not name or not slash:
        raise GossipError(
            f"{url[:200]!r} is not the address of an experiment among peers.\n"
            "Write one like gossip://10.0.0.7:7700/banner, or gossip:///banner for the first."
        )
    addresses = tuple(place for place in places.split(",") if place)
    for address in addresses:
        parse_address(address, port_0=False)
    return addresses, name
