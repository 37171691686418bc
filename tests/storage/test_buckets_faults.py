"""Buckets that others write into, and servers and networks that fail: nothing wrong, double or endless."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import obstore
import pytest

from kmnb._bridge import run
from kmnb.errors import (
    AlreadyExists,
    ArtifactNotFound,
    BadRequest,
    DigestMismatch,
    StoreDenied,
    StoreError,
    StoreUnavailable,
)
from kmnb.storage import Store, open_backend, open_store
from kmnb.storage.backends._bucket import BucketBackend
from kmnb.storage.backends._bucket_leftovers import collect_leftovers
from kmnb.testing import Scratch, scratch
from kmnb.testing._contract_base import MIB, content, within
from tests.storage.relay import Relay, answer, cut, hang, lose, relayed

LARGE = 9 * MIB
ATTRIBUTES = {"preview": "é" * 2000}
ID = "0" * 32
ODD_FACTS = (
    "no json", "5", "[]", "null", "{}", "[" * 1500, '{"id":5,"sha256":""}', f'{{"id":"{ID}","sha256":"zz"}}',
    f'{{"id":"{ID}","sha256":"","size":"3"}}', f'{{"id":"{ID}","sha256":"","size":-3,"parts":true}}',
    f'{{"id":"{ID}","sha256":"","size":true}}', f'{{"id":"{ID}","sha256":"","parts":true}}',
    f'{{"id":"{ID}","sha256":"","size":3,"attributes":[1]}}', '{"id":"../../x","sha256":"","size":0,"parts":true}',
    f'{{"id":"{ID}","sha256":"","attributes":{{"a":1}}}}', f'{{"id":"{ID}","sha256":"","key":"%%%"}}',
    '{"id":"","sha256":"","size":0,"parts":true}',
)  # fmt: skip
"""What may stand where kmnb keeps its facts, and is none of them."""


class Memory:
    """A store in memory with the bucket below it."""

    def __init__(self) -> None:
        self.backend: Any = run(open_backend("memory://"))
        self.store = Store(self.backend)
        self.raw = self.backend.bucket._store

    def paths(self) -> list[str]:
        return sorted(str(meta["path"]) for page in obstore.list(self.raw) for meta in page)

    def copy(self, path: str, to: str) -> None:
        """Copy bytes and metadata, as the stores' own tools do."""
        found = obstore.get(self.raw, path)
        obstore.put(self.raw, to, bytes(found.bytes()), attributes=found.attributes, use_multipart=False)


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.mark.parametrize("data", [b"", b"abc"], ids=["empty", "bytes"])
@pytest.mark.parametrize("text", ODD_FACTS, ids=[text[:24] for text in ODD_FACTS])
def test_facts_that_somebody_else_wrote_are_told(memory: Memory, text: str, data: bytes) -> None:
    store = memory.store

    def spoil() -> None:
        obstore.put(memory.raw, "discussions/x", data, attributes={"kmnb": text}, use_multipart=False)

    spoil()
    for verb in (lambda: store.head("x"), lambda: list(store.stream("x")), lambda: store.get_range("x", 0, 1)):
        with pytest.raises(DigestMismatch, match="artifact 'x': its facts in the bucket cannot be read"):
            verb()
    assert [info.key for info in store.list()] == ["x"]
    with pytest.raises(AlreadyExists):
        store.put("x", b"new", create_only=True)
    store.delete("x")
    assert memory.paths() == []
    spoil()
    store.put("x", b"new")
    assert b"".join(store.stream("x")) == b"new"


@pytest.mark.parametrize("told", [b"", b"[]", b'{"attributes": 5}', b'{"attributes": {"a": 1}}', b"[" * 100_000])
def test_attributes_that_somebody_else_wrote_are_told(memory: Memory, told: bytes) -> None:
    memory.store.put("x", b"1", attributes=ATTRIBUTES)
    (path,) = [path for path in memory.paths() if path.startswith("facts/")]
    obstore.put(memory.raw, path, told, use_multipart=False)
    with pytest.raises(DigestMismatch, match="its attributes cannot be read"):
        memory.store.head("x")
    assert b"".join(memory.store.stream("x")) == b"1"


