"""Find out what content is: compression, encoding and format, from its beginning, its media type and its name.

Content speaks first: a JSON document called ``.txt`` is JSON. A media type that names a format decides where content
leaves it open, a name ending after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from kmnb._plugins import load, names
from kmnb.core.records import FormatPlugin
from kmnb.errors import KmnbError
from kmnb.formats._decode import Decoder, find_codec
from kmnb.formats._encoding import TRANSPARENT, find_mark, guess_encoding, has_signature, is_binary
from kmnb.formats._sections import first_section

HEAD_BYTES = 65_536
"""How much of the beginning detection looks at."""
_ZSTD_HEAD_BYTES = 196_608
# A block of zstd gives nothing before it is whole, and may take 128 KiB; what is small may stand before the first one.
_MARKS = (
    (b"<!doctype html", "text/html"),
    (b"<html", "text/html"),
    (b"<?xml", "application/xml"),
    (b"%pdf-", "application/pdf"),
    (b"\x89png", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"gif8", "image/gif"),
    (b"pk\x03\x04", "application/zip"),
)
_CODEC_TYPES = frozenset({"application/gzip", "application/x-gzip", "application/zstd"})


@dataclass(frozen=True, slots=True)
class Detection:
    """What content was found to be."""

    format: str
    """Name of the format: the file in this folder, or an entry point."""
    codec: str | None
    """``gzip``, ``zstd`` or None."""
    encoding: str | None
    """Python name of the text encoding; None for binary content."""
    content_type: str
    """MIME type of the decoded content: the one that was given, else the format's."""

    @property
    def label(self) -> str:
        """The encoding as it is stored: compression and text encoding, separated by a blank."""
        return " ".join(part for part in (self.codec, self.encoding) if part) or "binary"

    @property
    def is_transparent(self) -> bool:
        """Whether the stored bytes can be cut into lines as they are."""
        return self.codec is None and self.encoding in TRANSPARENT

    def decoder(self) -> Decoder:
        """Make what turns the stored bytes into text."""
        return Decoder(self.codec, self.encoding)


def read_label(label: str | None) -> tuple[str | None, str | None]:
    """Take a stored encoding apart into compression and text encoding."""
    words = (label or "").split()
    codec = words.pop(0) if words and words[0] in ("gzip", "zstd") else None
    encoding = words[0] if words and words[0] != "binary" else None
    return codec, encoding


def format_named(name: str) -> FormatPlugin:
    """Load a format by name.

    Raises:
        UnknownPlugin: There is none of that name.
    """
    return cast(FormatPlugin, load("kmnb.formats", "kmnb.formats", name, "FORMAT"))


def format_names() -> tuple[str, ...]:
    """List all formats."""
    return names("kmnb.formats", "kmnb.formats")


def head_wanted(head: bytes) -> int:
    """Tell how many of the first stored bytes detection wants to see.

    Args:
        head: As many of them as are at hand, at least four where there are that many.
    """
    return _ZSTD_HEAD_BYTES if find_codec(head) == "zstd" else HEAD_BYTES


def detect(
    head: bytes, *, media_type: str | None = None, name: str | None = None, encoding: str | None = None
) -> Detection:
    """Find out what content is.

    Args:
        head: The first stored bytes, at best as many as :func:`head_wanted` says.
        media_type: MIME type that the producer or the store gave.
        name: File name or key.
        encoding: A stored label (see :attr:`Detection.label`) or text encoding that is known already.

    Returns:
        The best guess; never an error, since everything is at least binary.
    """
    codec, known = read_label(encoding)
    codec = codec or find_codec(head)
    plain = _begin(head, codec)
    given = (media_type or "").partition(";")[0].strip().lower()
    given = "" if given in _CODEC_TYPES and codec else given
    is_text = bool(known or find_mark(plain)) and not has_signature(plain)
    binary = not is_text and is_binary(plain, is_told=given.startswith("text/"))
    text_encoding = known or ("utf-8" if binary else guess_encoding(plain))
    text = b"".join(Decoder(None, text_encoding).feed(plain)) if text_encoding not in TRANSPARENT else plain
    text = text.removeprefix(b"\xef\xbb\xbf")
    found = format_named(_best(first_section(text)[0], given, (name or "").lower(), binary=binary))
    kind = media_type if given and media_type else content_type_of(found, text)
    return Detection(found.name, codec, None if binary else text_encoding, kind)


def content_type_of(found: FormatPlugin, text: bytes) -> str:
    """Give the MIME type that kmnb writes for a format."""
    if found.name == "csv" and text[:4096].count(b"\t") > text[:4096].count(b","):
        return "text/tab-separated-values"
    begin = text[:512].lstrip().lower()
    return next(
        (kind for mark, kind in _MARKS if found.name in ("text", "binary") and begin.startswith(mark)),
        found.media_types[0],
    )


def _begin(head: bytes, codec: str | None) -> bytes:
    if codec is None:
        return head
    pieces, size = [], 0
    try:
        for piece in Decoder(codec).feed(head):
            pieces.append(piece)
            size += len(piece)
            if size >= HEAD_BYTES:
                break
    except KmnbError:
        # Damaged or a bomb: what came out so far is enough for a guess; whoever reads on meets the error.
        pass
    return b"".join(pieces)[:HEAD_BYTES]


def _best(text: bytes, media_type: str, name: str, *, binary: bool) -> str:
    def score(plugin: FormatPlugin) -> float:
        said = 0.3 * (media_type in plugin.media_types and media_type not in ("text/plain", "application/octet-stream"))
        bare = name.removesuffix(".gz").removesuffix(".zst")
        return plugin.sniff(text) + said + 0.15 * bare.endswith(plugin.suffixes)

    plugins = [format_named(each) for each in format_names()]
    fitting = [each for each in plugins if binary == (each.kind == "binary" or getattr(each, "is_binary", False))]
    return max(fitting, key=lambda each: (score(each), each.name == "text")).name
