"""`Node`: one process of a distributed algorithm, as a plain state machine.

Write a subclass: its attributes are the process's state, its methods are the steps. A node does no I/O, reads no
clock and draws no random numbers. It acts on the world only through the `Out` that every call hands to it. That is
why the same class can be simulated, model-checked and put on a network.

A node's attributes hold plain data only: numbers, strings, bytes, None, messages, parts, inner nodes, and lists,
tuples, sets and dicts of these (`congenial.kernel.state` copies, compares and stores them). An algorithm iterates
over sets and dicts in sorted order, so that equal seeds give equal runs.
"""

from __future__ import annotations

from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ContractError, UnexpectedMessage
from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import UNSPECIFIED, Spec

IDLE: Final = 0
WAITING: Final = 1
INSIDE: Final = 2
PHASES: Final = ("idle", "waiting", "inside")


@mypyc_attr(allow_interpreted_subclasses=True)
class Node:
    """Process `me` of `n`; processes are numbered 0..n-1.

    >>> class Alone(Node):
    ...     def request(self, groups, out):
    ...         self.wait()
    ...         self.enter(out)
    ...     def release(self, out):
    ...         self.leave()
    >>> simulate(Alone, nodes=1, requests=3).entries
    3
    """

    spec: ClassVar[Spec] = UNSPECIFIED
    durable: ClassVar[tuple[str, ...]] = ()  # the attributes that `Out.save` saves
    messages: ClassVar[Messages] = ()  # the classes of the messages that it sends itself
    made_of: ClassVar[tuple[type, ...]] = ()  # the classes of its parts and inner nodes that send messages
    rejoins: ClassVar[bool] = False  # a process may restart while others go on, even without its saved state

    def __init__(self, me: int, n: int) -> None:
        self.me = me
        self.n = n
        self.phase = IDLE

    # -- what the application does ---------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        """The application asks to enter. Begin with `self.wait()`."""
        raise NotImplementedError(f"{type(self).__name__} does not say what a request does")

    def release(self, out: Out) -> None:
        """The application leaves. Begin with `self.leave()`."""
        raise NotImplementedError(f"{type(self).__name__} does not say what a release does")

    def issue(self, operation: object, out: Out) -> None:
        """The application is inside and issues an operation on the replicated resource. The node answers with
        `Out.answer`, or else ejects. Only where the problem is weak exclusion (`Problem.operations`)."""
        raise ContractError(f"{type(self).__name__} guards no replicated resource: there is nothing to issue")

    def could_enter(self) -> bool:
        """True if a request would be granted immediately, without waiting for others. This is a hint about which of
        several nodes to ask first, so False is never wrong."""
        return False

    # -- what the world does ---------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        """A message from `src` arrives. End the chain of cases with `raise self.unexpected(src, msg)`."""
        raise self.unexpected(src, msg)

    def on_timer(self, timer: int, out: Out) -> None:
        """A timer set with `Out.set_timer` has run out."""
        raise ContractError(f"{type(self).__name__} sets timers but has no on_timer")

    def on_suspect(self, peer: int, out: Out) -> None:
        """The failure detector believes that `peer` has crashed."""

    def on_trust(self, peer: int, out: Out) -> None:
        """The failure detector no longer suspects `peer`."""

    def has_issued(self, count: int) -> None:
        """This process is up again after a crash, and has issued so many operations before; `on_recover` follows."""

    def on_recover(self, out: Out) -> None:
        """This process is up again after a crash: a new node, with its durable attributes restored."""

    def on_amnesia(self, out: Out) -> None:
        """This process is up again after a crash, and has lost even what it had saved."""
        self.on_recover(out)

    # -- what the checker asks -------------------------------------------------------------------------

    def has_beliefs(self) -> bool:
        """True if `belief` says anything."""
        return type(self).belief is not Node.belief

    def belief(self) -> object:
        """What this process assumes about all processes: plain data that can be hashed, or None."""
        return None

    def contradiction(self, one: object, other: object) -> str:
        """What is wrong if two processes that are up have these two beliefs; empty if nothing is. The answer must
        depend on the beliefs only, not on the node that is asked or on their order."""
        return ""

    # -- the application's phase -----------------------------------------------------------------------

    def wait(self) -> None:
        """From idle to waiting."""
        if self.phase != IDLE:
            raise ContractError(f"process {self.me} asks to enter while it is {PHASES[self.phase]}")
        self.phase = WAITING

    def enter(self, out: Out, fence: int = 0, group: int = 0) -> None:
        """From waiting to inside. Fences grow from entry to entry; 0 means that the algorithm gives none."""
        if self.phase != WAITING:
            raise ContractError(f"process {self.me} would enter while it is {PHASES[self.phase]}")
        self.phase = INSIDE
        out.enter(group, fence)

    def leave(self) -> None:
        """From inside to idle."""
        if self.phase != INSIDE:
            raise ContractError(f"process {self.me} would leave while it is {PHASES[self.phase]}")
        self.phase = IDLE

    def lose(self, out: Out) -> None:
        """From inside to idle, although the application has not left."""
        self.leave()
        out.eject()

    def unexpected(self, src: int, msg: Message) -> UnexpectedMessage:
        return UnexpectedMessage(
            f"process {self.me} ({PHASES[self.phase]}) cannot make sense of {msg!r} from process {src}"
        )


def phase_fault(node: Node, phase: int) -> str:
    """Why a node's phase is wrong, if it has done what leads to `phase`; or nothing."""
    if node.phase == phase:
        return ""
    return (
        f"process {node.me} is {PHASES[node.phase]} by its phase, but {PHASES[phase]} by what it did: use wait(), "
        "enter(), leave(), lose()"
    )
