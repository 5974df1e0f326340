"""The studio's server: what it gives to its own pages, and to no others."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from browsing import slow_algorithm
from congenial.kernel.errors import ConfigError
from congenial.lab.folder import write_sweep
from congenial.lab.replication import replicate
from congenial.lab.store import Store
from congenial.lab.sweep import Sweep
from congenial.studio.document import run_document
from congenial.studio.guard import Guard, new_secret
from congenial.studio.measured import find_tables, open_table
from congenial.studio.recording import simulated
from congenial.studio.server import Studio, listen
from congenial.studio.wishes import scenario

SECRET = "only-for-tests"
SIMPLE = {"algorithm": "raymond-tree", "nodes": "3", "requests": "2", "seed": "7"}


class Answer:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    def json(self) -> Any:
        return json.loads(self.body)


def ask(app: Any, path: str, body: object = None, query: str = "", **headers: str) -> Answer:
    """One request, as an ASGI server hands it on."""
    named = {"host": "127.0.0.1:8000", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body is not None:
        named.setdefault("content-type", "application/json")
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "query_string": query.encode(),
        "method": "GET" if body is None else "POST", "path": path, "raw_path": path.encode(), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    answer = Answer()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    asyncio.run(app(scope, receive, send))
    return answer


@pytest.fixture
def app() -> Guard:
    return Guard(Studio().app(), SECRET, "127.0.0.1")


def test_the_page_and_its_modules_are_there(app: Guard) -> None:
    page = ask(app, f"/{SECRET}/")
    assert page.status == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    script = ask(app, f"/{SECRET}/static/main.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert b"// @ts-check" in script.body
    assert ask(app, f"/{SECRET}/static/studio.css").status == 200


@pytest.mark.parametrize(
    "path", ["/", "/static/main.js", f"/{SECRET[:-1]}/", f"/{SECRET}", f"/{SECRET}x/", "/api/catalogue"]
)
def test_without_the_secret_there_is_nothing(app: Guard, path: str) -> None:
    answer = ask(app, path)
    assert answer.status == 404
    assert b"Open the address" in answer.body


@pytest.mark.parametrize("name", ["..%2fserver.py", "server.py", "jsconfig.json", "nothing.js"])
def test_only_the_front_end_is_handed_out(app: Guard, name: str) -> None:
    assert ask(app, f"/{SECRET}/static/{name}").status == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:8000"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
    ids=str,
)
def test_other_sites_get_nothing_even_with_the_secret(app: Guard, headers: dict[str, str]) -> None:
    for path in ("/", "/api/catalogue"):
        answer = ask(app, f"/{SECRET}{path}", **headers)
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers


def test_a_studio_for_others_answers_to_addresses_but_not_to_names() -> None:
    app = Guard(Studio().app(), SECRET, "0.0.0.0")
    assert ask(app, f"/{SECRET}/", host="192.0.2.7:8000").status == 200
    assert ask(app, f"/{SECRET}/", host="[2001:db8::7]:8000").status == 200
    assert ask(app, f"/{SECRET}/", host="evil.example:8000").status == 403
    assert ask(app, f"/{SECRET}/", host="192.0.2.7:8000", origin="http://192.0.2.8:8000").status == 403


def test_a_run_and_its_states(app: Guard) -> None:
    own = {"origin": "http://127.0.0.1:8000", "sec_fetch_site": "same-origin"}
    answer = ask(app, f"/{SECRET}/api/runs", SIMPLE, **own)
    assert answer.status == 200
    run = answer.json()
    assert (run["n"], run["algorithm"], run["ok"]) == (3, "raymond-tree", True)
    states = ask(app, f"/{SECRET}/api/runs/{run['id']}/states").json()
    assert [variable["name"] for variable in states["variables"]][:2] == ["asked", "entries"]
    assert ask(app, f"/{SECRET}/api/runs/99/states").status == 404


def test_a_long_run_is_shown_while_it_goes_on(tmp_path: Any) -> None:
    slow = slow_algorithm(tmp_path)
    app = Guard(Studio([slow]).app(), SECRET, "127.0.0.1")
    long = {"algorithm": slow, "nodes": 1, "requests": 300}
    run = ask(app, f"/{SECRET}/api/runs", long).json()
    assert run["more"]
    assert 0 < len(run["t"]) < 900
    assert ask(app, f"/{SECRET}/api/runs/{run['id']}/states").json()["error"] == "this run has not ended yet"
    columns = ("t", "kind", "node", "peer", "ref", "messages", "values")
    for _ in range(1200):
        query = f"events={len(run['t'])}&messages={len(run['messages'])}&values={len(run['values'])}"
        part = ask(app, f"/{SECRET}/api/runs/{run['id']}/more", query=query).json()
        for name in columns:
            run[name] += part.get(name, [])
        if not part["more"]:
            break
        time.sleep(0.1)
    assert part["verdict"] == "all 300 requests served, no violation"
    whole = run_document(simulated(*scenario(long, (slow,))))
    assert {name: run[name] for name in columns} == json.loads(json.dumps({name: whole[name] for name in columns}))
    assert ask(app, f"/{SECRET}/api/runs/99/more").status == 404
    assert ask(app, f"/{SECRET}/api/runs/{run['id']}/more", query="events=x").status == 400


def test_a_run_ends_when_another_begins(tmp_path: Any) -> None:
    slow = slow_algorithm(tmp_path)
    studio = Studio([slow])
    app = Guard(studio.app(), SECRET, "127.0.0.1")
    first = ask(app, f"/{SECRET}/api/runs", {"algorithm": slow, "nodes": 1, "requests": 100_000}).json()
    ask(app, f"/{SECRET}/api/runs", SIMPLE)
    assert studio.runs[first["id"]].ended.wait(60)
    assert studio.runs[first["id"]].trace.stopped


def test_old_runs_are_forgotten(app: Guard) -> None:
    numbers = [ask(app, f"/{SECRET}/api/runs", SIMPLE).json()["id"] for _ in range(6)]
    told = [ask(app, f"/{SECRET}/api/runs/{number}/states").status for number in numbers]
    assert told == [404, 404, 200, 200, 200, 200]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"algorithm": "own.py:Own"}, "unknown algorithm 'own.py:Own'"),
        ({"algorithm": ["lamport"]}, "unknown algorithm"),
        ({"nodes": "0"}, "nodes must be at least 1"),
        ({"nodes": "many"}, "nodes must be a whole number, not 'many'"),
        ({"nodes": "100000"}, "nodes must be at most 200 on a page"),
        ({"crash": "9@1"}, "9 is not a process"),
        ({"think": "file:/etc/passwd"}, "a page cannot name files"),
        ({"load": "arrivals.csv"}, "unknown load 'arrivals.csv'"),
        ({"suffix": "nothing"}, "unknown transform"),
        ({"options": {"tree": "bush"}}, "bush"),
        ({"options": "tree=bush"}, "options"),
        ({"trace": "/tmp/x"}, "unknown setting 'trace'"),
        ({"seed": [1]}, "seed must be a text or a number"),
        ({"fifo": "perhaps"}, "fifo must be"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_wish_is_said(app: Guard, changes: dict[str, Any], reason: str) -> None:
    answer = ask(app, f"/{SECRET}/api/runs", {**SIMPLE, **changes})
    assert answer.status == 400
    assert reason in answer.json()["error"]


def test_what_is_no_json_is_refused(app: Guard) -> None:
    assert ask(app, f"/{SECRET}/api/runs", b"{").status == 400
    assert ask(app, f"/{SECRET}/api/runs", [1]).status == 400
    assert ask(app, f"/{SECRET}/api/runs", b"a=1", content_type="text/plain").status == 415
    assert ask(app, f"/{SECRET}/api/runs", b" " * 400_000).status == 413


def test_all_that_a_form_has_becomes_a_scenario() -> None:
    wish = {
        **SIMPLE, "suffix": "restart", "groups": 1, "think": "uniform:1,2", "hold": "3", "delay": "constant:1",
        "load": "burst", "fifo": "true", "loss": "0.1; 0.2@5-9", "crash": "1@5-9", "detection": "4", "until": "100",
        "options": {"tree": "star"},
    }  # fmt: skip
    made, seed = scenario(wish, ())
    assert seed == 7
    assert (made.algorithm, made.nodes, made.load, made.fifo) == ("raymond-tree+restart", 3, "burst", True)
    assert (made.loss, made.crash, made.detection, made.until) == (("0.1", "0.2@5-9"), ("1@5-9",), 4.0, 100.0)


def test_files_named_on_the_command_line_can_be_run(tmp_path: Any) -> None:
    (tmp_path / "own.py").write_text(
        "from congenial import Node\n"
        "class Own(Node):\n"
        "    def request(self, groups, out):\n        self.wait()\n        self.enter(out)\n"
        "    def release(self, out):\n        self.leave()\n"
    )
    name = f"{tmp_path}/own.py:Own"
    app = Guard(Studio([name]).app(), SECRET, "127.0.0.1")
    offered = ask(app, f"/{SECRET}/api/catalogue").json()
    assert offered["first"] == name
    run = ask(app, f"/{SECRET}/api/runs", {"algorithm": name, "nodes": 1, "requests": 2})
    assert run.status == 200
    assert run.json()["ok"]


def test_a_path_is_explored_step_by_step(app: Guard) -> None:
    wish: dict[str, Any] = {"setting": {**SIMPLE, "algorithm": "suzuki-kasami"}}
    place = ask(app, f"/{SECRET}/api/explore", wish).json()
    assert place["path"] == []
    assert place["steps"][0]["text"] == "0 asks to enter"
    place = ask(app, f"/{SECRET}/api/explore", {**wish, "path": [place["steps"][0]["step"]]}).json()
    assert place["run"]["kind"] == [place["run"]["kinds"].index(kind) for kind in ("request", "enter")]
    assert place["states"]["variables"]
    assert len(place["trace"].splitlines()) == 3


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ([], "must be a JSON object"),
        ({"setting": {"algorithm": "x.py:Y"}}, "unknown algorithm"),
        ({"setting": {**SIMPLE, "nodes": 21}}, "nodes must be at most 20 to explore by hand"),
        ({"setting": SIMPLE, "path": [{"event": "exit", "node": 0}]}, "step 1 cannot be taken"),
        ({"setting": SIMPLE, "path": "x"}, "a path must be a list of steps"),
        ({"trace": "/etc/passwd"}, "unknown trace"),
        ({"trace": ["x"]}, "unknown trace"),
    ],
    ids=str,
)
def test_what_cannot_be_explored_is_said(app: Guard, wish: Any, reason: str) -> None:
    answer = ask(app, f"/{SECRET}/api/explore", wish)
    assert answer.status == 400
    assert reason in answer.json()["error"]


def finished(app: Guard, wish: dict[str, Any]) -> Any:
    """What a check comes to."""
    started = ask(app, f"/{SECRET}/api/checks", wish)
    assert started.status == 200, started.body
    for _ in range(1200):
        state = ask(app, f"/{SECRET}/api/checks/{started.json()['id']}").json()
        if not state["running"]:
            return state
        time.sleep(0.1)
    pytest.fail("the check did not end within two minutes")


@pytest.mark.parametrize("kind", ["check", "fuzz"])
def test_a_check_runs_and_says_what_it_found(app: Guard, kind: str) -> None:
    setting = {"algorithm": "maekawa", "nodes": 3, "requests": 2, "fifo": "false"}
    state = finished(app, {"kind": kind, "setting": setting})
    assert (state["ok"], state["seen"] > 0) == (False, True)
    place = ask(app, f"/{SECRET}/api/explore", {"setting": setting, "path": state["path"]}).json()
    assert not place["run"]["ok"]
    assert place["path"] == state["path"]


def test_a_check_with_faults_and_one_that_finds_nothing(app: Guard) -> None:
    setting = {"algorithm": "suzuki-kasami", "nodes": 2, "requests": 1}
    state = finished(app, {"kind": "check", "setting": setting})
    assert (state["ok"], state["path"]) == (True, None)
    assert "every state within the bounds was seen" in state["verdict"]
    state = finished(app, {"kind": "check", "setting": setting, "losses": "1"})
    assert not state["ok"]
    assert "DEADLOCK" in state["verdict"]


def test_a_check_is_cancelled_and_ends_when_another_begins(app: Guard) -> None:
    large = {"kind": "fuzz", "setting": {"algorithm": "lamport", "nodes": 20, "requests": 50}, "runs": 1_000_000}
    first = ask(app, f"/{SECRET}/api/checks", large).json()["id"]
    assert ask(app, f"/{SECRET}/api/checks/{first}").json()["running"]
    second = ask(app, f"/{SECRET}/api/checks", large).json()["id"]
    assert ask(app, f"/{SECRET}/api/checks/{first}").status == 404
    ask(app, f"/{SECRET}/api/checks/{second}/cancel", {})
    for _ in range(1200):
        state = ask(app, f"/{SECRET}/api/checks/{second}").json()
        if not state["running"]:
            break
        time.sleep(0.1)
    assert state["error"] == "it was cancelled"


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({}, "the kind of a check must be check or fuzz"),
        ({"kind": "check", "setting": {"algorithm": "x"}}, "unknown algorithm"),
        ({"kind": "check", "setting": SIMPLE, "losses": "-1"}, "losses must not be negative"),
        ({"kind": "check", "setting": SIMPLE, "crashes": "x"}, "crashes must be a whole number, not 'x'"),
        ({"kind": "fuzz", "setting": SIMPLE, "runs": "0"}, "runs must be at least 1"),
    ],
    ids=str,
)
def test_what_cannot_be_checked_is_said(app: Guard, wish: Any, reason: str) -> None:
    answer = ask(app, f"/{SECRET}/api/checks", wish)
    assert answer.status == 400
    assert reason in answer.json()["error"]


# -- comparing -------------------------------------------------------------------------------------------------

SWEEP: dict[str, Any] = {
    "algorithms": ["suzuki-kasami", "maekawa quorums=grid"], "vary": {"nodes": "4, 9"}, "fixed": {"requests": "3"},
    "most": 2,
}  # fmt: skip


def test_a_sweep_tells_what_it_has_measured(app: Guard) -> None:
    number = ask(app, f"/{SECRET}/api/sweeps", SWEEP).json()["id"]
    for _ in range(1200):
        state = ask(app, f"/{SECRET}/api/sweeps/{number}").json()
        if not state["running"]:
            break
        time.sleep(0.1)
    assert (state["done"], state["points"]) == (8, 2)
    table = state["table"]
    assert table["algorithms"] == SWEEP["algorithms"]
    assert [row["at"] for row in table["means"] if row["algorithm"] == "suzuki-kasami"] == [[4], [9]]
    mean, half = table["means"][0]["values"]["messages_per_entry"]
    assert mean > 1
    assert half >= 0
    assert ask(app, f"/{SECRET}/api/tables").json() == {"tables": [], "sweep": number}
    assert ask(app, f"/{SECRET}/api/sweeps/99").status == 404


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"algorithms": []}, "choose at least one algorithm"),
        ({"algorithms": ["x.py:Y"]}, "unknown algorithm 'x.py:Y'"),
        ({"algorithms": ["lamport+nothing"]}, "unknown algorithm 'lamport+nothing'"),
        ({"algorithms": ["maekawa quorums=file:/etc/passwd"]}, "unknown algorithm"),
        ({"algorithms": ["maekawa bush=1"]}, "bush"),
        ({"vary": {}}, "varies one or two parameters"),
        ({"vary": {"nodes": "1001"}}, "nodes must be at most 500"),
        ({"vary": {"nodes": ""}}, "there are no values for nodes"),
        ({"vary": {"seed": "1,2"}}, "unknown parameter 'seed'"),
        ({"vary": {"groups": ",".join(map(str, range(1, 202)))}}, "at most 200 points"),
        ({"fixed": {"think": "file:/etc/passwd"}}, "a page cannot name files"),
        ({"fixed": []}, "must be JSON objects"),
        ({"precision": "fine"}, "precision must be a number, not 'fine'"),
        ({"most": 1}, "most must be at least 2"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_sweep_is_said(app: Guard, changes: dict[str, Any], reason: str) -> None:
    answer = ask(app, f"/{SECRET}/api/sweeps", {**SWEEP, **changes})
    assert answer.status == 400
    assert reason in answer.json()["error"]
    assert ask(app, f"/{SECRET}/api/sweeps", [1]).status == 400


def test_only_what_is_in_the_named_folders_is_opened(tmp_path: Any) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/a.csv").write_text("algorithm,nodes,runs,precise,cost,cost_half_width\nx,4,2,True,1.5,0.25\n")
    (tmp_path / "runs/notes.csv").write_text("day,weather\nmonday,rain\n")
    app = Guard(Studio(folders=[f"{tmp_path}/runs"]).app(), SECRET, "127.0.0.1")
    assert ask(app, f"/{SECRET}/api/tables").json()["tables"] == ["runs/a"]
    (document,) = ask(app, f"/{SECRET}/api/tables", {"name": "runs/a"}).json()["documents"]
    assert document["means"] == [
        {"algorithm": "x", "at": [4], "runs": 2, "precise": True, "values": {"cost": [1.5, 0.25]}}
    ]
    for name in ("runs/notes", "../secret", "/etc/passwd", None):
        assert ask(app, f"/{SECRET}/api/tables", {"name": name}).status == 400
    with pytest.raises(ConfigError, match="there is no folder"):
        Studio(folders=[f"{tmp_path}/nothing"])


def test_an_interrupted_sweep_opens_with_what_it_has(tmp_path: Any) -> None:
    wanted = Sweep(["suzuki-kasami"], {"nodes": [3, 4]}, {"requests": 2}, least=2, most=2)
    write_sweep(tmp_path, wanted)
    store = Store(tmp_path)
    for number in range(2):
        store.add(replicate(wanted.replication("suzuki-kasami", (3,), number)))
    (name, path), *rest = find_tables([str(tmp_path)]).items()
    assert rest == []
    (document,) = open_table(name, path)
    assert [row["at"] for row in document["means"]] == [[3]]


def test_secrets_cannot_be_guessed() -> None:
    made = {new_secret() for _ in range(100)}
    assert len(made) == 100
    assert min([len(secret) for secret in made]) >= 32


def test_an_address_that_is_taken_is_refused_kindly() -> None:
    taken = listen("127.0.0.1", 0)
    try:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1, port {port}"):
            listen("127.0.0.1", port)
    finally:
        taken.close()
