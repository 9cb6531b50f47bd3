"""TLS by the usual files."""

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.server.live import SPEC, api, identity, serving, vote

from devote.boards.board import BoardRefused, EndOfBacklog, Outcome, Posted
from devote.boards.http import HttpBoard


def _files(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that its own key has signed, and that key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


def test_votes_go_over_tls_and_an_unknown_certificate_is_not_believed(tmp_path):
    certificate, key = _files(tmp_path)

    async def main():
        async with (
            api(tmp_path / "board.db") as server,
            serving(server.app, certificate=certificate, key=key) as url,
            httpx.AsyncClient(
                verify=ssl.create_default_context(cafile=str(certificate))
            ) as trusting,
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
                with pytest.raises(BoardRefused, match="is not trusted: self-signed certificate"):
                    await doubting.snapshot()

    asyncio.run(main())
