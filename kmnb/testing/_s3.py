"""Throw-away S3: moto's server."""

from __future__ import annotations

import http.client
import importlib.util
import sys

from kmnb.testing._scratch import Scratch, ScratchUnavailable, Service

BUCKET = "kmnb-scratch"
"""Bucket that is made in it."""


def start() -> Scratch:
    """Start moto's server and make a bucket.

    Raises:
        ScratchUnavailable: moto is not installed.
    """
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        raise ScratchUnavailable("S3 needs moto's server: pip install 'moto[server]'")
    service = Service(sys.executable, "-m", "kmnb.testing._s3_server", ready=r"listens on port (\d+)\n")
    port = int(service.ready[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("PUT", f"/{BUCKET}")
    answer = connection.getresponse()
    connection.close()
    if answer.status != http.client.OK:
        service.close()
        raise ScratchUnavailable(f"moto's server made no bucket: {answer.status} {answer.reason}")
    # Keys that only this server takes; the address of the machine's own role is never asked.
    keys = {"AWS_ACCESS_KEY_ID": "scratch", "AWS_SECRET_ACCESS_KEY": "scratch", "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true"}  # fmt: skip
    url = f"s3://{BUCKET}/{{}}?endpoint=http://127.0.0.1:{port}"
    return Scratch(url.format(0), environment=keys, fresh=url.format, close=service.close)
