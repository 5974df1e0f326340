"""Wrong arguments of what programs call, and wrong options of the commands of a cluster: one clear line for each.

The parameters come from the signatures; one without wrong values in the tables below fails.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import congenial
from congenial.cli import main
from congenial.kernel.errors import ConfigError, ContractError
from congenial.net.blocking import BlockingCluster
from congenial.net.client import Client
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.locks import Cluster, LockForms
from congenial.net.service import serve
from congenial.problems.weak import Counter

PEERS = {"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}
NAME = (5, 0.5, True, None, [], ["x"], bytearray(b"x"), Counter())
TEXT = (*NAME, b"x")
GOOD: dict[str, Any] = {
    "name": "x",
    "group": "g",
    "k": 1,
    "machine": Counter(),
    "parties": 1,
    "count": 1,
    "role": "voter",
}
WRONG: dict[str, tuple[Any, ...]] = {  # of methods
    "name": NAME,
    "group": NAME,
    "reentrant": (None, 1, "yes", []),
    "here": (None, 1, "yes", []),
    "k": (0, -1, 0.5, 1.0, True, "4", None, nan, 10**30, []),
    "timeout": (-1, -0.001, nan, -inf, 1e100, "1", True, b"1", [], Counter()),
    "lock": (5, True, b"x", [], Counter()),
    "find": (5, True, b"x", [], Counter()),
    "top": (-1, 0.5, True, "4", None, nan, 10**30, []),
    "machine": (5, None, "x", Counter, object()),
    "locks": (5, None, [], Counter()),
    "action": (5, "x", []),
    "role": (5, None, [], b"voter", "king"),
}
WRONG["parties"] = WRONG["count"] = WRONG["k"]


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as error:
        call()
    text = str(error.value)
    assert text.isprintable(), text
    assert len(text) < 400, text
    return text


def methods(kind: type) -> list[str]:
    """The public methods that take arguments."""
    found = [(name, member) for name, member in inspect.getmembers(kind, callable) if not name.startswith("_")]
    return [name for name, member in found if len(inspect.signature(member).parameters) > 1]


@pytest.fixture(scope="module")
def blocking() -> Iterator[BlockingCluster]:
    with congenial.join_blocking("a", {"a": free_addresses(1)[0]}) as cluster:
        yield cluster


CALLS = [
    *[(Cluster, name) for name in methods(Cluster)],
    *[(BlockingCluster, name) for name in methods(BlockingCluster)],
    *[(Client, name) for name in (*methods(LockForms), "status_of_all")],
]


@pytest.mark.parametrize(("kind", "method"), CALLS, ids=[f"{kind.__name__}.{name}" for kind, name in CALLS])
def test_a_method_refuses_wrong_arguments(kind: type, method: str, blocking: BlockingCluster) -> None:
    made: Any = {BlockingCluster: blocking, Cluster: blocking._cluster, Client: Client("none.sock")}[kind]
    call = getattr(made, method)
    parameters = inspect.signature(call).parameters
    several = [name for name, parameter in parameters.items() if parameter.kind is parameter.VAR_POSITIONAL]
    needed = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    good = {name: GOOD[name] for name in needed if name not in several}
    for name in parameters:
        for value in WRONG[name]:

            async def asked(arguments: dict[str, Any]) -> None:
                await call(**arguments)

            arguments = {**good, name: value}
            first = [arguments.pop(one, "x") for one in several]
            waits = inspect.iscoroutinefunction(call)
            said = refusal(lambda: asyncio.run(asked(arguments)) if waits else call(*first, **arguments))  # noqa: B023
            assert said.startswith(f"{name} = "), said
            assert ": must be " in said


def test_what_is_held_refuses_wrong_arguments(blocking: BlockingCluster) -> None:
    with blocking.mutex("x") as held:
        for value in (None, 5, "f", []):
            assert refusal(lambda: held.on_lost(value)).startswith("callback = ")  # noqa: B023
    with blocking.guarded("total", Counter()) as section:
        for value in ({}, {1}, object(), b"x", (1, [object()]), "\ud800", "x" * 10**6):
            with pytest.raises(ContractError, match="an operation"):
                section.issue(value)


JOIN: dict[str, list[tuple[Any, str]]] = {
    "name": [*[(value, "name = ") for value in TEXT], ("z", "'z' is not a node of cluster 'congenial': there")],
    "peers": [
        *[(value, "peers = ") for value in (3, "a", [], ["a"], True)],
        ({}, "peers is empty"),
        ({"a": 3}, "peers.a = 3: must be an address"),
        ({"a": "127.0.0.1"}, 'peers.a: "127.0.0.1" is not an address'),
        ({"a": "127.0.0.1:1", "b": "127.0.0.1:1"}, "peers.b = "),
        ({5: "127.0.0.1:1"}, "a name in peers = 5: must be text"),
        ({"a/b": "127.0.0.1:1"}, 'node name "a/b"'),
        (None, "name the members of the cluster: peers="),
    ],
    "config": [*[(value, "config = ") for value in (5, [], True, 0.5)], ("none.toml", "cannot read none.toml")],
    "metrics_port": [(value, "metrics_port = ") for value in (-1, 65536, 99999, "9100", True, 0.5, None, [])],
    "own_thread": [(value, "own_thread = ") for value in ("yes", 1, None, [])],
    "settings": [],  # those of a ClusterConfig
}


@pytest.mark.parametrize("function", ["join", "join_blocking", "Cluster"])
def test_joining_refuses_wrong_arguments(function: str) -> None:
    if function == "Cluster":
        assert refusal(lambda: Cluster("a", PEERS)).startswith("config = ")  # type: ignore[arg-type]
        return
    join = getattr(congenial, function)
    arguments = {name: rows for name, rows in JOIN.items() if function == "join" or name != "own_thread"}
    assert list(inspect.signature(join).parameters) == list(arguments)
    for name, rows in arguments.items():
        for value, words in rows:
            said = refusal(lambda: join(**{"name": "a", "peers": PEERS, name: value}))  # noqa: B023
            assert said.startswith(words), said
    for field in ("timing", "tls"):
        assert refusal(lambda: join("a", PEERS, **{field: {}})).startswith(f"{field} = {{}}: must be a T")  # noqa: B023
    assert refusal(lambda: join("a", PEERS, insecure="no")) == 'insecure = "no": must be true or false'


def test_metrics_that_cannot_be_served_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    peers = {"a": free_addresses(1)[0]}
    with taken:
        for _ in range(2):
            joining = congenial.join_blocking("a", peers, metrics_port=port, state=str(tmp_path))
            said = refusal(joining.start)
            assert said == f"cannot serve metrics on 127.0.0.1:{port}: Address already in use"
    with congenial.join_blocking("a", peers, state=str(tmp_path)) as cluster, cluster.mutex("x", timeout=10):
        pass
    monkeypatch.setitem(sys.modules, "prometheus_client", None)  # as if it were not installed
    said = refusal(lambda: congenial.join("a", PEERS, metrics_port=9100))
    assert said == "metrics need the package prometheus-client: pip install 'congenial[net]'"


# -- commands ---------------------------------------------------------------------------------------------------------

NODES = '[nodes]\na = "127.0.0.1:7101"\n'
Row = tuple[str, int, str]  # the words after the command, its exit code, what it says
ROWS: dict[str, dict[str, list[Row]]] = {
    "node": {
        "name": [("", 2, "Missing option '--name'"), ("--name z", 2, "'z' is not a node"), ("--name=", 2, "'' is not")],
        "config": [
            ("--name a --config none", 2, "cannot read none: No such file"),
            ("--name a --config .", 2, "cannot read .: Is a directory"),
            ("--name a --config bad.toml", 2, 'bad.toml: insecure = "no": must be true or false'),
        ],
        "socket": [
            ("--name a --socket " + "x" * 200, 2, "the path of the socket has 200 bytes, at most 107"),
            ("--name a --socket cluster.toml", 2, "cluster.toml"),
            ("--name a --socket no/such/folder", 2, "no/such/folder"),
        ],
        "socket_mode": [
            ("--name a --socket-mode rw", 2, "--socket-mode rw: must be 600, 660 or 666"),
            ("--name a --socket-mode 777", 2, "the mode of the node's socket cannot be"),
        ],
        "socket_group": [("--name a --socket-group no-such-group", 2, "there is no group 'no-such-group'")],
        "clients": [
            ("--name a --clients 7201", 2, 'clients: "7201" is not an address'),
            ("--name a --clients 127.0.0.1:7201", 2, "programs from elsewhere need TLS"),
        ],
        "state": [("--name a --state {nme}", 2, 'state = "{nme}": must'), ("--name a --state /proc/x", 2, "/proc/x")],
        "seeds": [
            ("--name d --seeds nowhere", 2, 'seeds: "nowhere" is not an address'),
            ("--name d --seeds 10.0.0.1:7101", 2, "beyond this machine, and there are no certificates"),
            ("--name d/e --seeds 127.0.0.1:1", 2, "node name"),
        ],
        "address": [("--name d --seeds 127.0.0.1:1 --address 7104", 2, 'address: "7104" is not an address')],
        "listen": [
            ("--name a --listen 7101", 2, 'listen = "7101": must be a host or host:port'),
            ("--name a --listen 0.0.0.0", 2, "that is beyond this machine, and there are no certificates"),
        ],
        "metrics": [
            ("--name a --metrics 9100", 2, 'metrics: "9100" is not an address'),
            ("--name a --metrics 127.0.0.1:TAKEN", 2, "Address already in use"),
            ("--name a --metrics 127.0.0.1:9100 --metrics-port 9100", 2, "choose one of --metrics and --metrics-port"),
        ],
        "metrics_port": [
            ("--name a --metrics-port 99999", 2, "metrics_port = 99999: must be a port from 1 to 65535"),
            ("--name a --metrics-port -1", 2, "metrics_port = -1: must be a port"),
            ("--name a --metrics-port x", 2, "Invalid value for '--metrics-port'"),
            ("--name a --metrics-port TAKEN", 2, "Address already in use"),
        ],
        "log_json": [("--name a --log-json=yes", 2, "does not take a value")],
        "verbose": [("--name a --verbose=yes", 2, "does not take a value")],
    },
    "lock": {
        "name": [("", 2, "Missing argument"), ("'' --socket NODE -- true", 2, "name of a lock or group is empty")],
        "words": [
            ("x", 2, "Missing argument"),
            ("x --socket NODE -- none-such", 127, "cannot run none-such: "),
            ("x --socket NODE -- .", 126, "cannot run .: "),
            ("x --socket NODE -- ''", 126, "cannot run"),
        ],
        "group": [
            ("x --socket NODE --group '' -- true", 2, "name of a lock or group is empty"),
        ],
        "shared": [("x --shared --group g -- true", 2, "choose one of")],
        "exclusive": [("x --exclusive --shared -- true", 2, "choose one of")],
        "semaphore": [
            ("x --semaphore 0 --socket NODE -- true", 2, "k = 0: must be a whole number, at least 1"),
            ("x --semaphore -3 --socket NODE -- true", 2, "k = -3"),
            ("x --semaphore 500000 --socket NODE -- true", 2, "too many"),
            ("x --semaphore 99999999999999999999 --socket NODE -- true", 2, "k = 99999999999999999999"),
            ("x --semaphore x -- true", 2, "Invalid value for '--semaphore'"),
        ],
        "timeout": [
            ("x --timeout -1 --socket NODE -- true", 2, "timeout = -1.0: must be seconds, 0 or more"),
            ("x --timeout nan --socket NODE -- true", 2, "timeout = nan"),
            ("x --timeout soon -- true", 2, "Invalid value for '--timeout'"),
        ],
        "conflict": [
            ("x -E 256 -- true", 2, "Invalid value for"),
            ("x --conflict-exit-code x -- true", 2, "Invalid value for"),
        ],
        "config": [("x --config none -- true", 2, "cannot read none"), ("x --config bad.toml -- true", 2, "insecure")],
        "node": [("x --node z -- true", 2, "'z' is not a node"), ("x --node a -- true", 125, "start one with")],
        "socket": [
            ("x --socket none -- true", 125, "no node is listening on none"),
            ("x --socket cluster.toml -- true", 125, "cluster.toml"),
            ("x --socket " + "x" * 200 + " -- true", 2, "the path of the socket has 200 bytes"),
        ],
    },
    "status": {
        "config": [("--config none", 2, "cannot read none"), ("--config bad.toml", 2, "insecure")],
        "node": [("--node z", 2, "'z' is not a node"), ("--node a", 1, "start one with"), ("a", 2, "unexpected")],
        "socket": [("--socket none", 1, "no node is listening"), ("--socket " + "x" * 200, 2, "200 bytes")],
        "lock": [("--lock \udcff --socket NODE", 2, "lock = ")],
        "find": [
            ("--find \udcff --socket NODE", 2, "find = "),
            ("--find x --lock y --socket NODE", 2, "give one of lock and find"),
        ],
        "top": [
            ("--top -1 --socket NODE", 2, "top = -1: must be a number of locks"),
            ("--top 99999999999999999999 --socket NODE", 2, "top = 99999999999999999999"),
            ("--top all", 2, "Invalid value for '--top'"),
        ],
        "json": [("--json=yes", 2, "does not take a value")],
    },
    "members": {
        "promote": [("--promote z --socket NODE", 2, "'z' is not a member: there are a")],
        "demote": [("--demote a --socket NODE", 2, "no other member could vote in its place")],
        "remove": [
            ("--remove a --socket NODE", 2, "stop it first"),
            ("--remove a --demote a --socket NODE", 2, "choose one of --promote, --demote and --remove"),
        ],
        "config": [("--config none", 2, "cannot read none"), ("--config bad.toml", 2, "insecure")],
        "node": [("--node z", 2, "'z' is not a node"), ("--node a", 1, "start one with"), ("a", 2, "unexpected")],
        "socket": [("--socket none", 1, "no node is listening"), ("--socket " + "x" * 200, 2, "200 bytes")],
        "json": [("--json=yes", 2, "does not take a value")],
    },
    "certs": {
        "nodes": [("ca", 2, "'ca' is the name of the authority"), ("a/b", 2, "node name"), ("''", 2, "node name")],
        "config": [("--config none", 2, "cannot read none"), ("--config empty.toml", 2, "empty.toml: nodes is empty")],
        "out": [("a --out /proc/x", 2, "/proc/x"), ("a --out cluster.toml", 2, "cluster.toml")],
        "force": [("a --force=yes", 2, "does not take a value")],
    },
    "demo": {
        "seconds": [
            ("--seconds 0", 2, "seconds = 0.0: must be a number from 1 to 86400"),
            ("--seconds nan", 2, "seconds = nan"),
            ("--seconds inf", 2, "seconds = inf"),
            ("--seconds long", 2, "Invalid value for '--seconds'"),
        ],
        "algorithm": [
            ("--algorithm maekawa", 2, "maekawa admits one process at a time, and the demo needs an algorithm with"),
            ("--algorithm maekawa+epochs", 2, "the demo needs an algorithm with groups"),
            ("--algorithm raymond-k", 2, "it is for semaphores"),
            ("--algorithm token-gm", 2, "did you mean 'token-gme'"),
            ("--algorithm ''", 2, "must be the name of an algorithm"),
        ],
        "html": [("--html /proc/x", 2, "cannot write the page to /proc/x"), ("--html no/x", 2, "no/x")],
    },
}  # fmt: skip
ALL = [(command, row) for command, options in ROWS.items() for rows in options.values() for row in rows]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a node that runs."""
    path = tmp_path_factory.mktemp("node") / "node.sock"
    up, done = threading.Event(), threading.Event()

    async def play() -> None:
        async with Cluster("a", ClusterConfig({"a": free_addresses(1)[0]})) as cluster:
            service = await serve(cluster, path)
            up.set()
            await asyncio.to_thread(done.wait)
            service.close()

    thread = threading.Thread(target=lambda: asyncio.run(play()))
    thread.start()
    try:
        assert up.wait(30)
        yield path
    finally:
        done.set()
        thread.join()


def test_every_option_of_every_command_has_a_row() -> None:
    for command, options in ROWS.items():
        parameters = inspect.signature(import_module(f"congenial.cli.{command}").command).parameters
        assert set(options) >= set(parameters), command


@pytest.mark.parametrize(("command", "row"), ALL, ids=[f"{command} {row[0][:50]!r}" for command, row in ALL])
def test_a_command_says_in_one_line_what_is_wrong(
    command: str,
    row: Row,
    node: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text, code, words = row
    monkeypatch.setattr(logging.getLogger("congenial"), "handlers", [])  # those that `congenial node` adds
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    Path("cluster.toml").write_text(NODES.replace("7101", free_addresses(1)[0].rpartition(":")[2]))
    Path("bad.toml").write_text('insecure = "no"\n' + NODES)
    Path("empty.toml").write_text("")
    before = sorted(path.name for path in tmp_path.iterdir())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = text.replace("NODE", str(node)).replace("TAKEN", str(taken.getsockname()[1]))
        with pytest.raises(SystemExit) as end:
            main([command, *["" if word == "''" else word for word in given.split()]])
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (code, ""), err
    assert err.startswith("congenial: ")
    assert err.count("\n") == 1
    assert words in err
    assert "CONGENIAL_TRACEBACK" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
