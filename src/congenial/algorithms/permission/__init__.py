"""Mutual exclusion by permission: who has everybody's, or a quorum's, may enter."""
