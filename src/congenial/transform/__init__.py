"""Nodes around nodes: transforms turn any algorithm into another one."""
