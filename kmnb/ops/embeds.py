"""Resolve embeds: what stands for each directive, within one scope, one budget, and without an error ever leaving."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kmnb.core.companion import companion_of
from kmnb.core.embed_grammar import Embed, Scanner, cut_text, parse_chain, parse_spec
from kmnb.core.embed_math import evaluate_math, format_number
from kmnb.core.embed_values import Value, bare_type, data_uri, decode_text, is_text_type, write_value
from kmnb.errors import ArtifactNotFound, BadRequest, ExpressionError, KmnbError, clip
from kmnb.ops._embed_budget import Budget
from kmnb.ops._embed_chain import apply_step, parsed, render_template
from kmnb.ops.context import Context
from kmnb.ops.handle import Artifact
from kmnb.ops.pins import load_pinned
from kmnb.ops.project import content_part, name_of, reference_of
from kmnb.ops.whole import read_whole

DEPTH_MAX = 12
"""How deep artifacts embed each other."""
PROBLEMS_MAX = 100
"""Most problems that one text or piece of a stream tells."""
STAGES = {
    "early": frozenset({"math", "datetime", "uuid", "artifact_meta", "status_update"}),
    "late": frozenset({"artifact_content", "artifact_return", "status_update"}),
}
"""Types by the stage that resolves them."""
STAGES["all"] = STAGES["early"] | STAGES["late"]
_NESTED = frozenset({"math", "datetime", "uuid", "artifact_meta", "artifact_content"})


class Resolved(str):
    """A resolved text: a plain ``str`` that also tells what left it."""

    __slots__ = ("parts", "problems")

    parts: tuple[dict[str, Any], ...]
    """Typed parts that go with the text: attached files, typed references, progress events; JSON values."""
    problems: tuple[str, ...]
    """Texts that stand for embeds that failed, the first 100."""

    def __new__(cls, text: str, parts: Iterable[dict[str, Any]] = (), problems: Iterable[str] = ()) -> Resolved:
        """Make one.

        Args:
            text: The text.
            parts: What goes with it.
            problems: What failed.
        """
        made = super().__new__(cls, text)
        made.parts, made.problems = tuple(parts), tuple(problems)
        return made


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an embed stands."""

    types: frozenset[str]
    """Types that are resolved here; others stay as they are."""
    inside: tuple[tuple[str, str], ...] = ()
    """Key and name of every artifact around it, outermost first."""


