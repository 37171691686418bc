"""Every usual way to log in works on both kinds of connection, and no secret is ever shown."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import ssl
from pathlib import Path
from typing import Any

import nkeys
import pytest
import trustme

from kmnb._bridge import run
from kmnb.errors import BadRequest, KmnbError, StoreDenied, StoreUnavailable
from kmnb.storage import open_backend
from kmnb.storage.backends._nats_address import read_address
from kmnb.storage.backends._nats_lane import Lane
from kmnb.storage.backends._nats_login import Login
from kmnb.testing._nats import NatsServer
from tests.storage.nats_places import MIB, fresh, read

SECRET = "hunter2-5e2a"
DATA = bytes(range(256)) * (4 * 1024)
PREFIX_USER, PREFIX_ACCOUNT, PREFIX_OPERATOR = 20 << 3, 0, 14 << 3


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def works(url: str, **options: Any) -> bool:
    """Whether what is written comes back: nats-py and a lane log in."""

    async def story() -> bool:
        backend = await open_backend(url, **options)
        assert SECRET not in repr(backend) + backend.url + str(backend.server_url) + json.dumps(
            await backend.describe()
        )
        assert SECRET not in repr(backend._address)
        await backend.discussions.put("x", DATA)
        found = await read(backend.discussions, "x")
        await backend.close()
        return found == DATA

    return run(story())


def refused(url: str, **options: Any) -> KmnbError:
    with pytest.raises(StoreDenied) as caught:
        run(open_backend(url, **options))
    text = f"{caught.value!r} {caught.value} {caught.value.facts}"
    assert SECRET not in text
    return caught.value


def with_user(url: str, info: str) -> str:
    return url.replace("nats://", f"nats://{info}@")


def key_pair(prefix: int) -> tuple[str, nkeys.KeyPair]:
    seed = nkeys.encode_seed(os.urandom(32), prefix)
    return seed.decode(), nkeys.from_seed(bytearray(seed))


def jwt(subject: nkeys.KeyPair, issuer: nkeys.KeyPair, kind: str, **claims: Any) -> str:
    def encode(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    body = {"iss": issuer.public_key.decode(), "sub": subject.public_key.decode(), "name": kind, "iat": 1_700_000_000}
    body["nats"] = {"type": kind, "version": 2, **claims}
    body["jti"] = base64.b32encode(hashlib.sha256(json.dumps(body).encode()).digest()).decode().rstrip("=")
    text = encode({"typ": "JWT", "alg": "ed25519-nkey"}) + "." + encode(body)
    return text + "." + base64.urlsafe_b64encode(issuer.sign(text.encode())).decode().rstrip("=")


def creds_text(token: str, seed: str) -> str:
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


def test_user_and_password_from_the_url_options_environment_and_context(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = NatsServer(f'authorization {{ user: "me", password: "{SECRET}" }}')
    try:
        assert works(with_user(fresh(server.url), f"me:{SECRET}"))
        assert works(fresh(server.url), user="me", password=SECRET)
        refused(fresh(server.url))
        refused(with_user(fresh(server.url), f"me:{SECRET}x"))
        with monkeypatch.context() as patch:
            patch.setenv("NATS_USER", "me")
            patch.setenv("NATS_PASSWORD", SECRET)
            assert works(fresh(server.url))
            refused(with_user(fresh(server.url), "other:wrong"))
        contexts = place / "config" / "nats" / "context"
        contexts.mkdir(parents=True)
        (contexts / "dev.json").write_text(json.dumps({"url": server.url, "user": "me", "password": SECRET}))
        assert works(fresh("nats://", context="dev"))
        assert works(fresh(server.url), context="dev")
        monkeypatch.setenv("NATS_CONTEXT", "dev")
        assert works(fresh("nats://"))
    finally:
        server.close()


def test_a_token_from_the_url_and_the_environment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = NatsServer(f'authorization {{ token: "{SECRET}" }}')
    try:
        assert works(with_user(fresh(server.url), SECRET))
        refused(with_user(fresh(server.url), "wrong"))
        monkeypatch.setenv("NATS_TOKEN", SECRET)
        assert works(fresh(server.url))
    finally:
        server.close()


def test_special_signs_in_a_password_are_percent_encoded(place: Path) -> None:
    server = NatsServer('authorization { user: "a b", password: "p@:/%é" }')
    try:
        assert works(with_user(fresh(server.url), "a%20b:p%40%3A%2F%25%C3%A9"))
    finally:
        server.close()


def test_an_nkey_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed, pair = key_pair(PREFIX_USER)
    other, _ = key_pair(PREFIX_USER)
    server = NatsServer(f"authorization {{ users: [{{ nkey: {pair.public_key.decode()} }}] }}")
    (place / "key.nk").write_text(seed + "\n")
    (place / "other.nk").write_text(other)
    try:
        assert works(fresh(server.url, nkey=place / "key.nk"))
        refused(fresh(server.url, nkey=place / "other.nk"))
        monkeypatch.setenv("NATS_NKEY", str(place / "key.nk"))
        assert works(fresh(server.url))
    finally:
        server.close()


def test_a_creds_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (_, operator), (_, account), (seed, user) = (
        key_pair(PREFIX_OPERATOR),
        key_pair(PREFIX_ACCOUNT),
        key_pair(PREFIX_USER),
    )
    unlimited = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    limits = {"subs": -1, "conn": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True}
    account_jwt = jwt(account, operator, "account", limits={**limits, "leaf": -1, **unlimited})
    (_, system) = key_pair(PREFIX_ACCOUNT)
    system_jwt = jwt(system, operator, "account", limits={**limits, "leaf": -1})
    config = (
        f"operator: {jwt(operator, operator, 'operator')}\nresolver: MEMORY\n"
        f"system_account: {system.public_key.decode()}\n"
        f"resolver_preload: {{ {account.public_key.decode()}: {account_jwt}\n"
        f"{system.public_key.decode()}: {system_jwt} }}"
    )
    server = NatsServer(config)
    user_jwt = jwt(user, account, "user", subs=-1, data=-1, payload=-1, issuer_account=account.public_key.decode())
    (place / "user.creds").write_text(creds_text(user_jwt, seed))
    (place / "wrong.creds").write_text(creds_text(user_jwt, key_pair(PREFIX_USER)[0]))
    try:
        assert works(fresh(server.url, creds=place / "user.creds"))
        refused(fresh(server.url, creds=place / "wrong.creds"))
        refused(fresh(server.url))
        monkeypatch.setenv("NATS_CREDS", str(place / "user.creds"))
        assert works(fresh(server.url))
    finally:
        server.close()


class Tls:
    """A certificate authority, a server certificate and a client certificate."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca, self.cert, self.key = folder / "ca.pem", folder / "client.pem", folder / "client.key"
        authority.cert_pem.write_to_path(self.ca)
        issued = authority.issue_cert("localhost", "127.0.0.1")
        issued.private_key_pem.write_to_path(folder / "server.key")
        issued.cert_chain_pems[0].write_to_path(folder / "server.pem")
        client = authority.issue_cert("client@example.org")
        client.private_key_pem.write_to_path(self.key)
        client.cert_chain_pems[0].write_to_path(self.cert)
        self.files = f'cert_file: "{folder}/server.pem", key_file: "{folder}/server.key", ca_file: "{self.ca}"'


