"""Throw-away Azure: Azurite, installed by npm into the user's cache on first use."""

from __future__ import annotations

import base64
import email.utils
import fcntl
import hashlib
import hmac
import http.client
import os
import shutil
import subprocess
from pathlib import Path

from kmnb.testing._scratch import Scratch, ScratchUnavailable, Service

PACKAGE = "azurite@3"
"""What npm installs."""
INSTALL_SECONDS = 600
"""How long the installation may take."""
ACCOUNT = "devstoreaccount1"
"""The account of every Azurite."""
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Its key, which Microsoft documents; it opens nothing but emulators."""
CONTAINER = "kmnb-scratch"
"""Container that is made in it."""
_VERSION = "2021-08-06"


def program() -> str:
    """Give the path of Azurite's blob server, installing it where it is missing.

    Raises:
        ScratchUnavailable: There is no npm, or it could not install it.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kmnb" / PACKAGE
    found = cache / "node_modules" / ".bin" / "azurite-blob"
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise ScratchUnavailable("Azure needs Azurite, which needs node and npm: apt-get install nodejs npm")
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / ".complete").exists():
            _install(npm, cache)
    return str(found)


def _install(npm: str, cache: Path) -> None:
    command = [npm, "install", "--prefix", str(cache), "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ScratchUnavailable(f"npm did not install {PACKAGE} within {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise ScratchUnavailable(f"npm could not install {PACKAGE}: {done.stderr.strip()[-400:]}")
    (cache / ".complete").touch()


def start() -> Scratch:
    """Start Azurite and make a container.

    Raises:
        ScratchUnavailable: It cannot be had; the text says why.
    """
    service = Service(
        program(), "--blobHost", "127.0.0.1", "--blobPort", "0", "--location", "{folder}",
        "--disableTelemetry", "--disableProductStyleUrl", "--skipApiVersionCheck", "--silent",
        ready=r"successfully listens on http://127\.0\.0\.1:(\d+)\n",
    )  # fmt: skip
    port = int(service.ready[1])
    status = _make_container(port)
    if status != http.client.CREATED:
        service.close()
        raise ScratchUnavailable(f"Azurite made no container: status {status}")
    keys = {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY}
    url = f"az://{CONTAINER}/{{}}?endpoint=http://127.0.0.1:{port}/{ACCOUNT}"
    return Scratch(url.format(0), environment=keys, fresh=url.format, close=service.close)


def _make_container(port: int) -> int:
    """Send the one request that obstore has no call for, signed with the account's key."""
    path, date = f"/{ACCOUNT}/{CONTAINER}", email.utils.formatdate(usegmt=True)
    headers = f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n"
    text = "PUT" + "\n" * 12 + headers + f"/{ACCOUNT}{path}\nrestype:container"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    signed = {"x-ms-date": date, "x-ms-version": _VERSION, "Authorization": f"SharedKey {ACCOUNT}:{signature}",
              "Content-Length": "0"}  # fmt: skip
    connection.request("PUT", f"{path}?restype=container", headers=signed)
    status = connection.getresponse().status
    connection.close()
    return status
