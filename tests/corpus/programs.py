# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Programs like those that CuPy, jitify, OptiX applications and users of CCCL give to NVRTC, made from a random
generator: the same seed makes the same programs."""

import dataclasses
import itertools


@dataclasses.dataclass
class Program:
    name: str  # base name of the source
    source: str
    files: dict  # relative path -> text, in a tree of its own
    directories: tuple = ()  # of that tree, searched in this order
    options: tuple = ()
    arch: str = "sm_90"
    inline: dict = dataclasses.field(default_factory=dict)  # headers that come with the source
    expressions: tuple = ()

    @property
    def intermediate(self):
        """Returns whether the output is LTO-IR or OptiX-IR, which contain names. Code that is made of them is compared."""
        return "-dlto" in self.options or "--optix-ir" in self.options

    @property
    def begins_with_includes(self):
        """Returns whether the program may use precompiled headers (docs/internals/decisions/0012)."""
        return self.source.startswith("#include") and not self.intermediate and "-G" not in self.options


TYPES = ("float", "double", "int", "unsigned long long", "signed char", "short")
OPTIONS = ((), ("--use_fast_math",), ("-fmad=false",), ("-lineinfo",), ("-G",), ("--maxrregcount=24",), ("--restrict",),
           ("-rdc=true",), ("-dlto", "-rdc=true"), ("--device-as-default-execution-space",), ("-ewp",), ("--std=c++20",),
           ("-DUNUSED=1", "-UUNUSED"), ("--extra-device-vectorization",))


def expression(rng, names, depth=2):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([*names, str(rng.randint(1, 99))])
    left, right = (expression(rng, names, depth - 1) for _ in range(2))
    return f"({left} {rng.choice('+-*')} {right})"


def cupy(rng, number):
    """Returns an elementwise kernel or a reduction over headers below one include directory, as C++ in a directory
    with a random name."""
    t = rng.choice(TYPES)
    files = {
        "include/own/complex.h": "#pragma once\n#include \"own/complex/arithmetic.h\"\n",
        "include/own/complex/arithmetic.h":
            "#pragma once\nnamespace own {\ntemplate <typename T> struct complex { T re, im; };\n"
            "template <typename T> __device__ complex<T> operator*(complex<T> a, complex<T> b) {\n"
            "  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};\n}\n}  // namespace own\n",
        "include/own/carray.h":
            "#pragma once\n#include <own/complex.h>\n#define OWN_FOR(i, n) \\\n"
            "  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); "
            "i += gridDim.x * (long long)blockDim.x)\n"
            "template <typename T, int ndim> class CArray {\n  T* data_; long long size_; long long shape_[ndim];\n"
            " public:\n  __device__ long long size() const { return size_; }\n"
            "  __device__ T& operator[](long long i) { return data_[i]; }\n};\n",
    }
    if rng.random() < 0.4:
        files["include/own/carray.h"] += "#ifdef OWN_CHECKS\n#define OWN_ASSERT(x) assert(x)\n#else\n#define OWN_ASSERT(x)\n#endif\n"
    value = expression(rng, ("a[i]", "b[i]", "c"))
    if rng.random() < 0.5:
        body = f"  OWN_FOR(i, a.size()) {{ a[i] = {value}; }}\n"
    else:
        body = (f"  __shared__ T sums[256];\n  T sum = 0;\n  OWN_FOR(i, a.size()) sum += {value};\n"
                "  sums[threadIdx.x] = sum;\n  __syncthreads();\n"
                "  for (int s = 128; s > 0; s >>= 1) { if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s]; "
                "__syncthreads(); }\n  if (threadIdx.x == 0) b[blockIdx.x] = sums[0];\n")
    source = ("#include <own/carray.h>\n" + ("#include <cuda_fp16.h>\n" if rng.random() < 0.3 else "") +
              f"typedef {t} T;\nextern \"C\" __global__ void kernel_{number}(CArray<T, {rng.randint(1, 4)}> a, "
              f"CArray<T, 1> b, T c) {{\n{body}}}\n")
    return Program(f"{rng.getrandbits(64):016x}.cubin.cu", source, files, ("include",),
                   ("--std=c++17", f"-DOWN_VERSION={rng.randint(1, 3)}", *rng.choice(OPTIONS)), arch=rng.choice(("sm_80", "sm_90")))


def jitify(rng, number):
    """Returns templates that name expressions instantiate, with headers that come with the source, and with warnings
    in the log."""
    types = rng.sample(TYPES, 2)
    inline = {
        "preinclude.h": "#pragma once\n#define JITIFY_LIKE 1\nstruct Shape { int rows, cols; };\n",
        "detail/op.h": f"#pragma once\ntemplate <typename T> __device__ T op(T x, T y) {{ return {expression(rng, ('x', 'y'))}; }}\n",
    }
    unused = "  int never_used;\n" if rng.random() < 0.6 else ""
    warning = '#warning "made from a template"\n' if rng.random() < 0.3 else ""
    source = (warning + f'#include "preinclude.h"  // {number}\n#include "detail/op.h"\n#include "tree/limits.h"\n'
              "namespace detail {\nstatic __device__ int counter;\n}\n"
              "template <typename T, int N> __global__ void scale(T* p, Shape shape) {\n" + unused +
              "  for (int i = 0; i < N; ++i) p[i * shape.cols] = op(p[i], T(LIMIT));\n  detail::counter += N;\n}\n")
    files = {"include/tree/limits.h": f"#pragma once\n#define LIMIT {rng.randint(1, 50)}\n"}
    if rng.random() < 0.15:
        source += f"int broken_{number} = ;\n"
    expressions = tuple(f"scale<{t}, {rng.randint(1, 8)}>" for t in types) + ("&detail::counter",)
    return Program("program", source, files, ("include",), ("--std=c++17", *rng.choice(OPTIONS)), inline=inline,
                   expressions=expressions)


def optix(rng, number):
    """Returns a program like a ray tracer's: parameters in constant memory, vector headers beside the source, PTX or
    an IR."""
    files = {
        "vec_math.h": "#pragma once\n" + "".join(
            f"__device__ inline float{n} operator{sign}(float{n} a, float{n} b) {{ return make_float{n}("
            + ", ".join(f"a.{c} {sign} b.{c}" for c in "xyzw"[:n]) + "); }\n"
            for n, sign in itertools.product((2, 3, 4), "+-*")),
        "params.h": "#pragma once\n#include \"vec_math.h\"\nstruct Params { float4* image; unsigned width, height; float3 eye; };\n",
    }
    steps = "\n".join(f"  c = c {rng.choice('+-*')} make_float3({rng.randint(1, 9)}.{rng.randint(0, 9)}f, x, y);"
                      for _ in range(rng.randint(1, 5)))
    where = '  if (params.width == 0) printf("%s", __FILE__);\n' if rng.random() < 0.3 else ""
    source = ('#include "params.h"\nextern "C" __constant__ Params params;\n'
              f'extern "C" __global__ void __raygen__rg_{number}() {{\n{where}'
              "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n  float x = i, y = i * 2;\n"
              f"  float3 c = params.eye;\n{steps}\n  params.image[i] = make_float4(c.x, c.y, c.z, 1.0f);\n}}\n")
    options, arch = rng.choice(((("-rdc=true",), "compute_80"), (("--optix-ir",), "compute_80"), ((), "sm_90"),
                                (("-lineinfo",), "compute_90"), (("--use_fast_math",), "compute_80")))
    return Program(f"rg_{number}.cu", source, files, (), ("--std=c++17", "--relocatable-device-code=true", *options), arch=arch)


def cccl(rng, number):
    """Returns a block-wide algorithm of the toolchain's CUB, with an operator from a header of its own."""
    t = rng.choice(("int", "float", "double"))
    algorithm = rng.choice(("Reduce", "Scan"))
    use = {"Reduce": "T r = Block(storage).Reduce(x, Op{});\n  if (threadIdx.x == 0) out[blockIdx.x] = r;\n",
           "Scan": "T r;\n  Block(storage).InclusiveScan(x, r, Op{});\n  out[blockIdx.x * N + threadIdx.x] = r;\n"}[algorithm]
    span = "#include <cuda/std/span>\n" if rng.random() < 0.5 else ""
    source = (f"#include <cub/block/block_{algorithm.lower()}.cuh>\n{span}#include \"operator.h\"\n"
              f"constexpr int N = {rng.choice((32, 64, 128))};\n"
              "template <typename T> __global__ void kernel(const T* in, T* out) {\n"
              f"  using Block = cub::Block{algorithm}<T, N>;\n  __shared__ typename Block::TempStorage storage;\n"
              "  T x = in[blockIdx.x * N + threadIdx.x];\n  " + use + "}\n" +
              ("__device__ int first(cuda::std::span<int> s, int i) { return s[i]; }\n" if span else ""))
    files = {"include/operator.h": "#pragma once\nstruct Op { template <typename T> __device__ T operator()(T a, T b) const { "
                                   f"return {expression(rng, ('a', 'b'))}; }} }};\n"}
    options = rng.choice(((), ("-dlto", "-rdc=true"), ("-lineinfo",), ("-DCCCL_ENABLE_ASSERTIONS",), ("--use_fast_math",)))
    return Program(f"block_{number}.cu", source, files, ("include",), ("--std=c++17", *options), expressions=(f"kernel<{t}>",))


FAMILIES = {"cupy": cupy, "jitify": jitify, "optix": optix, "cccl": cccl}