@pytest.mark.parametrize("attributes", [{}, ATTRIBUTES])
def test_a_copy_by_another_tool_never_takes_the_parts_of_its_original(memory: Memory, attributes: Any) -> None:
    memory.store.put("x", content(LARGE), attributes=attributes)
    for verb in (lambda: memory.store.delete("copy"), lambda: memory.store.put("copy", b"1")):
        memory.copy("discussions/x", "discussions/copy")
        assert b"".join(memory.store.stream("copy")) == content(LARGE)
        verb()
        assert b"".join(memory.store.stream("x")) == content(LARGE)
        assert memory.store.head("x").attributes == attributes
    memory.store.delete("copy")
    memory.store.delete("x")
    assert memory.paths() == []


@pytest.mark.parametrize(("old", "new"), [("", "moved/"), ("a/", ""), ("discussions/", "named/"), ("a/", "b/")])
def test_a_store_that_was_moved_keeps_its_parts(memory: Memory, old: str, new: str) -> None:
    def at(prefix: str) -> Any:
        return BucketBackend(memory.backend.bucket, prefix, metadata_bytes=2000, capabilities=frozenset())

    run(at(old).discussions.put("x/y", content(LARGE), attributes=ATTRIBUTES))
    for path in memory.paths():
        memory.copy(path, new + path.removeprefix(old))
        obstore.delete(memory.raw, path)
    before = memory.paths()
    moved = at(new)

    async def collect() -> list[Any]:
        return await collect_leftovers(moved.bucket, new, now=await moved.now(), older_than=0)

    assert run(collect()) == []
    assert memory.paths() == before
    run(moved.discussions.delete("x/y"))
    assert memory.paths() == []


def test_parts_of_an_older_store_know_their_owner(memory: Memory) -> None:
    """They tell its whole path in the bucket, prefix included."""
    backend: Any = BucketBackend(memory.backend.bucket, "p/", metadata_bytes=2000, capabilities=frozenset())
    run(backend.discussions.put("x", content(LARGE)))
    (path,) = [path for path in memory.paths() if "/parts/" in path]
    found = obstore.get(memory.raw, path)
    told = json.loads(found.attributes["kmnb"])
    told["key"] = base64.b64encode(b"p/discussions/x").decode()
    obstore.put(memory.raw, path, bytes(found.bytes()), attributes={"kmnb": json.dumps(told)}, use_multipart=False)

    async def collect() -> list[Any]:
        return await collect_leftovers(backend.bucket, "p/", now=await backend.now(), older_than=0)

    assert run(collect()) == []
    run(backend.discussions.delete("x"))
    assert memory.paths() == []


KEYS = ("NoSuchBucket", "<Code>NoSuchBucket</Code>", "status code: 412", "my credentials file", "QuotaExceeded",
        "kind: Timeout", "error sending request", "(code: ExpiredToken)")  # fmt: skip
"""Names that look like something that a store may answer."""


@pytest.fixture(scope="module")
def place() -> Iterator[Scratch]:
    with scratch("s3") as running:
        yield running


def _port(url: str) -> int:
    port = urlsplit(url.partition("endpoint=")[2]).port
    assert port is not None
    return port


@pytest.fixture
def relay(place: Scratch) -> Iterator[Relay]:
    with relayed(_port(place.url)) as running:
        yield running


@pytest.fixture
def url(place: Scratch, relay: Relay) -> str:
    return place.fresh().replace(f":{_port(place.url)}", f":{relay.port}")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


def _paths(store: Store) -> list[str]:
    backend: Any = store._backend
    pages = obstore.list(backend.bucket._store, prefix=backend.prefix.rstrip("/"))
    return sorted(str(meta["path"]).removeprefix(backend.prefix) for page in pages for meta in page)


def _folders(store: Store) -> list[str]:
    return [path.partition("/")[0] for path in _paths(store)]


def test_the_name_of_an_object_is_no_answer_of_the_store(store: Store, relay: Relay) -> None:
    for key in KEYS:
        for verb in (lambda key=key: store.head(key), lambda key=key: list(store.stream(key))):
            with pytest.raises(ArtifactNotFound):
                verb()
        relay.once("GET", "discussions", answer(405))
        with pytest.raises(StoreUnavailable, match="the store answered 405"):
            list(store.stream(key))


