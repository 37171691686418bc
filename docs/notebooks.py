"""Run the tutorials and keep their outputs. `make notebooks` does it after a change that shows in one of them.

Usage: notebooks.py [notebook …]; all of notebooks/ unless some are named.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbclient
import nbformat

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def run(path: Path) -> None:
    """Run one notebook in a fresh kernel, in its own folder, and write it with nothing in it that changes by itself."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, record_timing=False, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    language = notebook.metadata.language_info
    notebook.metadata.language_info = {"name": language.name}
    nbformat.write(notebook, path)
    print(path.name)


def main() -> None:
    """Run what was named, else all; without progress, which would stand in the outputs."""
    os.environ["KMNB_QUIET"] = "1"
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        run(path)


if __name__ == "__main__":
    main()
