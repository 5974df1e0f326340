"""The laboratory: comparisons, sweeps over parameters, the papers' figures and claims, plots."""
