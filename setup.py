"""Compiles the hot rooms of the package with mypyc; without a C compiler, installs them as plain Python.

Every module becomes a C file and a shared library of its own. After a change only the modules that changed, and those
that include their headers, are compiled again: generated C, objects and libraries stay in `build/`, each with a digest
of everything that went into it. (One library for all of them is hardly faster to run, but a new string in one module
then changes the C of every module. mypyc's own cache is not used: it forgets runtime files that cached modules need.)

Message classes get constructors before, and public classes keep their docstrings: `write_expanded` says why. Their
sources in `src/` remain as they are.

pip shows what a build prints only when asked to (-v). `congenial --version` says whether the package is compiled.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from hashlib import sha256
from importlib.metadata import version
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from textwrap import shorten

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src/congenial")
EXPANDED = Path("build/expanded")
COMPILED = ("kernel", "problems", "parts", "algorithms", "transform", "systems", "sim", "checker")
INTERPRETED = (  # run once per run, not per event
    "sim/arrivals.py",
    "sim/faults.py",
    "sim/scenario.py",
    "sim/result.py",
    "sim/simulate.py",
    "sim/detection.py",
    "sim/hops.py",
    "checker/bounds.py",
    "checker/check.py",
    "checker/check_run.py",
    "checker/counterexample.py",
    "checker/fuzz.py",
    "checker/graph_faults.py",
    "checker/replay.py",
    "checker/result.py",
    "checker/shorten.py",
    "checker/tasks.py",
    "checker/workers.py",
)
COMPILED_TOO = (  # what one message on the network runs through; the rest of `net` is interpreted
    "net/dispatch.py",
    "net/door.py",
    "net/entrance.py",
    "net/forms.py",
    "net/frames.py",
    "net/held.py",
    "net/histogram.py",
    "net/kept.py",
    "net/lease.py",
    "net/link.py",
    "net/names.py",
    "net/stream.py",
    "net/turn.py",
    "net/view_door.py",
    "net/view_lease.py",
)
NOTICE = "congenial: not compiled ({}); the package works, but simulates and checks several times slower"
QUIET = 5.0  # seconds between two lines of progress where the output is not a terminal


def notice(reason: object) -> None:
    print(NOTICE.format(shorten(str(reason), 120)), file=sys.stderr)


def modules() -> list[str]:
    """The source files to compile."""
    missing = [name for name in (*INTERPRETED, *COMPILED_TOO) if not (PACKAGE / name).exists()]
    if missing:
        raise FileNotFoundError(f"setup.py names files that do not exist: {', '.join(missing)}")
    files = [path for room in COMPILED for path in sorted((PACKAGE / room).rglob("*.py"))]
    files = [path for path in files if path.relative_to(PACKAGE).as_posix() not in INTERPRETED]
    return [str(path) for path in [*files, *[PACKAGE / name for name in COMPILED_TOO]]]


def generate_c() -> list[Extension]:
    from mypyc.build import mypycify

    write_expanded()
    here = os.getcwd()
    os.chdir(EXPANDED)  # there all files have the names that they have here, also in error messages
    try:
        made: list[Extension] = mypycify(
            ["--follow-imports=silent", f"--cache-dir={os.devnull}", *modules()],
            opt_level="2",
            debug_level="0",
            separate=True,
            include_runtime_files=False,
            target_dir=f"../c.{sys.implementation.cache_tag}",
        )
    finally:
        os.chdir(here)
    for extension in made:
        for paths in (extension.sources, extension.depends, extension.include_dirs):
            paths[:] = [os.path.normpath(EXPANDED / path) for path in paths]
    return made


def in_a_process_of_its_own(make: Callable[[], list[Extension]]) -> list[Extension]:
    """Where that is cheap. What mypyc leaves in memory, more than two compilers need, is gone before they start."""
    if "fork" not in get_all_start_methods():
        return make()
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def work() -> None:
        try:
            sender.send(make())
        except (Exception, SystemExit) as error:
            sender.send(error)

    process = context.Process(target=work)
    process.start()
    sender.close()  # so that `recv` ends with the process, however that ends
    made: list[Extension] | BaseException = receiver.recv()
    process.join()
    if isinstance(made, BaseException):
        raise made
    return made


# -- what is compiled instead of the sources ---------------------------------------------------------------

Fields = list[tuple[str, str]]  # names and types
PLAIN = ("int", "bool", "float", "str", "bytes", "tuple[int, ...]")


def write_expanded() -> None:
    """Copy the package, and give every message class the constructor that its decorator would make. The decorator's is
    interpreted, and takes six times as long as a compiled one. Compiled classes have no docstrings, so those of public
    classes are set, for `help`."""
    shutil.rmtree(EXPANDED, ignore_errors=True)
    lines = {path: path.read_text("utf-8").split("\n") for path in sorted(PACKAGE.rglob("*.py"))}
    trees = {path: ast.parse("\n".join(text)) for path, text in lines.items()}
    names = {path: full_names(path, tree) for path, tree in trees.items()}
    known: dict[str, Fields] = {"congenial.kernel.message.Message": []}
    found = -1
    while len(known) > found:  # a class comes after the one that it inherits from
        found = len(known)
        for path, tree in trees.items():
            for kind in tree.body:
                if isinstance(kind, ast.ClassDef) and "dataclass(frozen=True)" in map(ast.unparse, kind.decorator_list):
                    name, *bases = [resolved(word, names[path]) for word in (kind.name, *map(ast.unparse, kind.bases))]
                    if name not in known and len(bases) == 1 and bases[0] in known:
                        known[name] = expand(kind, known[bases[0]], lines[path])
    public = {node.module for node in ast.walk(trees[PACKAGE / "__init__.py"]) if isinstance(node, ast.ImportFrom)}
    for path, tree in trees.items():
        if ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) in public:
            lines[path][-1] = docstrings(tree)
    for path, text in lines.items():
        (EXPANDED / path).parent.mkdir(parents=True, exist_ok=True)
        (EXPANDED / path).write_text("\n".join(text), "utf-8")
    shutil.copy("pyproject.toml", EXPANDED)


def full_names(path: Path, tree: ast.Module) -> dict[str, str]:
    """What the names of a module's classes and imports stand for."""
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    names = {node.name: f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def resolved(name: str, names: dict[str, str]) -> str:
    first, dot, rest = name.partition(".")
    return names.get(first, first) + dot + rest


def expand(kind: ast.ClassDef, inherited: Fields, lines: list[str]) -> Fields:
    """Write a constructor into the empty line below a class, so that lines keep their numbers. Returns its fields."""
    own = [node for node in kind.body if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node)]
    fields = [(name, shape if shape in PLAIN else "object") for name, shape in inherited]  # others may be unknown here
    fields += [(ast.unparse(node.target), ast.unparse(node.annotation)) for node in own]
    below = kind.end_lineno or 0
    simple = all(node.value is None or ast.unparse(node.value).startswith("field(metadata=") for node in own)
    if fields and simple and not lines[below]:
        parameters = ", ".join(f"{name}: {shape}" for name, shape in fields)
        settings = "; ".join(f"object.__setattr__(self, {name!r}, {name})" for name, _ in fields)
        lines[below] = f"    def __init__(self, {parameters}) -> None: {settings}"
    return fields


