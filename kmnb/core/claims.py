"""What a text states: each number that a reader may find in it, however it is written, and what is left out and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kmnb.core.glyphs import TURNED, Readable, readable
from kmnb.core.headings import headed
from kmnb.core.lookalikes import LABELLED
from kmnb.core.number_reading import Token, number_at
from kmnb.core.number_scan import scan
from kmnb.core.number_words import find_words
from kmnb.core.receipt import digest_of

_JOINT = re.compile(r"(?:[*_~`\[\]{}\\\"$'\u2018·\u2024\u2027\u2219•\u00a0]|\\[,;:! ]|\(\)|\{,\})+")
"""Marks between digits that a reader may not see: what stands around them may be one number."""
_LINK = re.compile(r"\]\([^()\s]{0,1024}\)")
_RANGE = re.compile(r"\s?(?:[-–—~]|\.\.\.?|…)\s?|\s(?:to|and|or)\s|/")
_TIGHT = re.compile(r",|[ \u00a0]{1,2}")
_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)^(?P=mark)[ \t]*$", re.M | re.S)
_ROUNDED = re.compile(
    r"(?:\b(?:about|approximately|approx\.?|around|roughly|circa|ca\.|rounded(?: to)?)|(?<!~)~|[≈≃])[\s*_`\"'(]{0,6}$",
    re.I,
)
_BELOW = re.compile(r"\b(?:nearly|almost)[\s*_`\"'(]{0,6}$", re.I)
NUMERIC = frozenset({"number", "glued", "unreadable", "number word"})
"""Kinds that are numbers."""
STATED = NUMERIC | {"counted name"}
"""Kinds that state something, whatever the mode."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something in a text that is a number or may be meant as one."""

    text: str
    """Its characters as a reader sees them."""
    place: int
    """Where it starts in the text as given."""
    kind: str
    """``number``, ``number word``, ``unreadable``, or what it is taken for."""
    value: str = ""
    """Its value without unit; empty where it cannot be read."""
    unit: str = ""
    """Its unit."""
    heading: str = ""
    """The unit that its column's heading names, where it has none of its own."""
    doubtful: bool = False
    """Whether it states a quantity only perhaps."""
    rounding: str = ""
    """``about`` or ``below`` where the text says so."""
    joined: str = ""
    """A number word or unit aside, the one number that it and its neighbours may be read as."""
    group: int = 0
    """Neighbours that may be one number share a group above 0."""
    readings: tuple[str, ...] = field(default=())
    """Values that a lookalike may mean."""


def claims(text: str, programs: frozenset[str] = frozenset()) -> list[Claim]:
    """Find what a text states.

    Args:
        text: Any text, with Markdown or HTML in it or not.
        programs: Digests of programs; a fenced block that is one of them states nothing.

    Returns:
        Claims from left to right.
    """
    turned = any(mark in text for mark in TURNED)
    found: list[Claim] = []
    for part in readable(text, markup=True):
        tokens = _tokens(part.text)
        found += _claims(part, tokens, _programs(part.text, programs))
    if turned:
        # Numbers of such a text may be shown backwards.
        found = [replace(one, kind="unreadable", value="", doubtful=False) for one in found]
    return sorted(found, key=lambda one: one.place)


def _tokens(text: str) -> list[Token]:
    """Bring together what is written in digits and in words."""
    tokens = list(scan(text))
    taken = [(token.start, token.end) for token in tokens]
    words: list[Token] = []
    at = 0
    for word in sorted(find_words(text), key=lambda one: one.start):
        while at < len(taken) and taken[at][1] <= word.start:
            at += 1
        if (at == len(taken) or taken[at][0] >= word.end) and not (words and words[-1].end > word.start):
            words.append(word)
    return sorted([*_sequenced(text, tokens), *words], key=lambda one: one.start)


def _sequenced(text: str, tokens: list[Token]) -> Iterator[Token]:
    """Tell marks of lists, notes and steps, which count up from one, from numbers that stand where they do."""
    lists: dict[int, tuple[int, ...]] = {}
    seen: dict[str, int] = {}
    for token in tokens:
        if token.kind == "marker":
            place = tuple(map(int, token.value.split(".")))
            before = text[text.rfind("\n", 0, token.start) + 1 : token.start]
            indent = -1 if "#" in before else len(before)
            if _follows(place, lists.get(indent)):
                lists[indent] = place
                yield token
            else:
                yield number_at(text, token.start)
        elif token.kind in ("citation", "label"):
            labelled = LABELLED.match(text, token.start) if token.kind == "label" else None
            word = labelled["word"].lower().rstrip("s.") if labelled else ""
            number = int(labelled["number"] if labelled else token.value)
            follows = 0 < number <= seen.get(word, 0) + 1 and word not in ("line", "row", "page", "issue")
            if follows:
                seen[word] = max(number, seen.get(word, 0))
            yield replace(token, doubtful=not follows) if token.kind == "label" or follows else _bare(text, token)
        elif token.kind == "numbered":
            yield _bare(text, token)
        else:
            yield token


def _bare(text: str, token: Token) -> Token:
    digits = re.compile(r"\d").search(text, token.start)
    return number_at(text, digits.start()) if digits else token


