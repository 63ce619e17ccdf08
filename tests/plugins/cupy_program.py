# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""cupy_program.py NAME...: compiles programs of these names as CuPy does on a GPU of compute capability 9.0, and loads none.

Prints {"made": {name: digest, error or mapping}, "compiles": how often NVRTC of this process compiled, "status": ...}.
"""

import ctypes
import hashlib
import io
import json
import os
import pathlib
import sys

PROGRAMS = {
    "plain": {"source": 'extern "C" __global__ void f(int* p) { *p = 1; }'},
    "static": {"source": 'static __device__ int n; extern "C" __global__ void f(int* p) { *p = n++; }'},
    "template": {"source": "template <typename T> __global__ void f(T* p) { *p = 1; }",
                 "name_expressions": ("f<int>", "f<float>")},
    "complex": {"source": "#include <cupy/complex.cuh>\n"
                          'extern "C" __global__ void f(complex<float>* p) { *p = exp(*p); }'},
    "header": {"source": '#include "value.h"\nextern "C" __global__ void f(int* p) { *p = VALUE; }'},
    "ltoir": {"source": 'extern "C" __device__ int f(int x) { return x + 1; }', "to_ltoir": True},
    "warning": {"source": '#warning said by the program\nextern "C" __global__ void f(int* p) { *p = 2; }'},
    "wrong": {"source": '#include <cupy/nowhere.cuh>\nextern "C" __global__ void f() { nowhere(); }'},
    "undefined": {"source": 'extern "C" __global__ void f() { nowhere(); }'},
    "no_instance": {"source": "template <typename T> __global__ void f(T* p) {}", "name_expressions": ("g<int>",)},
}


def load_nvrtc(root):
    """Loads the library that CuPy then finds by its name."""
    [path] = {each.resolve() for each in pathlib.Path(root).resolve().glob("**/libnvrtc.so.1[0-9]")}
    ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


class Module:
    """The module of CuPy for a GPU that is not there."""

    def __init__(self):
        self.cubin, self.mapping = None, {}

    def load(self, cubin):
        self.cubin = bytes(cubin)

    def _set_mapping(self, mapping):
        self.mapping = dict(mapping or {})


class Counted:
    """The NVRTC of this process, with a count of its compiles."""

    def __init__(self, nvrtc):
        self._nvrtc, self.compiles = nvrtc, 0

    def __getattr__(self, name):
        return getattr(self._nvrtc, name)

    def compileProgram(self, *given):
        self.compiles += 1
        return self._nvrtc.compileProgram(*given)


def without_a_gpu():
    """Prepares CuPy's compiler for compute capability 9.0, and counts the compiles of its NVRTC."""
    from types import SimpleNamespace

    from cupy.cuda import compiler

    compiler._get_arch_for_options_for_nvrtc = lambda arch=None: ("-arch=sm_90", "cubin")
    compiler.function = SimpleNamespace(Module=Module)
    compiler.nvrtc = Counted(compiler.nvrtc)
    return compiler, compiler.nvrtc


def options():
    """Returns the options that CuPy gives to all programs, and a directory of the user."""
    from cupy._core.core import assemble_cupy_compiler_options

    here = os.environ.get("CUPY_PROGRAM_HEADERS")
    return assemble_cupy_compiler_options((f"-I{here}",) if here else ())


def compile_one(compiler, name):
    program = dict(PROGRAMS[name])
    log = io.StringIO()
    try:
        made = compiler._compile_module_with_cache(program.pop("source"), options(), arch="90", log_stream=log, **program)
    except compiler.CompileException as error:
        directory = os.path.dirname(error.name)
        return {"log": str(error).replace(directory, "DIRECTORY") if directory else str(error), "source": error.source,
                "name": os.path.basename(error.name), "options": error.options, "backend": error.backend}
    if isinstance(made, bytes):
        return {"ltoir": hashlib.sha256(made).hexdigest()}
    # NVRTC's code, unchanged. CuPy alone removes the last byte, which is a zero.
    code = made.cubin.rstrip(b"\0")
    return {"cubin": hashlib.sha256(code).hexdigest(), "mapping": made.mapping, "said": "said by" in log.getvalue()}


def main():
    load_nvrtc(os.environ["CUPY_PROGRAM_NVRTC"])
    compiler, nvrtc = without_a_gpu()
    import cccl_cache.cupy

    made = {name: compile_one(compiler, name) for name in sys.argv[1:]}
    json.dump({"made": made, "compiles": nvrtc.compiles, "status": cccl_cache.cupy.status()}, sys.stdout)


if __name__ == "__main__":
    main()
