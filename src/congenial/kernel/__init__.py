"""The vocabulary in which algorithms are written: messages, nodes, and the way out of a node."""
