"""The contract of named artifacts over every backend and every layout, each against a real service on loopback."""

from __future__ import annotations

from kmnb.testing import NamedContract
from tests.contracts.named.kit import KitContract


class TestMemory(KitContract, NamedContract):
    scheme = "memory"


class TestFile(KitContract, NamedContract):
    scheme = "file"


class TestS3(KitContract, NamedContract):
    scheme = "s3"


class TestGoogle(KitContract, NamedContract):
    scheme = "gs"


class TestAzure(KitContract, NamedContract):
    scheme = "az"


class TestNats(KitContract, NamedContract):
    scheme = "nats"


class TestMeshFolder(KitContract, NamedContract):
    scheme, layout = "file", "agent-mesh"


class TestMeshBucket(KitContract, NamedContract):
    scheme, layout = "s3", "agent-mesh"


class TestKitFolder(KitContract, NamedContract):
    scheme, layout = "file", "adk"


class TestKitBucket(KitContract, NamedContract):
    scheme, layout = "gs", "adk"
