# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program that compiles by NVRTC as CuPy and cuda.compute do, without knowledge of the cache. Prints the digest of
its results.

Usage: first_programs.py LIBRARY HEADERS WORKLOAD SEED BEGIN END OPTION...
HEADERS: the include directory of CuPy, which brings CCCL. The same workload, seed and number give the same program."""

import ctypes
import hashlib
import os
import pathlib
import random
import sys
import tempfile

CUPY = "".join(f"#include <cupy/{name}>\n" for name in ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h"))
BLOCKS = "#include <cub/block/block_load.cuh>\n#include <cub/block/block_reduce.cuh>\n"


def elementwise(rng, name):
    element = rng.choice(("float", "double", "int", "long long", "unsigned char", "complex<float>"))
    dimensions, factor = rng.randint(1, 3), rng.randint(2, 99)
    formula = rng.choice(("a * b + in_type({})", "a - b * in_type({})", "a == b ? in_type({}) : a")).format(factor)
    array = f"CArray<{element}, {dimensions}, true, {rng.choice(('true', 'false'))}>"
    return f"""{CUPY}
typedef {element} in_type;
extern "C" __global__ void {name}(const {array} left, const {array} right, {array} out, CIndexer<{dimensions}> index) {{
  CUPY_FOR(i, index.size()) {{
    index.set(i);
    const in_type a = left[index.get()];
    const in_type b = right[index.get()];
    out[index.get()] = {formula};
  }}
}}
"""


def reduction(rng, name):
    element, threads = rng.choice(("float", "double", "int", "long long")), rng.choice((128, 256, 512))
    joined = rng.choice(("a + b", "a * b", "min(a, b)", "max(a, b)"))
    return f"""{CUPY}
__device__ {element} join({element} a, {element} b) {{ return {joined}; }}
extern "C" __global__ void {name}(const CArray<{element}, 2, true, true> in, CArray<{element}, 1, true, true> out, CIndexer<2> index) {{
  __shared__ {element} kept[{threads}];
  {element} own = {rng.randint(0, 99)};
  for (ptrdiff_t i = threadIdx.x; i < index.size(); i += {threads}) {{
    index.set(i);
    own = join(own, in[index.get()]);
  }}
  kept[threadIdx.x] = own;
  for (unsigned left = {threads} / 2; left > 0; left /= 2) {{
    __syncthreads();
    if (threadIdx.x < left) kept[threadIdx.x] = join(kept[threadIdx.x], kept[threadIdx.x + left]);
  }}
  if (threadIdx.x == 0) out[ptrdiff_t(blockIdx.x)] = kept[0];
}}
"""


def cub(rng, name):
    element, threads, each = rng.choice(("float", "double", "int", "long long")), rng.choice((128, 256)), rng.choice((1, 2, 4))
    return f"""{BLOCKS}
extern "C" __global__ void {name}({element}* in, {element}* out) {{
  using Load = cub::BlockLoad<{element}, {threads}, {each}>;
  using Reduce = cub::BlockReduce<{element}, {threads}>;
  __shared__ typename Load::TempStorage loading;
  __shared__ typename Reduce::TempStorage reducing;
  {element} own[{each}];
  Load(loading).Load(in + blockIdx.x * {threads * each}, own);
  const {element} sum = Reduce(reducing).Sum(own) + {rng.randint(0, 99)};
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}}
"""


def device_operator(rng, name):
    element, threads = rng.choice(("float", "double", "int", "long long")), rng.choice((128, 256))
    return f"""{BLOCKS}
extern "C" __device__ {element} {name}_operator({element} a, {element} b);
struct Operator {{
  __device__ {element} operator()({element} a, {element} b) const {{ return {name}_operator(a, b); }}
}};
extern "C" __global__ void {name}({element}* data) {{
  using Reduce = cub::BlockReduce<{element}, {threads}>;
  __shared__ typename Reduce::TempStorage reducing;
  const {element} result = Reduce(reducing).Reduce(data[threadIdx.x], Operator());
  if (threadIdx.x == 0) *data = result;
}}
"""


def tiny(rng, name):
    return f'extern "C" __global__ void {name}(int* p) {{ *p += {rng.randint(1, 999999)}; }}\n'


def program(workload, seed, number):
    """Returns a program. One in ten element-wise programs is a reduction. In a mix, one in twenty uses CUB."""
    rng, name = random.Random(f"{workload} {seed} {number}"), f"k_{seed}_{number}"
    if workload in ("element-wise", "mix"):
        make = cub if workload == "mix" and number % 20 == 13 else reduction if number % 10 == 7 else elementwise
    else:
        make = {"CUB": cub, "LTO-IR": device_operator, "tiny": tiny}[workload]
    return make(rng, name)


def options_of(workload, headers, options):
    if workload == "tiny":
        return [option for option in options if not option.startswith("-I")]
    bundled = [f"-I{headers}/cupy/_cccl/{part}" for part in ("cub", "thrust", "libcudacxx")]
    return [*bundled, "--std=c++17", f"-I{headers}", *options, *(["-dlto", "-rdc=true"] if workload == "LTO-IR" else ["-ftz=true"])]


def compile_by(nvrtc, source, name, options, kind):
    def call(function, *arguments):
        error = getattr(nvrtc, f"nvrtc{function}")(*arguments)
        if error != 0:
            raise RuntimeError(f"nvrtc{function} returned {error}")

    def text(what):
        size = ctypes.c_size_t()
        call(f"Get{what}Size", made, ctypes.byref(size))
        output = ctypes.create_string_buffer(size.value)
        call(f"Get{what}", made, output)
        return output.raw

    made = ctypes.c_void_p()
    call("CreateProgram", ctypes.byref(made), source.encode(), name.encode(), 0, None, None)
    if nvrtc.nvrtcCompileProgram(made, len(options), (ctypes.c_char_p * len(options))(*map(str.encode, options))) != 0:
        raise RuntimeError(f"{text('ProgramLog').decode(errors='replace')}\n{source}")
    output = text(kind)
    call("DestroyProgram", ctypes.byref(made))
    return output


def main(library, headers, workload, seed, begin, end, *options):
    nvrtc, digest = ctypes.CDLL(library), hashlib.sha256()
    options = options_of(workload, headers, options)
    for number in range(int(begin), int(end)):
        source = program(workload, seed, number)
        # Like CuPy, writes each program to a directory with a random name.
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, hashlib.sha1(source.encode()).hexdigest() + ".cu")
            pathlib.Path(path).write_text(source)
            digest.update(compile_by(nvrtc, source, path, options, "LTOIR" if workload == "LTO-IR" else "CUBIN"))
    print(digest.hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
