"""Our own group algorithm beside all published ones: does it end the trade between messages and waiting?

The loads, runs and seeds are those of the comparison, and two larger systems. So what the comparison has measured
already is not run again.
"""

from __future__ import annotations

from dataclasses import replace

from congenial.lab.claims import Claim
from congenial.lab.dominance import Below, NoneBetter, Typical, Undominated
from congenial.lab.exhibits import Figure, Frontier, Schemes
from congenial.lab.exhibits.schemes import named
from congenial.lab.papers.comparison import (
    CONTESTS,
    FEWER,
    INTEGERS,
    LONGEST,
    MESSAGES,
    MUTEXES,
    THROUGHPUT,
    USUAL,
    WAITING,
    found,
)
from congenial.lab.papers.comparison import FAMILIES as COMPARED
from congenial.lab.papers.paper import Paper
from congenial.lab.rankings import Leads, Versus, Within
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep
from congenial.systems.catalogue import find_algorithm

OURS = "home-gme"
RIVAL = "token-gme"
MOST = "4 + log2(n)"  # messages per entry
TIMES = 1.15  # the rival's waiting time

VARIANTS = {
    "tokens": ("tqgmx", "token-gme-types", "token-gme-bounded", "drs-gme-faults", "drs-gme-extended",
               "drs-gme-extended-faults"),
    "surrogate quorums": ("surrogate-a", "surrogate-b", "surrogate-types", "surrogate-information"),
}  # fmt: skip
"""What the comparison leaves out."""

PUBLISHED = {family: (*names, *VARIANTS.get(family, ())) for family, names in COMPARED.items()}
LARGE = (RIVAL, "token-gme-fifo", "drs-gme", "tqgmx", "maekawa-s", "surrogate-a", "naimi-trehel")
"""What is run with hundreds of processes, too: those that take seconds."""

GROUP_ALGORITHMS = tuple([name for family, names in PUBLISHED.items() if family not in MUTEXES for name in names])

JUDGED = (MESSAGES, INTEGERS, WAITING, THROUGHPUT)
METRICS = (MESSAGES, INTEGERS, WAITING, LONGEST, THROUGHPUT)
SELECTION = "selection"
KNOWN_SCHEMES = ("priority", "fifo")
OWN_SCHEMES = ("weighted", "squared", "doubled", "product", "overdue")
PANELS: tuple[tuple[str, Value], ...] = (
    ("nodes", 25), ("nodes", 100), ("large", 500),
    ("groups", 2), ("groups", 100), ("skew", "10/90"),
    ("think", 0.0), ("think", 4000.0), ("hold", 0.0),
    ("hold", 500.0), ("delay", 0.0), ("delay", 200.0),
)  # fmt: skip


def loads(ours: str) -> Frontier:
    """An algorithm beside all published ones at every point."""
    families = {"ours": (ours,), **PUBLISHED}
    everyone = tuple([name for names in families.values() for name in names])
    parts: list[Figure] = [
        replace(
            contest, sweep=replace(contest.sweep, algorithms=everyone, metrics=METRICS, name=f"frontier/{contest.name}")
        )
        for contest in CONTESTS
    ]
    large = Sweep(
        algorithms=(ours, *LARGE),
        vary={"nodes": (200, 500)},
        fixed={**{key: value for key, value in USUAL.items() if key != "nodes"}, **FEWER},
        metrics=METRICS,
        least=4,
        most=4,
        name="frontier/large",
    )
    parts.append(replace(CONTESTS[0], name="large", title="Hundreds of processes", sweep=large, coarse=(200,)))
    return Frontier(
        "loads", "Messages against waiting", tuple(parts), ours, RIVAL, JUDGED, (MESSAGES, WAITING), MOST, TIMES,
        PANELS, (("nodes", 25), ("nodes", 100), ("large", 500)), families, MUTEXES,
    )  # fmt: skip


def schemes(ours: str) -> Schemes:
    """Every way in which an algorithm can select the next group."""
    (option,) = [option for option in find_algorithm(ours).spec.options if option.name == SELECTION]
    algorithms = tuple([named(ours, SELECTION, choice) for choice in option.choices])
    parts = []
    for contest in CONTESTS:
        sweep = replace(contest.sweep, algorithms=algorithms, metrics=(WAITING, LONGEST, MESSAGES), least=10, most=10,
                        name=f"frontier/selection, {contest.name}")  # fmt: skip
        parts.append(replace(contest, name=f"selection, {contest.name}", sweep=sweep))
    return Schemes(
        "selection", "Which group is next", tuple(parts), ours, SELECTION, option.choices, KNOWN_SCHEMES,
        (WAITING, LONGEST),
    )  # fmt: skip


