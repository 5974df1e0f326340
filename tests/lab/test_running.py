"""Sweeps come out the same however they are run, stop when they should, and go on where they stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest
from distributed import LocalCluster
from standin import TINY, recorded

from congenial.kernel.errors import ConfigError
from congenial.lab.api import sweep
from congenial.lab.replication import Replication, RunRecord, replicate
from congenial.lab.results import SweepResult
from congenial.lab.runner import SweepFailed, run_sweeps
from congenial.lab.stopping import precise, records_at
from congenial.lab.store import FILE, Store
from congenial.lab.sweep import Sweep
from congenial.lab.workers import InlineExecutor, Workers, workers

EQUAL = ("results.csv", "ratios.csv", "replications.csv", "ratio.svg", "ratio.png", "absolute.svg", "absolute.png")
VIOLATION = """
from congenial.algorithms.token.suzuki_kasami import SuzukiKasami

class Greedy(SuzukiKasami):
    def request(self, groups, out):
        out.enter(groups[0], 0)

    def release(self, out):
        pass
"""

DYING = """
import os
import signal
from pathlib import Path

from congenial.algorithms.token.suzuki_kasami import SuzukiKasami

class Dying(SuzukiKasami):
    def request(self, groups, out):
        if self.n == 3 and Path(__file__).with_name("deadly").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        super().request(groups, out)
