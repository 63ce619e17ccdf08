# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of numba-cuda-mlir that differ in one thing are each compiled. Equal kernels in any file are compiled
once."""

import numpy
import pytest
from directory_leases import DirectoryLeases
from numba_backends import NumbaCudaMlir, compiled

import cccl_cache.numba_mlir as plugin
from numba_cuda_mlir import mlir_compiler
from numba_cuda_mlir.descriptor import MLIRDispatcher, MLIRTypingContext, mlir_target
from numba_cuda_mlir.mlir_lowering import MLIRLower
from numba_cuda_mlir.numba_cuda.cudadrv import driver

NUMBA = NumbaCudaMlir()
cuda, types = NUMBA.cuda, NUMBA.types
FLOATS = (types.float32[::1],)
SOURCE = """
{before}
def kernel({parameters}):
    data[0] = {value}
"""


@pytest.fixture(autouse=True)
def installed(tmp_path):
    assert plugin.install(client=lambda: DirectoryLeases(tmp_path)), plugin.status()
    yield
    plugin.uninstall()


def kernel(value="data[1]", before="", parameters="data", signature=FLOATS, options=(), **names):
    """Compiles a kernel of this text. Returns "hits" or "compiles"."""
    scope = {"cuda": cuda, "numpy": numpy, **names}
    exec(SOURCE.format(value=value, before=before, parameters=parameters), scope)
    earlier = plugin.status()
    made = cuda.jit(cache=True, **dict(options))(scope["kernel"]).compile(types.void(*signature))
    now = plugin.status()
    assert now["errors"] == earlier["errors"]
    [how] = [name for name in ("hits", "compiles") if now[name] > earlier[name]]
    return how, made.metadata["cubin"], now["not_cached"]


def device(text, **names):
    scope = {"cuda": cuda, **names}
    exec(text, scope)
    return cuda.jit(device=True)(scope["f"])


def captured(value):
    def f(one):
        return one + value

    return cuda.jit(device=True)(f)


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __numba_cuda_signature__(self, kind):
        return "scale", kind(kind)

    def __numba_cuda_link_key__(self, *kinds):
        return b"%d" % self.factor

    def __numba_cuda_link__(self, kind):
        return compiled(f'extern "C" __device__ float scale(float value) {{ return {self.factor} * value; }}')


def declared(body):
    code = compiled(f'extern "C" __device__ float scale(float value) {{ return {body}; }}')
    return cuda.declare_device("scale", types.float32(types.float32), link=[NUMBA.linkable.LTOIR(code)], abi="c")


PAIRS = {
    "a constant": ({"value": "data[1] + 1"}, {"value": "data[1] + 2"}),
    "a constant's type": ({"value": "data[1] + 1"}, {"value": "data[1] + 1.0"}),
    "a global": ({"value": "data[1] * FACTOR", "FACTOR": 3}, {"value": "data[1] * FACTOR", "FACTOR": 4}),
    "a callee": ({"value": "f(data[1])", "f": device("def f(one): return one + 1")},
                 {"value": "f(data[1])", "f": device("def f(one): return one + 2")}),
    "a callee's global": ({"value": "f(data[1])", "f": device("def f(one): return one + G", G=1)},
                          {"value": "f(data[1])", "f": device("def f(one): return one + G", G=2)}),
    "a captured value": ({"value": "f(data[1])", "f": captured(1)}, {"value": "f(data[1])", "f": captured(2)}),
    "two of one def": ({"value": "f(g(data[1]))", "f": captured(1), "g": captured(2)},
                       {"value": "f(g(data[1]))", "f": captured(2), "g": captured(1)}),
    "an array": ({"value": "ARRAY[1]", "ARRAY": numpy.arange(3)}, {"value": "ARRAY[1]", "ARRAY": numpy.ones(3)}),
    "the arguments' types": ({"signature": FLOATS}, {"signature": (types.float64[::1],)}),
    "fastmath": ({"value": "data[1] / data[2]"}, {"value": "data[1] / data[2]", "options": {"fastmath": True}}),
    "lto": ({}, {"options": {"lto": True}}),
    "linked code": ({"value": "f(data[1])", "f": declared("value + 1")},
                    {"value": "f(data[1])", "f": declared("value + 2")}),
    "an object's key": ({"value": "f(data[1])", "f": Scale(3)}, {"value": "f(data[1])", "f": Scale(4)}),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_kernels_that_differ_in_one_thing_are_both_compiled(pair):
    (how, first, _), (other_how, second, _) = (kernel(**each) for each in pair)
    assert (how, other_how) == ("compiles", "compiles")
    again = [kernel(**each) for each in reversed(pair)]
    assert [(how, cubin) for how, cubin, _ in again] == [("hits", second), ("hits", first)]


def test_equal_kernels_on_different_lines_are_compiled_once():
    assert kernel()[0] == "compiles"
    assert kernel(before="\n\n# elsewhere")[0] == "hits"


def test_an_object_that_changes_between_two_kernels_brings_its_new_code():
    scale = Scale(3)
    cubins = []
    for scale.factor in (3, 4):
        how, cubin, _ = kernel("f(data[1])", f=scale)
        assert how == "compiles"
        cubins.append(cubin)
    assert cubins[0] != cubins[1]


KEYLESS = type("Keyless", (), {name: vars(Scale)[name] for name in vars(Scale) if not name.endswith("key__")})


@pytest.mark.parametrize("names, said", [
    ({"f": {"a": 1}, "value": "len(f)"}, "a dict can change"),
    ({"f": KEYLESS(3), "value": "f(data[1])"}, "no __numba_cuda_link_key__ describes")])
def test_a_kernel_without_an_identity_is_compiled_here(names, said):
    try:
        _, _, reasons = kernel(**names)
    except Exception:
        reasons = plugin.status()["not_cached"]
    assert any(said in reason for reason in reasons)


def test_a_device_function_that_changed_after_its_first_use_is_not_cached():
    scope = {"G": 1}
    exec("def f(one): return one + G", scope)
    function = cuda.jit(device=True)(scope["f"])
    assert kernel("f(data[1])", f=function)[0] == "compiles"
    scope["G"] = 2
    how, _, reasons = kernel("f(data[2])", f=function)
    assert how == "compiles" and any("changed after its first use" in reason for reason in reasons)


def test_a_damaged_deposit_is_compiled_and_deposited_again(tmp_path):
    make = lambda: cuda.jit(cache=True)(captured_kernel).compile(types.void(*FLOATS))  # noqa: E731
    make()
    for file in tmp_path.iterdir():
        if file.suffix != ".lock":
            file.write_bytes(file.read_bytes()[:-1])
    before = plugin.status()
    make(), make()
    after = plugin.status()
    assert {name: after[name] - before[name] for name in ("compiles", "published", "hits")} == {
        "compiles": 1, "published": 1, "hits": 1}
    assert any("damaged" in reason for reason in after["errors"])


def captured_kernel(data):
    data[0] = 91


@pytest.mark.parametrize("method, whole", [
    (lambda self: b"same", True), (lambda self, *kinds: b"same", True), (lambda self, kind: b"same", False)])
def test_code_that_an_object_generates_has_a_key_with_and_without_the_types_of_a_call(method, whole):
    scale = type("Keyed", (Scale,), {"__numba_cuda_link_key__": method})(5)
    make = lambda: kernel("scale(data[1])", scale=scale)  # noqa: E731
    first, second = make(), make()
    assert first[1] == second[1] and second[0] == ("hits" if whole else "compiles")
    assert any("needs the types of a call" in reason for reason in second[2]) or whole


CHANGED = [(MLIRDispatcher, name) for name in
           ("enable_caching", "_compile_impl", "_compile_public", "_compile_device_callee")]
CHANGED += [(MLIRTypingContext, "resolve_value_type"), (MLIRLower, "lower_call_expr_assign"), (driver, "Linker"),
            (type(mlir_target), "ensure_initialized"), (mlir_compiler, "compile_mlir")]


def test_uninstall_puts_the_package_back():
    during = [getattr(owner, name) for owner, name in CHANGED]
    plugin.uninstall()
    after = [getattr(owner, name) for owner, name in CHANGED]
    assert all(one is not other for one, other in zip(during, after))
    assert all("cccl_cache" not in repr(each) for each in after)


def test_a_release_that_was_not_tested_is_left_alone(monkeypatch):
    plugin.uninstall()
    before = [getattr(owner, name) for owner, name in CHANGED]
    monkeypatch.setattr("cccl_cache.numba_mlir._release.TESTED", ("0.0.1",))
    assert plugin.install() is False and "0.0.1" in plugin.status()["why_off"]
    assert [getattr(owner, name) for owner, name in CHANGED] == before
