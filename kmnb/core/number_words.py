"""Numbers written as words: forty-three, two hundred, a dozen, half of; English, and Roman numerals.

Small ones are common in prose that counts nothing ("two ways"), so that only strict mode asks for their evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from kmnb.core.number_reading import Token
from kmnb.core.units import PERCENT, unit_at

_BELOW_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_UNITS = {word: value for value, word in enumerate(_BELOW_TWENTY.split())}
_BY_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * tens for tens, word in enumerate(_BY_TENS.split(), 2)} | {"fourty": 40}
_TIMES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SMALL_MAX = 12
"""Largest number whose word alone is common in prose."""
_NAMED = "|".join(sorted((*_UNITS, *_TENS, *_TIMES), key=len, reverse=True))
_LARGE = "|".join(_TIMES)
_NUMBER = (
    rf"(?:(?:an?|half an?)[ -](?=(?:{_LARGE})\b))?(?:{_NAMED})"
    rf"(?:(?:[\s-]{{1,3}}|\sand\s|(?<=ty))(?:{_NAMED}))*"
)
_SHARES = "half|third|quarter|fourth|fifth|sixth|eighth|tenth"
_PARTS = rf"(?:an?|one|two|three|four|five)[ -](?:{_SHARES})s?(?=\sof\b)|half(?!\san?\s(?:{_LARGE})\b)|halves"
_VAGUE = r"(?:dozens|hundreds|thousands|millions|billions)(?=\sof\b)"
_CHANGES = {"doubl": "2", "tripl": "3", "trebl": "3", "quadrupl": "4", "quintupl": "5", "halv": "0.5"}
_CHANGED = rf"(?:{'|'.join(_CHANGES)})(?:ed|ing)|(?:double|triple|treble|quadruple)(?=\s(?:the|that|what|as|\d))"
_FOLD = rf"(?:{_NAMED})-?fold|twice|thrice|{_CHANGED}"
_WORDS = re.compile(
    rf"\b(?:(?P<part>{_PARTS})|(?P<vague>{_VAGUE})|(?P<fold>{_FOLD})|(?P<number>{_NUMBER})(?P<point>\s(?:point|and\sa\shalf|"
    rf"and\sone\shalf)\b(?:[ -](?:{_NAMED})\b)*)?)\b",
    re.IGNORECASE,
)
_NO_ONE = re.compile(
    r"\b(?:the|this|that|each|every|any|which|only|no|another|last|first|next|new|same|other|at|for)\s$", re.IGNORECASE
)
_CHOSEN = re.compile(r"\b(?:top|first|last|next|these|those|following)\s$", re.IGNORECASE)
"""Before a small number: how many are told of, not how many there are."""
_ONE_OF = re.compile(
    r"(?:\s(?:of(?!\s(?:\d|(?:two|three|four|five|six|seven|eight|nine|ten|twenty)\b))|or|another|more|way|thing|time|day|by|can|could|"
    r"should|may|might|must|needs|has|is|as|that|which|who|hand|such|where|with|step|operation|on)\b|-|[.,;:!?)]|$)",
    re.IGNORECASE,
)
_ROMAN = re.compile(
    r"\b(?=[MDCLXVI]{3,}\b|[XVI]{2}\b)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\b(?![-/.]\w)"
)
_SMALL_ROMAN = re.compile(r"\b(?=[xvil]{4,8}\b)(?:xl|l?x{0,3})(?:ix|iv|v?i{0,3})\b(?![-/.]\w)")
_ROMAN_VALUES = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}
_CAPITALS = "CLI CDI CCC CDC DCC DCI DIM DIV MCC MCI MDC MDI MIX MLI VIM CIV XX XXX CXX MMX DCL DML"
_ACRONYMS = frozenset(_CAPITALS.split())


def find_words(text: str) -> Iterator[Token]:
    """Walk the number words of a readable text, in no order.

    Args:
        text: What :func:`kmnb.core.glyphs.readable` gave.

    Yields:
        Tokens of kind ``number word``; without a value where the words cannot be read.
    """
    for match in _WORDS.finditer(text):
        token = _token(match)
        if token is not None:
            yield token
    for match in (*_ROMAN.finditer(text), *_SMALL_ROMAN.finditer(text)):
        if match[0] and match[0] not in _ACRONYMS:
            yield Token("number word", match.start(), match.end(), _roman(match[0].upper()), doubtful=True)


def _token(match: re.Match[str]) -> Token | None:
    written, (start, end) = match[0].lower(), match.span()
    if match["vague"] or match["point"]:
        return Token("number word", start, end, doubtful=bool(match["vague"]))
    if match["part"]:
        halves = written.startswith("half")
        return Token("number word", start, end, "0.5" if halves else "", doubtful=True)
    if match["fold"]:
        word = re.sub(r"-?fold$", "", written)
        changed = next((worth for stem, worth in _CHANGES.items() if word.startswith(stem)), None)
        value = {"twice": "2", "thrice": "3"}.get(word) or changed or _worth(word)
        return Token("number word", start, end, value or "", "x", doubtful=True)
    value, small = _worth(written), written in _UNITS and _UNITS[written] <= SMALL_MAX
    chosen = small and _CHOSEN.search(match.string, max(0, start - 11), start) is not None
    if chosen or (written == "one" and _is_pronoun(match)):
        return None
    unit, end = unit_at(match.string, end)
    vague = written in _TIMES or written == "a dozen"
    return Token(
        "number word", start, end, value or "", "%" if unit in PERCENT else unit, doubtful=(small and not unit) or vague
    )


def _is_pronoun(match: re.Match[str]) -> bool:
    text = match.string
    said = _NO_ONE.search(text, max(0, match.start() - 9), match.start())
    return said is not None or _ONE_OF.match(text, match.end()) is not None


def _worth(written: str) -> str | None:
    """Add up number words as they are said; None where they are not said so."""
    total, group, last = Decimal(0), Decimal(0), 0
    words = re.findall(rf"{_NAMED}|[a-z]+", written)
    if words[:1] == ["half"] and words[1:2] and words[1] in ("a", "an"):
        worth = _worth(" ".join(words[1:]))
        return None if worth is None else format(Decimal(worth) / 2, "f")
    for word in words:
        if word in ("a", "an"):
            group = Decimal(1)
        elif word in _TIMES:
            times = _TIMES[word]
            if times < 1000:
                group = (group or Decimal(1)) * times
            else:
                total, group = total + (group or Decimal(1)) * times, Decimal(0)
            last = times
        elif word != "and":
            value = _UNITS.get(word, _TENS.get(word, 0))
            if 0 < last < 20 or (last in _TENS.values() and not 0 < value < 10):
                return None
            group, last = group + value, value
    return format(total + group, "f")


def _roman(written: str) -> str:
    values = [_ROMAN_VALUES[letter] for letter in written]
    following = [*values[1:], 0]
    return str(sum(-value if value < after else value for value, after in zip(values, following, strict=True)))
