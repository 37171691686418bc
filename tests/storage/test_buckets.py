"""What lies in a bucket, seen from outside: nothing wrong is handed out, nothing is left, nobody waits for ever."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest

from kmnb._bridge import run
from kmnb.errors import AlreadyExists, BadRequest, DigestMismatch, StoreDenied, StoreUnavailable, VersionConflict
from kmnb.storage import Store, open_backend, open_store
from kmnb.storage.backends._bucket_leftovers import collect_leftovers
from kmnb.testing import Scratch, scratch
from kmnb.testing._contract_base import MIB, content, within
from tests.children import python

LARGE = 9 * MIB
ATTRIBUTES = {"preview": "é" * 2000}


class Bucket:
    """A memory store with the obstore store below it."""

    def __init__(self) -> None:
        self.backend: Any = run(open_backend("memory://"))
        self.store = Store(self.backend)
        self.raw = self.backend._bucket._store

    def paths(self) -> list[str]:
        return sorted(str(meta["path"]) for page in obstore.list(self.raw) for meta in page)

    def only(self, folder: str) -> str:
        (path,) = [path for path in self.paths() if path.startswith(folder)]
        return path

    def change(self, path: str, data: bytes) -> None:
        """Store other bytes with the same metadata."""
        kept = obstore.get(self.raw, path).attributes
        obstore.put(self.raw, path, data, attributes=kept, use_multipart=False)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


def test_an_object_of_another_program_ends_no_listing_of_records(bucket: Bucket) -> None:
    run(bucket.backend.records.put("a", b"1", expected=None))
    obstore.put(bucket.raw, "records/a\\b", b"x")

    async def listed() -> list[str]:
        return [record.key async for record in bucket.backend.records.list("")]

    assert run(listed()) == ["a"]


@pytest.mark.parametrize("size", [1000, LARGE])
@pytest.mark.parametrize("change", ["flipped", "cut", "grown", "emptied"])
def test_changed_bytes_are_never_handed_out_whole(bucket: Bucket, size: int, change: str) -> None:
    data = content(size)
    bucket.store.put("a/b", data)
    path = bucket.only("parts/" if size == LARGE else "discussions/")
    other = {"flipped": data[:-1] + bytes([data[-1] ^ 1]), "cut": data[:-1], "grown": data + b"\0", "emptied": b""}
    bucket.change(path, other[change])
    with pytest.raises(DigestMismatch, match="a/b"):
        list(bucket.store.stream("a/b"))
    if change != "flipped":
        with pytest.raises(DigestMismatch, match="a/b"):
            bucket.store.get_range("a/b", 0, size + 1)


def test_parts_that_are_gone_are_told(bucket: Bucket) -> None:
    bucket.store.put("x", content(LARGE))
    obstore.delete(bucket.raw, bucket.only("parts/"))
    info = bucket.store.head("x")
    assert info.size == LARGE
    for verb in (lambda: bucket.store.get_range("x", 5, 10), lambda: list(bucket.store.stream("x"))):
        with pytest.raises(DigestMismatch, match="x"):
            verb()
    bucket.store.delete("x")
    assert bucket.paths() == []


def test_facts_that_are_gone_are_told(bucket: Bucket) -> None:
    bucket.store.put("x", b"1", attributes=ATTRIBUTES)
    obstore.delete(bucket.raw, bucket.only("facts/"))
    with pytest.raises(DigestMismatch, match="x"):
        bucket.store.head("x")
    assert b"".join(bucket.store.stream("x")) == b"1"


def test_objects_of_others_are_read(bucket: Bucket) -> None:
    for key, size in (("plain", 10), ("large", 20 * MIB), ("empty", 0)):
        obstore.put(bucket.raw, f"discussions/{key}", content(size), use_multipart=False)
        info = bucket.store.head(key)
        assert (info.size, info.digest, dict(info.attributes)) == (size, None, {})
        assert b"".join(bucket.store.stream(key)) == content(size)
        assert bucket.store.get_range(key, 3, 8) == content(size)[3:8]
    old = bucket.store.head("plain")
    obstore.put(bucket.raw, "discussions/plain", b"other", use_multipart=False)
    with pytest.raises(DigestMismatch):
        run(bucket.backend.discussions.get_range("plain", 0, 2, info=old))
    assert [(info.key, info.size) for info in bucket.store.list()] == [("empty", 0), ("large", 20 * MIB), ("plain", 5)]


@pytest.mark.parametrize("attributes", [{}, ATTRIBUTES])
@pytest.mark.parametrize("size", [10, LARGE])
def test_what_was_replaced_or_deleted_leaves_nothing(bucket: Bucket, size: int, attributes: dict[str, str]) -> None:
    bucket.store.put("x", content(size), attributes=attributes)
    first = bucket.paths()
    bucket.store.put("x", content(size, 1), attributes=attributes)
    assert len(bucket.paths()) == len(first)
    bucket.store.put("x", b"")
    assert bucket.paths() == ["discussions/x"]
    bucket.store.put("x", content(size), attributes=attributes)
    with pytest.raises(AlreadyExists):
        bucket.store.put("x", content(size, 2), create_only=True, attributes=attributes)
    assert len(bucket.paths()) == len(first)
    bucket.store.delete("x")
    assert bucket.paths() == []


def test_a_failing_source_leaves_nothing_in_the_bucket(bucket: Bucket) -> None:
    def source() -> Iterator[bytes]:
        yield content(LARGE)
        yield content(LARGE)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bucket.store.put("x", source())
    with pytest.raises(ZeroDivisionError):
        bucket.store.put("x", content(LARGE), attributes=lambda: {"a": str(1 // 0)})
    assert bucket.paths() == []


def test_leftovers_are_collected_and_live_parts_are_not(bucket: Bucket) -> None:
    bucket.store.put("live", content(LARGE), attributes=ATTRIBUTES)
    bucket.store.put("small", b"1", attributes=ATTRIBUTES)
    run(bucket.backend.named.put("live", content(LARGE), attributes=ATTRIBUTES))
    live = bucket.paths()
    bucket.store.put("dead", content(LARGE), attributes=ATTRIBUTES)
    bucket.store.put("dead too", b"1", attributes=ATTRIBUTES)
    for key in ("dead", "dead too"):
        obstore.delete(bucket.raw, f"discussions/{key}")
    obstore.put(bucket.raw, "parts/unknown", b"x")
    assert run(bucket.backend.collect()) == [], "young ones may belong to a writer"

    async def collect() -> list[Any]:
        now = await bucket.backend.now()
        return await collect_leftovers(bucket.backend._bucket, "", now=now, older_than=0)

    assert len(run(collect())) == 4
    assert bucket.paths() == live
    assert b"".join(bucket.store.stream("live")) == content(LARGE)


def _answer_is_lost(monkeypatch: pytest.MonkeyPatch, times: int) -> list[Any]:
    """Have obstore carry a write out, then fail as if the connection had broken before the answer."""
    real, calls = obstore.put, []

    def put(*args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs.get("mode"))
        done = real(*args, **kwargs)
        if len(calls) <= times:
            raise obstore.exceptions.GenericError("Generic error: error sending request: connection closed")
        return done

    monkeypatch.setattr(obstore, "put", put)
    return calls


def test_a_write_whose_answer_was_lost_is_known_again(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _answer_is_lost(monkeypatch, 2)
    bucket.store.put("x", b"1", create_only=True)
    assert calls == ["create"] * 2
    assert b"".join(bucket.store.stream("x")) == b"1"
    with pytest.raises(AlreadyExists):
        bucket.store.put("x", b"1", create_only=True)


def test_a_record_whose_answer_was_lost_is_known_again(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    records = bucket.backend.records
    _answer_is_lost(monkeypatch, 1)
    first = run(records.put("r", b"1", expected=None))
    _answer_is_lost(monkeypatch, 1)
    second = run(records.put("r", b"2", expected=first))
    assert run(records.get("r")).revision == second
    with pytest.raises(VersionConflict):
        run(records.put("r", b"3", expected=first))


def test_memory_is_private_or_shared_by_name() -> None:
    one, other = open_store("memory://"), open_store("memory://")
    one.put("x", b"1")
    assert list(other.list()) == []
    named, again = open_store("memory://test-shared"), open_store("memory://test-shared")
    named.put("x", b"1")
    named.close()
    assert [info.key for info in again.list()] == ["x"]


CLOUDS = ("s3", "gs", "az")


@pytest.fixture(scope="module", params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> Iterator[Scratch]:
    with scratch(request.param) as place:
        yield place


def test_a_bucket_that_is_not_there_is_told(cloud: Scratch) -> None:
    url = cloud.url.replace("kmnb-scratch", "kmnb-other")
    with pytest.raises(StoreUnavailable, match="bucket does not exist"):
        open_store(url)


def test_a_bucket_that_went_away_is_told(cloud: Scratch) -> None:
    with open_store(cloud.fresh()) as store:
        store._backend._bucket._store = _elsewhere(cloud)  # type: ignore[attr-defined]
        for create_only in (True, False):
            with pytest.raises(StoreUnavailable, match="bucket does not exist"):
                store.put("x", b"1", create_only=create_only)
        with pytest.raises(StoreUnavailable, match="bucket does not exist"):
            store.put("x", content(LARGE))
        with pytest.raises(StoreUnavailable, match="bucket does not exist"):
            list(store.list())


def _elsewhere(cloud: Scratch) -> Any:
    """An obstore store for a bucket that does not exist, made by the backend's own code."""
    import importlib

    from kmnb.storage._urls import split_url

    parts = split_url(cloud.url)
    module = importlib.import_module(f"kmnb.storage.backends.{parts.scheme}")
    given = {**module._OPTIONS, **parts.options}
    if parts.scheme == "s3":
        return module._store("kmnb-other", module._config(given), given)
    return module._store("kmnb-other", given)


