"""Write docs/reference from declarations and docstrings, and the list of all pages.

`make docs` runs it; a test holds that it was run.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kmnb
from kmnb import _plugins, contract, errors, sandbox
from kmnb.core import bounds
from kmnb.core.config import SETTINGS
from kmnb.core.describe import Operation
from kmnb.core.envelope import Envelope
from kmnb.core.outcome import Outcome
from kmnb.core.receipt import Receipt
from kmnb.core.slice import Match, Slice
from kmnb.ops.commands import commands
from kmnb.ops.handle import Artifact
from kmnb.ops.spill import Spill
from kmnb.ops.workspace import Workspace
from kmnb.storage._store import Store

GIVEN = (Workspace, Spill, Artifact, Slice, Match, Outcome, Receipt, Envelope, Store)
"""Classes that the public functions give; nobody makes them by name."""
FUNCTIONS = (
    ("kmnb.contract.check", contract.check),
    ("kmnb.sandbox.run", sandbox.run),
    ("kmnb.sandbox.validate", sandbox.validate),
    ("kmnb.sandbox.doctor", sandbox.doctor),
)

HERE = Path(__file__).parent
HEAD = "<!-- Written by docs/generate.py; change the source, then run `make docs`. -->\n\n"


def python_page() -> str:
    """The public names of kmnb and of the objects that they give."""
    parts = [
        "# Python\n",
        "Every name that a program may use. `_async` twins take the same arguments and are awaited.\n",
    ]
    named = {f"kmnb.{name}": getattr(kmnb, name) for name in kmnb.__all__}
    classes = {value.__name__: value for value in GIVEN}
    for name, value in {**named, **dict(FUNCTIONS), **classes}.items():
        if inspect.isclass(value):
            parts.extend(_class(name, value))
        elif callable(value):
            parts.extend(_function(name, value, level=2))
    parts.append("## `kmnb.__version__`\n\nThe version of the package, as text.\n")
    return "\n".join(parts)


def _class(title: str, value: type) -> Iterator[str]:
    yield f"## `{title}`\n"
    yield f"{_doc(value)}\n"
    if issubclass(value, Exception):
        return
    for name, member in sorted(_members(value)):
        if isinstance(member, property):
            yield f"### `{name}`\n\n{_doc(member)}\n"
        elif callable(member) and not name.endswith("_async"):
            yield from _function(name, member, level=3)
    yield from _fields(value)


def _members(value: type) -> Iterator[tuple[str, Any]]:
    for name in dir(value):
        if not name.startswith("_"):
            yield name, inspect.getattr_static(value, name)


def _fields(value: type) -> Iterator[str]:
    told = attribute_docs(value)
    if told:
        yield "| field | meaning |\n|---|---|"
        yield "\n".join(f"| `{name}` | {_cell(text)} |" for name, text in told.items()) + "\n"


def attribute_docs(value: type) -> dict[str, str]:
    """Fields of a dataclass with the docstrings that stand below them in the source."""
    if not hasattr(value, "__dataclass_fields__"):
        return {}
    (node,) = ast.parse(inspect.cleandoc(inspect.getsource(value))).body
    assert isinstance(node, ast.ClassDef)
    return dict(_told(node.body))


def _told(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, following in itertools.pairwise(body):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, text


def _function(title: str, value: Callable[..., Any], *, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{title}`\n"
    yield f"```text\n{title}{_signature(value)}\n```\n"
    yield f"{_doc(value)}\n"


def _signature(value: Callable[..., Any]) -> str:
    signature = inspect.signature(value)
    kept = [p.replace(annotation=p.empty) for n, p in signature.parameters.items() if n != "self"]
    return re.sub(r" at 0x[0-9a-f]+", "", str(signature.replace(parameters=kept, return_annotation=signature.empty)))


def _doc(value: object) -> str:
    """A docstring as Markdown: its sections become lists."""
    lines = []
    for line in (inspect.getdoc(value) or "").splitlines():
        section = re.fullmatch(r"(Args|Returns|Raises|Yields|Example|Examples):", line.strip())
        item = re.fullmatch(r" {4}(\*{0,2}\w[\w, ]*): (.*)", line)
        if section:
            lines += ["", f"**{section[1]}**", ""]
        elif item:
            lines.append(f"- `{item[1]}`: {item[2]}")
        else:
            lines.append(re.sub(r"^ {8}", "  ", line) if line.startswith(" " * 8) else line.strip())
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", "\n".join(lines)).replace("``", "`")
    return re.sub(r"\n{3,}", "\n\n", text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("``", "`")


def operations() -> dict[str, Operation]:
    """Every operation that the front ends offer, by name."""
    return {name: command.operation for name, command in sorted(commands().items())}


def commands_page() -> str:
    """Every operation with its parameters and examples, the same in all front ends."""
    parts = [
        "# Operations\n",
        "The same operations, with the same names and parameters, on the command line (`kmnb NAME`), in a notebook",
        "(`%artifact NAME`), over REST and MCP, and as methods in Python. The command line writes `_` as `-`.\n",
    ]
    for operation in operations().values():
        parts.append(f"## `{operation.name}`\n\n{operation.summary}\n")
        if operation.params:
            parts.append("| parameter | type | default | meaning |\n|---|---|---|---|")
            parts.extend(_param_row(param) for param in operation.params)
            parts.append("")
        parts.extend(_example(operation.name, example) for example in operation.examples[:2])
    return "\n".join(parts)


def _param_row(param: Any) -> str:
    default = "required" if param.required else "" if param.default in (None, "") else f"`{param.default}`"
    choices = f" One of {', '.join(f'`{choice}`' for choice in param.choices)}." if param.choices else ""
    return f"| `{param.name}` | {param.kind} | {default} | {_cell(param.help)}{choices} |"


def _example(name: str, example: Any) -> str:
    arguments = ", ".join(f"{key}={value!r}" for key, value in example.arguments.items())
    values = ", ".join(repr(value) for value in example.values)
    content = example.content if len(example.content) <= 120 else example.content[:117] + b"..."
    return f"Of `{content!r}`, `{name}({arguments})` gives `[{values}]`.\n"


def errors_page() -> str:
    """The tree of errors with their codes."""
    tree = inspect.getdoc(errors) or ""
    rows = [
        f"| `{value.__name__}` | `{value.code}` | {_cell(inspect.getdoc(value) or '')} |"
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, errors.KmnbError)
    ]
    drawing = tree.partition("::\n")[2].partition("\n\nA message")[0].strip("\n")
    return "\n".join(
        [
            "# Errors\n",
            "A message names the thing, the reason and the next step in at most 2 KiB. The code is the same in Python",
            "(`error.code`), magics, on the command line and over REST.\n",
            f"```text\n{inspect.cleandoc(drawing)}\n```\n",
            "| error | code | meaning |\n|---|---|---|",
            *rows,
            "",
        ]
    )


def limits_page() -> str:
    """Every limit with its value."""
    tree = ast.parse(inspect.getsource(bounds))
    rows = [
        f"| `{name}` | {getattr(bounds, name):,} | {_cell(text)} |" for name, text in _told(tree.body) if name.isupper()
    ]
    return "\n".join(
        ["# Limits\n", "From `kmnb.core.bounds`.\n", "| limit | value | meaning |\n|---|---|---|", *rows, ""]
    )


def settings_page() -> str:
    """Every setting, as an argument of connect, an environment variable and a line of a file."""
    rows = [f"{_param_row(param)} `KMNB_{param.name.upper()}` |" for param in SETTINGS.params]
    return "\n".join(
        [
            "# Settings\n",
            "A value comes from the call, else from the environment, else from `kmnb.toml` or `[tool.kmnb]` of a",
            "`pyproject.toml` in the working folder or above it, else from `kmnb/kmnb.toml` in the user's",
            "configuration folder, else it is the default.\n",
            "| setting | type | default | meaning | variable |\n|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def backends_page() -> str:
    """Every store backend with the addresses that it opens."""
    rows = []
    for name in _plugins.names("kmnb.storage.backends", "kmnb.backends"):
        plugin = _plugins.load("kmnb.storage.backends", "kmnb.backends", name, "BACKEND")
        schemes = ", ".join(f"`{scheme}://`" for scheme in plugin.schemes)
        rows.append(f"| `{name}` | {schemes} | {_cell(plugin.summary)} |")
    return "\n".join(["# Stores\n", "| backend | addresses | |\n|---|---|---|", *rows, ""])


def formats_page() -> str:
    """Every content format with the names that it goes by."""
    rows = []
    for name in _plugins.names("kmnb.formats", "kmnb.formats"):
        plugin = _plugins.load("kmnb.formats", "kmnb.formats", name, "FORMAT")
        types, suffixes = ", ".join(plugin.media_types), ", ".join(plugin.suffixes)
        rows.append(f"| `{plugin.name}` | {plugin.kind} | {types} | {suffixes} |")
    return "\n".join(["# Formats\n", "| format | records | media types | endings |\n|---|---|---|---|", *rows, ""])


KINDS = (
    ("Tutorials", "notebooks", "*.ipynb", "Learn it by doing. Each is one executed story; `make lab` opens the first."),
    ("How-to guides", "docs/howto", "*.md", "One task a page."),
    ("Explanations", "docs/explain", "*.md", "Why it is as it is."),
    (
        "Reference",
        "docs/reference",
        "*.md",
        "Every name, operation, error, limit, setting, store and format; generated.",
    ),
    ("Decisions", "docs/decisions", "*.md", "Short dated notes: context, decision, consequences."),
)


def index_page() -> str:
    """All pages by kind, with their titles."""
    parts = ["# kmnb: documentation\n"]
    for kind, folder, pattern, summary in KINDS:
        parts.append(f"## {kind}\n\n{summary}\n")
        found = sorted((HERE.parent / folder).glob(pattern))
        parts.extend(f"- [{_title(path)}]({os.path.relpath(path, HERE)})" for path in found)
        parts.append("")
    parts.append(
        "Besides: [benchmarks](benchmarks.md), and what the next release brings: [changes](changes/README.md).\n"
    )
    return "\n".join(parts)


def _title(path: Path) -> str:
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    return next(line for line in text.splitlines() if line.startswith("# ")).removeprefix("# ")


PAGES = {
    "../README.md": index_page,
    "python.md": python_page,
    "operations.md": commands_page,
    "errors.md": errors_page,
    "limits.md": limits_page,
    "settings.md": settings_page,
    "stores.md": backends_page,
    "formats.md": formats_page,
}


def pages() -> dict[str, str]:
    """All pages by file name."""
    return {name: HEAD + page().rstrip("\n") + "\n" for name, page in PAGES.items()}


def main() -> None:
    """Write them."""
    for name, text in pages().items():
        (HERE / "reference" / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
