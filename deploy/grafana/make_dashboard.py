"""Makes dashboard.json: python deploy/grafana/make_dashboard.py

One panel a line below, two beside each other. In Grafana: Dashboards, New, Import.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PICK = '{job="$job", instance=~"$instance"}'


def quantiles(metric: str) -> list[tuple[str, str]]:
    rates = f"sum by (le) (rate({metric}_bucket{PICK}[$__rate_interval]))"
    return [(f"histogram_quantile({q}, {rates})", name) for q, name in ((0.5, "median"), (0.99, "99 %"))]


def by_instance(metric: str) -> list[tuple[str, str]]:
    return [(f"sum by (instance) (rate({metric}{PICK}[$__rate_interval]))", "{{instance}}")]


PANELS: list[tuple[str, str, str, list[tuple[str, str]]]] = [  # title, kind, unit, queries with their legends
    ("A majority is there", "stat", "bool_yes_no", [(f"congenial_majority{PICK}", "{{instance}}")]),
    ("Members that are away", "timeseries", "none", [(f"max by (peer) (congenial_peer_away{PICK})", "{{peer}}")]),
    ("Entries per second", "timeseries", "ops", by_instance("congenial_entries_total")),
    (
        "Tasks inside and waiting",
        "timeseries",
        "none",
        [(f"sum(congenial_inside{PICK})", "inside"), (f"sum(congenial_waiting{PICK})", "waiting")],
    ),
    ("Waiting time", "timeseries", "s", quantiles("congenial_wait_seconds")),
    ("Hold time", "timeseries", "s", quantiles("congenial_hold_seconds")),
    (
        "Timeouts and lost locks",
        "timeseries",
        "none",
        [
            (f"sum(increase(congenial_timeouts_total{PICK}[$__rate_interval]))", "timeouts"),
            (f"sum(increase(congenial_losses_total{PICK}[$__rate_interval]))", "lost"),
        ],
    ),
    ("Agreements on the members", "timeseries", "ops", by_instance("congenial_agreements_total")),
    (
        "Messages per entry",
        "timeseries",
        "none",
        [
            (
                f"sum(rate(congenial_messages_total{PICK}[$__rate_interval]))"
                f" / sum(rate(congenial_entries_total{PICK}[$__rate_interval]))",
                "messages",
            )
        ],
    ),
    ("Bytes sent", "timeseries", "Bps", by_instance("congenial_link_bytes_total")),
    ("Messages sent again", "timeseries", "ops", by_instance("congenial_link_resends_total")),
    ("Time to save state", "timeseries", "s", quantiles("congenial_fsync_seconds")),
    ("Locks known", "timeseries", "none", [(f"congenial_locks{PICK}", "{{instance}}")]),
    ("Versions", "stat", "none", [(f"count by (version) (congenial_build_info{PICK})", "{{version}}")]),
]


def panel(place: int, title: str, kind: str, unit: str, queries: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "id": place + 1,
        "title": title,
        "type": kind,
        "datasource": {"type": "prometheus", "uid": "$source"},
        "gridPos": {"h": 8, "w": 12, "x": 12 * (place % 2), "y": 8 * (place // 2)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + at), "expr": expression, "legendFormat": legend}
            for at, (expression, legend) in enumerate(queries)
        ],
    }


def variable(name: str, kind: str, query: str, several: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "label": name, "type": kind, "query": query, "refresh": 2}
    if kind == "query":
        made |= {"datasource": {"type": "prometheus", "uid": "$source"}, "multi": several, "includeAll": several}
    return made


def dashboard() -> dict[str, Any]:
    return {
        "title": "Congenial",
        "uid": "congenial",
        "schemaVersion": 39,
        "tags": ["locks"],
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "10s",
        "templating": {
            "list": [
                variable("source", "datasource", "prometheus"),
                variable("job", "query", "label_values(congenial_build_info, job)"),
                variable("instance", "query", 'label_values(congenial_build_info{job="$job"}, instance)', True),
            ]
        },
        "panels": [panel(place, *about) for place, about in enumerate(PANELS)],
    }


def text() -> str:
    return json.dumps(dashboard(), indent=1) + "\n"


if __name__ == "__main__":
    (HERE / "dashboard.json").write_text(text(), encoding="utf-8")
