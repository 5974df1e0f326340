"""The tables of Velazquez 1993: what 21 algorithms cost, in messages per entry."""

from __future__ import annotations

from collections.abc import Mapping

from congenial.lab.cost_criteria import Costs, Grows
from congenial.lab.exhibits import Chart, CostRow, CostTable
from congenial.lab.exhibits.costs import COST
from congenial.lab.papers.paper import Paper
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep

LOADS: dict[str, dict[str, Value]] = {
    "light": {"think": 1e8, "hold": 5.0, "requests": 40},
    "heavy": {"think": 0.0, "hold": 5.0, "requests": 20},
    "hasty": {"think": 5.0, "hold": 0.0, "requests": 20, "delay": "lognormal:10,1.5"},
    "burst": {"load": "burst", "hold": 5.0},
    "turns": {"load": "turns", "hold": 5.0, "requests": 3},
    "single": {"load": "single", "hold": 5.0},
}
SIZES = (7, 31)  # there are projective planes of these sizes, and complete binary trees
GROWN = (31, 127, 1023)


def row(
    label: str,
    algorithm: str,
    says: str,
    low: str,
    high: str,
    means: Mapping[str, str] | None = None,
    reason: str = "",
    requests: int = 0,
    tight: tuple[str, ...] = (),
    amortised: bool = False,
) -> CostRow:
    criterion = Costs((), COST, algorithm, low, high, means or {}, tight, amortised)
    return CostRow(label, algorithm, says, criterion, reason, requests)


def growing(label: str, algorithm: str, says: str, formula: str, reason: str = "") -> CostRow:
    return CostRow(label, algorithm, says, Grows((), COST, algorithm, formula), reason)


def table(name: str, title: str, where: str, rows: tuple[CostRow, ...]) -> CostTable:
    slow = tuple([line.algorithm for line in rows if isinstance(line.criterion, Grows)])
    return CostTable(name, title, rows, LOADS, ("light", "heavy"), SIZES, where, slow, GROWN if slow else ())


TOKENS = table(
    "table1",
    "Table 1: token-based algorithms",
    "4.1",
    (
        row("Ricart-Agrawala", "ricart-agrawala-token", "N", "0", "n", {"heavy": "n"}, tight=("0", "n")),
        row("Suzuki-Kasami", "suzuki-kasami", "N", "0", "n", {"heavy": "n"}, tight=("0", "n")),
        row("Suzuki-Kasami, bounded", "suzuki-kasami-bounded", "L*N + (N-1) for L entries", "0", "n + (n-1)/L",
            {"heavy": "n + (n-1)/L"}, amortised=True),
        growing("Mizuno-Neilsen-Rao, binary tree", "mizuno-neilsen-rao agreement=tree", "avg log N", "log2(n)"),
        row("Mizuno-Neilsen-Rao, projective planes", "mizuno-neilsen-rao agreement=plane", "3*SQRT(N)",
            "0", "3*sqrt(n)",
            reason="so on average; but a member that was told of an earlier holder may forward a request to it, too, so"
            " that a single entry can cost more. When requests are forwarded is our choice: the survey leaves it open"),
        row("Neilsen-Mizuno", "neilsen-mizuno tree=random", "D + 1", "0", "D+1"),
        row("Neilsen-Mizuno, line", "neilsen-mizuno tree=line", "N", "0", "n"),
        row("Neilsen-Mizuno, star", "neilsen-mizuno tree=star", "3", "0", "3", {"heavy": "3"}),
        row("Helary-Plouzeau-Raynal, tree", "helary-plouzeau-raynal network=balanced", "N to N-1+D",
            "0", "n-1 + 2*floor(log2(n))", tight=("n", "n-1 + 2*floor(log2(n))")),
        row("Helary-Plouzeau-Raynal, line", "helary-plouzeau-raynal network=line", "N to 2(N-1)", "0", "2*(n-1)",
            tight=("n", "2*(n-1)")),
        row("Helary-Plouzeau-Raynal, ring", "helary-plouzeau-raynal network=ring", "N to 2N", "0", "2*n",
            tight=("n", "2*n"),
            reason="the two waves of a request cross, which makes N+1 messages, and the token takes at least one more;"
            " for 2N, one wave must go nearly all the way before the other moves"),
        row("Helary-Plouzeau-Raynal, complete", "helary-plouzeau-raynal network=complete", "N", "0", "n"),
        row("Raymond", "raymond-tree tree=balanced", "2*D", "0", "2*D"),
        growing("Raymond, random tree", "raymond-tree tree=random", "avg log N", "log2(n)"),
        row("Singhal (heuristic)", "singhal-heuristic", "N; (N+1)/2 in light traffic", "0", "n",
            {"light": "(n+1)/2", "heavy": "n"}),
        growing("Naimi-Trehel", "naimi-trehel", "avg log N", "log2(n)"),
        row("Mishra-Srimani", "mishra-srimani", "N; L*N + (N-1) for L entries with bounded numbers", "0", "n",
            {"heavy": "n"}),
        row("Nishio-Li-Manning", "nishio-li-manning", "N", "0", "n", {"heavy": "n"}),
    ),
)  # fmt: skip

