"""The nginx of deploy/cache.conf, run as it is but for its ports and its folder."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.tools import found, free_port

CACHE = Path(__file__).parents[2] / "deploy" / "cache.conf"
NGINX = found("nginx")


def configuration(origin: int, port: int, folder: Path, workers: int) -> str:
    """The file within what nginx needs around it."""
    block = CACHE.read_text()
    changes = {
        "127.0.0.1:8600": f"127.0.0.1:{origin}",
        "listen 8080": f"listen 127.0.0.1:{port}",
        "/var/cache/nginx": str(folder),
    }
    for here, there in changes.items():
        assert here in block, f"{here} is not in {CACHE.name}"
        block = block.replace(here, there)
    temporary = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    top = f"worker_processes {workers};\npid {folder}/pid;\nerror_log {folder}/errors warn;\n"
    user = "user root;\n" if os.geteuid() == 0 else ""
    events = "events { worker_connections 4096; }\n"
    return f"{user}{top}daemon off;\n{events}http {{\n{temporary}{block}\n}}\n"


@contextmanager
def nginx(origin: int, folder: Path, workers: int = 1) -> Iterator[str]:
    """nginx in front of a server at a port; gives its address."""
    assert NGINX is not None
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "nginx.conf"
    file.write_text(configuration(origin, port, folder, workers))
    command = [NGINX, "-p", str(folder), "-c", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise AssertionError((folder / "errors").read_text())
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)
