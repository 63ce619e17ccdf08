# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cuda.bindings and the plug-in in one process: the compiles of one are links of the other, with the same bytes."""

import cccl_cache
import cccl_cache.core
import pytest
from cuda.bindings import nvjitlink, nvrtc
from cuda.core import Linker, LinkerOptions, ObjectCode, ProgramOptions

CALLER = 'extern "C" __device__ int g(int);\nextern "C" __global__ void f(int* p) { *p = g(*p); }\n'
CALLEE = 'extern "C" __device__ int g(int x) { return 2 * x; }\n'


@pytest.fixture(scope="module")
def client(lasting):
    return cccl_cache.Client(lasting.socket, fallback="error")


def by_the_plug_in(client, source):
    chosen = ProgramOptions(arch="sm_90", name="part", link_time_optimization=True, relocatable_device_code=True)
    return bytes(cccl_cache.core.compile(source, "c++", "ltoir", options=chosen, client=client).code)


def by_the_bindings(_, source):
    """Compiles with NVRTC in this process."""
    error, program = nvrtc.nvrtcCreateProgram(source.encode(), b"part", 0, [], [])
    assert error == nvrtc.nvrtcResult.NVRTC_SUCCESS
    options = [b"-arch=sm_90", b"-dlto", b"-rdc=true"]
    assert nvrtc.nvrtcCompileProgram(program, len(options), options)[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS
    _, size = nvrtc.nvrtcGetLTOIRSize(program)
    ltoir = bytearray(size)
    assert nvrtc.nvrtcGetLTOIR(program, ltoir)[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS
    nvrtc.nvrtcDestroyProgram(program)
    return bytes(ltoir)


def linked_by_the_bindings(parts):
    """Links with nvJitLink in this process."""
    handle = nvjitlink.create(2, ["-arch=sm_90", "-lto"])
    for name, contents in parts:
        nvjitlink.add_data(handle, nvjitlink.InputType.LTOIR, contents, len(contents), name)
    nvjitlink.complete(handle)
    cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
    nvjitlink.get_linked_cubin(handle, cubin)
    nvjitlink.destroy(handle)
    return bytes(cubin)


@pytest.mark.parametrize("caller", [by_the_plug_in, by_the_bindings])
@pytest.mark.parametrize("callee", [by_the_plug_in, by_the_bindings])
def test_code_that_either_compiled_is_linked_by_either(client, caller, callee):
    parts = [("caller", caller(client, CALLER)), ("callee", callee(client, CALLEE))]
    made = client.link([(name, contents, "ltoir") for name, contents in parts], arch="sm_90", options=["-lto"])
    assert linked_by_the_bindings(parts) == made.cubin
    again = client.link([(name, contents, "ltoir") for name, contents in parts], arch="sm_90", options=["-lto"])
    assert (made.outcome, again.outcome) == ("built", "hit") and again.cubin == made.cubin


def test_cuda_core_links_the_plug_ins_results(client):
    parts = [ObjectCode.from_ltoir(by_the_plug_in(client, source), name="part") for source in (CALLER, CALLEE)]
    linked = Linker(*parts, options=LinkerOptions(arch="sm_90", link_time_optimization=True)).link("cubin")
    assert bytes(linked.code).startswith(b"\x7fELF")
