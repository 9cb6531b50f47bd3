"""One TLS context for all boards of a process."""

import ssl

from devote.boards.http import trusted


def test_certificates_are_read_once_and_again_when_the_environment_names_others(
    monkeypatch, tmp_path
):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    usual = trusted()
    assert trusted() is usual
    assert usual.verify_mode is ssl.CERT_REQUIRED
    one = usual.get_ca_certs(binary_form=True)[0]
    (tmp_path / "one.pem").write_text(ssl.DER_cert_to_PEM_cert(one))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "one.pem"))
    assert trusted().get_ca_certs(binary_form=True) == [one]
    monkeypatch.delenv("SSL_CERT_FILE")
    assert trusted() is usual
