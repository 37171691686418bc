"""Units of numbers: what they multiply by, and which can be turned into each other.

A unit has a dimension: amounts are compared within one dimension only. What is not in these tables is a noun ("pods")
and no unit. Where letters may mean two things ("42m": minutes, metres, milli, million) the unit is a dimension by
itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

_WORDS = {
    "hundred": 2, "thousand": 3, "million": 6, "mio": 6, "mill": 6, "mln": 6, "mn": 6, "milliard": 9, "mrd": 9,
    "billion": 9, "bn": 9, "bln": 9, "trillion": 12, "tn": 12, "trn": 12, "quadrillion": 15, "lakh": 5, "crore": 7,
    "tausend": 3, "millionen": 6, "milliarde": 9, "milliarden": 9, "billionen": 12, "mille": 3, "mil": 3, "millones": 6,
    "milhões": 6, "milioni": 6, "miliardi": 9, "milliards": 9, "tsd": 3, "тыс": 3, "тысяч": 3, "млн": 6, "млрд": 9,
    "kilo": 3, "mega": 6, "giga": 9,
}  # fmt: skip
_DOZENS = {"dozen": 12, "dozens": 12}
_SIGNS = {"k": 3, "K": 3, "M": 6, "G": 9, "T": 12}
PERCENT = frozenset({"%", "percent", "per cent", "pct", "prozent", "pourcent", "procent", "por ciento"})
"""Ways of writing per cent."""
_BYTES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_TIMES = {
    "ns": "1e-9", "nanosecond": "1e-9", "us": "1e-6", "µs": "1e-6", "μs": "1e-6", "microsecond": "1e-6",
    "ms": "1e-3", "msec": "1e-3", "millisecond": "1e-3", "s": "1", "sec": "1", "second": "1", "min": "60",
    "minute": "60", "h": "3600", "hr": "3600", "hour": "3600", "d": "86400", "day": "86400", "week": "604800",
}  # fmt: skip
_MEASURES = {
    "mg": ("g", "1e-3"), "g": ("g", "1"), "kg": ("g", "1e3"), "mW": ("W", "1e-3"), "W": ("W", "1"),
    "kW": ("W", "1e3"), "MW": ("W", "1e6"), "Wh": ("Wh", "1"), "kWh": ("Wh", "1e3"), "MWh": ("Wh", "1e6"),
    "Hz": ("Hz", "1"), "kHz": ("Hz", "1e3"), "MHz": ("Hz", "1e6"), "GHz": ("Hz", "1e9"), "V": ("V", "1"),
    "mV": ("V", "1e-3"), "cm": ("m", "1e-2"), "km": ("m", "1e3"), "meters": ("m", "1"), "metres": ("m", "1"),
}  # fmt: skip
_ALONE = {
    "px": "px", "x": "x", "fold": "x", "°C": "°C", "C": "°C", "°F": "°F", "pp": "point", "percentage point": "point",
    "month": "month", "year": "year", "yr": "year", "m^2": "m^2", "km^2": "km^2", "m^3": "m^3",
    "dollar": "USD", "euro": "EUR",
}  # fmt: skip
_DOUBTFUL = ("m", "b", "t", "P", "E", "Mb", "Gb", "Kb", "mm", "l", "ft", "lb", "oz")
_CODES = "USD EUR GBP JPY CHF CNY INR CAD AUD NZD SEK NOK DKK PLN CZK HUF BRL MXN KRW RUB ZAR SGD HKD"
_MONEY = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW"}
CURRENCIES = _MONEY | {code: code for code in _CODES.split()}
"""Signs and codes of currencies, which stand before or behind an amount."""
_PER = {"s": "s", "sec": "s", "second": "s", "min": "min", "minute": "min", "h": "h", "hour": "h", "day": "day",
        "d": "day",
        "week": "week", "month": "month", "year": "year", "node": "node", "pod": "pod"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unit:
    """What stands with a number."""

    dimension: str = ""
    """What it measures; empty for a bare number. Only amounts of one dimension are compared."""
    scale: Decimal = Decimal(1)
    """What a word such as million multiplies by."""
    factor: Decimal = Decimal(1)
    """What turns the unit into the base of its dimension."""

    @property
    def known(self) -> bool:
        """Whether it means one thing."""
        return not self.dimension.endswith("?")


BARE = Unit()
"""No unit."""


def _bytes() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for letter, power in _BYTES.items():
        forms = {f"{letter}b", f"{letter.upper()}B", f"{letter}B"} if letter else {"B", "byte", "bytes"}
        found |= dict.fromkeys(forms, Unit("byte", factor=Decimal(1000) ** power))
        if letter:
            binary = Unit("byte", factor=Decimal(1024) ** power)
            found |= dict.fromkeys((f"{letter.upper()}i", f"{letter.upper()}iB", f"{letter}iB"), binary)
            bits = Unit("bit", factor=Decimal(1000) ** power)
            found |= dict.fromkeys((f"{letter.upper()}bit", f"{letter}bit"), bits)
            rates = Unit("bit/s", factor=Decimal(1000) ** power)
            found |= dict.fromkeys((f"{letter.upper()}bps", f"{letter}bps", f"{letter.upper()}bit/s"), rates)
    return found | dict.fromkeys(("bit", "bits"), Unit("bit"))


def _table() -> dict[str, Unit]:
    found = {name: Unit(dimension) for name, dimension in _ALONE.items()}
    found |= {name: Unit(f"{name}?") for name in _DOUBTFUL}
    found |= {name: Unit("s", factor=Decimal(factor)) for name, factor in _TIMES.items()}
    found |= {name: Unit(dimension, factor=Decimal(factor)) for name, (dimension, factor) in _MEASURES.items()}
    found |= {name: Unit(code) for name, code in CURRENCIES.items()}
    found |= dict.fromkeys(PERCENT, Unit("%"))
    found |= {name: Unit("%", factor=Decimal("0.01")) for name in ("bps", "basis point")}
    found |= {"‰": Unit("%", factor=Decimal("0.1")), "permille": Unit("%", factor=Decimal("0.1"))}
    found |= {"ppm": Unit("%", factor=Decimal("1e-4"))} | _bytes()
    plain = [
        name
        for name in found
        if len(name) > 2 and name.replace(" ", "").isalpha() and name.islower() and name[-1] != "s"
    ]
    return found | {f"{name}s": found[name] for name in plain}


UNITS = _table()
"""What each way of writing a unit means."""
_SCALES = (
    {name: Decimal(10) ** power for name, power in (*_WORDS.items(), *_SIGNS.items())}
    | {f"{name}s": Decimal(10) ** power for name, power in _WORDS.items() if len(name) > 4}
    | {name: Decimal(times) for name, times in _DOZENS.items()}
)
_CAPITALS = {name.lower(): name for name in (*UNITS, *_SCALES) if len(name) > 1 and name.islower()}
_GLUED_ONLY = frozenset({"x", "E", "P", "C", "d"})
"""Letters that are a unit right behind a number only: in "3 x 4" they stand for something else."""


def _either(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


_END = r"(?![^\W_]|\^|²|³)"
_LONG = [name for name in UNITS if len(name) > 2 and name.islower() and name.replace(" ", "").isalpha()]
_SHORT = [name for name in UNITS if name not in _LONG]
_LONG_SCALES = [name for name in _SCALES if len(name) > 1 and name.islower()]
_SHORT_SCALES = [name for name in _SCALES if name not in _LONG_SCALES]
_GAP = "[ \u00a0\u202f\u2009]?"
_WORD = rf"(?i:{_either(_LONG_SCALES)}){_END}(?!/)"
_COUNTED = "req|requests?|rps|qps|iops|ops|pps|rows?|lines?|records?|events?|msgs?|tokens?|samples?|pods?|users?"
"""Nouns that are written with a letter before them: 43 Mreq/s."""
_SCALE = rf"(?:{_WORD}|(?:{_either(_SHORT_SCALES)})(?:{_END}(?!/)|(?=(?:{_COUNTED}){_END})))"
_NAME = rf"(?:(?i:{_either(_LONG)})|{_either(_SHORT)})(?:(?<=[%‰$€£¥₹₽₩])|{_END})"
_RATE = rf"(?:/|{_GAP}per )(?:{_either(_PER)}){_END}"
_UNIT = re.compile(
    rf"(?P<scale>[- \u00a0\u202f\u2009]?{_SCALE})?(?P<name>[- \u00a0\u202f\u2009]?{_NAME})?"
    rf"(?P<tail>{_GAP}{_WORD})?(?P<rate>{_RATE})?"
)
_SPACES = " \u00a0\u202f\u2009"


def unit_at(text: str, place: int) -> tuple[str, int]:
    """Find the unit that stands behind a number.

    Args:
        text: Any text.
        place: Where the number ends.

    Returns:
        The unit as it is written, and where what belongs to the number ends: of "k bytes" the k, of " days" nothing.
        Without a unit an empty text and the place.
    """
    match = _UNIT.match(text, place)
    if match is None or match.end() == place:
        return "", place
    name, end = match["name"] or "", match.end()
    if (name[:1] in tuple(_SPACES) and name[1:] in _GLUED_ONLY) or (name[:1] == "-" and len(name) < 3):
        end = match.end("scale") if match["scale"] else place
    elif len(name) == 2 and name[0] in tuple(_SPACES) and re.match(r"\s?[=(]", text[end : end + 2]):
        # "a=17 b=42", "17 m(…)": the name of the next thing.
        end = match.end("scale") if match["scale"] else place
    written = text[place:end]
    if name[:1] in tuple(_SPACES) and end > match.start("name"):
        if match["scale"]:
            end = match.end("scale")
        elif (
            len(name) > 3
            and name.isascii()
            and name[1:].islower()
            and _named(UNITS, name).dimension not in ("%", "byte")
        ):
            # "1461 days": a word that stands behind the number, not a part of it.
            end = place
    # A space is kept as one, since "per cent" is a name; before the unit there is none.
    return " ".join(re.sub(rf"[{_SPACES}-]+", " ", written).split()), end


@lru_cache(maxsize=1024)
def unit_of(written: str) -> Unit:
    """Tell what a unit means; one that is not known is a dimension of its own."""
    if not written:
        return BARE
    match = _UNIT.fullmatch(written)
    if match is None:
        return Unit(f"{written}?")
    scale = Decimal(1)
    for part in (match["scale"], match["tail"]):
        scale *= _named(_SCALES, part) if part else 1
    unit = _named(UNITS, match["name"]) if match["name"] else BARE
    rate = re.sub(r"^(?:/| ?per )", "", match["rate"] or "")
    return Unit(unit.dimension + (f"/{_PER[rate]}" if rate else ""), scale, unit.factor)


def _named(table: Mapping[str, Any], written: str) -> Any:
    name = written.strip(f"{_SPACES}.-")
    return table[name] if name in table else table[_CAPITALS[name.lower()]]
