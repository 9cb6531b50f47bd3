"""deploy/ as far as it can be checked without a container runtime or a running systemd.

``python -m tests.deploy.by_hand`` runs every command line of the compose file as a process.
"""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from tests.deploy.by_hand import COMPOSE, DEPLOY, NATS_SERVER, Machine, command_of, entrypoint
from tests.tools import needed

from devote.cli.main import COMMANDS
from devote.cli.operator import CONFIG_EXCLUDES
from devote.server.metrics import Metrics

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


# Kubernetes, Prometheus and Grafana.

MANIFESTS = list(yaml.safe_load_all((DEPLOY / "k8s" / "devote.yaml").read_text()))
SCHEMA = json.loads((Path(__file__).parents[1] / "data" / "kubernetes.json").read_text())


def faults(manifest):
    """What Kubernetes' own schema, in which no unknown field is allowed, says of a manifest."""
    kind = {"$ref": f"#/$defs/{SCHEMA['kinds'][manifest['kind']]}"}
    return list(jsonschema_rs.validator_for({**SCHEMA, **kind}).iter_errors(manifest))


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: each["kind"])
def test_kubernetes_knows_every_field_of_its_manifests(manifest):
    assert faults(manifest) == []
    assert faults({**manifest, "spex": {}}) != []


def test_what_manifests_name_is_there():
    by_kind = {each["kind"]: each for each in MANIFESTS if each["kind"] != "Service"}
    pod = by_kind["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    volumes = {volume["name"] for volume in pod["volumes"]}
    volumes |= {
        each["metadata"]["name"] for each in by_kind["StatefulSet"]["spec"]["volumeClaimTemplates"]
    }
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    for service in (each for each in MANIFESTS if each["kind"] == "Service"):
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= set(ports)
        assert service["spec"]["selector"] == {"app": "devote"}
    config = tomllib.loads(by_kind["ConfigMap"]["data"]["devote.toml"])
    assert {f"--{key}" for key in config} <= SERVE
    assert ports == {"http": config["port"], "admin": config["admin-port"]}
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    for path in (config["store"], config["token-file"]):
        assert str(Path(path).parent) in mounts


def test_alerts_and_the_dashboard_ask_for_metrics_that_there_are():
    metrics = Metrics()
    metrics.count_request("GET", "/health", 200)
    metrics.seconds.labels("/health").observe(0.1)
    metrics.dropped.labels("idle").inc()
    metrics.messages.labels("banner", "accepted").inc()
    item = {"name": "banner", "state": "open", "status": "open", "enrolled": 2, "messages": 1}
    item |= {"senders": 1, "mismatch": True, "withdrawn": ["red"]}
    text = metrics.render([item], streams=0, connections=1).decode()
    known = set(re.findall(r"^(devote_\w+)", text, re.MULTILINE))
    assert 'devote_mismatch{experiment="banner"} 1.0' in text
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    rules = [
        rule
        for group in yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for rule in rules]
    for expression in asked:
        names = set(re.findall(r"devote_\w+", expression))
        assert names <= known, names - known
        assert names or "up{" in expression
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)
