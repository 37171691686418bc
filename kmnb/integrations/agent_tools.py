"""The artifact tools of Agent Mesh as plain functions, for the tool list of any agent framework.

Each gives a JSON object with ``status`` (``success``, ``partial`` or ``error``), ``message`` and ``data``. None raises
for what a model asks; every answer is bounded.
"""

from __future__ import annotations

import base64
import binascii
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from kmnb._bridge import bridge, run
from kmnb.core.agent_answers import answer, error_answer, numbered, text_answer
from kmnb.core.companion import companion_of, read_custom
from kmnb.core.embed_grammar import Embed, cut_text, parse_chain, parse_spec
from kmnb.core.embed_values import decode_text, is_text_type
from kmnb.core.metadata import ObjectInfo
from kmnb.core.replacing import Replacement, replace_all
from kmnb.errors import BadRequest, BoundExceeded, KmnbError
from kmnb.ops._embed_chain import compile_pattern
from kmnb.ops.embeds import Resolver
from kmnb.ops.handle import Artifact
from kmnb.ops.listing import summarise_names
from kmnb.ops.project import name_of
from kmnb.ops.whole import read_whole
from kmnb.ops.workspace import Workspace

CONTENT_MAX_CHARS = 100_000
"""Characters of a text that ``load_artifact`` gives, unless it is asked for another number."""
CONTENT_CEILING_CHARS = 200_000
"""Most characters that it can be asked for."""
EDIT_MAX_BYTES = 10_000_000
"""Largest artifact that is loaded or edited, and largest chunk, in bytes."""
_FORMS = {"html": "text/html", "json": "application/json", "json_pretty": "application/json", "csv": "text/csv"}

Answer = dict[str, Any]


def agent_tools(ws: Workspace) -> list[Callable[..., Answer]]:
    """Make the artifact tools of a workspace: plain functions with names, types and docstrings that a model reads.

    Args:
        ws: The workspace; every name is looked up in its scope.

    Returns:
        ``list_artifacts``, ``load_artifact``, ``append_to_artifact``, ``delete_artifact``,
        ``artifact_search_and_replace_regex`` and ``apply_embed_and_create_artifact``.
    """
    return [_plain(tool) for tool in _Tools(ws).every()]


def agent_tools_async(ws: Workspace) -> list[Callable[..., Any]]:
    """Make the same tools as coroutine functions, safe to await on any loop; see :func:`agent_tools`."""
    return [_coroutine(tool) for tool in _Tools(ws).every()]


def _plain(method: Callable[..., Any]) -> Callable[..., Any]:
    def tool(*args: Any, **kwargs: Any) -> Any:
        return run(_guarded(method, args, kwargs))

    return _dressed(tool, method)


def _coroutine(method: Callable[..., Any]) -> Callable[..., Any]:
    async def tool(*args: Any, **kwargs: Any) -> Any:
        return await bridge(_guarded(method, args, kwargs))

    return _dressed(tool, method)


