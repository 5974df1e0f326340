"""DRS_GME, events 1 to 10 as the appendix of Swaroop & Singh 2007 prints them, and partly repaired.

congenial check docs/counterexamples/drs_gme_appendix.py:Appendix --nodes 2 --requests 1 --timers quiet

Processes are numbered from 0, and i and j are swapped where only that makes sense ("Add i to RS_i").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from congenial import Spec
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.problems.group import GROUP

NULL = -1
T1, T2 = 1, 2
T_REQ, T_FOL = 1000.0, 100.0

Queue: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]  # groups; for each, those that wait for it


@dataclass(frozen=True)
class Request(Message):
    number: int
    group: int


@dataclass(frozen=True)
class Token(Message):
    session: int
    group: int  # type
    followers: int
    queue: Queue = field(metadata={"type": Queue})


@dataclass(frozen=True)
class Start(Message):
    group: int


@dataclass(frozen=True)
class Complete(Message):
    pass


@dataclass(frozen=True)
class GenToken(Message):
    group: int
    number: int
    session: int


@dataclass(frozen=True)
class IsComplete(Message):
    group: int


class Appendix(Node):
    """All as printed."""

    spec: ClassVar[Spec] = Spec(
        name="drs-gme-appendix",
        title="DRS_GME, as printed",
        problem=GROUP,
        reference="Swaroop & Singh 2007, appendix",
        patient=True,
        faults="loss",
    )
    messages: ClassVar[Messages] = (Request, Token, Start, Complete, GenToken, IsComplete)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.state = "HI" if me == 0 else "N"
        self.captain = NULL
        self.group = NULL  # that I asked for
        self.numbers = [0] * n  # SN_i
        self.peers = {process for process in range(n) if me not in (0, process)}  # RS_i
        self.followers: set[int] = set()  # follower_i
        self.old = Token(0, NULL, 0, ())  # old_token_i
        self.session, self.type, self.count = 0, NULL, 0  # of the token; count: token.followers
        self.queue: list[tuple[int, list[int]]] = []

    def token(self) -> Token:
        return Token(
            self.session, self.type, self.count, tuple([(group, tuple(members)) for group, members in self.queue])
        )

    def request(self, groups: Groups, out: Out) -> None:
        """Event 1."""
        self.wait()
        (self.group,) = groups[:1]
        self.numbers[self.me] += 1
        if self.state == "HI":
            self.type, self.count, self.state = self.group, 0, "EC"
            self.session += 1
            self.enter(out, 0, self.group)
        elif self.state == "HS" and not self.queue and self.type == self.group:
            self.state = "EC"
            self.enter(out, 0, self.group)
        elif self.state == "HS":
            self.put(self.me, self.group)
            out.set_timer(T1, T_REQ)
        else:
            self.state = "R"
            out.set_timer(T1, T_REQ)
            for process in sorted(self.peers):
                self.ask(process, out)

    def ask(self, process: int, out: Out) -> None:
        out.send(process, Request(self.numbers[self.me], self.group))

    def put(self, process: int, wanted: int) -> None:
        for group, members in self.queue:
            if group == wanted:
                members.append(process)
                return
        self.queue.append((wanted, [process]))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self.on_request(src, msg, out)
        elif isinstance(msg, Start):
            self.on_start(src, msg.group, out)
        elif isinstance(msg, Complete):
            self.on_complete(src, out)
        elif isinstance(msg, Token):
            self.on_token(msg, out)
        elif isinstance(msg, GenToken):
            self.on_gen_token(src, msg, out)
        elif isinstance(msg, IsComplete):
            self.on_is_complete(src, msg.group, out)
        else:
            raise self.unexpected(src, msg)

    def on_request(self, src: int, msg: Request, out: Out) -> None:
        """Event 2."""
        if msg.number <= self.numbers[src]:
            return
        self.numbers[src] = msg.number
        if self.state in ("EC", "HS"):
            if self.admits(msg.group):
                self.count += 1
                out.set_timer(T2, T_FOL)
                self.followers.add(src)
                out.send(src, Start(msg.group))
            else:
                self.put(src, msg.group)
        elif self.state == "HI":
            self.peers.add(src)
            self.put(src, msg.group)
            self.old = self.token()
            self.state = self.after_giving()
            out.send(src, self.token())
        elif src not in self.peers:
            self.peers.add(src)
            if self.state == "R":
                self.ask(src, out)

    def admits(self, group: int) -> bool:
        return self.type == group and (self.state == "EC" or not self.queue)

    def after_giving(self) -> str:
        return "R"

    def on_start(self, src: int, group: int, out: Out) -> None:
        """Event 3."""
        out.cancel_timer(T1)
        self.captain, self.state = src, "EF"
        self.enter(out, 0, group)

    def release(self, out: Out) -> None:
        """Event 4."""
        self.leave()
        if self.state == "EF":
            out.send(self.captain, Complete())
            self.captain, self.state = NULL, "N"
        elif self.count:
            self.state = "HS"
        else:
            out.cancel_timer(T2)
            self.end_session()
            if self.queue:
                self.state = "N"
                self.hand_over(out)
            else:
                self.state, self.type = "HI", NULL
                self.old = self.token()

    def end_session(self) -> None:
        pass

    def hand_over(self, out: Out) -> None:
        self.old = self.token()
        self.peers = {members[0] for _, members in self.queue}
        self.send_token(self.queue[0][1][0], self.token(), out)

    def send_token(self, captain: int, token: Token, out: Out) -> None:
        if captain == self.me:
            self.on_token(token, out)
        else:
            out.send(captain, token)

    def on_complete(self, src: int, out: Out) -> None:
        """Event 5."""
        if src not in self.followers:
            return
        self.count -= 1
        self.followers.remove(src)
        if not self.followers:
            out.cancel_timer(T2)
        if self.count == 0 and self.state == "HS":
            self.end_session()
            if self.queue:
                mine = any([self.me in members for _, members in self.queue])
                self.state = "R" if mine else "N"
                self.hand_over(out)
            else:
                self.state = "HI"

    def on_token(self, token: Token, out: Out) -> None:
        """Event 6."""
        if not self.old.session < token.session:
            return
        out.cancel_timer(T1)
        self.session, self.count = token.session, 0
        self.queue = [(group, list(members)) for group, members in token.queue]
        if self.queue:
            self.type, members = self.queue.pop(0)
            others = [process for process in members if process != self.me]
            self.count = len(others)
            self.followers.update(others)
            for process in others:
                out.send(process, Start(self.type))
        self.state = "EC"
        self.peers = set()
        self.enter(out, 0, self.type)

    def on_timer(self, timer: int, out: Out) -> None:
        """Events 7 and 9."""
        if timer == T1:
            asking = GenToken(self.group, self.numbers[self.me], self.old.session)
            out.set_timer(T1, T_REQ)
            out.broadcast(asking)
            self.on_gen_token(self.me, asking, out)
        else:
            for process in sorted(self.followers):
                out.send(process, IsComplete(self.type))

    def on_gen_token(self, src: int, msg: GenToken, out: Out) -> None:
        """Event 8."""
        if msg.number < self.numbers[src]:
            return
        self.numbers[src] = msg.number
        if self.state in ("N", "R"):
            if src != self.me:
                self.peers.add(src)
                if self.state == "R":
                    self.ask(src, out)
            if msg.session <= self.old.session and self.old.queue:
                self.send_token(self.old.queue[0][1][0], self.old, out)
        elif self.state in ("EC", "HS"):
            if self.admits(msg.group):
                out.set_timer(T2, T_FOL)
                out.send(src, Start(msg.group))
                if src not in self.followers:
                    self.count += 1
                    if self.state == "EC":
                        self.followers.add(src)
            else:
                self.put(src, msg.group)
        elif self.state == "HI":
            self.peers.add(src)
            self.old = self.token()  # the request was added to the queue of the old token that this replaces
            out.send(src, self.token())

    def on_is_complete(self, src: int, group: int, out: Out) -> None:
        """Event 10."""
        if self.state == "R" and self.group == group:
            self.on_start(src, group, out)
        if self.state != "EF":
            out.send(src, Complete())


class ByTheProse(Appendix):
    """Where sections III and IV say something else, as they say: a number grows when a session ends (and is above that
    of old_token at first), an idle holder treats gen_token as a request, and is not requesting afterwards."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.old = Token(-1, NULL, 0, ())

    def end_session(self) -> None:
        self.session += 1

    def after_giving(self) -> str:
        return "N"

    def on_gen_token(self, src: int, msg: GenToken, out: Out) -> None:
        if self.state == "HI" and msg.number >= self.numbers[src]:
            self.numbers[src] = msg.number - 1
            self.on_request(src, Request(msg.number, msg.group), out)
        else:
            super().on_gen_token(src, msg, out)


class StaysInside(ByTheProse):
    """And a captain that is inside when a copy of the token comes stays inside. As printed it enters once more."""

    def enter(self, out: Out, fence: int = 0, group: int = 0) -> None:
        if self.phase != INSIDE:
            super().enter(out, fence, group)


class CopiesRefused(ByTheProse):
    """And a token is accepted only if its number is above those of all tokens accepted before."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.held = -1

    def on_token(self, token: Token, out: Out) -> None:
        if token.session > self.held and token.session > self.old.session:
            self.held = token.session
            super().on_token(token, out)
