"""The judge: records what happens in a system, and says when a problem's promise is broken.

It records which processes wait, which are inside and for which group, which fence was given last, and what became of
every operation. The simulator, the stepper of replays and fuzzing, and the witness of a cluster each keep a `Judge`.
The explorer, whose states are tuples of integers, keeps the same records in its own form; it asks the same rules
(`request_fault`, `fence_fault`, `entry_fault`, `is_kept_out`) and a `Ledger`. Whole histories of weak exclusion are
judged, more strictly, by `congenial.problems.weak_history`.
"""

from __future__ import annotations

from congenial.kernel.errors import ContractError, SafetyViolation
from congenial.kernel.problem import NO_GROUP, Groups, Problem


class Judge:
    """Judges a system of `n` processes as events are reported to it, in the order in which they happen.

    Every entry must have been asked for, be of a group that was asked for, and be compatible with all processes that
    are inside. Fences, where an algorithm gives them (0: none), must grow from entry to entry. Entries of one group in
    a row may share a fence. With `fenced`, as the algorithm's `Spec.fences` says, every entry must have one. A process
    that is superseded, or enters although it is, does not count.
    """

    def __init__(self, problem: Problem, n: int, fenced: bool = False) -> None:
        self.problem = problem
        self.fenced = fenced
        self.inside = 0  # how many, in this era
        self.current = NO_GROUP  # the group of the present session, or of the last one
        self.waiting = 0  # how many
        self.era = 0  # the present one
        self.fence = 0  # the largest so far
        # by process
        self.wants: list[Groups | None] = [None] * n  # what a waiting process asked for
        self.holds: list[int] = [NO_GROUP] * n  # the group that a process inside has entered for
        self.eras: list[int] = [0] * n  # in which it entered
        self.fences: list[int] = [0] * n  # with which it entered last
        # operations
        self.ledger = Ledger(n)
        self.issued: list[int] = [0] * n  # how many
        self.pending: list[bool] = [False] * n  # does the process wait for the outcome of its last one?

    def add_process(self) -> int:
        """One more process, for a judge that learns of them one by one; its number."""
        self.wants.append(None)
        self.holds.append(NO_GROUP)
        self.eras.append(0)
        self.fences.append(0)
        self.issued.append(0)
        self.pending.append(False)
        self.ledger.executed.append(0)
        return len(self.holds) - 1

    # -- entering and leaving --------------------------------------------------------------------------

    def ask(self, process: int, groups: Groups) -> None:
        if self.wants[process] is not None or self.holds[process] >= 0:
            raise ContractError(f"process {process} asks again before it has left")
        self.wants[process] = groups
        self.waiting += 1

    def enter(self, process: int, group: int, fence: int) -> int:
        """Record an entry and return its group; raise `SafetyViolation` if it is forbidden."""
        wants = self.wants[process]
        if not self.problem.groups and wants is not None:
            group = wants[0]
        fault = request_fault(process, wants, group) or fence_fault(process, fence, self.fenced)
        if fault:
            raise SafetyViolation(fault)
        era = self.problem.era(fence)
        if era < self.era:
            return self._admit(process, group, era, fence)
        if era > self.era:
            self.era = era
            self.inside = 0
        if not self._allowed(group, fence):
            raise SafetyViolation(
                entry_fault(self.problem, process, self.holders(), self.current, self.fence, self.current, group, fence)
            )
        self.fence = max(self.fence, fence)
        self.inside += 1
        self.current = group
        return self._admit(process, group, era, fence)

    def _allowed(self, group: int, fence: int) -> bool:
        """`entry_fault` without the words, and without listing the holders: for every entry of a simulation."""
        problem = self.problem
        return problem.admits(self.inside, self.current, group) and (
            fence == 0 or problem.may_follow(self.fence, self.current, fence, group)
        )

    def _admit(self, process: int, group: int, era: int, fence: int) -> int:
        self.wants[process] = None
        self.waiting -= 1
        self.holds[process] = group
        self.eras[process] = era
        self.fences[process] = fence
        return group

    def leave(self, process: int) -> None:
        if self.holds[process] < 0:
            raise ContractError(f"process {process} leaves without being inside")
        self.holds[process] = NO_GROUP
        if self.eras[process] == self.era:
            self.inside -= 1

    def eject(self, process: int) -> None:
        """The process has lost its critical section; an operation that it waits for has failed."""
        self.leave(process)
        if self.pending[process]:
            self.pending[process] = False
            self.ledger.fail(process, self.issued[process])

    def crash(self, process: int) -> None:
        """A crashed process neither waits nor holds. Its pending operation may still be executed, or not."""
        self.pending[process] = False
        if self.wants[process] is not None:
            self.wants[process] = None
            self.waiting -= 1
        elif self.holds[process] >= 0:
            self.leave(process)

    # -- operations ------------------------------------------------------------------------------------

    def issue(self, process: int) -> int:
        """Record that a process issues an operation; its number."""
        if self.holds[process] < 0 or self.pending[process]:
            raise ContractError(f"process {process} issues an operation, but is not inside, or waits for another one")
        self.issued[process] += 1
        self.pending[process] = True
        self.ledger.issue(process, self.issued[process], self.fences[process])
        return self.issued[process]

    def execute(self, process: int, issuer: int, number: int, result: object) -> None:
        self.ledger.execute(process, (issuer, number), result)

    def restore(self, process: int, count: int) -> None:
        self.ledger.restore(process, count)

    def answer(self, process: int, number: int, result: object) -> None:
        self.ledger.answer(process, number, result)
        self.pending[process] = False

    # -- what the books say ----------------------------------------------------------------------------

    def waiters(self) -> list[int]:
        """The processes that wait to enter."""
        return [process for process, wants in enumerate(self.wants) if wants is not None]

    def unserved(self) -> list[int]:
        """The processes that wait, to enter or for the outcome of an operation."""
        return [process for process, wants in enumerate(self.wants) if wants is not None or self.pending[process]]

    def holders(self) -> list[int]:
        """The processes that are inside and not superseded."""
        return [process for process, held in enumerate(self.holds) if held >= 0 and self.eras[process] == self.era]

    def keeps_out(self) -> bool:
        """Nothing happens while holders stay: should one of those that wait have entered? A process that has been
        superseded may keep its place until it leaves."""
        wanted = [wants for wants in self.wants if wants is not None]
        held = [group for group in self.holds if group >= 0]
        return len(wanted) > 0 and is_kept_out(self.problem, held, wanted)


