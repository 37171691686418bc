"""jq: run a jq program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kmnb.core.describe import Example, Operation, Param
from kmnb.core.slice import Slice
from kmnb.core.walks import Begins, DocumentEnds, Event, Found, Key, Path, Records, Shape, Walk
from kmnb.sips._jq_body import Body
from kmnb.sips._jq_fold import Folding
from kmnb.sips._jq_library import check_program, outputs
from kmnb.sips._jq_plan import Plan, after, plan_program
from kmnb.sips._json_answer import QUERY_PARAMS, Answer
from kmnb.sips._json_values import check_documents, counting_decoder, decoder


class JqRun:
    """A program under way. Records are handed to it as they pass by; a program over everything gets the document.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._program: str = arguments["program"]
        check_program(self._program)
        self._plan = plan_program(self._program)
        self._answer = Answer(max_bytes, cursor=arguments.get("cursor"))
        self._state = "missing"
        self._keys: list[str] = []
        self._value: tuple[str, str] | None = None
        self._is_plain_count = False

    def walk(self, shape: Shape) -> Walk:
        """Say what is wanted."""
        if shape == "rows":
            self._plan = Plan("records", lambda place: self._program, body=self._program)
        plan = self._plan
        is_drawn = plan.fold == "emit" or plan.stop is not None
        self._body = Body(plan.body, is_counted=plan.fold == "count", is_drawn=is_drawn)
        self._rest = Body(plan.rest) if plan.rest is not None else None
        self._folding = self._new_folding()
        if plan.kind == "whole":
            return Walk(decoder(None), is_whole=True)
        if plan.kind == "records":
            return Walk(self._decoder(), records=plan.path)
        if plan.kind == "keys":
            return Walk(decoder(None), keys=plan.path)
        return Walk(decoder(None), values=frozenset[Path]({plan.path}))

    @property
    def skippable(self) -> int:
        """How many of the first records need not be seen: those before a slice, or before what the cursor tells."""
        plan = self._plan
        if plan.kind != "records":
            return 0
        if plan.fold in ("collect", "nth"):
            return plan.start if plan.body == "." else 0
        return self._answer.resumes_at if self._folding is None else 0

    def passed(self, count: int) -> None:
        """Hear that so many of the first records are left out."""
        if self._folding is not None:
            self._folding.passed(count)
        else:
            self._answer.passed(count)

    def _decoder(self) -> Any:
        """Decode what is looked at of the records, by the body or, where they are collected, by what follows."""
        self._is_plain_count = self._plan.fold == "count" and self._plan.body == "."
        if self._is_plain_count:
            return counting_decoder()
        is_collected = self._plan.fold == "collect" and self._plan.body == "."
        decode = self._rest.decode_elements() if is_collected and self._rest is not None else None
        return decode or self._body.decode()

    def _new_folding(self) -> Folding | None:
        plan = self._plan
        return Folding(plan) if plan.fold != "emit" or plan.stop is not None else None

    @property
    def done(self) -> bool:
        """Whether more input cannot change the answer."""
        return self._answer.is_full

    @property
    def full(self) -> bool:
        """Whether only documents that follow this one could change the answer."""
        return self._state == "answered"

    def feed(self, item: Event) -> None:
        """Take what passed by."""
        if self._answer.is_full:
            return
        if isinstance(item, Records):
            self._answer.add_problems(item.problems)
            self._records(item.rows if self._folding is not None else self._answer.wanted(item))
        elif isinstance(item, Found):
            self._found(item)
        elif isinstance(item, Key):
            self._keys.append(item.name)
        elif isinstance(item, Begins):
            self._state = "walked"
        elif isinstance(item, DocumentEnds):
            self._document_ends()

    def _records(self, rows: Any) -> None:
        if self._folding is None:
            self._answer.add(self._body.outputs(rows))
            return
        if self._state == "answered":
            return
        as_is = self._is_plain_count or (self._plan.body == "." and self._plan.fold == "collect")
        self._folding.add(rows if as_is else self._body.outputs(rows))
        if self._folding.is_done:
            self._answer.add(self._results(self._folding.results()))
            self._state = "answered"

    def _results(self, results: Iterable[Any]) -> Iterable[Any]:
        for result in results:
            if self._rest is None:
                yield result
            else:
                yield from self._rest.of_value(result)

    def _found(self, item: Found) -> None:
        """Run the program on a value that stands at the path, or in its way."""
        self._state = "found"
        text = "[]" if item.data == b"[" else item.data.decode("utf-8", "replace")
        if self._plan.kind == "whole":
            # libjq takes more than JSON: it would make null of NaN, and 1 of 01.
            check_documents(item.data)
            self._answer.add(outputs(self._plan.body, text))
        else:
            # Of a key that stands twice the last one counts.
            self._value = self._whole_from(item.path), text

    def _whole_from(self, path: Path) -> str:
        """Write the program for a value at the beginning of the path."""
        return self._plan.wrap(after(".", self._plan.path[len(path) :]))

    def _document_ends(self) -> None:
        if self._state == "missing" and self._plan.kind != "whole":
            self._answer.add(outputs(self._whole_from(self._plan.path), "null"))
        elif self._state == "found" and self._value is not None:
            self._answer.add(outputs(*self._value))
        elif self._state == "walked" and self._plan.kind == "keys":
            self._answer.add(self._results([sorted(set(self._keys))]))
        elif self._state == "walked" and self._folding is not None:
            self._answer.add(self._results(self._folding.results()))
        self._state, self._keys, self._folding, self._value = "missing", [], self._new_folding(), None
        self._answer.document_ends()

    def finish(self) -> Slice:
        """Give the outputs."""
        return self._answer.slice()


class JqSip:
    """The plug-in."""

    feeds = "walk"
    operation = Operation(
        "jq",
        "Run a jq program.",
        (
            Param("program", "text", "A program of the jq language.", required=True, positional=True),
            *QUERY_PARAMS,
        ),
        (
            Example(b'{"items":[{"n":"a"},{"n":"b"}]}', {"program": ".items[].n"}, ("a", "b"), '"a"\n"b"\n'),
            Example(b'{"a":[1,2,3]}', {"program": ".a | length"}, (3,), "3\n"),
            Example(b'{"n":9007199254740993}', {"program": ".n"}, (9007199254740993,), "9007199254740993\n"),
            Example(b'{"a":1}\n{"a":2}\n', {"program": ".a"}, (1, 2), "1\n2\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> JqRun:
        """Begin."""
        return JqRun(arguments, max_bytes=max_bytes)


SIP = JqSip()