"""


class Counting(InlineExecutor):
    """Counts what it runs."""

    def __init__(self) -> None:
        self.count = 0

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        self.count += 1
        return super().submit(fn, *args, **kwargs)


@pytest.mark.deep
def test_one_process_several_and_a_cluster_write_the_same_bytes(tmp_path: Path) -> None:
    serial = sweep(TINY, folder=tmp_path / "serial").to_frame()
    processes = sweep(TINY, jobs=2, folder=tmp_path / "processes").to_frame()
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        dask = sweep(TINY, cluster=cluster.scheduler_address, folder=tmp_path / "dask").to_frame()
    assert serial.equals(processes)
    assert serial.equals(dask)
    for name in EQUAL:
        first = (tmp_path / "serial" / name).read_bytes()
        assert first == (tmp_path / "processes" / name).read_bytes(), name
        assert first == (tmp_path / "dask" / name).read_bytes(), name
    runs = serial["runs"].to_list()
    assert min(runs) >= TINY.least
    assert len(set(runs)) > 1, "all points stopped alike, which shows nothing about stopping"


def test_the_frame_has_a_row_for_each_algorithm_at_each_point() -> None:
    frame = sweep(TINY).to_frame()
    assert frame.height == 6
    assert frame.filter(frame["algorithm"] == "ricart-agrawala")["messages_per_entry"].to_list() == [4.0, 8.0]


def test_what_is_on_disk_is_not_run_again(tmp_path: Path) -> None:
    whole = SweepResult.of(TINY, _run(TINY, Store(tmp_path), Counting())).means()
    lines = (tmp_path / FILE).read_text().splitlines(keepends=True)
    again = Counting()
    _run(TINY, Store(tmp_path), again)
    assert again.count == 0
    # killed in the middle of a line: what was whole is kept, the torn line is run again
    (tmp_path / FILE).write_text("".join(lines[:5]) + lines[5][:40])
    resumed = Counting()
    store = _run(TINY, Store(tmp_path), resumed)
    assert resumed.count == len(lines) - 5
    assert SweepResult.of(TINY, store).means() == whole
    assert _without_seconds((tmp_path / FILE).read_text()) == _without_seconds("".join(lines))


def test_a_more_precise_sweep_builds_on_a_coarse_one_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    coarse = SweepResult.of(TINY, _run(TINY, Store(tmp_path), Counting())).means()
    finer = replace(TINY, least=7)
    counting = Counting()
    store = _run(finer, Store(tmp_path), counting)
    assert 0 < counting.count < 2 * 3 * 7
    assert SweepResult.of(TINY, store).means() == coarse


def test_runs_of_other_code_are_not_reused(tmp_path: Path) -> None:
    record = replicate(TINY.replication("suzuki-kasami", (3,), 0))
    store = Store(tmp_path)
    store.add(replace(record, code="of yesterday"))
    assert Store(tmp_path).records == {}
    store.add(record)
    assert list(Store(tmp_path).records.values()) == [RunRecord.from_json(record.to_json())]


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("what is this\n")
    with pytest.raises(ConfigError, match=r"replications\.ndjson, line 1 is no replication"):
        Store(tmp_path)


def test_sweeps_that_run_together_share_their_runs() -> None:
    groups = Sweep(
        ("suzuki-kasami", "ricart-agrawala"), {"hold": (5, 20)}, {"nodes": 4, "requests": 5}, least=2, most=2
    )
    nodes = Sweep(("suzuki-kasami", "ricart-agrawala"), {"nodes": (4, 6)}, {"hold": 20, "requests": 5}, least=2, most=2)
    counting = Counting()
    run_sweeps([groups, nodes], Store(), Workers(counting, lambda: 1))
    assert counting.count == 2 * 2 * 3


def test_a_point_stops_when_it_is_precise_and_not_before() -> None:
    sweep = Sweep(("a", "b"), {"nodes": (3,)}, metrics=("throughput",), precision=0.05, least=2, most=8)
    steady = {"a": [1.0, 1.0], "b": [2.0, 2.0]}
    found = records_at(sweep, (3,), recorded(sweep, steady))
    assert found is not None
    assert len(found["a"]) == 2
    wild = {"a": [1.0, 2.0], "b": [2.0, 4.0]}  # the ratio is steady, the means are not
    store = recorded(sweep, wild)
    assert records_at(sweep, (3,), store) is None
    both = {name: [store.get(sweep.replication(name, (3,), k)) for k in range(2)] for name in "ab"}
    assert not precise(sweep, both)  # type: ignore[arg-type]
    at_most = recorded(sweep, {"a": [1.0, 2.0] * 4, "b": [2.0, 4.0] * 4})
    found = records_at(sweep, (3,), at_most)
    assert found is not None
    assert len(found["a"]) == sweep.most


def test_where_a_claim_needs_it_a_point_gets_more_runs() -> None:
    """The ratio is within 5% of its mean, but not within 0.01, after any number of runs."""
    rough = {"throughput at 3": 0.01}
    sweep = Sweep(("a", "b"), {"nodes": (3, 5)}, metrics=("throughput",), least=2, most=4, within=rough)
    few = {"a": [0.97, 1.0, 1.03, 1.0], "b": [1.0] * 4}
    store = recorded(sweep, few)
    assert records_at(sweep, (3,), store) is None
    assert records_at(sweep, (5,), store) is not None, "nothing is claimed there"
    result = SweepResult.of(sweep, recorded(sweep, {"a": [0.9, 1.1] * 10, "b": [1.0] * 20}))
    assert [len(result.runs[point]["a"]) for point in sweep.points()] == [20, 4]
    assert "less precise than 5% or a claim needs" in result.imprecise()
    steady = recorded(sweep, {"a": [0.999, 1.001], "b": [1.0, 1.0]})
    assert records_at(sweep, (3,), steady) is None, "two runs say little"
    enough = recorded(sweep, {"a": [1.0, 1.0], "b": [1.0, 1.0]})
    assert records_at(sweep, (3,), enough) is not None


def test_a_ratio_that_is_far_from_a_bound_need_not_be_close() -> None:
    sweep = Sweep(("a", "b"), {"nodes": (3,)}, metrics=("throughput",), least=3, most=3,
                  within={"throughput near 1": 0.01})  # fmt: skip
    assert records_at(sweep, (3,), recorded(sweep, {"a": [1.45, 1.5, 1.55], "b": [1.0] * 3})) is not None
    assert records_at(sweep, (3,), recorded(sweep, {"a": [1.0, 1.05, 1.1], "b": [1.0] * 3})) is None


def test_a_run_that_goes_wrong_stops_the_sweep_and_says_how_to_repeat_it(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text(VIOLATION)
    greedy = Sweep((f"{tmp_path / 'greedy.py'}:Greedy",), {"nodes": (3,)}, {"think": 0, "requests": 5})
    with pytest.raises(
        SweepFailed, match=r"congenial sim .*greedy\.py:Greedy --nodes 3 --requests 5 --think 0 --seed 1"
    ):
        sweep(greedy)


@pytest.mark.deep
def test_a_worker_that_dies_is_reported_and_finished_runs_are_kept(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(DYING)
    (tmp_path / "deadly").touch()
    dying = Sweep((f"{tmp_path / 'dying.py'}:Dying",), {"nodes": (3, 9)}, {"requests": 5}, least=4, most=4)
    with pytest.raises(SweepFailed, match=r"a worker process died .* congenial sim .*:Dying --nodes 3 --requests 5"):
        sweep(dying, jobs=2, folder=tmp_path / "run")
    kept = (tmp_path / "run" / FILE).read_text().splitlines()
    assert kept, "the largest runs come first, and do not die"
    assert all(['"nodes": 9' in line for line in kept])
    (tmp_path / "deadly").unlink()
    resumed = sweep(dying, jobs=2, folder=tmp_path / "run")
    assert (tmp_path / "run" / FILE).read_text().splitlines()[: len(kept)] == kept
    assert resumed.records() == sweep(dying).records()


def test_what_finished_beside_a_failure_is_kept(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text(VIOLATION)
    greedy = f"{tmp_path / 'greedy.py'}:Greedy"
    both = Sweep((greedy, "ricart-agrawala"), {"nodes": (3,)}, {"think": 0, "requests": 5}, least=2, most=2)
    store = Store()
    with pytest.raises(SweepFailed, match="Greedy"):
        run_sweeps([both], store, Workers(InlineExecutor(), lambda: 4))
    assert [record.replication.algorithm for record in store.records.values()] == ["ricart-agrawala"] * 2


def test_no_scheduler_no_run() -> None:
    with pytest.raises(ConfigError, match=r"no Dask scheduler answers at nowhere"), workers(cluster="nowhere://x"):
        pass


LONG = ["-a", "suzuki-kasami", "-a", "ricart-agrawala", "--vary", "nodes=20,21", "--fixed", "requests=100",
        "--precision", "0.001", "--most", "12"]  # fmt: skip
# as from a terminal: SIGINT may be ignored where the tests run
CONGENIAL = """
import signal
from congenial.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


