"""Queues of requests, oldest first: plain lists of (number, process), in which a number is larger than zero.

A new request is nearly always the youngest, so its place is looked for from the end. Sorting would compare them all.
"""

from __future__ import annotations

from typing import TypeAlias

Request: TypeAlias = tuple[int, int]
"""A number and the process that has asked with it."""


def is_older(one: Request, other: Request) -> bool:
    """As `one < other`, which would take several times as long compiled.

    >>> is_older((1, 7), (2, 0)), is_older((2, 3), (2, 0))
    (True, False)
    """
    return one[0] < other[0] or (one[0] == other[0] and one[1] < other[1])


def enqueue(queue: list[Request], request: Request) -> None:
    """Put a request where it belongs.

    >>> queue = [(1, 4), (2, 0)]
    >>> enqueue(queue, (1, 7))
    >>> queue
    [(1, 4), (1, 7), (2, 0)]
    """
    number, process = request
    place = len(queue)
    while place > 0:
        other, owner = queue[place - 1]
        if other < number or (other == number and owner < process):
            break
        place -= 1
    queue.insert(place, request)


def oldest_of(requests: list[Request]) -> Request:
    """The oldest of some requests in any order; as `min`.

    >>> oldest_of([(2, 0), (1, 7), (1, 4)])
    (1, 4)
    """
    oldest = requests[0]
    for at in range(1, len(requests)):
        if is_older(requests[at], oldest):
            oldest = requests[at]
    return oldest


def number_of(queue: list[Request], process: int) -> int:
    """The number of a process's oldest request, or 0.

    >>> number_of([(1, 4), (2, 0)], 4), number_of([(1, 4), (2, 0)], 7)
    (1, 0)
    """
    for number, owner in queue:
        if owner == process:
            return number
    return 0
