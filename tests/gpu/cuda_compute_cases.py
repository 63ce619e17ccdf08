# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Every algorithm of cuda.compute on a GPU, with several types and operators, each checked against NumPy."""

import cupy
import numpy

import cuda.compute as compute
from cuda.compute import OpKind, SortOrder

SIZE = 10_000
FACTOR = 3


def plus(a, b):
    return a + b


def smaller(a, b):
    return a if a < b else b


def less(a, b):
    return a < b


def same(a, b):
    return a == b


def scaled(a):
    return a * FACTOR


def low(a):
    return a < 20


def high(a):
    return a > 70


def numbers(kind, size=SIZE, seed=0):
    return numpy.random.default_rng(seed).integers(0, 100, size).astype(kind)


def equal(name, got, wanted):
    """Returns one checked result: (name, whether it is right)."""
    got, wanted = numpy.asarray(got), numpy.asarray(wanted)
    return name, got.shape == wanted.shape and bool(numpy.allclose(got, wanted))


def reductions(kind):
    data = numbers(kind)
    for name, op, init, wanted in (
        ("plus", OpKind.PLUS, 0, data.sum()), ("function", plus, 5, data.sum() + 5), ("smaller", smaller, 99, data.min())):
        out = cupy.empty(1, kind)
        compute.reduce_into(
            d_in=cupy.asarray(data), d_out=out, num_items=SIZE, op=op, h_init=numpy.array([init], kind))
        yield equal(f"reduce {name} {kind}", out.get()[0], wanted)
    starts = numpy.arange(0, SIZE, 100)
    out = cupy.empty(len(starts), kind)
    compute.segmented_reduce(
        d_in=cupy.asarray(data), d_out=out, num_segments=len(starts), start_offsets_in=cupy.asarray(starts),
        end_offsets_in=cupy.asarray(starts + 100), op=plus, h_init=numpy.zeros(1, kind))
    yield equal(f"segmented reduce {kind}", out.get(), data.reshape(-1, 100).sum(axis=1))


def scans(kind):
    data, out = numbers(kind), cupy.empty(SIZE, kind)
    common = dict(d_in=cupy.asarray(data), d_out=out, op=plus, init_value=numpy.zeros(1, kind), num_items=SIZE)
    compute.inclusive_scan(**common)
    yield equal(f"inclusive scan {kind}", out.get(), data.cumsum())
    compute.exclusive_scan(**common)
    yield equal(f"exclusive scan {kind}", out.get(), data.cumsum() - data)


def transforms(kind):
    data, out = numbers(kind), cupy.empty(SIZE, kind)
    array = cupy.asarray(data)
    compute.unary_transform(d_in=array, d_out=out, op=scaled, num_items=SIZE)
    yield equal(f"transform {kind}", out.get(), data * FACTOR)
    compute.binary_transform(d_in1=array, d_in2=array, d_out=out, op=plus, num_items=SIZE)
    yield equal(f"transform of two {kind}", out.get(), data * 2)
    for offset in (1, 2):
        compute.unary_transform(d_in=array, d_out=out, op=lambda a: a + offset, num_items=SIZE)
        yield equal(f"captured {offset} {kind}", out.get(), data + offset)
    for seed in (1, 2):
        table = cupy.asarray(numbers(kind, 8, seed))

        def shifted(a):
            return a + table[3]

        compute.unary_transform(d_in=array, d_out=out, op=shifted, num_items=SIZE)
        yield equal(f"captured array {seed} {kind}", out.get(), data + table.get()[3])


def sorts(kind):
    keys = numbers(kind)
    values = numpy.arange(SIZE, dtype="int32")
    order = numpy.argsort(keys, kind="stable")
    out_keys, out_values = cupy.empty(SIZE, kind), cupy.empty(SIZE, "int32")
    common = dict(d_in_keys=cupy.asarray(keys), d_in_values=cupy.asarray(values), d_out_keys=out_keys,
                  d_out_values=out_values, num_items=SIZE)
    compute.merge_sort(op=less, **common)
    yield equal(f"merge sort {kind}", out_values.get(), order)
    compute.radix_sort(order=SortOrder.ASCENDING, **common)
    yield equal(f"radix sort {kind}", out_values.get(), order)
    compute.radix_sort(order=SortOrder.DESCENDING, **common)
    yield equal(f"radix sort down {kind}", out_keys.get(), numpy.sort(keys)[::-1])
    starts = numpy.arange(0, SIZE, 100)
    compute.segmented_sort(
        num_segments=len(starts), start_offsets_in=cupy.asarray(starts), end_offsets_in=cupy.asarray(starts + 100),
        order=SortOrder.ASCENDING, **common)
    yield equal(f"segmented sort {kind}", out_keys.get(), numpy.sort(keys.reshape(-1, 100), axis=1).reshape(-1))


