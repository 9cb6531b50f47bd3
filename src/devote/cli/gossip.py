"""What the commands about devices without a server share: settings, specifications, boards."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devote.cli.errors import CommandError
from devote.errors import did_you_mean

if TYPE_CHECKING:
    from devote.gossip import GossipBoard, GossipSettings
    from devote.protocol import ExperimentSpec


def read_spec(file: Path) -> "ExperimentSpec":
    """A specification: a .toml or .json file."""
    from devote.protocol import ExperimentSpec

    text = file.read_text()
    return (
        ExperimentSpec.from_toml(text) if file.suffix == ".toml" else ExperimentSpec.from_json(text)
    )


def read_settings(words: Sequence[str]) -> "GossipSettings":
    """Settings written as name=value; networks in ``allow`` are separated by commas."""
    from devote.gossip import GossipSettings

    known = {item.name: item.default for item in fields(GossipSettings)}
    given: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in known or not equals:
            raise CommandError(
                f"--gossip {word!r} is not a setting.\n{did_you_mean(name, known)}"
                f"Write NAME=VALUE; the names are: {', '.join(known)}."
            )
        before = known[name]
        try:
            if isinstance(before, bool):
                given[name] = {"true": True, "yes": True, "false": False, "no": False}[text.lower()]
            elif isinstance(before, tuple):
                given[name] = tuple(part for part in text.split(",") if part)
            elif isinstance(before, int | float):
                given[name] = type(before)(text)
            else:
                given[name] = Path(text) if before is None else text
        except (KeyError, ValueError):
            raise CommandError(
                f"--gossip {word!r} has a value of the wrong kind.\nThe default is {before!r}."
            ) from None
    return GossipSettings(**given)


def open_board(
    url: str, store: Path, invite: str | None, words: Sequence[str], *, page: bool
) -> "GossipBoard":
    """The board of a device, with a page if that is wanted."""
    from devote.gossip import GossipBoard

    settings = read_settings(words)
    if page and not settings.listen:
        raise CommandError(
            "--page needs an address to show it at.\nAdd --gossip listen=127.0.0.1:7700."
        )
    make_page = _make_page if page else None
    return GossipBoard(url, store, ticket=invite, settings=settings, make_page=make_page)


def _make_page(store: Any) -> Any:
    from devote.page import add_page
    from devote.server import Settings, create_app

    app = create_app(store, Settings(streams=32))  # the other connections are for peers
    add_page(app)
    return app
