"""Rows: sets of processes as tuples in ascending order, the form in which they travel."""

from __future__ import annotations

Row = tuple[int, ...]


def contains(row: Row, member: int) -> bool:
    """True if it is a member of the row. As `member in row`, which would compare it with all members before it.

    >>> contains((1, 3, 5), 3), contains((1, 3, 5), 4)
    (True, False)
    """
    low = 0
    high = len(row)
    while low < high:
        middle = (low + high) >> 1
        if row[middle] < member:
            low = middle + 1
        else:
            high = middle
    return low < len(row) and row[low] == member


def place_in(members: list[int], member: int) -> int:
    """Where a member is in an ascending list, or belongs. As `bisect_left`, which compiled code cannot call directly.

    >>> place_in([1, 3, 5], 3), place_in([1, 3, 5], 4)
    (1, 2)
    """
    low = 0
    high = len(members)
    while low < high:
        middle = (low + high) >> 1
        if members[middle] < member:
            low = middle + 1
        else:
            high = middle
    return low


def first_place(row: list[int], value: int, start: int) -> int:
    """Where a value first is in a list, looked for from a place on and then from the beginning; -1 if it is not there.

    >>> first_place([0, 7, 0], 0, 1), first_place([0, 7, 7], 0, 1), first_place([7, 7], 0, 1)
    (2, 0, -1)
    """
    for place in range(start, len(row)):
        if row[place] == value:
            return place
    for place in range(start):
        if row[place] == value:
            return place
    return -1


def least(row: list[int]) -> int:
    """As `min`, which takes several times as long compiled.

    >>> least([3, 1, 2])
    1
    """
    found = row[0]
    for value in row:
        if value < found:
            found = value
    return found


def is_any_up_to(row: list[int], bound: int) -> bool:
    """True if a number in the row is not larger than a bound.

    >>> is_any_up_to([3, 1, 2], 1), is_any_up_to([3, 1, 2], 0)
    (True, False)
    """
    return any(value <= bound for value in row)


def is_among(members: list[int], member: int) -> bool:
    """As `member in members`, which takes several times as long compiled.

    >>> is_among([3, 1, 2], 1), is_among([3, 1, 2], 4)
    (True, False)
    """
    return any(other == member for other in members)


def discard(members: list[int], member: int) -> None:
    """Take the first that is equal out of a list in any order, if there is one. As `remove`, but several times as fast.

    >>> members = [3, 1, 2]
    >>> discard(members, 1)
    >>> discard(members, 4)
    >>> members
    [3, 2]
    """
    for place, other in enumerate(members):
        if other == member:
            del members[place]
            return


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