def searches(kind):
    data, wanted = numpy.sort(numbers(kind)), numbers(kind, 500, 1)
    out = cupy.empty(500, "uint64")
    for side, search in (("left", compute.lower_bound), ("right", compute.upper_bound)):
        search(d_data=cupy.asarray(data), num_items=SIZE, d_values=cupy.asarray(wanted), num_values=500, d_out=out,
               comp=less)
        yield equal(f"search {side} {kind}", out.get(), numpy.searchsorted(data, wanted, side=side))


def choices(kind):
    data = numbers(kind)
    array, count = cupy.asarray(data), cupy.zeros(2, "uint64")
    outs = [cupy.empty(SIZE, kind) for _ in range(3)]
    compute.select(d_in=array, d_out=outs[0], d_num_selected_out=count, cond=low, num_items=SIZE)
    yield equal(f"select {kind}", outs[0].get()[: int(count[0])], data[data < 20])
    compute.three_way_partition(
        d_in=array, d_first_part_out=outs[0], d_second_part_out=outs[1], d_unselected_out=outs[2],
        d_num_selected_out=count, select_first_part_op=low, select_second_part_op=high, num_items=SIZE)
    first, second = (int(each) for each in count)
    yield equal(f"partition, first {kind}", outs[0].get()[:first], data[data < 20])
    yield equal(f"partition, second {kind}", outs[1].get()[:second], data[data > 70])
    runs = numpy.sort(data)
    compute.unique_by_key(
        d_in_keys=cupy.asarray(runs), d_in_items=cupy.arange(SIZE, dtype="int32"), d_out_keys=outs[0],
        d_out_items=cupy.empty(SIZE, "int32"), d_out_num_selected=count, op=same, num_items=SIZE)
    yield equal(f"unique {kind}", outs[0].get()[: int(count[0])], numpy.unique(runs))


def histograms(kind):
    data, level = numbers(kind), numpy.dtype(kind).type
    for bins in (10, 300):
        inside = data[data < bins]  # NumPy counts values that equal the last level, too
        out = cupy.zeros(bins, "int32")
        compute.histogram_even(
            d_samples=cupy.asarray(data), d_histogram=out, num_output_levels=bins + 1, lower_level=level(0),
            upper_level=level(bins), num_samples=SIZE)
        yield equal(f"histogram of {bins} {kind}", out.get(), numpy.histogram(inside, bins, (0, bins))[0])


def iterators(kind):
    data, scalar = numbers(kind), numpy.dtype(kind).type
    array, total = cupy.asarray(data), cupy.empty(1, kind)
    counting = compute.CountingIterator(scalar(0))
    for name, iterator, wanted in (
        ("counting", counting, numpy.arange(50).sum()),
        ("constant", compute.ConstantIterator(scalar(7)), 350),
        ("transformed", compute.TransformIterator(array, scaled), data[:50].sum() * FACTOR),
        ("reversed", compute.ReverseIterator(array), data[-50:].sum()),
        ("permuted", compute.PermutationIterator(array, cupy.arange(49, -1, -1)), data[:50].sum()),
        ("streamed", compute.CacheModifiedInputIterator(array, modifier="stream"), data[:50].sum())):
        compute.reduce_into(d_in=iterator, d_out=total, num_items=50, op=OpKind.PLUS, h_init=numpy.zeros(1, kind))
        yield equal(f"{name} {kind}", total.get()[0], wanted)


class Records:
    """An array of records over the memory of a CuPy array, because CuPy has no records."""

    def __init__(self, array, dtype):
        self._array, self.dtype = array, dtype
        self.shape = (array.nbytes // dtype.itemsize,)
        self.__cuda_array_interface__ = {
            "shape": self.shape, "typestr": dtype.str, "descr": dtype.descr, "data": (array.data.ptr, False),
            "strides": None, "version": 3}


def structs(kind):
    pair = compute.gpu_struct({"x": numpy.dtype(kind), "y": numpy.dtype(kind)})
    data = numpy.zeros(SIZE, pair.dtype)
    data["x"], data["y"] = numbers(kind), numbers(kind, seed=1)

    def extremes(a, b):
        return pair(a.x if a.x < b.x else b.x, a.y if a.y > b.y else b.y)

    out = cupy.empty(2, kind)
    compute.reduce_into(
        d_in=Records(cupy.asarray(data.view(kind)), pair.dtype), d_out=Records(out, pair.dtype), num_items=SIZE,
        op=extremes, h_init=pair(99, 0))
    yield equal(f"struct {kind}", out.get(), [data["x"].min(), data["y"].max()])


def results(types):
    """Yields (name, whether it is right) of every case for these types."""
    for kind in types:
        for cases in (reductions, scans, transforms, sorts, searches, choices, histograms, iterators, structs):
            yield from cases(kind)
