"""Public names are listed once, and the list, the modules and the documentation agree."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import kmnb
from tests.source import ROOT, Source, modules, sources


def test_every_listed_name_of_kmnb_is_there() -> None:
    assert [name for name in kmnb.__all__ if not hasattr(kmnb, name)] == []


def test_the_list_of_kmnb_has_no_doubles() -> None:
    assert len(kmnb.__all__) == len(set(kmnb.__all__))


def test_dir_shows_every_listed_name() -> None:
    assert set(kmnb.__all__) <= set(dir(kmnb))


def test_every_listed_name_stands_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    assert [name for name in kmnb.__all__ if f"kmnb.{name}" not in text] == []


@pytest.mark.parametrize("source", [s for s in sources() if "__all__" in s.text], ids=lambda s: s.where)
def test_a_list_of_names_holds_only_names_that_exist(source: Source) -> None:
    module = importlib.import_module(source.name)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", sorted(modules() - {"kmnb.__main__"}))
def test_every_module_can_be_imported_by_itself(name: str) -> None:
    assert importlib.import_module(name).__name__ == name


def test_the_package_on_disk_is_the_package_that_is_found() -> None:
    found = {info.name for info in pkgutil.walk_packages(kmnb.__path__, "kmnb.")}
    assert found == modules() - {"kmnb"}
