"""The public names, pinned: whoever changes them changes this list too."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import congenial


def test_public_names() -> None:
    assert congenial.__all__ == [
        "GROUP",
        "MUTEX",
        "ClusterDegraded",
        "ConfigError",
        "CongenialError",
        "ContractError",
        "Law",
        "LockLost",
        "LockTimeout",
        "Message",
        "Node",
        "NotHeld",
        "Option",
        "Out",
        "ProtocolError",
        "Result",
        "SafetyViolation",
        "Spec",
        "UnexpectedMessage",
        "__version__",
        "join",
        "join_blocking",
        "simulate",
    ]
    assert dir(congenial) == sorted(congenial.__all__)


def test_every_public_name_is_there() -> None:
    for name in congenial.__all__:
        assert getattr(congenial, name) is not None


def test_other_names_are_not() -> None:
    assert not hasattr(congenial, "simulator")


def test_simulate_returns_a_result() -> None:
    result = congenial.simulate("maekawa", nodes=25, requests=4)
    assert isinstance(result, congenial.Result)
    assert result.ok
    assert result.entries == 100


def test_importing_the_package_does_not_load_the_simulator_or_the_command_line() -> None:
    heavy = ("congenial.sim", "typer", "rich", "asyncio", "msgspec")
    check = f"import sys, congenial; print([m for m in sys.modules if m.startswith({heavy})])"
    ended = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert congenial.__version__ == project["version"]
