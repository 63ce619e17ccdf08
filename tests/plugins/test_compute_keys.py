# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The calls of cuda.compute that share a build, and those that must not. Nothing is compiled here."""

import contextlib
import sys

import numpy
import pytest
from operators import define

import cccl_cache.compute as plugin
import cuda.compute as compute
from cccl_cache._plugin import loaded
from cccl_cache.compute import _builds, _environment
from cuda.compute import OpKind, ProxyArray, ProxyValue
from cuda.compute.op import RawOp


class Keyed(Exception):
    """Replaces the build of an algorithm and records its key."""

    def __init__(self, key):
        self.key = key


class Nothing:
    contents = None
    released = False

    def fail(self):
        pass


class NoLeases:
    def lease(self, *_, **__):
        return contextlib.nullcontext(Nothing())


def stop(self, key, *_):
    raise Keyed(key)


@pytest.fixture(autouse=True)
def keys_only(monkeypatch):
    monkeypatch.setattr(_builds.Builds, "_build", stop)
    assert plugin.install(client=NoLeases), plugin.status()
    yield
    plugin.uninstall()


def key(make):
    """Returns the digest of a call's key, or None if the call is not cached."""
    with pytest.raises(Keyed) as keyed:
        make()
    return keyed.value.key and keyed.value.key.digest


class OnDevice:
    """An array on the device, as far as a build uses it."""

    def __init__(self, dtype="int32", shape=(8,), pointer=4096, strides=None):
        dtype = numpy.dtype(dtype)
        self.dtype, self.shape = dtype, shape
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": dtype.str, "descr": dtype.descr, "data": (pointer, False), "strides": strides,
            "version": 3}


INTS = ProxyArray("int32")
ZERO = numpy.zeros(1, "int32")
ADD = define("def f(a, b): return a + b")


def reduce(op=ADD, d_in=INTS, d_out=INTS, h_init=ZERO, arch=90, **options):
    return compute.make_reduce_into(
        d_in=d_in, d_out=d_out, op=op, h_init=h_init, compute_capability=arch, **options)


def transform(op, d_in=INTS, d_out=INTS, arch=90):
    return compute.make_unary_transform(d_in=d_in, d_out=d_out, op=op, compute_capability=arch)


def over(iterator):
    return reduce(OpKind.PLUS, d_in=iterator)


def jitted(source, **values):
    from numba_cuda_mlir import cuda

    return cuda.jit(device=True)(define(source, "g", **values))


def calling(helper):
    return define("def f(a): return g(a)", g=helper)


def struct(**fields):
    return compute.gpu_struct({name: numpy.dtype(kind) for name, kind in fields.items()}, name="Pair")


def histogram(levels=10, samples=100, lower=0):
    bounds = dict(h_lower_level=numpy.array([lower], "int32"), h_upper_level=numpy.array([99], "int32"))
    return compute.make_histogram_even(
        d_samples=INTS, d_histogram=INTS, h_num_output_levels=numpy.array([levels], "int32"), num_samples=samples,
        compute_capability=90, **bounds)


def sort(order=compute.SortOrder.ASCENDING, values=None):
    return compute.make_radix_sort(
        d_in_keys=INTS, d_out_keys=INTS, d_in_values=values, d_out_values=values, order=order, compute_capability=90)


def scan(make, init=ZERO):
    return make(d_in=INTS, d_out=INTS, op=OpKind.PLUS, init_value=init, compute_capability=90)


def bound(make):
    return make(d_data=INTS, d_values=INTS, d_out=ProxyArray("uint64"), comp=OpKind.LESS, compute_capability=90)


def raw(name="op", code=b"code", state=b"", alignment=1, extra=()):
    return RawOp(ltoir=code, name=name, state=state, state_alignment=alignment, extra_ltoirs=list(extra))


Counting, Constant = compute.CountingIterator, compute.ConstantIterator
COUNT = Counting(numpy.int32(0))

