"""Compression and encodings: opened in place, bounded, damaged content is a clear error."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import random
import tracemalloc
import zlib
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.bounds import MIB
from kmnb.errors import BadRequest, BoundExceeded, StoreError
from kmnb.formats._decode import Decoder
from kmnb.formats._encoding import guess_encoding, is_binary
from kmnb.formats._inspect import Inspector, inspect
from tests.formats.reading import cases, corpus

PACK = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}


def decoded(content: bytes, codec: str | None, encoding: str | None = None, *, step: int = 1 << 16) -> bytes:
    """Decode content that arrives in blocks."""
    decoder = Decoder(codec, encoding)
    blocks = (content[at : at + step] for at in range(0, len(content), step))
    return b"".join(itertools.chain(*map(decoder.feed, blocks), decoder.finish()))


@pytest.mark.parametrize("case", cases("decompressed"), ids=lambda case: case["id"])
@pytest.mark.parametrize("step", [1, 777, 1 << 20])
def test_compressed_files_of_the_corpus_open_to_their_content(case, step: int) -> None:
    found = decoded(corpus(case["file"].removeprefix("files/")), case["args"]["codec"], step=step)
    assert len(found) == case["expected"]["bytes"]
    assert found.count(b"\n") == case["expected"]["lines"]
    assert hashlib.sha256(found).hexdigest() == case["expected"]["sha256"]


@pytest.mark.parametrize("case", cases("decoded"), ids=lambda case: case["id"])
@pytest.mark.parametrize("step", [1, 3, 1 << 20])
def test_utf_16_of_the_corpus_becomes_utf_8_without_being_told(case, step: int) -> None:
    content = corpus(case["file"].removeprefix("files/"))
    found = decoded(content, None, guess_encoding(content[:65_536]), step=step)
    assert len(found) == case["expected"]["utf8_bytes"]
    assert hashlib.sha256(found).hexdigest() == case["expected"]["utf8_sha256"]
    assert found.count(b"\n") == case["expected"]["newlines"]


@given(st.binary(max_size=2000), st.sampled_from(sorted(PACK)), st.integers(1, 300))
def test_what_was_packed_comes_back_for_every_size_of_block(content: bytes, codec: str, step: int) -> None:
    packed = PACK[codec](content)
    assert decoded(packed, codec, step=step) == content
    assert decoded(packed + packed, codec, step=step) == content * 2


@pytest.mark.parametrize("codec", sorted(PACK))
def test_content_that_ends_too_early_or_is_damaged_is_a_clear_error(codec: str) -> None:
    words = random.Random(1).choices([b"pod ", b"node ", b"error ", b"ok\n", b"17 "], k=30_000)
    packed = PACK[codec](b"".join(words))
    with pytest.raises(StoreError, match="ends before its end mark"):
        decoded(packed[:-20], codec)
    broken = packed[:500] + bytes(byte ^ 0x55 for byte in packed[500:900]) + packed[900:]
    with pytest.raises(StoreError, match="damaged"):
        decoded(broken, codec)


def bomb(codec: str) -> bytes:
    """Pack many zero bytes: some kilobytes that hold 48 MiB, and would go on like that."""
    packer: Any = (
        zstandard.ZstdCompressor().compressobj() if codec == "zstd" else zlib.compressobj(9, zlib.DEFLATED, 31)
    )
    return b"".join(packer.compress(bytes(8 * MIB)) for _ in range(6)) + packer.flush()


@pytest.mark.parametrize("codec", sorted(PACK))
def test_a_bomb_is_stopped_at_the_ratio_in_little_memory(codec: str) -> None:
    packed = bomb(codec)
    tracemalloc.start()
    decoder = Decoder(codec)
    with pytest.raises(BoundExceeded, match="expand more than 1,000 times") as caught:
        deque(decoder.feed(packed), maxlen=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * MIB
    assert caught.value.limit == "DECOMPRESSED_RATIO_MAX"


def test_content_above_the_absolute_size_is_stopped_too() -> None:
    packed = gzip.compress(random.Random(2).randbytes(300_000))
    with pytest.raises(BoundExceeded, match="more than 100,000 bytes"):
        list(Decoder("gzip", max_bytes=100_000).feed(packed))


@pytest.mark.parametrize("codec", sorted(PACK))
def test_a_bomb_can_be_stored_and_its_preview_says_why_it_was_not_looked_through(codec: str) -> None:
    found = inspect(bomb(codec))
    assert found.rows is None
    assert codec in found.preview
    assert "expand more than 1,000 times" in found.preview
    assert len(found.preview.encode()) <= 2048


def test_a_small_file_of_blanks_is_no_bomb() -> None:
    assert decoded(gzip.compress(b" " * 4 * MIB), "gzip") == b" " * 4 * MIB


def test_a_window_too_large_for_the_memory_bound_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    packed = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    content = packed.compress(random.Random(3).randbytes(MIB)) + packed.flush()
    with pytest.raises(StoreError, match="damaged"):
        decoded(content, "zstd")


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"plain", "utf-8"),
        ("é€😀".encode(), "utf-8"),
        ("é€😀".encode()[:-2], "utf-8"),
        (b"\xef\xbb\xbfx", "utf-8-sig"),
        ("añb\n".encode("utf-16"), "utf-16-le"),
        ("name,ns\na,b\n".encode("utf-16-be"), "utf-16-be"),
        ("name,ns\na,b\n".encode("utf-16-le"), "utf-16-le"),
        (b"\0aab\0", "utf-8"),
        (b"\0a\0b\0", "utf-8"),
        ("x".encode("utf-32"), "utf-32-le"),
        ("\0hello".encode("utf-16"), "utf-16-le"),
        ("name,ns\na,b\n".encode("utf-32-be"), "utf-32-be"),
        ("name,ns\na,b\n".encode("utf-32-le"), "utf-32-le"),
        ("Année;Café;déjà\n".encode("latin-1"), "latin-1"),
        ("“quoted” – 5 €\n".encode("cp1252"), "cp1252"),
        (b"log \xff\xff line\nok\n", "utf-8"),
        ("Ünïcödé ".encode() * 10 + b"\xe9 one bad", "utf-8"),
        (b"", "utf-8"),
    ],
)
def test_an_encoding_is_found_out_from_the_text(content: bytes, encoding: str) -> None:
    assert guess_encoding(content) == encoding


@pytest.mark.parametrize(
    ("content", "binary"),
    [
        (b"%PDF-1.7\n", True),
        (b"\x89PNG\r\n\x1a\n", True),
        (b"text with \0 in it", False),
        (b"\1\0\0\0\2\0\0\0name", True),
        (b"\xfd\xfe\xfd with \0 in it", True),
        (bytes(range(256)) * 8, True),
        ("wide".encode("utf-16"), False),
        (b"\x1b[31mred\x1b[0m\n" * 50, False),
        (bytes(set(range(1, 32))) + b"\n", False),
        (b"", False),
    ],
)
def test_binary_content_is_told_from_text(content: bytes, binary: bool) -> None:
    assert is_binary(content) is binary


@pytest.mark.parametrize("case", cases("looks_binary"), ids=lambda case: case["id"])
def test_binary_files_of_the_corpus_are_never_shown_raw(case) -> None:
    content = corpus(case["file"].removeprefix("files/"))
    found = inspect(content)
    assert (found.format, found.rows, found.lines, found.index) == ("binary", None, None, None)
    assert f"{len(content):,} bytes" in found.preview
    assert found.preview.isprintable()


def test_an_unknown_encoding_is_the_callers_fault() -> None:
    with pytest.raises(BadRequest, match="no such text encoding"):
        Decoder(None, "utf-99")
    with pytest.raises(BadRequest):
        list(itertools.chain(Decoder(None, "hex").feed(b"61626364"), Decoder(None, "hex").finish()))


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_an_inspector_never_fails_on_any_content(blocks: list[bytes]) -> None:
    inspector = Inspector()
    for block in blocks:
        inspector.feed(block)
    found = inspector.finish()
    assert found.size == sum(map(len, blocks))
    assert len(found.preview.encode()) <= 2048


def peeked(content: bytes) -> Iterator[bytes]:
    """Cut content at every place."""
    for cut in range(len(content) + 1):
        yield content[:cut]


@pytest.mark.parametrize("name", ["csv/bom-crlf.csv", "prom/expfmt-text.prom.gz", "csv/nightmare-rejects.csv"])
def test_content_cut_off_anywhere_is_still_looked_at(name: str) -> None:
    content = corpus(name)[:600]
    for part in peeked(content):
        found = inspect(part)
        assert found.size == len(part)
        found.preview.encode("utf-8")
