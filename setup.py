"""Compiles the hot rooms of the package with mypyc; without a C compiler, installs them as plain Python.

Every module becomes a C file and a shared library of its own. After a change only the modules that changed, and those
that include their headers, are compiled again: generated C, objects and libraries stay in `build/`, each with a digest
of everything that went into it. (One library for all of them is hardly faster to run, but a new string in one module
then changes the C of every module. mypyc's own cache is not used: it forgets runtime files that cached modules need.)

pip shows what a build prints only when asked to (-v). `congenial --version` says whether the package is compiled.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src/congenial")
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
NOTICE = "congenial: not compiled ({}); the package works, but simulates and checks several times slower"
QUIET = 5.0  # seconds between two lines of progress where the output is not a terminal


def notice(reason: object) -> None:
    print(NOTICE.format(shorten(str(reason), 120)), file=sys.stderr)


def modules() -> list[str]:
    """The source files to compile."""
    missing = [name for name in INTERPRETED if not (PACKAGE / name).exists()]
    if missing:
        raise FileNotFoundError(f"INTERPRETED in setup.py names files that do not exist: {', '.join(missing)}")
    files = [path for room in COMPILED for path in sorted((PACKAGE / room).rglob("*.py"))]
    return [str(path) for path in files if path.relative_to(PACKAGE).as_posix() not in INTERPRETED]


def generate_c() -> list[Extension]:
    from mypyc.build import mypycify

    made: list[Extension] = mypycify(
        ["--follow-imports=silent", f"--cache-dir={os.devnull}", *modules()],
        opt_level="2",
        debug_level="0",
        separate=True,
        include_runtime_files=False,
        target_dir=f"build/c.{sys.implementation.cache_tag}",
    )
    return made


class Compile(build_ext):
    """Generates C, compiles and links what has changed, several files at a time, and shows how far it is."""

    def run(self) -> None:
        try:
            print("congenial: generating C", file=sys.stderr)
            self.distribution.ext_modules = generate_c()
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
