"""Nodes around nodes: what makes another algorithm of any algorithm."""
