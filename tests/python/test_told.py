# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The output of ``python -m cccl_cache``: the daemon, and the features that are on."""

import os
import pathlib
import re
import subprocess
import sys
import warnings
from importlib import import_module

import _cccl_cache_at_import as at_import
import cccl_cache
import pytest
from cccl_cache import __main__ as program
from cccl_cache._plugin import switch
from patience import PATIENCE

ROOT = pathlib.Path(__file__).parents[2]
TROUBLES = ROOT / "docs/troubleshooting.md"
VARIABLE = re.compile(r'"(CCCL_CACHE_[A-Z_]+)"|\$\{?(CCCL_CACHE_[A-Z_]+)|\b(CCCL_CACHE_[A-Z_]+)=')


def run_module(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "cccl_cache", *arguments], capture_output=True, text=True,
                          timeout=PATIENCE, env={"PATH": os.environ["PATH"], **environment})


def turned_on(told):
    """Returns the lines from the first feature on, by feature."""
    features = told.stdout[told.stdout.index("  without a daemon: ") :]
    return dict(line.strip().split(": ", 1) for line in features.splitlines())


def test_python_m_cccl_cache_shows_which_daemon_answers(lasting):
    told = run_module(CCCL_CACHE_SOCKET=str(lasting.socket))
    assert told.returncode == 0, told.stderr
    assert f"at {lasting.socket}: serving" in told.stdout
    assert "CUDA 13." in told.stdout
    assert "bytes" not in told.stdout.partition("  without a daemon: ")[0]
    assert list(turned_on(told)) == ["without a daemon", "cache within a process", *program._PLUGINS]


def test_python_m_cccl_cache_reports_a_missing_daemon_and_the_active_plug_ins(directory):
    told = run_module("--socket", str(directory / "nobody"))
    assert told.returncode == 3
    assert f"no cccl-cached listens on {directory / 'nobody'}" in told.stderr and "cccl-cached --socket" in told.stderr
    compiler = pathlib.Path(cccl_cache.__file__).with_name("cccl-cache-compile")
    assert turned_on(told) == {
        "without a daemon": f'builds are compiled here, by {compiler} (fallback="local")',
        "cache within a process": "on, 64 MiB (CCCL_CACHE_PROCESS_BYTES is not set)",
        "cuda.compute": "off: cuda-cccl is not installed",
        "cupy": "off: cupy-cuda13x is not installed",
        "CuTe DSL": "off: nvidia-cutlass-dsl is not installed",
        "FlashInfer": "off: flashinfer-python is not installed",
        "JAX": "off: jax is not installed",
        "numba-cuda": "off: numba-cuda is not installed",
        "numba-cuda-mlir": "off: numba-cuda-mlir is not installed",
        "TileLang": "off: tilelang is not installed",
        "torch.compile": "off: torch is not installed",
        "triton": "off: triton is not installed",
        "TVM-FFI": "off: apache-tvm-ffi is not installed",
        "Warp": "off: warp-lang is not installed"}


def test_the_page_on_troubles_shows_these_lines(monkeypatch):
    monkeypatch.delenv("CCCL_CACHE", raising=False)
    from cccl_cache import compute

    [shown] = re.findall(r"^```\n(  cuda.compute: .*?)```", TROUBLES.read_text(), re.DOTALL | re.MULTILINE)
    monkeypatch.setattr(compute.switch, "_find", lambda: "cuda-cccl 1.2.1")
    assert all(line in program._turned_on() for line in shown.splitlines())


def test_a_warning_of_a_package_is_not_printed_beside_the_reason(monkeypatch, recwarn):
    from cccl_cache import compute

    def find():
        warnings.warn("no driver", RuntimeWarning)
        raise switch.NotServed("no driver")

    monkeypatch.setattr(compute.switch, "_find", find)
    assert "  cuda.compute: off: no driver" in program._turned_on()
    assert not list(recwarn)


def test_a_variable_with_a_wrong_name_is_told_with_the_right_one(directory):
    told = run_module("--socket", str(directory / "nobody"), CCCL_CACHE_TROCH="0", CCCL_CACHE_XYZ="1", CCCL_CACHE_TORCH="0",
                      CCCL_CACHE_PRIORITY="normal", CCCL_CACHED_STATE_DIR="/nowhere", OTHER="1")
    unread = "no part of cccl-cached reads this variable"
    assert list(turned_on(told).items())[-2:] == [
        ("CCCL_CACHE_TROCH", f"{unread}; is CCCL_CACHE_TORCH meant?"), ("CCCL_CACHE_XYZ", unread)]
    assert told.stdout.count(unread) == 2


def plug_in_switches():
    return [import_module(plugin).switch for plugin in program._PLUGINS.values()]


def test_each_variable_that_a_source_or_a_guide_names_is_known():
    named = {name for folder in ("base", "cli", "client", "daemon", "deploy", "docs") for file in (ROOT / folder).rglob("*")
             if file.is_file() and file.suffix in ("", ".cc", ".h", ".jl", ".md", ".py", ".yaml")
             for found in VARIABLE.finditer(file.read_text(errors="replace")) for name in found.groups() if name}
    assert named == program._VARIABLES | {each.variable for each in plug_in_switches()}


def test_the_module_that_the_pth_file_imports_has_the_plug_ins_and_the_words_of_the_package():
    assert at_import._PLUGINS == {each._module: (each.variable, each.report.logger.name) for each in plug_in_switches()}
    assert at_import._OFF == switch._OFF


def test_the_doctor_knows_the_plug_ins_their_packages_and_the_words_of_the_package():
    doctor = (ROOT / "cli/doctor/python_check.cc").read_text()
    assert set(re.findall(r'"(CCCL_CACHE\w*)"', doctor)) == {"CCCL_CACHE", *(each.variable for each in plug_in_switches())}
    [words] = re.findall(r"kOff = \{(.*?)\}", doctor)
    assert tuple(re.findall(r'"(.*?)"', words)) == switch._OFF
    # This environment has none of the packages.
    packages = {re.fullmatch(r"off: (\S+) is not installed", each.told())[1] for each in plug_in_switches()}
    assert packages <= set(re.findall(r'"([a-z0-9-]+)"', doctor))


def test_python_m_cccl_cache_reports_that_nothing_is_compiled_locally(monkeypatch):
    monkeypatch.setattr(program, "COMPILER_OF_THE_PACKAGE", "/nowhere/cccl-cache-compile")
    assert 'builds fail, for there is no /nowhere/cccl-cache-compile (fallback="error")' in program._turned_on()[0]


@pytest.mark.parametrize("given, told", [
    ("off", "off"), ("0", "off"), ("4096", "on, 4096 bytes"), ("much", "no client can be made")])
def test_python_m_cccl_cache_shows_the_size_of_a_process_cache(directory, given, told):
    answer = run_module("--socket", str(directory / "nobody"), CCCL_CACHE_PROCESS_BYTES=given)
    assert turned_on(answer)["cache within a process"].startswith(told)
    assert answer.returncode == (5 if given == "much" else 3)
