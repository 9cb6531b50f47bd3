"""``devote certify``: who may vote where there is no server. All of it works offline."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from devote.cli import options
from devote.cli.errors import CommandError
from devote.cli.gossip import read_spec
from devote.cli.options import takes
from devote.cli.terminal import tell

if TYPE_CHECKING:
    from devote.boards.identity import Identity
    from devote.gossip import Ticket
    from devote.protocol import ExperimentSpec

Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="A specification with an issuer.")]
Key = Annotated[Path, takes("FILE", "The issuer's private key.")]

KEY = Path("issuer.key")
TICKETS = Path("tickets")

certify = typer.Typer(add_completion=False, no_args_is_help=True)


def _load(key: Path) -> "Identity":
    from devote.boards.identity import Identity

    try:
        return Identity.from_private_bytes(bytes.fromhex(key.read_text().strip()))
    except FileNotFoundError:
        raise CommandError(
            f"This needs the issuer's key, and {key} is not there.\n"
            "Give --key; `devote certify key` made it."
        ) from None
    except ValueError:
        raise CommandError(
            f"{key} is not a private key.\nUse what `devote certify key` wrote."
        ) from None


@certify.command("key")
def key_(out: Key = KEY, json: options.Json = False) -> None:
    """Make the issuer's key and print its public half, for `issuer = "..."` in a specification.

    Whoever has the file decides who may vote. Make one for each experiment. A file that is there
    already is kept, and its public half printed again.

    Example:
        devote certify key
    """
    from devote.boards.identity import Identity

    if not out.exists():
        identity = Identity.generate()
        with os.fdopen(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(identity.to_private_bytes().hex() + "\n")
    public = _load(out).voter
    tell({"issuer": public, "file": str(out)}, json, lambda _: typer.echo(public))


@certify.command()
def request(
    spec: Spec,
    stores: Annotated[
        list[Path] | None,
        typer.Argument(metavar="STORE...", help="Where the device keeps its state: device.db"),
    ] = None,
    json: options.Json = False,
) -> None:
    """On a device: make its key, which never leaves it, and print the public half to be certified.

    Example:
        devote certify request banner.toml device.db
    """
    from devote.device.device import prepare_store

    read = read_spec(spec)
    made = {str(s): prepare_store(s, read) for s in stores or [Path("device.db")]}
    tell(made, json, lambda _: typer.echo("\n".join(made.values())))


@certify.command()
def issue(
    spec: Spec,
    voters: Annotated[list[str] | None, typer.Argument(metavar="VOTER...", help="Keys.")] = None,
    file: Annotated[Path | None, takes("FILE", "Keys, one per line.", "--from")] = None,
    key: Key = KEY,
    out: Annotated[Path, takes("FOLDER", "Where tickets are kept.")] = TICKETS,
    peer: Annotated[
        list[str] | None, takes("HOST:PORT", "A peer to ask first; may be repeated.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Certify keys, one or many: each gets a ticket, a file with which its device joins.

    Numbers go on from the highest in the folder; a key that has a ticket there keeps its number.
    Keep the tickets there: a number that is given twice is also revoked twice.

    Example:
        devote certify issue banner.toml --from keys.txt --peer 10.0.0.7:7700
    """
    from devote.files import write_whole
    from devote.gossip import Certificate, Ticket
    from devote.gossip.settings import parse_address

    wanted = [*(voters or ()), *(file.read_text().split() if file else ())]
    if not wanted:
        raise CommandError("No key was given.\nGive keys, or a file of them with --from.")
    read, issuer = read_spec(spec), _load(key)
    for address in peer or ():
        parse_address(address, port_0=False)
    there = [_read_ticket(file) for file in sorted(out.glob("*.json"))]
    known = {t.certificate.voter: t.certificate.number for t in there}
    highest = max(known.values(), default=0)
    tickets: dict[Path, Ticket] = {}
    for voter in wanted:
        if voter not in known:
            highest += 1
            known[voter] = highest
        certificate = Certificate.issue(issuer, read, voter=voter, number=known[voter])
        tickets[out / f"{known[voter]}.json"] = Ticket(read, certificate, tuple(peer or ()))
    out.mkdir(parents=True, exist_ok=True)
    for place, ticket in tickets.items():
        write_whole(place, (ticket.to_json() + "\n").encode())
    made = [str(place) for place in tickets]
    here = {t.certificate.voter for t in there if t.spec.fingerprint == read.fingerprint}
    typer.echo(f"devote: {_split(read, len(here.union(wanted)))}", err=True)
    told = {"experiment": read.name, "fingerprint": read.fingerprint, "tickets": made}
    tell(told, json, lambda _: typer.echo("\n".join(made)))


def _read_ticket(file: Path) -> "Ticket":
    from devote.gossip import GossipError, Ticket

    try:
        return Ticket.read(file)
    except GossipError as error:
        raise CommandError(
            f"{file}: {str(error).splitlines()[0]}\n"
            "Take it out of the folder, and issue anew for whoever had it."
        ) from None


def _split(spec: "ExperimentSpec", members: int) -> str:
    """Whether two parts of the network could decide differently for a while."""
    from devote.theory import split_possible

    votes, arms = spec.votes_needed or 1, spec.n_arms
    cause = f"{members} certificates, {arms} options, {votes} votes drop one"
    if votes > members:
        return f"{cause}: nothing can be decided before {votes} devices are certified."
    if not split_possible(members, votes, arms):
        liars = arms * votes - members * (arms - 1) - 1
        lie = f"at most {liars} of the devices lie" if liars else "none of the devices lies"
        return f"{cause}: parts of a cut network never decide differently, if {lie}."
    least = members * (arms - 1) // arms + 1
    return (
        f"{cause}: two parts of a cut network can each settle on another option, until it heals. "
        f"A quorum of {least} rules that out."
    )


@certify.command()
def revoke(
    spec: Spec,
    number: Annotated[list[int], typer.Argument(help="Numbers of certificates.")],
    key: Key = KEY,
    told: Annotated[
        str | None, takes("HOST:PORT", "Hand it to a device that listens there.", "--tell")
    ] = None,
    setting: Annotated[
        list[str] | None,
        takes("NAME=VALUE", "TLS files for --tell, as of `devote device`.", "--gossip"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Take certificates back, for good: their voters' votes no longer count, on any device.

    The devices pass it on among themselves. It may undo a decision that rested on those votes.

    Example:
        devote certify revoke banner.toml 7 --tell 10.0.0.7:7700
    """
    from devote.gossip.credentials import Revocation, is_number

    read, issuer = read_spec(spec), _load(key)
    if issuer.voter != read.issuer:
        raise CommandError(f"{key} is not the issuer's key of {read.name!r}.\nGive --key.")
    for one in number:
        if not is_number(one):
            raise CommandError(f"{one} is not the number of a certificate.\nThey begin at 1.")
    items = [
        {"revoked": one, "signature": Revocation.issue(issuer, read, one).signature}
        for one in number
    ]
    if told is not None:
        import asyncio

        from devote.cli.gossip import read_settings
        from devote.gossip.http import hand_over

        asyncio.run(hand_over(read_settings(setting or []), read.fingerprint, told, items))
    else:
        typer.echo(
            "devote: nobody was told. Give --tell with the address of a device that listens.",
            err=True,
        )
    word = "signed" if told is None else "revoked"
    tell(items, json, lambda _: typer.echo("\n".join(f"{word}: {one}" for one in number)))