# -- the rules ---------------------------------------------------------------------------------------------


def request_fault(process: int, wants: Groups | None, group: int) -> str:
    """Why a process may not enter for `group`, by what it asked for; or nothing."""
    if not wants:
        return f"process {process} enters without having asked"
    if group not in wants:
        return f"process {process} enters group {group}, but asked for {listed(wants)}"
    return ""


def fence_fault(process: int, fence: int, fenced: bool) -> str:
    """Why a process may not enter with `fence`, by what the algorithm promises; or nothing."""
    if fence or not fenced:
        return ""
    return f"process {process} enters without a fence; its spec promises one (Spec.fences)"


def entry_fault(
    problem: Problem,
    process: int,
    holders: list[int],
    current: int,
    last_fence: int,
    last_group: int,
    group: int,
    fence: int,
) -> str:
    """Why a process may not enter for `group`, by what the others do; or nothing. The `holders` are inside for
    `current`; the last entry had `last_fence`, for `last_group`."""
    if not problem.admits(len(holders), current, group):
        verb = "is" if len(holders) == 1 else "are"
        who = f"process{'' if len(holders) == 1 else 'es'} {listed(holders)} {verb} inside"
        if problem.groups:
            return f"process {process} enters group {group} while {who} for group {current}"
        return f"process {process} enters while {who}"
    if fence and not problem.may_follow(last_fence, last_group, fence, group):
        return f"process {process} enters with fence {fence} after one with fence {last_fence}"
    return ""


def is_kept_out(problem: Problem, held: list[int], wanted: list[Groups]) -> bool:
    """While the processes that hold these groups stay inside, nothing happens, and others wait for what they `wanted`.
    Does the problem promise that one of them gets in? It does if there is room, and all are for one group."""
    if not problem.concurrent_entry or not held or not problem.admits(len(held), held[0], held[0]):
        return False
    if not problem.groups:
        return True
    return set(held) == {held[0]} and all([groups == (held[0],) for groups in wanted])


