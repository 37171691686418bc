"""Native lifecycle rules: applied where the store can be asked, and harmless to everything that is to stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import obstore
import pytest

import kmnb
from kmnb._bridge import run
from kmnb.core.lifecycle import lifecycle_rule
from kmnb.errors import ArtifactNotFound, NotSupported, StoreDenied, StoreError, StoreUnavailable
from kmnb.ops.workspace import Workspace
from kmnb.storage.backends import _s3_rules
from kmnb.storage.backends._s3_rules import S3Rules
from kmnb.testing import scratch

LARGE = bytes(9 * 1024 * 1024)
"""More than is stored under its key."""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A store on a server that speaks S3's language."""
    with scratch("s3") as place:
        yield place.fresh()


@pytest.fixture
def s3(bucket: str) -> Iterator[Workspace]:
    with kmnb.connect(bucket, thread="t", agent="a", app="p", config={"sweep_on_connect": False}) as ws:
        yield ws


def foreign_client(url: str) -> Any:
    """A client of another make."""
    import boto3

    endpoint = urlsplit(url).query.partition("endpoint=")[2]
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")


def test_the_rules_are_applied_beside_those_of_others_and_can_be_read_back(s3: Workspace, bucket: str) -> None:
    client, name = foreign_client(bucket), urlsplit(bucket).netloc
    other = {"ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"}, "Expiration": {"Days": 400}}
    client.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration={"Rules": [other]})
    before = s3.lifecycle()
    assert "applied" not in before.data
    for _ in range(2):
        answer = s3.lifecycle(apply=True)
        assert (answer.data["applied"], answer.data["others"]) == (True, 1)
    rules = client.get_bucket_lifecycle_configuration(Bucket=name)["Rules"]
    assert [rule for rule in rules if rule["ID"] == "logs"] == [other]
    ours = {rule["Filter"]["Prefix"]: rule for rule in rules if rule["ID"] != "logs"}
    top = urlsplit(bucket).path.strip("/")
    assert {place: rule.get("Expiration", {}).get("Days") for place, rule in ours.items()} == {
        f"{top}/discussions/": 2, f"{top}/parts/discussions/": 3, f"{top}/facts/discussions/": 3, f"{top}/parts/": None,
    }  # fmt: skip
    assert ours[f"{top}/parts/"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 2}


def test_in_a_peers_layout_the_rules_concern_what_is_ours(bucket: str) -> None:
    url = bucket.replace("?", "-peer?")
    config = {"layout": "agent-mesh", "sweep_on_connect": False}
    with kmnb.connect(url, thread="t", agent="a", app="p", config=config) as ws:
        ws.put("x" * 5000, tool="x")
        ws.save("report.csv", "a,b\n")
        answer = ws.lifecycle(apply=True)
    top = urlsplit(url).path.strip("/")
    told = {rule["Filter"]["Prefix"] for rule in answer.data["rule"]["Rules"] if "Expiration" in rule}
    assert told == {f"{top}/.kmnb/{place}" for place in ("discussions/", "parts/discussions/", "facts/discussions/")}
    client = foreign_client(bucket)
    found = client.list_objects_v2(Bucket=urlsplit(url).netloc, Prefix=f"{top}/")["Contents"]
    gone = [one["Key"] for one in found if any(one["Key"].startswith(place) for place in told)]
    assert {key.removeprefix(f"{top}/.kmnb/").partition("/")[0] for key in gone} == {"discussions", "facts"}
    assert any("report.csv" in one["Key"] for one in found)


def test_a_hold_outlives_the_stores_own_rule(s3: Workspace) -> None:
    art, other = s3.put(LARGE, tool="x"), s3.put("small", tool="x")
    art.hold("audit")
    reference = art.envelope()
    backend: Any = s3.context.backend
    top, raw = backend._prefix, backend._bucket._store
    paths = [str(meta["path"]).removeprefix(top) for page in obstore.list(raw, prefix=top.rstrip("/")) for meta in page]
    for path in expired_paths(paths):
        obstore.delete(raw, top + path)
    with pytest.raises(ArtifactNotFound):
        s3.get(other.key)
    for handle in (s3.get(art.key), s3.get(reference)):
        assert handle.read(0, len(LARGE)) == LARGE
    assert str(s3.sweep().explain(art.key).reason) == "held"  # type: ignore[union-attr]
    art.release()
    with pytest.raises(ArtifactNotFound):
        s3.get(art.key)


def test_a_request_is_signed_as_the_stores_own_library_signs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = {"access_key_id": "AKID", "secret_access_key": "s3cr/et", "session_token": "token"}
    ours = S3Rules("a-bucket", keys, region="eu-west-1", endpoint=None)
    host, path = "s3.eu-west-1.amazonaws.com", "/a-bucket"
    headers = ours._signed("PUT", host, path, body=b"<x/>")
    request = AWSRequest("PUT", f"https://{host}{path}?lifecycle=", data=b"<x/>")
    request.headers.add_header("Content-MD5", headers["content-md5"])
    request.context["timestamp"] = headers["x-amz-date"]
    request.headers.add_header("X-Amz-Date", headers["x-amz-date"])
    request.headers.add_header("X-Amz-Security-Token", "token")
    request.headers.add_header("X-Amz-Content-SHA256", headers["x-amz-content-sha256"])
    signer = S3SigV4Auth(Credentials("AKID", "s3cr/et", "token"), "s3", "eu-west-1")
    text = signer.string_to_sign(request, signer.canonical_request(request))
    assert headers["authorization"].endswith(f"Signature={signer.signature(text, request)}")


