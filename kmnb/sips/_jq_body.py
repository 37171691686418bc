"""Run one program on many records: here where it is one of the simple ones, else by libjq."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kmnb.sips._jq_eval import Compiler, Stage, run_stages
from kmnb.sips._jq_library import JsonText, outputs
from kmnb.sips._jq_parse import Node, Unsupported, parse
from kmnb.sips._jq_tokens import tokens_of
from kmnb.sips._jq_values import Doubt
from kmnb.sips._json_values import Need, compact, decoder, one_decoder

_BATCH_BYTES = 1 << 20


class Body:
    """A program that is run on records.

    Args:
        program: Its text.
        is_counted: Whether only the number of outputs matters.
    """

    def __init__(self, program: str, *, is_counted: bool = False) -> None:
        self.program = program
        self.need: Need | None = Need()
        self._stages: list[Stage] | None = None
        self._sieve: _Sieve | None = None
        try:
            node = parse(tokens_of(program))
            self._stages, end = Compiler().stages(node, self.need)
        except Unsupported:
            self.need = None
            return
        if end is not None and not is_counted:
            end.whole()
        self._look_twice(node)

    def _look_twice(self, node: Node) -> None:
        """Where records are wanted whole, but few of them, look at the condition before the rest is decoded."""
        if self.need is None or not self.need.is_whole or node.kind not in ("pipe", "call"):
            return
        first = node.parts[0] if node.kind == "pipe" else node
        if first.kind == "call" and first.value == "select":
            need = Need()
            stages, _ = Compiler().stages(first, need)
            if not need.is_whole:
                self._sieve, self.need = _Sieve(need, stages), None

    def decode(self) -> Callable[[bytes], list[Any]]:
        """Make the decoder of the rows that :meth:`outputs` takes."""
        return decoder(self.need)

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

    def _by_library(self, rows: Sequence[bytes]) -> Iterator[JsonText]:
        batch: list[bytes] = []
        size = 0
        for row in rows:
            batch.append(row)
            size += len(row)
            if size >= _BATCH_BYTES:
                yield from outputs(self.program, b"\n".join(batch).decode("utf-8", "replace"))
                batch, size = [], 0
        if batch:
            yield from outputs(self.program, b"\n".join(batch).decode("utf-8", "replace"))


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
