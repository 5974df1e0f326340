"""Which messages may be delivered immediately.

A message whose early delivery makes no difference is a left mover (Lipton 1975): in any run it can be moved to the
front, past everything its receiver did before it came, and the run goes on as it did. Then runs in which it comes late
do not have to be explored. Moving an entry to the front only makes a stay inside longer. So two stays that overlapped
still do, and no violation is lost. Only real runs are explored, so no violation is invented.

No algorithm has to say which of its messages are movers. All are assumed to be, in every state of their receiver, the
system is explored on that assumption, and the assumption is verified. Where it fails it is given up, for this message
in this state of its receiver, and the exploration begins again.

Verification looks at single processes only, and these have few states. A *debt* is a message that may come late: a
state of a process, and a packet that is owed to it there. Delivered, it brings the process to a state that is ahead.
Whatever was observed of the process ahead can also happen to the one behind, before the owed message comes (unless the
message makes it possible, or is in front of it on a FIFO channel). In both orders the process must

- come to the same state,
- send the same messages, on each FIFO channel in the same order,
- and enter for the same group, with the same fence, if it enters.

After the event the message is still owed: that is a debt again, of which the same must hold. The process behind must be
able to do nothing by itself that the one ahead cannot. A message must not end a stay early.

Why this is enough: take any run, and beside it the explored run with the same events which delivers early what it can.
There each process is ahead of where it is in the first run by a chain of debts: the early deliveries, in their order.
What the second run has sent is what the first has sent, and what the deliveries in the chains send. Now the next event
of the first run happens. If it is not about an owed message, it happens to the process ahead, too, so it was observed
there. Link by link it can be moved to the front of the chain, and what is verified says that the states at the end and
all that was sent remain. If it is the delivery of an owed message, that one is moved to the front in the same way, and
is owed no longer. So the second run goes on beside the first. While a message is owed one is under way, so where a run
comes to rest nothing is owed. Both have the same ends, with the same costs.

The order of entries makes a difference where several processes can be inside together, or where an entry in a later
epoch supersedes those before it. There, no entry with a fence moves.

Faults: a process that may still crash, or whose messages may still get lost or come twice, gets nothing early, since
what is owed would be lost or repeated as well. Suspicions are events like others.
"""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64, u8

from congenial.checker.events import ARGUMENT, ASK, EVENT_BITS, EVENT_MASK, LEAVE, SUSPECT, TIMER, TRUST
from congenial.checker.process_state import Step
from congenial.checker.step_table import COUNT_BITS
from congenial.checker.symmetry import Symmetry
from congenial.checker.world import World
from congenial.kernel.node import INSIDE
from congenial.kernel.problem import Problem

Debt = tuple[int, int]
"""A state of a process, and a packet that is owed to it."""

MOST_DEBTS: Final = 20  # for each that was made; the debts of states that no run comes to may have no end

UNKNOWN: Final = 0
LATE: Final = 1
EARLY: Final = 2


