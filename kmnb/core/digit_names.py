"""Names with digits in them: which are well known, and which are a way to write a number."""

from __future__ import annotations

import re
from itertools import pairwise

KNOWN = re.compile(
    r"(?i:k[38]s|[il]1[08]n|a11y|e2e|b2[bc]|[sr]3|ec2|gp[23]|md5|sha(?:1|256|384|512)|utf[- ]?(?:8|16|32)|base(?:32|64)"
    r"|arm64|amd64|aarch64|x86(?:_64)?|x64|u?int(?:8|16|32|64)|float(?:16|32|64)|[iuf](?:8|16|32|64)|ipv[46]|http[123]?|oauth2"
    r"|mp[34]|h26[45]|log4j|neo4j|python[23]|p(?:50|75|80|90|95|98|99|999|99\.9)|q[1-4]|h[1-6]|web[23]|stage[0-3]|[rt]2|co2|h2o)"
)
"""Words of computing that have digits in them."""
_PLURAL = re.compile(
    r"(?i)(?!.*(?:ss|us|is|ns|redis|kubernetes|postgres|jenkins|aws|nats|ingress|gis|os|vis|cs)$)[a-z]{3,}s"
)
_COUNTED = (
    "total count sum number num is are was were has have had average mean median min max about approx only "
    "exactly equals equal minus plus by of to than top bottom least most over under nearly almost some value "
    "result answer percent thousand million billion pct ms kb mb gb tb usd eur gbp kg km people times hundred "
    "dozen score amount size length the these those all with from in at there and or its their our"
)
_COUNTING = frozenset(_COUNTED.split())


def meaning_of(name: str) -> str:
    """Tell what a name with digits in it may mean.

    Returns:
        ``quantity`` where a word that counts stands before the digits, as in ``pods-43`` and ``total43``;
        ``doubtful`` for one word, as in ``x43``; ``name`` for names with several parts, as in ``web-7d9f-43``.
    """
    segments = [re.split(r"[-._]+", segment) for segment in re.split(r"[/:@]+", name)]
    for parts in segments:
        for before, part in pairwise(parts):
            # "get_pods-0" is the key of an artifact; "pods-43" is a way to write a number.
            if part.isdigit() and (before.lower() in _COUNTING or (len(parts) == 2 and _PLURAL.fullmatch(before))):
                return "quantity"
        for part in parts:
            if re.fullmatch(r"\d+s", part):
                return "quantity"
            word = re.fullmatch(r"([A-Za-z]{3,})\d+|\d+([A-Za-z]{3,})", part)
            if word and _counts(word[1] or word[2]):
                return "quantity"
    return "doubtful" if len(segments) == len(segments[0]) == 1 else "name"


def _counts(word: str) -> bool:
    return word.lower() in _COUNTING or _PLURAL.fullmatch(word) is not None
