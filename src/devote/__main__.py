"""``python -m devote``, and the command ``devote``: the version needs nothing but Python."""

import sys
from collections.abc import Sequence

from devote import __version__
from devote.extras import missing_extra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; without the extra ``cli`` say how to install it."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        print(f"devote {__version__}")
        return 0
    try:
        from devote.cli.main import main as run
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        print("devote:", " ".join(str(missing).split()), file=sys.stderr)
        return 2
    return run(given)


if __name__ == "__main__":
    sys.exit(main())