def test_nobody_at_the_endpoint_is_told_soon(cloud: Scratch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = _with_port(cloud.url, closed.getsockname()[1])
        since = time.monotonic()
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            open_store(url)
        assert time.monotonic() - since < 10


def test_an_endpoint_that_never_answers_is_told_in_time_and_holds_nothing(cloud: Scratch) -> None:
    """The call, its interruption and the end of the interpreter are all bounded."""
    program = """
import sys, time
from kmnb.errors import StoreUnavailable
from kmnb.storage import open_store
since = time.monotonic()
try:
    open_store(sys.argv[1], connect_seconds=1)
except StoreUnavailable as error:
    print("told", "did not answer" in str(error), time.monotonic() - since < 2)
"""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(8)
        since = time.monotonic()
        answer = python("-c", program, _with_port(cloud.url, deaf.getsockname()[1]), seconds=20)
        assert answer.clean, answer
        assert answer.out == "told True True\n"
        assert time.monotonic() - since < 15


def _with_port(url: str, port: int) -> str:
    head, _, tail = url.rpartition(":")
    return f"{head}:{port}{''.join(tail.partition('/')[1:])}"


def test_wrong_options_are_refused(cloud: Scratch) -> None:
    for url, options in (
        (cloud.url, {"endpiont": "x"}),
        (f"{cloud.url}&secret_access_key=x", {}),
        (cloud.url, {"anonymous": "perhaps"}),
        (cloud.url.replace("kmnb-scratch", ""), {}),
        (cloud.url.partition("://")[0] + "://b/" + "p" * 1000, {}),
    ):
        with pytest.raises(BadRequest):
            open_store(url, **options)


def test_urls_are_shown_without_secrets(cloud: Scratch) -> None:
    url = cloud.fresh().replace("://", "://user:s3cret@", 1)
    with open_store(url) as store:
        facts = within(20, store._backend.describe)
        told = [store.url, repr(store), repr(store._backend), str(facts)]
        store._backend._bucket._store = _elsewhere(cloud)  # type: ignore[attr-defined]
        with pytest.raises(StoreUnavailable) as caught:
            list(store.list())
    told += [str(caught.value), repr(caught.value)]
    secrets = ["s3cret", *(value for name, value in cloud.environment.items() if "KEY" in name and value != "scratch")]
    assert not [secret for secret in secrets for text in told if secret in text]


def test_a_server_that_dies_in_the_middle_is_told() -> None:
    place = scratch("gs")
    with open_store(place.url) as store:
        store.put("x", content(48 * MIB))
        walk = iter(store.stream("x"))
        next(walk)

        def source() -> Iterator[bytes]:
            yield content(LARGE)
            place.close()
            yield content(LARGE)

        since = time.monotonic()
        with pytest.raises(StoreUnavailable):
            store.put("y", source())
        for verb in (
            lambda: list(walk),
            lambda: store.head("x"),
            lambda: list(store.list()),
            lambda: store.delete("x"),
        ):
            with pytest.raises(StoreUnavailable):
                verb()
        assert time.monotonic() - since < 30


def test_wrong_keys_are_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch("az") as place:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "d3Jvbmc=")
        with pytest.raises(StoreDenied, match="credentials were refused"):
            open_store(place.url)


