"""The rules of an exploration or a random run: what may be asked for, what may go wrong, and how far it goes.

Users write `Bounds` (`congenial.checker.bounds`); rules are made from them for one system. Some rules have no option:
they serve the side cases of a check, the division of a check into tasks, and tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from congenial.kernel.problem import Groups


@dataclass(frozen=True)
class Rules:
    requests: int = 2  # of each process
    menus: list[list[Groups]] | None = None  # what each process may ask for, each time; None: group 0
    fifo: bool = False
    crashes: int = 0
    losses: int = 0
    duplicates: int = 0
    suspicions: int = 0  # false ones; crashes are always suspected in the end
    lasting: bool = False  # a false suspicion may outlast timers, and so may messages that it keeps away: a cut
    patient: bool = False  # timers run out only when nothing else can happen, except a recovery
    quiet: bool = False  # timers run out only when no message is under way; processes may be inside
    recovery: bool = True  # a crashed process recovers in the end, or never
    vanishing: bool = False  # what a process sent before it crashed may get lost, while it is down
    leaving: bool = True  # may processes leave?
    askers: list[int] | None = None  # the processes that ask; None: all
    count_hops: bool = False  # distinguish states by the length of the chain of messages that led to them
    in_turn: bool = False  # a process's k-th request is the k-th of its menu, not any of them
    together: bool = False  # of a random run: the last requests are all for one group, and then none leaves
    victim: int = -1  # the only process that faults may strike; -1: any
    operations: int = 0  # that may be issued in each stay

    def menus_for(self, n: int) -> list[list[Groups]]:
        """What each of n processes may ask for."""
        return self.menus if self.menus is not None else [[(0,)]] * n

    @property
    def timers_wait(self) -> bool:
        return self.patient or self.quiet

    @property
    def faults(self) -> int:
        """How many faults may happen."""
        return self.crashes + self.losses + self.duplicates + self.suspicions
