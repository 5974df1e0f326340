"""Synchronisation primitives besides locks, for tasks of several processes. They are built on the locks.

Events, conditions, barriers and latches, a guard that lets something be done once, the election of a leader, and
several locks together. Most of them have a small state, which is a note (`congenial.net.notes`) behind a mutex.
"""
