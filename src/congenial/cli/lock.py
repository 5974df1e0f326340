"""`congenial lock`: run a command while holding a lock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from congenial.cli.failure import CommandFailure
from congenial.cli.node import Config, Socket
from congenial.kernel.errors import ConfigError

if TYPE_CHECKING:
    from congenial.net.client import Client, RemoteHeld, RemoteLock
    from congenial.net.config import ClusterConfig

EXAMPLES = """
congenial lock nightly-backup -- backup.sh /srv
congenial lock catalogue --shared -- grep shoes catalogue.csv
congenial lock jukebox --group disc-7 --timeout 10 -- play disc-7
congenial lock gpus --semaphore 4 -- train.py
"""

# exit codes; those of timeout(1), and flock(1) has -E, too
NOT_ACQUIRED = 124
NO_NODE = 125
NOT_EXECUTABLE = 126
NOT_FOUND = 127
INTERRUPTED = 130  # 128 + SIGINT, as the shell has it
LOST = 75  # EX_TEMPFAIL
GRACE = 5.0  # seconds between asking a command to end and ending it
PR_SET_PDEATHSIG = 1  # of prctl(2)


def command(
    name: Annotated[str, typer.Argument(help="The lock.")],
    words: Annotated[list[str], typer.Argument(metavar="-- COMMAND ARGS...", help="What to run.")],
    group: Annotated[str | None, typer.Option(help="Hold it together with others of this group.")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Hold it together with others that share it.")] = False,
    exclusive: Annotated[bool, typer.Option("--exclusive", help="Hold it alone (as without any option).")] = False,
    semaphore: Annotated[int | None, typer.Option(metavar="K", help="Hold it with at most K-1 others.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Give up after so many seconds; 0: do not wait.")] = None,
    conflict: Annotated[
        int,
        typer.Option("--conflict-exit-code", "-E", min=0, max=255, help="The exit code if it cannot be acquired."),
    ] = NOT_ACQUIRED,
    config: Config = Path("cluster.toml"),
    node: Annotated[str, typer.Option("--node", help="Which node of this machine, if it runs several.")] = "",
    socket: Socket = "",
) -> None:
    """Run a command while holding a lock of the node on this machine.

    The command finds the fence in CONGENIAL_FENCE. The exit code is the command's, or 128+N if signal N ended it. If
    the command was not run: 124 if the lock could not be acquired (-E chooses another code), 125 if there is no node or
    it does not answer, 126 if the command cannot be executed, 127 if there is no such command, 130 after Ctrl-C, 2 if
    the options are wrong. 75 if the lock was lost: the command is then ended first (SIGTERM, and SIGKILL after 5
    seconds).

    If this process is killed, the command gets a SIGTERM. The lock stays held until the command and all processes that
    it has started have ended, except those that have closed the files they inherited.
    """
    import asyncio

    from congenial.net.errors import ClusterDegraded

    if (group is not None) + shared + exclusive + (semaphore is not None) > 1:
        raise ConfigError("choose one of --group, --shared, --exclusive and --semaphore")
    if not name or group == "":
        raise ConfigError("the name of a lock or group is empty: is a variable of the shell not set?")
    try:
        found = connect(config, node, socket)
    except ClusterDegraded as error:
        raise CommandFailure(NO_NODE, str(error)) from error
    try:
        code = asyncio.run(run_holding(found, name, words, group, shared, semaphore, timeout, conflict))
    except KeyboardInterrupt:
        raise CommandFailure(INTERRUPTED, "interrupted") from None
    raise SystemExit(code)  # not typer.Exit: for typer a 130 is a Ctrl-C of our own


def connect(config: Path, node: str, socket: str) -> Client:
    """The node of this machine: at the socket that is given, or the only one that is there."""
    from congenial.net.client import Client
    from congenial.net.config import load_config
    from congenial.net.errors import ClusterDegraded
    from congenial.net.local import sockets_here

    if socket:
        return Client(socket, check_user=False)  # the user says which socket to trust
    described: ClusterConfig = load_config(config)
    present = sockets_here(described, (node,) if node else described.members)
    if node and not present and not described.seeds:
        described.check_member(node)  # unless it has entered by seeds
    if not present:
        raise ClusterDegraded(f"no node of {described.cluster!r} on this machine: start one with `congenial node`")
    if len(present) > 1:
        raise ConfigError(f"{len(present)} nodes of {described.cluster!r} on this machine: choose one with --node")
    return Client(present[0])


async def run_holding(
    node: Client,
    name: str,
    words: list[str],
    group: str | None,
    shared: bool,
    semaphore: int | None,
    timeout: float | None,
    conflict: int,
) -> int:
    from contextlib import AsyncExitStack

    from congenial.net.errors import ClusterDegraded, LockTimeout

    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(node)
        except ClusterDegraded as error:
            raise CommandFailure(NO_NODE, str(error)) from error
        lock: RemoteLock
        if group is not None:
            lock = client.group(name, group, timeout=timeout)
        elif semaphore is not None:
            lock = client.semaphore(name, semaphore, timeout=timeout)
        elif shared:
            lock = client.shared(name, timeout=timeout)
        else:
            lock = client.exclusive(name, timeout=timeout)
        try:
            held = await lock.acquire()
        except (LockTimeout, ClusterDegraded) as error:
            raise CommandFailure(conflict, str(error)) from error
        code = await run_while(client, held, words)
        if held.held:
            held.release()
        return code


async def run_while(client: Client, held: RemoteHeld, words: list[str]) -> int:
    """The command's exit code; if the lock is lost, end the command and all that it has started.

    The command inherits the connection to the node. So the node does not take this process for ended, and the lock for
    free, before the command has ended, too.
    """
    import asyncio
    import os
    import signal
    import sys

    # In a terminal the command stays in our process group, to be able to read and to get the user's Ctrl-C.
    group = None if sys.stdin.isatty() else 0
    env = {**os.environ, "CONGENIAL_FENCE": str(held.fence), "CONGENIAL_LOCK": held.name}
    connection = os.dup(client.fileno())
    try:
        process = await asyncio.create_subprocess_exec(
            *words, env=env, process_group=group, pass_fds=(connection,), preexec_fn=end_with_parent()
        )
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        raise CommandFailure(code, f"cannot run {words[0]}: {error.strerror}") from error
    finally:
        os.close(connection)

    def signal_all(number: int) -> None:
        try:
            (os.kill if group is None else os.killpg)(process.pid, number)
        except ProcessLookupError:
            pass

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, signal_all, signal.SIGTERM)  # pass it on, and wait
    loop.add_signal_handler(signal.SIGINT, lambda: None if group is None else signal_all(signal.SIGINT))
    ending = asyncio.ensure_future(process.wait())
    lost = asyncio.ensure_future(held.lost.wait())
    either: list[asyncio.Future[Any]] = [ending, lost]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if ending.done():
        lost.cancel()
        code = ending.result()
        return code if code >= 0 else 128 - code
    print(f"congenial: lock {held.name!r} is lost ({held.lost.why}): ending the command", file=sys.stderr)
    signal_all(signal.SIGTERM)
    await asyncio.wait([ending], timeout=GRACE)
    signal_all(signal.SIGKILL)  # also what the command leaves behind
    await ending
    return LOST


def end_with_parent() -> Callable[[], None] | None:
    """What a child has to call to get a SIGTERM when its parent ends, however it ends. Only Linux can do that."""
    import ctypes
    import os
    import signal
    import sys

    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:  # it has ended already
            os._exit(1)

    return ask
