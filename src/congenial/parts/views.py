"""Views: the members of a cluster agree on who they are, view by view.

A view is a numbered list of members. Some processes are its voters; they need not be members at the moment. A majority
of the voters of one view decides on the next, by consensus, so there is one sequence of views. Votes are durable, and a
process that has lost its state no longer counts as that voter. So any number of voters may change at the same time.

Every process reports to its leader, the first voter that it hears, which others it does not hear. The leader proposes
the next view when there is a reason:
- Two members do not hear each other. The new view has as many of the old members as possible, all of which hear each
  other (`congenial.parts.mutual`). So a cut cable costs one change, and not one for each suspicion. If the leader hears
  both, it asks them first, and waits until each has answered or is suspected by the leader itself. One of them may have
  crashed, and the other one, which has noticed it first, must not go in its place.
- A process wants to join, and all members hear it. It asks again from time to time, less and less often. One that was
  excluded several times recently waits longer each time before it asks: a link that flaps causes few changes.
- A member leaves, or comes back after a crash. If a voter leaves permanently, it loses its vote first, and leaves with
  the next view. So a majority of the voters of each view are members of the next one. A member that leaves holds
  nothing, and the view says so (`View.left`): no process has to wait for what it may hold.
- A member is to become a voter, or to be one no longer, or a process that has crashed is not expected back (`Assign`).

Each member has a number that is drawn when its memory begins, its birth, and counts the times that it was restarted
since then, its lives. A process whose birth or life is not that of the view is not a member: it has forgotten what it
did as one. A view also says since which view each process has been a member without a gap, and what it says about
itself, which may be where others can reach it.

A view is durable at every process that knows it, so a process knows after a crash where it can ask. A process that
sends something for an older view is sent the view.

The idea that suspicions are collected and settled together, for stable views, is that of Suresh et al. 2018 (Rapid); a
leader that hears fewer processes than another voter does not block progress, as in Ng et al. 2023 (Omni-Paxos).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import ClassVar, Final, cast

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.part import Part
from congenial.parts.consensus import Consensus, ConsensusMessage, Decide
from congenial.parts.mutual import Cut, cut_between, without_cuts

REJOIN: Final = 0  # the timers
CALM: Final = 1
VIEW_TIMERS: Final = 2  # how many there are
FIRST_PAUSE: Final = 1.0  # before a process asks to join again
LONGEST_PAUSE: Final = 64.0
EXILE: Final = 64.0  # before a process asks to join that was excluded for the second time; doubles with every time
LONGEST_EXILE: Final = 16  # times that
CALM_AFTER: Final = 20  # times that: after so long without being excluded, a member's exile is the shortest again
BIRTHS: Final = 1 << 48  # so many numbers to draw from
NOBODY: Final = -1
ENOUGH: Final = 3  # founders, which can do without the votes of others

Member = tuple[int, int, int, int, str]  # process, birth, life, first view without a gap, what it says about itself
Voter = tuple[int, int]  # process, birth
Members = tuple[Member, ...]
Voters = tuple[Voter, ...]
Value = tuple[Members, Voters, tuple[int, ...]]  # as in a view

VOTER: Final = 2  # the roles that a process can be given
MEMBER: Final = 1
GONE: Final = 0


@dataclass(frozen=True)
class View(Message):
    """The members and voters from this view on; as a message, that they have been decided on."""

    number: int
    members: Members = field(metadata={"type": Members})  # sorted
    voters: Voters = field(metadata={"type": Voters})  # the first that is heard leads
    left: tuple[int, ...] = ()  # members of the view before that have left by themselves, and hold nothing

    @property
    def processes(self) -> tuple[int, ...]:
        return tuple([member[0] for member in self.members])

    def member(self, process: int) -> Member | None:
        """What the view says about a process, if it is a member."""
        at = bisect_left(self.members, (process,))
        if at < len(self.members) and self.members[at][0] == process:
            return self.members[at]
        return None


@dataclass(frozen=True)
class Report(Message):
    """I do not hear these processes."""

    view: int
    silent: tuple[int, ...]


@dataclass(frozen=True)
class Join(Message):
    """I want to be a member, know of no later view than this one, and do not hear these processes."""

    view: int
    birth: int
    life: int
    silent: tuple[int, ...]
    about: str


@dataclass(frozen=True)
class Question(Message):
    """Another process says that you and another one do not hear each other: report."""

    view: int


@dataclass(frozen=True)
class Leave(Message):
    """I hold nothing, and want to be a member no longer, nor a voter unless I keep my vote."""

    view: int
    birth: int
    life: int
    keeps_vote: bool


@dataclass(frozen=True)
class Renew(Message):
    """Another view is needed, though perhaps with the same members: numbers run out that begin with the view's."""

    view: int


