# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Packages that register functions with a compiler are identified by the present contents of their files."""

import sys

import pytest

from cccl_cache._plugin.canonical import Refused
from cccl_cache._plugin.registrations import describe_package


@pytest.fixture
def described(tmp_path, monkeypatch):
    """Writes a module of a package, and describes the package as a new process does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "teaching_package"
    package.mkdir()
    (package / "__init__.py").write_text("")

    def write(text, installed=True):
        (package / "rules.py").write_text(text)
        if installed:
            (tmp_path / "teaching_package-1.0.dist-info").mkdir(exist_ok=True)
            (tmp_path / "teaching_package-1.0.dist-info/RECORD").write_text("teaching_package/__init__.py,sha256=e3b0,0\n")
        describe_package.cache_clear()
        __import__("teaching_package")
        return describe_package("teaching_package.rules")

    yield write
    sys.modules.pop("teaching_package", None)
    describe_package.cache_clear()


def test_a_file_that_was_edited_in_place_is_another_package(described):
    first = described("FACTOR = 1")
    assert described("FACTOR = 2") != first
    assert described("FACTOR = 1") == first


def test_a_module_that_was_not_installed_is_refused(described):
    with pytest.raises(Refused, match="which no package installed"):
        described("FACTOR = 1", installed=False)
