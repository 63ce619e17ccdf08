# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that differ in one thing are each compiled, and no kernel is served for another."""

import contextlib
import functools
import io
import types
import warnings

import cccl_cache
import numba_device
import numpy
import pytest
from directory_leases import DirectoryLeases
from numba_pairs import KEYS_ALONE, ONE, PAIRS, assigning, capturing, kernel, linking, written

import cccl_cache.numba as plugin
from cccl_cache.numba._stored import _written
from numba import cuda
from numba.cuda.core.errors import TypingError
from numba.cuda.core.rewrites import Rewrite, register_rewrite, rewrite_registry
from numba.cuda.cudadrv.linkable_code import CUSource
from numba.cuda.extending import overload
from numba.cuda.typing.templates import builtin_registry


def taught():
    """A function that only the compiler knows."""


@pytest.fixture(autouse=True)
def installed(lasting):
    numba_device.pretend()
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
    assert after["not_cached"] == before["not_cached"] and after["errors"] == before["errors"]


def compiled(make):
    dispatcher, signature = make()
    return numba_device.cubin(dispatcher, signature)






@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_kernels_that_differ_in_one_thing_are_both_compiled(pair):
    one, other = pair
    first, second = compiled(one), compiled(other)
    assert first != second
    with counts(compiles=0, hits=2):
        assert (compiled(other), compiled(one)) == (second, first)


@pytest.mark.parametrize("pair", KEYS_ALONE.values(), ids=KEYS_ALONE.keys())
def test_options_that_may_change_the_code_have_different_keys(pair):
    one, other = pair
    compiled(one)
    with counts(compiles=1, hits=0):
        compiled(other)


def test_a_kernel_whose_global_changed_is_compiled_again():
    scope = {"G": 41}
    exec("def k(a): a[0] = G", scope)
    first = numba_device.cubin(kernel(scope["k"]), ONE)
    scope["G"] = 42
    with counts(compiles=1, hits=0):
        assert numba_device.cubin(kernel(scope["k"]), ONE) != first


def test_a_callee_that_was_compiled_before_its_global_changed_is_not_kept():
    scope = {"G": 43}
    exec("def callee(x): return x * G", scope)
    callee = cuda.jit(scope["callee"])
    make = lambda: assigning("f(a[1])", f=callee)  # noqa: E731
    first = compiled(make)
    scope["G"] = 44
    before = plugin.status()["published"]
    assert compiled(make) == first, "numba keeps the code of a function that it compiled"
    assert plugin.status()["published"] == before
    scope["G"] = 43
    compiled(make)
    assert plugin.status()["published"] == before


def test_a_changed_callee_is_noticed_beside_another_callee_of_the_same_function():
    scope = {"G": 47}
    exec("def callee(x): return x * G", scope)
    old, new = cuda.jit(scope["callee"]), cuda.jit(scope["callee"])
    compiled(lambda: assigning("old(a[1])", old=old))
    scope["G"] = 48
    before = plugin.status()["published"]
    compiled(lambda: assigning("new(a[1]) - old(a[2])", new=new, old=old))
    assert plugin.status()["published"] == before


def test_the_key_has_the_contents_that_numba_read_of_a_linked_file(tmp_path):
    file = tmp_path / "scaled.cu"
    scaled = cuda.declare_device("scaled", "float32(float32)")

    def linking(factor):
        code = f'extern "C" __device__ int scaled(float* out, float x) {{ *out = x * {factor}; return 0; }}'
        file.write_text(code)

        def k(a):
            a[0] = scaled(a[1])

        return kernel(k, link=[str(file)]), ONE

    first = compiled(lambda: linking(51))
    with counts(compiles=0, hits=1):
        assert compiled(lambda: linking(52)) == first, "numba reads a file once a process"


def test_a_linked_file_that_is_named_like_one_of_numba_has_another_key(tmp_path):
    def linking(factor):
        file = tmp_path / str(factor) / "reshape_funcs.cu"
        file.parent.mkdir(exist_ok=True)
        code = f'extern "C" __device__ int scaled(float* out, float x) {{ *out = x * {factor}; return 0; }}'
        file.write_text(code)
        scaled = cuda.declare_device("scaled", "float32(float32)")

        def k(a):
            a[0] = scaled(a[1])

        return kernel(k, link=[str(file)]), ONE

    first = compiled(lambda: linking(53))
    assert compiled(lambda: linking(54)) != first


def test_a_table_that_is_read_only_has_another_type():
    def writing(writeable):
        table = numpy.array([55, 56], dtype=numpy.float32)
        table.flags.writeable = writeable
        return assigning("cuda.const.array_like(table)[0]", table=table)

    compiled(lambda: writing(True))
    with counts(compiles=1, hits=0):
        compiled(lambda: writing(False))


