"""Compiles the hot rooms of the package with mypyc; without a C compiler, installs them as they are.

pip shows what a build prints only when asked to (-v), so the notice below is not the only one: `congenial --version`
says whether the package is compiled, and `congenial sim` does if it is not.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import shorten

from setuptools import setup
from setuptools.command.build_ext import build_ext

COMPILED = ("kernel", "problems", "parts", "algorithms", "transform", "systems", "sim", "checker")
INTERPRETED = (  # run once per run, not per event
    "sim/scenario.py",
    "sim/result.py",
    "sim/simulate.py",
    "sim/detection.py",
    "sim/hops.py",
    "checker/check.py",
    "checker/cases.py",
    "checker/fuzz.py",
    "checker/replay.py",
)
NOTICE = "congenial: not compiled ({}); the package works, but simulates and checks several times slower"


def notice(reason: object) -> None:
    print(NOTICE.format(shorten(str(reason), 120)), file=sys.stderr)


class BuildIfPossible(build_ext):
    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            notice(error)
            for extension in self.extensions:  # half of them would be worse than none
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []

    def copy_extensions_to_source(self) -> None:
        if self.extensions:
            super().copy_extensions_to_source()


def extensions() -> list[object]:
    if os.environ.get("CONGENIAL_PURE"):
        notice("CONGENIAL_PURE is set")
        return []
    package = Path("src/congenial")
    sources = [path for room in COMPILED for path in sorted((package / room).rglob("*.py"))]
    wanted = [str(path) for path in sources if path.relative_to(package).as_posix() not in INTERPRETED]
    try:
        from mypyc.build import mypycify

        return list(mypycify(["--follow-imports=silent", *wanted], opt_level="3", debug_level="0"))
    except (Exception, SystemExit) as error:
        notice(error)
        return []


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildIfPossible})
