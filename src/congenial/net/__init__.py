"""The network runtime: the algorithms of the catalogue, holding real locks for real programs over real sockets.

`locks` is what programs use. Below it, from the top: `door` (the tasks of one process before one lock; `hall` and
`guarded`: before a semaphore, a replicated object), `host` (all locks of one process), `roster` (who belongs to the
cluster), `link` (messages arrive once and in order, whatever happens to connections) and `codec` (what travels in
bytes).
"""
