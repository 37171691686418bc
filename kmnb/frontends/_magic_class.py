"""The magics themselves: ``%artifact``, ``%%artifact spill`` and ``%%compute``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class, no_var_expand
from traitlets import Bool

from kmnb.errors import KmnbError


@magics_class
class KmnbMagics(Magics):
    """``%artifact`` looks at results that are too large to read; ``%%compute`` runs a program over them."""

    short_errors = Bool(True, help="Whether errors show as one line instead of a traceback.").tag(config=True)

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._workspace: Any = None
        self._default: Any = None
        self.names: Any = None

    @no_var_expand
    @line_cell_magic
    def artifact(self, line: str, cell: str | None = None) -> Any:
        """List, show, query, store and remove artifacts; ``%artifact --help`` tells the sub-commands."""
        with self._short("%artifact" if cell is None else "%%artifact"):
            from kmnb.frontends._magic_run import run_artifact

            return run_artifact(self, line, cell)

    @no_var_expand
    @cell_magic
    def compute(self, line: str, cell: str) -> Any:
        """Run a program over artifacts in the sandbox; ``%%compute --help`` tells the options."""
        with self._short("%%compute"):
            from kmnb.frontends._magic_run import run_compute

            return run_compute(self, line, cell)

    def workspace(self) -> Any:
        """The workspace that the magics work on.

        It is the one of ``%artifact connect``, else the variable ``ws`` of the notebook, else a new one on the
        default store.
        """
        known = self.known_workspace()
        if known is None:
            from kmnb._connect import connect

            # Kept apart from what a person connects: a variable `ws` that comes later has to count.
            known = self._default = connect()
        return known

    def known_workspace(self) -> Any:
        """The same, but None where it would have to be opened first."""
        named = self.shell.user_ns.get("ws")
        return self._workspace or (named if hasattr(named, "spill_async") else self._default)

    def connect(self, url: str | None = None, **names: Any) -> Any:
        """Open a workspace and work on it from now on."""
        from kmnb._connect import connect

        self._workspace = connect(url, **names)
        return self._workspace

    def let_go(self) -> None:
        """Forget the workspace, and close it where nobody else can hold it; called on unload."""
        if self._default is not None:
            self._default.close()
        self._workspace = self._default = None

    @contextmanager
    def _short(self, command: str) -> Iterator[None]:
        try:
            yield
        except KmnbError as error:
            if self.short_errors:
                _shorten(error, short_text(error))
            raise
        except KeyboardInterrupt as stopped:
            if self.short_errors:
                # The frames would be those of our own waiting.
                _shorten(stopped, f"KeyboardInterrupt: {command} was stopped, and with it what it had begun.")
            raise


def _shorten(error: Any, text: str) -> None:
    """Have IPython show one line in the place of the traceback."""
    error._render_traceback_ = lambda: [text]


def short_text(error: KmnbError) -> str:
    """Write an error as one line: its kind, its code, and its message with the next step."""
    from kmnb.core.visible import visible

    return f"{type(error).__name__} [{error.code}]: {visible(str(error)).replace(chr(10), ' ')}"


def _artifact_help() -> str:
    from kmnb.frontends._magic_forms import artifact_help

    return artifact_help()


def _compute_help() -> str:
    from kmnb.frontends._magic_forms import compute_form

    return compute_form().help()


def _documented(magic: Any, text: Callable[[], str]) -> None:
    """Give a magic its help; IPython asks ``getdoc()`` first, so that help is only made when somebody wants it."""
    magic.getdoc = text


_documented(KmnbMagics.artifact, _artifact_help)
_documented(KmnbMagics.compute, _compute_help)
