"""The formulas for DRS_GME in section VI of Swaroop & Singh 2007, without faults and with one fault."""

from __future__ import annotations

from congenial.lab.claims import Claim
from congenial.lab.cost_criteria import Costs, Extra, Grows
from congenial.lab.exhibits import CostRow, CostTable
from congenial.lab.exhibits.costs import COST
from congenial.lab.papers.paper import Paper
from congenial.lab.replication import Value

SYNC, CONCURRENCY, SIZE = "sync_delay_max", "concurrency_max", "integers_per_message"

TWICE: dict[str, Value] = {"think": "constant:5000", "delay": "constant:1", "groups": 1, "requests": 2}

# constant delays of one unit: times are hops
LOADS: dict[str, dict[str, Value]] = {
    "light": {"think": 2000.0, "hold": 5.0, "delay": "constant:1", "groups": 5, "requests": 50},
    "heavy": {"think": 0.0, "hold": 5.0, "delay": "constant:1", "groups": 5, "requests": 50},
    "one group": {"think": 20.0, "hold": 5.0, "delay": "constant:1", "groups": 1, "requests": 50},
    "own groups": {"think": 0.0, "hold": 5.0, "delay": "constant:1", "groups": 1000, "requests": 50},
    "all together": {"load": "burst", "hold": "constant:500", "delay": "constant:1", "groups": 1},
    "alone": {"load": "single", "hold": 5.0, "delay": "constant:2"},
    "token lost": {"load": "single", "hold": 5.0, "delay": "constant:2", "loss": "1@1-3"},  # it is sent at time 2
    # all are inside together, twice: from 5000, and when all have left and been away for 5000 more
    "in time": {**TWICE, "hold": "constant:500"},
    "complete lost": {**TWICE, "hold": "constant:500", "loss": "1@5501-5503"},  # they are sent at time 5502
    "complete late": {**TWICE, "hold": "constant:1500"},  # T2 is 1000
}
FORMS = {
    "drs-gme": "DRS_GME",
    "drs-gme-faults": "DRS_GME, made for faults",
    "drs-gme-extended": "DRS_GME, extended",
    "drs-gme-extended-faults": "DRS_GME, extended, made for faults",
}
NAME = "claims"

TOGETHER = "(n-1)*(n+1)/n"  # the captain enters for free, the followers for n + 1
ONE_MORE = f"{TOGETHER} + 2*(n-1)/(2*n)"  # 2(n-1) messages more, for 2n entries

TABLE = CostTable(
    NAME,
    "Messages, without faults and with one",
    (
        *[CostRow(title, name, "0 to n + 1",
                  Costs((), COST, name, "0", "n+1", tight=("0", "n+1"), first_free=("all together",)))
          for name, title in FORMS.items()],
        CostRow("a lost token, which one process has passed on before", "drs-gme-faults", "n + 1 more",
                Costs((), COST, "drs-gme-faults", "2*n", "2*n"), load="token lost"),
        CostRow("all together, twice", "drs-gme-faults", "0, and n + 1 for each follower",
                Costs((), COST, "drs-gme-faults", TOGETHER, TOGETHER), load="in time"),
        CostRow("the same, the first n - 1 COMPLETEs lost", "drs-gme-faults", "2 more for each",
                Costs((), COST, "drs-gme-faults", ONE_MORE, ONE_MORE), load="complete lost"),
        CostRow("the same, all 2(n - 1) COMPLETEs late", "drs-gme-faults", "1 more for each",
                Costs((), COST, "drs-gme-faults", ONE_MORE, ONE_MORE), load="complete late"),
    ),
    LOADS,
    ("light", "heavy", "token lost", "in time", "complete lost", "complete late"),
    (5, 10, 25),
    "VI",
    seed=3001,
)  # fmt: skip

