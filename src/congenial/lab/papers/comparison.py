"""A comparison that nobody has published: all the group algorithms, and plain locks, on the same loads."""

from __future__ import annotations

from congenial.lab.claims import Claim, Criterion
from congenial.lab.exhibits import Contest
from congenial.lab.papers.paper import Paper
from congenial.lab.rankings import Leads, Versus, Within
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep

FAMILIES = {
    "tokens": ("token-gme", "token-gme-fifo", "drs-gme"),
    "everybody asked": ("ra1", "ra2", "surrogate-solitary"),
    "locks of quorums": ("maekawa-m", "maekawa-s", "toyomura"),
    "surrogate quorums": ("surrogate", "surrogate-concurrent"),
    "one at a time": ("suzuki-kasami", "naimi-trehel", "maekawa"),
}
MUTEXES = ("one at a time",)

USUAL: dict[str, Value] = {
    "nodes": 25,
    "groups": 10,
    "think": 50.0,
    "hold": 20.0,
    "delay": 10.0,
    "requests": 40,
    "warmup": 500.0,
}
MANY = 50
FEWER: dict[str, Value] = {"requests": 20}  # per process, with many processes: that is enough
WINDOW: dict[str, Value] = {"requests": 15, "warmup": 200.0}  # of the quick version

MESSAGES = "messages_per_entry"
INTEGERS = "integers_per_entry"
WAITING = "waiting_time_mean"
LONGEST = "waiting_time_p99"
THROUGHPUT = "throughput"
METRICS = (MESSAGES, INTEGERS, WAITING, THROUGHPUT, "concurrency_mean", "fairness")


def _contest(
    name: str, title: str, values: tuple[Value, ...], coarse: tuple[Value, ...], usual: Value | None = None
) -> Contest:
    sweep = Sweep(
        algorithms=tuple([algorithm for names in FAMILIES.values() for algorithm in names]),
        vary={name: values},
        fixed={key: value for key, value in USUAL.items() if key != name},
        metrics=METRICS,
        least=4,
        most=4,
        many=MANY,
        if_many=FEWER if name == "nodes" else {},
        name=f"comparison/{name}",
    )
    return Contest(name, title, sweep, coarse, WINDOW, FAMILIES, MUTEXES, usual)


def found(text: str, criterion: Criterion) -> Claim:
    return Claim(text, ", ".join(criterion.figures), "", criterion)


CONTESTS = (
    _contest("nodes", "More processes", (5, 10, 25, 50, 100), (5, 25), 25),
    _contest("groups", "More groups", (1, 2, 5, 10, 25, 100), (1, 10, 100)),
    _contest("think", "Less to do", (0.0, 50.0, 200.0, 1000.0, 4000.0), (0.0, 50.0, 4000.0)),
    _contest("hold", "Longer inside", (0.0, 5.0, 20.0, 100.0, 500.0), (0.0, 20.0, 500.0)),
    _contest("delay", "Slower channels", (0.0, 1.0, 10.0, 50.0, 200.0), (0.0, 10.0, 200.0)),
    _contest("skew", "Some groups wanted more than others", ("50/50", "40/60", "30/70", "20/80", "10/90"),
             ("50/50", "10/90")),
)  # fmt: skip

EVERYWHERE = ("nodes", "groups", "think", "hold", "delay", "skew")
BUT_GROUPS = ("nodes", "think", "hold", "delay", "skew")
BUSY = ("nodes", "hold", "delay", "skew")
INFINITY = float("inf")
GROUP_ALGORITHMS = CONTESTS[0].entrants()
FAIR = tuple([name for name in GROUP_ALGORITHMS if name != "maekawa-s"])

