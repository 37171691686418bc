"""GNU bash."""

from __future__ import annotations

from kmnb.sandbox._languages import Language

LANGUAGE = Language(
    name="bash",
    filename="main.sh",
    command=("bash", "--norc", "--noprofile"),
    check=("bash", "--norc", "--noprofile", "-n"),
    version=("bash", "--version"),
    test_program="echo $((6 * 7))\n",
    broken_program="if true; then echo\n",
)
