"""The NATS protocol as lanes read and write it: any cut of the bytes gives the same frames; nonsense is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.storage.backends import _nats_wire as wire

TOKEN = st.from_regex(r"[a-zA-Z0-9_$.]{1,20}", fullmatch=True)
HEADER = st.just(b"") | st.just(b"NATS/1.0\r\nNats-Sequence: 7\r\n\r\n") | st.just(b"NATS/1.0 204 EOB\r\n\r\n")
MESSAGE = st.tuples(TOKEN, st.just("") | TOKEN, HEADER, st.binary(max_size=400))


def encode(subject: str, reply: str, header: bytes, payload: bytes) -> bytes:
    middle = f"{subject} 1 {reply} ".replace("  ", " ")
    if header:
        return f"HMSG {middle}{len(header)} {len(header) + len(payload)}\r\n".encode() + header + payload + b"\r\n"
    return f"MSG {middle}{len(payload)}\r\n".encode() + payload + b"\r\n"


def scan(blocks: list[bytes]) -> list[tuple[bytes, bytes, bytes, bytes, bytes]]:
    scanner, found = wire.Scanner(), []
    for block in blocks:
        while block:
            room = scanner.room()
            count = min(len(room), len(block))
            room[:count] = block[:count]
            scanner.feed(count)
            block = block[count:]
            while (frame := scanner.next()) is not None:
                found.append((frame.verb, frame.subject, frame.reply, frame.header, bytes(frame.payload)))
    return found


@given(st.lists(MESSAGE, max_size=6), st.lists(st.integers(1, 60), max_size=40))
def test_frames_do_not_depend_on_how_the_bytes_arrive(
    messages: list[tuple[str, str, bytes, bytes]], cuts: list[int]
) -> None:
    raw = b"PING\r\n" + b"".join(encode(*message) for message in messages) + b"+OK\r\n"
    blocks, start = [], 0
    for cut in cuts:
        blocks.append(raw[start : start + cut])
        start += cut
    blocks.append(raw[start:])
    expected = [(b"MSG", subject.encode(), reply.encode(), header, data) for subject, reply, header, data in messages]
    assert scan(blocks) == [(b"PING", b"", b"", b"", b""), *expected, (b"+OK", b"", b"", b"", b"")]


@given(TOKEN, TOKEN, st.binary(max_size=300), st.booleans())
def test_what_is_written_can_be_read(subject: str, reply: str, payload: bytes, with_header: bool) -> None:
    headers = b"Nats-Msg-Id: a.1\r\n" if with_header else b""
    line, _, rest = b"".join(wire.write_message(subject, reply, payload, headers=headers)).partition(b"\r\n")
    verb, *words = line.split(b" ")
    as_server = b" ".join([verb.replace(b"PUB", b"MSG"), words[0], b"1", *words[1:]])
    found = scan([as_server + b"\r\n" + rest])
    assert [(item[1], item[2], item[4]) for item in found] == [(subject.encode(), reply.encode(), payload)]


def test_a_message_larger_than_the_buffer_comes_whole() -> None:
    payload = bytes(range(256)) * 4096 * 9
    raw = encode("a", "", b"", payload)
    found = scan(
        [raw[start : start + 1_000_003] for start in range(0, len(raw), 1_000_003)] + [encode("b", "", b"", b"x")]
    )
    assert [item[4] for item in found] == [payload, b"x"]


def test_payloads_stay_valid_until_the_buffer_is_used_again() -> None:
    scanner, views = wire.Scanner(), []
    while not scanner.is_full():
        raw = encode("a", "", b"", b"%06d" % len(views) * 500)
        scanner.room()[: len(raw)] = raw
        scanner.feed(len(raw))
        views.append(scanner.next().payload)
    assert len(views) > 100
    assert all(bytes(view) == b"%06d" % number * 500 for number, view in enumerate(views))


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"MSG a 1\r\n",
        b"MSG a 1 -5\r\n",
        b"MSG a 1 99999999999999\r\n",
        b"MSG a 1 900000000\r\n",
        b"MSG a b c d e 5\r\n",
        b"HMSG a 1 50 10\r\n",
        b"HMSG a 1 x 10\r\n",
        b"MSG a 1 2\r\nabc\r\n",
        b"x" * (wire.LINE_MAX_BYTES + 2),
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_what_is_not_the_protocol_is_refused(raw: bytes) -> None:
    with pytest.raises(wire.WireError):
        scan([raw])


def test_the_last_header_of_a_name_counts_since_the_server_adds_its_own_at_the_end() -> None:
    header = b"NATS/1.0\r\nNats-Sequence: 1\r\nX-Nats-Sequence: 9\r\nNats-Sequence: 2\r\n\r\n"
    frame = wire.Frame(b"MSG", header=header)
    assert frame.number(b"Nats-Sequence") == 2
    assert frame.number(b"Nats-Num-Pending") is None
    assert frame.field(b"X-Nats-Sequence") == "9"


def test_a_status_is_told_with_its_description() -> None:
    frame = wire.Frame(b"MSG", header=b"NATS/1.0 404 Message Not Found\r\n\r\n")
    assert (frame.status, frame.description) == ("404", "Message Not Found")
    assert wire.Frame(b"MSG", header=b"NATS/1.0\r\nA: 1\r\n\r\n").status == ""
    assert wire.Frame(b"MSG").status == ""


def test_info_is_a_json_document() -> None:
    assert wire.read_info(wire.Frame(b"INFO", json.dumps({"nonce": "x"}).encode())) == {"nonce": "x"}
    for frame in (wire.Frame(b"PING"), wire.Frame(b"INFO", b"{"), wire.Frame(b"INFO", b"[]")):
        with pytest.raises(wire.WireError, match="not a NATS server"):
            wire.read_info(frame)
