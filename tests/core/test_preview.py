"""Previews: bounded, without secrets, without characters that act; cut between characters."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmnb.core.preview import clean, compose, fit, is_secret_name, names, neutralise, redact

ACTING = "\x00\x07\x08\x1b\x7f\x85\u200b\u202e\u2066\u2028\ufeff\U000e0041"
ANY = st.text(st.characters(), max_size=80)


@given(ANY, st.integers(0, 60))
def test_a_cut_text_fits_is_valid_and_begins_like_the_source(text: str, limit: int) -> None:
    cut = fit(text, limit)
    assert len(cut.encode()) <= limit
    valid = text.encode("utf-8", "replace").decode()
    assert cut == valid or valid.startswith(cut.removesuffix("…"))


@pytest.mark.parametrize("short", range(5))
@pytest.mark.parametrize("sign", ["é", "€", "😀", "👨‍👩‍👧‍👦"])
def test_a_cut_never_goes_through_a_character(sign: str, short: int) -> None:
    """S06: filler up to the cap, then a sign of several bytes."""
    text = "a" * (2048 - short) + sign * 400
    for cut in (
        fit(text, 2048),
        compose("one line", head=text),
        compose(text),
        compose("x", head="y", tail=sign * 900),
    ):
        assert len(cut.encode()) <= 2048
        assert "\ufffd" not in cut


@given(ANY)
def test_nothing_that_acts_is_left(text: str) -> None:
    shown = neutralise(text)
    assert not any(sign in shown for sign in ACTING)
    assert all(sign == "\n" or sign == "\t" or ord(sign) >= 32 for sign in shown)
    shown.encode("utf-8")


def test_colour_codes_go_and_bidi_marks_are_made_visible() -> None:
    assert neutralise("\x1b[31mred\x1b[0m") == "red"
    assert neutralise("\x1b]0;title\x07x") == "x"
    assert neutralise("a\u202eb") == "a\\u202eb"
    assert neutralise("a\x00b\r\nc") == "a␀b\nc"
    assert neutralise("plain") == "plain"


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("password=hunter22", "secret", "hunter22"),
        ('{"api_key": "abcdef123456"}', "secret", "abcdef123456"),
        ("DB_PASSWORD: 's3cr3t-value'", "secret", "s3cr3t-value"),
        ("Authorization: Bearer abc123def456ghi789", "bearer", "abc123def456ghi789"),
        ("key AKIAIOSFODNN7EXAMPLE end", "aws-key", "AKIAIOSFODNN7EXAMPLE"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "github-token", "ghp_abcdefghij"),
        ("xoxb-123456789012-abcdefghij", "slack-token", "xoxb-1234"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123", "jwt", "eyJzdWIi"),
        ("nats://user:pa55word@host:4222", "url-password", "pa55word"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nxyz\n-----END RSA PRIVATE KEY-----", "private-key", "MIIEabc"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEcutoff", "private-key", "MIIEcutoff"),
        (
            "abcdefghijklmnopqrstuv\nabcdefghijklmnop==\n-----END PRIVATE KEY-----",
            "private-key",
            "abcdefghijklmnopqrstuv",
        ),
        ("tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t", "private-key", "LS0tLS1"),
        ("sk-proj-abcdefghijklmnopqrstuvwx", "api-key", "abcdefghijklmnop"),
    ],
)
def test_what_looks_like_a_secret_becomes_a_placeholder_that_tells_its_kind(text: str, kind: str, secret: str) -> None:
    shown = redact(text)
    assert f"<redacted:{kind}>" in shown
    assert secret not in shown
    assert secret not in compose(text, parts=(text,), head=text, tail=text)


@pytest.mark.parametrize(
    "text",
    [
        "inputTokens: 9015",
        "secretName: my-tls",
        "the password is required",
        "basic auth",
        "token",
        "max_tokens=4096",
        "a/b@c:d",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "A" * 200_000,
        "A" * 40 + "\n" * 100_000,
        ("Ab1/" * 10 + "\n") * 4000,
        "password=" * 20_000,
        "eyJ" * 60_000,
        "://a:" * 40_000,
    ],
)
def test_redaction_takes_linear_time(text: str) -> None:
    begun = time.process_time()
    redact(text)
    assert time.process_time() - begun < 5


@given(ANY, st.lists(ANY, max_size=3), ANY, ANY, st.integers(200, 3000))
def test_a_preview_is_within_its_limit_and_its_first_line_is_the_summary(
    summary: str, parts: list[str], head: str, tail: str, limit: int
) -> None:
    shown = compose(summary, parts=parts, head=head, tail=tail, limit_bytes=limit)
    assert len(shown.encode()) <= limit
    assert shown == neutralise(shown)
    first = " ".join(clean(summary).split("\n"))
    assert shown.split("\n")[0] == fit(first, limit // 4).split("\n")[0]


def test_the_end_of_long_content_is_shown_too_with_a_mark_between() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    shown = compose("1,000 lines", head=text[:4000], tail=text[-2000:])
    assert shown.startswith("1,000 lines\nline 0\nline 1\n")
    assert "\n…\n" in shown
    assert shown.endswith("line 998\nline 999")


@pytest.mark.parametrize(
    ("values", "total", "shown"),
    [
        (["a", "b"], 2, "a, b"),
        (["a", "b"], 9, "a, b, …"),
        (["", "x\ny"], 2, '"", x y'),
        ([], 0, ""),
        (["v"] * 50, 50, ", ".join(["v"] * 12) + ", …"),
        (["é" * 100], 1, "é" * 28 + "…"),
    ],
)
def test_first_values_are_listed_with_a_mark_when_there_are_more(values: list[str], total: int, shown: str) -> None:
    assert names(values, total=total) == shown


def test_names_of_secret_columns_are_known() -> None:
    assert all(map(is_secret_name, ["password", "DB_PASSWORD", "api-key", "Access Token", "client.secret"]))
    assert not any(map(is_secret_name, ["tokens", "secretary", "name", "keyboard", "passwordless"]))
