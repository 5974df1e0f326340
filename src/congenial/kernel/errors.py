"""Errors. Every error that a user can meet is a `CongenialError` and says what happened, where, and what to do."""

from __future__ import annotations

from mypy_extensions import mypyc_attr


@mypyc_attr(native_class=False)  # a compiled class could not be a base of one that is a TimeoutError, too
class CongenialError(Exception):
    """Base of all errors that this package raises on purpose.

    >>> try:
    ...     simulate("no-such-algorithm")
    ... except CongenialError as error:
    ...     print(type(error).__name__)
    ConfigError
    """


class ConfigError(CongenialError, ValueError):
    """An option, a file or a structure is not valid; nothing has been run.

    >>> simulate("ricart-agrawala", nodes=0)
    Traceback (most recent call last):
    congenial.kernel.errors.ConfigError: nodes must be at least 1, not 0
    """


class ContractError(CongenialError):
    """A node, or the driver of a node, broke the kernel contract; the node's state is unchanged.

    >>> Node(0, 3).leave()
    Traceback (most recent call last):
    congenial.kernel.errors.ContractError: process 0 would leave while it is idle
    """


class UnexpectedMessage(ContractError):
    """A message arrived that this node does not expect.

    >>> Node(0, 3).receive(1, Message(), Outbox())
    Traceback (most recent call last):
    congenial.kernel.errors.UnexpectedMessage: process 0 (idle) cannot make sense of ... from process 1
    """


class IllegalStep(CongenialError):
    """A node raised, or did what the kernel contract forbids. If it `refused` the event, its state is unchanged;
    otherwise it may be in any state.

    >>> class Forgetful(Node):
    ...     def request(self, groups, out):
    ...         out.send(self.next, Message())
    >>> result = check(Forgetful, nodes=2, requests=1)
    >>> result.counterexample.kind, "AttributeError" in result.counterexample.text
    ('illegal step', True)
    """

    def __init__(self, text: str, refused: bool = False, raised: Exception | None = None) -> None:
        super().__init__(text)
        self.refused = refused
        self.__cause__ = raised  # compiled by mypyc, `raise ... from` sets no cause


class SafetyViolation(CongenialError):
    """Something happened that the problem forbids, such as two holders at the same time.

    >>> class Careless(Node):
    ...     spec = Spec("careless", "Everyone enters immediately", MUTEX)
    ...     def request(self, groups, out):
    ...         self.wait()
    ...         self.enter(out)
    ...     def release(self, out):
    ...         self.leave()
    >>> check(Careless, nodes=2, requests=1).verdict()
    'SAFETY: process 1 enters while process 0 is inside'
    """
