# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of calls of cuda.compute that differ in one thing, and the expected result of each call.

`api` builds or runs a call. `api.transform(op, data, *, out=None, iterator=None)` gives op of each element of the data, as
type `out`. With an iterator, it gives op of as many elements of the iterator. `api.reduce(data, **options)` gives the sum.
"""

import types
from typing import Any, Callable, NamedTuple

import numpy
from operators import define

import cuda.compute as compute

INTS = numpy.array([1, 2, 3, 50, -7, 0, 11, 2**30], "int32")
LONGS = numpy.array([2**53 + 1, 3, -5, 0], "int64")
FLOATS = numpy.array([-0.0, 0.0, 1.5, -2.5], "float32")


class Side(NamedTuple):
    """A call, and its expected result."""

    call: Callable[[Any], Any]
    wanted: Any


def mapped(source, wanted, data=INTS, **values):
    """A transform with an operator that each call makes again from this text."""
    return Side(lambda api: api.transform(define(source, **values), data), wanted)


def jitted(source):
    from numba_cuda_mlir import cuda

    return cuda.jit(device=True)(define(source, "g"))


def calling(constant):
    return Side(lambda api: api.transform(define("def f(a): return g(a)", g=jitted(f"def g(a): return a + {constant}")), INTS),
                INTS + constant)


def with_module(value):
    return mapped("def f(a): return a + m.K", INTS + value, m=_module(value))


def _module(value):
    module = types.ModuleType("settings_of_the_pairs")
    module.K = value
    return module


def captured(value):
    return Side(lambda api: api.transform(define("def make(k): return lambda a: a + k", "make")(value), INTS), INTS + value)


def struct(*fields):
    """A transform to the field x of records with their fields in this order."""
    kind = compute.gpu_struct({name: numpy.dtype("int32") for name in fields}, name="Pair").dtype
    data = numpy.zeros(len(INTS), kind)
    data["x"], data["y"] = INTS, -INTS
    return Side(lambda api: api.transform(define("def f(a): return a.x"), data, out="int32"), INTS)


def counted(factor):
    """A transform over an iterator that computes its elements."""

    def call(api):
        numbers = compute.CountingIterator(numpy.int32(0))
        iterator = compute.TransformIterator(numbers, define(f"def f(a): return a * {factor}"))
        return api.transform(compute.OpKind.IDENTITY, INTS, iterator=iterator, out="int64")

    return Side(call, factor * numpy.arange(len(INTS)))


def given(iterator, wanted):
    """The elements of an iterator."""
    return Side(lambda api: api.transform(compute.OpKind.IDENTITY, INTS, iterator=iterator), wanted)


def summed(determinism):
    return Side(lambda api: api.reduce(INTS, determinism=determinism), numpy.array([INTS.sum()], "int32"))


PAIRS = {
    "the operator's constant": (mapped("def f(a): return a + 1", INTS + 1), mapped("def f(a): return a + 2", INTS + 2)),
    "the type of the operator's constant": (
        mapped("def f(a): return a * 1", LONGS, LONGS),
        mapped("def f(a): return a * 1.0", (LONGS * 1.0).astype("int64"), LONGS)),
    "the sign of the operator's zero": (
        mapped("def f(a): return a + 0.0", FLOATS + numpy.float32(0), FLOATS),
        mapped("def f(a): return a + -0.0", FLOATS, FLOATS)),
    "a default": (mapped("def f(a, b=1): return a + b", INTS + 1), mapped("def f(a, b=2): return a + b", INTS + 2)),
    "a captured value": (captured(1), captured(2)),
    "a global": (
        mapped("def f(a): return a + K", INTS + 1, K=1), mapped("def f(a): return a + K", INTS + 2, K=2)),
    "a function that it calls": (calling(1), calling(2)),
    "a module's attribute": (with_module(1), with_module(2)),
    "the layout of a struct": (struct("x", "y"), struct("y", "x")),
    "the type of the data": (
        mapped("def f(a): return a - 5", INTS - 5), mapped("def f(a): return a - 5", FLOATS - numpy.float32(5), FLOATS)),
    "the kind of iterator": (
        given(compute.CountingIterator(numpy.int32(5)), 5 + numpy.arange(len(INTS), dtype="int32")),
        given(compute.ConstantIterator(numpy.int32(5)), numpy.full(len(INTS), 5, "int32"))),
    "the operator of an iterator": (counted(2), counted(3)),
    "determinism": (summed(compute.Determinism.RUN_TO_RUN), summed(compute.Determinism.NOT_GUARANTEED)),
}
