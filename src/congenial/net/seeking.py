"""How a process that is to enter a running cluster finds its members: it asks any of them (`Seek`).

It proves itself as members do (`congenial.net.handshake`). It learns how the cluster began, which is all that a process
without memory needs to know, and which members there are now. One that remembers members asks as well if they do not
let it in.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any

import msgspec

from congenial.kernel.errors import CongenialError
from congenial.net.absence import cannot_serve
from congenial.net.addresses import address
from congenial.net.config import ClusterConfig
from congenial.net.errors import ClusterDegraded, ProtocolError
from congenial.net.frames import FrameReader
from congenial.net.greeting import release
from congenial.net.handshake import Handshake
from congenial.net.membership import Membership
from congenial.net.porter import why_no_tls
from congenial.net.secret import secret_of
from congenial.net.wire import SPEAKS, Bye, Challenge, Frame, Seek, Welcome

PATIENCE = 3.0  # seconds for one seed
PAUSE = 0.2  # seconds before all are asked again
CHUNK = 1 << 16

_decode = msgspec.msgpack.Decoder(Challenge | Welcome | Bye).decode


async def seek(name: str, config: ClusterConfig, schema: str) -> Welcome:
    """Ask the seeds in turn until one answers; `ClusterDegraded` with all reasons if none does in `timing.gather`."""
    reasons: dict[str, str] = {}
    try:
        async with asyncio.timeout(config.timing.gather):
            while True:
                for seed in config.seeds:
                    try:
                        return await _ask(seed, name, config, schema)
                    except (OSError, TimeoutError, ProtocolError) as error:
                        reasons[seed] = _reason(error)
                await asyncio.sleep(PAUSE)
    except TimeoutError:
        told = "; ".join([f"{seed}: {reasons.get(seed, 'no answer')}" for seed in config.seeds])
        raise ClusterDegraded(
            f"{name!r} cannot enter cluster {config.cluster!r}: no seed lets it in ({told})"
        ) from None


async def keep_seeking(membership: Membership, schema: str) -> None:
    """While this process has come by seeds and is no member, or does not hear enough of them, learn now and then where
    members are. Those that it knows, perhaps from its state directory, may all be gone, or be called at other addresses
    now. All seeds are asked: one may be no member either, and know no more than this process."""
    config = membership.config
    while True:
        await asyncio.sleep(membership.timing.suspect_after)
        for seed in config.seeds:
            if seed == membership.address or (membership.opened.is_set() and not cannot_serve(membership)):
                continue
            with contextlib.suppress(OSError, TimeoutError, CongenialError):  # it will be asked again
                welcome = await _ask(seed, membership.name, config, schema)
                if membership.roster.began_as(welcome.founded):
                    membership.know_places(welcome.members)


def _reason(error: Exception) -> str:
    if isinstance(error, ProtocolError):
        return str(error)
    if isinstance(error, ssl.SSLError):
        return why_no_tls(error)
    return getattr(error, "strerror", None) or "no answer"


async def _ask(seed: str, name: str, config: ClusterConfig, schema: str) -> Welcome:
    secret = secret_of(config)
    tls = config.tls.contexts(name)[1] if config.tls is not None else None
    if tls is not None:
        tls.check_hostname = False  # its certificate says that it is a member; which one is not known yet
    question = Seek(config.cluster, name, schema, b"", SPEAKS, release())
    host, port = address(seed)
    options: dict[str, Any] = {"ssl": tls, "server_hostname": ""} if tls is not None else {}
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(host, port, **options)
        try:
            answers = Answers(reader)
            handshake = Handshake(secret.key)
            writer.write(handshake.say(handshake.challenge()))
            challenge = await answers.next()
            if not isinstance(challenge, Challenge) or not handshake.proven(challenge):
                raise ProtocolError(f"its proof does not fit: do both have the same secret? (here: {secret.source})")
            writer.write(handshake.prove(question))
            welcome = await answers.next()
            if not isinstance(welcome, Welcome) or not handshake.proven(welcome):
                raise ProtocolError("it does not answer as a member does")
            if not welcome.founders or len(welcome.founded) != len(welcome.founders):
                raise ProtocolError("it does not say how the cluster began")
            return welcome
        finally:
            writer.close()


class Answers:
    """The frames that a seed sends."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader = reader
        self.frames = FrameReader(_decode_frame)
        self.ready: list[Frame] = []

    async def next(self) -> Frame:
        while not self.ready:
            raw = await self.reader.read(CHUNK)
            if not raw:
                raise ProtocolError("it closes the connection; its log says why")
            self.ready += self.frames.feed(raw)
        frame = self.ready.pop(0)
        if isinstance(frame, Bye):
            raise ProtocolError(frame.reason)
        return frame


def _decode_frame(raw: bytes) -> Frame:
    try:
        frame: Frame = _decode(raw)
        return frame
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"sent something that is not a frame: {error}") from None
