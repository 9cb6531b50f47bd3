"""Conditional reads of a tally through nginx, with the load generator beside it.

Run ``python -m benchmarks.cached_reads`` in the root of the repository; it needs Debian's nginx and
wrk. The server, nginx with one worker and deploy/cache.conf, and wrk share this machine.
Told are the reads answered per second, on the clock and by processor time, how many of them reached
the server, and what travelled.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from benchmarks.load import TICKS, fill, free_port, running
from tests.server.nginx import NGINX, nginx

TALLY = "/experiments/old/tally"
ROUTE = 'route="/experiments/{name}/tally"'


def seen(origin: str) -> float:
    """How many reads of a tally the server has answered."""
    lines = httpx.get(f"{origin}/metrics").text.splitlines()
    counted = [line for line in lines if line.startswith("devote_requests_total") and ROUTE in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in counted)


def nginx_cpu(folder: Path) -> float:
    """Processor seconds of nginx's worker."""
    master = (folder / "nginx" / "pid").read_text().strip()
    workers = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in workers]
    return sum(int(each[11]) + int(each[12]) for each in fields) / TICKS


def measure(seconds: int, connections: int, cache: str, origin: str, folder: Path) -> None:
    told = httpx.get(cache + TALLY)
    tag = told.headers["ETag"]
    again = httpx.get(cache + TALLY, headers={"If-None-Match": tag})
    assert again.status_code == 304, again.status_code
    before, begin = seen(origin), time.monotonic()
    cpu, children = nginx_cpu(folder), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += ["-H", f"If-None-Match: {tag}", cache + TALLY]
    ran = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    took, cpu = time.monotonic() - begin, nginx_cpu(folder) - cpu
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    wrk = now.ru_utime + now.ru_stime - children.ru_utime - children.ru_stime
    rate = float(re.findall(r"Requests/sec:\s+([\d.]+)", ran)[0])
    total, size = re.findall(r"(\d+) requests in [\d.]+\w+, ([\d.]+\w+) read", ran)[0]
    origin_rate = (seen(origin) - before) / took
    odd = re.findall(r"Non-2xx or 3xx responses: (\d+)", ran)
    print(
        f"{rate:12,.0f} conditional reads per second ({total} in all, {size}, {odd or 'all 304'})"
    )
    print(f"{int(total) / cpu:12,.0f} per second of nginx's core, {int(total) / wrk:,.0f} of wrk's")
    print(f"{origin_rate:12.2f} of them per second reached the server")
    print(f"{_head(again):12} bytes of head in an answer of 304", flush=True)


def _head(answer: httpx.Response) -> int:
    lines = [f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    return sum(len(line) + 2 for line in lines) + 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if NGINX is None or shutil.which("wrk") is None:
        sys.exit("This needs nginx and wrk: sudo apt-get install nginx-light wrk")
    with tempfile.TemporaryDirectory(prefix="devote-cached-") as name:
        folder, port = Path(name), free_port()
        fill(folder / "server.db")
        serve = ("devote.cli.main", "serve", "--store", f"{name}/server.db", "--port", str(port))
        with running("devote", port, *serve), nginx(port, folder / "nginx") as cache:
            for run in range(options.runs):
                load = os.getloadavg()[0]
                print(f"run {run + 1}, load average {load:.1f} on {os.cpu_count()} cores")
                origin = f"http://127.0.0.1:{port}"
                measure(options.seconds, options.connections, cache, origin, folder)


if __name__ == "__main__":
    main()
