"""Names become numbers and keys, and no two ever the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from congenial.net.names import (
    LONGEST,
    LONGEST_KEY,
    READERS,
    first_holder,
    group_number,
    lock_key,
    semaphore_key,
    shown,
    writer_number,
)

NAMES = st.text(max_size=100) | st.text(st.sampled_from("\0\1\2\3a"), max_size=5)


@given(st.lists(NAMES, unique=True, max_size=40))
def test_no_two_names_share_a_number_or_a_key(names: list[str]) -> None:
    reserved = {READERS} | {writer_number(process, which) for process in range(300) for which in (0, 1)}
    assert len(reserved) == 601
    numbers = [group_number(name) for name in names]
    assert len(set(numbers) | reserved) == len(names) + 601
    keys = [lock_key(name) for name in names] + [semaphore_key(name) for name in names]
    assert len(set(keys)) == 2 * len(names)
    assert all(len(key) <= LONGEST_KEY for key in keys)
    assert all(number >= 0 for number in numbers)


def test_long_names_are_told_apart_to_the_last_letter() -> None:
    long = "x" * 1_000_000
    assert group_number(long + "a") != group_number(long + "b")
    assert lock_key(long + "a") != lock_key(long + "b")
    assert group_number("x" * LONGEST) != group_number("x" * (LONGEST + 1))


def test_an_ordinary_name_is_its_own_key_and_is_shown_as_it_is() -> None:
    assert lock_key("invoices") == "invoices" == shown("invoices")
    assert semaphore_key("gpus") != "gpus"
    assert "long name" in shown(lock_key("x" * 1000))


def test_locks_start_at_different_holders() -> None:
    starts = [first_holder(lock_key(f"lock {number}"), 5) for number in range(1000)]
    assert min([starts.count(process) for process in range(5)]) > 100
