"""The routes. Every verb is authenticated and authorised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jupyter_server.auth.decorator import authorized
from tornado import web

from kmnb.core.arguments import checked
from kmnb.core.describe import Operation, Param
from kmnb.errors import BadRequest, UnknownPlugin, VersionConflict
from kmnb.frontends._forms import json_schema
from kmnb.frontends._output import data_of
from kmnb.frontends._server_handler import KmnbHandler
from kmnb.ops._commands_clean import COMMANDS
from kmnb.ops.commands import commands, find_command
from kmnb.ops.metrics import PROCESS
from kmnb.ops.sip import sip_names

_Verb = TypeVar("_Verb", bound=Callable[..., Any])
_reading: Callable[[_Verb], _Verb] = authorized(action="read")
"""Authorises a verb as reading, whatever its name."""

CLEANING = {command.name: command for command in COMMANDS}
"""Operations that are offered by name; none of them names a file of the server's machine."""
PAGE_MAX = 1000
"""Most artifacts of one page of a listing."""

LISTING = Operation(
    "artifacts",
    "List artifacts below a prefix.",
    (
        Param("prefix", "text", "Absolute prefix of whole segments; the namespace and crew of the server when absent."),
        Param("limit", "integer", "Most artifacts of this page, up to 1,000.", default=100, minimum=1),
        Param("cursor", "text", "Where an earlier page ended."),
    ),
)


class ArtifactsHandler(KmnbHandler):
    """The listing."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List artifacts page by page, sorted by key."""
        given = checked(LISTING, self.arguments_given())
        workspace = await self.state.workspace()
        names = workspace.names
        prefix = f"{names.namespace}/{names.crew}" if given["prefix"] is None else given["prefix"]
        items, more = await _page(workspace, prefix, limit=min(given["limit"], PAGE_MAX), after=given["cursor"])
        self.answer({"items": items, "cursor": items[-1]["key"] if more else None})


async def _page(workspace: Any, prefix: str, *, limit: int, after: str | None) -> tuple[list[dict[str, Any]], bool]:
    items: list[dict[str, Any]] = []
    walk = workspace.list_async(prefix)
    try:
        async for artifact in walk:
            if after is not None and artifact.key <= after:
                continue
            if len(items) == limit:
                return items, True
            items.append({"key": artifact.key, "bytes": artifact.size, "createdAt": artifact.created_at})
    finally:
        await walk.aclose()
    return items, False


class ArtifactHandler(KmnbHandler):
    """One artifact."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Give its envelope and address; its digest is the entity tag."""
        workspace = await self.state.workspace()
        artifact = await workspace.get_async(ref)
        if artifact.digest:
            self.set_header("ETag", f'"{artifact.digest}"')
        self.answer({"uri": artifact.uri, "artifact": artifact.envelope()})

    @web.authenticated
    @authorized
    async def delete(self, ref: str) -> None:
        """Delete it; with If-Match only when the digest is still that one."""
        workspace = await self.state.workspace()
        artifact = await workspace.get_async(ref)
        expected = self.request.headers.get("If-Match")
        if expected is not None and expected not in ("*", f'"{artifact.digest}"'):
            raise VersionConflict(artifact.key, "it is not the one that If-Match names", "Read it again.")
        await workspace.delete_async(artifact)
        self.set_status(204)
        self.finish()


class SipHandler(KmnbHandler):
    """Every sip."""

    @web.authenticated
    @_reading
    async def get(self, name: str, ref: str) -> None:
        """Take a sip with the arguments of the query string."""
        await self._sip(name, ref)

    @web.authenticated
    @_reading
    async def post(self, name: str, ref: str) -> None:
        """Take a sip with the arguments of a JSON body, for programs that are too long for an address."""
        await self._sip(name, ref)

    async def _sip(self, name: str, ref: str) -> None:
        if name not in sip_names():
            raise UnknownPlugin(f"sip {name[:100]!r}", "there is none", f"Known: {', '.join(sip_names())}.")
        command = find_command(name)
        given = self.arguments_given()
        if "ref" in given:
            raise BadRequest("ref", "is a part of the address")
        arguments = checked(command.operation, given | {"ref": ref})
        workspace = await self.state.workspace()
        self.answer(await command.handler(workspace, arguments))


class OperationsHandler(KmnbHandler):
    """What can be asked."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Describe every operation: its summary and the schema of its arguments."""
        self.answer(
            {
                name: {"summary": command.operation.summary, "arguments": json_schema(command.operation)}
                for name, command in commands().items()
            }
        )


class OperationHandler(KmnbHandler):
    """The operations over threads, holds and garbage collection."""

    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        """Carry one out with the arguments of a JSON body."""
        if name not in CLEANING:
            step = f"Known here: {', '.join(sorted(CLEANING))}."
            raise UnknownPlugin(f"operation {name[:100]!r}", "it is not offered over REST", step)
        arguments = checked(CLEANING[name].operation, self.arguments_given())
        if name == "close" and not arguments["thread"]:
            raise BadRequest("thread", "is not given", "Name it: the server has no discussion of its own.")
        workspace = await self.state.workspace()
        self.answer(data_of(await CLEANING[name].handler(workspace, arguments)))


class MetricsHandler(KmnbHandler):
    """Counts of collections."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Write what the collections of this server add up to, in Prometheus' text format."""
        self.finish(PROCESS.text(), set_content_type="text/plain; version=0.0.4")


ROUTES: tuple[tuple[str, type[KmnbHandler]], ...] = (
    ("artifacts", ArtifactsHandler),
    ("artifacts/(.+)", ArtifactHandler),
    ("sips/([^/]+)/(.+)", SipHandler),
    ("operations", OperationsHandler),
    ("operations/([^/]+)", OperationHandler),
    ("metrics", MetricsHandler),
)
"""Address below the extension's own, and handler."""