def test_a_kernel_over_a_header_of_the_working_directory_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = '#include "h.h"\nextern "C" __device__ int scaled(float* out, float x) { *out = x * FACTOR; return 0; }'

    def linking(factor):
        (tmp_path / "h.h").write_text(f"#define FACTOR {factor}\n")
        scaled = cuda.declare_device("scaled", "float32(float32)")

        def k(a):
            a[0] = scaled(a[1])

        return kernel(k, link=[CUSource(code, name="scaled.cu")]), ONE

    first = compiled(lambda: linking(57))
    assert compiled(lambda: linking(58)) != first
    assert any("#include" in reason for reason in plugin.status()["not_cached"])


def test_equal_closures_are_one_kernel_and_others_are_not():
    first = compiled(lambda: capturing(71))
    with counts(compiles=0, hits=1):
        assert compiled(lambda: capturing(71)) == first
    with counts(compiles=1, hits=0):
        assert compiled(lambda: capturing(72)) != first


def test_a_kernel_that_changes_during_its_compile_is_not_served_later(monkeypatch):
    scope = {"G": 45}
    exec("def k(a): a[0] = G", scope)
    bind = numba_device.dispatcher._Kernel.bind

    def changing(made):
        scope["G"] = 46
        bind(made)

    monkeypatch.setattr(numba_device.dispatcher._Kernel, "bind", changing)
    with_45 = numba_device.cubin(kernel(scope["k"]), ONE)
    monkeypatch.undo()
    scope["G"] = 45
    before = plugin.status()
    assert numba_device.cubin(kernel(scope["k"]), ONE) == with_45
    after = plugin.status()
    assert after["compiles"] == before["compiles"] + 1 and after["published"] == before["published"] + 1


@pytest.mark.parametrize("reached, reason", [
    ([1, 2], "a list can change"),
    (object(), "a value of type builtins.object"),
    (lambda x: x, "is not compiled by cuda.jit"),
])
def test_a_kernel_without_an_identity_has_a_reason(reached, reason):
    def k(a):
        a[0] = 0
        if a[1] < 0:
            reached

    before = plugin.status()["published"]
    with contextlib.suppress(Exception):
        kernel(k).compile(ONE)
    assert any(reason in told for told in plugin.status()["not_cached"])
    assert plugin.status()["published"] == before


@pytest.mark.filterwarnings("ignore:Could not find source")
@pytest.mark.parametrize("options, reason", [
    ({"debug": True, "opt": False}, "it is compiled for debugging"), ({"lineinfo": True}, "it has the lines of its source"),
])
def test_a_kernel_that_names_its_source_is_left_to_numba(options, reason):
    def k(a):
        a[0] = 1

    before = plugin.status()
    kernel(k, **options).compile(ONE)
    assert plugin.status()["published"] == before["published"]
    assert any(reason in told for told in plugin.status()["not_cached"])


def test_an_array_on_the_device_is_not_kept():
    class OnDevice(numpy.ndarray):
        __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (4096, False), "version": 3}

    table = numpy.zeros(1, numpy.float32).view(OnDevice)
    with contextlib.suppress(Exception):
        compiled(lambda: assigning("t[0]", t=table))
    assert any("an array on the device" in told for told in plugin.status()["not_cached"])


def test_a_kernel_that_does_not_compile_gives_its_lease_up(lasting):
    def k(a):
        a[0] = a.no_such_attribute

    with pytest.raises(TypingError):
        kernel(k).compile(ONE)
    assert lasting.stats()["leases"] == 0


def test_a_launch_configuration_is_in_the_key_if_the_compile_used_it(monkeypatch):
    def launched(block):
        config = types.SimpleNamespace(griddim=(1, 1, 1), blockdim=(block, 1, 1), sharedmem=0,
                                       _is_kernel_launch_config_sensitive=lambda: True)
        monkeypatch.setattr("numba.cuda.launchconfig.current_launch_config", lambda: config)
        return compiled(lambda: capturing(75))

    with counts(compiles=2, published=3, hits=0):
        launched(32), launched(64)
    with counts(compiles=0, published=0, hits=2):
        launched(64), launched(32)


@pytest.mark.parametrize("value, teach", [
    (761, lambda: register_rewrite("before-inference")(type("Changed", (Rewrite,), {"__module__": "taught"}))),
    (762, lambda: overload(taught)(lambda: lambda: 1)),
])
def test_a_program_that_extends_the_compiler_keeps_no_kernels(value, teach):
    registries = [rewrite_registry.rewrites["before-inference"], *map(vars(builtin_registry).get, ("functions", "globals"))]
    known = [list(registry) for registry in registries]
    teach()
    before = plugin.status()["published"]
    try:
        compiled(lambda: capturing(value))
        assert plugin.status()["published"] == before
        assert any("registered functions or types" in told for told in plugin.status()["not_cached"])
    finally:
        for registry, entries in zip(registries, known):
            registry[:] = entries
    with counts(compiles=1, published=1):
        compiled(lambda: capturing(value))


