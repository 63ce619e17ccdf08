# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""upstream_program.py PACKAGE [backwards] runs a package's own tests of its compiles, with a pretended device of capability
9.0. With `backwards`, the last test runs first.

Prints {"made": {test: its end}}. A test that loads compiled code fails at the load; the error of numba-cuda names the code.
To be started in the folder of the tests.
"""

import contextlib
import hashlib
import json
import sys
import types

import pytest

# For each package, the tests that pytest runs. numba-cuda's tests call NVRTC and nvJitLink through cuda.core and
# cuda.bindings.
SUITES = {
    "cupy": ["tests/cupy_tests/core_tests/test_include.py", "tests/cupy_tests/cuda_tests/test_compiler.py",
             "tests/cupy_tests/cuda_tests/test_nvrtc.py", "-k", "not nvcc"],
    "numba": ["--import-mode=importlib", "--pyargs", "numba.cuda.tests.cudadrv.test_linker",
              "numba.cuda.tests.cudadrv.test_nvrtc", "numba.cuda.tests.cudapy.test_device_func",
              "numba.cuda.tests.cudapy.test_inspect", "-k", "(linking or DeclareDevice or Arch or Inspect) and not cuda_header"],
}


def cupy_with_a_device():
    from cupy.cuda import compiler, device

    device.Device = lambda: types.SimpleNamespace(compute_capability="90")
    for name in ("_get_arch", "_get_arch_for_options_for_nvrtc"):  # without their caches for each device
        setattr(compiler, name, getattr(compiler, name).__wrapped__)


def numba_with_a_device():
    import numba_device

    def load(code, *_):
        raise RuntimeError(f"no device for {hashlib.sha256(bytes(code.code)).hexdigest()}")

    numba_device.pretend()
    context = types.SimpleNamespace(device=numba_device.codegen.devices.get_context().device, create_module_image=load)
    numba_device.codegen.devices.get_context = lambda: context


class Tests:
    """A plug-in of pytest that orders the tests and records their outcomes."""

    def __init__(self, backwards):
        self.backwards, self.made = backwards, {}

    @pytest.fixture(scope="class")
    def initialize_from_pytest_config(self, request):
        """Sets the attribute that numba-cuda's conftest.py sets, which its wheel lacks."""
        request.cls._dump_failed_filechecks = False

    def pytest_collection_modifyitems(self, items):
        if self.backwards:
            items.reverse()

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            self.made[report.nodeid] = report.longrepr.reprcrash.message if report.failed else report.outcome


def main(package, *order):
    {"cupy": cupy_with_a_device, "numba": numba_with_a_device}[package]()
    tests = Tests(bool(order))
    with contextlib.redirect_stdout(sys.stderr):
        pytest.main(["-q", "-p", "no:cacheprovider", "--tb=line", *SUITES[package]], plugins=[tests])
    json.dump({"made": tests.made}, sys.stdout)


main(*sys.argv[1:])