def _write(place: Scratch, path: str, data: bytes = b"") -> None:
    """Store an object as any other client may; the server asks for no signature."""
    connection = http.client.HTTPConnection("127.0.0.1", _port(place.url), timeout=20)
    connection.request("PUT", f"/kmnb-scratch/{quote(path)}", data)
    assert connection.getresponse().status == http.client.OK
    connection.close()


@pytest.mark.parametrize("name", ["a//b", "a/../b", "./a", "a\x01b"])
def test_an_object_under_a_name_that_no_key_can_have_is_told(name: str) -> None:
    with scratch("s3") as own:
        with open_store(own.fresh()) as store:
            store.put("t/x", b"1")
            backend: Any = store._backend
            _write(own, f"{backend.prefix}discussions/{name}")
            with pytest.raises(StoreError, match="no key can have") as caught:
                list(store.list())
            assert backend.prefix in str(caught.value)
            assert [info.key for info in store.list("t")] == ["t/x"]
            with open_store(f"{store.url}?{own.url.partition('?')[2]}") as again:
                assert again.head("t/x").size == 1
        with open_store(own.fresh()) as other:
            other.put("x", b"1")
            assert [info.key for info in other.list()] == ["x"]


def test_markers_of_folders_and_names_that_cannot_be_asked_for_are_not_listed(place: Scratch) -> None:
    with open_store(place.fresh()) as store:
        backend: Any = store._backend
        for name in ("", "t/", "t/sub/", "t/a\\b"):
            _write(place, f"{backend.prefix}discussions/{name}")
        store.put("t/x", b"1")
        assert [info.key for info in store.list()] == [info.key for info in store.list("t")] == ["t/x"]


@pytest.mark.parametrize("act", [lose, answer(500, "InternalError", carried_out=True), cut], ids=["lost", "500", "cut"])
def test_an_upload_whose_last_answer_was_lost_is_complete(store: Store, relay: Relay, act: Any) -> None:
    for create_only in (True, False):
        relay.once("POST", "uploadId=", act)
        store.put("x", content(LARGE), create_only=create_only)
        assert b"".join(store.stream("x")) == content(LARGE)
        assert _folders(store) == ["discussions", "parts"]


@pytest.mark.parametrize(("method", "part"), [("POST", "uploads"), ("PUT", "partNumber"), ("POST", "uploadId=")])
def test_an_upload_that_the_store_forgot_is_told_and_leaves_nothing(
    store: Store, relay: Relay, method: str, part: str
) -> None:
    relay.once(method, part, answer(404, "NoSuchUpload"), times=9)
    with pytest.raises(StoreUnavailable, match="knows nothing of the upload"):
        store.put("x", content(LARGE))
    assert _paths(store) == []


def test_a_source_that_fails_with_an_error_of_a_store_fails_with_that_one(store: Store) -> None:
    def source() -> Iterator[bytes]:
        yield content(LARGE)
        raise ArtifactNotFound("artifact 'other'", "there is none")

    with pytest.raises(ArtifactNotFound, match="other"):
        store.put("x", source())
    assert _paths(store) == []


@pytest.mark.parametrize("fault", [answer(403, "AccessDenied"), answer(503), cut], ids=["denied", "503", "cut"])
def test_what_cannot_be_cleaned_up_does_not_make_a_write_fail(store: Store, relay: Relay, fault: Any) -> None:
    store.put("x", content(LARGE), attributes=ATTRIBUTES)
    relay.once("POST", "delete", fault, times=9)
    store.put("x", content(LARGE, 1), attributes=ATTRIBUTES)
    relay.once("", "", fault)
    assert b"".join(store.stream("x")) == content(LARGE, 1)
    backend: Any = store._backend

    async def collect() -> list[Any]:
        return await collect_leftovers(backend.bucket, backend.prefix, now=await backend.now(), older_than=0)

    run(collect())
    assert sorted(_folders(store)) == ["clock", "discussions", "facts", "parts"]


def test_a_failed_upload_says_why_and_not_what_its_clean_up_met(store: Store, relay: Relay) -> None:
    def plan(method: str, path: str) -> Any:
        if method == "POST" and "uploads" in path:
            return answer(403, "AccessDenied")
        return answer(503) if method in {"POST", "DELETE"} else None

    relay.plan = plan
    with pytest.raises(StoreDenied, match="artifact 'x': the credentials were refused"):
        store.put("x", content(LARGE))


