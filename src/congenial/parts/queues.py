"""Queues of requests, oldest first: plain lists of (number, process), in which a number is larger than zero.

A new request is nearly always the youngest, so its place is looked for from the end. Sorting would compare them all.

Requests for groups carry more than these two. The functions for `Entry` look at no more than number and process. Such a
queue is declared as a list of `Entry`: compiled code takes a tuple of known length apart when it is read from a list,
and makes a new one when it is stored or sent.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from congenial.kernel.problem import Groups

Request: TypeAlias = tuple[int, int]
"""A number and the process that has asked with it."""

Entry: TypeAlias = tuple[Any, ...]
"""A number, the process that has asked with it, and whatever else belongs to the request."""

Asked: TypeAlias = tuple[int, int, Groups]
"""A request for groups: its number, its process, and the groups. Of two the smaller is the older."""


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


def forget_process(queue: list[Request], process: int) -> None:
    """Take all requests of a process out.

    >>> queue = [(1, 4), (2, 0), (3, 4)]
    >>> forget_process(queue, 4)
    >>> queue
    [(2, 0)]
    """
    for place in range(len(queue) - 1, -1, -1):
        if queue[place][1] == process:
            del queue[place]


def place_of(queue: list[Entry], number: int, process: int) -> int:
    """Where a request is in a queue, or belongs.

    >>> place_of([(1, 4, "red"), (2, 0, "blue")], 2, 0), place_of([(1, 4, "red"), (2, 0, "blue")], 2, 1)
    (1, 2)
    """
    low = 0
    high = len(queue)
    middle = high - 1  # first
    while low < high:
        entry = queue[middle]
        other: int = entry[0]
        owner: int = entry[1]
        if other < number or (other == number and owner < process):
            low = middle + 1
        else:
            high = middle
        middle = (low + high) >> 1
    return low


def insert(queue: list[Entry], entry: Entry) -> None:
    """Put a request where it belongs.

    >>> queue: list[Any] = [(1, 4, "red"), (2, 0, "blue")]
    >>> insert(queue, (1, 7, "blue"))
    >>> queue
    [(1, 4, 'red'), (1, 7, 'blue'), (2, 0, 'blue')]
    """
    queue.insert(place_of(queue, entry[0], entry[1]), entry)


def forget(queue: list[Entry], number: int, process: int) -> None:
    """Take a request out, if it is there.

    >>> queue: list[Any] = [(1, 4, "red"), (2, 0, "blue")]
    >>> forget(queue, 1, 4)
    >>> forget(queue, 2, 1)
    >>> queue
    [(2, 0, 'blue')]
    """
    place = place_of(queue, number, process)
    if place < len(queue):
        entry = queue[place]
        if entry[0] == number and entry[1] == process:
            del queue[place]


def comes_before(one: Asked, other: Asked) -> bool:
    """Is a request older than that of another process?

    >>> comes_before((1, 7, (0,)), (2, 0, (0,))), comes_before((2, 3, (0,)), (2, 0, (0,)))
    (True, False)
    """
    return one[0] < other[0] or (one[0] == other[0] and one[1] < other[1])


def union(queues: list[tuple[Asked, ...]], n: int) -> list[Asked]:
    """The requests of n processes that are in any of several queues, each once, oldest first.

    >>> union([((2, 0, (5,)), (3, 1, (5,))), ((1, 1, (5,)), (2, 0, (5,)))], 2)
    [(1, 1, (5,)), (2, 0, (5,)), (3, 1, (5,))]
    """
    found: set[Asked] = set()
    latest = [0] * n  # the number found last for each process: queues are mostly alike, and a set is slow
    for queue in queues:
        for number, process, groups in queue:
            if latest[process] != number:
                latest[process] = number
                found.add((number, process, groups))
    return sorted(found)
