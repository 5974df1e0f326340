"""Runs of Mishra and Srimani's algorithm in which the age of a token matters: step by step, as in `scenarios`.

Three processes. In most runs there is nothing to be judged at the end: the stepper's judge raises if two processes are
inside, or if a fence does not grow. Timeouts expire while messages are under way. The algorithm does not always
withstand that (see its flaws), but it does in these runs, except where one says so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from aged_run import PROPOSAL, TOKEN, Run

from congenial.kernel.errors import SafetyViolation
from congenial.kernel.node import Node
from congenial.kernel.trace import EJECT, SEND

PATIENCE = 6  # rounds


def held_by_1(algorithm: type[Node]) -> Run:
    """Process 1 is inside, and process 2 waits."""
    run = Run(algorithm)
    run.give_token(1)
    run.ask(2)
    return run


# -- too few answers ---------------------------------------------------------------------------------------


def unanswered(algorithm: type[Node]) -> str:
    """Nobody answers for a long time: no token may be made."""
    run = held_by_1(algorithm)
    for _ in range(4):
        run.time_out(2)
    return ""


def answer_to_earlier_search(algorithm: type[Node]) -> str:
    """The first search was a false alarm. Its answers do not count in the second."""
    run = held_by_1(algorithm)
    run.time_out(2)
    run.inquire(2, 0)
    run.inquire(2, 1)
    run.time_out(2)
    run.time_out(2)
    run.consent(2, 0)
    run.time_out(2)
    return ""


def answer_to_earlier_proposal(algorithm: type[Node]) -> str:
    """A consent to the first token that should be made arrives when another one should be."""
    run = held_by_1(algorithm)
    run.propose(2, 0)
    run.arrive(2, 0, PROPOSAL)
    run.inquire(2, 1)
    run.propose(2, 0)
    run.arrive(0, 2, "Update")
    run.time_out(2)
    return ""


# -- two search --------------------------------------------------------------------------------------------


def smaller_goes_on(algorithm: type[Node]) -> str:
    """The token is lost, and two search at the same time: the larger one gives way."""
    run = Run(algorithm)
    run.crash(0)
    for process in (1, 2):
        run.ask(process)
        run.time_out(process)
    for _ in range(PATIENCE):
        for process, other in ((2, 1), (1, 2)):
            run.inquire(process, other)
            run.consent(process, other)
        for process in (1, 2):
            if run.is_inside(1) or run.is_inside(2):
                return ""
            run.time_out(process)
    return "two search for the token forever"


def larger_gives_way(algorithm: type[Node]) -> str:
    """The larger one has given way, and must not go on with its own search, although it has an answer."""
    run = Run(algorithm)
    run.restart(0)
    for process in (1, 2):
        run.ask(process)
        run.time_out(process)
    run.inquire(2, 0)
    run.inquire(1, 0)
    run.inquire(1, 2)
    run.consent(1, 0)
    run.time_out(2)
    run.consent(2, 0)
    run.time_out(1)
    run.time_out(2)
    return ""


def lower_age_gives_way(algorithm: type[Node]) -> str:
    """Two are about to make a token. The one with the lower age consents to the other, and must give up its own."""
    run = Run(algorithm)
    run.restart(0)
    run.ask(1)
    run.ask(2)
    run.time_out(1)
    run.inquire(1, 0)
    run.inquire(1, 2)
    run.time_out(2)
    run.propose(2, 0)
    run.consent(1, 0)
    run.consent(2, 1)
    run.consent(2, 0)
    run.time_out(1)
    return ""


# -- which age a new token has -----------------------------------------------------------------------------


def own_age(algorithm: type[Node]) -> str:
    """The maker of a token loses it in a crash, and searches again. Only a process that has not heard of its token
    answers: the maker itself must remember its age."""
    run = Run(algorithm)
    run.crash(0)
    run.ask(2)
    run.make_token(2, 1)
    run.recover(0)
    run.restart(2)
    run.ask(2)
    run.make_token(2, 0)
    return ""


def age_in_answers(algorithm: type[Node]) -> str:
    """A token was made while a process was down. When this one makes another, it learns the age from an answer."""
    run = Run(algorithm)
    run.give_token(2)
    run.crash(2)
    run.ask(0)
    run.make_token(0, 1)
    run.recover(2)
    run.crash(0)
    run.ask(2)
    for _ in range(PATIENCE):
        run.make_token(2, 1)
    proposals = [
        event for event in run.stepper.events if event.event == SEND and event.node == 2 and event.message == PROPOSAL
    ]
    return "" if len(proposals) <= 1 else "process 2 proposes an age that is too low"


# -- a holder learns of a new token ------------------------------------------------------------------------


def objection(algorithm: type[Node]) -> str:
    """The holder objects. Its token takes over the age, or the process that proposed it would discard the token."""
    run = held_by_1(algorithm)
    run.propose(2, 0)
    run.consent(2, 1)
    run.arrive(2, 1, "Request")
    run.leave(1)
    run.arrive(1, 2, TOKEN)
    return "" if run.is_inside(2) else "the only token was discarded"


def objection_and_crash(algorithm: type[Node]) -> str:
    """The holder objects, enters with the new age, and crashes. The token that it makes later must have a higher age,
    although the only process that answers has heard of none."""
    run = held_by_1(algorithm)
    run.propose(2, 0)
    run.consent(2, 1)
    run.leave(1)
    run.ask(1)
    run.restart(1)
    run.ask(1)
    run.make_token(1, 0)
    return ""


def objection_under_way(algorithm: type[Node]) -> str:
    """While the holder's objection is under way, its token is used by another process, which so learns the age before
    it is asked for its consent. It must not consent then."""
    run = held_by_1(algorithm)
    run.propose(2, 0)
    run.arrive(2, 1, PROPOSAL)
    run.ask(0)
    run.arrive(0, 1, "Request")
    run.leave(1)
    run.arrive(1, 0, TOKEN)
    run.ask(1)
    run.arrive(1, 0, "Request")
    run.leave(0)
    run.arrive(0, 1, TOKEN)
    run.consent(2, 0)
    run.time_out(2)
    return ""


def idle_holder(algorithm: type[Node]) -> str:
    """An idle holder learns too late of a new token, and may not use its own any more."""
    run = Run(algorithm)
    run.give_token(1)
    run.leave(1)
    run.ask(2)
    run.make_token(2, 0)
    run.arrive(2, 1, "Recovered")
    run.ask(1)
    return ""


def ejected(algorithm: type[Node]) -> str:
    """A holder that is inside learns too late of a new token, and is ejected. Which processes should have had its token
    next is forgotten with it."""
    run = Run(algorithm)
    run.ask(0)
    for process in (1, 2):
        run.ask(process)
        run.arrive(process, 0, "Request")
    run.leave(0)
    run.arrive(0, 1, TOKEN)  # process 2 would be next
    with suppress(SafetyViolation):  # the known flaw: the timeout is too short
        run.make_token(2, 0)
    run.arrive(2, 1, "Recovered")
    if run.is_inside(1) and run.is_inside(2):
        return "process 1 is inside with a token that has been replaced"
    run.restart(2)
    run.ask(1)
    run.make_token(1, 2)
    run.leave(1)
    run.arrive(1, 2, TOKEN)
    return ""


def late_news(algorithm: type[Node]) -> str:
    """A process hears that there is a new token when it has this very token."""
    run = Run(algorithm)
    run.crash(0)
    run.ask(2)
    run.make_token(2, 1)
    run.ask(1)
    run.arrive(1, 2, "Request")
    run.leave(2)
    run.arrive(2, 1, TOKEN)
    run.arrive(2, 1, "Recovered")
    ejected = any([event.event == EJECT for event in run.stepper.events])
    return "process 1 is ejected, although it has the new token" if ejected else ""


# -- an old token arrives ----------------------------------------------------------------------------------


def old_token(run: Run) -> str:
    """Process 1 has learnt of a new token, crashes, asks again, and gets the old one: it must remember the age."""
    run.restart(1)
    run.ask(1)
    run.arrive(0, 1, TOKEN)
    return ""


def old_token_after_consent(algorithm: type[Node]) -> str:
    run = Run(algorithm)
    run.send_token(1)
    run.ask(2)
    run.make_token(2, 1)
    return old_token(run)


def old_token_after_news(algorithm: type[Node]) -> str:
    run = Run(algorithm)
    run.send_token(1)
    run.ask(2)
    run.make_token(2, 0)
    run.arrive(2, 1, "Recovered")
    return old_token(run)


def old_token_after_use(algorithm: type[Node]) -> str:
    """Process 1 knows the age only from the new token, which it has used and passed on."""
    run = Run(algorithm)
    run.send_token(1)
    run.ask(2)
    run.make_token(2, 0)
    run.arrive(1, 2, "Request")
    run.leave(2)
    run.arrive(2, 1, TOKEN)
    if not run.is_inside(1):
        return ""  # another process is next, and process 1 has not heard of the new token
    run.ask(2)
    run.arrive(2, 1, "Request")
    run.leave(1)
    run.arrive(1, 2, TOKEN)
    return old_token(run)


AGED: dict[str, Callable[[type[Node]], str]] = {
    "unanswered": unanswered,
    "answer to earlier search": answer_to_earlier_search,
    "answer to earlier proposal": answer_to_earlier_proposal,
    "smaller goes on": smaller_goes_on,
    "larger gives way": larger_gives_way,
    "lower age gives way": lower_age_gives_way,
    "own age": own_age,
    "age in answers": age_in_answers,
    "objection": objection,
    "objection and crash": objection_and_crash,
    "objection under way": objection_under_way,
    "idle holder": idle_holder,
    "ejected": ejected,
    "late news": late_news,
    "old token after consent": old_token_after_consent,
    "old token after news": old_token_after_news,
    "old token after use": old_token_after_use,
}
