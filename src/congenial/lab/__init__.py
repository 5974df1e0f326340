"""The laboratory: sweeps over parameters, the papers' figures and claims, plots."""

from congenial.lab.runner import run_sweep
from congenial.lab.sweep import Sweep

__all__ = ["Sweep", "run_sweep"]
