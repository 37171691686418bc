"""The sips as methods of a handle, typed as people call them.

``tests/ops/test_handle_signatures.py`` holds these methods equal to the declarations of the sips. A sip that has no
method here, for example one of an installed plug-in, is reached by its name all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kmnb._bridge import blocking, bridged
from kmnb.core.slice import Slice


class SipMethods:
    """Bounded reads. Every method has a coroutine twin with the suffix ``_async``."""

    async def _sip(self, name: str, /, **arguments: Any) -> Slice:
        """Run a sip by name; the arguments are checked against its declaration."""
        raise NotImplementedError

    async def _head(
        self, lines: int = 20, *, cursor: str | None = None, max_bytes: int | None = None, section: str | None = None
    ) -> Slice:
        """Show the first lines.

        Args:
            lines: How many.
            cursor: Where an earlier page ended.
            max_bytes: Cap of the answer in bytes.
            section: Name of the ``[section]`` to read where a text holds several.

        Returns:
            Lines as text, without line ends.
        """
        return await self._sip("head", lines=lines, cursor=cursor, max_bytes=max_bytes, section=section)

    async def _tail(self, lines: int = 20, *, max_bytes: int | None = None, section: str | None = None) -> Slice:
        """Show the last lines; the newest are kept where the cap is too small for all.

        Args:
            lines: How many.
            max_bytes: Cap of the answer in bytes.
            section: Name of the ``[section]`` to read where a text holds several.

        Returns:
            Lines as text, without line ends.
        """
        return await self._sip("tail", lines=lines, max_bytes=max_bytes, section=section)

    async def _lines(
        self,
        start: int = 0,
        limit: int = 100,
        *,
        cursor: str | None = None,
        max_bytes: int | None = None,
        section: str | None = None,
    ) -> Slice:
        """Show a page of lines by number.

        Args:
            start: First line, counted from 0.
            limit: Most lines; 0 for the rest.
            cursor: Where an earlier page ended; replaces ``start``.
            max_bytes: Cap of the answer in bytes.
            section: Name of the ``[section]`` to read where a text holds several.

        Returns:
            Lines as text; ``total`` is the number of lines that there are.
        """
        return await self._sip("lines", start=start, limit=limit, cursor=cursor, max_bytes=max_bytes, section=section)

    async def _count(self, *, max_bytes: int | None = None, section: str | None = None) -> Slice:
        """Count the records as the format defines them; else the lines that are not blank.

        Args:
            max_bytes: Cap of the answer in bytes.
            section: Name of the ``[section]`` to read where a text holds several.

        Returns:
            One value, the number.
        """
        return await self._sip("count", max_bytes=max_bytes, section=section)

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
        max_bytes: int | None = None,
        section: str | None = None,
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
            max_bytes: Cap of the answer in bytes.
            section: Name of the ``[section]`` to read where a text holds several.

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
            max_bytes=max_bytes,
            section=section,
        )

    async def _jq(self, program: str, *, max_bytes: int | None = None, section: str | None = None) -> Slice:
        """Run a jq program.

        Args:
            program: A program of the jq language.
            max_bytes: Cap of the answer in bytes.
            section: Name of the ``[section]`` to read where a text holds several.

        Returns:
            One value for every output; integers are exact.

        Raises:
            ExpressionError: The program cannot be understood, or it failed.
            BoundExceeded: It took too long, or the document is too large to load.
        """
        return await self._sip("jq", program=program, max_bytes=max_bytes, section=section)

    async def _jmespath(self, expression: str, *, max_bytes: int | None = None, section: str | None = None) -> Slice:
        """Evaluate a JMESPath expression.

        Args:
            expression: A JMESPath expression.
            max_bytes: Cap of the answer in bytes.
            section: Name of the ``[section]`` to read where a text holds several.

        Returns:
            One value for every document.

        Raises:
            ExpressionError: The expression cannot be understood, or it failed.
            BoundExceeded: It took too long, or its value is too large.
        """
        return await self._sip("jmespath", expression=expression, max_bytes=max_bytes, section=section)

    async def _select(
        self, /, columns: Sequence[str] | str, *, where: str | None = None, limit: int | None = None, **more: Any
    ) -> Slice:
        """Show some columns of the rows.

        Args:
            columns: Names of the columns.
            where: A condition that rows must meet.
            limit: Most rows.
            more: Further arguments of the sip.

        Returns:
            Dicts by column name; values are not retyped.
        """
        return await self._sip("select", columns=columns, where=where, limit=limit, **more)

    async def _schema(self, /, **more: Any) -> Slice:
        """Tell the columns, or the paths of a document, with their types.

        Args:
            more: Arguments of the sip.

        Returns:
            Dicts with ``name``, ``type`` and ``nullable``.
        """
        return await self._sip("schema", **more)

    async def _stats(self, /, **more: Any) -> Slice:
        """Summarise the columns.

        Args:
            more: Arguments of the sip.

        Returns:
            Dicts with ``column``, ``count``, ``nulls``, ``min``, ``max``, ``sum``, ``mean``, ``distinct`` and ``top``.
        """
        return await self._sip("stats", **more)

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