def docstrings(tree: ast.Module) -> str:
    """What sets the docstrings of a module's classes, for the empty last line, so that lines keep their numbers."""
    texts = [(kind.name, ast.get_docstring(kind)) for kind in tree.body if isinstance(kind, ast.ClassDef)]
    return "; ".join(f"setattr({name}, '__doc__', {text!r})" for name, text in texts if text)


class Compile(build_ext):
    """Generates C, compiles and links what has changed, several files at a time, and shows how far it is."""

    def run(self) -> None:
        try:
            print("congenial: generating C", file=sys.stderr)
            self.distribution.ext_modules = in_a_process_of_its_own(generate_c)
            self.swig_opts = None  # as it was before the first time; now again, with the extensions
            self.finalize_options()
            super().run()
        except (Exception, SystemExit) as error:
            if os.environ.get("CONGENIAL_COMPILED"):
                raise
            notice(error)
            for extension in self.extensions:  # some of them would be worse than none
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []

    def build_extensions(self) -> None:
        if self.compiler.compiler_type == "unix":  # calls within a library need no indirection
            for extension in self.extensions:
                extension.extra_compile_args.append("-fvisibility=hidden")
        owners = {source: extension for extension in self.extensions for source in extension.sources}
        self.versions = f"{sys.version} {version('mypy')} {self.compiler.executables}"
        self.objects: dict[str, str] = {}
        self.in_parallel("compiled", self.compile, sorted(owners.items(), key=size, reverse=True))
        self.in_parallel("linked", self.link, [(extension.name, extension) for extension in self.extensions])

    def compile(self, source: str, extension: Extension) -> None:
        """Compile one C file, unless its object is up to date. Headers outside `depends` go with the versions."""
        (target,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
        options = [self.versions, *sorted(extension.include_dirs), *extension.extra_compile_args]  # in any order

        def compile_now() -> None:
            self.compiler.compile(
                [source],
                output_dir=self.build_temp,
                include_dirs=extension.include_dirs,
                extra_postargs=extension.extra_compile_args,
            )

        update(target, digest(options, [source, *extension.depends]), compile_now)
        self.objects[source] = target

    def link(self, name: str, extension: Extension) -> None:
        """Link one library, unless it is up to date, and put it where the package is assembled."""
        objects = [self.objects[source] for source in extension.sources]
        kept = os.path.join(self.build_temp, "linked", self.get_ext_filename(name))
        symbols = self.get_export_symbols(extension)
        libraries = self.get_libraries(extension)

        def link_now() -> None:
            self.compiler.link_shared_object(
                objects, kept, libraries=libraries, export_symbols=symbols, build_temp=self.build_temp
            )

        update(kept, digest([self.versions], objects), link_now)
        place = Path(self.get_ext_fullpath(name))
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(kept, place)

    def in_parallel(
        self, done: str, work: Callable[[str, Extension], None], tasks: list[tuple[str, Extension]]
    ) -> None:
        progress = Progress(done, sum(size(task) for task in tasks), len(tasks))
        with ThreadPoolExecutor(self.parallel or cores()) as pool:
            futures = {pool.submit(work, *task): task for task in tasks}
            try:
                for future in as_completed(futures):
                    future.result()
                    progress.add(size(futures[future]))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        progress.end()

    def copy_extensions_to_source(self) -> None:
        if self.extensions:
            super().copy_extensions_to_source()


class Progress:
    """One line that is rewritten on a terminal, a line now and then elsewhere."""

    def __init__(self, done: str, work: int, count: int) -> None:
        self.done, self.work, self.count = done, work, count
        self.finished = self.files = 0
        self.start = self.shown = time.monotonic()

    def add(self, size: int) -> None:
        self.finished += size
        self.files += 1
        now = time.monotonic()
        if sys.stderr.isatty():
            print(f"\r\033[K{self.line(now)}", end="", file=sys.stderr, flush=True)
        elif now - self.shown >= QUIET:
            self.shown = now
            print(self.line(now), file=sys.stderr, flush=True)

    def line(self, now: float) -> str:
        left = (now - self.start) * (self.work - self.finished) / self.finished
        return f"congenial: {self.done} {self.files} of {self.count} files, about {left:.0f} s left"

    def end(self) -> None:
        start = "\r\033[K" if sys.stderr.isatty() else ""
        print(f"{start}congenial: {self.done} in {time.monotonic() - self.start:.0f} s", file=sys.stderr)


def size(task: tuple[str, Extension]) -> int:
    """How much work a task is, roughly: the bytes of C, and a little for starting a compiler."""
    path, _ = task
    return 50_000 + (os.path.getsize(path) if os.path.exists(path) else 0)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def digest(words: Iterable[str], files: Iterable[str]) -> str:
    contents = [sha256(Path(file).read_bytes()).hexdigest() for file in files]
    return sha256("\0".join([*words, *contents]).encode()).hexdigest()


def update(target: str, wanted: str, make: Callable[[], None]) -> None:
    """Make a file, unless it was made from what has this digest."""
    note = Path(f"{target}.digest")
    if os.path.exists(target) and note.exists() and note.read_text() == wanted:
        return
    note.unlink(missing_ok=True)
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    make()
    note.write_text(wanted)


if os.environ.get("CONGENIAL_PURE"):
    notice("CONGENIAL_PURE is set")
    setup()
else:  # the name only says that there is something to compile; most commands need to know no more
    setup(ext_modules=[Extension("congenial", sources=[])], cmdclass={"build_ext": Compile})
