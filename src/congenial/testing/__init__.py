"""For tests of your own: the conformance suite for an algorithm, and a witness for locks on a network."""

from congenial.testing.suite import Case, conformance

__all__ = ["Case", "conformance"]