@dataclass(slots=True)
class Resolver:
    """One resolution: a text or a stream, with one budget. Its methods run on kmnb's loop."""

    context: Context
    """The workspace; names are looked up in its scope only."""
    stage: str = "late"
    """One of :data:`STAGES`."""
    scanner: Scanner = field(default_factory=Scanner)
    """Holds back what may still become an embed."""
    budget: Budget = field(default_factory=Budget)
    """What is left."""
    parts: list[dict[str, Any]] = field(default_factory=list)
    """Parts of the piece that is being resolved."""
    problems: list[str] = field(default_factory=list)
    """What failed in it."""

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise BadRequest(f"stage {self.stage!a:.80}", "is not known", f"Known: {', '.join(STAGES)}.")

    async def feed(self, text: str) -> Resolved:
        """Resolve the next piece of a stream."""
        return await self._piece(self.scanner.feed(text))

    async def finish(self) -> Resolved:
        """End the stream; what was held back comes out."""
        return await self._piece(self.scanner.finish())

    async def whole(self, text: str) -> Resolved:
        """Resolve a whole text."""
        return await self._piece(cut_text(text))

    async def _piece(self, cuts: Iterable[str | Embed]) -> Resolved:
        self.parts, self.problems = [], []
        text = await self._joined(cuts, _Place(STAGES[self.stage]))
        return Resolved(text, self.parts, self.problems)

    async def _joined(self, cuts: Iterable[str | Embed], place: _Place) -> str:
        return "".join([cut if isinstance(cut, str) else await self._evaluate(cut, place) for cut in cuts])

    async def _evaluate(self, embed: Embed, place: _Place) -> str:
        """Give what stands for an embed; a failure is a text in brackets."""
        if embed.type not in place.types:
            return embed.raw
        try:
            self.budget.spend(nodes=1)
            return await _TYPES[embed.type](self, embed, place)
        except ArtifactNotFound as error:
            problem = f"[Error loading artifact {_shown(embed)}: {_plain(error.reason, 300)}]"
        except KmnbError as error:
            problem = f"[Error: {_plain(f'{error.thing}: {error.reason}' if error.reason else error.thing, 400)}]"
        except Exception as error:
            # Resolution never raises: the reader of a reply is not who can mend an embed.
            problem = f"[Error: {embed.type} failed: {type(error).__name__}]"
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(problem)
        return problem

    async def _math(self, embed: Embed, place: _Place) -> str:
        dice: dict[str, Callable[..., Any]] = {
            "random": random.random,
            "randint": random.randint,
            "uniform": random.uniform,
        }
        return format_number(evaluate_math(embed.expression, dice), embed.format)

    async def _datetime(self, embed: Embed, place: _Place) -> str:
        moment = (await self.context.now()).astimezone().replace(tzinfo=None)
        return _moment(moment, embed.expression)

    async def _uuid(self, embed: Embed, place: _Place) -> str:
        return str(uuid.uuid4())

    async def _meta(self, embed: Embed, place: _Place) -> str:
        artifact = await self._load(*parse_spec(embed.expression))
        _, info = await artifact.locate()
        return _block(companion_of(info, filename=name_of(artifact), version=artifact.version or 0))

    async def _status(self, embed: Embed, place: _Place) -> str:
        self.parts.append({"type": "agent_progress_update", "status_text": embed.expression})
        return ""

    async def _return(self, embed: Embed, place: _Place) -> str:
        artifact = await self._load(*parse_spec(embed.expression))
        _, info = await artifact.locate()
        facts = {"name": name_of(artifact), "version": artifact.version, "size_bytes": info.size}
        media_type = artifact.media_type or "application/octet-stream"
        self.parts.append({"type": "file", **facts, "mime_type": media_type, "uri": artifact.uri})
        return ""

    async def _content(self, embed: Embed, place: _Place) -> str:
        chain = parse_chain(embed)
        artifact = await self._load(chain.name, chain.version)
        area, info = await artifact.locate()
        inside = _deeper(place, info.key, name_of(artifact))
        cap = self.context.settings.embed_max_bytes
        if info.size is not None and info.size > cap:
            return await self._refer(artifact)
        self.budget.spend(count=info.size or 0)
        raw = await read_whole(area, info.key, max_bytes=cap, info=info)
        form = (chain.format or "text").lower()
        if form == "datauri" and not chain.steps:
            return await self._capped(data_uri(raw, artifact.media_type), artifact)
        if not is_text_type(artifact.media_type):
            if chain.steps:
                raise ExpressionError(chain.steps[0].name, f"needs text, not {bare_type(artifact.media_type)}")
            if place.inside:
                return await self._capped(data_uri(raw, artifact.media_type), artifact)
            self.parts.append(content_part(raw, info, name=name_of(artifact), version=artifact.version))
            return ""
        text = await self._joined(cut_text(decode_text(raw)), _Place(_NESTED, inside))
        value = Value("text", text, bare_type(artifact.media_type))
        for step in chain.steps:
            if step.name == "apply_to_template":
                value = await self._template(value, step.argument, _Place(_NESTED, inside))
            else:
                with self.budget.working():
                    value = await apply_step(value, step)
        if form in ("json", "json_pretty", "csv"):
            value = await parsed(value)
        return await self._capped(await asyncio.to_thread(write_value, value, form), artifact)

    async def _template(self, value: Value, argument: str, place: _Place) -> Value:
        template = await self._load(*parse_spec(argument))
        area, info = await template.locate()
        inside = _deeper(place, info.key, name_of(template))
        self.budget.spend(nodes=10, count=info.size or 0)
        raw = await read_whole(area, info.key, max_bytes=self.context.settings.embed_max_bytes, info=info)
        with self.budget.working():
            text = await render_template(decode_text(raw), value)
        self.budget.spend(count=len(text))
        return replace(value, kind="text", data=await self._joined(cut_text(text), _Place(_NESTED, inside)))

    async def _capped(self, text: str, artifact: Artifact) -> str:
        """Give a result, or a typed reference where it is larger than the cap."""
        size = len(text.encode("utf-8", "replace"))
        if size > self.context.settings.embed_max_bytes:
            return await self._refer(artifact)
        self.budget.spend(count=size)
        return text

    async def _refer(self, artifact: Artifact) -> str:
        _, info = await artifact.locate()
        reference = reference_of(info, name=name_of(artifact), version=artifact.version)
        self.parts.append(reference)
        return json.dumps(reference, ensure_ascii=False)

    async def _load(self, name: str, version: int | None) -> Artifact:
        if not name:
            raise BadRequest("embed", "names no artifact")
        return await load_pinned(self.context, name, version)


_TYPES = {
    "math": Resolver._math,
    "datetime": Resolver._datetime,
    "uuid": Resolver._uuid,
    "artifact_meta": Resolver._meta,
    "status_update": Resolver._status,
    "artifact_return": Resolver._return,
    "artifact_content": Resolver._content,
}


def _deeper(place: _Place, key: str, name: str) -> tuple[tuple[str, str], ...]:
    """Step into an artifact; refuses a cycle and what is too deep."""
    if any(key == known for known, _ in place.inside):
        way = " > ".join([*(known for _, known in place.inside), name])
        raise ExpressionError("embed cycle", clip(way, 300))
    if len(place.inside) >= DEPTH_MAX:
        raise ExpressionError("Max embed depth exceeded")
    return (*place.inside, (key, name))


def _moment(moment: datetime, form: str) -> str:
    known = {"": moment.isoformat(), "now": moment.isoformat(), "iso": moment.isoformat()}
    known |= {"timestamp": str(moment.timestamp()), "date": f"{moment:%Y-%m-%d}", "time": f"{moment:%H:%M:%S}"}
    if form.lower() in known:
        return known[form.lower()]
    # A width such as %9999999d would make a text of that size.
    if any(after[:1].isdigit() or after[:2] in ("-1", "_1", "01") for after in form.split("%")[1:]) or len(form) > 200:
        raise ExpressionError(f"datetime {form!a:.80}", "is no format")
    return moment.strftime(form)


def _block(told: dict[str, Any]) -> str:
    """Write metadata for a model: one bullet a fact."""
    schema = told.pop("schema", None) or {}
    columns = [str(name) for name in schema.get("columns", ())[:50]]
    lines = [f"Artifact: '{told.pop('filename')}' (version: {told.pop('version')})"]
    lines += [f"- {name}: {_plain(str(value), 500)}" for name, value in told.items() if value not in (None, "", [], {})]
    lines += [f"- columns: {_plain(', '.join(columns), 1000)}"] if columns else []
    lines += [f"- rows: {schema['rows']}"] if "rows" in schema else []
    return "\n".join(lines)


def _shown(embed: Embed) -> str:
    spec = embed.expression.partition(">>>")[0].strip()
    return f"'{_plain(spec, 200)}'"


def _plain(text: str, limit_bytes: int) -> str:
    return clip(" ".join(str(text).split()), limit_bytes)