def _follows(place: tuple[int, ...], before: tuple[int, ...] | None) -> bool:
    """Tell whether an outline goes on: 1, 2, 2.1, 2.2, 3."""
    if place in ((0,), (1,)) or before is None:
        return place in ((0,), (1,), (1, 1))
    return any(place == (*before[:depth], before[depth] + 1) for depth in range(len(before))) or place in (
        before,
        (*before, 1),
    )


def _programs(text: str, programs: frozenset[str]) -> list[tuple[int, int]]:
    """Find the fenced blocks that are the text of a program whose run is known."""
    if not programs:
        return []
    return [
        match.span("code")
        for match in _FENCE.finditer(text)
        if {digest_of(match["code"]), digest_of(match["code"].rstrip("\n")), digest_of("\n" + match["code"])} & programs
    ]


def _claims(part: Readable, tokens: list[Token], programs: list[tuple[int, int]]) -> Iterator[Claim]:
    text = part.text
    fused = _fused(text, tokens)
    made = []
    for token in fused:
        numeric = token.kind in NUMERIC
        window = text[max(0, token.start - 40) : token.start]
        if window[-1:] in (",", ";", "|", "\n", "\t", "/", "-"):
            window = ""
        made.append(
            Claim(
                text[token.start : token.end],
                part.place(token.start),
                token.kind,
                token.value if numeric else "",
                token.unit,
                doubtful=token.doubtful,
                rounding="about" if _ROUNDED.search(window) else "below" if _BELOW.search(window) else "",
                readings=() if numeric else tuple(re.findall(r"\d+(?:\.\d+)?", text[token.start : token.end])),
            )
        )
    _inherit(text, fused, made)
    _head(text, fused, made)
    _group(text, fused, made)
    for token, claim in zip(fused, made, strict=True):
        is_program = any(start <= token.start < end for start, end in programs)
        yield replace(claim, kind="program", doubtful=False, value="", group=0) if is_program else claim


def _fused(text: str, tokens: list[Token]) -> list[Token]:
    """Put together numbers between which there are only marks that a reader may not see."""
    made: list[Token] = []
    for token in tokens:
        last = next((one for one in reversed(made[-2:]) if one.kind != "address"), None)
        if last and last.kind in NUMERIC and token.kind in NUMERIC and token.start - last.end < 1024:
            gap = _LINK.sub("]", text[last.end : token.start])
            # One star multiplies unless another one closes it; one tilde makes a range.
            apart = gap == "~" or (gap == "*" and text[token.end : token.end + 1] != "*")
            if not gap or (_JOINT.fullmatch(gap) and not apart):
                while made[-1] is not last:
                    made.pop()
                made[-1] = Token("unreadable", last.start, token.end)
                continue
        made.append(token)
    return made


def _inherit(text: str, tokens: list[Token], made: list[Claim]) -> None:
    """Give the first number of a range the unit of the second: "40–45 ms"."""
    for place, (one, two) in enumerate(pairwise(tokens)):
        if one.kind != "number" or two.kind != "number" or one.unit or not two.unit or two.start - one.end > 8:
            continue
        if _RANGE.fullmatch(text[one.end : two.start]):
            made[place] = replace(made[place], unit=two.unit)


def _head(text: str, tokens: list[Token], made: list[Claim]) -> None:
    """Give numbers in the cells of a table the unit of their heading."""
    at = 0
    for start, end, unit in headed(text):
        while at < len(tokens) and tokens[at].start < start:
            at += 1
        for place in range(at, len(tokens)):
            if tokens[place].start >= end:
                break
            if tokens[place].kind == "number" and not tokens[place].unit:
                made[place] = replace(made[place], heading=unit)


def _group(text: str, tokens: list[Token], made: list[Claim]) -> None:
    """Mark neighbours that may be one number: "1 234", "3,14"; longer lists with commas are lists."""
    run: list[int] = []
    groups = 0
    for place in range(len(tokens) + 1):
        token = tokens[place] if place < len(tokens) else None
        gap = text[tokens[run[-1]].end : token.start] if token and run else ""
        same = len(run) < 2 or gap == text[tokens[run[-2]].end : tokens[run[-1]].start]
        if token and run and token.kind == "number" and not tokens[run[-1]].unit and _TIGHT.fullmatch(gap) and same:
            run.append(place)
            continue
        if len(run) > 1:
            groups += 1
            _mark(text[tokens[run[0]].end], [made[one].value for one in run], run=run, made=made, group=groups)
        run = [place] if token and token.kind == "number" and token.value else []


def _mark(gap: str, values: list[str], *, run: list[int], made: list[Claim], group: int) -> None:
    if gap == "," and len(values) > 2 and not (len(values[-1]) == 3 and all(len(one) == 2 for one in values[1:-1])):
        return
    written = gap.join(values)
    joined = re.sub(r"[ \u00a0,]", "", written.replace(",", ".")) if gap == "," and len(values) == 2 else ""
    if re.fullmatch(r"\d{1,3}(?:(?:[ \u00a0]\d{3})+|(?:,\d{2})+,\d{3})(?:\.\d+)?", written):
        joined = re.sub(r"[ \u00a0,]", "", written)
    joined = joined if re.fullmatch(r"\d+(?:\.\d+)?", joined) else ""
    for place in run:
        made[place] = replace(made[place], joined=joined, group=group, unit=made[run[-1]].unit)
