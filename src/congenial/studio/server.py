"""The studio's web server: the front end, the catalogue, and the runs, checks and sweeps that pages ask for."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from congenial.checker.stepper import Action
from congenial.kernel.errors import ConfigError, CongenialError
from congenial.kernel.inputs import shown
from congenial.studio.checks import Check
from congenial.studio.cluster import UNSET, ClusterWatch
from congenial.studio.document import run_document
from congenial.studio.explore import Place, as_json, from_json, look_for_fault, traced
from congenial.studio.guard import Guard
from congenial.studio.live import LiveRun
from congenial.studio.measured import find_tables, open_table
from congenial.studio.pages import FRONT_END, template
from congenial.studio.states import states_document
from congenial.studio.sweeps import RunningSweep, parameters, sweep_order
from congenial.studio.wishes import catalogue, explored_system, order, scenario
from congenial.trace_files import why

KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
MOST_KEPT = 4  # runs whose states a page may still ask for
LARGEST = 300_000  # bytes of what a page may send


class Studio:
    """What the pages of one server share. `own` are the algorithms that the command line names, `traces` its traces,
    `folders` the folders of results; `watch` looks at a cluster."""

    def __init__(
        self,
        own: Sequence[str] = (),
        traces: Sequence[str] = (),
        folders: Sequence[str] = (),
        watch: ClusterWatch | None = None,
    ) -> None:
        self.own = tuple(own)
        self.watch = watch
        self.folders = tuple(folders)
        self.opened = {path: traced(path) for path in traces}
        self.catalogue = {
            **catalogue(self.own), "traces": list(self.opened), "parameters": parameters(),
            "tables": bool(find_tables(self.folders)), "cluster": watch is not None,
        }  # fmt: skip
        self.files = {path.name: path for path in FRONT_END.iterdir() if path.suffix in KINDS}
        self.runs: dict[int, LiveRun] = {}
        self.checks: dict[int, Check] = {}
        self.sweeps: dict[int, RunningSweep] = {}
        self.started = 0

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self.index),
                Route("/static/{name}", self.static),
                Route("/api/alive", self.alive),
                Route("/api/catalogue", self.show_catalogue),
                Route("/api/runs", self.start_run, methods=["POST"]),
                Route("/api/runs/{number:int}/more", self.more_of_run),
                Route("/api/runs/{number:int}/states", self.states),
                Route("/api/explore", self.explore, methods=["POST"]),
                Route("/api/checks", self.start_check, methods=["POST"]),
                Route("/api/checks/{number:int}", self.check_state),
                Route("/api/checks/{number:int}/cancel", self.cancel_check, methods=["POST"]),
                Route("/api/cluster", self.look_at_cluster, methods=["POST"]),
                Route("/api/tables", self.list_tables),
                Route("/api/tables", self.show_table, methods=["POST"]),
                Route("/api/sweeps", self.start_sweep, methods=["POST"]),
                Route("/api/sweeps/{number:int}", self.sweep_state),
                Route("/api/sweeps/{number:int}/cancel", self.cancel_sweep, methods=["POST"]),
            ]
        )

    async def index(self, request: Request) -> Response:
        page = template()
        styles = [f'<link rel="stylesheet" href="static/{name}" />' for name in ("studio.css", "cluster.css")]
        page = page.replace("<!--style-->", "".join(styles))
        page = page.replace("<!--script-->", '<script type="module" src="static/main.js"></script>')
        return HTMLResponse(page)

    async def static(self, request: Request) -> Response:
        path: Path | None = self.files.get(request.path_params["name"])
        if path is None:
            return answer({"error": "there is no such file"}, 404)
        return Response(path.read_bytes(), headers={"content-type": KINDS[path.suffix]})

    async def alive(self, request: Request) -> Response:
        """Pages ask now and then, to notice when they have lost the studio, and when it is back."""
        return answer({})

    async def show_catalogue(self, request: Request) -> Response:
        return answer(self.catalogue)

    async def start_run(self, request: Request) -> Response:
        """Run what the page wishes, and return the run document: of all of it, or of its beginning if it is long."""
        self.started += 1
        number = self.started

        def work(wish: Any) -> object:
            live = LiveRun(*scenario(wish, self.own))
            for other in list(self.runs.values()):
                other.cancel()  # a page shows one run
            self.runs[number] = live
            for old in sorted(self.runs)[:-MOST_KEPT]:
                del self.runs[old]
            return {"id": number, **live.first()}

        return await self.carry_out(request, work)

    async def more_of_run(self, request: Request) -> Response:
        """What follows the events that the page has."""
        live = self.runs.get(request.path_params["number"])
        if live is None:
            return answer({"error": "this run is no longer kept: run it again"}, 404)
        return await attempt(
            lambda: live.part(*[_count(request.query_params, name) for name in ("events", "messages", "values")])
        )

    async def explore(self, request: Request) -> Response:
        """Where a path leads, and what can happen there. With `look`, first look for a path from there that goes wrong.
        The path may be left out for a `trace` of the command line."""
        return await self.carry_out(request, self.place)

    def place(self, wish: Any) -> object:
        if not isinstance(wish, dict):
            raise ConfigError("what is to be explored must be a JSON object")
        path: list[Action] = []
        if "trace" in wish:
            if str(wish["trace"]) not in self.opened:
                raise ConfigError(f"unknown trace {shown(wish['trace'])}")
            explored, path = self.opened[str(wish["trace"])]
        else:
            explored = explored_system(wish.get("setting"), self.own)
        if "path" in wish:
            path = from_json(wish["path"], explored.system.n)
        found = look_for_fault(explored, path, 1 if wish.get("faults") else 0) if wish.get("look") else None
        place = Place(explored, path if found is None else found)
        recording = place.recording()
        return {
            "path": [as_json(step) for step in place.path],
            "found": found is not None,
            "steps": place.moves(),
            "run": run_document(recording),
            "states": states_document(recording),
            "trace": place.trace(),
        }

    async def start_check(self, request: Request) -> Response:
        """Start a check or random runs; those that an earlier page has started end."""
        self.started += 1
        number = self.started

        def work(wish: Any) -> object:
            wanted = order(wish, self.own)
            self.end_checks()
            self.checks[number] = Check(wanted)
            return {"id": number}

        return await self.carry_out(request, work)

    async def check_state(self, request: Request) -> Response:
        found = self.checks.get(request.path_params["number"])
        return answer({"error": "this check is over: start it again"}, 404) if found is None else answer(found.state())

    async def cancel_check(self, request: Request) -> Response:
        found = self.checks.get(request.path_params["number"])
        if found is not None:
            found.cancel()
        return answer({})

    def end_checks(self) -> None:
        for check in self.checks.values():
            check.cancel()
        self.checks.clear()

    # -- comparing -------------------------------------------------------------------------------------

    async def list_tables(self, request: Request) -> Response:
        """What there is to open now, and the sweep that was started last."""
        last = max(self.sweeps, default=0)
        return await attempt(lambda: {"tables": list(find_tables(self.folders)), "sweep": last})

    async def show_table(self, request: Request) -> Response:
        def work(wish: Any) -> object:
            name = wish.get("name") if isinstance(wish, dict) else None
            path = find_tables(self.folders).get(str(name))
            if path is None:
                raise ConfigError(f"the results {shown(name)} no longer exist")
            return {"documents": open_table(str(name), path)}

        return await self.carry_out(request, work)

    async def start_sweep(self, request: Request) -> Response:
        """Start a sweep; the one before it ends."""
        self.started += 1
        number = self.started

        def work(wish: Any) -> object:
            wanted = sweep_order(wish, self.own)
            self.end_sweeps()
            self.sweeps[number] = RunningSweep(wanted)
            return {"id": number}

        return await self.carry_out(request, work)

    async def sweep_state(self, request: Request) -> Response:
        """How far it is. What it has measured is left out if the page knows as many points already."""
        found = self.sweeps.get(request.path_params["number"])
        if found is None:
            return answer({"error": "this sweep is over: start it again"}, 404)
        state = found.state()
        if state["running"] and request.query_params.get("known") == str(state["points"]):
            state["table"] = None
        return answer(state)

    async def cancel_sweep(self, request: Request) -> Response:
        found = self.sweeps.get(request.path_params["number"])
        if found is not None:
            found.cancel()
        return answer({})

    def end_sweeps(self) -> None:
        for sweep in self.sweeps.values():
            sweep.cancel()
        self.sweeps.clear()

    # -- a live cluster --------------------------------------------------------------------------------

    async def look_at_cluster(self, request: Request) -> Response:
        """How the cluster is now. If no node answers, that is no error of the page's, but what there is to show."""
        body = await asked(request)
        if isinstance(body, Response):
            return body
        try:
            wish = msgspec.json.decode(body)
            return answer({"lost": UNSET, "unset": True} if self.watch is None else await self.watch.look(wish))
        except (CongenialError, msgspec.DecodeError) as error:
            return answer({"error": str(error)}, 400)

    async def carry_out(self, request: Request, work: Callable[[Any], object]) -> Response:
        """What comes of work that takes a while, or what is wrong with what was asked for."""
        body = await asked(request)
        return body if isinstance(body, Response) else await attempt(lambda: work(msgspec.json.decode(body)))

    async def states(self, request: Request) -> Response:
        live = self.runs.get(request.path_params["number"])
        if live is None:
            return answer({"error": "this run is no longer kept: run it again"}, 404)
        return await attempt(lambda: states_document(live.whole()))


