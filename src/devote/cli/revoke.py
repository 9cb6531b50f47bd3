"""``devote revoke``: take nothing more from a device, or let nobody use an invite."""

from pathlib import Path
from typing import Annotated

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.operating import SERVER, TOKEN_FILE, Name, Server, TokenFile, operator
from devote.cli.options import takes
from devote.cli.terminal import tell


def revoke(
    experiment: Name,
    device: Annotated[
        list[str] | None, takes("KEY", "A device, by its key; may be repeated.")
    ] = None,
    invite: Annotated[
        list[str] | None, takes("TEXT", "An invite or a link; may be repeated.")
    ] = None,
    invites: Annotated[
        Path | None, takes("FILE", "All invites of a file that `devote invites` wrote.")
    ] = None,
    all_invites: Annotated[
        bool, typer.Option("--all-invites", help="All invites that were not used yet.")
    ] = False,
    server: Server = SERVER,
    token_file: TokenFile = TOKEN_FILE,
    json: options.Json = False,
) -> None:
    """Take nothing more from a device, or let nobody enrol by an invite any more.

    What a device sent before it was revoked stays and counts. A device tells its key in
    `device.status().voter`; nothing links an invite that was used to the key that used it.

    Examples:
        devote revoke banner --device 4cb5ab...
        devote revoke banner --invites lost.txt
    """
    devices = list(device or ())
    texts = [*(invite or ()), *(invites.read_text().split() if invites else ())]
    texts = [text.rpartition("#invite=")[2] for text in texts]
    if not devices and not texts and not all_invites:
        raise CommandError(
            "There is nothing to revoke.\nGive --device, --invite, --invites or --all-invites."
        )
    with operator(server, token_file) as calls:
        done = calls.revoke(experiment, voters=devices, invites=texts)
        if all_invites:
            done += calls.revoke_all_invites(experiment)
    words = f"{done.devices:,} devices and {done.invites:,} invites are revoked."
    if done.unknown:
        words += f" {done.unknown:,} were not there: devices not enrolled, or invites used before."
    tell(vars(done), json, lambda _: typer.echo(words))