def test_an_azure_connection_string_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch("az") as place:
        endpoint = place.url.partition("endpoint=")[2]
        name, key = place.environment["AZURE_STORAGE_ACCOUNT_NAME"], place.environment["AZURE_STORAGE_ACCOUNT_KEY"]
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME")
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")
        with pytest.raises(BadRequest, match="account is not known"):
            open_store("az://kmnb-scratch/x")
        text = f"DefaultEndpointsProtocol=http;AccountName={name};AccountKey={key};BlobEndpoint={endpoint};"
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
        with open_store("az://kmnb-scratch/x") as store:
            store.put("a", b"1")
            assert [info.key for info in store.list()] == ["a"]


def test_an_aws_profile_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = d\naws_secret_access_key = d\n[work]\naws_access_key_id = w\n"
        "aws_secret_access_key = 100%secret\n[role]\nrole_arn = arn:aws:iam::1:role/x\n"
    )
    (tmp_path / "config").write_text("[profile work]\nregion = eu-central-1\n")
    with scratch("s3") as place:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        for options in ({}, {"profile": "work"}, {"region": "us-east-1"}):
            with open_store(place.fresh(), **options) as store:
                store.put("x", b"1")
                assert store.head("x").size == 1
        with pytest.raises(StoreDenied, match="none of that name with an access key"):
            open_store(place.url, profile="role")
        with pytest.raises(StoreDenied, match="none of that name with an access key"):
            open_store(place.url, profile="none")
        (tmp_path / "credentials").write_text("not a profile file")
        with pytest.raises(StoreDenied, match="AWS profiles"):
            open_store(place.url, profile="work")


def test_calls_that_were_given_up_leave_no_thread_waiting_for_ever(cloud: Scratch) -> None:
    with open_store(cloud.fresh()) as store:
        store.put("x", content(20 * MIB))
        for _ in range(5):
            walk = iter(store.stream("x"))
            next(walk)
            walk.close()  # type: ignore[attr-defined]
        assert store.get_range("x", 0, 5) == content(5)
    names = [thread.name for thread in threading.enumerate() if not thread.daemon]
    assert names == ["MainThread"]


def test_facts_are_ascii_whatever_the_attributes(bucket: Bucket) -> None:
    bucket.store.put("é", b"1", attributes={"é": "日本\n\x00"})
    text = obstore.get(bucket.raw, "discussions/é").attributes["kmnb"]
    assert text.isascii()
    assert json.loads(text)["attributes"] == {"é": "日本\n\x00"}
    assert bucket.store.head("é").attributes == {"é": "日本\n\x00"}
    assert "KMNB" not in os.environ