@final
class Movers:
    def __init__(self, world: World, exceptions: set[Debt]) -> None:
        self.world = world
        self.exceptions = exceptions  # what is not delivered immediately
        problem = world.system.problem
        self._ordered = problem.admits(1, 0, 0) or type(problem).era is not Problem.era
        # by the number of a step, the first on its event
        self._early = vec[u8]()
        self._observed = vec[u8]()
        # verification
        self._events: dict[int, list[int]] = {}  # what can happen to a process in each of its states
        self._origins: dict[Debt, list[Debt]] = {}  # of each debt those that lead to it
        self._failed: set[Debt] = set()
        self._behind: dict[int, list[Debt]] = {}  # the debts that end in a state
        self._pending: list[tuple[Debt, int]] = []  # to be verified: debts, and what happens to the process ahead
        self._most = 0

    def is_early(self, local: i64, packet: i64) -> bool:
        """True if the packet should be delivered immediately to the process in state `local`."""
        number = self.world.numbers(local, packet) >> COUNT_BITS
        while number >= i64(len(self._early)):
            self._early = append(self._early, u8(UNKNOWN))
        if self._early[number] == UNKNOWN:
            early = self._fits(local, packet) and (int(local), int(packet)) not in self.exceptions
            self._early[number] = u8(EARLY if early else LATE)
        return self._early[number] == EARLY

    def observe(self, number: i64) -> None:
        """A process took a step, the first on its event with this number."""
        while number >= i64(len(self._observed)):
            self._observed = append(self._observed, u8(0))
        self._observed[number] = 1

    def failures(self, symmetry: Symmetry | None = None) -> set[Debt]:
        """The early deliveries that may make a difference. None: the reduction is sound."""
        made: list[Debt] = []
        for key in self.world.table.known:
            local, event = key >> EVENT_BITS, key & EVENT_MASK
            number = self.world.numbers(local, event) >> COUNT_BITS
            early = number < i64(len(self._early)) and self._early[number] == EARLY
            observed = number < i64(len(self._observed)) and self._observed[number] != 0
            if early or observed:
                for image in [(int(local), int(event))] if symmetry is None else symmetry.images(local, event):
                    if early:
                        made.append(image)
                    if observed:
                        self._events.setdefault(image[0], []).append(image[1])
        self._most = MOST_DEBTS * len(made)
        for debt in made:
            self._owe(debt, None)
        done = 0
        while done < len(self._pending):
            debt, event = self._pending[done]
            done += 1
            if debt not in self._failed and not self._commutes(debt, event):
                self._fail(debt)
        failed = [debt for debt in made if debt in self._failed]
        if symmetry is None:
            return set(failed)
        return {image for debt in failed for image in symmetry.images(i64(debt[0]), i64(debt[1]))}

    # -- debts -----------------------------------------------------------------------------------------

    def _fits(self, local: i64, packet: i64) -> bool:
        """True if a delivery, looked at alone, may be made early."""
        steps = self.world.steps(local, packet)
        step = steps[0]
        if len(steps) != 1 or step.error:
            return False
        world = self.world
        if step.entered and ((self._ordered and step.fence) or world.phases[step.after] != INSIDE):
            return False
        if world.phases[local] != INSIDE:
            return True
        same_stay = world.groups[local] == world.groups[step.after] and world.eras[local] == world.eras[step.after]
        return not step.entered and world.phases[step.after] == INSIDE and same_stay

    def _owe(self, debt: Debt, origin: Debt | None) -> None:
        known = self._origins.get(debt)
        if known is not None:
            if origin is not None:
                known.append(origin)
                if debt in self._failed:
                    self._fail(origin)
            return
        self._origins[debt] = [] if origin is None else [origin]
        local, packet = debt
        if not self._fits(local, packet) or len(self._origins) > self._most:
            self._fail(debt)
            return
        ahead = int(self.world.steps(local, packet)[0].after)
        possible = self.world.own_events(ahead)
        if any([event not in possible for event in self.world.own_events(local)]):
            self._fail(debt)
            return
        self._behind.setdefault(ahead, []).append(debt)
        self._happens(local, packet)
        for event in self._events.get(ahead, []):
            self._pending.append((debt, event))

    def _happens(self, local: int, event: int) -> None:
        events = self._events.setdefault(local, [])
        if event not in events:
            events.append(event)
            for debt in self._behind.get(local, []):
                self._pending.append((debt, event))

    def _fail(self, debt: Debt) -> None:
        """Give up a debt and those that lead to it."""
        stack = [debt]
        while stack:
            failed = stack.pop()
            if failed not in self._failed:
                self._failed.add(failed)
                stack.extend(self._origins[failed])

    def _commutes(self, debt: Debt, event: i64) -> bool:
        """True if what happens to the process that is ahead makes no difference to the debt."""
        world = self.world
        local, packet = debt
        if not self._can_precede(debt, event):
            return True
        owed = world.steps(local, packet)[0]
        late = world.steps(local, event)
        observed = world.steps(owed.after, event)
        if len(late) != len(observed):
            return False
        debts: list[Debt] = []
        for step, ahead in zip(late, observed, strict=True):
            then = world.steps(step.after, packet)
            if step.error or ahead.error or len(then) != 1 or then[0].error:
                return False
            if then[0].after != ahead.after or not self._same_sent(owed, ahead, step, then[0]):
                return False
            if entries(owed, ahead) != entries(step, then[0]):
                return False
            if self._ordered and (step.entered or ahead.entered) and step.fence != ahead.fence:
                return False
            debts.append((int(step.after), packet))
        self._happens(local, event)
        for following in debts:
            self._owe(following, debt)
        return True

    def _can_precede(self, debt: Debt, event: i64) -> bool:
        """True if an event of the process that is ahead can happen before the owed message comes."""
        world = self.world
        local, packet = debt
        if event == packet:
            return False  # another copy of it
        if event < ASK:
            return not world.fifo or world.sources[packet] != world.sources[event]
        kind = event & ~ARGUMENT
        if kind == SUSPECT or kind == TRUST:
            return True
        return (kind == ASK or kind == LEAVE or kind == TIMER) and event in world.own_events(local)

    def _same_sent(self, owed: Step, ahead: Step, step: Step, then: Step) -> bool:
        """True if two steps send the same as two others; on FIFO channels, in the same order on each."""
        if owed.packets == then.packets and ahead.packets == step.packets and not (owed.packets and ahead.packets):
            return True
        early = sorted([*owed.packets, *ahead.packets], key=self._order)
        return early == sorted([*step.packets, *then.packets], key=self._order)

    def _order(self, packet: i64) -> i64:
        return self.world.order_keys[packet]


def entries(first: Step, second: Step) -> list[tuple[int, int]]:
    """The groups and fences with which a process enters in two steps."""
    return [(step.group, step.fence) for step in (first, second) if step.entered]