def listed(numbers: list[int] | Groups) -> str:
    return ", ".join([str(number) for number in numbers])


# -- operations on a replicated resource -------------------------------------------------------------------

Operation = tuple[int, int]
"""The process that issued it, and its number there."""


class Ledger:
    """Which operations were issued, executed, answered and failed, and whether that is allowed.

    All replicas execute the same operations in the same order with the same results, each one once, none that has
    failed, those of an earlier section before those of a later one; an answer is the result of the process's replica.
    """

    def __init__(self, n: int) -> None:
        self.log: list[tuple[Operation, int, object]] = []  # operation, fence of its section, result
        self.places: dict[Operation, int] = {}  # in the log
        self.executed: list[int] = [0] * n  # how many of the log each replica has
        self.pending: dict[Operation, int] = {}  # the fence of its section
        self.failed: set[Operation] = set()

    def issue(self, process: int, number: int, fence: int) -> None:
        self.pending[(process, number)] = fence

    def execute(self, process: int, operation: Operation, result: object) -> None:
        place = self.executed[process]
        self.executed[process] += 1
        if place < len(self.log):
            expected, _, before = self.log[place]
            if operation != expected:
                raise SafetyViolation(
                    f"process {process} executes {name_of(operation)} where others have executed {name_of(expected)}"
                )
            if result != before:
                raise SafetyViolation(
                    f"{name_of(operation)} has the result {result} at process {process}, and {before} elsewhere"
                )
            return
        if operation in self.failed:
            raise SafetyViolation(f"process {process} executes {name_of(operation)}, which has failed")
        if operation in self.places:
            raise SafetyViolation(f"process {process} executes {name_of(operation)} a second time")
        if operation not in self.pending:
            raise SafetyViolation(f"process {process} executes {name_of(operation)}, which nobody waits for")
        fence = self.pending[operation]
        if self.log and fence < self.log[-1][1]:
            raise SafetyViolation(f"process {process} executes {name_of(operation)} after one of a later section")
        self.places[operation] = place
        self.log.append((operation, fence, result))

    def restore(self, process: int, count: int) -> None:
        """The process has another replica, which has executed so many operations."""
        if count > len(self.log):
            raise SafetyViolation(
                f"process {process} has a replica with {count} operations, of which {len(self.log)} were executed"
            )
        self.executed[process] = count

    def answer(self, process: int, number: int, result: object) -> None:
        operation = (process, number)
        if self.pending.pop(operation, -1) < 0:
            raise SafetyViolation(f"process {process} is answered {name_of(operation)}, which it does not wait for")
        place = self.places.get(operation, len(self.log))
        if place >= self.executed[process] or self.log[place][2] != result:
            raise SafetyViolation(
                f"process {process} is answered {result}, which {name_of(operation)} did not give there"
            )

    def fail(self, process: int, number: int) -> None:
        operation = (process, number)
        self.pending.pop(operation)
        if operation in self.places:
            raise SafetyViolation(f"process {process} is ejected, but {name_of(operation)}, pending, has been executed")
        self.failed.add(operation)

    def missing(self, processes: list[int]) -> str:
        """What the first of these processes that has not executed all operations lacks; or nothing."""
        for process in processes:
            if self.executed[process] < len(self.log):
                return f"process {process} has not executed {name_of(self.log[self.executed[process]][0])}"
        return ""

    # -- as a value ----------------------------------------------------------------------------------------

    def key(self) -> tuple[object, ...]:
        return (
            tuple(self.log),
            tuple(self.executed),
            tuple(sorted(self.pending.items())),
            tuple(sorted(self.failed)),
        )

    def copy(self) -> Ledger:
        twin = Ledger(0)
        twin.log = list(self.log)
        twin.places = dict(self.places)
        twin.executed = list(self.executed)
        twin.pending = dict(self.pending)
        twin.failed = set(self.failed)
        return twin


def name_of(operation: Operation) -> str:
    return f"operation {operation[1]} of {operation[0]}"
