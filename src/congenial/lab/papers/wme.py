"""Romano & Rodrigues 2009, table 1: latency in steps and messages of four weak mutexes."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from congenial.lab.claims import NOT_REPRODUCED, REPRODUCED, Claim, Criterion, Finding
from congenial.lab.exhibits import StepTable
from congenial.lab.papers.paper import Paper
from congenial.lab.results import Results
from congenial.lab.steps import Cost, growth, measure

SIZES = (16, 64)  # messages are counted at both: how they grow says O(N) or O(N^2)
EXPONENTS = {"0": 0, "O(N)": 1, "O(N^2)": 2}


@dataclass(frozen=True)
class InSteps(Criterion):
    """An action takes this many steps, and its messages grow as printed."""

    algorithm: str
    action: str
    steps: int
    messages: str

    def costs(self) -> tuple[Cost, Cost]:
        few, many = [measure(self.algorithm, nodes)[self.action] for nodes in SIZES]
        return few, many

    def judge(self, results: Results) -> Finding:
        few, many = self.costs()
        exponent = growth(few.messages, many.messages, log2(SIZES[1] / SIZES[0]))
        grown = "" if not few.messages else f", growing as n^{exponent:.2f}"
        text = f"{few.steps} steps, {few.messages} messages at n = {SIZES[0]}{grown}"
        right = few.steps == many.steps == self.steps and abs(exponent - EXPONENTS[self.messages]) < 0.2
        return Finding(text, REPRODUCED if right else NOT_REPRODUCED)


def line(label: str, algorithm: str, *cells: tuple[str, int, str]) -> tuple[Claim, ...]:
    made = []
    for action, steps, messages in cells:
        says = f"{steps} steps, {messages}"
        made.append(
            Claim(
                f"{label}: {action}",
                "table 1",
                says,
                InSteps((), "steps and messages", algorithm, action, steps, messages),
            )
        )
    return tuple(made)


def by_consensus(steps: int, messages: str) -> tuple[tuple[str, int, str], ...]:
    return tuple([(action, steps, messages) for action in ("enter", "exit", "operation")])


TOKEN = (("enter", 2, "O(N)"), ("enter again", 0, "0"), ("exit", 0, "0"), ("exit to another", 0, "O(N)"))

WME = Paper(
    name="wme",
    title="An efficient weak mutual exclusion algorithm",
    reference="Romano & Rodrigues 2009, section 5",
    exhibits=(
        StepTable(
            "table1",
            "Table 1: latency in communication steps, and messages",
            (
                *line("WME-1", "wme-1", *TOKEN, ("operation", 2, "O(N^2)")),
                *line("WME-2", "wme-2", *TOKEN, ("operation", 3, "O(N)")),
                *line("[16]+[11]", "wme-consensus-fast", *by_consensus(3, "O(N^2)")),
                *line("[16]+[9]", "wme-consensus-lean", *by_consensus(4, "O(N)")),
            ),
        ),
    ),
    claims=(),
    assumptions=(
        "Nice runs: no process is suspected, and only one at a time asks for something. It is not the process that has"
        " the token at first, nor the one that speaks first in a consensus, which needs a step less.",
        "Where the paper prints two values, such as 0/2 steps and 0/O(N) messages, there is a line for each.",
        "Steps are rounds: all messages of one arrive before any of the next. An operation takes until all replicas"
        " have executed it; in WME-2 its issuer, which counts the acknowledgements, is answered a step earlier.",
        "We know [16] only from section 5, which describes it: a broadcast of the request, then a consensus.",
    ),
    module=__name__,
)