@contextmanager
def long_sweep(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A sweep on two processes that has finished two runs and has many to go."""
    command = [sys.executable, "-c", CONGENIAL, "sweep", *LONG, "--out", str(folder), "--jobs", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until = monotonic() + 60
        while not ((folder / FILE).exists() and (folder / FILE).read_bytes().count(b"\n") >= 2):
            assert monotonic() < until
            assert process.poll() is None, "it ended too early"
            sleep(0.02)
        yield process
    finally:
        if _alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_workers(process: subprocess.Popen[str]) -> None:
    until = monotonic() + 60
    while _alive(process.pid):
        assert monotonic() < until, "worker processes outlived their parent"
        sleep(0.05)


@pytest.mark.deep
def test_a_killed_sweep_goes_on_and_leaves_no_workers_behind(tmp_path: Path) -> None:
    with long_sweep(tmp_path / "run") as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_for_workers(process)
    finished = tmp_path / "run" / FILE
    kept = finished.read_bytes().count(b"\n")
    small = [*LONG, "--out", str(tmp_path / "run"), "--most", "3", "--jobs", "1", "--json"]
    ended = subprocess.run(
        [sys.executable, "-m", "congenial", "sweep", *small], capture_output=True, text=True, timeout=100
    )
    assert ended.returncode == 0, ended.stderr
    results = json.loads(ended.stdout)["results"]
    assert [row["runs"] for row in results] == [3, 3, 3, 3]
    lines = finished.read_text().splitlines()
    assert len(lines) >= kept
    assert len({_run_of(line) for line in lines}) == len(lines), "something was run twice"


@pytest.mark.deep
def test_ctrl_c_ends_a_sweep_and_its_workers_and_says_how_to_go_on(tmp_path: Path) -> None:
    with long_sweep(tmp_path / "run") as process:
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        continues = f"congenial: finished runs are in {tmp_path / 'run'}; the same command continues from there"
        assert {continues, "congenial: interrupted"} <= set(err.splitlines())
        wait_for_workers(process)
    assert Store(tmp_path / "run").records


def _run(sweep: Sweep, store: Store, executor: InlineExecutor) -> Store:
    run_sweeps([sweep], store, Workers(executor, lambda: 1))
    return store


def _run_of(line: str) -> str:
    data = json.loads(line)
    return json.dumps([data["algorithm"], data["parameters"], data["seed"]])


def _without_seconds(text: str) -> set[str]:
    return {json.dumps({**json.loads(line), "seconds": 0}) for line in text.splitlines()}


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_run_that_ends_early_is_not_expected_to_make_all_its_requests() -> None:
    whole = Replication("token-gme", (("nodes", 10), ("requests", 5000), ("think", 50.0), ("hold", "uniform:20,30")), 1)
    short = replace(whole, parameters=(*whole.parameters, ("until", 7100.0)))
    assert whole.cost() == 10 * 10 * 5000
    assert short.cost() == pytest.approx(10 * 10 * 100)
    assert replace(short, parameters=(*short.parameters, ("until", 1e9))).cost() == whole.cost()
