"""Agent Mesh's configuration blocks as settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kmnb
from kmnb.errors import BadRequest, StoreDenied
from kmnb.frontends._mesh import translate
from kmnb.frontends._settings import resolve
from kmnb.frontends.cli import main


def block(**service: Any) -> dict[str, Any]:
    return {"artifact_service": service}


@pytest.mark.parametrize(
    ("service", "environ", "url"),
    [
        ({"type": "memory"}, {}, "memory://"),
        ({"type": "filesystem", "base_path": "/srv/a b"}, {}, "file:///srv/a%20b"),
        ({"type": "s3", "bucket_name": "b"}, {}, "s3://b"),
        ({"type": "s3", "bucket_name": "b", "region": "eu"}, {"S3_ENDPOINT_URL": "http://h:1"},
         "s3://b?endpoint=http%3A%2F%2Fh%3A1&region=eu"),
        ({"type": "gcs", "bucket_name": "b"}, {}, "gs://b"),
        ({"type": "gcs", "bucket_name": "b", "project": "p", "credentials": "${C}"},
         {"C": "{}", "GCS_CREDENTIALS_JSON": "{}", "GCS_PROJECT": "p"}, "gs://b"),
        ({"type": "gcs", "bucket_name": "b", "client_options": {"api_endpoint": "http://h:1"}}, {},
         "gs://b?endpoint=http%3A%2F%2Fh%3A1"),
        ({"type": "azure", "container_name": "c", "account_name": "me"}, {}, "az://c?account=me"),
        ({"type": "azure", "bucket_name": "c"}, {}, "az://c"),
        ({"type": "s3", "bucket_name": "${BUCKET, none}"}, {"BUCKET": "b"}, "s3://b"),
        ({"type": "s3", "bucket_name": "${BUCKET, none}"}, {}, "s3://none"),
        ({"type": "s3", "bucket_name": "b", "aws_access_key_id": "${K}"}, {"K": "1", "AWS_ACCESS_KEY_ID": "1"}, "s3://b"),
    ],
)  # fmt: skip
def test_every_type_has_its_store(service: dict[str, Any], environ: dict[str, str], url: str) -> None:
    assert translate(block(**service), environ)["url"] == url


@pytest.mark.parametrize(
    ("service", "text"),
    [
        ({"type": "ftp"}, "Allowed: memory, filesystem, s3, gcs, azure"),
        ({"type": "s3"}, "needs bucket_name"),
        ({"type": "azure"}, "needs container_name"),
        ({"type": "filesystem"}, "needs base_path"),
        ({"type": "filesystem", "base_path": "/x", "bukket": 1}, "Known: base_path"),
        ({"type": "gcs", "bucket_name": "b", "client_options": {"scopes": []}}, "Known: api_endpoint"),
        ({"type": "gcs", "bucket_name": "b", "connection_string": ""}, "Known: bucket_name, project"),
        ({"type": "memory", "artifact_scope": "custom"}, "Allowed: namespace, global"),
    ],
)
def test_what_is_not_there_says_what_is_allowed(service: dict[str, Any], text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        translate(block(**service), {})


def test_credentials_stay_in_the_environment() -> None:
    with pytest.raises(BadRequest, match="Set AWS_SECRET_ACCESS_KEY") as caught:
        translate(block(type="s3", bucket_name="b", aws_secret_access_key="hush"), {})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(("kind", "right", "wrong"), [("agent", "global", "app"), ("entrypoint", "app", "global")])
def test_each_kind_of_block_has_its_label_of_the_scope(kind: str, right: str, wrong: str) -> None:
    def of(label: str) -> dict[str, Any]:
        return {kind: block(type="memory", artifact_scope=label)}

    assert translate(of(right), {})["scope"] == "component"
    assert translate({"kind": kind, **of(right)[kind]}, {})["scope"] == "component"
    assert translate(of("namespace"), {})["scope"] == "namespace"
    with pytest.raises(BadRequest, match=f"Write artifact_scope: {right}"):
        translate(of(wrong), {})


def test_a_whole_file_gives_the_block_of_its_agent(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(
        "apps:\n- name: a\n  app_config:\n    agent_name: Reporter\n    namespace: org/dev\n    model: some\n"
        "    artifact_service: {type: memory, artifact_scope: global}\n    artifact_handling_mode: embed\n"
        "    gateway_artifact_content_limit_bytes: 100\n"
    )
    found = resolve({}, file)
    assert (found.url, found.names.scope, found.names.component) == ("memory://", "component", "Reporter")
    assert (found.settings.handling_mode, found.settings.embed_max_bytes) == ("embed", 100)
    assert (found.names.namespace, found.names.app) == ("org/dev", "org/dev")


def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    for text in ("- 1\n", "a: [\n"):
        file.write_text(text)
        with pytest.raises(BadRequest, match="configuration file"):
            resolve({}, file)


def test_connect_takes_the_block(tmp_path: Path) -> None:
    config = {
        "sweep_on_connect": False,
        "kind": "agent",
        "artifact_service": {"type": "filesystem", "base_path": str(tmp_path / "s"), "artifact_scope": "global"},
        "gateway_artifact_content_limit_bytes": -1,
    }
    with kmnb.connect(component="Reporter", config=config) as ws:
        art = ws.save("r.txt", "x")
        assert "apps/Reporter/" in art.uri
        assert ws.context.settings.embed_max_bytes > 10**12


def test_a_block_of_the_peer_may_hold_the_peers_own_keys(caplog: pytest.LogCaptureFixture) -> None:
    peers = {"agent_name": "Reporter", "namespace": "org/dev", "model": "some", "tools": [], "session_service": {}}
    with caplog.at_level("INFO", "kmnb"):
        found = resolve({}, {**peers, **block(type="memory")})
    assert (found.names.namespace, found.names.component) == ("org/dev", "Reporter")
    assert "does not read: model, session_service, tools" in caplog.text


@pytest.mark.parametrize("slip", ["artifact_handling_mod", "name_space", "gateway_artifact_content_limit_byte"])
def test_a_slip_of_the_pen_in_a_block_is_told(slip: str) -> None:
    for document in (
        {"kind": "agent", **block(type="memory"), slip: "x"},
        {"agent": {**block(type="memory"), slip: "x"}},
    ):
        with pytest.raises(BadRequest, match="Did you mean"):
            translate(document, {})


def test_a_key_for_a_library_that_is_not_used_is_told(caplog: pytest.LogCaptureFixture) -> None:
    assert translate(block(type="s3", bucket_name="b", config={"retries": 1}), {})["url"] == "s3://b"
    assert "config has no effect" in caplog.text


def test_the_newer_name_of_the_limit_counts_where_the_older_is_absent() -> None:
    newer = {"kind": "entrypoint", "gateway_max_artifact_resolve_size_bytes": 5}
    assert translate(newer, {})["embed_max_bytes"] == 5
    assert translate({**newer, "gateway_artifact_content_limit_bytes": 7}, {})["embed_max_bytes"] == 7


def test_a_key_of_google_that_is_none_is_told_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCS_CREDENTIALS_JSON", '{"private_key": "hush"}')
    with pytest.raises(StoreDenied, match="no key of a service account") as caught:
        kmnb.connect(config=block(type="gcs", bucket_name="b"))
    assert "hush" not in str(caught.value)


def test_the_peers_configuration_opens_the_peers_store(tmp_path: Path) -> None:
    (tmp_path / "dev/ann/s1/r.txt").mkdir(parents=True)
    (tmp_path / "dev/ann/s1/r.txt/0").write_text("of the peer")
    (tmp_path / "dev/ann/s1/r.txt/0.meta").write_text('{"mime_type": "text/plain"}')
    config = {"kind": "agent", "namespace": "org/dev", "sweep_on_connect": False, "layout": "agent-mesh"}
    config |= block(type="filesystem", base_path=str(tmp_path))
    with kmnb.connect(user="ann", session="s1", config=config) as ws:
        assert ws.load("r.txt").head(1).values == ["of the peer"]


def test_command_line_and_magics_open_the_peers_store(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base"
    (base / "shop/ann/s1/r.txt").mkdir(parents=True)
    (base / "shop/ann/s1/r.txt/0").write_text("of the peer\n")
    (base / "shop/ann/s1/r.txt/0.meta").write_text('{"mime_type": "text/plain"}')
    places = f"{base.as_uri()} --layout agent-mesh --app shop --user ann --session s1"
    assert main(["--url", *places.split(), "versions", "r.txt"]) == 0
    assert capsys.readouterr().out == "0\n"
    shell.run_line_magic("artifact", f"connect {places}")
    assert shell.run_line_magic("artifact", "load r.txt").head(1).values == ["of the peer"]
    assert main(["--layout", "none", "filenames"]) == 2
