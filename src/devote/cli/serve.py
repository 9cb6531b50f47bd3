"""``devote serve``: a board for devices, and the page to watch it on."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from devote.cli.config import join_limits, read_config
from devote.cli.options import takes


def serve(
    config: Annotated[
        Path | None,
        takes(
            "FILE",
            "Options from a TOML file; those given here go before it.",
            is_eager=True,
            callback=read_config,
        ),
    ] = None,
    store: Annotated[
        str, takes("FILE|nats://...", "Where everything is kept: a file, or NATS nodes.")
    ] = "devote-server.db",
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=1, max=65535, help="Port to listen on.")] = 8600,
    token_file: Annotated[
        Path | None, takes("FILE", "The operator's token, made if missing. Default: by the store.")
    ] = None,
    certificate: Annotated[Path | None, takes("PEM", "TLS certificate; needs --key.")] = None,
    key: Annotated[Path | None, takes("PEM", "TLS private key.")] = None,
    admin_port: Annotated[
        int | None,
        Option(min=1, max=65535, help="A port of their own for metrics and the operator's calls."),
    ] = None,
    public_url: Annotated[
        str | None,
        takes("URL", "Where devices and people reach this server; links and `open` print it."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        takes(
            "NAME=VALUE",
            "Change a limit, such as streams=200; may be repeated.",
            callback=join_limits,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        takes("ORIGIN", "Let pages of this site take part, as https://shop.example; repeatable."),
    ] = None,
) -> None:
    """Serve experiments to devices, and a page to watch them on.

    Nothing but specifications, who is enrolled and messages is stored; no address is logged.

    Examples:
        devote serve
        devote serve --allow-origin https://shop.example
        devote serve --config devote.toml
        devote serve --host 0.0.0.0 --certificate cert.pem --key key.pem --limit streams=500
        devote serve --store nats://10.0.0.1:4222,10.0.0.2:4222,10.0.0.3:4222
    """
    from devote.boards.store import is_nats, open_store
    from devote.page import add_page
    from devote.server.limits import check_origin
    from devote.server.serve import check_address, check_tls, only_server, run_server
    from devote.server.settings import load_settings, read_limits

    tls: dict[str, Any] = {"certificate": certificate, "key": key}
    check_tls(**tls)
    read_limits(limit or [])
    others: dict[str, Any] = {
        "origins": tuple(check_origin(origin) for origin in allow_origin or []),
        "public_url": public_url or "",
    }
    for each in (port, admin_port):
        if each is not None:
            check_address(host, each)
    beside = Path("devote-nats" if is_nats(store) else store)
    with only_server(store):
        opened = open_store(store)
        where = token_file or beside.with_name(beside.name + ".token")
        settings = load_settings(where, limit or [], **others)
        scheme = "http" if certificate is None else "https"
        page = public_url or f"{scheme}://{host}:{port}"
        typer.echo(f"devote: the page is at {page.rstrip('/')}/", err=True)
        typer.echo(f"devote: the operator's token is in {where}", err=True)
        options: dict[str, Any] = {"host": host, "port": port, "admin_port": admin_port, **tls}
        run_server(opened, settings=settings, extend=add_page, **options)
