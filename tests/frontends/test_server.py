"""The Jupyter Server extension: a real server, a real kernel, one store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from kmnb.ops.commands import commands
from kmnb.ops.sip import sip_names
from tests.children import ROOT
from tests.frontends.jupyter import Server, running_kernel, running_server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def store(folder: Path) -> str:
    return f"file://{folder}/store"


@pytest.fixture(scope="module")
def server(folder: Path, store: str) -> Iterator[Server]:
    with running_server(folder, KMNB_URL=store) as server:
        yield server


@pytest.fixture(scope="module")
def key(store: str) -> str:
    import kmnb

    with kmnb.connect(store, thread="t1", agent="ada") as workspace:
        for number in range(5):
            workspace.put(f"small {number}", tool="small")
        return workspace.put("".join(f"line {n}\n" for n in range(1000)), tool="text").key


def test_the_listing_comes_in_pages(server, key):
    seen: list[str] = []
    cursor = ""
    while True:
        page = server.ask(f"kmnb/artifacts?prefix=default/nocrew/t1&limit=4{cursor}").json
        seen += [item["key"] for item in page["items"]]
        if page["cursor"] is None:
            break
        cursor = f"&cursor={quote(page['cursor'])}"
    assert seen == sorted([key, *(f"default/nocrew/t1/ada/small-{n}" for n in range(5))])
    assert {item["key"] for item in server.ask("kmnb/artifacts").json["items"]} >= set(seen)


def test_the_envelope_has_the_digest_as_its_tag(server, key):
    reply = server.ask(f"kmnb/artifacts/{key}")
    assert reply.json["artifact"]["key"] == key
    assert reply.json["uri"] == f"artifact://discussions/{key}"
    assert reply.headers["ETag"] == f'"{reply.json["artifact"]["digest"]}"'
    again = server.ask(f"kmnb/artifacts/{quote(reply.json['uri'], safe='')}")
    assert again.json == reply.json


@pytest.mark.parametrize("name", sip_names())
def test_every_sip_has_the_one_route(server, key, name):
    reply = server.ask(f"kmnb/sips/{name}/{key}")
    answer = reply.json
    assert reply.status in (200, 400), answer
    assert reply.status == 200 or answer["code"] in ("bad-request", "bad-expression")


def test_arguments_come_in_the_query_or_in_a_body(server, key):
    assert server.ask(f"kmnb/sips/head/{key}?lines=2").json["values"] == ["line 0", "line 1"]
    by_body = server.ask(f"kmnb/sips/lines/{key}", method="POST", body={"start": 5, "limit": 1})
    assert by_body.json["values"] == ["line 5"]
    assert by_body.json["total"] == 1000
    more = server.ask(f"kmnb/sips/grep/{key}?pattern=line&max=1").json
    assert server.ask(f"kmnb/sips/grep/{key}?pattern=line&max=1&cursor={more['cursor']}").json["shown"] == 1


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("kmnb/artifacts/a/b/c/d/e-0", 404, "not-found"),
        ("kmnb/artifacts/a/../../b", 400, "bad-key"),
        ("kmnb/sips/head/KEY?lines=x", 400, "bad-request"),
        ("kmnb/sips/head/KEY?linse=3", 400, "bad-request"),
        ("kmnb/sips/nosuch/KEY", 400, "unknown-plugin"),
        ("kmnb/sips/grep/KEY?pattern=(", 400, "bad-expression"),
        ("kmnb/artifacts?limit=0", 400, "bad-request"),
    ],
)
def test_errors_are_problems_with_the_code_of_python(server, key, path, status, code):
    reply = server.ask(path.replace("KEY", key))
    assert reply.status == status, reply.body
    assert reply.headers["Content-Type"].startswith("application/problem+json")
    assert (reply.json["code"], reply.json["status"]) == (code, status)
    assert len(reply.body) < 4096


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff", b'{"pattern": "a", "ref": "b"}'])
def test_bodies_that_are_no_arguments_are_refused(server, key, body):
    reply = server.ask(f"kmnb/sips/grep/{key}", method="POST", body=body)
    assert (reply.status, reply.json["code"]) == (400, "bad-request")


VERBS = [
    ("GET", "kmnb/artifacts"), ("GET", "kmnb/artifacts/KEY"), ("DELETE", "kmnb/artifacts/KEY"),
    ("GET", "kmnb/sips/head/KEY"), ("POST", "kmnb/sips/head/KEY"), ("GET", "kmnb/operations"), ("GET", "kmnb/metrics"),
    ("POST", "kmnb/operations/gc"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), VERBS)
def test_every_verb_needs_a_token(server, key, method, path):
    reply = server.ask(path.replace("KEY", key), method=method, token=False, body=b"{}" if method == "POST" else None)
    assert reply.status == 403
    assert key.encode() not in reply.body


def test_the_table_of_verbs_is_complete_and_each_is_authenticated_and_authorised():
    from kmnb.frontends._server_routes import ROUTES

    verbs = {
        (verb.upper(), path.split("/")[0])
        for path, handler in ROUTES
        for verb in ("get", "post", "put", "patch", "delete")
        if verb in vars(handler)
    }
    assert verbs == {(method, path.split("/")[1]) for method, path in VERBS}
    source = (ROOT / "kmnb/frontends/_server_routes.py").read_text()
    decorated = source.count("@web.authenticated\n    @authorized\n") + source.count(
        "@web.authenticated\n    @_reading\n"
    )
    assert decorated == sum(source.count(f"    async def {verb}(self") for verb in ("get", "post", "delete"))


def test_a_cookie_alone_cannot_change_anything(server, key):
    """A browser sends its cookie along; without the XSRF header a write is refused."""
    reply = server.ask(f"?token={server.token}", token=False)
    cookies = "; ".join(value.split(";")[0] for value in reply.headers.get_all("Set-Cookie") or [])
    assert server.ask("kmnb/artifacts", token=False, Cookie=cookies).status == 200
    reply = server.ask(f"kmnb/artifacts/{key}", method="DELETE", token=False, Cookie=cookies)
    assert reply.status == 403
    assert server.ask(f"kmnb/artifacts/{key}").status == 200


def test_a_delete_can_be_conditional(server, store):
    import kmnb

    with kmnb.connect(store, thread="t2") as workspace:
        mine = workspace.put("x", tool="gone").key
    assert server.ask(f"kmnb/artifacts/{mine}", method="DELETE", If_Match='"sha256:0"').status == 409
    assert server.ask(f"kmnb/artifacts/{mine}", method="DELETE").status == 204
    assert server.ask(f"kmnb/artifacts/{mine}").status == 404


def test_operations_are_described_by_schemas(server):
    told = server.ask("kmnb/operations").json
    assert told["head"]["arguments"]["properties"]["lines"]["type"] == "integer"
    assert set(told) == set(commands())


def test_kernel_and_server_find_the_same_store(server, folder, store):
    with running_kernel(folder, KMNB_URL=store) as kernel:
        kernel.run("%load_ext kmnb")
        kernel.run("%artifact connect --thread shared --out ws")
        kernel.run("%%artifact spill --tool rows --out s\nfor n in range(2000): print('row', n)")
        key = kernel.text("print(s.artifact.key)").strip()
        assert server.ask(f"kmnb/sips/tail/{key}?lines=1").json["values"] == ["row 1999"]
        kernel.run("%artifact close")
        assert server.ask(f"kmnb/sips/tail/{key}?lines=1").status == 404


def test_a_memory_store_cannot_be_seen_from_the_server(tmp_path):
    with running_server(tmp_path, "--KmnbServer.url=memory://x") as server:
        reply = server.ask("kmnb/artifacts")
    assert (reply.status, reply.json["code"]) == (501, "not-supported")
    assert "cannot be seen" in reply.json["detail"]


def test_the_wheel_enables_the_extension():
    import tomllib

    target = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert target["shared-data"]["extensions/server-config/kmnb.json"] == (
        "etc/jupyter/jupyter_server_config.d/kmnb.json"
    )
    enabled = json.loads((ROOT / "extensions/server-config/kmnb.json").read_text())
    assert enabled == {"ServerApp": {"jpserver_extensions": {"kmnb": True}}}