@pytest.mark.parametrize("scheme", ["nats", "tls"])
def test_tls(place: Path, scheme: str) -> None:
    tls = Tls(place)
    server = NatsServer(f"tls {{ {tls.files} }}")
    url = server.url.replace("nats://", f"{scheme}://")
    try:
        assert works(fresh(url, tls_ca=tls.ca))
        assert works(fresh(url.replace("127.0.0.1", "localhost"), tls_ca=tls.ca))
        with pytest.raises(StoreUnavailable, match="certificate"):
            run(open_backend(fresh(url)))
        with pytest.raises(StoreUnavailable, match="certificate"):
            run(open_backend(fresh(url, tls_ca=tls.ca, tls_hostname="example.org")))
    finally:
        server.close()


def test_mutual_tls(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = Tls(place)
    server = NatsServer(f"tls {{ {tls.files}, verify: true }}")
    try:
        assert works(fresh(server.url, tls_ca=tls.ca, tls_cert=tls.cert, tls_key=tls.key))
        with pytest.raises((StoreUnavailable, StoreDenied)):
            run(open_backend(fresh(server.url, tls_ca=tls.ca)))
        for name, path in {"NATS_CA": tls.ca, "NATS_CERT": tls.cert, "NATS_KEY": tls.key}.items():
            monkeypatch.setenv(name, str(path))
        assert works(fresh(server.url))
    finally:
        server.close()


def test_tls_before_the_server_speaks(place: Path) -> None:
    tls = Tls(place)
    server = NatsServer(f"tls {{ {tls.files}, handshake_first: true }}")
    try:
        assert works(fresh(server.url, tls_ca=tls.ca, tls_first="true"))
    finally:
        server.close()


def test_a_server_without_tls_learns_nothing_when_tls_is_asked_for(server: NatsServer) -> None:
    url = fresh(server.url).replace("nats://", f"tls://me:{SECRET}@")
    assert "offers no TLS" in str(refused(url))


def test_a_right_that_is_missing_is_named(place: Path) -> None:
    deny = 'permissions: { publish: { deny: ["$O.>", "$KV.>"] } }'
    server = NatsServer(f'authorization {{ users: [{{ user: "me", password: "{SECRET}", {deny} }}] }}')

    async def story() -> None:
        backend = await open_backend(with_user(fresh(server.url), f"me:{SECRET}"))
        for call in (
            lambda: backend.discussions.put("x", b"1"),
            lambda: backend.discussions.put("x", bytes(3 * MIB)),
            lambda: backend.records.put("a", b"", expected=None),
        ):
            with pytest.raises(StoreDenied, match=r"(?i)permissions violation") as caught:
                await call()
            assert SECRET not in str(caught.value)
        assert [info async for info in backend.discussions.list()] == []
        await backend.close()

    try:
        run(story())
    finally:
        server.close()


def test_a_right_that_is_taken_away_in_the_middle_is_an_error_and_nothing_hangs(place: Path) -> None:
    config = f'authorization {{ users: [{{ user: "me", password: "{SECRET}" %s }}] }}'
    server = NatsServer(config % "")

    async def story() -> None:
        backend = await open_backend(with_user(fresh(server.url, request_seconds=1), f"me:{SECRET}"))
        await backend.discussions.put("x", DATA * 20)
        walk = backend.discussions.stream("x")
        await anext(walk)
        server._config = config % ', permissions: { publish: { allow: ["none"] } }'
        server.stop()
        server.start()
        with pytest.raises((StoreDenied, StoreUnavailable)):
            async for _ in walk:
                pass
        with pytest.raises((StoreDenied, StoreUnavailable)):
            await backend.discussions.put("y", DATA)
        await backend.close()

    try:
        run(story())
    finally:
        server.close()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"creds": "/nothing/here"}, "No such file"),
        ({"nkey": "/nothing/here"}, "No such file"),
        ({"tls_ca": "/nothing/here"}, "No such file"),
        ({"context": "nothing"}, "No such file"),
        ({"context": "../x"}, "no context can have that name"),
        ({"creds": __file__}, "no user JWT and seed"),
        ({"nkey": __file__}, "not a valid nkey seed"),
        ({"tls_ca": __file__}, "cannot be used|NO_CERTIFICATE|no certificate"),
    ],
    ids=str,
)
def test_a_credential_file_that_cannot_be_used_is_told_by_its_option(
    place: Path, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(BadRequest, match=reason) as caught:
        read_address("nats://localhost", options)
    ((name, value),) = options.items()
    # The value may be a secret that was put in the wrong place.
    assert f"option '{name}'" in str(caught.value)
    assert value not in str(caught.value)


def test_a_context_that_is_no_json_is_an_error(place: Path) -> None:
    contexts = place / "config" / "nats" / "context"
    contexts.mkdir(parents=True)
    (contexts / "bad.json").write_text("[]")
    with pytest.raises(BadRequest, match="not a JSON document"):
        read_address("nats://localhost", {"context": "bad"})
    (contexts / "no-url.json").write_text("{}")
    with pytest.raises(BadRequest, match="names no host"):
        read_address("nats://", {"context": "no-url"})


def test_credentials_of_the_environment_are_not_mixed_with_those_of_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_PASSWORD", SECRET)
    monkeypatch.setenv("NATS_USER", "other")
    login = read_address("nats://me:mine@localhost", {}).login
    assert (login.user, login.password) == ("me", "mine")
    assert read_address("nats://token@localhost", {}).login == Login(token="token")


def test_a_login_shows_nothing() -> None:
    login = Login(user="me", password=SECRET, token=SECRET, jwt=SECRET, seed=SECRET, tls=ssl.create_default_context())
    assert repr(login) == "Login(tls_first=False, tls_required=False)"


def test_what_is_no_nats_server_is_said_to_be_none(server: NatsServer) -> None:
    import http.server
    import threading

    with http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as other:
        thread = threading.Thread(target=other.handle_request, daemon=True)
        thread.start()
        address = f"nats://127.0.0.1:{other.server_port}"
        with pytest.raises(StoreUnavailable):
            run(open_backend(fresh(address, connect_seconds=1)))
        thread.join(5)
    with pytest.raises(Exception, match="Connect call failed"):
        run(Lane.open(address, Login(), "_INBOX.x"))
