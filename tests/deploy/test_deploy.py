"""deploy/ as far as it can be checked without a container runtime or a running systemd.

``python -m tests.deploy.by_hand`` runs every command line of the compose file as a process.
"""

import re
import subprocess
from pathlib import Path

from tests.deploy.by_hand import COMPOSE, DEPLOY, NATS_SERVER, Machine, command_of, entrypoint
from tests.tools import needed

from devote.cli.main import COMMANDS
from devote.cli.operator import CONFIG_EXCLUDES

UNIT = (DEPLOY / "devote.service").read_text()
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
SERVE = {option.name for option in COMMANDS["serve"].options}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_compose_file_has_three_nodes_two_servers_and_nginx():
    services = COMPOSE["services"]
    assert sorted(services) == ["devote-1", "devote-2", "nats-1", "nats-2", "nats-3", "nginx"]
    for name, service in services.items():
        assert set(service.get("networks", ())) <= set(COMPOSE["networks"]), name
        assert set(service.get("depends_on", ())) <= set(services), name
        assert {v.partition(":")[0] for v in service.get("volumes", ())} <= set(COMPOSE["volumes"])
        for config in service.get("configs", ()):
            assert (DEPLOY / COMPOSE["configs"][config["source"]]["file"]).is_file()
    assert [name for name, service in services.items() if "ports" in service] == ["nginx"]
    assert COMPOSE["networks"]["log"]["internal"], "only servers reach the nodes"
    assert "log" not in services["nginx"]["networks"]


def test_every_option_on_a_command_line_is_one_of_devote_serve():
    (container,) = re.findall(r"^CMD (.*)$", CONTAINERFILE, re.MULTILINE)
    (unit,) = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    lines = [command_of("devote-1"), [*entrypoint(), *re.findall(r'"([^"]+)"', container)]]
    for line in (*lines, unit.split()):
        program, command, *words = line
        assert program.endswith("/bin/devote")
        assert command == "serve"
        assert {word for word in words if word.startswith("--")} <= SERVE


def test_the_example_of_a_config_file_names_known_keys_only():
    text = (DEPLOY / "devote.toml").read_text()
    keys = re.findall(r"^#? ?([a-z-]+) = ", text.partition("[limits]")[0], re.MULTILINE)
    assert {"store", "host", "port"} <= set(keys)
    assert {f"--{key}" for key in keys} <= SERVE
    assert CONFIG_EXCLUDES.isdisjoint(f"--{key}" for key in keys)


def test_nats_takes_its_configuration(tmp_path):
    machine = Machine(tmp_path)
    (file,) = machine.files("nats-1").values()
    text = Path(file).read_text().replace("$NATS_NAME", "nats-1")
    Path(file).write_text(text)
    ran = run(NATS_SERVER, "-t", "-c", file)
    assert ran.returncode == 0, ran.stderr


def test_nginx_takes_its_configuration(tmp_path):
    machine = Machine(tmp_path)
    (tmp_path / "nginx").mkdir()
    (file,) = machine.files("nginx").values()
    ran = run(needed("nginx"), "-t", "-c", file, "-e", "stderr")
    assert ran.returncode == 0, ran.stderr


def test_the_unit_is_one_and_leaves_little_to_the_server(tmp_path):
    analyze = needed("systemd-analyze")
    unit = tmp_path / "devote.service"
    unit.write_text(UNIT.replace("/opt/devote/bin/devote", "/bin/true"))
    ran = run(analyze, "verify", unit)
    assert (ran.returncode, ran.stderr) == (0, "")
    ran = run(analyze, "security", "--offline=yes", unit)
    (exposure,) = re.findall(r"exposure level for devote.service: ([\d.]+)", ran.stdout)
    assert float(exposure) < 2.0
