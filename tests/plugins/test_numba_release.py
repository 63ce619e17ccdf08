# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The plug-in does not change a release of numba-cuda that it was not tested with, and logs the reason."""

import pathlib
import re

import numba_device  # noqa: F401  first: it makes numba.cuda that of numba-cuda
import pytest

import cccl_cache.numba as plugin
from cccl_cache.numba._release import TESTED, TESTED_NUMBA
from numba.cuda import codegen, dispatcher
from numba.cuda.cudadrv import driver, nvrtc, nvvm

ROOT = pathlib.Path(__file__).parents[2]
CHANGED = [
    (dispatcher.CUDADispatcher, "enable_caching"), (dispatcher.CUDADispatcher, "compile"),
    (dispatcher.CUDADispatcher, "compile_device"), (dispatcher.CUDADispatcher, "__init__"),
    (dispatcher._Kernel, "__init__"), (codegen.CUDACodeLibrary, "llvm_strs"), (codegen.CUDACodeLibrary, "get_asm_str"),
    (nvvm, "compile_ir"), (nvrtc, "Program"), (driver, "Linker"),
]


def test_the_tested_releases_are_pinned_and_shown():
    pins = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "scripts/locks/numba.txt").read_text(), re.M))
    assert (pins["numba-cuda"],) == TESTED and (pins["numba"],) == TESTED_NUMBA
    [line] = re.findall(r"^pip install (.*numba-cuda.*)", (ROOT / "docs/guide-numba-cuda.md").read_text(), re.M)
    assert f"numba-cuda[cu13]=={TESTED[0]}" in line and f"numba=={TESTED_NUMBA[0]}" in line


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


def state():
    return [vars(owner).get(name) for owner, name in CHANGED]


@pytest.mark.parametrize("package", ["numba-cuda", "numba"])
def test_an_untested_release_is_left_alone_and_the_reason_is_reported(installed, package, caplog):
    before = state()
    installed(package, "9.9")
    assert plugin.install() is False
    assert plugin.status()["why_off"].startswith(f"{package} 9.9 was not tested with it; ")
    assert plugin.status()["why_off"] in caplog.text
    assert state() == before


def test_uninstall_puts_back_all_changes():
    before = state()
    assert plugin.install(every_kernel=True) is True
    assert all(now is not then for now, then in zip(state(), before))
    plugin.uninstall()
    assert state() == before


def test_the_plug_in_stays_off_for_the_simulator(monkeypatch):
    monkeypatch.setattr("numba.cuda.core.config.ENABLE_CUDASIM", 1)
    assert plugin.install() is False and "simulator" in plugin.status()["why_off"]
