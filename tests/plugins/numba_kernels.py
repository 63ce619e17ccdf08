# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that contain everything that numba names per process. The functions have names, and make a dispatcher and its
types."""

import enum
import math

import numpy
from numba import cuda, float32, float64, from_dtype, int32
from numba.cuda import types
from numba.cuda.cudadrv.linkable_code import CUSource

FACTOR = 3
TABLE = numpy.arange(5, dtype=numpy.float32)
POINT = numpy.dtype([("x", numpy.float32), ("y", numpy.int32)], align=True)
SCALE = CUSource('extern "C" __device__ int scale(float* out, float x) { *out = x * 5.0f; return 0; }', name="scale.cu")


class Color(enum.IntEnum):
    RED = 1
    BLUE = 4


@cuda.jit
def half(x):
    return x * 0.5


@cuda.jit
def left(x):
    return half(x) + 1.0


@cuda.jit
def right(x):
    return half(x) - 1.0


@cuda.jit
def square(x):
    return x * x


@cuda.jit
def apply(function, x):
    return function(x)


def plain(**options):
    @cuda.jit(**options)
    def plain(a):
        a[cuda.grid(1)] = FACTOR

    return plain, (float32[::1],)


def diamond(**options):
    @cuda.jit(**options)
    def diamond(a):
        i = cuda.grid(1)
        a[i] = left(a[i]) * right(a[i])

    return diamond, (float32[::1],)


def closure(value, **options):
    @cuda.jit
    def captured(x):
        return x + value

    @cuda.jit(**options)
    def closure(a):
        a[0] = captured(a[0])

    return closure, (float32[::1],)


def seven(**options):
    return closure(7, **options)


def nine(**options):
    return closure(9, **options)


def side_by_side(**options):
    def adder(value):
        @cuda.jit
        def add(x):
            return x + value

        return add

    seven, nine, again = adder(7), adder(9), adder(9)

    @cuda.jit(**options)
    def side_by_side(a):
        a[0] = seven(a[0])
        a[1] = nine(a[1])
        a[2] = again(a[2])

    return side_by_side, (float32[::1],)


def shared_twins(**options):
    def keeper():
        @cuda.jit
        def keep(x):
            place = cuda.shared.array(32, float32)
            place[cuda.threadIdx.x] = x
            cuda.syncthreads()
            return place[31 - cuda.threadIdx.x]

        return keep

    first, second = keeper(), keeper()

    @cuda.jit(**options)
    def shared_twins(a):
        i = cuda.threadIdx.x
        a[i] = first(a[i]) - second(a[i + 32])

    return shared_twins, (float32[::1],)


def shared(**options):
    @cuda.jit(**options)
    def shared(a):
        place = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        place[i] = a[i]
        cuda.syncthreads()
        a[i] = place[63 - i]

    return shared, (float32[::1],)


def more_shared(**options):
    @cuda.jit(**options)
    def more_shared(a):
        first, second = cuda.shared.array(16, float32), cuda.shared.array(16, int32)
        i = cuda.threadIdx.x
        first[i], second[i] = a[i], i
        cuda.syncthreads()
        a[i] = first[15 - i] + second[i]

    return more_shared, (float32[::1],)


def libdevice(**options):
    @cuda.jit(**options)
    def libdevice(a):
        a[0] = math.sin(a[0]) + math.exp(a[1])

    return libdevice, (float64[::1],)


def reshaped(**options):
    @cuda.jit(**options)
    def reshaped(a):
        a[0] = a.reshape((2, 2))[1, 1]

    return reshaped, (float32[::1],)


def argument(**options):
    @cuda.jit(**options)
    def argument(a):
        a[0] = apply(square, a[0]) + apply(half, a[1])

    return argument, (float64[::1],)


def texts(**options):
    @cuda.jit(**options)
    def texts(a):
        table = cuda.const.array_like(TABLE)
        print("first", a[0], "last")
        a[0] = table[cuda.threadIdx.x]

    return texts, (float32[::1],)


def fp16(**options):
    @cuda.jit(**options)
    def fp16(a):
        a[0] = cuda.fp16.hsin(a[1])

    return fp16, (types.float16[::1],)


def record(**options):
    @cuda.jit(**options)
    def record(a):
        a[0].x = a[1].x * a[1].y

    return record, (from_dtype(POINT)[::1],)


def enumerated(**options):
    @cuda.jit(**options)
    def enumerated(a):
        a[0] = 1 if a[1] == Color.BLUE else Color.RED

    return enumerated, (int32[::1],)


def cooperative(**options):
    @cuda.jit(**options)
    def cooperative(a):
        grid = cuda.cg.this_grid()
        a[cuda.grid(1)] = 1
        grid.sync()
        a[0] = a[cuda.gridsize(1) - 1]

    return cooperative, (float32[::1],)


def linked(**options):
    scale = cuda.declare_device("scale", "float32(float32)")

    @cuda.jit(link=[SCALE], **options)
    def linked(a):
        a[0] = scale(a[0])

    return linked, (float32[::1],)


ALL = (plain, diamond, seven, nine, side_by_side, shared_twins, shared, more_shared, libdevice, reshaped, argument, texts,
       fp16, record, enumerated, cooperative, linked)
NAMES = tuple(each.__name__ for each in ALL)


def make(name, **options):
    return globals()[name](**options)
