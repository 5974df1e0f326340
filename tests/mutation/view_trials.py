"""Where mutants of the protocols under the locks of clusters are tried: locks and objects in views, while processes
crash, are suspected, come and go.

Their own tests are trials, too (`tests_as_trials.py`). Most of what can go wrong needs several faults at the right
moments, and `check` sees only the beginning of such runs.
"""

from __future__ import annotations

from tests_as_trials import names_of_tests
from trial import Trial, check, fuzz, tested

VISITOR = (("visitors", "1"),)
FORGET = (("visitors", "1"), ("forget", "yes"))

GROUPS = "home-gme+views"
SEMAPHORES = "home-k+views"
OBJECTS = "home-gme+replicas"

PROTOCOLS: dict[str, tuple[str, ...]] = {  # the files, and the systems that run them
    "net/view_lease.py": (GROUPS,),  # by its tests alone: the checker knows no time
    "parts/mutual.py": (GROUPS, OBJECTS),
    "parts/views.py": (GROUPS, SEMAPHORES, OBJECTS),
    "transform/lock_in_views.py": (GROUPS, SEMAPHORES, OBJECTS),
    "transform/object_in_views.py": (OBJECTS,),
    "transform/views.py": (GROUPS, SEMAPHORES, OBJECTS),
}
SLOW = ("test_a_thousand_members_go_on_without_one_of_them",)


def tests_of(*files: str) -> list[Trial]:
    return [tested(file, name) for file in files for name in names_of_tests(file) if name not in SLOW]


VIEW_TRIALS: dict[str, list[Trial]] = {
    GROUPS: [
        *tests_of(
            "parts/test_mutual.py",
            "transform/test_views.py",
            "transform/test_lock_in_views.py",
            "transform/test_views_node.py",
            "net/test_net_lease_rules.py",
        ),
        tested("net/test_net_lease_schedules.py", "test_nothing_is_served_too_early"),
        check(nodes=1, requests=2, groups=2, crashes=1, timers="patient"),
        check(nodes=2, requests=1, groups=2, timers="patient", suspicions=1, limit=3000),
        check(nodes=3, requests=1, groups=2, timers="patient", limit=3000),
        check(nodes=3, requests=1, timers="patient", crashes=1, options=VISITOR, limit=3000),
        fuzz(nodes=3, requests=3, groups=2, crashes=1, suspicions=3, timers="patient", runs=100),
        fuzz(nodes=4, requests=2, groups=2, crashes=1, suspicions=2, timers="patient", options=VISITOR, runs=60),
        fuzz(nodes=4, requests=3, groups=2, suspicions=2, timers="patient", options=FORGET, runs=60),
        fuzz(nodes=3, requests=3, groups=2, crashes=3, suspicions=2, timers="patient", runs=400),
        fuzz(nodes=5, requests=2, groups=2, crashes=2, suspicions=4, timers="patient", options=FORGET, runs=150),
    ],
    SEMAPHORES: [
        *tests_of("transform/test_views_semaphores.py"),
        check(nodes=2, requests=1, timers="patient", suspicions=1, limit=3000),
        fuzz(nodes=4, requests=2, crashes=1, suspicions=2, timers="patient", options=VISITOR, runs=40),
        fuzz(nodes=4, requests=2, crashes=1, suspicions=1, timers="patient", options=FORGET, runs=40),
    ],
    OBJECTS: [
        *tests_of("transform/test_replicas.py"),
        check(nodes=2, requests=1, operations=1, timers="patient", suspicions=1, limit=3000),
        fuzz(nodes=3, requests=3, operations=2, crashes=1, suspicions=3, timers="patient", runs=100),
        fuzz(nodes=4, requests=2, operations=2, crashes=1, suspicions=2, timers="patient", options=VISITOR, runs=60),
    ],
}
