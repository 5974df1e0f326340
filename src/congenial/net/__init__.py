"""The network runtime: the algorithms of the catalogue, as locks for programs, over sockets.

Programs use `locks` (or `blocking`, or `service` to share a node). Below it are layers. Each knows those below it, and
calls those above it only through an interface that it declares itself:

- `host` puts the layers together; `table` has all locks of one process.
- `door`, `hall` and `guarded` are one lock, semaphore or replicated object, with the tasks that wait for it
  (`entrance`).
- `seat` is one node: it takes steps in the kernel's process shell, and carries out what they do.
- `membership` knows which members are there (`roster`, `greeting`, `suspicion`).
- `link` delivers messages once and in order, whatever happens to connections (`connection`, `porter`, `dialer`). Both
  ends of a connection prove that they belong to the cluster (`handshake`, `secret`).
- `wire` and `codec` turn frames and messages into bytes.

Everything that one event causes is one `turn`, which ends by saving (`storage`, with its files `logfile` and
`markfile`, their bytes in `journal` and values in `saved`) and then sending.
"""
