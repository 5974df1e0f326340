"""What is under deploy/, tried as far as it can be tried here.

There is no systemd, no container engine and no Kubernetes in a test. But the commands that they would run are run, with
their configurations: three nodes, on one machine instead of three.
"""

from __future__ import annotations

import contextlib
import grp
import importlib.util
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import congenial
from congenial.net.certs import make_certificates
from congenial.net.config import free_addresses, load_config
from congenial.net.metrics import HostMetrics
from loud import not_run

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
LONG = 60.0


def read_yaml(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


# -- what is run, and with which configuration ------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """A way to run nodes: the words after `congenial` for a node, the configuration, and the nodes' names."""

    words: list[str]  # with NAME in the place of the node's name
    config: str
    names: tuple[str, ...]


def systemd() -> Form:
    (line,) = re.findall(r"^ExecStart=\S+/congenial (.*)$", unit().replace("\\\n", " "), re.MULTILINE)
    return Form(shlex.split(line.replace("%i", "NAME")), (DEPLOY / "systemd/cluster.toml").read_text(), ("a", "b", "c"))


def compose() -> Form:
    (described,) = read_yaml("container/compose.yaml")
    commands = {name: described["services"][name]["command"] for name in "abc"}
    words = [["NAME" if word == name else word for word in command] for name, command in commands.items()]
    assert words[0] == words[1] == words[2]
    return Form(words[0], (DEPLOY / "container/cluster.toml").read_text(), ("a", "b", "c"))


def kubernetes() -> Form:
    config, _, _, pods = read_yaml("kubernetes/congenial.yaml")
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    names = tuple([f"{pods['metadata']['name']}-{number}" for number in range(pods["spec"]["replicas"])])
    words = ["NAME" if word == "$(POD_NAME)" else word for word in container["args"]]
    return Form(words, config["data"]["cluster.toml"], names)


FORMS = {"systemd": systemd, "compose": compose, "kubernetes": kubernetes}


def unit() -> str:
    return (DEPLOY / "systemd/congenial@.service").read_text(encoding="utf-8")


class Machine:
    """A machine on which all nodes run, each with its own copy of the configuration, since ports must differ."""

    def __init__(self, form: Form, folder: Path) -> None:
        self.form = form
        self.folder = folder
        n = len(form.names)
        addresses = free_addresses(3 * n)
        self.metrics = dict(zip(form.names, addresses[:n], strict=True))
        self.nodes = dict(zip(form.names, addresses[n : 2 * n], strict=True))
        self.clients = dict(zip(form.names, addresses[2 * n :], strict=True))
        self.processes: dict[str, subprocess.Popen[str]] = {}
        make_certificates([*form.names, "web"], folder / "certs")
        for path in ("etc/congenial", "var/lib/congenial", "run/congenial"):
            (folder / path).mkdir(parents=True)

    def config(self, name: str) -> Path:
        text = self.form.config
        for node, address in tomllib.loads(text)["nodes"].items():
            assert address.endswith(":7101")
            text = text.replace(f'"{address}"', f'"{self.nodes[node]}"')
        assert '"0.0.0.0:9100"' in text
        text = text.replace('"0.0.0.0:9100"', f'"{self.metrics[name]}"')
        path = self.folder / "etc/congenial" / f"{name}.toml"
        path.write_text(self._here(text))
        return path

    def _here(self, text: str) -> str:
        for path in ("/var/lib/congenial", "/run/congenial"):
            text = text.replace(path, f"{self.folder}{path}")
        return re.sub(r'"[\w/.-]*certs/', f'"{self.folder}/certs/', text)

    def socket(self, name: str) -> Path:
        return self.folder / "run/congenial" / f"{name}.sock"

    def start(self, name: str) -> None:
        config = self.config(name)
        given = [self._here(word.replace("NAME", name)) for word in self.form.words]
        here = {"0.0.0.0:7201": self.clients[name], "congenial": grp.getgrgid(os.getgid()).gr_name}
        words = [str(config) if word.endswith("/cluster.toml") else here.get(word, word) for word in given]
        assert {str(config), self.clients[name]} <= set(words)
        env = {**os.environ, "CONGENIAL_SOCKET": str(self.socket(name))}
        log = open(self.folder / f"{name}.log", "w")
        command = [sys.executable, "-m", "congenial", *words]
        self.processes[name] = subprocess.Popen(command, env=env, stdout=log, stderr=log, text=True)

    def get(self, name: str, path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://{self.metrics[name]}{path}", timeout=LONG) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def wait(self, name: str, path: str, code: int) -> None:
        deadline = time.monotonic() + LONG
        while self.get(name, path) != code:
            logs = "\n".join([log.read_text() for log in self.folder.glob("*.log")])
            assert time.monotonic() < deadline, logs
            assert self.processes[name].poll() is None, logs
            time.sleep(0.05)


@contextlib.contextmanager
def machine(form: Form, folder: Path) -> Iterator[Machine]:
    made = Machine(form, folder)
    try:
        yield made
    finally:
        for process in made.processes.values():
            process.terminate()
        for process in made.processes.values():
            process.wait(LONG)


@pytest.mark.deep
@pytest.mark.parametrize("form", FORMS)
def test_the_nodes_start_become_ready_and_serve_locks(form: str, tmp_path: Path) -> None:
    with machine(FORMS[form](), tmp_path) as nodes:
        first, *others = nodes.form.names
        nodes.start(first)
        nodes.wait(first, "/healthz", 200)
        assert nodes.get(first, "/readyz") == 503
        for name in others:
            nodes.start(name)
        for name in nodes.form.names:
            nodes.wait(name, "/readyz", 200)
        command = ["lock", "x", "--socket", str(nodes.socket(first)), "--timeout", "60", "--", "echo", "alone"]
        done = subprocess.run([sys.executable, "-m", "congenial", *command], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "alone\n"), done.stderr
        tls = congenial.Tls(*[str(tmp_path / "certs" / name) for name in ("ca.pem", "web.pem", "web.key")])
        with congenial.connect_blocking(nodes.clients, tls=tls) as node, node.mutex("x", timeout=LONG) as held:
            assert held.fence > 0
        assert sorted(path.name for path in (tmp_path / "var/lib/congenial").iterdir()) == sorted(nodes.form.names)
    assert [process.returncode for process in nodes.processes.values()] == [0, 0, 0]
    for name in nodes.form.names:
        assert "Traceback" not in (tmp_path / f"{name}.log").read_text()


@pytest.mark.parametrize("form", FORMS)
def test_the_configuration_is_right_and_names_all_nodes(form: str, tmp_path: Path) -> None:
    about = FORMS[form]()
    path = tmp_path / "cluster.toml"
    path.write_text(about.config)
    config = load_config(path)
    assert config.members == about.names
    assert not config.insecure
    assert config.tls is not None
    assert config.metrics == "0.0.0.0:9100"
    assert config.state.startswith("/var/lib/congenial/")


# -- systemd ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [False, True])
def test_systemd_understands_the_unit(wrong: bool, tmp_path: Path) -> None:
    """And complains about a wrong one, so that we know that it looks."""
    if shutil.which("systemd-analyze") is None:
        not_run("deploy/systemd is not verified: there is no systemd-analyze")
    text = unit().replace("/opt/congenial/bin/congenial", sys.executable)
    if wrong:
        text = text.replace("Type=notify", "Type=notified")
    (tmp_path / "congenial@.service").write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "congenial@a.service")]
    told = subprocess.run(command, capture_output=True, text=True)
    ours = [line for line in told.stderr.splitlines() if "congenial@" in line]
    assert bool(ours) is wrong, told.stderr


