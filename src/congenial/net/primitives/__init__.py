"""What tasks of several processes can do together besides excluding each other, each on the locks that are there.

Events, conditions, barriers and latches, a guard that lets something be done once, the election of a leader, and
several locks at once. Most of them have a small state, which is a note (`congenial.net.notes`) behind a mutex.
"""
