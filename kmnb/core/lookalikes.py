"""What has digits and states no quantity: dates, addresses, versions, names. Each row is a door for a forged number.

So each row is narrow, is checked (no 43rd of May), and says whether it can be meant as a quantity all the same: what is
doubtful has to be backed like a number in strict mode. docs/explain/numbers.md lists the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from ipaddress import ip_address
from typing import Any

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_NUMBERED = {name[:3]: place for place, name in enumerate(_MONTHS, 1)}
_MONTH = rf"(?:{'|'.join((*_MONTHS, *_NUMBERED, 'Sept'))})\b\.?"
_YEAR = r"(?:19|20)\d\d(?!\d|[.,]\d|%)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
_ZONE = r"(?:\s?(?:Z|UTC|GMT|CET|CEST|[+-]\d\d:?\d\d)\b)"
_SAYS_DAY = r"(?=\s*(?:[.,;:)\]|]|$|(?:at|to|until|till|and|through|was|the|in|it|we|with|there)\b))"
_BEFORE_DAY = re.compile(r"\b(?:on|since|until|till|before|after|through|from)(?: the)?\s$", re.I)
_BEFORE_CLOCK = re.compile(
    r"(?:\b(?:at|by|until|till|since|from|to|before|after|between|and)\s|(?:19|20)\d\d,?\s|[T(–-])$", re.I
)

_IP = r"(?P<ip>\d{1,3}(?:\.\d{1,3}){3})(?:/(?P<net>\d{1,3})|:(?P<port>\d{1,5}))?(?![\w%:]|[.,]\d)"

Check = Callable[[re.Match[str]], bool]
"""Whether what has the form of something can be one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way of writing something that is no quantity."""

    kind: str
    """What it is."""
    pattern: re.Pattern[str]
    """Its form."""
    doubtful: bool = False
    """Whether it may be meant as a quantity, so that it has to be backed in strict mode."""
    check: Check | None = None
    """What it has to meet beside its form."""


def _is_date(match: re.Match[str]) -> bool:
    found = {name: value for name, value in match.groupdict().items() if value is not None}
    month = _NUMBERED[found["month"][:3]] if found["month"][0].isalpha() else int(found["month"])
    try:
        # A day without a year may be the 29th of February.
        date(int(found.get("year", "2024")), month, int(re.sub(r"\D", "", found.get("day", "1"))))
    except ValueError:
        return False
    return True


def _is_sure_day(match: re.Match[str]) -> bool:
    said = _BEFORE_DAY.search(match.string, max(0, match.start() - 14), match.start())
    return said is not None and _is_date(match)


def _is_sure_clock(match: re.Match[str]) -> bool:
    return _BEFORE_CLOCK.search(match.string, max(0, match.start() - 9), match.start()) is not None


def _is_address(match: re.Match[str]) -> bool:
    try:
        ip_address(match["ip"])
    except ValueError:
        return False
    return int(match.groupdict().get("net") or 0) <= 128 and int(match.groupdict().get("port") or 0) < 65536


def _is_sure_address(match: re.Match[str]) -> bool:
    # "8.126.183.148" may be a number with groups of three digits; addresses of private networks are common.
    grouped = re.fullmatch(r"\d{1,3}(?:\.\d{3}){3}", match[0]) is not None
    return _is_address(match) and (not grouped or ip_address(match["ip"]).is_private)


def _is_digest(match: re.Match[str]) -> bool:
    # Digits and letters take turns in a digest; "43000000a" is a number with a letter.
    return len(re.findall(r"\d+|[a-f]+", match[0])) > 2 and not re.fullmatch(r"\d+e\d+", match[0])


def _is_coded(match: re.Match[str]) -> bool:
    runs = re.findall(r"\d+|[a-z]+", match[0].replace("-", ""))
    return len(runs) > 3 and any(set(run) - set("ol") for run in runs if run.isalpha())


def _row(kind: str, pattern: str, **given: Any) -> Row:
    return Row(kind, re.compile(pattern, re.ASCII), **given)


DIGIT_FIRST = (
    _row("time", rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)(?:(?:T|,? ){_CLOCK}(?::[0-5]\d(?:[.,]\d{{1,9}})?)?"
                 rf"{_ZONE}?)?(?![\w%]|-\d|[.,]\d)", check=_is_date),
    _row("time", r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)T(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?Z?\b",
         check=_is_date),
    _row("date", rf"(?P<year>{_YEAR})/(?P<month>\d\d)/(?P<day>\d\d)(?!\d|/)", check=_is_date),
    _row("date", rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>{_YEAR})", check=_is_date),
    _row("date", rf"(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})/(?P<year>{_YEAR})", check=_is_date),
    _row("date", rf"(?P<day>\d{{1,2}})/(?P<month>\d{{1,2}})/(?P<year>{_YEAR})", check=_is_date),
    _row("date", rf"(?P<day>{_DAY})\.?(?: of)?\s(?P<month>{_MONTH}),?\s(?P<year>{_YEAR})", check=_is_date),
    _row("day", rf"(?P<day>{_DAY})\.?(?: of)?\s(?P<month>{_MONTH}){_SAYS_DAY}", check=_is_sure_day),
    _row("day", rf"(?P<day>{_DAY})\.?(?: of)?\s(?P<month>{_MONTH})", doubtful=True, check=_is_date),
    _row("month", r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?![\w%]|-\d|[.,]\d)", doubtful=True),
    _row("clock time", rf"{_CLOCK}:[0-5]\d(?:[.,]\d{{1,9}})?{_ZONE}?(?![\w:%])"),
    _row("clock time", rf"{_CLOCK}(?:{_ZONE}|\s?[ap]m\b)(?![\w:%])"),
    _row("clock time", rf"{_CLOCK}(?![\w:%]|[.,]\d)", check=_is_sure_clock),
    _row("clock time", rf"{_CLOCK}(?![\w:%]|[.,]\d)", doubtful=True),
    _row("address", _IP, check=_is_sure_address),
    _row("address", _IP, doubtful=True, check=_is_address),
    _row("address", r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?![\w:])"),
    _row("address", r"(?P<ip>[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?:/(?P<net>\d{1,3}))?(?![\w:%])",
         check=_is_address),
    _row("digest", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    _row("digest", r"(?!0b[01]+\b)[0-9a-f]{7,128}\b(?![.,]\d)", check=_is_digest),
    _row("version", r"(?!\d{1,3}(?:\.\d{3})+(?!\.?\d))\d{1,5}(?:\.\d{1,5}){2,4}(?:[-+][A-Za-z][\w.-]{0,40})?"
                    r"(?![\w%]|[.,]\d)"),
    _row("name", r"(?!0[xbo])(?=[\d-]{0,40}[a-z])[0-9a-z]{3,40}(?:-[0-9a-z]{1,40}){0,4}(?![\w%-]|[.,]\d)",
         doubtful=True, check=_is_coded),
    _row("ordinal", r"(?i:\d*1st|\d*2nd|\d*3rd|\d+th)\b", doubtful=True),
    _row("idiom", r"24/7\b(?!/)"),
)  # fmt: skip
"""What begins with a digit, in the order in which it is tried."""
_PRODUCTS = (
    r"Python|CPython|Kubernetes|PostgreSQL|Postgres|MySQL|Redis|Java|Node|Node\.js|Go|Rust|Ubuntu|Debian|Alpine|CUDA|"
    r"TLS|OpenSSL|NATS|Linux|Docker|Helm|numpy|pandas|[Vv]ersion|[Rr]elease"
)
_LABELS = (
    "steps?|figures?|fig\\.|tables?|sections?|chapters?|pages?|appendix|parts?|lines?|issues?|phase|option|item|question|"
    "note|row"
)
_REFERS = re.compile(r"(?:\b(?:see|in|of|to|cf\.)(?: the)?\s|\()$", re.I)
LABELLED = re.compile(rf"(?i:(?P<word>{_LABELS})\s)(?P<number>\d{{1,4}})(?![\w%]|[.,]\d)", re.ASCII)
"""A label of a part of a text or of a file."""


def _is_reference(match: re.Match[str]) -> bool:
    said = _REFERS.search(match.string, max(0, match.start() - 9), match.start())
    return said is not None and match["word"].lower().rstrip("s.") in (
        "table",
        "figure",
        "fig",
        "section",
        "chapter",
        "appendix",
    )


LETTER_FIRST = (
    _row("date", rf"(?P<month>{_MONTH})\s(?P<day>{_DAY}),?\s(?P<year>{_YEAR})", check=_is_date),
    _row("date", rf"{_MONTH},?\s{_YEAR}"),
    _row("day", rf"(?P<month>{_MONTH})\s(?P<day>{_DAY})(?![\w%:/-]|[.,]\d){_SAYS_DAY}", check=_is_sure_day),
    _row("day", rf"(?P<month>{_MONTH})\s(?P<day>{_DAY})(?![\w%:/-]|[.,]\d)", doubtful=True, check=_is_date),
    _row("year", rf"(?i:in|since|until|year|during)\s{_YEAR}(?=\s*(?:[.,;:!?)]|$))", doubtful=True),
    _row("reference", LABELLED.pattern, check=_is_reference),
    _row("label", LABELLED.pattern, doubtful=True),
    _row("reference", r"(?i:issue|pr|pull request|mr|ticket|bug)\s\#\d{1,7}\b", doubtful=True),
    _row("address", r"[A-Za-z][A-Za-z0-9+.-]{1,15}://(?=[A-Za-z\[/]|\d{1,3}(?:\.\d{1,3}){3})[^\s<>\"'|`)\]]{1,4096}"),
    _row("address", r"localhost:\d{2,5}\b(?![.,]\d)"),
    _row("address", r"(?P<ip>[A-Fa-f][0-9A-Fa-f]{0,3}(?::[0-9A-Fa-f]{0,4}){2,7})(?:/(?P<net>\d{1,3}))?(?![\w:%])",
         check=_is_address),
    _row("digest", r"(?i:sha\d{1,3}|md5)[:-][0-9a-fA-F]{6,128}\b"),
    _row("digest", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    _row("digest", r"(?=[a-f]{0,64}\d)[0-9a-f]{7,128}\b(?![.,]\d)", check=_is_digest),
    _row("version", rf"(?:{_PRODUCTS})[ /]v?\d{{1,5}}(?:\.\d{{1,5}}){{1,3}}(?:[-+][A-Za-z][\w.-]{{0,40}})?"
                    r"(?![\w%]|[.,]\d|\s(?i:percent|million|billion|thousand))"),
    _row("version", r"[vV]\d{1,4}(?:\.\d{1,5}){1,4}(?:[-+][A-Za-z][\w.-]{0,40})?(?![\w%]|[.,]\d)"),
    _row("version", r"[vV]\d(?:(?:alpha|beta)\d)?(?![\w%]|[.,-]\d)"),
    _row("version", r"[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){1,4}(?:/[a-z0-9._-]{1,60}){1,4}:v?\d{1,4}(?:\.\d{1,4}){1,3}"
                    r"(?:-[a-z][a-z0-9.]{0,30})?(?![\w%]|[.,]\d)"),
    _row("standard", r"(?:RFC|ISO|IEC|PEP)[ -]?\d{1,5}\b(?!\.\d|,\d|%)"),
    _row("standard", r"SHA-?(?:1|2|3|224|256|384|512)\b|UTF-?(?:8|16|32)\b"),
    _row("standard", r"HTTP(?:/[1-3](?:\.[01])?| [1-5]\d\d)\b(?!\.\d|,\d|%)"),
)  # fmt: skip
"""What begins with a letter, in the order in which it is tried."""
