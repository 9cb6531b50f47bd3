"""A shop whose visitors find its best banners: ``python examples/banner/run.py``.

On phones another banner is best than on desktops. Each browser knows which it is, and tells nobody.

Starts the shop, a devote server that allows its pages, and made-up visitors who make the
experiment's page move while you look at both. Ctrl-C ends it all; nothing is kept.
"""

import argparse
import signal
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from backend import Shop

from devote.boards.board import Experiment
from devote.boards.operator import Operator
from devote.demo.processes import CrowdProcess, ServerProcess, Task
from devote.protocol import ExperimentSpec
from devote.schemes import Survey

BANNERS = ("Free delivery", "Spring harvest", "Tea of the day")
CLICKS = {"phone": (0.25, 0.40, 0.75), "desktop": (0.75, 0.40, 0.25)}
"""How often the made-up visitors of each kind click each banner."""

SPEC = ExperimentSpec(
    arms=BANNERS,
    name="banner",
    epsilon=0.2,
    scheme=Survey(privacy=3.0, reply_after=10.0, segments=tuple(CLICKS)),
)


def start(stack: ExitStack, folder: Path, *, port: int = 0, spec: ExperimentSpec = SPEC) -> Shop:
    """The shop and its server, running until the stack is closed."""
    shop = stack.enter_context(Shop(port))
    server = ServerProcess(folder, options=["--allow-origin", shop.origin])
    server.start()
    stack.callback(server.stop)
    operator = stack.enter_context(Operator(server.address, server.token))
    operator.open(Experiment(spec, "invite"))
    shop.take_part(operator, spec.name)
    threading.Thread(target=shop.serve_forever, daemon=True).start()
    stack.callback(shop.shutdown)
    return shop


def make_up(stack: ExitStack, shop: Shop, folder: Path, count: int) -> CrowdProcess:
    """So many Python devices beside the browsers, each with an invite of its own."""
    url, after = shop.words[b"EXPERIMENT"].decode(), SPEC.scheme.sending.reply_after
    assert after is not None
    invites = {n: shop.invites.of(f"made-up-{n}") for n in range(count)}
    crowd = CrowdProcess(Task(url, folder, (), invites, 1, 1, after, CLICKS))
    crowd.start()
    stack.callback(crowd.kill)
    return crowd


def main() -> None:
    """Run until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000, help="of the shop; 0 for any")
    parser.add_argument("--visitors", type=int, default=600, help="made up, beside you")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that what was started is ended too
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            shop = start(stack, folder, port=given.port)
        except OSError as error:
            sys.exit(f"Port {given.port} cannot be used: {error.strerror}. Use --port 0 for any.")
        print(f"The shop:        {shop.origin}/")
        print(f"The experiment:  {shop.words[b'WATCH'].decode()}")
        print(f"{given.visitors} made-up visitors come as well. Ctrl-C ends it.", flush=True)
        if given.visitors:
            make_up(stack, shop, folder, given.visitors)
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
