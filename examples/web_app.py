"""A web application whose workers share locks: each connects to the node of its machine. Run it with

    congenial node --config cluster.toml --name a &
    uvicorn --workers 4 web_app:app

A worker is no member of the cluster: it may come and go, and needs no name. If the node is restarted, the workers
connect again; a request that held a lock meanwhile ends with an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

import congenial

balances = {"ann": 100, "bob": 100}  # stands for a database, which checks fences


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with congenial.connect() as node:  # the socket in CONGENIAL_SOCKET, or the node of cluster.toml
        app.state.node = node
        yield


app = FastAPI(lifespan=lifespan)


@app.exception_handler(congenial.LockTimeout)
@app.exception_handler(congenial.ClusterDegraded)
@app.exception_handler(congenial.LockLost)
async def unavailable(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": str(error)}, status_code=503, headers={"Retry-After": "1"})


@app.post("/transfer/{giver}/{taker}/{amount}")
async def transfer(giver: str, taker: str, amount: int, request: Request) -> dict[str, int]:
    node: congenial.Client = request.app.state.node
    async with node.all(giver, taker, timeout=2.0) as held:  # in one order for everybody: no deadlock
        balances[giver] -= amount
        balances[taker] += amount
        return {**balances, "fence": max([one.fence for one in held])}