@dataclass(frozen=True)
class Assign(Message):
    """A process is to have this role. A request, which does not outlive the view: the asker sees what became of it."""

    view: int
    process: int
    role: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Views(Part):
    """The node calls this part first with every event, and then looks whether `view` has changed."""

    messages: ClassVar[Messages] = (View, Report, Question, Join, Leave, Renew, Assign)
    made_of: ClassVar[tuple[type, ...]] = (Consensus,)
    durable: ClassVar[tuple[str, ...]] = ("view", "birth", "life", "consensus")

    def __init__(self, me: int, founders: int, most_voters: int, abouts: tuple[str, ...] = ()) -> None:
        """`abouts` has what the founders say about themselves."""
        self.me = me
        self.founders = founders
        self.most_voters = most_voters
        self.about = abouts[me] if me < len(abouts) else ""
        founding = tuple([(process, 0, 0, 0, abouts[process] if abouts else "") for process in range(founders)])
        voters = tuple([(process, 0) for process in range(_odd(founders, most_voters))])
        # durable
        self.view = View(0, founding, voters)
        self.birth = 0
        self.life = 0
        self.consensus = self._new_consensus()  # on the next view
        # not durable
        self.suspects: set[int] = set()
        self.reports: dict[int, tuple[int, ...]] = {}  # of others: which processes each does not hear
        self.applicants: dict[int, tuple[int, int, str]] = {}  # processes that want to join: birth, life, about
        self.asked: dict[int, bool] = {}  # members that do not hear each other, and have they answered?
        self.leavers: dict[int, bool] = {}  # members that leave, by themselves: does it keep its vote?
        self.dismissed: set[int] = set()  # members that others want to leave
        self.assigned: dict[int, int] = {}  # the roles that processes are to have
        self.takes_part = me < founders  # does this process want to be a member?
        self.keeps_vote = False  # and if not, does it want to be a voter?
        self.renewing = False  # is another view needed, whatever its members?
        self.paused = False  # does this process propose no view for the moment?
        self.later: list[tuple[int, Message]] = []  # what has come for later views: sender, message
        self.informed: set[int] = set()  # processes that I have sent the view
        self.before: tuple[int, ...] = ()  # the members before this view
        self.source = NOBODY  # the process from which this one has the view
        self.decided = False  # was this process one of those that decided on it?
        self.has_spread = False  # has it told the view to all?
        self.asking = False  # is the timer REJOIN set?
        self.pause = FIRST_PAUSE
        self.least_exile = EXILE
        self.exile = 0.0  # how long this process will wait before it asks, the next time that it is excluded
        self.exiled = False  # does it wait now?
        self.calming = False  # is the timer CALM set?

    # -- what a process knows --------------------------------------------------------------------------

    def since(self) -> int:
        """The view since which this process has been a member without a gap, or -1 if it is none."""
        member = self.view.member(self.me)
        return member[3] if member is not None and member[1:3] == (self.birth, self.life) else -1

    def _is_member(self, process: int, msg: Join | Leave) -> bool:
        """True if a process is a member in the life in which it sent this."""
        member = self.view.member(process)
        return member is not None and member[1:3] == (msg.birth, msg.life)

    def votes(self) -> bool:
        return (self.me, self.birth) in self.view.voters

    def has_voted(self) -> bool:
        """True if this process has voted for a next view."""
        return self.view.number + 1 in self.consensus.accepted

    def has_majority(self) -> bool:
        """True if this process hears a majority of the voters."""
        heard = [voter for voter in self.view.voters if self._hears(voter)]
        return 2 * len(heard) > len(self.view.voters)

    def _hears(self, voter: Voter) -> bool:
        process, birth = voter
        if process == self.me:
            return birth == self.birth
        applicant = self.applicants.get(process)
        return process not in self.suspects and (applicant is None or applicant[0] == birth)

    def forgetful(self) -> list[int]:
        """The voters that are there, but have lost their memory, as far as this process knows."""
        births = {process: applicant[0] for process, applicant in self.applicants.items()}
        births[self.me] = self.birth
        return [process for process, birth in self.view.voters if births.get(process, birth) != birth]

    def _leads(self) -> bool:
        return self._is_leader(self.me)

    def _is_leader(self, process: int) -> bool:
        """True if this is the first voter that this process hears."""
        for voter in self.view.voters:
            if self._hears(voter):
                return voter[0] == process
        return False

    # -- wanting to be a member, or not ----------------------------------------------------------------

    def join(self, out: Out) -> None:
        """Ask to become a member, now and then again until this process is one."""
        self.takes_part = True
        self.leavers.pop(self.me, None)
        if not self.exiled:
            self._ask(out)

    def leave(self, out: Out, keeps_vote: bool = False) -> None:
        """Ask to be a member no longer. This process must hold nothing, and acquire nothing from now on."""
        self.takes_part = False
        self.keeps_vote = keeps_vote
        leave = Leave(self.view.number, self.birth, self.life, keeps_vote)
        self._on_leave(self.me, leave)
        for process in self._voting():  # the leader may be this process
            if process != self.me:
                out.send(process, leave)
        self._review(out)

    def renew(self, out: Out) -> None:
        """Ask for another view."""
        self.renewing = True
        self._tell_leader(Renew(self.view.number), out)
        self._review(out)

    def assign(self, process: int, role: int, out: Out) -> None:
        """Ask that a process gets this role."""
        self._take_role(process, role)
        self._tell_leader(Assign(self.view.number, process, role), out)
        self._review(out)

    def _take_role(self, process: int, role: int) -> None:
        if role == GONE:
            self.dismissed.add(process)
            self.applicants.pop(process, None)
        else:
            self.assigned[process] = role

    def _ask(self, out: Out) -> None:
        """Ask to join, and set the timer to ask again. If nobody answers, others may know of a later view."""
        self.applicants[self.me] = (self.birth, self.life, self.about)
        join = Join(self.view.number, self.birth, self.life, tuple(sorted(self.suspects)), self.about)
        if self.pause == FIRST_PAUSE:
            self._tell_leader(join, out)
        else:
            for process in sorted({*self.view.processes, *self._voting()} - {self.me} - self.suspects):
                out.send(process, join)
        self._ask_later(out)
        self._review(out)

    def _insist(self, out: Out) -> None:
        """If this process is a member and does not want to, or wants to and is not, say so."""
        if self.takes_part and self.since() < 0:
            self._ask(out)
        elif not self.takes_part and self.view.member(self.me) is not None:
            self.leave(out, self.keeps_vote)

    def _ask_later(self, out: Out) -> None:
        self.asking = True
        out.set_timer(REJOIN, self.pause)
        self.pause = min(2 * self.pause, LONGEST_PAUSE)

    def on_timer(self, timer: int, out: Out) -> None:
        if timer == CALM:
            self.calming = False
            self.exile = 0.0
        else:
            self.asking = self.exiled = False
            self._insist(out)

    def on_recover(self, out: Out) -> None:
        """This process has its memory, but what it did as a member is gone."""
        self.life += 1
        self._resume(out)

    def on_amnesia(self, out: Out) -> None:
        """This process is not the voter, nor the member, that it was. It only knows where to ask."""
        self.birth = 1 + out.choose(BIRTHS)
        self._resume(out)

    def _resume(self, out: Out) -> None:
        self.exiled = False
        self._renew_consensus()
        out.save()
        if self.votes():
            self.consensus.retry(self._to_voters(out))
            self._spread(out)
        if self.takes_part:
            self._ask(out)
        else:
            self.leave(out, self.keeps_vote)

    # -- suspicion and trust ----------------------------------------------------------------------------

    def on_suspect(self, peer: int, out: Out) -> None:
        self.suspects.add(peer)
        self.applicants.pop(peer, None)
        self.reports.pop(peer, None)
        self._suspect_voter(peer, out)
        self._doubt_source(peer, out)
        if not self.takes_part:
            self._insist(out)
        self._report(out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.suspects.discard(peer)
        place = self._place(peer)
        if self.votes() and place >= 0 and self._hears(self.view.voters[place]):
            self.consensus.on_trust(place, self._to_voters(out))
            self._look(out)
        if place >= 0 and not self._is_leader(peer):
            out.send(peer, self._own_report())  # it may have been told that it is not heard, and may lead later
        self._report(out)

    def _suspect_voter(self, process: int, out: Out) -> None:
        place = self._place(process)
        if self.votes() and place >= 0:
            self.consensus.on_suspect(place, self._to_voters(out))
            self._look(out)

    def _report(self, out: Out) -> None:
        self._tell_leader(self._own_report(), out)
        self._review(out)

    def _own_report(self) -> Report:
        return Report(self.view.number, tuple(sorted(self.suspects)))

    # -- the next view ---------------------------------------------------------------------------------

    def go_on(self, out: Out) -> None:
        """After a pause."""
        self.paused = False
        self._review(out)

    def _review(self, out: Out) -> None:
        """If this process leads, and there is a reason for another view, propose it."""
        if self.paused:
            return
        if self.votes() and self._leads() and self.has_majority() and self._all_answer(out):
            wanted = self._wanted()
            if wanted is not None and (self.renewing or wanted[:2] != (self.view.members, self.view.voters)):
                self.consensus.propose(self.view.number + 1, wanted, self._to_voters(out))
                self._look(out)

    def _all_answer(self, out: Out) -> bool:
        """Some members do not hear another one, or a process that wants to join, though this process hears all of them.
        Have these members answered in this view?"""
        doubts = [process for process in sorted(self.reports) if self.reports[process]]
        if not doubts and not self.asked:
            return True
        heard = set(self.view.processes) - self.suspects - {self.me}
        heard -= {process for process in doubts if self.me in self.reports[process]}
        others = {*heard, *self.applicants}
        doubtful: set[int] = set()
        for process in doubts:
            silent = others.intersection(self.reports[process])
            if process in heard and silent:
                doubtful |= {process, *heard.intersection(silent)}
        for process in sorted(doubtful - set(self.asked)):
            out.send(process, Question(self.view.number))
        self.asked = {process: self.asked.get(process, False) for process in sorted(doubtful)}
        return all(self.asked.values())

    def _wanted(self) -> Value | None:
        """What the next view should be, as far as this process knows; None if too few voters would be members. Voters
        that want to leave stay if they are needed."""
        wanted = self._wanted_without(self._leavers_now())
        if wanted is None and self.leavers:
            wanted = self._wanted_without(self._leavers_now() - set(self._voting()))
        return wanted

    def _wanted_without(self, leavers: set[int]) -> Value | None:
        number = self.view.number + 1
        cuts = self._cuts()
        present: dict[int, Member] = {}
        for member in self.view.members:
            if member[0] not in leavers and not self._is_outdated(member):
                present[member[0]] = member
        if self.me in present:  # it can only speak for those that it hears
            present = {process: present[process] for process in present if cut_between(self.me, process) not in cuts}
        else:
            present = {process: present[process] for process in present if not self._is_lost(process, present)}
        kept = without_cuts(sorted(present), cuts, self._voting())
        members = [present[process] for process in kept]
        for process in sorted(self.applicants):
            if process not in kept and not any([cut_between(process, other) in cuts for other in kept]):
                kept.append(process)
                birth, life, about = self.applicants[process]
                members.append((process, birth, life, number, about))
        members.sort()
        there = {member[:2] for member in members}
        staying = [voter for voter in self.view.voters if voter in there]
        if 2 * len(staying) <= len(self.view.voters):
            return None
        left = [process for process in sorted(self.leavers) if process not in kept]
        return tuple(members), self._voters_for(members), tuple(left)

    def _leavers_now(self) -> set[int]:
        """The members that leave with the next view. A voter loses its vote first, unless it keeps it."""
        found = {process for process in self.leavers if self.leavers[process]}
        for member in self.view.members:
            if self._is_leaver(member[0]) and member[:2] not in self.view.voters:
                found.add(member[0])
        return found

    def _is_leaver(self, process: int) -> bool:
        """True if this process is to lose its vote."""
        return process in self.dismissed or not self.leavers.get(process, True)

    def _is_lost(self, process: int, present: dict[int, Member]) -> bool:
        """True if this process does not hear a member, and none of those that it hears does."""
        if process not in self.suspects:
            return False
        heard = {*present, *self.applicants} - self.suspects - {self.me}
        return all([process in self.reports.get(other, ()) for other in sorted(heard)])

    def _is_outdated(self, member: Member) -> bool:
        """True if the process has been restarted since it became this member."""
        process, birth, life, _, _ = member
        applicant = self.applicants.get(process)
        return applicant is not None and applicant[:2] != (birth, life)

    def _cuts(self) -> set[Cut]:
        cuts = {cut_between(self.me, other) for other in self.suspects}
        for process in sorted(self.reports):
            cuts |= {cut_between(process, other) for other in self.reports[process] if other != process}
        return cuts

    def _voters_for(self, members: list[Member]) -> Voters:
        """An odd number of voters, members that do not leave if possible. Those that are voters already stay, in their
        order, unless they are to be voters no longer and others can take their places.

        A voter that is away may come back with its memory. A founder is expected back, and only another founder takes
        its place. Others may never return: where there are three founders, others that are away do not count, and
        where there are two, others are not the majority. Those that are away never are the majority: they may not come
        back before others want to join or leave.

        A process that is not a member itself may propose members that it does not hear, because others might hear them.
        It gives them no votes."""
        there = []
        for member in members:
            if not self._is_leaver(member[0]) and (member[0] not in self.suspects or member[:2] in self.view.voters):
                there.append(member[:2])
        if not there:
            return self.view.voters
        processes = [process for process, _ in there]
        away = [voter for voter in self.view.voters if voter[0] not in processes and not self._is_leaver(voter[0])]
        founders = [voter for voter in [*there, *away] if voter[0] < self.founders]  # those that are there first
        if len(founders) >= ENOUGH:
            away = [voter for voter in away if voter in founders]
        size = min(_odd(len(there) + len(away), self.most_voters), 2 * len(there) - 1)
        if len(founders) > 1:
            size = min(size, 2 * len(founders) - 1)
        promoted = [voter for voter in there if self.assigned.get(voter[0]) == VOTER]
        relieved = [voter for voter in there if self.assigned.get(voter[0]) == MEMBER]
        stay = [voter for voter in self.view.voters if voter in there and voter not in relieved]
        voters = [voter for voter in stay if voter not in promoted][: max(size - len(promoted), 0)]
        voters = [voter for voter in stay if voter in voters or voter in promoted]
        willing = [voter for voter in [*founders, *there, *away] if voter not in relieved]
        most_away = size // 2
        for voter in [*promoted, *willing, *relieved]:
            if len(voters) < size and voter not in voters and (voter in there or most_away > 0):
                most_away -= voter not in there
                voters.append(voter)
        return tuple(voters[:size])

    def _look(self, out: Out) -> None:
        """True if the next view has been decided on."""
        number = self.view.number + 1
        if self.consensus.decided(number):
            members, voters, left = cast(Value, self.consensus.decision(number))
            source = self.view.voters[self.consensus.sources[number]][0]
            self._install(View(number, members, voters, left), source, True, out)

    def _install(self, view: View, source: int, decided: bool, out: Out) -> None:
        self.before = self.view.processes
        old = set(self.view.members)
        same = {member[0] for member in view.members if member in old}
        was_member = self.since() >= 0
        self.view = view
        self.source = source
        self.decided = decided
        self.has_spread = False
        self.informed = set()
        self.renewing = False
        self.asked = {}
        self.leavers = {process: self.leavers[process] for process in sorted(self.leavers) if process in same}
        self.dismissed = self.dismissed & same
        self.assigned = {}
        for process, birth, life, _, _ in view.members:
            applicant = self.applicants.get(process)
            if applicant is not None and applicant[:2] == (birth, life):
                del self.applicants[process]
        matter = {*self.applicants, *same}  # members that are new will report again
        self.reports = {process: self.reports[process] for process in self.reports if process in matter}
        has_tried = len(self.consensus.campaigns) > 0  # others may wait for this process's ballot
        self.consensus = self._new_consensus()
        out.save()
        if source == self.me or has_tried or (self.votes() and self._leads()):
            self._spread(out)
        if self.votes():
            for place, voter in enumerate(view.voters):
                if not self._hears(voter):
                    self.consensus.on_suspect(place, self._to_voters(out))
        if self.since() >= 0 and not self.takes_part:
            self._insist(out)
        elif self.since() >= 0:
            self._settle_in(out)
        elif view.member(self.me) is not None:  # in an earlier life
            self._insist(out)
        elif self.takes_part and was_member:
            self._go_into_exile(out)
        elif self.takes_part and not self.asking:
            self._ask_later(out)
        if self.suspects:
            self._report(out)
        else:
            self._review(out)
        later = self.later
        self.later = []
        for src, msg in later:
            self.receive(src, msg, out)

    def _settle_in(self, out: Out) -> None:
        """This process is a member, now or still."""
        self.pause = FIRST_PAUSE
        self.exiled = False
        if self.asking:
            self.asking = False
            out.cancel_timer(REJOIN)
        if self.exile > 0.0 and not self.calming:
            self.calming = True
            out.set_timer(CALM, CALM_AFTER * self.least_exile)

    def _go_into_exile(self, out: Out) -> None:
        """This process was excluded. It asks to join again, immediately if it was not excluded lately."""
        self.exiled = self.asking = True
        out.set_timer(REJOIN, max(self.exile, FIRST_PAUSE))
        self.exile = min(max(2 * self.exile, self.least_exile), LONGEST_EXILE * self.least_exile)
        if self.calming:
            self.calming = False
            out.cancel_timer(CALM)

    def _spread(self, out: Out) -> None:
        """Tell the view to all that it concerns. The process that proposed it does so, and the leader, and those that
        were about to propose another one; and all that have decided on it, if they know that the source of their
        knowledge may have crashed before it could."""
        self.has_spread = True
        concerned = {*self.before, *self.view.processes, *self._voting()}
        for process in sorted(concerned - {self.me}):
            self.inform(process, out)

    def _doubt_source(self, process: int, out: Out) -> None:
        if not self.has_spread and ((process == self.source and self.decided) or (self.votes() and self._leads())):
            self._spread(out)

    # -- messages --------------------------------------------------------------------------------------

    def receives(self, msg: Message) -> bool:
        """True if this is a message of views."""
        return isinstance(msg, (View, Report, Question, Join, Leave, Renew, Assign, ConsensusMessage))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, (Join, Leave)):
            self.informed.discard(src)  # it may have crashed since
        if isinstance(msg, View):
            if msg.number > self.view.number:
                self._install(msg, src, False, out)
        elif isinstance(msg, Join):
            self._on_join(src, msg, out)
        elif self._view_of(msg) > self.view.number:
            self.later.append((src, msg))
        elif isinstance(msg, Report):
            self._on_report(src, msg, out)
        elif isinstance(msg, Leave):
            if self.is_current(src, msg.view, out) or self._has_stayed(src, msg):
                self._on_leave(src, msg)
            self._review(out)
        elif self.is_current(src, self._view_of(msg), out):
            if isinstance(msg, Question):
                out.send(src, self._own_report())
            elif isinstance(msg, Renew):
                self.renewing = True
            elif isinstance(msg, Assign):
                self._take_role(msg.process, msg.role)
            elif isinstance(msg, ConsensusMessage):
                self._on_consensus(src, msg, out)
            self._review(out)

    def _view_of(self, msg: Message) -> int:
        """The view in which a message was sent."""
        if isinstance(msg, ConsensusMessage):
            return msg.instance - 1
        assert isinstance(msg, (Report, Question, Leave, Renew, Assign))
        return msg.view

    def inform(self, process: int, out: Out) -> None:
        """Send the view to a process that may not know it."""
        self.informed.add(process)
        out.send(process, self.view)

    def is_current(self, src: int, number: int, out: Out) -> bool:
        """True if something that a process sent is for the current view. If for an earlier one, send it the view."""
        if number < self.view.number and src not in self.informed:
            self.inform(src, out)
        return number == self.view.number

    def _on_report(self, src: int, msg: Report, out: Out) -> None:
        """A report from an earlier view is still useful, but it does not answer a question of this view."""
        self.reports[src] = msg.silent
        if self.is_current(src, msg.view, out) and src in self.asked:
            self.asked[src] = True
        self._review(out)

    def _on_join(self, src: int, msg: Join, out: Out) -> None:
        self.is_current(src, msg.view, out)
        if src in self.suspects:
            return
        leaves = src in self.leavers or src in self.dismissed
        if self._is_member(src, msg) and not leaves:
            return  # it will hear
        self.applicants[src] = (msg.birth, msg.life, msg.about)
        self.reports[src] = msg.silent
        self.leavers.pop(src, None)
        self.dismissed.discard(src)
        if src in self.asked:
            self.asked[src] = True
        self._doubt_source(src, out)
        place = self._place(src)
        if place >= 0 and not self._hears(self.view.voters[place]):
            self._suspect_voter(src, out)  # it no longer votes
        elif place >= 0:  # it may have missed this before
            if self.suspects:
                out.send(src, self._own_report())
            if self.votes():
                self.consensus.retry(self._to_voters(out))
        self._review(out)

    def _has_stayed(self, src: int, msg: Leave) -> bool:
        """True if a process is still the member that sent this in an earlier view. Then it counts. Otherwise two
        members that leave and pass a vote on to each other would never hear that both leave."""
        member = self.view.member(src)
        return member is not None and self._is_member(src, msg) and member[3] <= msg.view

    def _on_leave(self, src: int, msg: Leave) -> None:
        self.applicants.pop(src, None)
        if self._is_member(src, msg):
            self.leavers[src] = msg.keeps_vote
        else:  # what it says does not go for an earlier life of it, which no longer answers
            self.dismissed.add(src)
            self.reports.pop(src, None)
            if src in self.asked:
                self.asked[src] = True

    def _on_consensus(self, src: int, msg: ConsensusMessage, out: Out) -> None:
        place = self._place(src)
        if place < 0 or not self.votes():
            return
        number = self.view.number + 1
        if not isinstance(msg, Decide) and number not in self.consensus.proposals:
            # If others fail it may be for this process to propose: the same members will do.
            wanted = self._wanted()
            value: Value = (self.view.members, self.view.voters, ()) if wanted is None else wanted
            self.consensus.propose(number, value, self._to_voters(out))
        self.consensus.receive(place, msg, self._to_voters(out))
        self._look(out)

    # -- voters ----------------------------------------------------------------------------------------

    def _place(self, process: int) -> int:
        """A process's number among the voters, or -1."""
        for place, voter in enumerate(self.view.voters):
            if voter[0] == process:
                return place
        return -1

    def _voting(self) -> tuple[int, ...]:
        return tuple([process for process, _ in self.view.voters])

    def _tell_leader(self, msg: Message, out: Out) -> None:
        """Tell the first voter that I hear; and those before it, which may hear me."""
        for voter in self.view.voters:
            if voter[0] != self.me:
                out.send(voter[0], msg)
            if self._hears(voter):
                return

    def _new_consensus(self) -> Consensus:
        return Consensus(max(self._place(self.me), 0), max(len(self.view.voters), 1))

    def _renew_consensus(self) -> None:
        """After a crash: the votes are there, but not how many voters there are."""
        old = self.consensus
        self.consensus = self._new_consensus()
        self.consensus.ballots = old.ballots
        self.consensus.accepted = old.accepted
        self.consensus.decisions = old.decisions
        self.consensus.low = old.low

    def _to_voters(self, out: Out) -> Out:
        return VotersOut(self._voting(), self.me, out)


@mypyc_attr(allow_interpreted_subclasses=True)
class VotersOut(Out):
    """Passes on what consensus does, with the real numbers of the voters."""

    def __init__(self, voters: tuple[int, ...], me: int, out: Out) -> None:
        self.voters = voters
        self.me = me
        self.out = out

    def send(self, dst: int, msg: Message) -> None:
        self.out.send(self.voters[dst], msg)

    def broadcast(self, msg: Message) -> None:
        for process in self.voters:
            if process != self.me:
                self.out.send(process, msg)

    def save(self) -> None:
        self.out.save()


def _odd(members: int, most: int) -> int:
    """The largest odd number of voters that so many members allow."""
    allowed = min(members, most)
    return allowed if allowed % 2 else max(allowed - 1, 1)
