"""The experiments of Mittal & Mohan 2007, section 4: TokenGME against RA2, and priorities against FIFO."""

from __future__ import annotations

from congenial.lab.claims import Claim
from congenial.lab.criteria import At, Everywhere, Extreme, Trend
from congenial.lab.exhibits import Figure, Sizes
from congenial.lab.joint_criteria import AtTheSameTime
from congenial.lab.papers.paper import Paper
from congenial.lab.replication import Value
from congenial.lab.sweep import Sweep

MESSAGES = "messages_per_entry"
SIZE = "integers_per_message"
WAITING = "waiting_time_mean"
THROUGHPUT = "throughput"

BITS_PER_UNIT = 100_000
BITS_PER_INTEGER = 32

# section 4: the parameters, where they are not varied
USUAL: dict[str, Value] = {
    "nodes": 100,
    "groups": 50,
    "think": 50.0,
    "hold": 20.0,
    "delay": 10.0,
    "skew": "20/80",
    "bandwidth": BITS_PER_UNIT / BITS_PER_INTEGER,
    "requests": 500,
    "warmup": 1000.0,
}

MANY = 200
EARLY: dict[str, Value] = {"warmup": 5000.0, "until": 55000.0}  # the end of runs of more processes with RA2
WINDOW: dict[str, Value] = {"requests": 5000, "warmup": 2000.0, "until": 20000.0}  # of the quick version

SKEWS = ("50/50", "40/60", "30/70", "20/80", "10/90")


def _figure(
    name: str,
    title: str,
    against: str,
    parameter: str,
    values: tuple[Value, ...],
    coarse: tuple[Value, ...],
    nodes: int = 100,
    if_many: dict[str, Value] | None = None,
) -> Figure:
    fixed = {key: value for key, value in {**USUAL, "nodes": nodes}.items() if key != parameter}
    sweep = Sweep(
        algorithms=("token-gme", against),
        vary={parameter: values},
        fixed=fixed,
        metrics=(MESSAGES, SIZE, WAITING, THROUGHPUT),
        precision=0.05,
        least=3,
        most=20,
        many=MANY,
        if_many=if_many or {},
        name=f"token-gme/{name}",
    )
    return Figure(name, title, sweep, coarse, WINDOW)


FIGURES = (
    _figure("6a", "TokenGME / RA2, groups", "ra2", "groups", (2, 5, 10, 20, 50, 100, 150), (2, 50, 150)),
    _figure("6b", "TokenGME / RA2, time between requests", "ra2", "think",
            (0.0, 50.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0), (0.0, 50.0, 4000.0)),
    _figure("6c", "TokenGME / RA2, time inside", "ra2", "hold", (0.0, 5.0, 10.0, 20.0, 35.0, 50.0), (0.0, 20.0, 50.0)),
    _figure("6d", "TokenGME / RA2, channel delay", "ra2", "delay",
            (0.0, 2.0, 5.0, 10.0, 20.0, 50.0), (0.0, 10.0, 50.0)),
    _figure("6e", "TokenGME / RA2, skew", "ra2", "skew", SKEWS, ("50/50", "20/80", "10/90")),
    _figure("6f", "TokenGME / RA2, processes", "ra2", "nodes",
            (5, 10, 20, 50, 100, 200, 300, 500), (5, 100, 500), if_many=EARLY),
    _figure("7a", "Priority / FIFO, processes", "token-gme-fifo", "nodes",
            (2, 5, 10, 20, 50, 100, 200, 300, 500), (2, 100, 500)),
    _figure("7b", "Priority / FIFO, skew (200 processes)", "token-gme-fifo", "skew", SKEWS,
            ("50/50", "20/80", "10/90"), nodes=200),
)  # fmt: skip

# Section 1.1: "A message in RA2 may have to carry a vector timestamp of size n." Which messages do, and whether other
# integers count, is not said.
SIZES = Sizes(
    "sizes",
    "What is the size of a message?",
    "token-gme",
    "ra2",
    (5, 10, 100, 500),
    {**{key: value for key, value in USUAL.items() if key != "nodes"}, "warmup": 2000.0, "until": 8000.0},
    {
        "all integers, as in the figures": (True, ("Request", "Reply")),
        "both vectors": (False, ("Request", "Reply")),
        "the vector in REQUEST": (False, ("Request",)),
        "the vector in REPLY": (False, ("Reply",)),
    },
    {5: "2.22", 10: "below 1", 100: "around 0.05", 500: "0.01"},
)

BUT_FOR_PROCESSES = ("6a", "6b", "6c", "6d", "6e")
AGAINST_RA2 = (*BUT_FOR_PROCESSES, "6f")

