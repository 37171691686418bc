"""The line of a magic: words as a shell reads them, and ``{{name}}`` for values of the notebook."""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kmnb.errors import BadRequest

_NAME = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")
_MARK = "\ue000{}\ue001"
_MARKED = re.compile("\ue000(\\d+)\ue001")


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
        """The words; a word that is an object from ``{{name}}`` stands as a mark for :meth:`restore`."""

    def _mark(self, match: re.Match[str]) -> str:
        first, *rest = match.group(1).split(".")
        if first not in self._namespace:
            raise BadRequest(f"{{{{{match.group(1)}}}}}", f"there is no variable {first!r}", "Run its cell first.")
        value = self._namespace[first]
        for name in rest:
            if not hasattr(value, name):
                raise BadRequest(f"{{{{{match.group(1)}}}}}", f"a {type(value).__name__} has no {name!r}")
            value = getattr(value, name)
        self._values.append(value)
        return _MARK.format(len(self._values) - 1)

    def _text(self, word: str) -> str:
        whole = _MARKED.fullmatch(word)
        if whole and not isinstance(self._values[int(whole[1])], str | int | float):
            return word
        if whole and isinstance(self._values[int(whole[1])], str):
            self._data.add(self._values[int(whole[1])])
        return _MARKED.sub(lambda found: str(self._values[int(found[1])]), word)

    def restore(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Put objects in the place of their marks.

        Args:
            arguments: Checked arguments.

        Returns:
            The same with objects. A name of the notebook in the place of an artifact is looked up too; a source is
            data where it is a variable, else the path of a file.
        """
        given = {name: self._object(name, value) for name, value in arguments.items()}
        source = given.get("source")
        return given | {"source": Path(source)} if isinstance(source, str) and source not in self._data else given

    def _object(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._object(name, item) for item in value]
        if not isinstance(value, str):
            return value
        whole, is_reference = _MARKED.fullmatch(value), name in ("ref", "refs", "with")
        if whole:
            found = self._values[int(whole[1])]
        elif is_reference and value.isidentifier() and value in self._namespace:
            # A key has slashes, so a bare name can only mean a variable.
            found = self._namespace[value]
        else:
            return value
        # What ``%%artifact spill`` gave stands for what it stored.
        return (getattr(found, "artifact", None) or found) if is_reference else found


def check_variable(name: str | None) -> str | None:
    """Check the name of the variable that an answer goes to.

    Raises:
        BadRequest: Not a name that Python allows.
    """
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise BadRequest(f"--out {name[:100]!r}", "it is not the name of a variable")
    return name
