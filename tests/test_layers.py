"""Who may import whom. Every import of every file counts, those inside functions too."""

from __future__ import annotations

import ast

import pytest

from tests.source import Import, Source, imports, sources

LEAVES = {"errors", "_plugins", "_bridge", "_cell_errors"}
ROW = {
    "errors": {"_cell_errors"},
    "_cell_errors": {"core"},
    "_plugins": {"errors"},
    "_walk": {"errors"},
    "_bridge": {"_walk", "_cell_errors"},
    "core": {"core", "errors"},
    "formats": {"core", "errors", "formats", "_plugins"},
    "sips": {"core", "errors", "sips"},
    "storage": {"core", "storage", *LEAVES},
    "sandbox": {"core", "sandbox", *LEAVES},
    "ops": {"core", "formats", "sips", "storage", "sandbox", "ops", *LEAVES},
    "contract": {"core", "errors"},
    "_connect": {"ops", "core", "storage", "frontends", *LEAVES},
    "frontends": {"ops", "core", "frontends", "contract", "_connect", "", *LEAVES},
    "integrations": {"ops", "core", "integrations", "contract", "_connect", "", *LEAVES},
    "testing": {"core", "formats", "sips", "storage", "sandbox", "ops", "testing", *LEAVES},
    "__main__": {"frontends"},
    "": {"_connect", "errors", "frontends", "contract", "integrations", "sandbox", "testing"},
}
"""What each part of the package may import of the others; ``""`` is ``kmnb/__init__.py``."""

THIRD_PARTY: dict[str, set[str]] = {
    "kmnb.storage._obstore": {"obstore"},
    "kmnb.storage.backends": {"*"},
    "kmnb.storage._embedded": {"nats_server", "nats"},
    "kmnb.sandbox.kernels": {"jupyter_client", "ipykernel", "tornado", "traitlets"},
    "kmnb.formats": {"lazily *"},
    "kmnb.sips": {"lazily *"},
    "kmnb.ops": {"lazily *"},
    "kmnb.frontends": {"*"},
    "kmnb.integrations": {"*"},
    "kmnb.testing": {"*"},
}
"""Third-party modules by the longest prefix of the importing file; parts that are not listed have none."""

PURE = ("core", "formats", "sips")
OUTSIDE = {
    "asyncio", "concurrent", "ctypes", "fcntl", "getpass", "glob", "http", "locale", "logging", "multiprocessing",
    "os", "pathlib", "platform", "random", "secrets", "select", "selectors", "shutil", "signal", "socket",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip
"""Standard modules that reach processes, files, the network, the clock, chance or the environment."""
PURE_EXCEPTIONS = {"urllib.parse"}
OUTSIDE_CALLS = {"open", "print", "input", "datetime.now", "datetime.utcnow", "date.today", "uuid.uuid1", "uuid.uuid4"}


def part(module: str) -> str:
    """First folder or file of a module below kmnb; empty for kmnb itself."""
    return module.split(".")[1] if "." in module else ""


def draws_by_seed(source: Source) -> bool:
    """Tell whether a file uses ``random`` for generators with a seed alone: what these give is no chance."""
    used = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
    ]
    seeded = {id(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call) and node.args}
    return bool(used) and all(node.attr == "Random" and id(node) in seeded for node in used)


def ids(source: Source) -> str:
    return source.where


@pytest.mark.parametrize("source", sources(), ids=ids)
def test_a_file_imports_only_what_its_layer_may_see(source: Source) -> None:
    allowed = ROW[part(source.name)]
    wrong = [
        f"line {found.line}: {found.module}"
        for found in imports(source)
        if found.top == "kmnb" and part(found.module) not in allowed
    ]
    assert not wrong, f"{source.where} may import {sorted(allowed)} only, not {wrong}"