DIFFERENT = {
    "the operator's constant": (
        lambda: transform(define("def f(a): return a * 1")), lambda: transform(define("def f(a): return a * 2"))),
    "the type of the operator's constant": (
        lambda: transform(define("def f(a): return a * 1")), lambda: transform(define("def f(a): return a * 1.0"))),
    "a global": (
        lambda: transform(define("def f(a): return a * K", K=1)), lambda: transform(define("def f(a): return a * K", K=2))),
    "a captured value": (
        lambda: transform(define("def make(k): return lambda a: a * k", "make")(1)),
        lambda: transform(define("def make(k): return lambda a: a * k", "make")(2))),
    "a default": (
        lambda: transform(define("def f(a, b=1): return a * b")), lambda: transform(define("def f(a, b=2): return a * b"))),
    "a function that it calls": (
        lambda: transform(calling(jitted("def g(a): return a + 1"))),
        lambda: transform(calling(jitted("def g(a): return a + 2")))),
    "a global of a function that it calls": (
        lambda: transform(calling(jitted("def g(a): return a + K", K=1))),
        lambda: transform(calling(jitted("def g(a): return a + K", K=2)))),
    "an option of a function that it calls": (
        lambda: transform(calling(jitted("def g(a): return a + 1"))),
        lambda: transform(calling(_fast(define("def g(a): return a + 1", "g"))))),
    "the type of the input": (lambda: reduce(), lambda: reduce(d_in=ProxyArray("int64"))),
    "the type of the output": (lambda: reduce(), lambda: reduce(d_out=ProxyArray("int64"))),
    "the type of the initial value": (lambda: reduce(), lambda: reduce(h_init=numpy.zeros(1, "int64"))),
    "no initial value": (lambda: reduce(), lambda: reduce(h_init=None)),
    "the order of a struct's fields": (
        lambda: transform(ADD, *2 * [ProxyArray(struct(x="int32", y="float32").dtype)]),
        lambda: transform(ADD, *2 * [ProxyArray(struct(y="float32", x="int32").dtype)])),
    "the names of a struct's fields": (
        lambda: transform(ADD, *2 * [ProxyArray(struct(x="int32", y="float32").dtype)]),
        lambda: transform(ADD, *2 * [ProxyArray(struct(a="int32", b="float32").dtype)])),
    "the alignment of a record": (
        lambda: transform(ADD, ProxyArray(numpy.dtype([("x", "i4")])), INTS),
        lambda: transform(ADD, ProxyArray(numpy.dtype([("x", "i4")], align=True)), INTS)),
    "a struct that the operator makes": (
        lambda: transform(define("def f(a): return S(a, a).x", S=struct(x="int32", y="int32"))),
        lambda: transform(define("def f(a): return S(a, a).x", S=struct(x="int32", y="int64")))),
    "the kind of operation": (lambda: reduce(OpKind.PLUS), lambda: reduce(OpKind.MAXIMUM)),
    "an operation and a function": (lambda: reduce(OpKind.PLUS), lambda: reduce(ADD)),
    "an array and an iterator": (lambda: over(INTS), lambda: over(COUNT)),
    "the kind of iterator": (lambda: over(COUNT), lambda: over(Constant(numpy.int32(0)))),
    "the type of an iterator": (lambda: over(COUNT), lambda: over(Counting(numpy.int64(0)))),
    "the cache of an iterator": (
        lambda: over(compute.CacheModifiedInputIterator(OnDevice(), modifier="stream")),
        lambda: over(compute.CacheModifiedInputIterator(OnDevice(), modifier="global"))),
    "the operator of an iterator": (
        lambda: over(compute.TransformIterator(COUNT, define("def f(a): return a + 1"))),
        lambda: over(compute.TransformIterator(COUNT, define("def f(a): return a + 2")))),
    "the order of zipped iterators": (
        lambda: transform(OpKind.IDENTITY, compute.ZipIterator(COUNT, Constant(numpy.int32(1)))),
        lambda: transform(OpKind.IDENTITY, compute.ZipIterator(Constant(numpy.int32(1)), COUNT))),
    "what is permuted by what": (
        lambda: over(compute.PermutationIterator(COUNT, Constant(numpy.int32(1)))),
        lambda: over(compute.PermutationIterator(Constant(numpy.int32(1)), COUNT))),
    "the direction": (lambda: over(COUNT), lambda: over(compute.ReverseIterator(COUNT))),
    "determinism": (
        lambda: reduce(OpKind.PLUS, determinism=compute.Determinism.RUN_TO_RUN),
        lambda: reduce(OpKind.PLUS, determinism=compute.Determinism.NOT_GUARANTEED)),
    "the architecture": (lambda: reduce(), lambda: reduce(arch=80)),
    "one architecture and two": (lambda: reduce(), lambda: reduce(arch=[80, 90])),
    "the algorithm": (lambda: scan(compute.make_inclusive_scan), lambda: scan(compute.make_exclusive_scan)),
    "where the initial value is": (
        lambda: scan(compute.make_exclusive_scan), lambda: scan(compute.make_exclusive_scan, OnDevice(shape=(1,)))),
    "the end of a search": (lambda: bound(compute.make_lower_bound), lambda: bound(compute.make_upper_bound)),
    "the order of a sort": (lambda: sort(), lambda: sort(compute.SortOrder.DESCENDING)),
    "keys alone or with values": (lambda: sort(), lambda: sort(values=INTS)),
    "levels of a histogram": (lambda: histogram(10), lambda: histogram(11)),
    "the width of a histogram's offsets": (lambda: histogram(), lambda: histogram(samples=2**31)),
    "the code of a given operator": (lambda: reduce(raw()), lambda: reduce(raw(code=b"other"))),
    "the name of a given operator": (lambda: reduce(raw()), lambda: reduce(raw(name="other"))),
    "the size of a given operator's state": (lambda: reduce(raw(state=b"1")), lambda: reduce(raw(state=b"12"))),
    "the alignment of a given operator's state": (
        lambda: reduce(raw(state=b"12")), lambda: reduce(raw(state=b"12", alignment=2))),
    "what is linked to a given operator": (lambda: reduce(raw()), lambda: reduce(raw(extra=[b"more"]))),
}


