"""Wrong settings of a cluster: each gives one clear line, the same from Python and from cluster.toml.

Values of a wrong type are made from the declared type of every setting. `WRONG` adds wrong values of the right type; a
new setting without a row there fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from math import inf, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_origin

import pytest

import congenial
from congenial.algorithms.permission.maekawa import Maekawa
from congenial.kernel.errors import ConfigError
from congenial.net.checked import allowed, hints, section
from congenial.net.config import ClusterConfig, Timing, Tls, load_config

NODES = {"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}
SECTIONS: dict[str, Any] = {"": ClusterConfig, "timing.": Timing, "tls.": Tls}
TLS = {"ca": "ca.pem", "certificate": "{name}.pem", "key": "{name}.key"}

OF_WRONG_TYPE: dict[Any, list[Any]] = {
    bool: ["no", "false", 0, 1, 0.0, [], {}],
    float: ["x", "0.5", True, False, nan, inf, -inf, -1, 0, 1e300, 10**400, [], {}],
    tuple: [3, 0.5, True, "127.0.0.1:7101", [5], {"a": "127.0.0.1:7101"}],
    str: [5, 0.5, True, [], ["a"], {}],
    Mapping: [3, 0.5, True, "a", [], ["a"]],
    "section": [3, 0.5, True, "a", [], ["a"]],
}

# values of the right type that are wrong all the same, with words that the error must have
WRONG: dict[str, list[tuple[Any, str]]] = {
    "nodes": [
        ({}, "nodes is empty: a cluster needs at least one node"),
        ({"a": 3}, 'nodes.a = 3: must be an address host:port, such as "127.0.0.1:7101"'),
        ({"a": True}, "nodes.a = true: must be an address"),
        ({"a": ["127.0.0.1:7101"]}, 'nodes.a = ["127.0.0.1:7101"]: must be an address'),
        ({"a": ""}, 'nodes.a: "" is not an address: write host:port'),
        ({"a": "127.0.0.1"}, 'nodes.a: "127.0.0.1" is not an address'),
        ({"a": ":7101"}, 'nodes.a: ":7101" is not an address'),
        ({"a": "127.0.0.1:"}, 'nodes.a: "127.0.0.1:" is not an address'),
        ({"a": "127.0.0.1:0"}, "with a port from 1 to 65535"),
        ({"a": "127.0.0.1:65536"}, "with a port from 1 to 65535"),
        ({"a": "127.0.0.1:-1"}, "is not an address"),
        ({"a": "127.0.0.1:7²"}, "is not an address"),
        ({"a": "127.0.0.1:" + "9" * 5000}, "is not an address"),
        ({"a": "http://127.0.0.1:7101"}, "is not an address"),
        ({"a": "::1:7101"}, "or [::1]:7101"),
        ({"a": "[127.0.0.1]:7101"}, "is not an address"),
        ({"a": "127.0.0.1 :7101"}, "is not an address"),
        ({"a": "db..example:7101"}, "is not an address"),
        ({"a": "x" * 64 + ".example:7101"}, "is not an address"),
        ({"a": "127.0.0.1:7101\n"}, "is not an address"),
        ({"a": "10.0.0.1:7101"}, "node 'a' is at 10.0.0.1:7101, beyond this machine, and there are no certificates"),
        ({"a": "127.0.0.1:7101", "b": "127.0.0.1:7101"}, "nodes.b = \"127.0.0.1:7101\": must be an address of its own"),
        ({"a": "127.0.0.1:7101", "b": "localhost:7101"}, "node 'a' is at that one"),
        ({"a": "[::1]:7101", "b": "[0:0::1]:7101"}, "node 'a' is at that one"),
        ({"a": "0.0.0.0:7101"}, 'nodes.a = "0.0.0.0:7101": must be an address that others can call; listen = "..."'),
        ({"a": "[::]:7101"}, "must be an address that others can call"),
        ({"": "127.0.0.1:7101"}, "node name \"\": use 1 to 63 letters, digits, '-' or '.'"),
        ({"..": "127.0.0.1:7101"}, 'node name ".."'),
        ({"-v": "127.0.0.1:7101"}, "with a letter or digit first"),
        ({"a/b": "127.0.0.1:7101"}, 'node name "a/b"'),
        ({"a b": "127.0.0.1:7101"}, 'node name "a b"'),
        ({"a" * 64: "127.0.0.1:7101"}, "node name"),
    ],
    "cluster": [("", "1 to 63 characters"), ("a" * 64, "1 to 63"), ("a\nb", "none of them a control character")],
    "algorithm": [
        ("", 'algorithm = "": must be the name of an algorithm'),
        ("mekawa", "algorithm = \"mekawa\": unknown algorithm 'mekawa': did you mean 'maekawa'?"),
        ("token-gme+epoch", "unknown transform 'epoch' in 'token-gme+epoch': there are epochs, restart"),
        ("none.py:Lock", "there is no file none.py"),
        ("raymond-k", "raymond-k admits several at a time: it is for semaphores"),
        ("raynal-primes", "it is kept for its flaw"),
        ("raynal-primes+epochs", "it is kept for its flaw"),
    ],
    "options": [({"k": 0.5}, "options.k = 0.5: must be text"), ({"colour": "red"}, "has no option colour")],
    "insecure": [],
    "state": [
        ("{nme}", 'state = "{nme}": must be a path without braces other than {name}'),
        ("{", "without braces"),
        ("\0", "zero bytes"),
    ],
    "semaphores": [
        ("wme-1", "wme-1 is not an algorithm for semaphores"),
        ("raymond", 'semaphores = "raymond": unknown algorithm'),
        ("maekawa", "maekawa is not an algorithm for semaphores"),
    ],
    "secret": [("{name}", 'secret = "{name}": must be a path without braces'), ("\0", "zero bytes")],
    "listen": [
        ("7101", 'listen = "7101": must be a host or host:port, such as "0.0.0.0", or empty'),
        (":7101", "must be a host or host:port"),
        ("0.0.0.0:99999", "must be a host or host:port"),
        ("a b", "must be a host or host:port"),
        ("0.0.0.0", 'listen = "0.0.0.0": that is beyond this machine, and there are no certificates'),
        ("[::]", "beyond this machine"),
        ("10.0.0.1:7101", "beyond this machine"),
    ],
    "metrics": [
        ("9100", 'metrics: "9100" is not an address: write host:port'),
        (":9100", "is not an address"),
        ("127.0.0.1:0", "is not an address"),
    ],
    "metrics_by_lock": [],
    "spans": [],
    "seeds": [
        (["7101"], 'seeds: "7101" is not an address: write host:port'),
        (["10.0.0.1:7101"], "seeds: 10.0.0.1:7101 is beyond this machine, and there are no certificates"),
    ],
    "address": [
        ("7101", 'address: "7101" is not an address: write host:port'),
        ("10.0.0.1:7101", "address: 10.0.0.1:7101 is beyond this machine"),
    ],
    "tls": [
        ({}, "tls.ca is missing: it must be the path of a file"),
        ({"ca": "ca.pem", "key": "a.key"}, "tls.certificate is missing"),
        ({**TLS, "cert": "a.pem"}, "unknown setting cert: did you mean certificate?"),
    ],
    "tls.ca": [("", "must be the path of a file"), ("{node}.pem", "other than {name}")],
    "tls.certificate": [("", "must be the path of a file"), ("{0}.pem", "other than {name}")],
    "tls.key": [("", "must be the path of a file"), ("{name.key", "other than {name}")],
    "timing": [({"heart_beat": 1.0}, "timing.heart_beat = 1.0: unknown setting heart_beat: did you mean heartbeat?")],
    "timing.heartbeat": [(3.0, "heartbeat = 3.0: must be below suspect_after, which is 3.0"), (5, "below suspect")],
    "timing.suspect_after": [(0.5, "heartbeat = 0.5: must be below suspect_after, which is 0.5")],
    "timing.gather": [(-1.0, "gather = -1.0: must be seconds, above 0")],
    "timing.reconnect": [(2.0, "reconnect = 2.0: must be at most reconnect_most, which is 1.0")],
    "timing.reconnect_most": [(0.01, "reconnect = 0.05: must be at most reconnect_most")],
    "timing.timer_unit": [(1e7, "at most 1000000")],
    "timing.drift": [(-0.1, "above 0 and below 1"), (1, "above 0 and below 1")],
}  # fmt: skip


def keys() -> dict[str, Any]:
    """The declared type of every key of cluster.toml."""
    return {prefix + key: kind for prefix, made in SECTIONS.items() for key, kind in hints(made).items()}


def plain_type(kind: Any) -> Any:
    if get_origin(kind) is Mapping:
        return Mapping
    (plain,) = [part.__origin__ for part in (kind, *get_args(kind)) if hasattr(part, "__metadata__")]
    return get_origin(plain) or plain


def wrong_types(kind: Any) -> list[Any]:
    return OF_WRONG_TYPE["section" if section(kind) is not None else plain_type(kind)]


CASES = [
    *[(key, value, " = ") for key, kind in keys().items() for value in wrong_types(kind)],
    *[(key, value, words) for key, rows in WRONG.items() for value, words in rows],
]


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join([f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([toml(item) for item in value]) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def from_python(key: str, value: Any) -> ClusterConfig:
    outer, _, inner = key.rpartition(".")
    settings: dict[str, Any] = {"nodes": NODES}
    if outer:
        settings[outer] = SECTIONS[f"{outer}."](**{**(TLS if outer == "tls" else {}), inner: value})
    else:
        settings[key] = value
    return ClusterConfig(**settings)


def from_file(path: Path, key: str, value: Any) -> ClusterConfig:
    settings = {f"nodes.{name}": where for name, where in NODES.items()} if key != "nodes" else {}
    if key.startswith("tls."):
        settings |= {f"tls.{name}": file for name, file in TLS.items()}
    settings[key] = value
    path.write_text("\n".join([f"{name} = {toml(item)}" for name, item in settings.items()]), encoding="utf-8")
    return load_config(path)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as error:
        call()
    text = str(error.value)
    assert text.isprintable(), text  # one line
    assert len(text) < 400, text
    return text


def test_every_key_has_a_row() -> None:
    assert set(WRONG) == set(keys())
    for key, kind in keys().items():
        assert wrong_types(kind), key
        if section(kind) is None and get_origin(kind) is not Mapping:
            assert not allowed(kind).startswith("typing"), f"{key} does not say what is allowed"


@pytest.mark.parametrize(
    ("key", "value", "words"), CASES, ids=[f"{key}={str(value)[:20]!r}" for key, value, _ in CASES]
)
def test_a_wrong_setting_is_refused_from_python_and_from_a_file(
    key: str, value: Any, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.toml"
    said = refusal(lambda: from_file(path, key, value))
    assert said.startswith(f"{path}: ")
    assert words in said
    outer = key.rpartition(".")[0]
    if words == " = ":
        assert said.startswith(f"{path}: {key} = "), said
        assert ": must be " in said
    if section(keys()[key]) is not None:  # from Python it is an object, not a table
        assert refusal(lambda: from_python(key, value)).startswith(f"{key} = ")
    else:
        prefix = f"{outer}." if outer else ""
        assert said == f"{path}: {prefix}{refusal(lambda: from_python(key, value))}"


TYPES = {bool: "boolean", str: "string", float: "number", Mapping: "table", tuple: "array"}


def test_the_docs_list_all_keys() -> None:
    """Their types, what is allowed and their defaults, as they are in the code."""
    page = (Path(__file__).parents[2] / "docs" / "locks.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `([\w.]+)` \| (\w+ \| .* \| .*) \| .* \|$", page, re.MULTILINE))
    declared = {}
    for prefix, made in SECTIONS.items():
        for setting in fields(made):
            kind = hints(made)[setting.name]
            if section(kind) is None:
                table = get_origin(kind) is Mapping
                words = f"for each name {allowed(get_args(kind)[1])}" if table else allowed(kind)
                default = "needed" if setting.default is MISSING else f"`{toml(setting.default)}`"
                if setting.default_factory is not MISSING:
                    default = "empty"
                declared[prefix + setting.name] = f"{TYPES[plain_type(kind)]} | {words} | {default}"
    assert {key: row for key, row in shown.items() if key in declared} == declared


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "an unknown key": (b"colour = 1", "colour = 1: unknown setting colour: there are address, algorithm, cluster"),
    "a key that is nearly right": (b"insecur = true", "unknown setting insecur: did you mean insecure?"),
    "a setting in a table": (
        b'[nodes]\nb = "127.0.0.1:7102"\ninsecure = true',
        'nodes.insecure = true: must be an address host:port, such as "127.0.0.1:7101" '
        "(if insecure is a setting of the cluster, write it above [nodes])",
    ),
    "a setting in another table": (b'[tls]\nstate = "x"', "unknown setting state: there are ca, certificate, key (if"),
    "a key in the wrong place": (b"heartbeat = 1", "unknown setting heartbeat: it belongs under [timing]"),
    "broken TOML": (b"cluster = \n", "not a TOML file: Invalid value (at line 1, column 11)"),
    "a key twice": (b"insecure = true\ninsecure = false", "at line 2"),
    "not UTF-8": (b"\n\ncluster = '\xff'", "line 3 is not UTF-8 text"),
    "a deep nest": (b"x = " + b"[" * 100_000, "not a TOML file"),
    "a huge number": (b"x = " + b"9" * 10_000, "not a TOML file"),
    "a date": (b"state = 2026-11-15", 'state = "2026-11-15": must be the path of a directory'),
    "a huge file": (b"#" * (1 << 21), "is too long"),
    "nothing": (b"", "nodes is empty"),
}


@pytest.mark.parametrize(("text", "words"), UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_file_that_describes_no_cluster_is_refused(text: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    plain = text and b"[" * 9 not in text and b"[nodes]" not in text
    nodes = b'\n[nodes]\na = "127.0.0.1:7101"\n' if plain else b""
    path.write_bytes(text + nodes)
    said = refusal(lambda: load_config(path))
    assert str(path) in said
    assert words in said


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert (
        refusal(lambda: load_config(tmp_path / "none")) == f"cannot read {tmp_path / 'none'}: No such file or directory"
    )
    assert refusal(lambda: load_config(tmp_path)) == f"cannot read {tmp_path}: Is a directory"
    assert "null byte" in refusal(lambda: load_config("a\0b"))
    assert refusal(lambda: load_config(5)) == "config = 5: must be the path of a cluster.toml, or a ClusterConfig"  # type: ignore[arg-type]


def test_what_is_right_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    text = """
        cluster = "juke box"
        algorithm = "maekawa"
        state = "state/{name}"
        insecure = true
        options.quorums = "grid"
        nodes = {a = "10.0.0.1:7101", b = "[::1]:7101", c = "db-1.example_x.org:1"}
        timing = {heartbeat = 1, suspect_after = 10}
    """
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join([line.strip() for line in text.splitlines()]).encode())
    made = load_config(path)
    assert made.timing == Timing(heartbeat=1.0, suspect_after=10.0)
    assert isinstance(made.timing.heartbeat, float)
    assert made.state == str(tmp_path / "state/{name}")
    assert made.nodes["b"] == "[::1]:7101"
    assert made.options == {"quorums": "grid"}
    path.write_text('algorithm = "token-gme-bounded"\n[options]\nlimit = 8\n[nodes]\na = "[::1]:1"')
    assert load_config(path).options == {"limit": "8"}
    assert ClusterConfig(NODES, algorithm=Maekawa).system().name == "maekawa"
    assert "must be the name of an algorithm" in refusal(lambda: ClusterConfig(NODES, algorithm=str))  # type: ignore[arg-type]
    peers = MappingProxyType(NODES)
    assert congenial.join("a", peers).config == ClusterConfig(NODES)
    mine = dict(NODES)
    kept = ClusterConfig(mine)
    mine.clear()
    assert kept.members == ("a", "b")
    assert replace(kept, state=tmp_path).state == str(tmp_path)  # type: ignore[arg-type]
