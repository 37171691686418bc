"""How each command is typed: two lines of arguments that its help shows. Sips have examples with answers instead."""

from __future__ import annotations

LINES: dict[str, tuple[str, ...]] = {
    "connect": ("file:///tmp/store", "nats://localhost --thread incident-7"),
    "ls": ("", "default/nocrew/incident-7 --limit 20"),
    "show": ("KEY", "artifact://discussions/KEY"),
    "get": ("KEY", "KEY pods.json"),
    "materialise": ("folder KEY", "folder KEY OTHER-KEY"),
    "spill": ("pods.json --tool get_pods", "log.txt --tool pod_logs --media-type text/plain"),
    "put": ("pods.json --tool get_pods", "data.csv --tool export --agent ada"),
    "rm": ("KEY", "KEY OTHER-KEY"),
    "open": ("incident-7", "'picnic 2026'"),
    "close": ("incident-7 --dry-run", "incident-7"),
    "gc": ("--dry-run", "--explain KEY"),
    "threads": ("",),
    "doctor": ("", "--fix"),
    "hold": ("KEY 'the post-mortem is not written yet'", "KEY review --seconds 3600"),
    "release": ("KEY",),
    "holds": ("",),
    "keep": ("KEY pods.json", "KEY user:pods.json"),
    "retain": ("--keep-last 5", "--max-age-seconds 2592000 --carry-out"),
    "lifecycle": ("", "--apply"),
    "save": ("report.csv data.csv", "user:notes.txt notes.txt --media-type text/plain"),
    "load": ("report.csv", "report.csv --version 0"),
    "append": ("report.csv more.csv", "log.txt more.txt --no-whole"),
    "versions": ("report.csv", "user:notes.txt"),
    "filenames": ("",),
    "forget": ("report.csv", "user:notes.txt"),
    "restore": ("report.csv 0",),
    "copy": ("report.csv final.csv", "report.csv final.csv --version 0"),
    "diff": ("report.csv 0", "report.csv 0 2"),
    "metadata": ("report.csv", "report.csv --version 0"),
    "label": ("report.csv approved", "report.csv approved --version 0"),
    "unlabel": ("report.csv approved",),
    "labels": ("report.csv",),
    "run": ("count.py --with KEY", "count.sh bash --with KEY --timeout 60"),
    "validate": ("count.py", "count.sh bash"),
    "verify": ("receipt.json", "analysis.ipynb"),
    "cite": ("receipt.json", "receipt.json --seconds 604800"),
    "end-session": ("main",),
    "publish": ("KEY", "KEY --text 'The pods of the node'"),
    "discussion": ("", "incident-7 --limit 10"),
    "project": ("KEY", "KEY --mode reference"),
    "resolve": ("'Pods: «artifact_content:pods.csv»'", "'Now: «datetime:iso»' --stage early"),
    "unfence": ("reply.txt",),
    "chart": ("", "KEY --column temperature"),
    "outline": ("KEY", "KEY --max-bytes 4096"),
    "schema": ("KEY", "KEY --rows 0"),
    "stats": ("KEY", "KEY temperature wind --top 3"),
}
"""Arguments by command; ``KEY`` stands for a key, and a path for any file."""
CELL_LINES: dict[str, tuple[str, ...]] = {
    "spill": ("--tool get_pods", "--tool get_pods --out pods"),
    "put": ("--tool get_pods", "--tool get_pods --agent ada --out pods"),
    "save": ("report.csv", "user:notes.txt --media-type text/plain"),
    "append": ("report.csv", "log.txt --no-whole"),
}
"""The same for magics that take the data from their cell."""
COMPUTE_LINES = ("--with KEY", "bash --with KEY --timeout 60 --out counted")
"""The same for ``%%compute``."""
