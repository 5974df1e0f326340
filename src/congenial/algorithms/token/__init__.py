"""Mutual exclusion by a token: who holds it may enter."""
