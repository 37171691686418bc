"""The store contract over every backend, each against a real service on loopback.

Fifty threads race on each of them. Fifty processes race, and twenty are killed, on disk and on NATS, where kmnb itself
sees to what holds between processes; the services behind obstore hold it themselves, so there a few show it.
"""

from __future__ import annotations

from kmnb.testing import StoreContract


class TestMemory(StoreContract):
    scheme = "memory"


class TestFile(StoreContract):
    scheme = "file"
    many = 200


class TestS3(StoreContract):
    scheme = "s3"
    works_in_forked_child = False
    many = 200
    machine_examples = 4
    processes = 6
    kills = 3


class TestGoogle(StoreContract):
    scheme = "gs"
    works_in_forked_child = False
    machine_examples = 4
    processes = 6
    kills = 3


class TestAzure(StoreContract):
    scheme = "az"
    works_in_forked_child = False
    many = 200
    machine_examples = 4
    processes = 6
    kills = 3


class TestNats(StoreContract):
    scheme = "nats"
