"""A password in a store's URL, however it is written, is in no error, repr or traceback."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

import kmnb
from kmnb.core.urls import public_url, unread
from kmnb.errors import BadRequest, KmnbError, UnknownPlugin
from kmnb.storage import open_store
from kmnb.storage._urls import split_url

CANARY = "tr0ub4dor"
SCHEMES = ("nats", "nats+embedded", "tls", "file", "s3", "gs", "az", "memory", "nosuch", "NATS")
SIGNS = some.text(some.sampled_from("/?#@:,[]%&=+ .x1é\0\n"), max_size=4)
USERS = some.sampled_from(["u", "me", "a.b", "u@v", ""])
PLACES = some.sampled_from(["127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2", "[::1]:1", "b[", "", "h:x", "127.0.0.1:1/a b"])
TAILS = some.sampled_from(["", "/", "/a", "/a/b", "?x", "?connect_seconds=0", "?password=p", "#f"])
BREAKING = ("u:{}@127.0.0.1:1,nats://u:{}@127.0.0.1:2", "u:p@ss/{}:rd@h", "u:{}a[b@h", "u:{}@h/x", "u:{}/x@h/p", "u:{}")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    # A bucket is never reached: what is tested ends before, and nothing leaves this machine.
    for name in ("AWS_ENDPOINT_URL", "AZURE_STORAGE_ENDPOINT"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setattr("kmnb.storage.backends._bucket_open.open_bucket", _unreachable)
    monkeypatch.setattr("kmnb.storage.backends.nats._join_server", _no_server)
    yield tmp_path
    assert [entry for entry in os.listdir(tmp_path) if CANARY in entry] == []


async def _no_server(folder: Path) -> None:
    raise kmnb.errors.StoreUnavailable(f"embedded store {folder}", "it does not start")


async def _unreachable(store: object, url: object, **options: object) -> None:
    raise kmnb.errors.StoreUnavailable(f"store {url}", "it did not answer")


def told(url: str) -> str:
    """Open a store and give all that was said of it."""
    said = [public_url(url), unread(url)]
    try:
        store = open_store(url, **({"connect_seconds": 0.05} if url.startswith(("nats:", "tls:", "NATS:")) else {}))
    except KmnbError as error:
        return "\n".join(
            [*said, str(error), repr(error), str(error.__dict__), "".join(traceback.format_exception(error))]
        )
    said += [repr(store), store.url, repr(store._backend)]
    store.close()
    return "\n".join(said)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.sampled_from(SCHEMES), USERS, SIGNS, SIGNS, PLACES, TAILS)
@example("nats", "u", "", "", "127.0.0.1:1,nats://u:p@127.0.0.1:2", "")
@example("nats", "u", "?", "=", "127.0.0.1:1", "")
@example("nats", "u", "12?", "=", "127.0.0.1:1", "")
@example("nats", "u", "p@ss/", ":rd", "h", "")
@example("nats", "u", "a[b", "", "127.0.0.1:1", "")
@example("nats+embedded", "u", "", "", "h", "/x")
def test_a_password_is_shown_nowhere(scheme: str, user: str, before: str, after: str, at: str, tail: str) -> None:
    assert CANARY not in told(f"{scheme}://{user}:{before}{CANARY}{after}@{at}{tail}")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("pattern", BREAKING)
def test_what_cannot_be_parsed_is_a_clear_error_without_the_password(scheme: str, pattern: str) -> None:
    assert CANARY not in told(f"{scheme}://{pattern.replace('{}', CANARY)}")


@pytest.mark.parametrize(
    "url", [f"nats://u:{CANARY}/x@h", f"nats://u:p@{CANARY}?x@h", f"u:{CANARY}@h", f"/u:{CANARY}@h"]
)
def test_a_workspace_shows_none_either(url: str) -> None:
    with pytest.raises(BadRequest) as caught:
        kmnb.connect(url)
    assert CANARY not in str(caught.value) + "".join(traceback.format_exception(caught.value))


def test_several_servers_with_a_password_each_are_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(BadRequest, match="%40"):
        open_store("nats://u:pw@h:1,nats://u:pw@h:2")
    assert split_url("nats://u:p%40w@h:1,i:2").user_info == "u:p%40w"


@pytest.mark.parametrize("url", ["nats+embedded://relative/path", "nats+embedded://u:p@h/x", "nats+embedded:///a%00b"])
def test_an_embedded_server_without_an_absolute_path_is_refused_as_a_folder_is(url: str, place: Path) -> None:
    with pytest.raises(BadRequest, match="absolute path"):
        open_store(url)
    assert list(place.iterdir()) == []


def test_all_schemes_are_named_to_whoever_mistypes_one() -> None:
    with pytest.raises(UnknownPlugin, match=r"az, file, gs, memory, nats, nats\+embedded, s3, tls"):
        open_store("xyz://h")


OPTIONS = (
    "connect_seconds", "request_seconds", "creds", "nkey", "context", "token", "password", "user", "bucket",
    "named_bucket", "records_bucket", "replicas", "domain", "tls_ca", "tls_cert", "tls_key", "tls_hostname",
    "tls_first", "tls_required", "endpoint", "region", "profile", "anonymous", "virtual_hosted", "account", "private",
    "nosuch", "passwort", "Token",
)  # fmt: skip
"""Every option of some scheme, and names that none has."""
HIDDEN = "p4ssWort"
VALUES = (
    HIDDEN,
    f"/x/{HIDDEN}",
    f"x@{HIDDEN}",
    f"u:{HIDDEN}@h",
    f"{HIDDEN}/../..",
    f"http://u:{HIDDEN}@h:1",
    f"1;{HIDDEN}",
)
PARTS = {
    "user": "{scheme}://{value}@{host}{path}",
    "password": "{scheme}://u:{value}@{host}{path}",
    "port": "{scheme}://h:1{value}{path}",
    "a user with a slash too many": "{scheme}:///u:{value}@h",
    "a user in the path": "{scheme}://{host}/a/u:{value}@h/x",
    "an escaped user in the host": "{scheme}://u%3A{value}%40{host}{path}",
    "a name in the query": "{scheme}://{host}{path}?{value}=1",
    "a name alone": "{scheme}://{host}{path}?{value}",
    "the fragment": "{scheme}://{host}{path}#{value}",
    "a token with a hash": "{scheme}://{value}#x@{host}{path}",
    **{f"option {name}": f"{{scheme}}://{{host}}{{path}}?{name}={{value}}" for name in OPTIONS},
}
IN_HOST = ("user", "a token with a hash", "port", "an escaped user in the host")
HOSTS = {"nats": "127.0.0.1:1", "tls": "127.0.0.1:1", "file": "", "nats+embedded": "", "memory": "m"}
FOLDERS = {"file": "/proc/no/store", "nats+embedded": "/proc/no/store", "memory": ""}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("scheme", ["nats", "tls", "nats+embedded", "file", "s3", "gs", "az", "memory"])
def test_nothing_that_may_be_a_secret_is_shown_whichever_part_of_a_url_it_stands_in(scheme: str, part: str) -> None:
    for value in VALUES:
        for written in {value, quote(value, safe="")}:
            if part in IN_HOST and ("/" in written or "@" in written):
                continue  # what follows is a path or another host, and these are shown
            place = {"scheme": scheme, "host": HOSTS.get(scheme, "b"), "path": FOLDERS.get(scheme, "/p")}
            said = told(PARTS[part].format(value=written, **place))
            assert HIDDEN.lower() not in said.lower(), written


@pytest.mark.parametrize("variable", ["NATS_CREDS", "NATS_NKEY", "NATS_CA", "NATS_CERT", "NATS_CONTEXT"])
def test_a_value_of_the_environment_is_told_by_its_variable(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, f"/x/{HIDDEN}")
    said = told("nats://127.0.0.1:1")
    assert f"${variable}" in said
    assert HIDDEN not in said


@pytest.mark.parametrize("shown", ["replica", "tls_hostnam", "conect_seconds"])
def test_a_mistyped_option_is_named(shown: str) -> None:
    assert f"option '{shown}'" in told(f"nats://127.0.0.1:1?{shown}=1")


def test_an_option_of_the_call_is_named_whatever_it_is() -> None:
    with pytest.raises(BadRequest, match="option 'colour'"):
        open_store("memory://", colour=1)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "nan", "inf", "", "1e9"])
def test_a_time_that_is_none_is_refused_on_every_cloud(scheme: str, seconds: str) -> None:
    with pytest.raises(BadRequest, match="option 'connect_seconds': it is not a number"):
        open_store(f"{scheme}://b/p?account=a&connect_seconds={seconds}".replace(*_WITHOUT[scheme]))


_WITHOUT = {"s3": ("account=a&", ""), "gs": ("account=a&", ""), "az": ("", "")}
