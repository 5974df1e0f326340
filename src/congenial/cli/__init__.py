"""The command line: `congenial SUBCOMMAND`.

A subcommand is a module here with a function `command`, whose docstring is its help, and a text `EXAMPLES` with one
command a line. To add one, write the module and put its name into `SUBCOMMANDS`. Modules import what is heavy (the
simulator, tables) inside their functions, so that `congenial --help` and completion stay quick.

Every command ends with an exit code and at most one line on stderr: 0 if all went well, 1 if what was run went wrong (a
violation, a deadlock, a node that raises, Ctrl-C), 2 if it could not be run as asked. `congenial lock` runs another
command, and has more of them.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from congenial.cli.failure import CommandFailure
from congenial.kernel.errors import ConfigError, CongenialError

SUBCOMMANDS = (
    "list", "sim", "compare", "check", "fuzz", "replay", "sweep", "reproduce", "detector", "studio",
    "node", "lock", "status", "members", "certs", "demo",
)  # fmt: skip

FAILED = 1
REFUSED = 2
INTERRUPTED = 130  # what typer makes of Ctrl-C
# typer does not export it, and its home has moved between versions
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def make_app() -> typer.Typer:
    app = typer.Typer(
        name="congenial",
        help="Simulate, compare, check and run algorithms for mutual exclusion.",
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
    )
    app.callback()(_common_options)
    for name in SUBCOMMANDS:
        module = import_module(f"congenial.cli.{name}")
        # an empty line between examples keeps typer from running them together
        app.command(name, epilog="Examples:\n\n" + "\n\n".join(module.EXAMPLES.strip().splitlines()))(module.command)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: run the command and exit, with one clear line if something is wrong."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a character shows another
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = make_app()(args=words or ["--help"], prog_name="congenial", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        _exit(REFUSED, _usage(error))
    except ConfigError as error:
        _exit(REFUSED, str(error))
    except CommandFailure as error:
        _exit(error.code, str(error))
    except CongenialError as error:
        _exit(FAILED, str(error))
    except MemoryError:
        _exit(FAILED, "there is not enough memory for this: ask for fewer nodes, requests or states")
    except (KeyboardInterrupt, typer.Abort):
        _exit(FAILED, "interrupted")
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except Exception as error:
        if os.environ.get("CONGENIAL_TRACEBACK"):
            raise
        _exit(FAILED, f"{type(error).__name__}: {error} (CONGENIAL_TRACEBACK=1 shows where)")
    if code == INTERRUPTED:
        _exit(FAILED, "interrupted")
    sys.exit(code or 0)


def _usage(error: Any) -> str:
    command = error.ctx.command_path if error.ctx else "congenial"
    return f"{error.format_message()} (see {command} --help)"


def _exit(code: int, reason: str) -> NoReturn:
    print("congenial: " + " ".join(reason.split()), file=sys.stderr)
    sys.exit(code)


def _show_version(wanted: bool) -> None:
    if wanted:
        from congenial import __version__
        from congenial.cli.output import INTERPRETED, compiled

        print(f"congenial {__version__} ({'compiled' if compiled() else INTERPRETED})")
        raise typer.Exit


def _common_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Simulate, compare, check and run algorithms for mutual exclusion."""
