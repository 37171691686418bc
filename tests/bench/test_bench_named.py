"""Named artifacts: what it takes to list a session."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import obstore
import pytest
from obstore.store import S3Store

import kmnb
from kmnb.storage import _obstore
from kmnb.testing import scratch
from tests.bench.measure import in_turn, sized

FILES = sized(1000)
WHO = {"app": "shop", "user": "ann", "session": "s1", "config": {"sweep_on_connect": False}}


class Requests:
    """Counts what goes to the bucket, by the name of the call."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count, self._walk = 0, None
        inner = _obstore._call

        async def counted(thing: str, function: Any, *args: Any, **options: Any) -> Any:
            found = await inner(thing, function, *args, **options)
            # A walk that gave a page asks once more, and that last call sends nothing.
            is_end = function is next and found is None and self._walk is args[0]
            self.count += not is_end
            self._walk = args[0] if function is next else None
            return found

        patch.setattr(_obstore, "_call", counted)

    def of(self, work: Any) -> int:
        """How many requests a call makes."""
        before = self.count
        work()
        return self.count - before


@pytest.mark.parametrize("layout", ["kmnb", "agent-mesh"])
def test_a_session_of_a_thousand_files_is_one_listing(
    figure: Any, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    with scratch("s3") as place, kmnb.connect(place.url, layout=layout, **WHO) as ws:
        since = time.perf_counter()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: ws.save(f"file-{number:04}.csv", f"a,b\n{number},2\n"), range(FILES)))
        figure(
            f"S3 (moto), layout {layout}: save {FILES:,} files", (time.perf_counter() - since) / FILES * 1000, "ms each"
        )
        endpoint = place.url.partition("endpoint=")[2]
        peer = S3Store("kmnb-scratch", endpoint=endpoint, client_options={"allow_http": True})
        prefix = "0/named/shop/ann/s/s1" if layout == "kmnb" else "0/shop/ann/s1"

        def one_by_one() -> None:
            """One listing of the session, then one for the versions of each file, as the peer does."""
            found = [str(meta["path"]) for page in obstore.list(peer, prefix=prefix) for meta in page]
            for name in {path.rpartition("/")[0] for path in found}:
                list(obstore.list(peer, prefix=name))

        requests = Requests(monkeypatch)
        names, calls = ws.filenames(), requests.of(ws.filenames)
        assert len(names) == FILES
        pages = -(-FILES * (2 if layout == "agent-mesh" else 1) // 1000)
        assert calls <= pages + 2, "one listing of the session and one of the user"
        times = in_turn({"kmnb": ws.filenames, "one by one": one_by_one}, rounds=3)
        text = f"a call for each file {1000 * times['one by one']:.0f} ms"
        budget = "one listing of each scope"
        figure(
            f"S3 (moto), layout {layout}: names of {FILES:,} files",
            1000 * times["kmnb"],
            "ms",
            budget=budget,
            peer=text,
        )
        figure(f"S3 (moto), layout {layout}: requests for them", calls, "requests", budget=f"{pages + 2}")
