# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program that makes algorithms of cuda.compute and reports its builds. Started by tests.

Usage: compute_program.py NAME...
"""

import json
import sys
import types

import numpy

import cccl_cache.compute as plugin
import cuda.compute as compute
from cuda.compute import OpKind, ProxyArray, _cccl_interop

FACTOR = 3
INTS, FLOATS = ProxyArray("int32"), ProxyArray("float32")
Pair = compute.gpu_struct({"x": numpy.int32, "y": numpy.float32})


def scale(a):
    return a * FACTOR


def smaller(a, b):
    return a if a < b else b


def extremes(a, b):
    return Pair(a.x if a.x < b.x else b.x, a.y if a.y > b.y else b.y)


def positive(a):
    return a > 0


MAKE = {
    "reduce": lambda: compute.make_reduce_into(
        d_in=FLOATS, d_out=FLOATS, op=smaller, h_init=numpy.zeros(1, "float32"), compute_capability=90),
    "struct": lambda: compute.make_reduce_into(
        d_in=ProxyArray(Pair.dtype), d_out=ProxyArray(Pair.dtype), op=extremes, h_init=Pair(9, 0),
        compute_capability=90),
    "transform": lambda: compute.make_unary_transform(d_in=INTS, d_out=INTS, op=scale, compute_capability=90),
    "iterator": lambda: compute.make_unary_transform(
        d_in=compute.TransformIterator(compute.CountingIterator(numpy.int32(0)), scale), d_out=ProxyArray("int64"),
        op=OpKind.NEGATE, compute_capability=90),
    "here": lambda: on_a_device_of_capability_90(
        lambda: compute.make_unary_transform(d_in=INTS, d_out=INTS, op=scale)),
    "elsewhere": lambda: on_a_device_of_another_capability(MAKE["transform"]),
    "select": lambda: compute.make_select(
        d_in=INTS, d_out=INTS, d_num_selected_out=ProxyArray("uint64"), cond=positive, compute_capability=90),
}


def on_a_device_of_capability_90(make):
    """Makes an algorithm for a pretended current device of capability 9.0. Counts each binding as a call."""
    from cuda.compute import _caching

    _caching._get_current_device_info = lambda: (0, (9, 0))
    _caching._PerCCBuildResults.resolve = lambda self, capability, device: ("loaded", capability, device)
    algorithm = make()
    assert algorithm._bound_build_result == ("loaded", 90, 0)
    return algorithm


def on_a_device_of_another_capability(make):
    """Makes an algorithm on a machine whose device can't run it, so that the package refuses to load it."""
    from cuda.compute._serialization.serializable import Serializable, _BuildResults

    def loader(results):
        def deserialize(data, load, check_cc):
            if check_cc:
                raise RuntimeError("the current device can't run it")
            return results.deserialize(data, load=load, check_cc=False)

        return types.SimpleNamespace(deserialize=deserialize)

    for wrapper in Serializable._registry.values():
        for _, kind in wrapper.__serialization_schema__:
            if isinstance(kind, _BuildResults):
                kind.cls = loader(kind.cls)
    return make()


def counted(module, name, calls):
    original = getattr(module, name)

    def count(*args, **kwargs):
        calls.append(name)
        return original(*args, **kwargs)

    setattr(module, name, count)


def main(*names):
    calls = []
    counted(_cccl_interop, "build_for_ccs", calls)
    assert plugin.install(), plugin.status()
    from cuda.compute import _mlir

    counted(_mlir, "compile_to_ltoir", calls)
    made = {name: MAKE[name]().serialize().hex() for name in names}
    json.dump({"calls": calls, "status": plugin.status(), "made": made}, sys.stdout)


main(*sys.argv[1:])
