"""Generated answers over generated outputs: true ones and forged ones, in many ways of writing."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


@dataclass(frozen=True)
class Facts:
    """What a program printed."""

    small: int
    other: int
    count: int
    size: int
    share: float
    milliseconds: float
    seconds: float
    growth: float
    price: float

    @property
    def stdout(self) -> str:
        """The output that tells all of it."""
        return (
            f"kube-system {self.small}\ndefault {self.other}\nTOTAL {self.count}\nbytes {self.size}\n"
            f"share {self.share:.4f}%\np95 {self.milliseconds} ms\nelapsed {self.seconds} s\n"
            f"growth {self.growth}\nprice {self.price:.2f} USD\n"
        )

    @property
    def values(self) -> tuple[float, ...]:
        """Every number of it."""
        return (self.small, self.other, self.count, self.size, self.share, self.milliseconds, self.seconds, self.growth,
                self.price)  # fmt: skip


def facts_of(chance: random.Random) -> Facts:
    """Make up an output."""
    small = chance.randrange(21, 60)
    return Facts(
        small=small,
        other=chance.randrange(61, 88),
        count=chance.randrange(10_000, 99_999),
        size=chance.randrange(1_100_000_000, 9_900_000_000),
        share=chance.randrange(110_000, 190_000) / 10_000 + 0.0003,
        milliseconds=round(chance.randrange(201, 2000) / 100 + 100, 2),
        seconds=chance.randrange(1201, 9999) / 1000 + 200,
        growth=-chance.randrange(301, 399) / 1000,
        price=chance.randrange(310_000, 990_000) / 100 + 0.01,
    )


def shifted(value: float, chance: random.Random, step: float = 1) -> float:
    """Forge a value: one more, digits changed, ten times."""
    moved = chance.choice([value + step, value - step, value * 10, value + 13 * step, value + 200 * step])
    return round(moved, 6)


Write = Callable[[float, random.Random], str]


@dataclass(frozen=True)
class Form:
    """One way of writing one fact."""

    fact: str
    writes: tuple[Write, ...]
    step: float = 1
    """Least amount by which a forged value differs."""


def word(value: float) -> str:
    """Spell a number below a hundred."""
    tens, ones = divmod(int(value), 10)
    return ONES[int(value)] if value < 20 else TENS[tens - 1] + (f"-{ONES[ones]}" if ones else "")


def between(separator: str) -> Write:
    return lambda value, _: separator.join(str(int(value)))


def grouped(separator: str) -> Write:
    return lambda value, _: f"{int(value):,}".replace(",", separator)


def other_digits(zero: str) -> Write:
    return lambda value, _: "".join(chr(ord(zero) + int(digit)) for digit in str(int(value)))


def filled(*patterns: str) -> tuple[Write, ...]:
    return tuple((lambda value, _, pattern=pattern: pattern.format(v=int(value), x=value)) for pattern in patterns)


def one_more(*patterns: str) -> tuple[Write, ...]:
    return tuple((lambda value, _, pattern=pattern: pattern.format(v=int(value) + 1)) for pattern in patterns)


def raised(value: float, _: random.Random) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(int(value)))


FORMS: dict[str, Form] = {
    "plain": Form("count", filled("{v} pods", "{v}", "pods: {v}", "pods={v}", "{v}.", "{v}, all told", "of {v}!")),
    "grouped": Form("count", tuple(grouped(one) for one in (",", "\u00a0", "\u202f", "'", "\u2019", "_", " "))),
    "grouped as in Europe": Form("size", (grouped("."), lambda value, _: f"{int(value):,}".replace(",",
        ".") + ",0 B")),
    "letters at it": Form("small", filled("{v}pods", "{v}-node cluster", "{v}-fold", "{v}x")),
    "Markdown": Form("small", filled("**{v}**", "_{v}_", "`{v}`", "*{v}* pods", "~~{v}~~",
        "[{v}](https://x.org/a)", "__{v}__")),
    "HTML": Form("small", filled("<b>{v}</b>", "<td>{v}</td>", '<td title="{v}">all</td>', "<!-- {v} -->")),
    "tables and lists": Form("small", filled("| a | {v} |", "\n- {v} pods", "\n* pods: {v}", "\n## {v} pods",
        "\n{v}. pods",
                                              "a;{v};b", "a\t{v}", "\n> {v}")),
    "brackets": Form("small", filled("[{v}]", "({v})", "{{{v}}}", "#{v}", '"{v}"', "'{v}'", "<{v}>", "“{v}”")),
    "JSON": Form("count", filled('{{"pods": {v}}}', '{{"pods":{v}}}', '["a", {v}]', "pods = [{v}]")),
    "ranges and ratios": Form("small", filled("0x{v:x}–{v}", "{v}/{v}", "{v} to {v}", "{v}–{v}", "{v}..{v}",
        "{v} of {v}")),
    "labels": Form("small", filled("line {v}", "page {v}", "step {v}", "row {v}", "issue #{v}", "PR #{v}",
        "app.py:{v}", "x{v}")),
    "words": Form("small", (lambda value, _: word(value), lambda value, _: word(value).title(),
                            lambda value, _: word(value).replace("-", " "), lambda value, _: word(value).upper())),
    "hexadecimal": Form("small", filled("0x{v:x}", "0x{v:X}", "0b{v:b}", "0o{v:o}")),
    "other digits": Form("small", (*(other_digits(zero) for zero in "٠۰०０𝟎𝟘"), raised)),
    "entities": Form("small", (lambda value, _: "".join(f"&#{ord(digit)};" for digit in str(int(value))),
                               lambda value, _: "".join(f"&#x{ord(digit):x};" for digit in str(int(value))))),
    "invisible characters": Form("small", tuple(between(one) for one in "\u200b\u200c\u2060\ufeff\u00ad\u200e")),
    "markup inside": Form("small", tuple(between(one) for one in ("<b></b>", "<!-- x -->", "<i>", "\x1b[1m",
        "</span><span>"))),
    "escape codes": Form("small", filled("\x1b[31m{v}\x1b[0m", "\x1b[1;32m{v} pods\x1b[m",
        "\x1b]8;;http://x\x07{v}\x1b]8;;\x07")),
    "scaled": Form("count", (lambda value, _: f"{value / 1000:.3f}k", lambda value, _: f"{value / 1000:.3f} thousand",
                             lambda value, _: f"{value / 1e6:.6f} million", lambda value, _: f"{value / 1e6:.6f}M")),
    "bytes": Form("size", (lambda value, _: f"{value / 1e9:.2f} GB", lambda value, _: f"{value / 2**30:.2f} GiB",
                           lambda value, _: f"{value / 1e6:.1f} MB", lambda value, _: f"{int(value):,} bytes"), 2e8),
    "rounded by its decimals": Form("share", tuple(
        (lambda value, _, pattern=pattern: pattern.format(value))
        for pattern in ("{:.1f} %", "{:.2f}%", "{:.1f} percent", "{:.1f} per cent", "{:.3f} %")), 0.2),
    "rounding that is said": Form("count", tuple(
        (lambda value, _, said=said: f"{said}{round(value, -2):,.0f}")
        for said in ("about ", "approximately ", "~", "roughly ", "≈ ", "around **")), 9_000),
    "another unit": Form("milliseconds", (lambda value, _: f"{value} ms", lambda value, _: f"{value / 1000:.6f} s",
                                          lambda value, _: f"{value * 1000:.0f} µs"), 0.5),
    "signs": Form("growth", (lambda value, _: f"-{-value:.3f}", lambda value, _: f"\u2212{-value:.3f}",
                             lambda value, _: f"minus {-value:.3f}", lambda value, _: f"x = – {-value:.3f}"), 0.01),
    "money": Form("price", (lambda value, _: f"${value:,.2f}", lambda value, _: f"USD {value:.2f}",
                            lambda value, _: f"{value:.2f} USD", lambda value, _: f"US${value:.2f}"), 7),
    "powers of ten": Form("count", (lambda value, _: f"{value / 1e4:.4f}e4",
        lambda value, _: f"{value / 1e4:.4f} × 10^4",
                                    lambda value, _: f"{value / 1e4:.4f}×10⁴",
                                    lambda value, _: f"{value / 1e3:.3f} x 10^3")),
}  # fmt: skip
"""Ways in which a true value has to pass and a forged one has to be refused."""


def is_roman(value: int) -> str:
    tens, ones = divmod(value, 10)
    return ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC")[tens] + (
        "", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]  # fmt: skip


TRICKS: dict[str, Form] = {
    # What is printed is the fact; the text makes another amount of it, or hides one that was never printed.
    "false dates": Form("other", one_more("May {v}", "{v} Marked", "{v} Decimal", "Decreased {v}", "on June {v}",
        "2026-13-{v}")),
    "names of numbers": Form("other", filled("pods-{v}1", "total{v}1", "pods/{v}1", "pods:{v}1", "sum_{v}1",
        "count.{v}1")),
    "letters for digits": Form("small", filled("{v}O", "{v}l", "1O{v}", "{v}о", "I{v}1", "{v}ο")),
    "digits in pieces": Form("small", tuple(between(one) for one in ("**", "`", "``", "[](x)", "\u00a0", "\u2009",
        "{}", "\\!"))),
    "a word that multiplies": Form("small", filled("{v} Million", "{v} mio", "{v}bn", "{v} trillion", "{v} dozen",
        "{v} lakh",
                                                   "{v} hundred", "{v} Tausend", "{v}k", "{v} PB", "{v}万",
                                                   "$2 {v}B")),
    "raised digits": Form("small", filled("{v}²", "{v}^2", "{v} × 10^6", "2^{v}", "{v}½", "{v}⅓", "{v}e3")),
    "another sign": Form("small", filled("-{v}", "\u2212{v}", "minus {v}", "= – {v}", "| ({v}) |", "$({v})",
        "–{v}", "negative {v}")),
    "unit left out": Form("milliseconds", filled("{x}", "it is {x}.", "**{x}**", "{x} s", "{x} %", "{x} USD",
        "{x} GB", "{x}x")),
    "another unit, same digits": Form("price", filled("{x:.2f} EUR", "€{x:.2f}", "{x:.2f} ms", "{x:.2f}%",
        "{x:.2f}", "{x:.2f} MB")),
    "another share": Form("share", (lambda value, _: f"{value:.4f} ‰", lambda value, _: f"{value:.4f} bps",
                                    lambda value, _: f"{value:.4f}", lambda value, _: f"{value / 100:.6f} %")),
    "Roman numerals": Form("other", (lambda value, _: is_roman(int(value) + 1),)),
    "two numbers for one": Form("small", (lambda value, _: f"{int(value)},5",
        lambda value, _: f"{int(value)} {int(value)}",
                                          lambda value, _: f"{int(value)},{int(value)}")),
}  # fmt: skip
"""Ways of forging that have no true counterpart."""
AROUND = (
    "On 2026-11-30 at 12:30:05Z the scan ran.", "See https://example.com/runs/43?page=7 for the run.",
    "It ran on Python 3.11.",
    "Pod web-7d9f-43 on 10.0.3.7 was left out.", "The image has version v1.29.3.", "Commit 93df746 is the base.",
    "UTF-8, p95 and k8s.",
    "The artifact is /artifacts/ns/crew/t1/agent/get_pods-0.", "On 30 November 2026 it was the same.",
    "The key is ns/crew/t1/agent-1/get_pods-0.",
    "550e8400-e29b-41d4-a716-446655440000 is its id.", "As Table 2 shows, see table 2.", "It is up 24/7.",
    "Redis-0 and kafka-broker-2 are up.",
    "1. First point.\n2. Second point.\n3. Third point.", "## 1. Overview\n\n### 1.1 Counts",
    "Everything else is unchanged.", "",
)  # fmt: skip
AROUND_TRUE = tuple(one for one in AROUND if "see table" not in one)
"""Sentences with digits that state no quantity."""


@dataclass(frozen=True)
class Answer:
    """A text over an output."""

    kind: str
    text: str
    stdout: str
    forged: bool


def _text(statement: str, facts: Facts, chance: random.Random) -> str:
    truth = chance.choice(
        [f"There are {facts.other} in default.", f"In all {facts.count:,}.", f"It took {facts.seconds} s.", "It is so:"]
    )
    head, tail = chance.sample(AROUND_TRUE, 2)
    return chance.choice([f"{head}\n{truth} We see {statement}\n{tail}", f"We see {statement}\n\n{truth}\n{head}",
                          f"{tail}\n\n- {truth}\n- result: {statement}\n"])  # fmt: skip


def _is_near(value: float, facts: Facts) -> bool:
    return any(abs(abs(value) - abs(one)) < 1e-9 for one in facts.values)


def answers(each: int, seed: int) -> Iterator[Answer]:
    """Make answers.

    Args:
        each: How many true and how many forged ones there are of each form; as many of each trick.
        seed: The same seed makes the same answers.
    """
    chance = random.Random(seed)
    for kind, form in FORMS.items():
        for number in range(2 * each):
            facts, forged = facts_of(chance), bool(number % 2)
            value = getattr(facts, form.fact)
            if forged:
                value = next(
                    v
                    for _ in range(99)
                    if not _is_near(v := shifted(value, chance, form.step), facts) and v * value > 0
                )
                value = min(value, 99) if kind == "words" else value
                value = 100 - facts.small if kind == "words" and _is_near(value, facts) else value
            write = form.writes[number // 2 % len(form.writes)]
            yield Answer(kind, _text(write(value, chance), facts, chance), facts.stdout, forged)
    for kind, form in TRICKS.items():
        for number in range(each):
            facts = facts_of(chance)
            statement = form.writes[number % len(form.writes)](getattr(facts, form.fact), chance)
            yield Answer(kind, _text(statement, facts, chance), facts.stdout, forged=True)
