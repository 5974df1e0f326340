"""What a node's class must be like before anything is run with it. Each mistake is one line that names the class."""

from __future__ import annotations

from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown
from congenial.kernel.message import Message, message_fault, messages_of
from congenial.kernel.node import IDLE, Node
from congenial.kernel.places import told
from congenial.kernel.spec import Spec
from congenial.kernel.state import state_of

CALLS = ("request", "release", "issue", "receive", "on_timer", "on_suspect", "on_trust", "on_recover", "on_amnesia")


def check_declarations(algorithm: Any) -> None:
    """The class attributes of a node."""
    name = algorithm.__name__
    if not isinstance(algorithm.spec, Spec):
        raise ConfigError(f"{name}.spec must be a Spec, not {shown(algorithm.spec)}")
    durable = algorithm.durable
    if isinstance(durable, str) or not all([isinstance(part, str) for part in _tuple(durable, name, "durable")]):
        raise ConfigError(f"{name}.durable must be a tuple of names of attributes, not {shown(durable)}")
    for part in _tuple(algorithm.made_of, name, "made_of"):
        if not isinstance(part, type):
            raise ConfigError(f"{name}.made_of must be a tuple of classes, not {shown(algorithm.made_of)}")
    _tuple(algorithm.messages, name, "messages")
    for call in CALLS:
        if not callable(getattr(algorithm, call)):
            raise ConfigError(f"{name}.{call} must be a method, not {shown(getattr(algorithm, call))}")


def _tuple(value: Any, name: str, attribute: str) -> Any:
    if not isinstance(value, (tuple, list)):
        raise ConfigError(f"{name}.{attribute} must be a tuple, not {shown(value)}; a tuple of one is written (x,)")
    return value


def check_messages(*algorithms: type) -> None:
    """All messages that the classes declare, and those that they are made of."""
    for kind in messages_of(*algorithms):
        check_message_class(kind)


def check_message_class(kind: Any) -> None:
    if not isinstance(kind, type) or not issubclass(kind, Message):
        raise ConfigError(f"messages must name classes of messages, and {shown(kind)} is none")
    fault = message_fault(kind)
    if fault:
        raise ConfigError(fault)


def made_node(algorithm: Any, process: int, n: int, arguments: dict[str, object]) -> Node:
    """A new node; what its constructor does wrong is told."""
    name = algorithm.__name__
    try:
        node = algorithm(process, n, **arguments)
    except ConfigError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        raise ConfigError(f"{name}({process}, {n}) cannot be made: {told(error)}") from error
    if process == 0:
        _check_new_node(node, name, n)
    made: Node = node
    return made


def _check_new_node(node: Any, name: str, n: int) -> None:
    if not hasattr(node, "phase") or not hasattr(node, "me") or not hasattr(node, "n"):
        raise ConfigError(f"{name}.__init__ must call super().__init__(me, n)")
    if node.me != 0 or node.n != n or node.phase != IDLE:
        raise ConfigError(f"{name}.__init__ must leave me, n and phase as Node.__init__ makes them")
    for attribute in type(node).durable:
        if not hasattr(node, attribute):
            raise ConfigError(f"{name}.durable names {attribute!r}, which a new node does not have")
    state_of(node)  # plain data only