def _dressed(tool: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """Give a tool the name, the text and the signature of its body."""
    tool.__name__ = tool.__qualname__ = method.__name__
    tool.__doc__, tool.__module__ = method.__doc__, __name__
    # Frameworks make a schema of these: types themselves, not their names.
    tool.__annotations__ = hints = get_type_hints(method)
    told = inspect.signature(method)
    params = [param.replace(annotation=hints[name]) for name, param in told.parameters.items()]
    tool.__signature__ = told.replace(parameters=params, return_annotation=hints["return"])
    return tool  # type: ignore[no-any-return]


async def _guarded(method: Callable[..., Any], args: Any, kwargs: Any) -> Answer:
    try:
        inspect.signature(method).bind(*args, **kwargs)
    except TypeError as error:
        return error_answer(BadRequest(method.__name__, str(error)))
    try:
        return await method(*args, **kwargs)  # type: ignore[no-any-return]
    except KmnbError as error:
        return error_answer(error)
    except (TypeError, ValueError, AttributeError) as error:
        return error_answer(BadRequest(method.__name__, f"cannot take these arguments: {error}"[:300]))


class _Tools:
    """The tools' bodies; their docstrings are written for a model."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws

    def every(self) -> list[Callable[..., Any]]:
        """Every tool."""
        return [
            self.list_artifacts,
            self.load_artifact,
            self.append_to_artifact,
            self.delete_artifact,
            self.artifact_search_and_replace_regex,
            self.apply_embed_and_create_artifact,
        ]

    async def list_artifacts(self) -> Answer:
        """List the artifacts of this session and this user: names, versions, and a summary of the latest version."""
        found, is_complete = await summarise_names(self._ws.context)
        told = f"{len(found)} artifacts." if is_complete else f"The first {len(found)} artifacts; there are more."
        return answer("success" if is_complete else "partial", told, artifacts=found)

    async def load_artifact(
        self,
        filename: str,
        version: int | None = None,
        load_metadata_only: bool = False,
        *,
        max_content_length: int | None = None,
        include_line_numbers: bool = False,
    ) -> Answer:
        """Load the text of an artifact, or the metadata of one that is not text.

        Args:
            filename: Name; ``user:`` before it means the user's own.
            version: Which version; None for the latest.
            load_metadata_only: Whether to give the metadata and no content.
            max_content_length: Most characters of content; 100,000 unless given, at most 200,000.
            include_line_numbers: Whether each line begins with its number and a tab.
        """
        artifact, info = await self._found(filename, version)
        number = artifact.version or 0
        told = companion_of(info, filename=filename, version=number)
        facts = {"filename": filename, "version": number, "metadata": told}
        if load_metadata_only:
            return answer("success", "The metadata.", **facts)
        if not is_text_type(artifact.media_type):
            return answer("success", "It is not text, so its metadata stands for it.", **facts)
        limit = CONTENT_MAX_CHARS if max_content_length is None else int(max_content_length)
        limit = max(0, min(limit, CONTENT_CEILING_CHARS))
        # No character has more than four bytes, so that more need not be read.
        raw = await artifact.read_async(0, min(info.size or 0, 4 * limit + 4))
        text = decode_text(raw) if len(raw) == info.size else raw.decode("utf-8", "ignore")
        text = numbered(text) if include_line_numbers else text
        return text_answer(text, limit, **facts)

    async def append_to_artifact(self, filename: str, content_chunk: str, mime_type: str) -> Answer:
        """Make a new version of an artifact: what it holds, and a chunk after it.

        Args:
            filename: Name; a missing one is created.
            content_chunk: What is added, best at most 3 KB; base64 where the MIME type is not text.
            mime_type: MIME type of the chunk.
        """
        if not isinstance(content_chunk, str) or len(content_chunk) > EDIT_MAX_BYTES:
            raise BadRequest("content_chunk", f"is no text of at most {EDIT_MAX_BYTES:,} characters")
        chunk: str | bytes = content_chunk
        if not is_text_type(mime_type):
            try:
                chunk = base64.b64decode(content_chunk, validate=True)
            except (binascii.Error, ValueError):
                chunk = content_chunk
        saved = await self._ws.append_async(filename, chunk)
        return answer("success", f"Version {saved.version} holds it.", **_saved(filename, saved))

    async def delete_artifact(self, filename: str, version: int | None = None, confirm_delete: bool = False) -> Answer:
        """Delete every version of an artifact.

        Args:
            filename: Name.
            version: Not supported; it is an error to give one.
            confirm_delete: Must be true; otherwise nothing is deleted and the number of versions is told.
        """
        if version is not None:
            raise BadRequest("delete_artifact", "deletes every version", "Leave version out.")
        versions = await self._ws.versions_async(filename)
        if not versions:
            await self._ws.load_async(filename)
            raise BadRequest("delete_artifact", "deletes every version, and the name means one", "Leave the pin out.")
        facts = {"filename": filename, "versions": versions[:1000], "version_count": len(versions)}
        if confirm_delete is not True:
            told = f"Nothing was deleted. All {len(versions)} versions would go: call again with confirm_delete=True."
            return answer("partial", told, **facts)
        await self._ws.remove_async(filename)
        return answer("success", f"All {len(versions)} versions were deleted.", **facts)

    async def artifact_search_and_replace_regex(
        self,
        filename: str,
        search_expression: str | None = None,
        replace_expression: str | None = None,
        *,
        is_regexp: bool = False,
        regexp_flags: str = "",
        new_filename: str | None = None,
        new_description: str | None = None,
        replacements: list[dict[str, Any]] | None = None,
    ) -> Answer:
        """Search and replace in a text artifact; the result is its next version, or a new artifact.

        Args:
            filename: Name, or name:version.
            search_expression: What is looked for; all matches of a text, the first of a regular expression.
            replace_expression: What takes its place; ``$1`` is a group of a regular expression, ``$$`` a dollar.
            is_regexp: Whether it is a regular expression.
            regexp_flags: ``g`` all, ``i`` any case, ``m`` lines, ``s`` the dot matches line ends.
            new_filename: Name of the result; the same name unless given.
            new_description: Its description.
            replacements: Several at once, all or none: objects with search, replace, is_regexp and regexp_flags.
        """
        items = [Replacement.of(item) for item in replacements or ()]
        if not items:
            items = [Replacement(str(search_expression or ""), str(replace_expression or ""), is_regexp, regexp_flags)]
        artifact, info = await self._found(filename, None)
        if not is_text_type(artifact.media_type):
            raise BadRequest(f"artifact {filename!a:.200}", "is not text")
        area, _ = await artifact.locate()
        text = decode_text(await read_whole(area, info.key, max_bytes=EDIT_MAX_BYTES, info=info))
        text, count = replace_all(text, items, compile_pattern, max_chars=EDIT_MAX_BYTES)
        if not count:
            return answer("partial", "Nothing matches, so nothing was saved.", filename=filename, match_count=0)
        # What was asked for may be pinned; the result is the next version of the name itself.
        target = new_filename or name_of(artifact)
        custom = read_custom(info) | ({"description": new_description} if new_description else {})
        saved = await self._ws.save_async(target, text, media_type=artifact.media_type, metadata=custom)
        return answer("success", f"{count} matches were replaced.", **_saved(target, saved), match_count=count)

    async def apply_embed_and_create_artifact(
        self, output_filename: str, embed_directive: str, output_metadata: dict[str, Any] | None = None
    ) -> Answer:
        """Resolve one ``«artifact_content:…»`` and save the result as an artifact.

        Args:
            output_filename: Name of the result.
            embed_directive: The directive, modifiers included.
            output_metadata: Custom metadata of the result.
        """
        cuts = list(cut_text(str(embed_directive).strip()))
        embed = cuts[0] if len(cuts) == 1 else None
        if not isinstance(embed, Embed) or embed.type != "artifact_content":
            raise BadRequest("embed_directive", "is not one «artifact_content:…»")
        resolved = await Resolver(self._ws.context, "late").whole(embed.raw)
        if resolved.problems:
            raise BadRequest("embed_directive", "; ".join(resolved.problems)[:500])
        data: str | bytes = str(resolved)
        media_type = _FORMS.get((parse_chain(embed).format or "text").lower(), "text/plain")
        for part in resolved.parts:
            if "data" not in part:
                raise BoundExceeded("the artifact", "is larger than an embed may be")
            data, media_type = base64.b64decode(part["data"]), part["mime_type"]
        saved = await self._ws.save_async(output_filename, data, media_type=media_type, metadata=output_metadata)
        return answer("success", f"Saved as version {saved.version}.", **_saved(output_filename, saved))

    async def _found(self, filename: str, version: Any) -> tuple[Artifact, ObjectInfo]:
        name, pinned = parse_spec(filename)
        if version not in (None, "", "latest"):
            pinned = int(version)
        artifact = await self._ws.load_async(name, version=pinned)
        _, info = await artifact.locate()
        return artifact, info


def _saved(filename: str, artifact: Artifact) -> Answer:
    return {
        "filename": filename,
        "version": artifact.version,
        "mime_type": artifact.media_type,
        "size_bytes": artifact.size,
    }