def _fast(function):
    from numba_cuda_mlir import cuda

    return cuda.jit(device=True, fastmath=True)(function)


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_calls_that_differ_in_one_thing_have_different_keys(pair):
    one, other = map(key, pair)
    assert one is not None and other is not None, plugin.status()["not_cached"]
    assert one != other


SAME = {
    "addresses and sizes": (
        lambda: over(OnDevice(pointer=4096, shape=(8,))), lambda: over(OnDevice(pointer=8192, shape=(1000,)))),
    "a placeholder and an array": (lambda: over(INTS), lambda: over(OnDevice())),
    "a placeholder and a value": (lambda: reduce(), lambda: reduce(h_init=ProxyValue("int32"))),
    "an initial value": (lambda: reduce(), lambda: reduce(h_init=numpy.ones(1, "int32"))),
    "where an iterator starts": (lambda: over(COUNT), lambda: over(Counting(numpy.int32(7)))),
    "a constant that is state": (lambda: over(Constant(numpy.int32(1))), lambda: over(Constant(numpy.int32(2)))),
    "the state of a given operator": (lambda: reduce(raw(state=b"1")), lambda: reduce(raw(state=b"2"))),
    "the file and the lines of an operator": (
        lambda: reduce(define("def f(a, b): return a + b", file="one.py")),
        lambda: reduce(define("def f(a, b): return a + b", file="other.py", line=40))),
    "spellings of the architecture": (lambda: reduce(arch=90), lambda: reduce(arch=[(9, 0)])),
    "the bounds of a histogram": (lambda: histogram(), lambda: histogram(lower=-5)),
    "the number of samples": (lambda: histogram(samples=100), lambda: histogram(samples=200)),
    "a buffer that swaps": (lambda: _double(0), lambda: _double(1)),
}


OUT = ProxyArray("uint64")
IS_LOW = define("def f(a): return a < 3")
FOR_90 = {"compute_capability": 90}
ALGORITHMS = {
    "make_binary_transform": lambda make: make(d_in1=INTS, d_in2=INTS, d_out=INTS, op=ADD, **FOR_90),
    "make_exclusive_scan": scan,
    "make_histogram_even": lambda make: histogram(),
    "make_inclusive_scan": scan,
    "make_lower_bound": bound,
    "make_merge_sort": lambda make: make(d_in_keys=INTS, d_out_keys=INTS, op=OpKind.LESS, **FOR_90),
    "make_radix_sort": lambda make: sort(),
    "make_reduce_into": lambda make: reduce(),
    "make_segmented_reduce": lambda make: make(
        d_in=INTS, d_out=INTS, start_offsets_in=INTS, end_offsets_in=INTS, op=ADD, h_init=ZERO, **FOR_90),
    "make_segmented_sort": lambda make: make(
        d_in_keys=INTS, d_out_keys=INTS, d_in_values=None, d_out_values=None, start_offsets_in=INTS,
        end_offsets_in=INTS, order=compute.SortOrder.ASCENDING, **FOR_90),
    "make_select": lambda make: make(d_in=INTS, d_out=INTS, d_num_selected_out=OUT, cond=IS_LOW, **FOR_90),
    "make_three_way_partition": lambda make: make(
        d_in=INTS, d_first_part_out=INTS, d_second_part_out=INTS, d_unselected_out=INTS, d_num_selected_out=OUT,
        select_first_part_op=IS_LOW, select_second_part_op=IS_LOW, **FOR_90),
    "make_unary_transform": lambda make: transform(IS_LOW),
    "make_unique_by_key": lambda make: make(
        d_in_keys=INTS, d_in_items=INTS, d_out_keys=INTS, d_out_items=INTS, d_out_num_selected=OUT, op=OpKind.EQUAL_TO,
        **FOR_90),
    "make_upper_bound": bound,
}


