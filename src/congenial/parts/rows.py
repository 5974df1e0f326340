"""Rows: sets of processes as tuples in ascending order, the form in which they travel."""

from __future__ import annotations

Row = tuple[int, ...]


def without(row: Row, others: Row) -> Row:
    """The members of a row that are not in another one.

    >>> without((1, 3, 5), (2, 3, 4))
    (1, 5)
    """
    found: list[int] = []
    at = 0
    for member in row:
        while at < len(others) and others[at] < member:
            at += 1
        if at == len(others) or others[at] != member:
            found.append(member)
    return tuple(found)


def merged(row: Row, others: Row) -> Row:
    """Two rows without a common member, as one.

    >>> merged((2, 3, 9), (1, 5))
    (1, 2, 3, 5, 9)
    """
    whole: list[int] = []
    at = 0
    for member in row:
        while at < len(others) and others[at] < member:
            whole.append(others[at])
            at += 1
        whole.append(member)
    return (*whole, *others[at:])