SIZE_REASON = (
    "in our RA2 both REQUEST and REPLY carry a vector, which is a guess, and under most loads nearly all entries change"
    " between two messages to the same process, so that compression saves little. If only the vector in REQUEST counts,"
    " the ratios with 100 and 500 processes are those of the paper (see 'What is the size of a message?')"
)

WHOLE_RUNS = (
    "it is the gain in throughput that is larger than in the paper. A part of it comes from measuring a window: whole"
    " runs, as in the paper, have an end in which little is served, and that costs TokenGME more. One whole run of 300"
    " processes gains 34% (0.2992 and 0.2237 entries per unit of time), not 38%, and waits 29% less as in the window"
    " (`congenial sim ra2 --nodes 300 --groups 50 --think 50 --hold 20 --delay 10 --skew 20/80 --bandwidth 3125"
    " --requests 500 --warmup 1000`, four minutes of CPU, and the same with token-gme). Whole runs of 500 processes"
    " were not compared"
)

# A number is reproduced within a fifth of the change it claims, 'around' and 'about' included: 'as much as 50%' is a
# ratio of 0.4 to 0.6. Two are not: sizes, which are claimed as ratios, within a quarter or as far as the paper's
# rounding goes; and 10% less, which is a ratio of 1.11, within 0.03.
CLAIMS = (
    Claim("messages are about 20 times smaller, whatever is varied except the processes", "4.1", "around 0.05",
          Everywhere(BUT_FOR_PROCESSES, SIZE, 0.0375, 0.0625), reason=SIZE_REASON),
    Claim("with 5 processes messages are larger", "4.1, fig. 6(f)", "2.22", At(("6f",), SIZE, 5, 1.665, 2.775),
          reason="the paper does not say what counts. If only the vector in REQUEST does, TokenGME's messages are the"
          " larger ones, too, but by less (see 'What is the size of a message?')"),
    Claim("with 500 processes messages are 100 times smaller", "4.1, fig. 6(f)", "0.01",
          At(("6f",), SIZE, 500, 0.005, 0.015), reason=SIZE_REASON),
    Claim("waiting is shorter by as much as 50%", "4.1", "0.5", Extreme(AGAINST_RA2, WAITING, 0.4, 0.6)),
    Claim("more is served, by as much as 39%, and waiting is shorter by as much as 35% at the same time", "6",
          "1.39, and 0.65", AtTheSameTime(AGAINST_RA2, THROUGHPUT, 1.312, 1.468, WAITING, 0.58, 0.72),
          reason=WHOLE_RUNS),
    Claim("the ratio falls with longer times between requests", "4.1, fig. 6(b)", "falls", Trend(("6b",), WAITING)),
    Claim("the ratio falls with shorter times inside", "4.1, fig. 6(c)", "rises with the time inside",
          Trend(("6c",), WAITING, rises=True)),
    Claim("the ratio falls with longer channel delays", "4.1, fig. 6(d)", "falls", Trend(("6d",), WAITING)),
    Claim("the ratio falls with less skew", "4.1, fig. 6(e)", "rises with the skew",
          Trend(("6e",), WAITING, rises=True)),
    Claim("the ratio falls with more processes", "4.1, fig. 6(f)", "falls", Trend(("6f",), WAITING)),
    Claim("the ratio grows with shorter times inside", "4.1, fig. 6(c)", "falls with the time inside",
          Trend(("6c",), THROUGHPUT)),
    Claim("the ratio grows with longer channel delays", "4.1, fig. 6(d)", "rises",
          Trend(("6d",), THROUGHPUT, rises=True)),
    Claim("the ratio grows with less skew", "4.1, fig. 6(e)", "falls with the skew", Trend(("6e",), THROUGHPUT)),
    Claim("the ratio grows with more processes", "4.1, fig. 6(f)", "rises", Trend(("6f",), THROUGHPUT, rises=True)),
    Claim("the ratio tends to 1 with long times between requests", "4.1, fig. 6(b)", "1",
          At(("6b",), THROUGHPUT, 4000.0, 0.98, 1.02)),
    Claim("with 2 groups RA2 waits around 10% less", "4.1, fig. 6(a)", "1.11", At(("6a",), WAITING, 2, 1.08, 1.14)),
    Claim("with 2 groups RA2 serves around 5% more", "4.1, fig. 6(a)", "0.95",
          At(("6a",), THROUGHPUT, 2, 0.94, 0.96)),
    Claim("in all other cases TokenGME waits less", "4.1", "below 1",
          Everywhere(AGAINST_RA2, WAITING, 0.0, 1.0, but=(("6a", 2),))),
    Claim("in all other cases TokenGME serves more", "4.1", "above 1",
          Everywhere(AGAINST_RA2, THROUGHPUT, 1.0, float("inf"), but=(("6a", 2),))),
    Claim("slightly fewer messages, except where the time between requests varies", "4.1", "slightly below 1",
          Everywhere(("6a", "6c", "6d", "6e", "6f"), MESSAGES, 0.85, 1.0),
          reason="with 2 groups our RA2 comes near its bound of 3(n-1) messages, as most processes enter as"
          " followers, which send their releases to all others; the other points are not explained"),
    Claim("fewer messages, by as much as 45%, with long times between requests", "4.1, fig. 6(b)", "0.55",
          Extreme(("6b",), MESSAGES, 0.46, 0.64)),
    Claim("priority waits less than FIFO, by as much as 24%, with more processes", "4.2, fig. 7(a)", "0.76",
          Extreme(("7a",), WAITING, 0.712, 0.808)),
    Claim("priority serves more than FIFO, by as much as 22%, with more processes", "4.2, fig. 7(a)", "1.22",
          Extreme(("7a",), THROUGHPUT, 1.176, 1.264, largest=True)),
    Claim("the ratio of priority to FIFO falls with more processes", "4.2, fig. 7(a)", "falls",
          Trend(("7a",), WAITING)),
    Claim("the ratio of priority to FIFO grows with more processes", "4.2, fig. 7(a)", "rises",
          Trend(("7a",), THROUGHPUT, rises=True)),
    Claim("priority waits less than FIFO, by as much as 18%, with more skew", "4.2, fig. 7(b)", "0.82",
          Extreme(("7b",), WAITING, 0.784, 0.856)),
    Claim("priority serves more than FIFO, by as much as 14%, with more skew", "4.2, fig. 7(b)", "1.14",
          Extreme(("7b",), THROUGHPUT, 1.112, 1.168, largest=True)),
    Claim("the ratio of priority to FIFO falls with more skew", "4.2, fig. 7(b)", "falls", Trend(("7b",), WAITING)),
    Claim("the ratio of priority to FIFO grows with more skew", "4.2, fig. 7(b)", "rises",
          Trend(("7b",), THROUGHPUT, rises=True)),
)  # fmt: skip

