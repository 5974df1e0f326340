"""Algorithms that allow k processes inside together."""
