"""Mutual exclusion by a token: the process that holds it may enter."""
