"""Run one program on many records: here where it is one of the simple ones, else by libjq."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kmnb.sips._jq_eval import Compiler
from kmnb.sips._jq_library import JsonText, first_outputs, outputs
from kmnb.sips._jq_nodes import Node, Unsupported
from kmnb.sips._jq_parse import parse
from kmnb.sips._jq_steps import Stage, run_stages
from kmnb.sips._jq_tokens import tokens_of
from kmnb.sips._jq_values import Doubt
from kmnb.sips._json_values import Need, compact, decoder, one_decoder

_BATCH_BYTES = 1 << 19
_SPLIT_ROWS = 256
OUTPUTS_MAX = 100_000
"""Most outputs of a batch that are written at once; more are drawn one by one, so that an answer can be full."""


class Body:
    """A program that is run on records.

    Args:
        program: Its text.
        is_counted: Whether only the number of outputs matters.
        is_drawn: Whether outputs are taken until there are enough, so that a record with endless ones does no harm.
    """

    def __init__(self, program: str, *, is_counted: bool = False, is_drawn: bool = True) -> None:
        self.program, self._is_drawn = program, is_drawn
        self.need: Need | None = Need()
        self._stages: list[Stage] | None = None
        self._sieve: _Sieve | None = None
        compiler = Compiler()
        try:
            node = parse(tokens_of(program))
            stages, end = compiler.stages(node, self.need)
        except Unsupported:
            self.need = None
            return
        if end is not None and not (is_counted and compiler.is_exact):
            end.whole()
        if compiler.is_exact:
            self._stages = stages
            self._look_twice(node)
        elif self.need.is_whole:
            self.need = None

    def _look_twice(self, node: Node) -> None:
        """Where records are wanted whole, but few of them, look at the condition before the rest is decoded."""
        if self.need is None or not self.need.is_whole or node.kind not in ("pipe", "call"):
            return
        first = node.parts[0] if node.kind == "pipe" else node
        if first.kind == "call" and first.value == "select":
            need = Need()
            compiler = Compiler()
            stages, _ = compiler.stages(first, need)
            if compiler.is_exact and not need.is_whole:
                self._sieve, self.need = _Sieve(need, stages), None

    def decode(self) -> Callable[[bytes], list[Any]]:
        """Make the decoder of the rows that :meth:`outputs` takes; libjq gets numbers as they were written."""
        return decoder(self.need, as_text=self._stages is None)

    def decode_elements(self) -> Callable[[bytes], list[Any]] | None:
        """Make the decoder of the elements of the list that :meth:`of_value` takes; None where it is wanted whole."""
        if self.need is None or self.need.is_whole:
            return None
        return decoder(self.need.items, as_text=self._stages is None)

    def outputs(self, rows: Sequence[Any]) -> Iterable[Any]:
        """Give the outputs of rows, in order.

        Args:
            rows: Made by :meth:`decode`.

        Raises:
            ExpressionError: The program failed on one of them.
        """
        if self._stages is None:
            return self._by_library(rows)
        if self._sieve is not None:
            rows = self._sieve.passed(rows)
        try:
            return run_stages(self._stages, list(rows))
        except Doubt:
            return self._one_by_one(self._stages, rows)

    def of_value(self, value: Any) -> Iterable[Any]:
        """Give the outputs of one value that was made here or by libjq."""
        if self._stages is None:
            return outputs(self.program, text_of(value))
        return self._one_by_one(self._stages, [value.value if isinstance(value, JsonText) else value])

    def _one_by_one(self, stages: list[Stage], rows: Sequence[Any]) -> Iterator[Any]:
        for row in rows:
            try:
                found = run_stages(stages, [row])
            except Doubt:
                yield from outputs(self.program, text_of(row))
            else:
                yield from found

    def _by_library(self, rows: Sequence[Any]) -> Iterator[Any]:
        """Ask libjq about many records at once: they go there as one list, so that it writes one output for all."""
        some = f".[] | ({self.program}\n)"
        if not self._is_drawn:
            for output in first_outputs(f"[{some}]", list(_lists(rows, as_text=self.need is None))):
                yield from output.value
            return
        for text in _lists(rows, as_text=self.need is None):
            found: list[Any] = next(outputs(f"[limit({OUTPUTS_MAX}; {some})]", text)).value
            if len(found) >= OUTPUTS_MAX:
                yield from outputs(some, text)
            else:
                yield from found


def _lists(rows: Sequence[Any], *, as_text: bool) -> Iterator[str]:
    """Write rows as JSON lists of about half a megabyte, so that a window gives two."""
    import msgspec

    start = size = 0
    if as_text:
        for place, row in enumerate(rows):
            size += len(row)
            if size >= _BATCH_BYTES or place + 1 == len(rows):
                yield (b"[%b]" % b",".join(rows[start : place + 1])).decode("utf-8", "replace")
                start, size = place + 1, 0
    elif rows:
        # Parts of records; how long they are is not known before they are written.
        half = (len(rows) + 1) // 2 if len(rows) >= _SPLIT_ROWS else len(rows)
        for start in range(0, len(rows), half):
            some = list(rows[start : start + half])
            try:
                yield msgspec.json.encode(some).decode()
            except UnicodeEncodeError:
                yield compact(some)


class _Sieve:
    """Lets the records pass that may meet a condition; only these are decoded whole."""

    def __init__(self, need: Need, stages: list[Stage]) -> None:
        self._look, self._whole, self._stages = one_decoder(need), one_decoder(None), stages

    def passed(self, rows: Sequence[bytes]) -> list[Any]:
        """Give the values of the records that pass, and of those that libjq must judge."""
        return [self._whole(row) for row in rows if self._may_pass(row)]

    def _may_pass(self, row: bytes) -> bool:
        try:
            return bool(run_stages(self._stages, [self._look(row)]))
        except Doubt:
            return True


def text_of(value: Any) -> str:
    """Write a value, parts that were left undecoded included."""
    import msgspec

    if isinstance(value, JsonText):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return compact(value)


def value_of(output: Any) -> Any:
    """Give the value of an output."""
    return output.value if isinstance(output, JsonText) else output