def test_without_keys_the_way_out_is_told(s3: Workspace) -> None:
    rules = S3Rules("b", {}, region="r", endpoint="http://127.0.0.1:1")
    with pytest.raises(NotSupported, match="kmnb lifecycle"):
        run(rules.read())
    reached = S3Rules("b", {"access_key_id": "a", "secret_access_key": "b"}, region="r", endpoint="http://127.0.0.1:1")
    with pytest.raises(StoreUnavailable):
        run(reached.read())


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (403, b"<Error/>", StoreDenied),
        (301, b"", StoreError),
        (200, b"<!DOCTYPE x [<!ENTITY a 'a'>]><x>&a;</x>", StoreError),
        (200, b"not xml", StoreError),
    ],
)
def test_odd_answers_of_a_store_are_errors(
    monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, error: type[Exception]
) -> None:
    class Answer:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.status = status

        def request(self, *_: Any, **__: Any) -> None:
            """Nothing is sent."""

        def getresponse(self) -> Any:
            return self

        def read(self, _: int) -> bytes:
            return body

        def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr(_s3_rules.http.client, "HTTPSConnection", Answer)
    rules = S3Rules("b", {"access_key_id": "AKID", "secret_access_key": "hidden"}, region="r", endpoint=None)
    with pytest.raises(error) as caught:
        run(rules.read())
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(("scheme", "who"), [("gs", "Google"), ("az", "Azure")])
def test_a_store_that_takes_rules_elsewhere_says_where(scheme: str, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with kmnb.connect("memory://", config={"sweep_on_connect": False}) as ws:
        monkeypatch.setattr(ws.context.backend, "url", f"{scheme}://b/p")
        monkeypatch.setattr(ws.context.backend, "_prefix", "p/")
        assert "p/parts/discussions/" in ws.lifecycle().text
        with pytest.raises(NotSupported, match=who) as caught:
            ws.lifecycle(apply=True)
    assert "rule.json" in str(caught.value)


def expired_paths(paths: list[str]) -> dict[str, int]:
    """What the rules remove, read from the document as the store reads it; with the age in days."""
    rules = lifecycle_rule("s3", bucket="b", prefix="", ttl_seconds=48 * 3600).document["Rules"]
    return {
        path: min(rule["Expiration"]["Days"] for rule in found)
        for path in paths
        if (found := [one for one in rules if path.startswith(one["Filter"]["Prefix"]) and "Expiration" in one])
    }


def test_the_rules_leave_no_bodies_behind_and_touch_nothing_named() -> None:
    with kmnb.connect("memory://", thread="t", agent="a", config={"sweep_on_connect": False}) as ws:
        raw = ws.context.backend._bucket._store  # type: ignore[attr-defined]
        ws.put(LARGE, tool="x")
        ws.put("é\n" * 3000, tool="small")
        ws.save("report.bin", LARGE, metadata={"description": "x" * 3000})
        paths = [str(meta["path"]) for page in obstore.list(raw) for meta in page]
        gone = expired_paths(paths)
        kinds = {re.sub(r"(discussions/|parts/|facts/).*", r"\1", path) for path in gone}
        assert kinds == {"discussions/", "parts/", "facts/"}
        assert all(days == (2 if path.startswith("discussions/") else 3) for path, days in gone.items())
        for path in gone:
            obstore.delete(raw, path)
        assert list(ws.list()) == []
        assert ws.load("report.bin").read(0, len(LARGE)) == LARGE
        left = [path for path in paths if path not in gone]
        assert {path.partition("/")[0] for path in left} == {"named", "parts", "facts", "records"}
        assert sum(path.startswith("parts/") for path in left) == 1


def test_bodies_of_older_stores_are_read_and_deleted_where_they_are() -> None:
    with kmnb.connect("memory://", thread="t", agent="a", config={"sweep_on_connect": False}) as ws:
        area: Any = ws.context.backend.discussions
        area._writer._home = ""
        old = ws.put(LARGE, tool="x")
        area._writer._home = "discussions/"
        raw = ws.context.backend._bucket._store  # type: ignore[attr-defined]
        (path,) = [str(meta["path"]) for page in obstore.list(raw, prefix="parts") for meta in page]
        assert re.fullmatch(r"parts/[0-9a-f]{32}", path)
        assert ws.get(old.key).read(0, len(LARGE)) == LARGE
        ws.delete(old.key)
        assert [meta for page in obstore.list(raw, prefix="parts") for meta in page] == []
