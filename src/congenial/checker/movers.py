"""Which messages may be delivered immediately.

A message whose early delivery makes no difference is a left mover (Lipton 1975): in any run it can be moved to the
front, past everything its receiver did before it came, and the run goes on as it did. Then runs in which it comes late
do not have to be explored. Moving an entry to the front only makes a stay inside longer. So two stays that overlapped
still do, and no violation is lost. Only real runs are explored, so no violation is invented.

No algorithm has to say which of its messages are movers. All are assumed to be, the system is explored on that
assumption, and the assumption is verified. If it fails somewhere, it is given up for that kind of message in that
situation (the phase of the receiver, whether it may still ask, whether it answers), and the exploration begins again.

Verification looks at single processes only, and these have few states. Beside every state `now` that a process reached
in the reduced exploration stand its shadows: the states it could be in if some messages that were delivered immediately
were still owed to it. In a shadow, the process

- must do on every event what it did in `now`,
- must not be able to do anything else by itself,
- must do on an owed message what it did when that message was delivered immediately,
- and must be in `now` when nothing more is owed.

If all that holds, no other process can tell a late delivery from an early one. Proof: take a run with late messages,
and move the first of them to the front. The outcome is a run with less to move. By induction, its events at the
receiver were observed, and so were verified against the shadow.

Two orders still make a difference, so they must not change: on a FIFO channel, that of what a process sends on an owed
message and what it sends meanwhile; and, where several processes can be inside together, that of entries with fences.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from congenial.checker.events import ASK, DELIVER, EVENT_BITS
from congenial.checker.process_state import Step
from congenial.checker.world import World

Situation = tuple[str, int, bool, bool]
Owed = tuple[tuple[int, Situation, tuple[int, ...]], ...]
"""Packets, each with the situation of its early delivery and the packets it made the receiver send."""

MOST_OWED = 12
MOST_SHADOWS = 20_000
ENOUGH_BLAME = 200


@final
class Movers:
    def __init__(self, world: World, exceptions: set[Situation]) -> None:
        self.world = world
        self.exceptions = exceptions  # situations in which messages are not delivered immediately
        self._company = world.system.problem.admits(1, 0, 0)
        self._early: dict[int, bool] = {}
        self._observed: set[int] = set()
        self._events: dict[int, list[i64]] = {}  # what happened to a process in each of its states
        self._seen: set[tuple[int, int, Owed, int]] = set()
        self._pending: list[list[tuple[int, int, Owed, int]]] = []
        self._least_owing = 0
        self._most_sent: dict[int, int] = {}

    def situation(self, local: i64, packet: i64) -> Situation:
        state = self.world.states[local]
        kind = type(self.world.messages[packet]).__name__
        answers = len(self.world.steps(local, DELIVER | packet)[0].packets) > 0
        return (kind, self.world.phases[local], state.left > 0, answers)

    def is_early(self, local: i64, packet: i64) -> bool:
        """True if the packet should be delivered immediately to the process in state `local`."""
        key: int = local << EVENT_BITS | packet
        known = self._early.get(key)
        if known is None:
            steps = self.world.steps(local, DELIVER | packet)
            known = self.situation(local, packet) not in self.exceptions and len(steps) == 1
            if self._company and steps[0].entered and steps[0].fence:
                known = False  # fences must grow from entry to entry, so the order of entries matters
            self._early[key] = known
        return known

    def observe(self, local: i64, event: i64) -> None:
        """An event happened to a process in state `local`."""
        key: int = local << EVENT_BITS | event
        if key not in self._observed:
            self._observed.add(key)
            self._events.setdefault(local, []).append(event)

    def failure(self) -> Situation | None:
        """The situation in which an early delivery most often makes a difference; None: the reduction is sound."""
        blame: dict[Situation, int] = {}
        self._most_sent = {}
        self._seen = set()
        self._pending = [[] for _ in range(MOST_OWED + 2)]
        for now in self._events:
            self._add(now, now, (), 0)
        most = len(self._seen) + MOST_SHADOWS
        done = [0] * len(self._pending)
        owing = 0
        while owing < len(done):  # few owed messages first: these show best which one is to blame
            if done[owing] == len(self._pending[owing]):
                if blame:
                    break
                owing += 1
                continue
            now, shadow, owed, fence = self._pending[owing][done[owing]]
            done[owing] += 1
            self._least_owing = owing
            if owing > MOST_OWED or (owing > 0 and len(self._seen) > most) or not self._check(now, shadow, owed, fence):
                for debt in owed:
                    blame[debt[1]] = blame.get(debt[1], 0) + 1
                if sum(blame.values()) > ENOUGH_BLAME:
                    break
            owing = self._least_owing
        return max(blame, key=lambda situation: (blame[situation], situation)) if blame else None

    def _add(self, now: int, shadow: int, owed: Owed, fence: int) -> None:
        entry = (now, shadow, owed, fence)
        if entry not in self._seen:
            self._seen.add(entry)
            owing = min(len(owed), MOST_OWED + 1)
            self._pending[owing].append(entry)
            self._least_owing = min(self._least_owing, owing)

    def _check(self, now: int, shadow: int, owed: Owed, fence: int) -> bool:
        """True if the shadow behaves as `now` does, which is ahead of it by an entry with `fence`."""
        world = self.world
        events = self._events.get(now, [])
        for event in world.own_events(shadow):
            if event not in events and event not in world.own_events(now):
                return False
        for event in events:
            observed = world.steps(now, event)
            if event < ASK and self.is_early(now, event):
                self._owe(observed[0], shadow, owed, event, self.situation(now, event), fence)
            if self._must_wait(event, shadow, owed):
                continue
            steps = world.steps(shadow, event)
            if not same(steps, observed):
                return False
            for step, original in zip(steps, observed, strict=True):
                if self._overtakes(step, owed, -1):
                    return False
                ahead = original.fence if original.entered else fence
                if ahead and not step.entered and self._company:
                    return False  # the order of entries matters, where there can be others inside
                if step.entered and step.fence != ahead:
                    return False
                self._add(original.after, step.after, owed, 0 if step.entered else ahead)
        for position in range(len(owed)):
            packet, _, sent = owed[position]
            if self._must_wait(packet, shadow, owed[:position]):
                continue
            steps = world.steps(shadow, DELIVER | i64(packet))
            step = steps[0]
            if len(steps) != 1 or step.error or tuple(step.packets) != sent:
                return False
            if self._overtakes(step, owed, position) or (step.entered and step.fence != fence):
                return False
            rest = owed[:position] + owed[position + 1 :]
            if rest:
                self._add(now, step.after, rest, 0 if step.entered else fence)
            elif step.after != now:
                return False
        return True

    def _must_wait(self, event: i64, shadow: int, owed: Owed) -> bool:
        """True if an event must wait for what is owed: if an owed message makes it possible, or is ahead of it on a
        FIFO channel."""
        world = self.world
        if event >= ASK:
            return event not in world.own_events(shadow)
        return world.fifo and any([world.sources[debt[0]] == world.sources[event] for debt in owed])

    def _overtakes(self, step: Step, owed: Owed, position: int) -> bool:
        """Does what a step sends overtake, on a FIFO channel, what was sent on the early delivery of a message that is
        still owed (other than the one at `position`, which the step is about)?"""
        world = self.world
        if not world.fifo or not step.packets:
            return False
        receivers = [world.destinations[packet] for packet in step.packets]
        for other in range(len(owed)):
            if other != position and any([world.destinations[packet] in receivers for packet in owed[other][2]]):
                return True
        return False

    def _owe(self, step: Step, shadow: int, owed: Owed, packet: int, situation: Situation, fence: int) -> None:
        """Add the shadow to which that packet, too, is still owed."""
        copies = len([debt for debt in owed if debt[0] == packet])
        if copies == self._times_sent(packet):
            return
        debts = [*owed, (packet, situation, tuple([int(sent) for sent in step.packets]))]
        debts.sort(key=self._order)  # stable: on a FIFO channel the first owed is the first to come
        self._add(step.after, shadow, tuple(debts), step.fence if step.entered else fence)

    def _order(self, debt: tuple[int, Situation, tuple[int, ...]]) -> i64:
        return self.world.order_keys[debt[0]]

    def _times_sent(self, packet: int) -> int:
        """How often a packet can be sent in one run, by what was observed of its sender."""
        known = self._most_sent.get(packet)
        if known is None:
            memory: dict[int, int] = {}
            sender = self.world.sources[packet]
            starts = [local for local in self._events if self.world.owners[local] == sender]
            known = max([self._sent_from(local, packet, memory) for local in starts], default=0)
            self._most_sent[packet] = known
        return known

    def _sent_from(self, local: int, packet: int, memory: dict[int, int]) -> int:
        known = memory.get(local)
        if known is not None:
            return known
        memory[local] = MOST_OWED  # if the process comes back to this state: without end
        most = 0
        for event in self._events.get(local, []):
            for step in self.world.steps(local, event):
                sent = step.packets.count(packet)
                if step.after != local or sent:
                    most = max(most, sent + self._sent_from(step.after, packet, memory))
        memory[local] = min(most, MOST_OWED)
        return memory[local]


def same(steps: list[Step], observed: list[Step]) -> bool:
    """True if the steps send the same, and nothing goes wrong in them."""
    if len(steps) != len(observed):
        return False
    for step, original in zip(steps, observed, strict=True):
        if step.error or step.packets != original.packets:
            return False
    return True