def test_every_algorithm_of_the_package_goes_through_the_cache():
    assert set(ALGORITHMS) == {name for name in compute.__all__ if name.startswith("make_")}
    keys = {name: key(lambda: call(getattr(compute, name))) for name, call in ALGORITHMS.items()}
    assert None not in keys.values(), keys
    assert len(set(keys.values())) == len(keys)


def _double(selector):
    buffer = compute.DoubleBuffer(OnDevice(), OnDevice(pointer=8192))
    buffer.selector = selector
    return compute.make_radix_sort(
        d_in_keys=buffer, d_out_keys=None, d_in_values=None, d_out_values=None,
        order=compute.SortOrder.ASCENDING, compute_capability=90)


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_calls_that_differ_in_values_bound_later_share_their_key(pair):
    one, other = map(key, pair)
    assert one is not None, plugin.status()["not_cached"]
    assert one == other


def operator_over(state, factor=1):
    def f(a):
        return a + state[0] * factor

    return f


def test_arrays_that_an_operator_captures_count_only_by_type_and_shape():
    one = key(lambda: transform(operator_over(OnDevice())))
    assert one is not None, plugin.status()["not_cached"]
    assert one == key(lambda: transform(operator_over(OnDevice(pointer=8192))))
    assert one != key(lambda: transform(operator_over(OnDevice("int64"))))
    assert one != key(lambda: transform(operator_over(OnDevice(shape=(9,)))))
    assert one != key(lambda: transform(operator_over(OnDevice(), factor=2)))


def test_another_build_of_the_package_is_another_environment(monkeypatch):
    before = key(reduce)
    contents = loaded.contents_digest
    monkeypatch.setattr(
        loaded, "contents_digest",
        lambda path: "other" if path.endswith("cuda/compute") else contents(path))
    _environment._native_files.cache_clear()
    try:
        assert key(reduce) != before
    finally:
        _environment._native_files.cache_clear()


def test_a_variable_that_the_compilers_read_is_part_of_the_key(monkeypatch):
    before = key(reduce)
    monkeypatch.setenv("NVRTC_APPEND_FLAGS", "-lineinfo")
    assert key(reduce) != before


class Subclass(compute.CountingIterator):
    pass


REFUSED = {
    "an iterator class of the user's": (lambda: over(Subclass(numpy.int32(0))), "iterator class"),
    "an operator that captures a list": (lambda: transform(define("def f(a): return K[0]", K=[1])), "list can change"),
    "an array with gaps": (lambda: over(OnDevice(strides=(8,))), "not contiguous"),
    "an array that a called function captures": (
        lambda: transform(calling(jitted("def g(a): return K[0]", K=OnDevice()))), "on the device"),
    "a function that is compiled for debugging": (lambda: transform(calling(_debugged())), "for debugging"),
}


def _debugged():
    from numba_cuda_mlir import cuda

    return cuda.jit(device=True, debug=True, opt=False)(define("def g(a): return a + 1", "g"))


@pytest.mark.parametrize("make, reason", REFUSED.values(), ids=REFUSED.keys())
def test_a_call_without_an_identity_is_not_cached_and_the_reason_is_reported(make, reason):
    assert key(make) is None
    assert any(reason in told for told in plugin.status()["not_cached"])


def test_a_called_function_that_changes_after_its_first_use_is_not_cached():
    helper = jitted("def g(a): return a + K", K=1)
    assert key(lambda: transform(calling(helper))) is not None
    helper.py_func.__globals__["K"] = 2
    assert key(lambda: transform(calling(helper))) is None


def test_the_package_distinguishes_operators_that_it_confused_before():
    from cuda.compute._caching import CachableFunction

    one, other = (CachableFunction(define(f"def f(a): return a * {factor}")) for factor in ("1", "1.0"))
    again = CachableFunction(define("def f(a): return a * 1", line=30))
    assert one != other
    assert one == again and hash(one) == hash(again)


def test_uninstalling_puts_the_package_back():
    from cuda.compute._caching import CachableFunction

    plugin.uninstall()
    assert len(CachableFunction(ADD)._identity) == 5
    assert "cccl_cache" not in sys.modules["cuda.compute.algorithms._reduce"]._Reduce.__init__.__code__.co_filename
