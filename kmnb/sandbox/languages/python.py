"""Python, the standard library alone, run by the spawner's own interpreter."""

from __future__ import annotations

from kmnb.sandbox._languages import Language

LANGUAGE = Language(
    name="python",
    filename="main.py",
    command=None,
    check=None,
    test_program="print(6 * 7)\n",
    broken_program="def f(:\n",
)