@pytest.mark.parametrize("source", sources(), ids=ids)
def test_a_file_imports_only_the_libraries_of_its_layer(source: Source) -> None:
    prefixes = [prefix for prefix in THIRD_PARTY if f"{source.name}.".startswith(f"{prefix}.")]
    allowed = THIRD_PARTY[max(prefixes, key=len)] if prefixes else set()
    wrong = [
        f"line {found.line}: {found.module}" for found in imports(source) if not _library_is_allowed(found, allowed)
    ]
    assert not wrong, f"{source.where} may import {sorted(allowed) or 'no library'}, not {wrong}"


def _library_is_allowed(found: Import, allowed: set[str]) -> bool:
    if not found.third_party or found.typing_only:
        return True
    return "*" in allowed or found.top in allowed or ("lazily *" in allowed and found.lazy)


@pytest.mark.parametrize("source", [s for s in sources() if part(s.name) in PURE], ids=ids)
def test_a_pure_file_reaches_nothing_outside(source: Source) -> None:
    modules = [
        f"line {found.line}: {found.module}"
        for found in imports(source)
        if found.top in OUTSIDE and found.module not in PURE_EXCEPTIONS and not found.typing_only
        if found.module != "random" or not draws_by_seed(source)
    ]
    calls = [
        f"line {node.lineno}: {ast.unparse(node.func)}()"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in OUTSIDE_CALLS
    ]
    assert not modules + calls, f"{source.where} is to be pure, but: {modules + calls}"


@pytest.mark.parametrize("source", [s for s in sources() if part(s.name) in ("frontends", "integrations")], ids=ids)
def test_a_front_end_imports_no_other_front_end(source: Source) -> None:
    """Shared pieces start with an underscore."""
    wrong = [
        f"line {found.line}: {found.module}"
        for found in imports(source)
        if part(found.module) in ("frontends", "integrations")
        and found.module.count(".") >= 2
        and not found.module.split(".")[2].startswith("_")
        and found.module.split(".")[:3] != source.name.split(".")[:3]
    ]
    assert not wrong, f"{source.where}: {wrong}"


def test_settings_are_read_by_connect_alone() -> None:
    readers = {s.name for s in sources() for found in imports(s) if found.module == "kmnb.frontends._settings"}
    assert readers <= {"kmnb._connect", "kmnb.frontends._settings"} | {
        name for name in readers if name.startswith("kmnb.frontends.")
    }


def test_only_front_ends_and_backends_read_the_environment() -> None:
    """Settings come from one place; a backend may read the usual credential places, the sandbox makes environments."""
    allowed = ("kmnb.frontends", "kmnb.integrations", "kmnb.storage.backends", "kmnb.sandbox", "kmnb.testing")
    wrong = [
        f"{source.where}:{node.lineno}"
        for source in sources()
        if not source.name.startswith(allowed)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.getenv", "os.environb"}
    ]
    assert not wrong


def test_nobody_imports_testing() -> None:
    wrong = [
        f"{source.where}:{found.line}"
        for source in sources()
        if part(source.name) != "testing"
        for found in imports(source)
        if part(found.module) == "testing" and not found.typing_only
    ]
    assert not wrong


def test_there_is_no_import_cycle() -> None:
    """Imports inside functions count; those for type checkers do not, since they never happen."""
    graph = {
        source.name: {
            found.module
            for found in imports(source)
            if found.top == "kmnb" and not found.typing_only and found.module != source.name
        }
        for source in sources()
    }
    assert not _cycle(graph)


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    """Any cycle, as the path that closes it."""
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        stack = [(start, iter(sorted(graph[start])))] if start not in done else []
        path.extend(name for name, _ in stack)
        while stack:
            name, rest = stack[-1]
            following = next((n for n in rest if n not in done and n in graph), None)
            if following is None:
                done.add(name)
                stack.pop()
                path.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            else:
                path.append(following)
                stack.append((following, iter(sorted(graph[following]))))
    return []


def test_the_cycle_finder_finds_a_cycle() -> None:
    assert _cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert _cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
