# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""numba-cuda and numba-cuda-mlir behind one interface, on a machine with a pretended device of capability 9.0."""

import functools
import types
from importlib import metadata

import _numba_cuda_redirector  # noqa: F401  numba-cuda's numba.cuda: a .pth file does so where it is installed
from cuda.core import Program, ProgramOptions

CAPABILITY = (9, 0)


def compiled(source, kind="ltoir"):
    """Returns device code that NVRTC compiles from CUDA C++: LTO-IR, PTX or a cubin, each for a link."""
    options = ProgramOptions(arch="sm_90", relocatable_device_code=True, link_time_optimization=kind == "ltoir")
    if kind != "ptx":
        return bytes(Program(source, "c++", options).compile(kind).code)
    from cuda.bindings import nvrtc

    program = nvrtc.nvrtcCreateProgram(source.encode(), b"", 0, [], [])[1]
    assert nvrtc.nvrtcCompileProgram(program, 2, [b"-arch=sm_90", b"-rdc=true"])[0] == 0
    text = b" " * nvrtc.nvrtcGetPTXSize(program)[1]
    nvrtc.nvrtcGetPTX(program, text)
    return text


class NumbaCuda:
    """Kernels of numba-cuda."""

    plugin = "cccl_cache.numba"

    def __init__(self):
        from numba import cuda
        from numba.cuda import codegen, compiler, dispatcher, extending
        from numba.cuda.cudadrv import linkable_code

        device = types.SimpleNamespace(compute_capability=CAPABILITY, id=0)
        dispatcher.get_current_device = compiler.get_current_device = lambda: device
        codegen.devices = types.SimpleNamespace(get_context=lambda: types.SimpleNamespace(device=device))
        self.cuda, self.types, self.linkable = cuda, cuda.types, linkable_code
        self.overload = extending.overload
        self.release = f"numba-cuda {metadata.version('numba-cuda')}"
        self._kernel = dispatcher._Kernel

    def cubin(self, function, *argument_types, lto=True):
        """Returns the code of a kernel."""
        function = getattr(function, "py_func", function)
        return bytes(self._kernel(function, argument_types, lto=lto)._codelibrary.get_cubin().code)

    def whole(self, function, *argument_types):
        """Returns a kernel with cache=True."""
        self._kernel.bind = lambda kernel: kernel._codelibrary.get_cubin()
        kernel = self.cuda.jit(cache=True)(function).compile(argument_types)
        return bytes(kernel._codelibrary.get_cubin().code)

    def hooks(self):
        from cccl_cache.numba._links import LinkHooks

        return LinkHooks


class NumbaCudaMlir:
    """Kernels of numba-cuda-mlir."""

    plugin = "cccl_cache.numba_mlir"

    def __init__(self):
        from numba_cuda_mlir import cuda, extending, tools
        from numba_cuda_mlir.numba_cuda import types as numba_types
        from numba_cuda_mlir.numba_cuda.cudadrv import linkable_code

        tools._cached_cc = CAPABILITY
        self.cuda, self.types, self.linkable = cuda, numba_types, linkable_code
        self.overload = functools.partial(extending.overload, typing_registry=extending.typing_registry)
        self.release = f"numba-cuda-mlir {metadata.version('numba-cuda-mlir')}"

    def cubin(self, function, *argument_types, lto=None):
        """Returns the code of a kernel."""
        options = {} if lto is None else {"lto": lto}
        kernel = self.cuda.jit(**options)(getattr(function, "py_func", function))
        return kernel.compile(self.types.void(*argument_types)).metadata["cubin"]

    def whole(self, function, *argument_types):
        """Returns a kernel with cache=True."""
        return self.cuda.jit(cache=True)(function).compile(self.types.void(*argument_types)).metadata["cubin"]

    def hooks(self):
        from cccl_cache.numba_mlir._links import LinkHooks

        return LinkHooks


BACKENDS = {"numba-cuda": NumbaCuda, "numba-cuda-mlir": NumbaCudaMlir}