PERMISSIONS = table(
    "table2",
    "Table 2: permission-based algorithms",
    "5.1",
    (
        row("Lamport", "lamport", "3*(N-1)", "3*(n-1)", "3*(n-1)"),
        row("Ricart-Agrawala", "ricart-agrawala", "2*(N-1)", "2*(n-1)", "2*(n-1)"),
        row("Carvalho-Roucairol", "carvalho-roucairol", "0 to 2*(N-1)", "0", "2*(n-1)", tight=("0", "2*(n-1)")),
        row("Raynal, as modified", "raynal-primes-mended", "(N-1)^2; 2*(N-1)^2 as published", "0", "(n-1)**2",
            reason="N-1 messages that announce a request come on top, or the turn could never rest: N(N-1) if it has to"
            " go all the way (see the errata)", requests=2),
        row("Maekawa", "maekawa quorums=plane", "3*sqrt(N) to 5*sqrt(N)", "3*(q-1)", "5*sqrt(n)",
            tight=("3*(q-1)", "5*sqrt(n)"),
            reason="no load here costs more than four messages per member on average; a run that is made for it costs"
            " more than five (see the errata)"),
        row("Sanders, everybody asked", "sanders structure=ricart-agrawala", "|I-{i}| + 2|R-{i}|",
            "i + 2*r", "i + 2*r"),
        row("Sanders, Maekawa's sets", "sanders structure=maekawa", "|I-{i}| + 2|R-{i}|", "i + 2*r", "i + 2*r",
            reason="so without competition; otherwise members inquire, and locks are given back and sent again, as with"
            " Maekawa"),
        growing("Agrawal-El Abbadi", "agrawal-el-abbadi", "O(log N)", "log2(n)"),
        row("Singhal (dynamic)", "singhal-dynamic", "(N-1) to 3*(N-1)/2", "0", "3*(n-1)/2",
            {"light": "n-1", "heavy": "3*(n-1)/2"}, amortised=True,
            reason="so under light load; but processes that ask in turn have given all others their permission in"
            " between, and must ask all of them (see the errata)"),
    ),
)  # fmt: skip

SEVERAL = table(
    "table3",
    "Table 3: several entries at the same time",
    "6.1",
    (
        row("Raymond", "raymond-k k=3", "2*(N-1)", "0", "2*(n-1)"),
        row("Srimani-Reddy", "srimani-reddy k=3", "0 or N+K-1", "0", "n+k-1", tight=("0", "n+k-1")),
        row("Kakugawa et al.", "kakugawa k=3", "3*s to 5*s", "3*(q_min-1)", "5*q", tight=("3*(q_min-1)", "5*q"),
            reason="so under light load; otherwise a process that has lost at one quorum asks others, up to all"
            " processes, or fewer than K would keep it out (see the errata)"),
    ),
)  # fmt: skip