# The ranges were set when the numbers were known. They show whether a sentence is still true when the experiment is run
# again with different code.
FINDINGS = (
    # is it worth it?
    found("With up to 10 groups for 25 processes, a plain lock waits at least three times as long as TokenGME.",
          Versus(("groups",), WAITING, "suzuki-kasami", "token-gme", 3.0, INFINITY, (2, 5, 10))),
    found("With four groups for every process there is little to share, and little to gain.",
          Versus(("groups",), WAITING, "suzuki-kasami", "token-gme", 1.0, 1.3, (100,))),
    found("Under a very light load a plain token lock is as good.",
          Versus(("think",), WAITING, "suzuki-kasami", "token-gme", 0.9, 1.1, (4000.0,))),
    found("A plain lock by path reversal sends far fewer messages than the group algorithms.",
          Leads(BUT_GROUPS, MESSAGES, ("naimi-trehel",), (*GROUP_ALGORITHMS, "naimi-trehel"))),
    # waiting
    found("Of the group algorithms TokenGME waits least, for all numbers of processes, times inside and delays.",
          Leads(("nodes", "hold", "delay"), WAITING, ("token-gme", "token-gme-fifo"), GROUP_ALGORITHMS)),
    found("With two groups RA2 waits a little less, as Mittal & Mohan found.",
          Versus(("groups",), WAITING, "token-gme", "ra2", 1.0, 1.25, (2,))),
    found("Elsewhere RA2 waits about as long as TokenGME or up to 1.7 times as long, if the load is not light.",
          Versus(BUSY, WAITING, "ra2", "token-gme", 0.9, 1.7)),
    found("RA2's vectors make it send several times as many integers, and more so with more processes.",
          Versus(("nodes",), INTEGERS, "ra2", "token-gme", 8.0, 50.0, (25, 50, 100))),
    found("Under a light load a token arrives in two hops, while RA2 waits for the slowest of all replies.",
          Versus(("think",), WAITING, "ra2", "token-gme", 2.0, 4.0, (4000.0,))),
    found("With priorities TokenGME waits no longer, on average, than first come, first served.",
          Versus(BUSY, WAITING, "token-gme", "token-gme-fifo", 0.8, 1.05)),
    found("With priorities the 99th percentile of the waiting time is higher than with first come, first served.",
          Versus(("hold", "delay"), LONGEST, "token-gme", "token-gme-fifo", 1.0, 1.6)),
    # messages
    found("With 25 processes DRS_GME sends about half as many messages as TokenGME, under every load.",
          Versus(("think", "hold", "delay", "skew"), MESSAGES, "drs-gme", "token-gme", 0.4, 0.6)),
    found("DRS_GME sends fewer integers than TokenGME, too.",
          Versus(BUT_GROUPS, INTEGERS, "drs-gme", "token-gme", 0.4, 0.95)),
    found("DRS_GME waits longer: a session whose last member is a follower takes one more hop to end, which is"
          " expensive with long delays.", Versus(("delay",), WAITING, "drs-gme", "token-gme", 1.0, 2.2)),
    found("Under a light load DRS_GME waits about as long as TokenGME, with half the messages: its request sets are"
          " small then, as Swaroop & Singh say.",
          Versus(("think",), WAITING, "drs-gme", "token-gme", 0.9, 1.15, (1000.0, 4000.0))),
    found("With 100 processes quorums pay off: Surrogate sends two fifths of TokenGME's messages.",
          Versus(("nodes",), MESSAGES, "surrogate", "token-gme", 0.3, 0.5, (100,))),
    found("With 100 processes Surrogate waits twice as long as TokenGME.",
          Versus(("nodes",), WAITING, "surrogate", "token-gme", 1.7, 2.3, (100,))),
    found("Surrogate's members inform its leaders, which takes more integers than a token does.",
          Versus(("nodes",), INTEGERS, "surrogate", "token-gme", 1.3, 2.2, (25, 50, 100))),
    found("With instant messages Surrogate is close to the best: its hops are what makes it slow.",
          Versus(("delay",), WAITING, "surrogate", "token-gme", 1.0, 1.3, (0.0,))),
    found("Surrogate waits less if it asks all processes instead of a quorum, with one hop between sessions.",
          Versus(("nodes",), WAITING, "surrogate-solitary", "surrogate", 0.3, 0.95)),
    found("With instant messages asking all processes gains Surrogate nothing: it only saves hops.",
          Versus(("delay",), WAITING, "surrogate-solitary", "surrogate", 0.95, 1.1, (0.0,))),
    found("Asking all processes costs Surrogate more than twice the messages.",
          Versus(("nodes",), MESSAGES, "surrogate-solitary", "surrogate", 2.0, INFINITY, (25, 50, 100))),
    found("Concurrent entry shortens Surrogate's waits if there is only one group, so that no requests conflict.",
          Versus(("groups",), WAITING, "surrogate-concurrent", "surrogate", 0.0, 0.5, (1,))),
    found("With more groups concurrent entry changes little.",
          Versus(("groups",), WAITING, "surrogate-concurrent", "surrogate", 0.9, 1.05, (2, 5, 10, 25, 100))),
    # what to avoid
    found("With ten groups or more RA1 serves no more requests than a plain lock.",
          Versus(("groups",), THROUGHPUT, "ra1", "suzuki-kasami", 0.9, 1.1, (10, 25, 100))),
    found("Maekawa_M over an ordinary coterie (Toyomura et al.) serves no more than Maekawa's lock.",
          Versus(("groups",), THROUGHPUT, "toyomura", "maekawa", 0.75, 1.1, (10, 25, 100))),
    found("Over surficial quorums Maekawa_M does better. With two groups these are small, and it sends half of"
          " Surrogate's messages.", Versus(("groups",), MESSAGES, "maekawa-m", "surrogate", 0.3, 0.6, (2,))),
    found("Surficial quorums grow with the number of groups: with 100 groups Maekawa_M sends nearly three times"
          " Surrogate's messages.", Versus(("groups",), MESSAGES, "maekawa-m", "surrogate", 2.3, 3.2, (100,))),
    found("Maekawa_S sends few messages, but locks its members one by one and waits longer than a plain lock.",
          Versus(("groups",), WAITING, "maekawa-s", "suzuki-kasami", 1.5, INFINITY, (5, 10, 25, 100))),
    found("With instant messages Maekawa_S waits less than a plain lock.",
          Versus(("delay",), WAITING, "maekawa-s", "suzuki-kasami", 0.0, 0.6, (0.0,))),
    # fairness
    found("All group algorithms except Maekawa_S are fair between processes.",
          Within(EVERYWHERE, "fairness", FAIR, 0.93, 1.0)),
)  # fmt: skip

