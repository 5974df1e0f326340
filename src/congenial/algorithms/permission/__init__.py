"""Mutual exclusion by permission: a process enters with the permission of all others, or of a quorum."""
