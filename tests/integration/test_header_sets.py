# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Programs under `run` with large inline headers, which are sent once and then named by their digest."""

import os
import pathlib
import sys

import pytest
from conftest import PLACES
from test_run import alone, knowing, library_of, served, under_run

PACKAGES = pathlib.Path(__file__).parents[2] / ".toolchains"

# Compiles sources that include the first of some headers, which have 72 MiB together. Prints the PTX.
LARGE_HEADERS = """
import ctypes, sys
nvrtc = ctypes.CDLL(sys.argv[1])
filler = b"// " + b"x" * ((2 << 20) - 4) + b"\\n"
headers = [b"#define VALUE " + sys.argv[2].encode() + b"\\n", *(b"// %d\\n" % i + filler for i in range(36))]
names = [b"header%d.h" % i for i in range(len(headers))]
for source in sys.argv[3:]:
    text = b'#include "header0.h"\\nextern "C" __global__ void k(int* p) { *p = VALUE + %s; }' % source.encode()
    program = ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"k.cu", len(headers), (ctypes.c_char_p * len(headers))(*headers),
                                    (ctypes.c_char_p * len(headers))(*names))
    assert made == 0
    options = (ctypes.c_char_p * 1)(b"-arch=sm_90")
    assert nvrtc.nvrtcCompileProgram(program, 1, options) == 0
    size = ctypes.c_size_t()
    assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    ptx = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetPTX(program, ptx) == 0
    print(ptx.value.decode())
"""


@pytest.fixture
def large(directory):
    script = directory / "large.py"
    script.write_text(LARGE_HEADERS)
    return lambda *arguments: (sys.executable, script, library_of(PLACES.cuda13), *arguments)


def test_programs_with_more_headers_than_a_request_may_hold_are_served(make_daemon, large):
    daemon = knowing(make_daemon(roots=(PLACES.cuda13,)).start())
    words = large("7", "1", "2")
    expected = alone(*words)
    output, report = under_run(daemon.socket, *words)
    assert (output, served(report)) == (expected, (0, 2))
    output, report = under_run(daemon.socket, *words)
    assert (output, served(report)) == (expected, (2, 0))
    output, report = under_run(daemon.socket, *large("8", "1"))
    assert (output, served(report)) == (alone(*large("8", "1")), (0, 1))


def test_a_header_set_above_the_limit_goes_to_the_library_and_the_report_says_why(make_daemon, large):
    daemon = knowing(make_daemon("--header-set-limit", "65MiB", roots=(PLACES.cuda13,)).start())
    words = large("7", "1")
    output, report = under_run(daemon.socket, *words)
    assert output == alone(*words)
    assert served({**report, "forwarded": {}}) == (0, 0)
    assert "header_set_limit" in str(report)


def test_a_hit_needs_no_headers_after_the_daemon_dropped_them_but_a_restarted_daemon_asks_for_them(make_daemon, large):
    daemon = knowing(make_daemon(roots=(PLACES.cuda13,)).start())
    words = large("7", "1")
    expected, _ = under_run(daemon.socket, *words)
    daemon.stop()
    knowing(daemon.start())
    output, report = under_run(daemon.socket, *words)
    assert (output, served(report)) == (expected, (1, 0))


# The code generation of nvmath-python's device FFT, for two sizes.
FFT = """
import ctypes, hashlib, pathlib, sys
[library] = pathlib.Path(sys.argv[1]).glob("nvidia/cu13/lib/libmathdx.so.0")
ctypes.CDLL(str(library))  # nvmath looks for it in site-packages alone
from nvmath.bindings import mathdx
kinds = mathdx.CufftdxOperatorType
for size in (4, 8):
    fft = mathdx.cufftdx_create_descriptor()
    for kind, value in ((kinds.API, mathdx.CufftdxApi.LMEM), (kinds.SM, 900), (kinds.SIZE, size),
                        (kinds.PRECISION, mathdx.CommondxPrecision.F32), (kinds.TYPE, mathdx.CufftdxType.C2C),
                        (kinds.DIRECTION, mathdx.CufftdxDirection.FORWARD), (kinds.EXECUTION, mathdx.CommondxExecution.THREAD)):
        mathdx.cufftdx_set_operator_int64(fft, kind, value)
    code = mathdx.commondx_create_code()
    mathdx.commondx_set_code_option_int64(code, mathdx.CommondxOption.TARGET_SM, 900)
    mathdx.commondx_set_code_option_str(code, mathdx.CommondxOption.EXTRA_NVRTC_ARGS, "-gen-opt-lto")
    mathdx.cufftdx_finalize_code(code, fft)
    made = bytearray(mathdx.commondx_get_code_ltoir_size(code))
    view = (ctypes.c_char * len(made)).from_buffer(made)
    mathdx.commondx_get_code_ltoir(code, len(made), ctypes.addressof(view))
    print(size, len(made), hashlib.sha256(made).hexdigest())
"""


def test_the_device_fft_of_nvmath_is_served(make_daemon, directory):
    daemon = knowing(make_daemon(roots=(PLACES.cuda13,)).start())
    script = directory / "fft.py"
    script.write_text(FFT)
    libraries = [PLACES.fake_driver, library_of(PLACES.cuda13).parent]
    environment = {"PYTHONPATH": f"{PACKAGES / 'numba'}:{PACKAGES / 'cuda-python'}", "HOME": str(directory),
                   "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
                   # Without a seed, the daemon's names of static objects differ from the library's.
                   "NVRTCWIZ": "3153394", "NVRTC_APPEND_FLAGS": "-frandom-seed=same"}
    words = (sys.executable, script, PACKAGES / "numba")
    expected = alone(*words, **environment)
    output, report = under_run(daemon.socket, *words, **environment)
    assert (output, served(report)) == (expected, (0, 2))
    output, report = under_run(daemon.socket, *words, **environment)
    assert (output, served(report)) == (expected, (2, 0))
