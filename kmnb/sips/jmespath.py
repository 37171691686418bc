"""jmespath: evaluate a JMESPath expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kmnb.core.describe import Example, Operation, Param
from kmnb.core.lenient import told
from kmnb.core.slice import Slice
from kmnb.core.walks import Begins, DocumentEnds, Event, Found, Path, Records, Shape, Walk
from kmnb.errors import BadRequest
from kmnb.sips._jmes_eval import Compiler
from kmnb.sips._jmes_plan import Plan, plan_expression
from kmnb.sips._jmes_slots import SlotRun
from kmnb.sips._jmes_values import parse_expression
from kmnb.sips._json_answer import QUERY_PARAMS, ListAnswer
from kmnb.sips._json_values import Need, counting_decoder, decoder, documents_of, one_decoder


class JmespathRun:
    """An expression under way. Records are handed to it as they pass by.

    Args:
        arguments: Checked arguments of the sip.
        max_bytes: Cap of the answer's text in bytes.
    """

    def __init__(self, arguments: Mapping[str, Any], *, max_bytes: int) -> None:
        self._tree = parse_expression(arguments["expression"])
        self._plan: Plan = plan_expression(self._tree)
        self._answer = ListAnswer(max_bytes, cursor=arguments.get("cursor"))
        self._shape: Shape = "document"
        self._whole_need = Need()
        self._full = Compiler().full(self._tree, self._whole_need)
        self._one = one_decoder(None)
        self._begin()

    def walk(self, shape: Shape) -> Walk:
        """Say what is wanted."""
        self._shape = shape
        plan = self._plan
        if shape == "rows" or plan.is_whole:
            return Walk(decoder(self._whole_need), is_whole=True)
        values: list[Any] = [None] * len(plan.slots)
        self._values = values
        self._rest = Compiler(values, [slot.need for slot in plan.slots]).full(plan.rest, None)
        singles = frozenset(slot.path for slot in plan.slots if not slot.is_list)
        only_counted = all(slot.fold == "length" and not slot.stages for slot in plan.slots if slot.is_list)
        decode = counting_decoder() if only_counted else decoder(plan.need)
        return Walk(decode, records=plan.records, values=singles)

    @property
    def skippable(self) -> int:
        """How many of the first records need not be seen: those before a slice, or before what the cursor tells."""
        if self._shape == "rows":
            return self._answer.resumes_at
        if len(self._runs) != 1 or len(self._plan.slots) != 1:
            return 0
        return self._answer.resumes_at if self._plan.is_list else self._runs[0].skippable

    def passed(self, count: int) -> None:
        """Hear that so many of the first records are left out."""
        if self._shape == "rows":
            self._answer.passed(count)
        else:
            self._runs[0].passed(self._answer.passed_elements(count) if self._plan.is_list else count)

    def _begin(self) -> None:
        """Begin a document."""
        self._state = "missing"
        self._found: dict[Path, Any] = {}
        self._runs = [SlotRun(slot) for slot in self._plan.slots if slot.is_list]

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
        if self._answer.is_full or (self._state == "answered" and not isinstance(item, DocumentEnds)):
            return
        if isinstance(item, Records):
            self._records(item)
        elif isinstance(item, Found):
            self._value(item)
        elif isinstance(item, Begins):
            self._state = "walked"
        elif isinstance(item, DocumentEnds):
            if self._state != "answered" and not self._plan.is_whole:
                self._conclude()
            self._answer.document_ends()
            self._begin()

    def _records(self, item: Records) -> None:
        if self._shape == "rows":
            self._answer.add_problems(item.problems)
            for row in self._answer.wanted(item):
                self._answer.add_value(self._full(row))
            return
        rows = item.rows
        if self._plan.is_list:
            rows = self._answer.wanted_elements(item, len(self._runs[0].values))
        for run in self._runs:
            run.feed(rows)
        is_complete = len(self._runs) == len(self._plan.slots) and all(run.is_done for run in self._runs)
        if is_complete or (self._plan.is_list and self._answer.is_too_long(self._runs[0].values)):
            self._conclude()

    def _value(self, item: Found) -> None:
        if self._plan.is_whole:
            for document in documents_of(item.data, decoder(self._whole_need)):
                self._answer.add_value(self._full(document))
            return
        try:
            self._found[item.path] = [] if item.data == b"[" else self._one(item.data)
        except ValueError as error:
            raise BadRequest("the content", f"is {told(error)}") from None

    def _conclude(self) -> None:
        """Evaluate what is left, now that the document has passed by."""
        if self._plan.records is not None and self._state != "walked":
            self._answer.add_value(self._full(self._small_document()))
        else:
            lists = iter(self._runs)
            for place, slot in enumerate(self._plan.slots):
                self._values[place] = next(lists).result() if slot.is_list else self._found.get(slot.path)
            # What is left asks of the document only whether it is null.
            self._answer.add_value(self._rest(self._found.get((), {})))
        self._state = "answered"

    def _small_document(self) -> Any:
        """Build a document of what was found, for an expression over something that is no list."""
        top: Any = {}
        for path, value in self._found.items():
            if not path:
                return value
            node = top
            for key in path[:-1]:
                node = node.setdefault(key, {})
            node[path[-1]] = value
        return top

    def finish(self) -> Slice:
        """Give the values."""
        return self._answer.slice()


class JmespathSip:
    """The plug-in."""

    feeds = "walk"
    operation = Operation(
        "jmespath",
        "Evaluate a JMESPath expression.",
        (
            Param("expression", "text", "A JMESPath expression.", required=True, positional=True),
            *QUERY_PARAMS,
        ),
        (
            Example(b'{"items":[{"n":1},{"n":2}]}', {"expression": "items[].n"}, ([1, 2],), "[1,2]\n"),
            Example(b'{"a":0}', {"expression": "a"}, (0,), "0\n"),
            Example(b'{"a":1}\n{"a":2}\n', {"expression": "a"}, (1, 2), "1\n2\n"),
        ),
    )

    def start(self, arguments: Mapping[str, Any], *, max_bytes: int) -> JmespathRun:
        """Begin."""
        return JmespathRun(arguments, max_bytes=max_bytes)


SIP = JmespathSip()