# -- containers -------------------------------------------------------------------------------------------------------


def test_the_image_has_what_the_build_needs() -> None:
    lines = (DEPLOY / "container/Dockerfile.dockerignore").read_text().split()
    for line in lines:
        if line.startswith("!"):
            assert (ROOT / line[1:]).exists(), line
    text = (DEPLOY / "container/Dockerfile").read_text()
    assert "'congenial[net]'" in text
    port = tomllib.loads(compose().config)["metrics"].rpartition(":")[2]
    assert f"127.0.0.1:{port}/healthz" in text
    assert f"EXPOSE 7101 7201 {port}" in text


def test_the_containers_share_certificates_and_keep_their_state_apart() -> None:
    (described,) = read_yaml("container/compose.yaml")
    services = described["services"]
    certs = services["certs"]["command"]
    assert certs[: certs.index("--out") + 2] == certs
    for name in "abc":
        mounted = dict([tuple(reversed(volume.split(":")[:2])) for volume in services[name]["volumes"]])
        assert mounted["/var/lib/congenial"] == name
        assert mounted["/etc/congenial/certs"] == "certs"
        assert mounted["/etc/congenial/cluster.toml"] == "./cluster.toml"
        assert services[name]["depends_on"]["certs"]["condition"] == "service_completed_successfully"
    assert set(described["volumes"]) == {"certs", *"abc"}