# Turns are 3035 apart with 25 processes. Process 0 asks again in turn n + 1, and the token is sent to it 2 later.
LATE_SIZE = 25
AGAIN = 3035 * (LATE_SIZE + 1)
IN_TURN: dict[str, Value] = {
    "load": "turns", "hold": "constant:5", "delay": "constant:2", "groups": 1_000_000, "requests": 2
}  # fmt: skip
EACH_IN_TURN = "(2*n-1)/2"  # n - 1 requests and the token, but for the first entry
WITH_N_TOKENS = f"{EACH_IN_TURN} + (2*n-1)/(2*n)"  # n - 1 GEN_TOKENs and n tokens, for 2n entries
LATE = CostTable(
    "late",
    "A lost token, where every process has passed it on before",
    (
        CostRow("each in turn, twice", "drs-gme-faults", "0, and n for all others",
                Costs((), COST, "drs-gme-faults", EACH_IN_TURN, EACH_IN_TURN, amortised=True), load="in turn"),
        CostRow("the same, the token to the first one lost", "drs-gme-faults", "2n more",
                Costs((), COST, "drs-gme-faults", WITH_N_TOKENS, WITH_N_TOKENS, amortised=True),
                load="token lost late"),
    ),
    {
        "in turn": IN_TURN,
        "token lost late": {**IN_TURN, "loss": f"1@{AGAIN + 1}-{AGAIN + 3}"},
    },
    ("in turn", "token lost late"),
    (LATE_SIZE,),
    "VI",
    seed=4001,
)  # fmt: skip


LOST = (  # without the fault, and with it
    (TABLE.part("alone"), TABLE.part("token lost")),
    (LATE.part("in turn"), LATE.part("token lost late")),
)


def _parts(*loads: str) -> tuple[str, ...]:
    return tuple([TABLE.part(load) for load in loads])


CLAIMS = (
    *[
        claim
        for name, title in FORMS.items()
        for claim in (
            Claim(f"{title}: from one session to the next in one hop, or two after a follower", "VI", "t_m or 2 t_m",
                  Costs(_parts("light", "heavy"), SYNC, name, "0", "2", tight=("1", "2"))),
            Claim(f"{title}: all n inside together, if no process asks for another group", "VI", "n",
                  Costs(_parts("all together"), CONCURRENCY, name, "n", "n")),
        )
    ],
    Claim("what a lost token costs in all, where one process has passed it on before and where all have", "VI",
          "n + 1 to 2n more",
          Extra(tuple([part for pair in LOST for part in pair]), COST, LOST, "drs-gme-faults", "n", "2*n-1")),
    Claim("messages are of constant size if all ask for the same group", "VI", "O(1)",
          Grows(_parts("one group"), SIZE, "drs-gme", "1")),
    Claim("messages are of size n at most if all ask for different groups", "VI", "O(n)",
          Grows(_parts("own groups"), SIZE, "drs-gme", "n")),
)  # fmt: skip

DRS_GME = Paper(
    name="drs-gme",
    title="A fault tolerant token-based algorithm for group mutual exclusion in distributed systems",
    reference="Swaroop & Singh 2007, section VI",
    exhibits=(TABLE, LATE),
    claims=CLAIMS,
    assumptions=(
        "The paper has no experiments; these are its formulas, measured.",
        "The algorithm is the paper's with its errors corrected (see the errata); its laws are those of the paper.",
        "What a single entry costs is known where no other process competes with it ('alone'); elsewhere the mean of a"
        " run is compared. At the load 'all together' the holder of the token enters for free, and the mean is that of"
        " its followers. Where the paper gives both ends of a range, both have to occur.",
        "A session that its captain begins with a request of its own follows immediately, which the paper does not"
        " count.",
        "These claims were written down and committed before the first runs with these seeds (from 3001; in the last"
        " table from 4001).",
        "With different groups the average size hardly grows: with every token go n - 1 requests, which are small.",
        "Forum switches are measured by tests only: they need to know which sessions begin while a process waits.",
        "A process sends no message to itself: of the n GEN_TOKENs, n - 1 are counted, and n + 1 to 2n messages more"
        " are n to 2n - 1. They are what a run with the fault has more than the run with the same seed without it.",
        "If a single process asks, an entry costs n messages: n - 1 requests and the token (load 'alone'). Lost"
        " messages are counted: if the token is lost, we expect n - 1 GEN_TOKENs and a second token as well, 2n in"
        " all.",
    ),
    module=__name__,
)
