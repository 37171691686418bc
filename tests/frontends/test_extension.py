"""Loading the extension is idempotent, cheap, and undone exactly."""

from __future__ import annotations

from tests.children import python


def state(shell):
    manager = shell.magics_manager
    return (
        {kind: dict(table) for kind, table in manager.magics.items()},
        dict(manager.registry),
        list(shell.configurables),
        list(shell.Completer.custom_matchers),
        dict(shell.display_formatter.mimebundle_formatter.type_printers),
        {name: dict(one.type_printers) for name, one in shell.display_formatter.formatters.items()},
    )


def test_loading_twice_is_loading_once(shell):
    before = state(shell)
    shell.run_line_magic("load_ext", "kmnb")
    shell.run_line_magic("reload_ext", "kmnb")
    after = state(shell)
    assert len(after[3]) == len(before[3])
    assert len(after[2]) == len(before[2])


def test_unloading_puts_back_what_was_there_before(shell):
    shell.run_line_magic("unload_ext", "kmnb")

    def own(line):
        return "mine"

    shell.register_magic_function(own, "line", "artifact")
    before = state(shell)
    shell.run_line_magic("load_ext", "kmnb")
    assert state(shell) != before
    shell.run_line_magic("unload_ext", "kmnb")
    assert state(shell) == before
    assert shell.run_line_magic("artifact", "") == "mine"
    shell.run_line_magic("unload_ext", "kmnb")
    assert state(shell) == before


def test_unloading_leaves_what_others_have_put_in_our_place(shell):
    from kmnb import _bridge
    from kmnb.core.outcome import Outcome

    def theirs(*arguments):
        return "theirs"

    shell.register_magic_function(theirs, "line", "artifact")
    printers = shell.display_formatter.mimebundle_formatter
    printers.for_type(Outcome, theirs)
    before, _bridge.patience = _bridge.patience, theirs
    try:
        shell.run_line_magic("unload_ext", "kmnb")
        assert _bridge.patience is theirs
    finally:
        _bridge.patience = before
        shell.run_line_magic("load_ext", "kmnb")
    shell.run_line_magic("unload_ext", "kmnb")
    assert shell.run_line_magic("artifact", "") == "theirs"
    assert "artifact" not in shell.magics_manager.magics["cell"]
    assert printers.pop(Outcome) is theirs
    _bridge.patience = None


def test_loading_imports_no_store_no_widget_and_no_sip():
    program = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.run_line_magic('load_ext', 'kmnb')
new = set(sys.modules) - before
heavy = {'nats', 'obstore', 'pandas', 'pyarrow', 'ipywidgets', 'anywidget', 'jq', 're2', 'msgspec', 'mcp', 'tornado'}
print(sorted(heavy & {name.partition('.')[0] for name in new}), sorted(n for n in new if n.startswith('kmnb.sips.')))
"""
    answer = python("-c", program)
    assert answer.code == 0, answer
    assert answer.out.split() == ["[]", "[]"], answer