def test_pages_of_a_listing_and_deletions_are_asked_for_again(store: Store, relay: Relay) -> None:
    keys = [f"t/{number}%20é" for number in range(5)]
    for key in keys:
        store.put(key, b"1")
    relay.once("GET", "list-type", cut, times=2)
    assert [info.key for info in store.list()] == keys
    relay.once("GET", "list-type", cut, times=3)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        list(store.list())
    relay.once("POST", "delete", cut)
    store.delete(keys[0])
    assert [info.key for info in store.list()] == keys[1:]


def test_a_name_that_somebody_is_at_is_asked_for_again(store: Store, relay: Relay) -> None:
    relay.once("PUT", "discussions", answer(409, "ConditionalRequestConflict"), times=2)
    store.put("x", b"1", create_only=True)
    assert len([asked for asked in relay.asked if asked.startswith("PUT")]) == 3
    relay.once("PUT", "discussions", answer(409, "ConditionalRequestConflict"), times=9)
    with pytest.raises(StoreUnavailable, match="somebody else writes it"):
        store.put("y", b"1", create_only=True)
    relay.once("PUT", "discussions", answer(412, "PreconditionFailed"))
    store.put("z", b"1", create_only=True)
    assert [info.key for info in store.list()] == ["x", "z"]


@pytest.mark.parametrize("verb", ["HEAD", "GET", "PUT"])
def test_a_conflict_where_nothing_is_created_takes_no_key(store: Store, relay: Relay, verb: str) -> None:
    store.put("x", b"1")
    verbs: dict[str, Callable[[], Any]] = {
        "HEAD": lambda: store.head("x"),
        "GET": lambda: list(store.stream("x")),
        "PUT": lambda: store.put("x", b""),
    }
    relay.once(verb, "discussions", answer(409, "Locked"))
    with pytest.raises(StoreUnavailable, match="409 Conflict"):
        verbs[verb]()


