# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of kernels that differ in one thing: functions that make both kernels, with the types of their arguments."""

import collections
import enum
import math
import types

import numpy
from numba import cuda, float32, float64, from_dtype, int32, typeof
from numba.cuda.cudadrv.linkable_code import CUSource

ONE = (float32[::1],)
SHARED = types.SimpleNamespace(factor=2.0)


def kernel(function, **options):
    return cuda.jit(function, cache=True, **options)  # in two calls, numba would lose the option lto


def written(text, **names):
    """Returns the kernel k of a text."""
    scope = {"cuda": cuda, "math": math, "float32": float32, **names}
    exec(text, scope)
    return kernel(scope["k"])


def assigning(expression, **names):
    return written(f"def k(a): a[0] = {expression}", **names), ONE


def with_callee(body, **names):
    scope = dict(names)
    exec(f"def callee(x): return {body}", scope)
    return assigning("f(a[1])", f=cuda.jit(scope["callee"]))


def with_callee_of_callee(body):
    scope = {}
    exec(f"def inner(x): return {body}", scope)
    scope["f"] = cuda.jit(scope["inner"])
    exec("def left(x): return f(x) + 1\ndef right(x): return f(x) - 1", scope)
    return assigning("g(a[1]) * h(a[2])", g=cuda.jit(scope["left"]), h=cuda.jit(scope["right"]))


def with_default(value):
    def callee(x, y=value):
        return x * y

    return assigning("f(a[1])", f=cuda.jit(callee))


def capturing(value):
    def k(a):
        a[0] = value

    return kernel(k), ONE


def callee_capturing(value):
    @cuda.jit
    def callee(x):
        return x + value

    return assigning("f(a[1])", f=callee)


def optioned(**options):
    def k(a):
        a[0] = a[1] / a[2] + math.sin(a[3])

    return kernel(k, **options), ONE


def callee_optioned(**options):
    def callee(x, y):
        return x / y

    return assigning("f(a[1], a[2])", f=cuda.jit(**options)(callee))


def linking(factor, **options):
    code = f'extern "C" __device__ int scaled(float* out, float x) {{ *out = x * {factor}; return 0; }}'
    scaled = cuda.declare_device("scaled", "float32(float32)")

    def k(a):
        a[0] = scaled(a[1])

    return kernel(k, link=[CUSource(code, name="scaled.cu")], **options), ONE


def declaring(factor):
    code = f'extern "C" __device__ int declared(float* out, float x) {{ *out = x * {factor}; return 0; }}'
    declared = cuda.declare_device("declared", "float32(float32)", link=CUSource(code, name="declared.cu"))

    def k(a):
        a[0] = declared(a[1])

    return kernel(k), ONE


def passing(factor):
    def callee(x):
        return x * factor

    def apply(f, x):
        return f(x)

    return assigning("apply(f, a[1])", apply=cuda.jit(apply), f=cuda.jit(callee))


def frozen(values):
    table = numpy.array(values, dtype=numpy.float32)

    def k(a):
        a[0] = cuda.const.array_like(table)[cuda.threadIdx.x]

    return kernel(k), ONE


def sharing(count):
    def k(a):
        place = cuda.shared.array(count, float32)
        place[cuda.threadIdx.x] = a[cuda.threadIdx.x]
        cuda.syncthreads()
        a[cuda.threadIdx.x] = place[count - 1 - cuda.threadIdx.x]

    return kernel(k), ONE


def typed(kind):
    def k(a):
        a[0] = a[1]

    return kernel(k), (kind,)


def fields(*names):
    def k(p, a):
        a[0] = p.x

    point = collections.namedtuple("Point", names)
    return kernel(k), (typeof(point(numpy.float32(1), numpy.float32(2))), float32[::1])


def record(**layout):
    kind = numpy.dtype({"names": list(layout), "formats": [each for each, _ in layout.values()],
                        "offsets": [each for _, each in layout.values()], "itemsize": 16})

    def k(a):
        a[0].x = a[1].y

    return kernel(k), (from_dtype(kind)[::1],)


def colored(**members):
    color = enum.IntEnum("Color", members)

    def k(a):
        a[0] = color.RED

    return kernel(k), (int32[::1],)


PAIRS = {
    "a constant": (lambda: assigning("2"), lambda: assigning("3")),
    "the type of a constant": (lambda: assigning("a[1] // 2"), lambda: assigning("a[1] // 2.5")),
    "the sign of a zero": (lambda: assigning("0.0"), lambda: assigning("-0.0")),
    "an operator": (lambda: assigning("a[1] + a[2]"), lambda: assigning("a[1] - a[2]")),
    "a global": (lambda: assigning("G", G=2), lambda: assigning("G", G=3)),
    "a global's type": (lambda: assigning("a[1] * G", G=2), lambda: assigning("a[1] * G", G=numpy.float64(2))),
    "a global of a callee": (lambda: with_callee("x * G", G=2), lambda: with_callee("x * G", G=3)),
    "a callee": (lambda: with_callee("x + 1"), lambda: with_callee("x + 2")),
    "what two callees call": (lambda: with_callee_of_callee("x + 1"), lambda: with_callee_of_callee("x + 2")),
    "a default": (lambda: with_default(2.0), lambda: with_default(3.0)),
    "a captured value": (lambda: capturing(7), lambda: capturing(9)),
    "what a callee captured": (lambda: callee_capturing(7), lambda: callee_capturing(9)),
    "a function of a module": (lambda: assigning("math.sin(a[1])"), lambda: assigning("math.cos(a[1])")),
    "what a name stands for": (lambda: assigning("f(a[1])", f=math.sin), lambda: assigning("f(a[1])", f=math.cos)),
    "fastmath": (lambda: optioned(), lambda: optioned(fastmath=True)),
    "fastmath of a callee": (lambda: callee_optioned(), lambda: callee_optioned(fastmath=True)),
    "optimisation": (lambda: optioned(), lambda: optioned(opt=False)),
    "the code that is linked": (lambda: linking("2.0f"), lambda: linking("3.0f")),
    "the code of a declared function": (lambda: declaring("2.0f"), lambda: declaring("3.0f")),
    "a function as an argument": (lambda: passing(2.0), lambda: passing(3.0)),
    "a constant array": (lambda: frozen([1, 2]), lambda: frozen([1, 3])),
    "the size of a shared array": (lambda: sharing(32), lambda: sharing(64)),
    "an array's element type": (lambda: typed(float32[::1]), lambda: typed(float64[::1])),
    "an array's layout": (lambda: typed(float32[::1]), lambda: typed(float32[:])),
    "the fields of a namedtuple": (lambda: fields("x", "y"), lambda: fields("y", "x")),
    "the offset of a field": (lambda: record(x=("f4", 0), y=("f4", 4)), lambda: record(x=("f4", 0), y=("f4", 8))),
    "the value of an enumeration": (lambda: colored(RED=1), lambda: colored(RED=2)),
}
# Pairs whose code may be equal, but whose keys must differ.
KEYS_ALONE = {
    "lto": (lambda: optioned(), lambda: optioned(lto=False)),
    "a number of registers": (lambda: optioned(), lambda: optioned(max_registers=24)),
    "launch bounds": (lambda: optioned(), lambda: optioned(launch_bounds=128)),
    "a carveout of shared memory": (lambda: optioned(), lambda: optioned(shared_memory_carveout=50)),
}
