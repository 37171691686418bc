"""Put the sample data of the notebooks into the store of $KMNB_URL, as named artifacts that every session sees."""

from __future__ import annotations

from pathlib import Path

import kmnb

DATA = Path(__file__).resolve().parent.parent / "notebooks" / "data"
TYPES = {
    ".json": "application/json",
    ".csv": "text/csv",
    ".log": "text/plain",
    ".txt": "text/plain",
    ".prom": "text/plain",
}


def main() -> None:
    """Save each sample once; a second run adds nothing."""
    ws = kmnb.connect(agent="binder")
    present = set(ws.filenames())
    for path in sorted(path for path in DATA.iterdir() if path.suffix in TYPES):
        name = f"user:{path.name}"
        if name not in present:
            ws.save(name, path, media_type=TYPES[path.suffix])
        print(f"{name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
