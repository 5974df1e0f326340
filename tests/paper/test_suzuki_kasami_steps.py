"""Velazquez 1993, section 4, "Suzuki-Kazami algorithm", and its appendix A, sentence by sentence."""

from __future__ import annotations

from typing import Any

from steps import node, receive, release, request

from congenial.algorithms.token.suzuki_kasami import Privilege, Request, SuzukiKasami
from congenial.algorithms.token.suzuki_kasami_bounded import RoundReceived, SuzukiKasamiBounded


def process(me: int, n: int = 4) -> Any:
    return node(SuzukiKasami, me, n)


def inside_with_token(me: int = 1, queue: tuple[int, ...] = (), served: tuple[int, ...] = (0, 0, 0, 0)) -> Any:
    holder = process(me)
    request(holder)
    assert receive(holder, 0, Privilege(queue, served, 5)) == ["enters"]
    return holder


def test_a_request_goes_to_all_others_with_the_incremented_counter() -> None:
    """ "it increments its request counter RN[i] and sends a request message of the form
    REQUEST(i, RN[i]), to all other N-1 nodes." """
    asker = process(1)
    assert request(asker) == ["Request(number=1) to all"]
    assert asker.requested == [0, 1, 0, 0]


def test_the_arrival_of_the_token_lets_it_in() -> None:
    """ "If it has the token or the token arrives, it proceeds to enter its critical section." """
    assert inside_with_token().holding


def test_a_process_that_holds_the_idle_token_enters_without_a_message() -> None:
    """ "A node holding an idle token can enter its critical section without the need to send a request message." """
    first = process(0)
    assert request(first) == ["enters"]


def test_leaving_records_the_request_as_granted() -> None:
    """ "After exiting its critical section, node i updates LN[i] with its current request granted RN[i]." """
    holder = inside_with_token()
    assert release(holder) == []
    assert holder.served == [0, 1, 0, 0]


def test_leaving_enqueues_ungranted_requests_in_ascending_order_behind_the_queue() -> None:
    """ "it enqueues all nodes not in Q from whom it has received a request which has not been granted yet ... in an
    ascending node number order. If there exists a process in Q, the token is sent to the process at the front." """
    holder = inside_with_token(queue=(3,))
    for source in (3, 2, 0):
        receive(holder, source, Request(1))
    assert release(holder) == ["Privilege(queue=(0, 2), served=(0, 1, 0, 0), entries=6) to 3"]
    assert not holder.holding


def test_an_empty_queue_keeps_the_idle_token() -> None:
    """ "If Q is empty, node i retains the idle token." """
    holder = inside_with_token()
    assert release(holder) == []
    assert holder.holding


def test_an_idle_holder_sends_the_token_to_whoever_asks() -> None:
    """ "If node i is holding the token, not requesting its critical section and the most current request from j has
    not been served yet, then the token is sent to node j." """
    first = process(0)
    assert receive(first, 2, Request(1)) == ["Privilege(queue=(), served=(0, 0, 0, 0), entries=0) to 2"]
    assert receive(first, 3, Request(1)) == []  # the token has gone


def test_a_holder_inside_keeps_the_token_for_now() -> None:
    holder = inside_with_token()
    assert receive(holder, 2, Request(1)) == []
    assert release(holder) == ["Privilege(queue=(), served=(0, 1, 0, 0), entries=6) to 2"]


def test_old_and_out_of_order_requests_are_discarded() -> None:
    """ "RN[j] is updated with the most current request number ... This would take care of old requests already
    granted and out-of-order request messages." """
    first = process(0)
    request(first)
    receive(first, 2, Request(1))
    assert release(first) == ["Privilege(queue=(), served=(0, 0, 0, 0), entries=1) to 2"]
    request(first)
    receive(first, 2, Privilege((), (0, 0, 3, 0), 4))
    release(first)
    assert receive(first, 2, Request(3)) == []  # granted already
    assert receive(first, 2, Request(2)) == []  # older still
    assert first.requested[2] == 3
    assert receive(first, 2, Request(4)) == ["Privilege(queue=(), served=(1, 0, 3, 0), entries=5) to 2"]


def test_a_request_that_arrives_during_the_exit_does_not_starve() -> None:
    """ "if Q is empty and a request message arrives after line 20 and exactly before line 21 ... this request would
    starve for some time": P1 ends in one step here, so a request comes before it or after it, and is served."""
    before, after = inside_with_token(), inside_with_token()
    receive(before, 2, Request(1))
    token = "Privilege(queue=(), served=(0, 1, 0, 0), entries=6) to 2"
    assert release(before) == [token]
    assert release(after) == []
    assert receive(after, 2, Request(1)) == [token]


class TestBounded:
    """ "The modified algorithm requires L*N + (N-1) message exchages for L mutual exclusion entries" """

    def process(self, me: int) -> Any:
        return node(SuzukiKasamiBounded, me, 3, round="2")

    def ask_and_leave(self, asker: Any, served: tuple[int, ...]) -> list[str]:
        done = request(asker)
        receive(asker, 0, Privilege((), served, 1))
        release(asker)
        asker.holding = False  # somebody else has it again
        return done

    def test_numbers_of_two_rounds_alternate(self) -> None:
        asker = self.process(1)
        numbers = []
        for _ in range(5):
            numbers += self.ask_and_leave(asker, (0, 0, 0))
            if asker.unacknowledged:
                receive(asker, 0, RoundReceived())
                receive(asker, 2, RoundReceived())
        assert numbers == [f"Request(number={k}) to all" for k in (1, 2, 3, 4, 1)]

    def test_a_new_round_waits_for_all_acknowledgements(self) -> None:
        asker = self.process(1)
        self.ask_and_leave(asker, (0, 0, 0))
        self.ask_and_leave(asker, (0, 1, 0))
        assert request(asker) == []
        assert receive(asker, 0, RoundReceived()) == []
        assert receive(asker, 2, RoundReceived()) == ["Request(number=3) to all"]

    def test_a_process_that_has_had_a_whole_round_acknowledges_it(self) -> None:
        hearer = self.process(2)
        assert receive(hearer, 1, Request(2)) == []  # the second may come first
        assert receive(hearer, 1, Request(1)) == ["RoundReceived() to 1"]
        assert hearer.requested[1] == 2

    def test_a_late_request_of_a_served_round_is_not_taken_for_a_new_one(self) -> None:
        """The idle holder learns of both requests of a round only after both were served."""
        holder = self.process(0)
        receive(holder, 2, Request(1))
        request(holder)
        receive(holder, 1, Privilege((), (0, 2, 1), 5))
        release(holder)
        assert receive(holder, 1, Request(1)) == []
        assert receive(holder, 1, Request(2)) == ["RoundReceived() to 1"]
        assert receive(holder, 1, Request(3)) == ["Privilege(queue=(), served=(1, 2, 1), entries=6) to 1"]
