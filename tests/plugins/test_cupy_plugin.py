# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The plug-in for CuPy in one process: the compiles that it leaves to CuPy, its switch, and its reports."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import cccl_cache
import cccl_cache.cupy as plugin
import pytest
from cccl_cache.cupy._compile import Source, _plain
from cccl_cache.cupy._release import TESTED
from cccl_cache._plugin.canonical import Refused
from cupy_program import load_nvrtc, without_a_gpu
from patience import PATIENCE
from places import PLACES

ROOT = pathlib.Path(__file__).parents[2]
KERNEL = 'extern "C" __global__ void f(int* p) { *p = VALUE; }'


@pytest.fixture(scope="module")
def compiler():
    load_nvrtc(PLACES.cuda13)
    return without_a_gpu()[0]


@pytest.fixture
def installed(lasting):
    assert plugin.install(client=lambda: cccl_cache.Client(lasting.socket, fallback="error"))
    before = plugin.status()
    yield lambda name: plugin.status()[name] - before[name]
    plugin.uninstall()


def compile_value(compiler, value, *options, **how):
    return compiler.compile_using_nvrtc(KERNEL, (f"-DVALUE={value}", *options), "90", **how)


LEFT = {
    "a second architecture": ("-arch=sm_80",), "debugging": ("--device-debug",), "a table of times": ("-time=t.csv",),
    "a precompiled header of its own": ("--create-pch=made.pch",),
}


@pytest.mark.parametrize("options", LEFT.values(), ids=LEFT.keys())
def test_options_that_need_this_process_are_left_to_cupy(options):
    with pytest.raises(Refused):
        _plain("cubin", (*options, "-arch=sm_90"))


def test_precompiled_headers_that_the_daemon_makes_are_dropped():
    assert _plain("lto", ("--pch", "-dlto", "-ftz=true", "-arch=compute_90")) == ("compute_90", "ltoir", ["-ftz=true"])


def test_headers_that_jitify_has_rewritten_are_left_to_cupy(compiler, installed):
    program = compiler._NVRTCProgram('#include "own.h"\n' + KERNEL, "", (b"#define VALUE 3\n",), (b"own.h",), method="cubin")
    assert program.compile(("-arch=sm_90",))[0].startswith(b"\x7fELF")
    assert installed("hits") == installed("builds") == 0


def test_programs_of_other_kinds_are_served(compiler, installed):
    program = compiler._NVRTCProgram(KERNEL, "k.cu", method="ptx")
    assert b".entry f" in program.compile(("-arch=compute_90", "-DVALUE=4"))[0]
    assert installed("builds") == 1


def test_cupy_is_unchanged_if_the_plug_in_is_turned_off(compiler, installed):
    compile_value(compiler, 5)
    assert installed("builds") == 1
    plugin.uninstall()
    compile_value(compiler, 6)
    assert installed("builds") == 1 and plugin.status()["why_off"] == "uninstall() was called"
    assert "cccl_cache" not in compiler._NVRTCProgram.compile.__module__


def test_while_a_daemon_hangs_cupy_compiles(compiler, real):
    assert plugin.install(client=lambda: cccl_cache.Client(real.socket, fallback="error"), wait=0.1)
    before = plugin.status()["left_to_cupy"]
    real.freeze()
    try:
        for value in (8, 9):
            assert compile_value(compiler, value)[0].startswith(b"\x7fELF")
        assert plugin.status()["left_to_cupy"] == before + 2
    finally:
        os.kill(real.process.pid, signal.SIGCONT)
        plugin.uninstall()


def test_a_client_that_can_not_be_made_is_no_error(compiler, installed):
    plugin.uninstall()

    def fail():
        raise cccl_cache.Error("no socket may be trusted", "no-daemon")

    assert plugin.install(client=fail)
    assert compile_value(compiler, 10)[0].startswith(b"\x7fELF")
    assert any("no socket may be trusted" in reason for reason in plugin.status()["errors"])


@pytest.mark.parametrize("package, release", [("cupy-cuda13x", "14.3.0"), ("cupy-cuda12x", "14.2.0")])
def test_an_untested_release_is_left_alone_and_the_reason_is_reported(tmp_path, monkeypatch, caplog, package, release):
    place = tmp_path / f"{package.replace('-', '_')}-{release}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {release}\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert plugin.install() is False
    assert package in plugin.status()["why_off"] and package in caplog.text


def test_the_pinned_release_is_the_tested_one_and_shown():
    lock = (ROOT / "scripts/locks/cupy.txt").read_text()
    guide = (ROOT / "docs/guide-cupy.md").read_text()
    assert tuple(re.findall(r"^cupy-cuda13x==(\S+)", lock, re.M)) == TESTED
    assert set(re.findall(r"cupy-cuda13x==([\d.]+)", guide)) == set(TESTED)


def test_a_process_shows_whether_the_plug_in_is_on():
    for variables, told in (({"CCCL_CACHE_CUPY": "1"}, "on, for cupy-cuda13x"), ({}, "off until")):
        done = subprocess.run(
            [sys.executable, "-c", "import cupy; from cccl_cache.cupy import switch; print(switch.told())"],
            capture_output=True, text=True, timeout=PATIENCE,
            env={**{name: value for name, value in os.environ.items() if not name.startswith("CCCL_CACHE_CUPY")}, **variables})
        assert done.stdout.startswith(told), done.stdout + done.stderr