COMPARISON = Paper(
    name="comparison",
    title="The group algorithms compared",
    reference="Our own experiment; Swaroop & Singh 2007 left it for later",
    exhibits=CONTESTS,
    claims=FINDINGS,
    assumptions=(
        "All the published group algorithms of the catalogue run on the same loads, except TQGmx, which came later, and"
        " intermediate stages, bounded variants and variants for other problems, which would send the same messages or"
        " more. Three plain locks, which admit one process at a time whatever its group, serve as yardsticks.",
        "Every process thinks, asks for a random group and stays inside, 40 times (20 times with more than 50"
        " processes). Nothing is measured before time 500. Parameters that are not varied: 25 processes, 10 groups,"
        " mean times of 50 between requests (exponential), 20 inside (uniform) and 10 on the way (exponential)."
        " Messages take the same time whatever their size; integers are counted.",
        "Quorums are grids, except for Maekawa_M and Maekawa_S: theirs are surficial, made for the number of groups.",
        "Four runs for each point, with equal requests for all algorithms. Means in tables have half a 95% interval."
        " An algorithm that cannot be distinguished from the best one, since the interval of the difference includes"
        " zero, counts as best, too.",
        "Fairness is Jain's index of the processes' mean waiting times; 'inside together' is averaged over the time"
        " when at least one process is inside.",
        "The findings were written down, each with a range, when these numbers were known. A finding is true if the"
        " measured value lies in its range. So a later run shows whether it still holds.",
    ),
    ours=True,
    module=__name__,
)
