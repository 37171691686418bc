"""The magics themselves: ``%artifact``, ``%%artifact spill`` and ``%%compute``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class, no_var_expand
from traitlets import Bool

from kmnb import _bridge
from kmnb.core.display import visible
from kmnb.errors import KmnbError
from kmnb.frontends._forms import HelpAsked
from kmnb.frontends._magic_forms import artifact_form, artifact_help, cell_form, compute_form
from kmnb.frontends._magic_line import Line, check_variable


@magics_class
class KmnbMagics(Magics):
    """``%artifact`` looks at results that are too large to read; ``%%compute`` runs a program over them."""

    short_errors = Bool(True, help="Whether errors show as one line instead of a traceback.").tag(config=True)

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._workspace: Any = None
        self._default: Any = None

    @no_var_expand
    @line_cell_magic
    def artifact(self, line: str, cell: str | None = None) -> Any:
        """List, show, query, store and remove artifacts; ``%artifact --help`` tells the sub-commands."""
        with self._short():
            return self._run_artifact(line, cell)

    @no_var_expand
    @cell_magic
    def compute(self, line: str, cell: str) -> Any:
        """Run a program over artifacts in the sandbox; ``%%compute --help`` tells the options."""
        with self._short():
            return self._run_compute(line, cell)

    def workspace(self) -> Any:
        """The workspace that the magics work on.

        It is the one of ``%artifact connect``, else the variable ``ws`` of the notebook, else a new one on the
        default store.
        """
        mine = self._workspace
        if mine is None:
            named = self.shell.user_ns.get("ws")
            if hasattr(named, "list_async") and hasattr(named, "spill_async"):
                return named
            from kmnb._connect import connect

            mine = self._workspace = self._default = connect()
        return mine

    def known_workspace(self) -> Any:
        """The same, but None where it would have to be opened first."""
        named = self.shell.user_ns.get("ws")
        return self._workspace or (named if hasattr(named, "list_async") else None)

    def let_go(self) -> None:
        """Forget the workspace, and close it where nobody else can hold it; called on unload."""
        if self._default is not None:
            self._default.close()
        self._workspace = self._default = None

    @contextmanager
    def _short(self) -> Iterator[None]:
        try:
            yield
        except HelpAsked as asked:
            print(asked.args[0])
        except KmnbError as error:
            if self.short_errors:
                _shorten(error)
            raise

    def _run_artifact(self, line: str, cell: str | None) -> Any:
        read = Line(line, self.shell.user_ns, "%artifact")
        if not read.words or read.words[0] in ("--help", "-h", "help"):
            raise HelpAsked(artifact_help(read.words[1:]))
        from kmnb.ops.commands import find_command

        command = find_command(read.words[0])
        if cell is None:
            given, extra = artifact_form(command).parse(read.words[1:])
            from kmnb.frontends._input import read_source

            return self._keep(extra, self._call(command, read_source(command, read.restore(given))))
        from kmnb.frontends._magic_cell import data_of_cell

        given, extra = cell_form(command).parse(read.words[1:])
        return self._keep(extra, self._call(command, read.restore(given) | {"source": data_of_cell(self.shell, cell)}))

    def _run_compute(self, line: str, cell: str) -> Any:
        from kmnb.ops.commands import find_command

        read = Line(line, self.shell.user_ns, "%%compute")
        given, extra = compute_form().parse(read.words)
        return self._keep(extra, self._call(find_command("run"), read.restore(given) | {"source": cell}), shown=True)

    def _call(self, command: Any, given: dict[str, Any]) -> Any:
        if command.name == "connect":
            from kmnb._connect import connect

            self._workspace = connect(given.pop("url") or None, **given)
            return self._workspace
        return _bridge.run(command.handler(self.workspace(), given))

    def _keep(self, extra: dict[str, Any], answer: Any, *, shown: bool = False) -> Any:
        name = check_variable(extra["out"])
        if name is None:
            return answer
        self.shell.user_ns[name] = answer
        return answer if shown else None


def _shorten(error: Any) -> None:
    """Have IPython show one line in the place of the traceback."""
    error._render_traceback_ = lambda: [short_text(error)]


def short_text(error: KmnbError) -> str:
    """Write an error as one line: its kind, its code, and its message with the next step."""
    return f"{type(error).__name__} [{error.code}]: {visible(str(error)).replace(chr(10), ' ')}"


def _documented(magic: Any, text: Callable[[], str]) -> None:
    """Give a magic its help; IPython asks ``getdoc()`` first, so that help is only made when somebody wants it."""
    magic.getdoc = text


_documented(KmnbMagics.artifact, artifact_help)
_documented(KmnbMagics.compute, lambda: compute_form().help())
