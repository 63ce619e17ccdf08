# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cuda.core: two compiles to LTO-IR, their link, and a compile to a cubin"""

from cuda.core import Linker, LinkerOptions, Program, ProgramOptions

PACKAGES = ("cuda-core[cu13]",)
REACHES = "NVRTC and nvJitLink, by `dlopen`"


def made(arch, number):
    """Returns the cubins of a kernel that adds a number, linked and whole."""
    lto = ProgramOptions(arch=arch, relocatable_device_code=True, link_time_optimization=True)
    sources = [f'extern "C" __device__ int inner(int x) {{ return x + {number}; }}',
               'extern "C" __device__ int inner(int); extern "C" __global__ void k(int* p) { *p = inner(*p); }']
    parts = [Program(source, "c++", lto).compile("ltoir") for source in sources]
    linked = Linker(*parts, options=LinkerOptions(arch=arch, link_time_optimization=True)).link("cubin")
    whole = f'extern "C" __global__ void k(int* p) {{ *p = *p + {number}; }}'
    return [linked, Program(whole, "c++", ProgramOptions(arch=arch)).compile("cubin")]


def on_gpu(number=1):
    import numpy
    from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, launch

    device = Device()
    device.set_current()
    codes = made("sm_" + "".join(map(str, device.compute_capability)), number)
    memory = LegacyPinnedMemoryResource().allocate(4)
    value = numpy.from_dlpack(memory).view(numpy.int32)
    stream = device.create_stream()
    for code in codes:
        value[0] = 1
        launch(stream, LaunchConfig(grid=1, block=1), code.get_kernel("k"), memory)
        stream.sync()
        assert value[0] == 1 + number
    return [code.code for code in codes]


def without_gpu(number=1):
    return [code.code for code in made("sm_90", number)]


if __name__ == "__main__":
    print(on_gpu())
