"""What loading kmnb costs, in modules: times vary, modules do not."""

from __future__ import annotations

import json

import pytest

from kmnb import _plugins
from tests.children import python

HEAVY = {
    "IPython", "aiohttp", "anywidget", "ipywidgets", "jmespath", "jq", "jupyter_client", "jupyter_server", "mcp",
    "msgspec", "nats", "numpy", "obstore", "pandas", "polars", "pyarrow", "pydantic", "re2", "tornado", "traitlets",
    "zmq", "zstandard",
}  # fmt: skip

DIFFERENCE = """
import json, sys
{before}
known = set(sys.modules)
{after}
print(json.dumps(sorted(set(sys.modules) - known)))
"""


HELP = """
import kmnb.__main__
assert kmnb.__main__.main({words!r}) == 0
"""


def new_modules(before: str, after: str) -> list[str]:
    """Modules that the second statement loads after the first."""
    answer = python("-c", DIFFERENCE.format(before=before, after=after))
    assert answer.clean, answer
    return json.loads(answer.out)


def heavy(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & HEAVY


def test_importing_kmnb_loads_no_library() -> None:
    assert not heavy(new_modules("", "import kmnb"))


def test_importing_kmnb_on_a_loaded_kernel_adds_at_most_fifteen_modules() -> None:
    added = new_modules("import IPython, ipykernel.kernelapp", "import kmnb")
    assert len(added) <= 15, added


def test_naming_an_error_loads_no_library() -> None:
    assert not heavy(new_modules("import kmnb", "kmnb.KmnbError, kmnb.errors"))


def test_loading_the_extension_loads_no_store_and_no_frame_library() -> None:
    before = "from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell()"
    added = new_modules(before, "shell.run_line_magic('load_ext', 'kmnb')")
    assert not heavy(added) - {"IPython"}, heavy(added)


def test_the_first_tab_loads_neither_stores_nor_sips() -> None:
    before = "import IPython.core.completer, kmnb.frontends.magics"
    asked = "from kmnb.frontends._complete import matches; assert matches('%artifact ', None)[1]"
    cells = "assert matches('%%artifact ', None)[1]"
    added = new_modules(before, f"{asked}; {cells}")
    assert not heavy(added)
    assert not [name for name in added if name.startswith(("kmnb.storage", "kmnb.sips.", "kmnb.formats"))]


def commands() -> list[str]:
    """Front ends that are a command of their own."""
    names = _plugins.names("kmnb.frontends", "kmnb.frontends")
    return [name for name in names if _plugins.load("kmnb.frontends", "kmnb.frontends", name, "FRONTEND").main]


@pytest.mark.parametrize("words", [[], *([name] for name in commands())], ids=" ".join)
def test_help_is_shown_without_loading_a_library(words: list[str]) -> None:
    answer = python("-c", DIFFERENCE.format(before="", after=HELP.format(words=[*words, "--help"])))
    assert answer.clean, answer
    assert "usage" in answer.out.lower()
    assert not heavy(json.loads(answer.out.splitlines()[-1]))
