"""What the service for Google's kit guarantees on every store; mixed into the contract of named artifacts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from google.genai import types

from kmnb.integrations.adk import ArtifactService
from kmnb.ops.workspace import Workspace

WHO = {"app_name": "shop", "user_id": "ann", "session_id": "s1"}


def blob(data: bytes, mime_type: str = "text/csv") -> types.Part:
    return types.Part(inline_data=types.Blob(data=data, mime_type=mime_type))


class KitContract:
    """Run by pytest in a subclass that brings ``ws`` and ``connect``."""

    @pytest.fixture
    def service(self, ws: Workspace) -> ArtifactService:
        return ArtifactService(ws)

    def test_parts_come_back_as_they_were_with_their_facts(self, service: ArtifactService, ws: Workspace) -> None:
        async def play() -> None:
            for number, part in enumerate((blob(b"a\n1\n"), types.Part(text="grüße"), blob(b"", "text/plain"))):
                told = {"n": str(number)}
                name = f"p{number}"
                assert await service.save_artifact(**WHO, filename=name, artifact=part, custom_metadata=told) == 0
                assert await service.load_artifact(**WHO, filename=name) == part
                version = await service.get_artifact_version(**WHO, filename=name)
                assert version is not None
                assert version.custom_metadata == told
            assert await service.list_artifact_keys(**WHO) == ["p0", "p1", "p2"]

        asyncio.run(play())
        assert ws.load("p0").select(["a"]).values == [{"a": "1"}]

    def test_versions_of_the_kit_and_of_people_are_one_row(self, service: ArtifactService, ws: Workspace) -> None:
        async def play() -> None:
            assert await service.save_artifact(**WHO, filename="user:x", artifact=blob(b"0")) == 0
            assert (await ws.save_async("user:x", b"1", media_type="text/csv")).version == 1
            assert await service.list_versions(**WHO, filename="user:x") == [0, 1]
            assert await service.load_artifact(**WHO, filename="user:x") == blob(b"1")
            assert await service.load_artifact(**WHO, filename="user:x", version=0) == blob(b"0")
            everyone = {**WHO, "session_id": "s2"}
            assert await service.list_artifact_keys(**everyone) == ["user:x"]
            facts = await service.list_artifact_versions(**WHO, filename="user:x")
            assert [(fact.version, fact.mime_type) for fact in facts] == [(0, "text/csv"), (1, "text/csv")]
            await service.delete_artifact(**WHO, filename="user:x")
            assert await service.load_artifact(**WHO, filename="user:x") is None
            assert await service.list_versions(**WHO, filename="user:x") == []
            assert await service.save_artifact(**WHO, filename="user:x", artifact=blob(b"2")) == 2

        asyncio.run(play())

    def test_twenty_saves_of_agents_at_once_lose_nothing(self, connect: Callable[..., Workspace]) -> None:
        services = [ArtifactService(connect()) for _ in range(4)]

        async def play() -> tuple[list[int], list[Any]]:
            saves = [
                services[number % 4].save_artifact(**WHO, filename="x", artifact=blob(b"%d" % number))
                for number in range(20)
            ]
            versions = await asyncio.gather(*saves)
            loads = [services[0].load_artifact(**WHO, filename="x", version=version) for version in versions]
            return versions, await asyncio.gather(*loads)

        versions, parts = asyncio.run(play())
        assert sorted(versions) == list(range(20))
        assert parts == [blob(b"%d" % number) for number in range(20)]
