"""The sips as methods of a handle, typed as people call them.

``tests/ops/test_handle.py`` holds these methods equal to the declarations of the sips. A sip that has no method here,
for example one of an installed plug-in, is reached by its name all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from kmnb._bridge import blocking, bridged
from kmnb.core.slice import Slice


class SipOptions(TypedDict, total=False):
    """What every sip takes."""

    max_bytes: int | None
    """Cap of the answer in bytes, at most 64 MiB; 65,536 when not given."""
    section: str | None
    """Name of the ``[section]`` to read where a text holds several."""


class RecordOptions(SipOptions, total=False):
    """What sips over records take: how the content is to be read. None means "find out"."""

    delimiter: str | None
    """Character between cells."""
    quote: str | None
    """Quote character of cells."""
    encoding: str | None
    """Text encoding."""
    header: bool | None
    """Whether the first record names the columns."""
    strict: bool
    """Whether a bad record is an error instead of being skipped."""


class QueryOptions(SipOptions, total=False):
    """What queries take."""

    timeout_seconds: float
    """Longest time for one step; a document that is loaded whole gets more for its size."""
    strict: bool
    """Whether a line that is no JSON is an error instead of being skipped."""
    cursor: str | None
    """Where an earlier answer ended."""


class SipMethods:
    """Bounded reads. Every method has a coroutine twin with the suffix ``_async``."""

    async def _sip(self, name: str, /, **arguments: Any) -> Slice:
        """Run a sip by name; the arguments are checked against its declaration."""
        raise NotImplementedError

    async def _head(self, lines: int = 20, *, cursor: str | None = None, **options: Unpack[SipOptions]) -> Slice:
        """Show the first lines.

        Args:
            lines: How many.
            cursor: Where an earlier page ended.
            options: See :class:`SipOptions`.

        Returns:
            Lines as text, without line ends; ``total`` is the number of lines that there are.
        """
        return await self._sip("head", lines=lines, cursor=cursor, **options)

    async def _tail(self, lines: int = 20, **options: Unpack[SipOptions]) -> Slice:
        """Show the last lines; the newest are kept where the cap is too small for all.

        Args:
            lines: How many.
            options: See :class:`SipOptions`.

        Returns:
            Lines as text, without line ends; ``total`` is the number of lines that there are.
        """
        return await self._sip("tail", lines=lines, **options)

    async def _lines(
        self, start: int = 0, limit: int = 100, *, cursor: str | None = None, **options: Unpack[SipOptions]
    ) -> Slice:
        """Show a page of lines by number.

        Args:
            start: First line, counted from 0.
            limit: Most lines; 0 for the rest.
            cursor: Where an earlier page ended; replaces ``start``.
            options: See :class:`SipOptions`.

        Returns:
            Lines as text; ``total`` is the number of lines that there are.
        """
        return await self._sip("lines", start=start, limit=limit, cursor=cursor, **options)

    async def _count(self, /, **options: Unpack[RecordOptions]) -> Slice:
        """Count the records as the format defines them; else the lines that are not blank.

        Args:
            options: See :class:`RecordOptions`.

        Returns:
            One value, the number.
        """
        return await self._sip("count", **options)

    async def _grep(
        self,
        pattern: str,
        *,
        max: int = 100,
        context: int = 0,
        ignore_case: bool = False,
        fixed: bool = False,
        invert: bool = False,
        count_all: bool = False,
        strip_ansi: bool = False,
        cursor: str | None = None,
        **options: Unpack[SipOptions],
    ) -> Slice:
        """Show the lines that match an RE2 pattern.

        Args:
            pattern: Every line is matched by itself.
            max: Most matches.
            context: Lines shown before and after each match.
            ignore_case: Whether letters match in both cases.
            fixed: Whether the pattern is plain text.
            invert: Whether to show the lines that do not match.
            count_all: Whether to count every match although the answer is full.
            strip_ansi: Whether colour codes are taken out before matching.
            cursor: Where an earlier answer ended.
            options: See :class:`SipOptions`.

        Returns:
            :class:`~kmnb.core.slice.Match` values.

        Raises:
            ExpressionError: RE2 does not understand the pattern.
        """
        return await self._sip(
            "grep",
            pattern=pattern,
            max=max,
            context=context,
            ignore_case=ignore_case,
            fixed=fixed,
            invert=invert,
            count_all=count_all,
            strip_ansi=strip_ansi,
            cursor=cursor,
            **options,
        )

    async def _jq(self, program: str, **options: Unpack[QueryOptions]) -> Slice:
        """Run a jq program.

        Args:
            program: A program of the jq language.
            options: See :class:`QueryOptions`.

        Returns:
            One value for every output; integers are exact.

        Raises:
            ExpressionError: The program cannot be understood, or it failed.
            BoundExceeded: It took too long, or the document is too large to load.
        """
        return await self._sip("jq", program=program, **options)

    async def _jmespath(self, expression: str, **options: Unpack[QueryOptions]) -> Slice:
        """Evaluate a JMESPath expression.

        Args:
            expression: A JMESPath expression.
            options: See :class:`QueryOptions`.

        Returns:
            One value for every document.

        Raises:
            ExpressionError: The expression cannot be understood, or it failed.
            BoundExceeded: It took too long, or its value is too large.
        """
        return await self._sip("jmespath", expression=expression, **options)

    async def _select(
        self,
        columns: Sequence[str] | str,
        *,
        where: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **options: Unpack[RecordOptions],
    ) -> Slice:
        """Show some columns of the rows.

        Args:
            columns: Names of the columns; ``"*"`` for all.
            where: A condition that rows must meet, such as ``status = 'Running' and restarts > 3``.
            limit: Most rows; all that fit when not given.
            cursor: Where an earlier answer ended.
            options: See :class:`RecordOptions`.

        Returns:
            Dicts by column name; values are not retyped.

        Raises:
            BadRequest: A column does not exist (near names are listed), or the condition cannot be understood.
        """
        return await self._sip("select", columns=columns, where=where, limit=limit, cursor=cursor, **options)

    async def _schema(self, *, rows: int = 1000, **options: Unpack[RecordOptions]) -> Slice:
        """Tell the columns, or the paths of a document, with their types.

        Args:
            rows: Records whose types are looked at; 0 for all.
            options: See :class:`RecordOptions`.

        Returns:
            Dicts with ``name``, ``type`` and ``nullable``.
        """
        return await self._sip("schema", rows=rows, **options)

    async def _stats(
        self,
        columns: Sequence[str] | str | None = None,
        *,
        where: str | None = None,
        top: int = 10,
        decimal: str = ".",
        **options: Unpack[RecordOptions],
    ) -> Slice:
        """Summarise the columns.

        Args:
            columns: Names of the columns; None for all.
            where: A condition that rows must meet.
            top: How many of the most frequent values are told.
            decimal: Sign before the fraction of numbers in text.
            options: See :class:`RecordOptions`.

        Returns:
            Dicts with ``column``, ``count``, ``nulls``, ``min``, ``max``, ``sum``, ``mean``, ``distinct`` and ``top``.
        """
        return await self._sip("stats", columns=columns, where=where, top=top, decimal=decimal, **options)

    async def _sample(self, rows: int = 20, *, seed: int = 0, **options: Unpack[RecordOptions]) -> Slice:
        """Show rows picked by chance, the same ones for the same seed.

        Args:
            rows: How many.
            seed: Which choice.
            options: See :class:`RecordOptions`.

        Returns:
            Dicts by column name.
        """
        return await self._sip("sample", rows=rows, seed=seed, **options)

    async def _outline(self, /, **options: Unpack[RecordOptions]) -> Slice:
        """Show the paths of the records with their types and how often they occur.

        Args:
            options: See :class:`RecordOptions`.

        Returns:
            Dicts with ``path``, ``count`` and ``types``.
        """
        return await self._sip("outline", **options)

    head, head_async = blocking(_head), bridged(_head)
    tail, tail_async = blocking(_tail), bridged(_tail)
    lines, lines_async = blocking(_lines), bridged(_lines)
    count, count_async = blocking(_count), bridged(_count)
    grep, grep_async = blocking(_grep), bridged(_grep)
    jq, jq_async = blocking(_jq), bridged(_jq)
    jmespath, jmespath_async = blocking(_jmespath), bridged(_jmespath)
    select, select_async = blocking(_select), bridged(_select)
    schema, schema_async = blocking(_schema), bridged(_schema)
    stats, stats_async = blocking(_stats), bridged(_stats)
    sample, sample_async = blocking(_sample), bridged(_sample)
    outline, outline_async = blocking(_outline), bridged(_outline)