class Damaging(DirectoryLeases):
    """Leases that damage each publication while `damage` is set."""

    damage = None

    @contextlib.contextmanager
    def lease(self, *given, **how):
        with super().lease(*given, **how) as lease:
            if self.damage is not None:
                publish, damage = lease.publish, self.damage
                lease.publish = lambda data: publish(damage(data))
            yield lease


@pytest.mark.parametrize("value, damage", [(81, lambda data: data[:-1]), (82, lambda data: data[:50] + b"?" + data[51:])])
def test_a_damaged_deposit_is_compiled_and_deposited_again(tmp_path, value, damage):
    plugin.uninstall()
    leases = Damaging(tmp_path)
    assert plugin.install(client=lambda: leases)
    leases.damage = damage
    before = plugin.status()
    first = compiled(lambda: capturing(value))
    leases.damage = None
    assert compiled(lambda: capturing(value)) == compiled(lambda: capturing(value)) == first
    after = plugin.status()
    assert {name: after[name] - before[name] for name in ("compiles", "published", "hits")} == {
        "compiles": 2, "published": 2, "hits": 1}


class OtherBuild:
    """A client of a daemon that has another build of one compiler, with the same version."""

    def __init__(self, daemon, component):
        self._client, self._component = cccl_cache.Client(daemon.socket), component

    def __getattr__(self, name):
        return getattr(self._client, name)

    def toolchains(self, **how):
        found = self._client.toolchains(**how)
        return found._replace(used=tuple(each._replace(components=tuple(map(self._changed, each.components)))
                                         for each in found.used))

    def _changed(self, component):
        return component._replace(id="0" * 64) if component.name == self._component else component


@pytest.mark.parametrize("component, named", [("nvvm", "libNVVM"), ("nvrtc", "NVRTC"), ("nvjitlink", "nvJitLink")])
def test_another_build_of_a_compiler_is_left_to_numba_even_if_its_version_is_the_same(lasting, component, named):
    plugin.uninstall()
    assert plugin.install(client=lambda: OtherBuild(lasting, component))
    before = plugin.status()
    compiled(lambda: linking(f"{len(named)}.5f"))
    after = plugin.status()
    assert after["stages_compiled"] - before["stages_compiled"] == 1
    assert after["stages_served"] - before["stages_served"] == 2
    assert any(f"no toolchain with the {named} of this process" in reason for reason in after["not_cached"])


def test_another_capability_is_another_kernel():
    first = compiled(lambda: capturing(73))
    numba_device.pretend((8, 0))
    with counts(compiles=1, hits=0):
        assert compiled(lambda: capturing(73)) != first


def test_a_deposit_that_lacks_a_field_is_made_again(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("cccl_cache.numba._kernels.write_kernel", lambda kernel, warned: _written({"name": "k"}, b""))
        code = compiled(lambda: capturing(75))
    assert compiled(lambda: capturing(75)) == code
    with counts(compiles=0, hits=1):
        assert compiled(lambda: capturing(75)) == code


def test_a_loaded_kernel_has_the_attributes_of_a_compiled_one():
    def told(make, expected):
        dispatcher, signature = make()
        with counts(**expected):
            made = dispatcher.compile(signature)
        dispatcher.inspect_types(file=io.StringIO())
        known = (dispatcher.nopython_signatures, made.argtypes, made.launch_bounds)
        return known, list(made.type_annotation.typemap), dispatcher.inspect_lto_ptx(signature)

    make = functools.partial(linking, "9.0f", lto=True)
    compiled_here = told(make, {"compiles": 1, "hits": 0})
    assert told(make, {"compiles": 0, "hits": 1}) == compiled_here


def test_the_warnings_of_a_compile_are_given_where_its_kernel_is_loaded():
    def warned(make):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            compiled(make)
        return [(each.category, str(each.message)) for each in given]

    def printing():
        return written(f"def k(a): print({', '.join(33 * ['a[0]'])})"), ONE

    first = warned(printing)
    assert any("32 items" in text for _, text in first)
    with counts(compiles=0, hits=1):
        assert warned(printing) == first


def test_a_loaded_kernel_is_compiled_for_another_capability():
    for make in (lambda: capturing(74), lambda: linking("7.0f")):
        compiled(make)
        dispatcher, signature = make()
        with counts(compiles=0, hits=1):
            loaded = dispatcher.compile(signature)
        here = loaded._codelibrary.get_cubin()
        other = loaded._codelibrary.get_cubin((8, 0, ""))
        assert other.code != here.code and loaded._codelibrary.get_cubin() is here
        assert "ptx" in loaded.inspect_asm((8, 0, "")) or ".target sm_80" in loaded.inspect_asm((8, 0, ""))


