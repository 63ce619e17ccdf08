# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Names by content in NVVM IR: equal names mean equal code, with any numbers of the process."""

import numba_device  # noqa: F401  first: it makes numba.cuda that of numba-cuda
import pytest

from cccl_cache.numba._names import number_in, renamed


def name(function, number, arguments="f"):
    tag = f"v{number}"
    return f"_ZN4test{len(function)}{function}B{len(tag)}{tag}E{arguments}"


def module(function, number, *callees, body="ret void", extra=""):
    calls = "".join(f'  call void @"{callee}"()\n' for callee in callees)
    declared = "".join(f'declare void @"{callee}"()\n' for callee in dict.fromkeys(callees))
    return (f"; ModuleID = \"{function}${number}\"\n{extra}"
            f'define linkonce_odr void @"{name(function, number)}"() {{\n{calls}  {body}\n}}\n{declared}')


def program(offset, body="ret void", swapped=False):
    """Returns a kernel that calls two functions, which call a third function."""
    kernel, left, right, leaf = (name(each, number + offset) for number, each in enumerate(["k", "l", "r", "leaf"]))
    others = [module("l", 1 + offset, leaf), module("leaf", 3 + offset, body=body), module("r", 2 + offset, leaf)]
    return [module("k", offset, left, right), *(reversed(others) if swapped else others)], kernel, leaf


def test_numbers_and_the_order_of_modules_do_not_count():
    (one, kernel, _), (other, other_kernel, _) = program(10), program(500, swapped=True)
    first, second = renamed([*one, one[2]]), renamed(other)
    assert first.texts == second.texts and len(first.texts) == 4
    assert first.name(kernel) == second.name(other_kernel) != kernel


def test_a_callee_of_a_callee_is_part_of_a_name():
    (one, kernel, _), (other, other_kernel, _) = program(10), program(10, body="unreachable")
    assert renamed(one).name(kernel) != renamed(other).name(other_kernel)


def test_callers_come_before_their_callees():
    texts, _, leaf = program(10)
    found = renamed([texts[0], *sorted(texts[1:], key=lambda text: "4leaf" not in text.split("define")[1])])
    assert "define" in found.texts[-1] and f'define linkonce_odr void @"{found.name(leaf)}"' in found.texts[-1]


def test_equal_functions_become_one_and_are_declared_once():
    twins = [name("f", 1), name("f", 2)]
    found = renamed([module("k", 0, *twins), module("f", 1), module("f", 2)])
    assert len(found.texts) == 2 and found.texts[0].count("declare") == 1 and found.texts[0].count("call") == 2


def test_equal_functions_with_their_own_variables_are_not_merged():
    twins = [name("f", 1), name("f", 2)]
    arrays = [f'@"_cudapy_smem_{number}" = addrspace(3) global [32 x float] undef\n' for number in (7, 8)]
    texts = [module("k", 0, *twins), module("f", 1, extra=arrays[0]), module("f", 2, extra=arrays[1])]
    assert renamed(texts) is None
    assert renamed([texts[0].replace(twins[1], twins[0]), texts[1]]) is not None


@pytest.mark.parametrize("texts", [
    [module("f", 1), module("f", 1, body="unreachable")],
    [module("f", 1, name("g", 2)), module("g", 2, name("f", 1))],
])
def test_code_that_is_not_understood_is_left_alone(texts):
    assert renamed(texts) is None


def test_the_bytes_of_a_constant_are_no_name():
    text = f'@"c" = internal constant [9 x i8] c"{name("f", 1)}"\n'
    assert text in renamed([module("f", 1, extra=text)]).texts[0]


def test_constants_named_by_a_salted_hash_are_numbered():
    one, other = (module("f", 1, extra=f'@".bytes.{salted}" = internal constant [1 x i8] c"x"\n') for salted in (-5, 77))
    assert renamed([one]).texts == renamed([other]).texts


@pytest.mark.parametrize("mangled, number", [
    ("_ZN4test1fB2v5Ef", 5), ("_Z1fB3v12f", 12), ("_ZN4test6fB2v5xB2v7E", 7), ("_ZN4test6fB2v5xE", None), ("_Z1ff", None),
    ("_ZN08NumbaEnv4test1fB2v5E", 5), ("_ZN4test99f", None), ("_ZN4test1fB2x5E", None),
])
def test_a_number_is_found_by_the_lengths_in_a_name(mangled, number):
    found = number_in(mangled)
    assert number is None and found is None or found[2] == number
