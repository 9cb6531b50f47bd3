"""A sweep in a process of its own, for tests that kill it: ``sweep_script.py FILE WORKERS``.

It says how many trials are finished after each block of them, and ``done`` at the end.
"""

import signal
import sys

from tests.simulator.sweeps import long_cells

from devote.simulator import run_sweep

TRIALS = 60
SEED = 5


def main() -> None:
    # A shell that started the tests in the background has left Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_sweep(
        long_cells(),
        trials=TRIALS,
        seed=SEED,
        workers=int(sys.argv[2]),
        results=sys.argv[1],
        progress=lambda done, total, label: print("trials", done, total, flush=True),
    )
    print("done", flush=True)


if __name__ == "__main__":
    main()
