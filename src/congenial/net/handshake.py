"""How the two ends of a connection prove that they know the cluster's secret, and that they say so now.

    caller: Challenge(nonce)          called: Challenge(nonce, proof)
    caller: Hello(..., proof)         called: Hello(..., proof)

A proof is an HMAC, with the secret as its key, of all frames on this connection so far, in this order, the one that
carries the proof included. Both random numbers are in it, so a recording of another connection does not fit; all of
both greetings is, so nothing in them can be changed; and its place in the order is, so it cannot be sent back.

A process that looks for the members says `Seek` instead of `Hello`, and gets a `Welcome`.

With certificates the secret may be empty. The certificates then prove which member it is.
"""

from __future__ import annotations

import hmac
import secrets

from msgspec.structs import replace

from congenial.net.frames import encode_frame
from congenial.net.wire import Challenge, Hello, Seek, Welcome

NONCE = 32  # bytes
Proven = Challenge | Hello | Seek | Welcome  # the frames that carry a proof


class Handshake:
    def __init__(self, secret: bytes) -> None:
        self.said = hmac.new(secret, digestmod="sha256")

    def challenge(self) -> Challenge:
        """A new challenge. The caller's is without a proof: nothing that it could prove is new yet."""
        return Challenge(secrets.token_bytes(NONCE))

    def say(self, frame: Challenge) -> bytes:
        """Send a frame without a proof."""
        raw = encode_frame(frame)
        self.said.update(raw)
        return raw

    def hear(self, frame: Challenge) -> None:
        """The same frame, where it is received."""
        self.said.update(encode_frame(replace(frame, proof=b"")))

    def prove(self, frame: Proven) -> bytes:
        """Send a frame with its proof."""
        self.said.update(encode_frame(replace(frame, proof=b"")))
        return encode_frame(replace(frame, proof=self.said.digest()))

    def proven(self, frame: Proven) -> bool:
        """True if the proof in a frame that was received is right."""
        self.said.update(encode_frame(replace(frame, proof=b"")))
        return hmac.compare_digest(self.said.digest(), frame.proof)
