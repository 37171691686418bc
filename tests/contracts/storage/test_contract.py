"""The store contract over every backend, each against a real service on loopback."""

from __future__ import annotations

from kmnb.testing import StoreContract


class TestMemory(StoreContract):
    scheme = "memory"


class TestFile(StoreContract):
    scheme = "file"


class TestS3(StoreContract):
    scheme = "s3"
    many = 200
    machine_examples = 5
    kills = 5


class TestGoogle(StoreContract):
    scheme = "gs"
    machine_examples = 5
    kills = 5


class TestAzure(StoreContract):
    scheme = "az"
    many = 200
    machine_examples = 5
    kills = 5


class TestNats(StoreContract):
    scheme = "nats"
