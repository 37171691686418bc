"""moto's server on a port that the system picks: ``python -m kmnb.testing._s3_server``."""

from __future__ import annotations

import logging
import threading


def main() -> None:
    """Serve until killed; the port is told on standard output."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print("listens on port", server.get_host_and_port()[1], flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