# The curves, by where an algorithm sends messages: along paths, to quorums, to all processes, and in Raynal's case to
# all processes at every step of the turn around the ring. The first two groups send few enough for 10,000 processes.
PATHS = ("neilsen-mizuno tree=star", "naimi-trehel", "raymond-tree tree=random")
QUORUMS = ("agrawal-el-abbadi", "maekawa quorums=grid", "sanders structure=maekawa:grid", "kakugawa k=3")
AGREEMENTS = ("mizuno-neilsen-rao agreement=grid",)
EVERYBODY = (
    "ricart-agrawala-token", "suzuki-kasami", "helary-plouzeau-raynal network=random", "singhal-heuristic",
    "mishra-srimani", "nishio-li-manning", "lamport", "ricart-agrawala", "carvalho-roucairol", "singhal-dynamic",
    "raymond-k k=3", "srimani-reddy k=3",
)  # fmt: skip
RING = ("raynal-primes-mended",)

# Algorithms that remember earlier requests need some to get going; these do not count.
SETTLED: dict[str, Value] = {"warmup": 1e8, "until": 2e8}
RINGS = (7, 15, 31)
SMALL = (7, 31, 100)
LARGE = (31, 100, 307, 1000, 3001, 10_000)


def curves(panel: str, algorithms: tuple[str, ...], sizes: tuple[int, ...], requests: int, **more: Value) -> Sweep:
    fixed = {**LOADS[panel], "requests": requests, **more}
    return Sweep(algorithms, {"nodes": sizes}, fixed, (COST,), least=2, most=2, name=f"scaling, {panel}")


SCALING = Chart(
    "scaling",
    "What 21 algorithms cost as they grow",
    {
        "light": (
            curves("light", PATHS, LARGE, 10),
            curves("light", QUORUMS, LARGE, 1),
            curves("light", AGREEMENTS, LARGE[:5], 1),
            curves("light", EVERYBODY, SMALL, 4, **SETTLED),
            curves("light", RING, RINGS, 1),
        ),
        "heavy": (
            curves("heavy", PATHS, LARGE[:4], 10),
            curves("heavy", (*QUORUMS[:3], *AGREEMENTS), LARGE[:3], 3),
            curves("heavy", (QUORUMS[3], *EVERYBODY), SMALL, 3),
            curves("heavy", RING, RINGS, 1),
        ),
    },
)

SURVEY = Paper(
    name="survey",
    title="A survey of distributed mutual exclusion algorithms",
    reference="Velazquez 1993",
    exhibits=(TOKENS, PERMISSIONS, SEVERAL, SCALING),
    claims=(),
    assumptions=(
        "A message counts when it is sent; a message to oneself does not count. So 3 sqrt(N), for quorums of about"
        " sqrt(N) members, is taken as 3(q-1) for quorums of q members of which one is the process itself.",
        "A token that rests with its holder admits it without messages, as the survey says; so the least that a token"
        " algorithm can cost is 0, whatever the table says. Where the table gives a single number for a token algorithm"
        " that is not called a bound, the mean under heavy load has to be within a tenth of it.",
        "L*N + (N-1) messages are for L entries of a process (section 4.1), which is N + (N-1)/L for one. Our version"
        " of Mishra and Srimani's algorithm has unbounded numbers, so its bound is N.",
        "What a single entry costs is known where no other process competes with it ('alone'), and bounds are compared"
        " with that. Elsewhere they are compared with the mean of a whole run, messages sent divided by entries: if"
        " that is outside, so is some entry. Bounds for L entries, and averages, are compared with means only. Least"
        " and most are over the runs at all loads.",
        "Where the survey gives both ends of a range, both have to occur, in an entry or as the mean of a run, within a"
        " twentieth, and half a message: N for one that costs any message, if 0 stands for a token that the process"
        " has.",
        "'avg log N' and 'O(log N)' are claims about growth: from 31 to 1023 processes the mean under light load may"
        " grow as the logarithm does, and a quarter more.",
        "Mishra and Srimani's second algorithm, of which the survey says in two sentences that a central coordinator is"
        " moved among the nodes, is not built (see docs/algorithms.md).",
        "Table 3: K is 3.",
        "Raynal's numbers grow with every step of the turn, which makes long runs slow. So each process makes at most"
        " 2 requests in table 2, and the figure has at most 31 processes.",
        "In the figure, heavy load ends at 1000 processes, and at 307 for quorum algorithms: queues of thousands of"
        " requests make runs slow. Algorithms that ask all processes end at 100; that of Mizuno, Neilsen and Rao, whose"
        " vectors have an entry for every process, ends at 3001.",
    ),
    module=__name__,
)