async def asked(request: Request) -> bytes | Response:
    """What a page sends; or why that is refused."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return answer({"error": "what a page asks for must be JSON"}, 415)
    body = await request.body()
    return answer({"error": "that is too long"}, 413) if len(body) > LARGEST else body


async def attempt(work: Callable[[], object]) -> Response:
    """What comes of work that takes a while, or what is wrong with what was asked for."""
    try:
        return answer(await run_in_threadpool(lambda: msgspec.json.encode(work())))
    except (CongenialError, msgspec.DecodeError) as error:
        return answer({"error": str(error)}, 400)
    except MemoryError:
        return answer({"error": "there is not enough memory for this: ask for fewer processes or requests"}, 400)


def _count(given: Mapping[str, str], name: str) -> int:
    try:
        return max(0, int(given.get(name, "0")))
    except ValueError:
        raise ConfigError(f"{name} must be a whole number") from None


def answer(content: Any, status: int = 200) -> Response:
    """JSON; bytes are JSON already."""
    body = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return Response(body, status, headers={"content-type": "application/json"})


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free."""
    if not host.strip():
        raise ConfigError("host must be a name or an address of this machine, not ''")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
            listening.listen()
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(f"cannot listen on {host}, port {port}: {why(error)}") from error
    return listening


def serve(listening: socket.socket, host: str, secret: str, studio: Studio) -> None:
    """Serve until interrupted."""
    import uvicorn

    app = Guard(studio.app(), secret, host)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        studio.end_checks()
        studio.end_sweeps()
