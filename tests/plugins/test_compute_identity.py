# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The identity of an operator differs if its code may differ, and only then."""

import math
import types

import numpy
import pytest
from operators import define

from cccl_cache._plugin.canonical import Refused, encode
from cccl_cache._plugin.functions import function_digest
from cccl_cache.compute._values import describe_value


def identity(function, state=None):
    return function_digest(function, describe_value, state)


def variant(source, **values):
    return identity(define(source, **values))


ADD = "def f(a, b): return a + b"

DIFFERENT = {
    "a constant": ("def f(a): return a * 1", "def f(a): return a * 2"),
    "an int and a float": ("def f(a): return a * 1", "def f(a): return a * 1.0"),
    "an int and a bool": ("def f(a): return a * 1", "def f(a): return a * True"),
    "the sign of zero": ("def f(a): return a + 0.0", "def f(a): return a + -0.0"),
    "a float and a complex": ("def f(a): return a + 1.0", "def f(a): return a + (1+0j)"),
    "types within a tuple": ("def f(a): return a in (1, 2)", "def f(a): return a in (1, 2.0)"),
    "an operation": ("def f(a, b): return a + b", "def f(a, b): return a - b"),
    "a default": ("def f(a, b=1): return a + b", "def f(a, b=2): return a + b"),
    "the type of a default": ("def f(a, b=1): return a + b", "def f(a, b=1.0): return a + b"),
    "a default that only a keyword sets": ("def f(a, *, b=1): return a + b", "def f(a, *, b=2): return a + b"),
    "an annotation": ("def f(a: int): return a", "def f(a: float): return a"),
    "a constant of an inner function": (
        "def f(a):\n  g = lambda x: x * 1\n  return g(a)",
        "def f(a):\n  g = lambda x: x * 1.0\n  return g(a)",
    ),
    "the global that it reads": ("def f(a): return a * abs(a)", "def f(a): return a * int(a)"),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_operators_that_differ_in_one_thing_have_different_identities(pair):
    assert variant(pair[0]) != variant(pair[1])


@pytest.mark.parametrize(
    "one, other",
    [(1, 2), (1, 1.0), (1, True), (0.0, -0.0), ("a", b"a"), ((1, 2), (2, 1)), (math.inf, math.nan)]
    + [(numpy.int32(1), numpy.int64(1)), (numpy.float32(1), numpy.float32(2)), (1, numpy.int64(1))]
    + [(numpy.arange(3), numpy.arange(4)), (numpy.arange(4), numpy.arange(4).reshape(2, 2))]
    + [(numpy.arange(4), numpy.arange(4, dtype=numpy.int32)), (numpy.arange(8)[::2], numpy.arange(0, 8, 2))]
    + [(numpy.float32, numpy.float64), (int, float)],
    ids=repr,
)
def test_captured_and_global_values_are_part_of_the_identity(one, other):
    make = "def make(K):\n  def f(a): return a + K\n  return f"
    inner = "def f(a):\n  g = lambda x: x + K\n  return g(a)"
    assert identity(define(make, "make")(one)) != identity(define(make, "make")(other))
    assert variant("def f(a): return a + K", K=one) != variant("def f(a): return a + K", K=other)
    assert variant(inner, K=one) != variant(inner, K=other)


def test_an_attribute_of_a_module_is_part_of_the_identity():
    module = types.ModuleType("settings")
    module.FACTOR = 2
    operator = define("def f(a): return a * settings.FACTOR", settings=module)
    before = identity(operator)
    module.FACTOR = 3
    assert identity(operator) != before
    module.FACTOR = 2
    assert identity(operator) == before


def test_a_global_that_changes_changes_the_identity():
    operator = define("def f(a): return a * K", K=2)
    before = identity(operator)
    operator.__globals__["K"] = 3
    assert identity(operator) != before


def test_the_same_name_from_the_builtins_and_from_the_globals_differ():
    assert variant("def f(a): return abs(a)") != variant("def f(a): return abs(a)", abs=math.fabs)


def test_functions_of_libraries_are_known_by_name():
    sine = variant("def f(a): return m.sin(a)", m=math)
    assert sine != variant("def f(a): return m.cos(a)", m=math)
    assert sine != variant("def f(a): return m.sin(a)", m=numpy)
    assert sine == variant("def f(a): return m.sin(a)", m=math, line=7)


SAME = {
    "another file and other lines": (ADD, ADD, dict(file="x.py"), dict(file="/y/z.py", line=90)),
    "a global that it does not read": (ADD, ADD, dict(K=1), dict(K=2)),
}


@pytest.mark.parametrize("text, again, one, other", SAME.values(), ids=SAME.keys())
def test_values_that_do_not_reach_the_code_are_left_out(text, again, one, other):
    assert variant(text, **one) == variant(again, **other)


def test_a_docstring_does_not_count():
    one = "def f(a):\n  'One text.'\n  return a + 1"
    assert variant(one) == variant(one.replace("One", "Other"))


def test_a_string_that_is_used_is_no_docstring():
    assert variant("def f(a): return 'x'") != variant("def f(a): return 'y'")


def test_a_docstring_that_is_used_as_well_counts():
    one = "def f(a):\n  'x'\n  return a['x']"
    assert variant(one) != variant(one.replace("'x'", "'y'"))


def test_annotations_count_by_their_meaning():
    quoted = variant("def f(a: 'T'): return a", T=numpy.float32)
    assert quoted == variant("def f(a: T): return a", T=numpy.float32)
    assert quoted != variant("def f(a: 'T'): return a", T=numpy.float64)


def test_arrays_that_are_bound_at_each_call_count_by_their_description():
    operator = define("def f(a): return a + counts[0]", counts=object())
    one = identity(operator, {"counts": ("int32", (4,))})
    assert one == identity(operator, {"counts": ("int32", (4,))})
    assert one != identity(operator, {"counts": ("int32", (5,))})


class OnDevice:
    __cuda_array_interface__ = {"shape": (1,), "typestr": "<i4", "data": (4096, False), "version": 3}


class Callable:
    def __call__(self, a):
        return a


REFUSED = {
    "an array on the device that is reached otherwise": ("def f(a): return K[0]", dict(K=OnDevice()), "on the device"),
    "a list": ("def f(a): return K[0]", dict(K=[1]), "list can change"),
    "a dict": ("def f(a): return K[0]", dict(K={}), "dict can change"),
    "a plain function": ("def f(a): return K(a)", dict(K=lambda a: a), "not compiled by cuda.jit"),
    "an unknown object": ("def f(a): return K(a)", dict(K=Callable()), "no identity outside"),
    "an unknown class": ("def f(a): return K(a)", dict(K=Callable), "the class"),
    "a name that is not there": ("def f(a): return K", {}, "'K' is not defined"),
    "a module without an attribute": ("def f(a): return K.nothing", dict(K=math), "'K.nothing' is not there"),
    "a module as a value": ("def f(a): return K", dict(K=math), "used as a value"),
    "a generator": ("def f(a): yield a", {}, "generator"),
    "a global that is assigned": ("def f(a):\n  global K\n  K = 1", {}, "assigns a global"),
    "an import": ("def f(a):\n  import math\n  return a", {}, "imports"),
    "a class within": ("def f(a):\n  class C: pass\n  return a", {}, "class"),
    "a subclass of int": ("def f(a): return a + K", dict(K=type("Kind", (int,), {})(1)), "no identity outside"),
    "an annotation that means nothing": ("def f(a: 'Nothing'): return a", {}, "can't be resolved"),
}


@pytest.mark.parametrize("source, values, reason", REFUSED.values(), ids=REFUSED.keys())
def test_an_operator_without_an_identity_is_refused_with_the_reason(source, values, reason):
    with pytest.raises(Refused, match=reason):
        variant(source, **values)


def test_a_captured_variable_without_a_value_is_refused():
    def make():
        def f(a):
            return a + later

        yield f
        later = 1

    with pytest.raises(Refused, match="'later' has no value"):
        identity(next(make()))


def test_only_plain_functions_are_operators():
    with pytest.raises(Refused, match="not a plain function"):
        identity(math.sin)


def test_no_two_descriptions_share_their_bytes():
    values = [None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, 1j, "", "1", b"", b"1", (), ((),), (1,), ("1", ""), ("", "1")]
    values += [((1,), 2), (1, (2,)), (1, 2), 255, -255, "é", math.nan]
    assert len({encode(value) for value in values}) == len(values)


def test_subclasses_of_plain_values_are_not_plain():
    with pytest.raises(Refused):
        encode(type("Text", (str,), {})("x"))