def test_kubernetes_finds_pods_ports_and_volumes() -> None:
    config, service, budget, pods = read_yaml("kubernetes/congenial.yaml")
    assert [part["kind"] for part in (config, service, budget, pods)] == [
        "ConfigMap",
        "Service",
        "PodDisruptionBudget",
        "StatefulSet",
    ]
    template = pods["spec"]["template"]
    labels = template["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert budget["spec"]["selector"]["matchLabels"] == pods["spec"]["selector"]["matchLabels"] == labels
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert pods["spec"]["podManagementPolicy"] == "Parallel"
    settings = tomllib.loads(config["data"]["cluster.toml"])
    headless = {f"{name}.{service['metadata']['name']}:7101" for name in kubernetes().names}
    assert set(settings["nodes"].values()) == headless
    assert pods["spec"]["serviceName"] == service["metadata"]["name"]
    (container,) = template["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {port["name"]: port["port"] for port in service["spec"]["ports"]}
    assert ports["metrics"] == int(settings["metrics"].rpartition(":")[2])
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in pods["spec"]["volumeClaimTemplates"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    places = [mount["mountPath"] for mount in container["volumeMounts"]]
    for path in (settings["state"], *settings["tls"].values(), "/run/congenial/node.sock"):
        assert any([path.startswith(place + "/") for place in places]), path
    image = (DEPLOY / "container/Dockerfile").read_text()
    assert f"USER {template['spec']['securityContext']['runAsUser']}\n" in image


@pytest.mark.parametrize("version", ["1.29", "latest"])
def test_kubernetes_knows_every_field(version: str) -> None:
    """By its own schema, in which nothing unknown is allowed."""
    if importlib.util.find_spec("kubernetes_validate") is None:
        not_run("deploy/kubernetes is not validated: there is no kubernetes-validate")
    import kubernetes_validate

    known = kubernetes_validate.latest_version() if version == "latest" else version
    for part in read_yaml("kubernetes/congenial.yaml"):
        kubernetes_validate.validate(part, known, strict=True)
    part["spec"]["replicaz"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(part, known, strict=True)


# -- Prometheus and Grafana -------------------------------------------------------------------------------------------


def series() -> set[str]:
    """The names of all time series that a member serves."""
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster:
        found: set[str] = set()
        for family in HostMetrics(cluster._cluster._host).collect():
            endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(family.type, ("",))
            found |= {family.name + ending for ending in endings}
    return found


def test_alerts_and_dashboard_ask_for_metrics_that_exist() -> None:
    (alerts,) = read_yaml("prometheus/alerts.yaml")
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    asked = set(re.findall(r"congenial_\w+", " ".join([rule["expr"] for rule in rules])))
    there = series()
    assert asked <= there
    described = " ".join([rule["annotations"]["description"] for rule in rules])
    assert {name for name in re.findall(r"congenial_\w+", described) if name not in there} <= {"congenial_hold_seconds"}
    shown = set(re.findall(r"congenial_\w+", (DEPLOY / "grafana/dashboard.json").read_text()))
    assert shown <= there
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in there}
    used = {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown | asked}
    assert families - used <= {"congenial_sessions_total", "congenial_members"}, "a metric that nobody looks at"


def test_the_dashboard_is_what_its_program_makes(rewrite: bool) -> None:
    made = runpy.run_path(str(DEPLOY / "grafana/make_dashboard.py"))["text"]()
    path = DEPLOY / "grafana/dashboard.json"
    if rewrite:
        path.write_text(made)
    assert path.read_text() == made


def test_prometheus_understands_the_alerts() -> None:
    """Each alert fires when it should, and not before: alerts_test.yaml."""
    if shutil.which("promtool") is None:
        not_run("the alerts under deploy/prometheus are not tested: there is no promtool")
    for words in (("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")):
        told = subprocess.run(["promtool", *words], cwd=DEPLOY / "prometheus", capture_output=True, text=True)
        assert told.returncode == 0, told.stdout + told.stderr


def test_every_alert_is_tested() -> None:
    (alerts,) = read_yaml("prometheus/alerts.yaml")
    names = {rule["alert"] for group in alerts["groups"] for rule in group["rules"]}
    text = (DEPLOY / "prometheus/alerts_test.yaml").read_text()
    assert {name for name in names if name not in text} == set()
