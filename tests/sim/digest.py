"""A digest of the traces of many runs: equal digests, equal runs. Also a program, for another interpreter to run."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from congenial.kernel.trace import Trace
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import ALGORITHMS, SOUND

LOADS: dict[str, dict[str, Any]] = {
    "exponential": {"delay": 10},
    "fifo": {"delay": 10, "fifo": True},
    "uniform, bandwidth": {"delay": "uniform:0,20", "fifo": True, "bandwidth": 3.0},
    "lognormal": {"delay": "lognormal:10,1", "fifo": True, "groups": 3, "skew": "20/80"},
    "exponential, bandwidth": {"delay": 10, "bandwidth": 3.0},
    "pauses": {"delay": 10, "fifo": True, "pause": ("0.001/20",)},
    "faults": {
        "delay": 10,
        "loss": ("0.01@100-200",),
        "duplicate": ("0.0001",),
        "crash": ("2@400-500",),
        "partition": ("0,1|2@600-650",),
        "detection": 5.0,
    },
}


def digest(name: str, load: str, seed: int = 1) -> str:
    """All that happened, to the last bit of every time."""
    trace = Trace()
    parameters = {"fifo": True, **LOADS[load]} if ALGORITHMS[name].spec.fifo else LOADS[load]
    engine = Scenario(name, nodes=7, requests=6, think=30, hold=5, **parameters).engine(seed, trace)
    ended = "well"
    try:
        engine.run()
    except Exception as error:
        ended = str(error)
    happened = [(event.t.hex(), str(event.as_dict())) for event in trace.events]
    text = repr((happened, float(engine.now).hex(), int(engine.meter.deliveries), ended))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digests() -> dict[str, str]:
    return {f"{name}, {load}": digest(name, load) for name in SOUND for load in LOADS}


if __name__ == "__main__":
    import congenial.sim.engine as engine

    print(json.dumps({"engine": engine.__file__, **digests()}))
