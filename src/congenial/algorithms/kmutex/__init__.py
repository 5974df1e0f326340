"""Algorithms that let k processes be inside together."""