def findings(ours: str) -> tuple[Claim, ...]:
    everywhere = (*[contest.name for contest in CONTESTS], "large")
    everyone = (ours, *GROUP_ALGORITHMS)
    selected = tuple([f"selection, {contest.name}" for contest in CONTESTS])

    def by(scheme: str) -> str:
        return named(ours, SELECTION, scheme)

    own = tuple([by(scheme) for scheme in OWN_SCHEMES])

    return (
        found(f"At every point it sends at most {MOST} messages per entry.", Below(everywhere, MESSAGES, ours, MOST)),
        found(f"At every point it waits at most {TIMES:g} times as long as TokenGME, where TokenGME waits at all.",
              Versus(everywhere, WAITING, ours, RIVAL, 0.0, TIMES)),
        found("With one group, where TokenGME never waits, it hardly waits.",
              Within(("groups",), WAITING, (ours,), 0.0, 1.0, (1,))),
        found("With one group, where TokenGME sends no messages, it hardly sends any.",
              Within(("groups",), MESSAGES, (ours,), 0.0, 0.1, (1,))),
        found("No published algorithm of the catalogue is better in all of messages, integers, waiting and throughput.",
              Undominated(everywhere, "messages, integers, waiting and throughput", ours, JUDGED)),
        found("With 10 processes or more it sends fewer messages than any other group algorithm.",
              Leads(("nodes",), MESSAGES, (ours,), everyone, (10, 25, 50, 100))),
        found("With 25 processes it sends the fewest messages under every load.",
              Leads(("think", "hold", "delay", "skew"), MESSAGES, (ours,), everyone)),
        found("It sends the fewest messages for any number of groups but one.",
              Leads(("groups",), MESSAGES, (ours,), everyone, (2, 5, 10, 25, 100))),
        found("With five processes DRS_GME sends a little less.",
              Versus(("nodes",), MESSAGES, ours, "drs-gme", 1.0, 1.15, (5,))),
        found("With 500 processes it sends about a hundredth of TokenGME's messages.",
              Versus(("large",), MESSAGES, ours, RIVAL, 0.005, 0.02, (500,))),
        found("With long delays and with hundreds of processes it serves up to a tenth less than TokenGME.",
              Versus(("delay", "large"), THROUGHPUT, ours, RIVAL, 0.9, 1.0, (50.0, 200.0, 200, 500))),
        # which group is next
        found("None of our five schemes is better than priority in both the mean and the 99th percentile.",
              NoneBetter(selected, "mean waiting time and its 99%", own, by("priority"), (WAITING, LONGEST))),
        found("None of our five schemes is better than first come, first served in both.",
              NoneBetter(selected, "mean waiting time and its 99%", own, by("fifo"), (WAITING, LONGEST))),
        found("Schemes trade the mean for the 99th percentile: 'weighted' has a lower mean than priority.",
              Typical(selected, WAITING, by("weighted"), by("priority"), 0.96, 0.995)),
        found("The 99th percentile of 'weighted' is higher than that of priority.",
              Typical(selected, LONGEST, by("weighted"), by("priority"), 1.05, 1.3)),
        found("The 99th percentile of 'overdue' is lower than that of priority.",
              Typical(selected, LONGEST, by("overdue"), by("priority"), 0.9, 0.98)),
        found("The mean of 'overdue' is about that of priority.",
              Typical(selected, WAITING, by("overdue"), by("priority"), 0.99, 1.015)),
    )  # fmt: skip


def frontier(ours: str) -> Paper:
    """The whole experiment, about a group algorithm with an option `selection` that has our schemes."""
    return Paper(
        name="frontier",
        title="HomeGME: few messages and short waits",
        reference="Our own algorithm and our own experiment",
        exhibits=(loads(ours), schemes(ours)),
        claims=findings(ours),
        assumptions=(
            "The loads, the requests and the seeds are those of [the comparison](comparison.md): all its points, and"
            " 200 and 500 processes with 20 requests each. Parameters that a load does not name: 25 processes, 10"
            " groups, mean times of 50 between requests (exponential), 20 inside (uniform) and 10 on the way"
            " (exponential). Four runs for each point.",
            f"{len(GROUP_ALGORITHMS)} published group algorithms of the catalogue run: those of the comparison, TQGmx,"
            " and the intermediate stages, bounded variants and variants for other problems that the comparison leaves"
            f" out. Three plain locks are yardsticks. With 200 and 500 processes only {len(LARGE)} of all these run,"
            " which take seconds.",
            "An algorithm is better than another one in several measures if its mean is better in each of them,"
            " by however little. Ratios are means over runs with equal requests.",
            "A finding is true if the measured value lies in its range.",
        ),
        ours=True,
        shares=("comparison",),
        module=__name__,
    )


FRONTIER = frontier(OURS)
