"""deploy/compose.yaml without a container runtime: each service as a process on this machine.

The command lines and the configuration files are those of deploy/; only names of hosts, ports and
folders are replaced, by ``Machine.put``. A fleet votes through nginx while a server and a node are
killed, and the log is verified. Run ``python -m tests.deploy.by_hand``.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from tests.tools import free_port

from devote.device import Device

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
NATS_SERVER = Path(sys.executable).with_name("nats-server")
SPEC = 'name = "banner"\narms = ["red", "green", "blue"]\nepsilon = 1.0\n[scheme]\nquorum = 3\n'


def entrypoint() -> list[str]:
    """What the image of deploy/Containerfile starts."""
    text = (DEPLOY / "Containerfile").read_text()
    return list(json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[0]))


def command_of(service: str) -> list[str]:
    """The whole command line of a service, as a container would run it."""
    settings = COMPOSE["services"][service]
    started_by = {"nats": ["nats-server"], "nginx": []}
    image = settings.get("image", "").partition(":")[0]
    return [*started_by.get(image, entrypoint()), *settings["command"]]


class Machine:
    """The services as processes, with what they write in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.token = folder / "operator.token"
        self.token.touch(mode=0o600)
        self.token.write_text(secrets.token_hex(32) + "\n")
        ports = {"nats": (4222, 6222), "devote": (8600,)}
        self._ports = {
            (service, port): free_port()
            for service in COMPOSE["services"]
            for port in ports.get(service.partition("-")[0], ())
        }
        self._nginx = free_port()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._nginx}"

    def put(self, text: str, service: str) -> str:
        """A text of deploy/ for this machine: other addresses and folders, and nothing else."""
        for (name, port), here in self._ports.items():
            text = text.replace(f"{name}:{port}", f"127.0.0.1:{here}")
            if name == service:
                text = text.replace(f"0.0.0.0:{port}", f"127.0.0.1:{here}")
        own = self.folder / service
        places = {
            "/data": str(own),
            "/var/cache/nginx": str(own),
            "/run/secrets/operator_token": str(self.token),
            "0.0.0.0": "127.0.0.1",
            "listen 8080": f"listen 127.0.0.1:{self._nginx}",
        }
        for before, after in places.items():
            text = text.replace(before, after)
        return text

    def files(self, service: str) -> dict[str, str]:
        """The configuration files of a service, by where it looks for them; made here."""
        files = {}
        for config in COMPOSE["services"][service].get("configs", ()):
            content = (DEPLOY / COMPOSE["configs"][config["source"]]["file"]).read_text()
            target = self.folder / f"{service}.conf"
            target.write_text(self.put(content, service))
            files[config["target"]] = str(target)
        return files

    def start(self, service: str) -> None:
        """Start a service by its command line."""
        (self.folder / service).mkdir(exist_ok=True)
        files = self.files(service)
        line = [self.put(word, service) for word in command_of(service)]
        program, *words = [files.get(word, word) for word in line]
        here = {"nats-server": [str(NATS_SERVER)], "nginx": [shutil.which("nginx") or "nginx"]}
        command = here.get(program, [sys.executable, "-m", "devote"])
        if program.endswith("devote"):
            words += ["--port", str(self._ports[service, 8600])]
        elif program == "nginx":
            words += ["-e", "stderr"]
        given = COMPOSE["services"][service].get("environment", {})
        with (self.folder / f"{service}.log").open("ab") as log:
            self.processes[service] = subprocess.Popen(
                [*command, *words], env={**os.environ, **given}, stdout=log, stderr=log
            )

    def kill(self, service: str) -> None:
        """As a power cut would."""
        self.processes[service].kill()
        self.processes[service].wait()

    def stop(self) -> None:
        """End what was started here."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        for process in self.processes.values():
            process.wait(30)

    def wait(self, address: str, seconds: float = 60.0) -> None:
        """Until a server is healthy."""
        until = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(f"{address}/health", timeout=5):
                    return
            except OSError:
                assert time.monotonic() < until, self.logs()
                time.sleep(0.1)

    def logs(self) -> str:
        """The ends of the logs of the services."""
        files = sorted(self.folder.glob("*.log"))
        return "\n".join(f"{file.name}: {file.read_text()[-600:]}" for file in files)

    def devote(self, *words: str) -> str:
        """A command of the operator, through nginx."""
        command = [sys.executable, "-m", "devote", *words]
        until = time.monotonic() + 60.0
        while True:  # after a node was killed, the others choose a leader first
            ran = subprocess.run(
                command, capture_output=True, text=True, cwd=self.folder, check=False
            )
            if ran.returncode == 0:
                return ran.stdout
            assert time.monotonic() < until, f"{words}: {ran.stderr}\n{self.logs()}"
            time.sleep(1.0)

    def operate(self, *words: str) -> str:
        """The same with the token."""
        return self.devote(*words, "--server", self.address, "--token-file", str(self.token))


@contextmanager
def machine() -> Iterator[Machine]:
    """All services, started in the order in which they need each other."""
    with tempfile.TemporaryDirectory(prefix="devote-deploy-") as folder:
        Path(folder).chmod(0o711)  # the workers of nginx are another user
        running = Machine(Path(folder))
        try:
            for service in COMPOSE["services"]:
                running.start(service)
            running.wait(running.address)
            yield running
        finally:
            running.stop()


def play(devices: list[Device], rounds: int) -> None:
    for n in range(rounds):
        device = devices[n % len(devices)]
        device.reward(1.0 if device.choose().name == "green" else 0.0)


def main() -> None:
    """Every service, a fleet, a killed server, a killed node, and the count checked."""
    with machine() as running, ExitStack() as stack:
        (running.folder / "banner.toml").write_text(SPEC)
        url = running.operate("experiments", "open", "banner.toml", "--players", "12").strip()
        invites = running.operate("invites", "banner", "--count", "12").split()
        print(f"{len(running.processes)} services, an experiment and 12 invites through nginx")
        devices = [
            stack.enter_context(Device.join(url, store=running.folder / f"{n}.db", invite=invite))
            for n, invite in enumerate(invites)
        ]
        play(devices, 24)
        for service in ("devote-1", "nats-2"):
            running.kill(service)
            play(devices, 60)
            print(f"{service} killed, devices play on")
        until = time.monotonic() + 120.0
        while any(device.best() is None for device in devices):
            assert time.monotonic() < until, running.logs()
            play(devices, 24)
            for device in devices:
                device.sync()
        print("all agree on", {device.arms[device.best()] for device in devices})
        print(running.operate("experiments", "list"))
        running.operate("experiments", "close", "banner")
        assert "All is well." in running.devote("verify", url)
        print("closed, and the count verified")


if __name__ == "__main__":
    main()
