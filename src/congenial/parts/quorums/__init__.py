"""Quorum systems: for each process a set of processes to ask, any two sets having a member in common."""
