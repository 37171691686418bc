"""The line of a magic: words as a shell reads them, and ``{{name}}`` for values of the notebook."""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from kmnb.core.describe import Operation
from kmnb.errors import BadRequest

_NAME = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")
_MARK = "\ue000{}\ue001"
_MARKED = re.compile("\ue000(\\d+)\ue001")
_LIKE_AN_OPTION = re.compile(r"-(?!\d+(?:\.\d+)?$)")
_OTHER_SIGN = re.compile(r"(?:\$\{?|\{)([A-Za-z_]\w*)\}?")
# How other magics and shells write a variable.
_REFERENCES = ("ref", "refs", "with")


class Line:
    """One line, cut into words. Objects stand as marks until the arguments have been checked."""

    def __init__(self, text: str, namespace: Mapping[str, Any], command: str) -> None:
        self._values: list[Any] = []
        self._data: set[str] = set()
        self._namespace, self._command = namespace, command
        marked = _NAME.sub(self._mark, text.replace("\ue000", "").replace("\ue001", ""))
        try:
            words = shlex.split(marked)
        except ValueError as error:
            raise BadRequest(command, f"the line cannot be read: {error}", "Close the quotation.") from None
        self.words = [self._text(word) for word in words]
        """The words; a word that is an object from ``{{name}}``, or a text that looks like an option, stands as a mark
        for :meth:`restore`."""

    def _mark(self, match: re.Match[str]) -> str:
        first, *rest = match.group(1).split(".")
        if first not in self._namespace:
            raise BadRequest(f"{{{{{match.group(1)}}}}}", f"there is no variable {first!r}", "Run its cell first.")
        value = self._namespace[first]
        for name in rest:
            if not hasattr(value, name):
                missing = f"a {type(value).__name__} has no {name!r}"
                raise BadRequest(f"{{{{{match.group(1)}}}}}", missing, "Name what it has.")
            value = getattr(value, name)
        self._values.append(value)
        return _MARK.format(len(self._values) - 1)

    def _text(self, word: str) -> str:
        whole = _MARKED.fullmatch(word)
        value = self._values[int(whole[1])] if whole else None
        if whole and not isinstance(value, str | int | float):
            return word
        if isinstance(value, str):
            self._data.add(value)
            if _LIKE_AN_OPTION.match(value):
                # As a mark it cannot be read as one.
                return word
        return _MARKED.sub(lambda found: str(self._values[int(found[1])]), word)

    def restore(self, arguments: Mapping[str, Any], operation: Operation) -> dict[str, Any]:
        """Put objects in the place of their marks.

        Args:
            arguments: Checked arguments.
            operation: Their declaration.

        Returns:
            The same with objects. A name of the notebook in the place of an artifact is looked up too; a source is
            data where it is a variable, else the path of a file.

        Raises:
            BadRequest: An object stands where only text can.
        """
        takes = {param.name for param in operation.params if param.kind == "json"} | {*_REFERENCES, "source"}
        given = {name: self._object(name, value, takes) for name, value in arguments.items()}
        source = given.get("source")
        if not isinstance(source, str) or source in self._data:
            return given
        if source in self._namespace and not Path(source).exists():
            told = "is the path of a file here, and there is none"
            raise BadRequest(source, told, f"Write {{{{{source}}}}} for the variable.")
        return given | {"source": Path(source)}

    def _object(self, name: str, value: Any, takes: Set[str]) -> Any:
        if isinstance(value, list):
            return [self._object(name, item, takes) for item in value]
        if not isinstance(value, str):
            return value
        whole, is_reference = _MARKED.fullmatch(value), name in _REFERENCES
        if whole:
            found = self._values[int(whole[1])]
            if name not in takes and not isinstance(found, str):
                kind = type(found).__name__
                raise BadRequest(
                    f"{self._command}: {name}", f"must be text, not a variable of type {kind}", "Write the text itself."
                )
        elif is_reference and value.isidentifier() and value in self._namespace:
            # A key has slashes, so a bare name can only mean a variable.
            found = self._namespace[value]
        else:
            if is_reference and (other := _OTHER_SIGN.fullmatch(value)) and other[1] in self._namespace:
                name = other[1]
                raise BadRequest(value[:100], "is text here and no variable", f"Write {name}, or {{{{{name}}}}}.")
            return value
        # What ``%%artifact spill`` gave stands for what it stored.
        stored = getattr(found, "artifact", None) if is_reference else None
        if is_reference and stored is None and type(found).__module__ == "kmnb.ops.spill":
            thing = f"{self._command}: {name}" if whole else value[:100]
            raise BadRequest(thing, "stayed inline, so that nothing is stored", "Use put, which stores any size.")
        return stored or found


def check_variable(name: str | None) -> str | None:
    """Check the name of the variable that an answer goes to.

    Raises:
        BadRequest: Not a name that Python allows.
    """
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise BadRequest(f"--out {name[:100]!r}", "it is not the name of a variable", "Use --out NAME.")
    return name