TOKEN_GME = Paper(
    name="token-gme",
    title="A priority-based distributed group mutual exclusion algorithm when group access is non-uniform",
    reference="Mittal & Mohan 2007, section 4",
    exhibits=(*[figure.sharpened(CLAIMS) for figure in FIGURES], SIZES),
    claims=CLAIMS,
    assumptions=(
        "The abstract and section 4.1 say that waiting is shorter by as much as 50%, section 6 says 35%. We read"
        " section 6 as about one point, that of the largest gain in throughput. The 50% are reached elsewhere, where"
        " requests are rare and throughput hardly depends on waiting.",
        "Section 4.3 gives three reasons for the difference: the group that most processes wait for goes first, few"
        " releases are waited for instead of replies from all, and those that are not first in a session wait a hop"
        " less. `tests/group/test_reasons.py` measures each by itself, and finds all three. With 40 processes priority"
        " waits 4% less than FIFO, all else equal. A session has 4.3 token holders whose releases are waited for; if"
        " delays are exponential instead of nearly even, the time between sessions gets 1.17 times as long with RA2,"
        " and 0.69 times with TokenGME. The first follower of RA2 enters two hops after the end of the last session,"
        " the first secondary holder one.",
        "The channels' bandwidth of 100 Kb per unit of time is 3125 integers of 32 bits per unit.",
        "Message size is the mean number of integers in a message; headers (sender, kind of message) are not counted.",
        "RA2 is partly guessed: the text of Joung 2002 was not available, only his outline, which has the two vectors"
        " and what each is for. Guessed are which messages carry which vector, how requests that do not know of each"
        " other are ordered, and that INVITE and REPLY stand for other messages (`congenial.algorithms.group.ra2`). All"
        " ratios of figure 6 depend on it.",
        "RA2 runs on FIFO channels, which its compressed vectors need; TokenGME on channels that do not keep order.",
        "The paper gives only the range of a figure's values; the values within that range are our choice.",
        "Every process makes 500 requests, as in the paper, and a run ends when all are served. But the runs of figure"
        " 6(f) with more than 200 processes, which would take too long with RA2, are measured from time 5000 to 55000."
        " That leaves out the end of a run, when one process after the other has made its last request. In whole runs"
        " this end lowers the throughput by some per cent.",
        "Nothing is measured before time 1000.",
        "The quick version measures all runs from time 2000 to 20000.",
        "Ratios are means of the ratios of runs with equal seeds, which have equal times between requests, times"
        " inside and groups.",
    ),
    module=__name__,
)
