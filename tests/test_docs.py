"""The pages of docs/ say what the tool says, and their examples run."""

from __future__ import annotations

import ast
import asyncio
import csv
import inspect
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import congenial
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.spec import LAW_FUNCTIONS, LAW_VARIABLES, Spec
from congenial.kernel.trace import KINDS
from congenial.lab.sweep import Sweep
from congenial.sim.result import Result
from congenial.systems.catalogue import ALGORITHMS
from pages import DOCS, ROOT, Command, commands_of, run_page
from places import alone, with_free_addresses

TABLE = re.compile(r"`congenial list --markdown` prints\n\n(.*?)\n\n", re.DOTALL)


def test_the_catalogue(rewrite: bool) -> None:
    page = DOCS / "algorithms.md"
    text = page.read_text(encoding="utf-8")
    found = TABLE.search(text)
    assert found is not None
    env = {**os.environ, "PYTHONPATH": str(Path(congenial.__file__).parents[1])}
    command = [sys.executable, "-m", "congenial", "list", "--markdown"]
    table = subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout.strip()
    if rewrite:
        page.write_text(text[: found.start(1)] + table + text[found.end(1) :], encoding="utf-8")
    else:
        assert found[1] == table


def test_links_lead_somewhere() -> None:
    for page in sorted(DOCS.rglob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_the_list_of_pages_is_complete() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.name != "README.md"]
    assert [page for page in sorted(pages) if f"]({page})" not in index] == []
    assert "](docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_links_to_headings_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            aim = (page.parent / target).resolve() if target else page
            titles = re.findall(r"^#+ (.*)$", aim.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
            assert anchor in anchors, f"{page.name} points to #{anchor}"


DEEP = pytest.param("experiments.md", marks=pytest.mark.deep)  # a sweep and a reproduction, with plots
RUNNING = ["tutorial.md", "simulator.md", "checking.md", "writing-algorithms.md", DEEP]


@pytest.mark.parametrize("page", RUNNING)
def test_the_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    run_page(DOCS / page, tmp_path)


def test_the_excerpts_are_from_the_example() -> None:
    program = (ROOT / "examples" / "retry_lock.py").read_text(encoding="utf-8")
    excerpts = re.findall(r"```py\n(.*?)```", (DOCS / "writing-algorithms.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(excerpts) >= 6
    assert [excerpt for excerpt in excerpts if excerpt not in program] == []


def test_the_tutorial_shows_the_example() -> None:
    program = (ROOT / "examples" / "central_lock.py").read_text(encoding="utf-8")
    assert f"```python\n{program}```" in (DOCS / "tutorial.md").read_text(encoding="utf-8")


SHOWN = [command for page in ("transforms.md", "choosing.md", "frontier.md") for command in commands_of(DOCS / page)]


@pytest.mark.parametrize("command", SHOWN, ids=lambda command: command.text)
def test_the_command_says_what_the_page_says(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.expected, "the page should say what the command prints"
    monkeypatch.chdir(ROOT)
    command.run_here(any_code="--json" in command.text)  # "entries" says it all


def section_of(page: str, title: str) -> str:
    """The text under a heading, up to the next heading."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.split(r"^#+ ", text.partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


def first_cells(text: str) -> str:
    """The first cells of all rows of the tables in a text."""
    return "\n".join(re.findall(r"^\| (.*?) \|", text, re.MULTILINE))


def test_the_table_of_events_is_complete() -> None:
    named = re.findall(r"`(\w+)`", first_cells(section_of("simulator.md", "Traces")))
    assert sorted(named) == sorted(KINDS)


def test_the_table_of_measures_is_complete() -> None:
    """A suffix such as `_max` stands for the name before it with another ending."""
    named: set[str] = set()
    for cell in first_cells(section_of("simulator.md", "Measures")).splitlines():
        names = re.findall(r"`(\w+)`", cell)
        stem = names[0].rpartition("_")[0] if names else ""
        named.update([stem + name if name[0] == "_" else name for name in names])
    parameters = {"algorithm", "nodes", "groups", "requests", "seed", "runs", "intervals"}
    assert sorted({field.name for field in fields(Result)} - parameters - named) == []


def test_the_table_of_a_spec_is_complete() -> None:
    named = re.findall(r"`(\w+)`", first_cells(section_of("writing-algorithms.md", "Spec")))
    assert sorted(named) == sorted([field.name for field in fields(Spec)])


def test_the_variables_of_cost_laws_are_explained() -> None:
    contract = section_of("writing-algorithms.md", "Spec").partition("Variables: ")[2]
    assert [name for name in LAW_VARIABLES if not re.search(rf"\b{name}\b", contract)] == []
    catalogue = (DOCS / "algorithms.md").read_text(encoding="utf-8").partition("\nMessages are per entry")[2]
    laws = " ".join([str(algorithm.spec.messages) for algorithm in ALGORITHMS.values()])
    used = set(re.findall(r"[A-Za-z_]\w*", laws.replace("None", ""))) - set(LAW_FUNCTIONS)
    assert len(used) > 8
    assert [name for name in sorted(used) if not re.search(rf"\b{name}\b", catalogue.partition("##")[0])] == []


@pytest.mark.parametrize(("kind", "title", "prefix"), [(Node, "The node", "self."), (Out, "Out", "out.")])
def test_the_contract_is_complete(kind: type, title: str, prefix: str) -> None:
    """Everything that `Node` and `Out` offer has a row, and methods are written with their parameters."""
    rows = first_cells(section_of("writing-algorithms.md", title))
    named = re.findall(rf"`(?:{re.escape(prefix)})?(\w+)(?:\((.*?)\))?`", rows)
    assert sorted({name for name in vars(kind) if not name.startswith("_")} - {name for name, _ in named}) == []
    source = ast.parse((ROOT / "src" / "congenial" / "kernel" / f"{kind.__name__.lower()}.py").read_text("utf-8"))
    (body,) = [node.body for node in source.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__]
    methods = [method for method in body if isinstance(method, ast.FunctionDef) and method.name[0] != "_"]
    assert len(methods) >= 12
    wanted = [(method.name, parameters_of(method)) for method in methods]
    assert [method for method in wanted if method not in named] == []


def parameters_of(method: ast.FunctionDef) -> str:
    """The parameters of a method without self and types, as in `out, fence=0`."""
    for parameter in method.args.args:
        parameter.annotation = None
    return ast.unparse(method.args).removeprefix("self").removeprefix(", ")


HEADLESS = re.compile(
    r"(^|[.;:(\"] ?|(?<!#)# ?|// ?)who (is|has|had|was|were|can|may|must|asks|holds|waits|hears|enters|leaves|comes"
    r"|does|gets|wants|names|looks|loses|crashed|only)\b[^?]*$",
    re.IGNORECASE,
)
MARGIN = re.compile(r"\s*(#(?!#)|//|/?\*+|>)?\s*")  # what stands before the text of a line


def headless_in(text: str) -> list[str]:
    """The lines without a subject, and the sentences, which may be broken across lines."""
    lines = [line.strip() for line in text.splitlines()]
    bare = [line[found.end() :] for line in lines if (found := MARGIN.match(line))]
    paragraphs = [" ".join(paragraph.splitlines()) for paragraph in re.split(r"\n\n+", "\n".join(bare))]
    sentences = [sentence for paragraph in paragraphs for sentence in re.split(r"(?<=[.?!]) ", paragraph)]
    return [part for part in (*lines, *sentences) if HEADLESS.search(part) and 'not "who' not in part]


def test_sentences_have_a_subject() -> None:
    """ "A process that waits", not "who waits". Questions, such as "Who is inside?", have one."""
    pages = [*DOCS.glob("*.md"), *[ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]]
    files = [page for page in pages if page.name != "comparison.md"]
    for room in ("src", "tests", "examples", "benchmarks", "site", "docs"):
        paths = sorted((ROOT / room).rglob("*"))
        kinds = (".py", ".ndjson", ".js", ".html", ".yml") if room != "docs" else (".py",)
        files += [path for path in paths if path.suffix in kinds and path.name != "test_docs.py"]
    assert {"lock_panel.js", "index.html", "many_locks.py", "mkdocs.yml"} <= {file.name for file in files}
    assert len(files) > 700
    assert [(file.name, part) for file in files for part in headless_in(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("text", "headless"),
    [
        ("who waits is served in the end", True),
        ("It is fair: who waits is served", True),
        ('{"about": "who was superseded overlaps with its successor"}', True),
        ("node = 1  # who has asked first", True),
        ("let node = 1; // who has asked first", True),
        ("/** One lock: who holds it. */", True),
        ("It is fair: who\nwaits is served.", True),
        ("# All are served. Who\n# has asked first is first.", True),
        (" * All are served. Who\n * waits is served. Is that fair?", True),
        ("All are served. Who\nis first? The oldest.", False),
        ("the process\nthat waits, not those\nof others", False),
        ("Who is inside? Nobody.", False),
        ("## Who can use it", False),
        ("the members agree on who has a vote", False),
    ],
)
def test_what_counts_as_a_sentence_without_a_subject(text: str, headless: bool) -> None:
    assert bool(headless_in(text)) == headless


def test_no_text_is_left_unfinished() -> None:
    """A placeholder for a sentence that was never written must not be published."""
    placeholder = re.compile(r"\b(X{2,}|TODO|FIXME|TBD)\b")
    files = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "src").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
    assert len(files) > 300
    found = [(file.name, line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(name, line) for name, line in found if placeholder.search(line)] == []


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"^\*\*(.+?)\*\*", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert words == sorted(words, key=str.lower)
    assert {"epoch", "era", "fence", "incarnation", "quorum", "seat", "session", "token"} <= set(words)


def test_the_files_named_in_the_architecture_exist() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)*\w+\.(?:py|md|toml))`", text))
    assert len(named) > 20
    places = (ROOT, ROOT / "src" / "congenial")
    assert [name for name in sorted(named) if not any([(place / name).is_file() for place in places])] == []


ROOMS_IN_FULL = ("kernel", "problems", "transform", "systems", "sim", "checker", "net", "testing", "view", "studio")


def test_the_architecture_names_every_file_of_the_drivers_and_what_they_share() -> None:
    """Algorithms, parts, experiments and subcommands are many of a kind: their rooms are named, not each file."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "congenial"
    files = [path.relative_to(package).as_posix() for room in ROOMS_IN_FULL for path in (package / room).rglob("*.py")]
    scripts = [path.name for path in (package / "studio" / "page").glob("*.js")]
    assert len(files) > 100
    wanted = [name for name in files if not name.endswith("__init__.py")] + scripts
    assert [name for name in sorted(wanted) if f"`{name}`" not in text] == []


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_names_on_the_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    places = (ROOT, ROOT / "src" / "congenial")
    files = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|toml))`", text))
    assert [name for name in sorted(files) if not any([(place / name).is_file() for place in places])] == []
    names = set(re.findall(r"\bcongenial\.([a-zA-Z_]\w*)", text)) - {"toml", "yaml"}
    rooms = {path.stem for path in (ROOT / "src" / "congenial").iterdir()}
    assert [name for name in sorted(names) if name not in rooms and name not in congenial.__all__] == []


def choosing() -> tuple[str, dict[str, dict[tuple[str, float], dict[str, str]]]]:
    """The page, and the data beside its figures: by sweep, algorithm and value."""
    data = {}
    for name, parameter in (("load", "think"), ("groups", "groups")):
        with (DOCS / "choosing" / f"{name}.csv").open(encoding="utf-8") as file:
            data[name] = {(row["algorithm"], float(row[parameter])): row for row in csv.DictReader(file)}
    return (DOCS / "choosing.md").read_text(encoding="utf-8"), data


def test_the_page_on_choosing_was_made_by_the_code_that_is_here() -> None:
    text, _ = choosing()
    script = runpy.run_path(str(DOCS / "choosing" / "make.py"))
    assert script["about"]() in text, f"the code has changed since the page was made; run: {script['COMMAND']}"


def test_the_page_on_choosing_says_what_its_figures_show() -> None:
    """The numbers in its table and in its sentences are those of the data beside its figures."""
    text, data = choosing()
    rows = data["load"]
    for name in {name for name, _ in rows}:
        light, heavy = rows[name, 10000.0], rows[name, 0.0]
        messages = [float(row["messages_per_entry"]) for row in (light, heavy)]
        waiting, entries = float(light["waiting_time_mean"]), 1000 * float(heavy["throughput"])
        assert f"| `{name}` | {messages[0]:.1f} | {messages[1]:.1f} | {waiting:.0f} | {entries:.0f} |" in text

    def span(metric: str, think: float, names: str) -> str:
        found = [float(rows[name, think][metric]) for name in names.split(", ")]
        return f"({min(found):.0f} to {max(found):.0f})"

    assert f"permissions {span('waiting_time_mean', 10000.0, 'agrawal-el-abbadi, maekawa, ricart-agrawala')}" in text
    straight = span("sync_delay_mean", 0.0, "naimi-trehel, neilsen-mizuno tree=star, suzuki-kasami, ricart-agrawala")
    assert f"`ricart-agrawala` {straight}" in text
    assert f"quorums {span('sync_delay_mean', 0.0, 'agrawal-el-abbadi, maekawa')}" in text
    assert f"(`raymond-tree`: {float(rows['raymond-tree', 10000.0]['waiting_time_mean']):.0f})" in text

    def gain(groups: float) -> str:
        found = [float(data["groups"][name, groups]["throughput"]) for name in ("token-gme", "suzuki-kasami")]
        return f"{found[0] / found[1]:.1f}"

    assert f"`token-gme` makes {gain(2.0)} times as many entries as a plain lock, with 20 groups {gain(20.0)}" in text


def test_the_sweeps_about_choosing_can_be_run() -> None:
    files = sorted((DOCS / "choosing").glob("*.toml"))
    assert [path.stem for path in files] == ["groups", "load"]
    for path in files:
        Sweep.from_toml(path).validate()
        assert f"congenial sweep docs/choosing/{path.name}" in (DOCS / "choosing.md").read_text(encoding="utf-8")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def run_block(block: str, names: dict[str, Any]) -> None:
    code = compile(block, "docs/locks.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)  # noqa: S307 (our own page)
    if inspect.iscoroutine(result):
        await result


def test_the_page_about_guarded_objects() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "guarded.md").read_text(encoding="utf-8"), re.DOTALL)
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    for written, real in zip(["127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"], addresses, strict=True):
        block = block.replace(written, real)
    peers = dict(zip("abc", addresses, strict=True))
    names: dict[str, Any] = {}
    start, _, body = block.partition("peers = ")

    async def play() -> None:
        await run_block(start, names)
        async with congenial.join("b", peers=peers) as b, congenial.join("c", peers=peers) as c:
            replicas = [member.guarded("ledger", names["Ledger"]()) for member in (b, c)]
            await run_block(f"peers = {body}", names)
            assert names["balance"] == 5
            async with replicas[0] as section:
                assert await section.issue(("ann", -11)) == "no funds"
            assert replicas[0].replica.accounts == {"ann": 10, "bob": 5}

    asyncio.run(asyncio.wait_for(play(), 30))


def test_the_example_of_forking() -> None:
    *_, block = re.findall(r"```python\n(.*?)```", (DOCS / "locks.md").read_text(encoding="utf-8"), re.DOTALL)
    for written in ("127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"):
        block = block.replace(written, f"127.0.0.1:{free_port()}")
    serve = (
        "import congenial, multiprocessing\n"
        "together = multiprocessing.get_context('fork').Barrier(3)\n"
        "def serve(cluster):\n"
        "    with cluster.mutex('invoices', timeout=60) as held:\n"
        "        print(cluster.name, held.fence, flush=True)\n"
        "    together.wait(60)\n"
    )
    ended = subprocess.run([sys.executable, "-c", serve + block], capture_output=True, text=True, timeout=100)
    assert ended.stderr == ""
    told = dict([line.split() for line in ended.stdout.splitlines()])
    assert sorted(told) == ["worker-0", "worker-1", "worker-2"]
    assert len(set(told.values())) == 3


def test_the_locks_page() -> None:
    first, growing, losing, *others, _ = re.findall(
        r"```python\n(.*?)```", (DOCS / "locks.md").read_text(encoding="utf-8"), re.DOTALL
    )
    ports = {f"710{k}": str(free_port()) for k in (1, 2, 3)}
    for written, real in ports.items():
        first = first.replace(written, real)
    peers = dict(zip("abc", [f"127.0.0.1:{port}" for port in ports.values()], strict=True))
    fences: list[int] = []

    async def play() -> None:
        async with congenial.join("b", peers=peers) as b, congenial.join("c", peers=peers):
            await run_block(first, {"write": lambda _, fence: fences.append(fence), "invoice": None})
            assert b.status()

    async def grow() -> None:
        await run_block(with_free_addresses(growing), {"congenial": congenial})

    async def run_others() -> None:
        known = {"congenial": congenial, "peers": alone("worker-0"), "write_report": lambda: None}
        for block in others:
            async with congenial.join("a", peers=alone()) as cluster:
                await run_block(block, {"cluster": cluster, **known})

    async def lose() -> None:
        async with congenial.join("a", peers=alone()) as cluster:

            async def write(invoice: None, fence: int) -> None:
                entrance = cluster.mutex("invoices")._entrance
                asyncio.get_running_loop().call_soon(entrance._lose_all, "for a test")
                await asyncio.sleep(60)

            with pytest.raises(congenial.LockLost, match="for a test"):
                await run_block(losing, {"cluster": cluster, "write": write, "invoice": None})

    asyncio.run(asyncio.wait_for(play(), 30))
    asyncio.run(asyncio.wait_for(grow(), 30))
    asyncio.run(asyncio.wait_for(lose(), 30))
    asyncio.run(asyncio.wait_for(run_others(), 30))
    assert len(fences) == 1
    assert fences[0] > 0
