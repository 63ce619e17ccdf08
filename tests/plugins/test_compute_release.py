# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The plug-in does not change a release that it was not tested with, and logs the reason."""

import pathlib
import re

import cccl_cache.compute as plugin
import pytest
from cccl_cache.compute._release import TESTED
from cuda.compute.algorithms._reduce import _Reduce

ROOT = pathlib.Path(__file__).parents[2]


def pinned(package):
    """Returns the releases in the lock files of the tests."""
    return {release for lock in (ROOT / "scripts/locks").glob("cuda-python*.txt")
            for release in re.findall(rf"^{package}==(\S+)", lock.read_text(), re.M)}


def test_two_releases_are_pinned_and_shown():
    assert pinned("cuda-cccl") == set(TESTED) and len(TESTED) == 2
    [told] = re.findall(r"Tested with cuda-core (\S+) and (\S+)\.\n", (ROOT / "docs/guide-cuda-core.md").read_text())
    assert pinned("cuda-core") == set(told)


@pytest.mark.parametrize("guide", ["guide-cuda-core.md", "guide-cuda-compute.md"])
def test_a_guide_installs_the_pinned_release(guide):
    [line] = re.findall(r"^pip install (.*)", (ROOT / "docs" / guide).read_text(), re.M)
    named = re.findall(r'"([\w-]+)(?:\[\w+\])?==([\d.]+)"', line)
    assert named
    for package, release in named:
        assert release in pinned(package), package


def test_without_a_driver_the_stub_is_named(monkeypatch):
    monkeypatch.setattr("cuda.compute._BINDINGS_AVAILABLE", False)
    assert plugin.install() is False
    assert "libcuda.so.1" in plugin.status()["why_off"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Makes a release of a package appear installed, before the real release."""

    def install(package, release):
        place = tmp_path / f"{package.replace('-', '_')}-{release}.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {release}\n")
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    plugin.uninstall()


@pytest.mark.parametrize("package", ["cuda-cccl", "numba-cuda-mlir"])
def test_an_untested_release_is_left_alone_and_the_reason_is_reported(installed, package, caplog):
    before = _Reduce.__init__
    installed(package, "9.9")
    assert plugin.install() is False
    status = plugin.status()
    assert status["on"] is False
    assert status["why_off"].startswith(f"{package} 9.9 was not tested with it; ")
    assert status["why_off"] in caplog.text
    assert _Reduce.__init__ is before


@pytest.mark.parametrize("release", TESTED)
def test_a_tested_release_is_changed_and_put_back(installed, release):
    before = _Reduce.__init__
    installed("cuda-cccl", release)
    assert plugin.install() is True
    assert plugin.status()["why_off"] is None and _Reduce.__init__ is not before
    plugin.uninstall()
    assert plugin.status()["why_off"] == "uninstall() was called" and _Reduce.__init__ is before
