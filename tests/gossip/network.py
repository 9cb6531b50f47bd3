"""A network to cut: each device in a network namespace of its own, or on loopback.

With root, devices have an interface each on one of two bridges. A partition moves the interfaces
of one side to the other bridge: packets no longer get through, as when a cable is pulled. Without
root they share loopback, and the test's dialler refuses to dial across the cut.
"""

import ctypes
import os
import subprocess
from contextlib import suppress
from pathlib import Path

CLONE_NEWNET = 0x40000000
PORT = 7700
NEIGHBOURS = Path("/proc/sys/net/ipv4/neigh/default")


def _ip(lines: list[str], *, check: bool = True) -> None:
    subprocess.run(
        ["ip", "-batch", "-"],
        input="\n".join(lines) + "\n",
        text=True,
        check=check,
        capture_output=True,
    )


class Namespaces:
    """``count`` namespaces with the addresses 10.77.x.y."""

    kind = "network namespaces"
    allow = ("10.77.0.0/16",)

    def __init__(self, count: int) -> None:
        self._tag = f"dv{os.getpid() % 10_000}"
        self._count = count
        # All namespaces share one table of neighbours, which is too small for a hundred of them.
        self._neighbours = {place: place.read_text() for place in NEIGHBOURS.glob("gc_thresh*")}
        for place in self._neighbours:
            place.write_text("65536")
        lines = []
        for bridge in "ab":
            lines += [
                f"link add {self._tag}{bridge} type bridge",
                f"link set {self._tag}{bridge} up",
            ]
        for n in range(count):
            lines += [
                f"netns add {self._tag}-{n}",
                f"link add {self._tag}h{n} type veth peer name eth0 netns {self._tag}-{n}",
                f"link set {self._tag}h{n} master {self._tag}a up",
            ]
        _ip(lines)
        for n in range(count):
            inside = [f"addr add {self.host(n)}/16 dev eth0", "link set eth0 up", "link set lo up"]
            subprocess.run(
                ["ip", "-n", f"{self._tag}-{n}", "-batch", "-"],
                input="\n".join(inside) + "\n",
                text=True,
                check=True,
            )

    def host(self, n: int) -> str:
        return f"10.77.{(n + 1) // 250}.{(n + 1) % 250 + 1}"

    def address(self, n: int) -> str:
        return f"{self.host(n)}:{PORT}"

    def enter(self, n: int) -> None:
        """Move this process into the namespace of a device."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/var/run/netns/{self._tag}-{n}") as place:
            if libc.setns(place.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

    def cut(self, side: set[int]) -> None:
        """Part these devices from all others; an empty side heals."""
        bridge = {n: "b" if n in side else "a" for n in range(self._count)}
        _ip([f"link set {self._tag}h{n} master {self._tag}{bridge[n]}" for n in bridge])

    def crosses(self, n: int, address: str) -> bool:
        return False

    def traffic(self, n: int) -> int:
        """Bytes that a device has sent and received, with all headers."""
        counters = Path(f"/sys/class/net/{self._tag}h{n}/statistics")
        return sum(int((counters / f"{way}_bytes").read_text()) for way in ("rx", "tx"))

    def close(self) -> None:
        lines = [f"netns del {self._tag}-{n}" for n in range(self._count)]
        lines += [f"link del {self._tag}{bridge}" for bridge in "ab"]
        with suppress(OSError):
            for place, before in self._neighbours.items():
                place.write_text(before)
            subprocess.run(
                ["ip", "-force", "-batch", "-"],
                input="\n".join(lines) + "\n",
                text=True,
                check=False,
                capture_output=True,
            )


class Loopback:
    """127.77.x.y, with a cut in the dialler."""

    kind = "loopback, cut in the dialler"
    allow = ("127.0.0.0/8",)

    def __init__(self, count: int) -> None:
        self._count = count
        self.groups = bytearray(count)

    def host(self, n: int) -> str:
        return f"127.77.{(n + 1) // 250}.{(n + 1) % 250 + 1}"

    def address(self, n: int) -> str:
        return f"{self.host(n)}:{PORT}"

    def enter(self, n: int) -> None:
        return

    def cut(self, side: set[int]) -> None:
        for n in range(self._count):
            self.groups[n] = n in side

    def crosses(self, n: int, address: str) -> bool:
        """Whether a device would dial across the cut."""
        _, _, high, low = address.partition(":")[0].split(".")
        other = int(high) * 250 + int(low) - 2
        return 0 <= other < self._count and self.groups[n] != self.groups[other]

    def traffic(self, n: int) -> int:
        return 0

    def close(self) -> None:
        return


def make_network(count: int) -> Namespaces | Loopback:
    """Namespaces where they can be had."""
    if os.geteuid() == 0:
        network = None
        try:
            network = Namespaces(count)
            pid = os.fork()
            if not pid:
                try:
                    network.enter(0)
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            if os.waitpid(pid, 0)[1] == 0:
                return network
        except (OSError, subprocess.CalledProcessError):
            pass
        if network is not None:
            network.close()
    return Loopback(count)
