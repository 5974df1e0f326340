"""Frames and messages: what is written is read back, and nothing else is read at all."""

from __future__ import annotations

import struct
import types
from dataclasses import fields
from itertools import pairwise
from typing import Any, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.algorithms.group.token_gme import Request
from congenial.kernel.message import Message, field_types
from congenial.net.codec import Vocabulary, message_kinds
from congenial.net.errors import ProtocolError
from congenial.net.frames import HEADER, LONGEST_FRAME, VERSION, FrameReader, encode_frame
from congenial.net.link import LOCK_DATA
from congenial.net.wire import Ack, Bye, Challenge, Data, Frame, Hello, LockData
from congenial.systems.catalogue import ALGORITHMS

VOCABULARIES = {name: Vocabulary(algorithm) for name, algorithm in ALGORITHMS.items()}
TOKEN_GME = VOCABULARIES["token-gme"]
KINDS = [(name, kind) for name, algorithm in ALGORITHMS.items() for kind in message_kinds(algorithm)]
INTEGERS = st.integers() | st.integers(0, 9) | st.integers(-(1 << 600), 1 << 600)


PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.text(), st.floats(allow_nan=False), INTEGERS),
    lambda members: st.lists(members, max_size=3).map(tuple),
    max_leaves=6,
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value that an annotation allows."""
    if hint is int:
        return INTEGERS
    if hint in (bool, str, float, type(None)):
        return {bool: st.booleans(), str: st.text(), float: st.floats(allow_nan=False), type(None): st.none()}[hint]
    if hint is Any:
        return PLAIN
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=4).map(tuple)
    if origin is tuple:
        return st.tuples(*[values_of(argument) for argument in arguments])
    if origin in (Union, types.UnionType):
        return st.one_of(*[values_of(argument) for argument in arguments])
    parts = field_types(hint)
    return st.builds(hint, *[values_of(parts[field.name]) for field in fields(hint)])


@pytest.mark.parametrize(("algorithm", "kind"), KINDS, ids=[f"{name}-{kind.__name__}" for name, kind in KINDS])
@settings(max_examples=25)
@given(data=st.data())
def test_every_message_of_every_algorithm_comes_back_equal(
    algorithm: str, kind: type[Message], data: st.DataObject
) -> None:
    message = data.draw(values_of(kind))
    vocabulary = VOCABULARIES[algorithm]
    (frame,) = FrameReader(vocabulary.decode_frame).feed(encode_frame(Data(1, 2, "lock", vocabulary.encode(message))))
    assert isinstance(frame, Data)
    again = vocabulary.message(frame.body)
    assert type(again) is kind
    assert again == message


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=200)
@given(raw=st.binary(max_size=80))
def test_any_bytes_are_a_message_or_refused(name: str, raw: bytes) -> None:
    vocabulary = VOCABULARIES[name]
    try:
        frame = vocabulary.decode_frame(msgspec.msgpack.encode([3, 1, 2, "lock", msgspec.Raw(raw)]))
        assert isinstance(frame, Data)
        assert isinstance(vocabulary.message(frame.body), Message)
    except ProtocolError:
        pass


def test_values_of_the_wrong_type_are_refused() -> None:
    decode = VOCABULARIES["suzuki-kasami"].decode_frame
    assert isinstance(decode(msgspec.msgpack.encode([3, 1, 2, "lock", [0, [1], [2], 3]])), Data)
    for bad in (
        [0, [1], [2], "3"],
        [0, [1], 2, 3],
        [0, [True], [2], 3],
        [0, [1], [2]],
        [0, [1], [2], 3, 4],
        [9, 1],
        {},
    ):
        with pytest.raises(ProtocolError, match="not a frame"):
            decode(msgspec.msgpack.encode([3, 1, 2, "lock", bad]))


FRAMES = [
    Challenge(bytes(32), b"proof"),
    Hello("jukebox", "a", "b", ("a", "b"), "abc", 1 << 60, 0, 7, (1 << 60, 1 << 61), b"proof"),
    Data(1, 2, "lock", TOKEN_GME.encode(Request(1, (2,)))),
    LockData(2, 2, "lock", 7, 0, TOKEN_GME.dump(Request(1, (2,)))),
    Ack(5),
    Bye("tired", True, 7),
]


@settings(max_examples=300)
@given(cuts=st.lists(st.integers(0, 400), max_size=30))
def test_a_stream_may_be_cut_anywhere(cuts: list[int]) -> None:
    stream = b"".join([encode_frame(frame) for frame in FRAMES * 2])
    edges = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    reader = FrameReader(TOKEN_GME.decode_frame)
    got: list[Frame] = []
    for start, stop in pairwise(edges):
        got += list(reader.feed(stream[start:stop]))
    again = [encode_frame(frame) for frame in got]
    assert again == [encode_frame(frame) for frame in FRAMES * 2]
    assert reader.at == len(reader.data)


@settings(max_examples=500)
@given(raw=st.binary(max_size=200))
def test_any_stream_gives_frames_or_is_refused(raw: bytes) -> None:
    for stream in (raw, bytes([VERSION, 0, 0, len(raw)]) + raw):
        try:
            assert all(isinstance(frame, Frame) for frame in FrameReader(TOKEN_GME.decode_frame).feed(stream))
        except ProtocolError:
            pass


@settings(max_examples=500)
@given(which=st.integers(0, len(FRAMES) - 1), at=st.integers(0, 200), byte=st.integers(0, 255))
def test_a_flipped_byte_is_a_frame_or_refused(which: int, at: int, byte: int) -> None:
    raw = bytearray(encode_frame(FRAMES[which]))
    raw[at % len(raw)] = byte
    try:
        assert all(isinstance(frame, Frame) for frame in FrameReader(TOKEN_GME.decode_frame).feed(bytes(raw)))
    except ProtocolError:
        pass


def test_other_versions_and_long_frames_are_refused() -> None:
    with pytest.raises(ProtocolError, match=f"version {VERSION + 1}"):
        list(FrameReader(TOKEN_GME.decode_frame).feed(struct.pack(">I", VERSION + 1 << 24)))
    with pytest.raises(ProtocolError, match="too long"):
        list(
            FrameReader(TOKEN_GME.decode_frame).feed(struct.pack(">I", VERSION << 24 | 100_000))
        )  # before it has said who it is
    reader = FrameReader(TOKEN_GME.decode_frame)
    reader.longest = LONGEST_FRAME
    assert list(reader.feed(struct.pack(">I", VERSION << 24 | 100_000))) == []
    with pytest.raises(ProtocolError, match="too long"):
        list(FrameReader(TOKEN_GME.decode_frame).feed(struct.pack(">I", VERSION << 24 | LONGEST_FRAME + 1)))
    with pytest.raises(ProtocolError, match="too long to send"):
        encode_frame(Bye("x" * (LONGEST_FRAME + 1), False))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ProtocolError):
        TOKEN_GME.decode_frame(b"\x91" * 100_000)


def test_a_frame_may_be_written_as_a_tuple() -> None:
    """As links write what most frames are."""
    body = TOKEN_GME.dump(Request(1, (2,)))
    assert encode_frame((LOCK_DATA, 5, 4, "x", 2, 0, body)) == encode_frame(LockData(5, 4, "x", 2, 0, body))


def test_the_header_is_version_and_length() -> None:
    raw = encode_frame(Ack(5))
    assert raw[0] == VERSION
    assert int.from_bytes(raw[1:HEADER], "big") == len(raw) - HEADER
