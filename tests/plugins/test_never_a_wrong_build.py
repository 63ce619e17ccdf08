# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that differ in one thing. Both are really built in one process, and their builds differ."""

import contextlib

import cccl_cache
import cccl_cache.compute as plugin
import numpy
import pytest
from pairs import PAIRS, mapped

import cuda.compute as compute
from cuda.compute import ProxyArray


class Built:
    """Builds calls for a device that need not exist."""

    def __init__(self, capability=90):
        self._for = {"compute_capability": capability}

    def transform(self, op, data, *, out=None, iterator=None):
        d_in = ProxyArray(data.dtype) if iterator is None else iterator
        made = compute.make_unary_transform(d_in=d_in, d_out=ProxyArray(out or data.dtype), op=op, **self._for)
        return made.serialize()

    def reduce(self, data, **options):
        array = ProxyArray(data.dtype)
        return compute.make_reduce_into(d_in=array, d_out=array, op=compute.OpKind.PLUS,
                                        h_init=numpy.zeros(1, data.dtype), **self._for, **options).serialize()


@pytest.fixture(autouse=True)
def installed(lasting):
    assert plugin.install(client=lambda: cccl_cache.Client(lasting.socket)), plugin.status()
    yield
    plugin.uninstall()


@contextlib.contextmanager
def counts(**expected):
    """Yields the plug-in's counts during the block."""
    before = plugin.status()
    yield
    after = plugin.status()
    assert {name: after[name] - before[name] for name in expected} == expected
    assert not after["not_cached"] and not after["errors"]


def never_a_wrong_build(one, other):
    with counts(builds=2, published=2, hits=0, hits_in_process=0):
        first, second = one(), other()
    assert first != second
    with counts(builds=0):
        assert (other(), one()) == (second, first)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_calls_that_differ_in_one_thing_are_both_built(pair):
    one, other = (side.call for side in pair)
    never_a_wrong_build(lambda: one(Built()), lambda: other(Built()))


def test_one_call_for_two_architectures_is_built_for_each():
    call = mapped("def f(a): return a + 9", None).call
    never_a_wrong_build(lambda: call(Built(80)), lambda: call(Built(90)))