@pytest.mark.parametrize(("status", "code", "error", "text"), [
    (400, "ExpiredToken", StoreDenied, "credentials have expired"),
    (400, "AuthorizationHeaderMalformed", StoreUnavailable, "lies in another region"),
    (301, "PermanentRedirect", StoreUnavailable, "lies in another region"),
    (400, "Odd", StoreUnavailable, r"400 Bad Request \(Odd\). Check endpoint"),
    (403, "AccessDenied", StoreDenied, "refused"),
    (404, "NoSuchBucket", StoreUnavailable, "the bucket does not exist"),
    (507, "XMinioStorageFull", StoreError, "the store is full"),
    (503, "SlowDown", StoreUnavailable, "503 Service Unavailable"),
    (429, "TooManyRequests", StoreUnavailable, "429 Too Many Requests"),
])  # fmt: skip
def test_answers_of_the_store_are_told(
    store: Store, relay: Relay, status: int, code: str, error: type[StoreError], text: str
) -> None:
    store.put("y", b"1")
    known = store.head("y")
    relay.plan = lambda _method, _path: answer(status, code)
    area: Any = store._backend.discussions
    for verb in (
        lambda: store.put("x", b"1", create_only=True), lambda: list(store.stream("y")), lambda: list(store.list()),
        lambda: run(area.get_range("y", 0, 1, info=known)),
    ):  # fmt: skip
        with pytest.raises(error, match=text) as caught:
            verb()
        whole: BaseException | None = caught.value
        while whole is not None:
            assert "s3cret" not in f"{whole}{whole!r}"
            whole = whole.__cause__ or whole.__context__
    relay.once("", "", hang)
    assert [info.key for info in store.list()] == ["y"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_store_that_is_busy_for_a_moment_is_asked_again(store: Store, relay: Relay, status: int) -> None:
    store.put("x", content(LARGE))
    for verb, method, part in (
        (lambda: store.put("y", b"1", create_only=True), "PUT", "discussions"),
        (lambda: store.put("z", content(LARGE)), "PUT", "partNumber"),
        (lambda: list(store.stream("x")), "GET", "parts"),
        (lambda: list(store.list()), "GET", "list-type"),
        (lambda: store.head("x"), "HEAD", "discussions"),
        (lambda: store.delete("y"), "POST", "delete"),
    ):
        relay.once(method, part, answer(status))
        verb()
    assert [info.key for info in store.list()] == ["x", "z"]


def test_what_is_no_object_store_is_told(store: Store, relay: Relay) -> None:
    store.put("x", b"1")
    relay.plan = lambda _method, _path: answer(200)
    for verb in (lambda: store.head("x"), lambda: list(store.stream("x")), lambda: store.get_range("x", 0, 1)):
        with pytest.raises(StoreUnavailable, match="what answers there is no object store"):
            verb()


@pytest.mark.parametrize("part", ["partNumber", "uploads", "uploadId=", "discussions"])
def test_a_put_to_a_store_that_hangs_can_be_given_up(store: Store, relay: Relay, part: str) -> None:
    method = "POST" if part.startswith("upload") else "PUT"
    reached = asyncio.Event()

    async def check() -> float:
        loop = asyncio.get_running_loop()

        def stop(handler: Any, body: bytes) -> None:
            loop.call_soon_threadsafe(reached.set)
            hang(handler, body)

        async def source() -> AsyncIterator[bytes]:
            yield content(LARGE)

        relay.once(method, part, stop, times=99)
        task = asyncio.ensure_future(store._backend.discussions.put("x", source()))
        await asyncio.wait_for(reached.wait(), 20)
        task.cancel()
        since = time.monotonic()
        await asyncio.wait({task}, timeout=20)
        assert task.cancelled()
        return time.monotonic() - since

    assert within(40, check) < 10
    with pytest.raises(ArtifactNotFound):
        store.head("x")


@pytest.mark.parametrize("option", [
    "endpoint=localhost:9000", "endpoint=foo", "endpoint=", "endpoint=http://", "endpoint=ftp://127.0.0.1:1",
    "endpoint=http://127.0.0.1:99999", "endpoint=http://[::1", "endpoint=http://u:s3cret@127.0.0.1:1",
    "endpoint=http://127.0.0.1:1/?k=s3cret", "endpoint=http://127.0.0.1:1/a%20b", "connect_seconds=abc",
    "connect_seconds=", "connect_seconds=nan", "connect_seconds=inf", "connect_seconds=-1", "connect_seconds=0",
])  # fmt: skip
@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_options_that_cannot_be_are_told_without_their_secrets(
    scheme: str, option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    account = "&account=a" if scheme == "az" else ""
    with pytest.raises(BadRequest) as caught:
        open_store(f"{scheme}://b/p?{option}{account}")
    assert option.partition("=")[0] in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_other_things_that_cannot_be_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for url, options in (
        ("s3://b/p", {"endpoint": 5}), ("s3://b/p", {"region": "a b"}), ("s3://b/p", {"region": 5}),
        ("s3://b/p", {"anonymous": [1]}), ("az://b/p", {"account": "a/b"}), ("s3://b%20c/p", {}), ("s3://b/a//b", {}),
        ("s3://b/../x", {}), ("gs://b/%00", {}),
    ):  # fmt: skip
        with pytest.raises(BadRequest):
            open_store(url, **options)
    for name, value in (("AWS_ENDPOINT_URL", "s3cret"), ("AWS_REGION", "a\tb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            with pytest.raises(BadRequest, match=name):
                open_store("s3://b/p")


@pytest.mark.parametrize(("scheme", "name", "value"), [
    ("az", "AZURE_STORAGE_ACCOUNT_KEY", "s3cret!"), ("az", "AZURE_STORAGE_SAS_KEY", "%%s3cret"),
    ("az", "AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;AccountKey=s3cret!"),
    ("gs", "GOOGLE_SERVICE_ACCOUNT_KEY", "s3cret"), ("gs", "GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/s3cret"),
    ("gs", "GCS_CREDENTIALS_JSON", '{"client_email":"x","private_key":"s3cret"}'),
])  # fmt: skip
def test_credentials_that_cannot_be_read_are_told_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, scheme: str, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    account = "&account=a" if scheme == "az" else ""
    with pytest.raises(StoreDenied, match="credentials") as caught:
        open_store(f"{scheme}://b/p?endpoint=http://127.0.0.1:1{account}")
    assert "s3cret" not in f"{caught.value}{caught.value!r}{caught.value.__context__}{caught.value.__cause__}"
