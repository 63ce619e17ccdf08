# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Objects with __numba_cuda_link__ in kernels of numba-cuda and numba-cuda-mlir: which are found, linked and
refused."""

import pathlib
import re
import types as python_types
import weakref

import numpy
import pytest
from numba_backends import BACKENDS, compiled

from cccl_cache._plugin.leases import Deposits, Settings
from cccl_cache._plugin.report import Report

SCALE = 'extern "C" __device__ {type} scale_{type}({type} value) {{ return {factor} * value; }}'


def no_daemon():
    raise OSError("no daemon")


@pytest.fixture(scope="module", params=BACKENDS.values(), ids=BACKENDS.keys())
def numba(request):
    return request.param()


@pytest.fixture(autouse=True)
def report(numba):
    """Installs the plug-in's part for links, without a daemon. Returns its report."""
    report = Report(numba.plugin, ("links_generated", "links_hit", "published"))
    hooks = numba.hooks()(numba.release, report, Deposits("numba.link", Settings(no_daemon), report))
    hooks.attach()
    yield report
    hooks.detach()


class Scale:
    """Multiplies by a factor, with code that NVRTC makes for the type of the argument."""

    def __init__(self, numba, factor=3):
        self.types, self.factor, self.asked = numba.types, factor, []

    def __numba_cuda_signature__(self, kind):
        return f"scale_{self.name(kind)}", kind(kind)

    def __numba_cuda_link__(self, kind):
        self.asked.append(kind)
        return compiled(SCALE.format(type=self.name(kind), factor=self.factor))

    def name(self, kind):
        return {self.types.float32: "float", self.types.float64: "double", self.types.int64: "long"}[kind]


def kernel_of(called):
    def kernel(data):
        data[0] = called(data[0])

    return kernel


class FFT:
    """The object of numba-cuda's issue 67, in which the FFT object supplies the files."""

    def __init__(self, fft_type, size, precision, direction, elements_per_thread, ffts_per_block, execution, compiler):
        self.size, self.elements, self.asked = size, elements_per_thread, []

    def __numba_cuda_signature__(self, thread_data, shared_mem):
        return f"fft_{self.size}", "void(CPointer(complex64), CPointer(complex64))"

    def __numba_cuda_link__(self, thread_data, shared_mem):
        self.asked.append((thread_data.dtype, shared_mem.dtype))
        return compiled(f"""
            extern "C" __device__ void fft_{self.size}(float2* thread_data, float2* shared_mem) {{
              for (int i = 0; i < {self.elements}; ++i) shared_mem[i] = thread_data[{self.elements} - 1 - i];
            }}""")


def test_an_fft_object_adds_its_files_to_the_link(numba):
    cuda, types = numba.cuda, numba.types
    fft = FFT(fft_type="c2c", size=128, precision=numpy.float32, direction="forward", elements_per_thread=8,
              ffts_per_block=2, execution="Block", compiler="numba")

    def f(data):
        thread_data = cuda.local.array(8, numpy.complex64)
        shared_mem = cuda.shared.array(128, numpy.complex64)
        thread_data[0] = data[0]
        fft(thread_data, shared_mem)
        data[0] = shared_mem[cuda.threadIdx.x]

    assert numba.cubin(f, types.complex64[::1])[:4] == b"\x7fELF"
    assert fft.asked == [(types.complex64, types.complex64)]


def test_code_is_generated_once_for_each_object_and_types(numba, report):
    types = numba.types
    three, four = Scale(numba), Scale(numba, 4)
    for called in (three, four):
        cubins = [numba.cubin(kernel_of(called), kind[::1]) for kind in (types.float32, types.float64, types.float32)]
        assert cubins[0] != cubins[1]
        assert called.asked == [types.float32, types.float64]
    assert report.snapshot()["links_generated"] == 4


def test_literals_are_widened(numba):
    scale = Scale(numba)

    def kernel(data):
        data[0] = scale(7)

    numba.cubin(kernel, numba.types.int64[::1])
    assert scale.asked == [numba.types.int64]


def test_a_device_function_carries_the_code_to_its_kernels(numba):
    scale = Scale(numba)

    @numba.cuda.jit(device=True)
    def inner(value):
        return scale(value) + scale(value)

    @numba.cuda.jit(device=True)
    def outer(value):
        return inner(value)

    def kernel(data):
        data[0] = outer(data[0]) + scale(data[1])

    numba.cubin(kernel, numba.types.float32[::1])
    assert scale.asked == [numba.types.float32]


def test_an_overload_carries_the_code_to_its_kernels(numba):
    scale = Scale(numba)

    def scaled(value):
        raise NotImplementedError

    @numba.overload(scaled)
    def overloaded(value):
        return lambda value: scale(value)

    numba.cubin(kernel_of(scaled), numba.types.float32[::1])
    assert scale.asked == [numba.types.float32]


def test_an_object_is_found_in_a_module(numba):
    module = python_types.ModuleType("module")
    module.scale = Scale(numba)

    def kernel(data):
        data[0] = module.scale(data[0])

    numba.cubin(kernel, numba.types.float32[::1])
    assert module.scale.asked == [numba.types.float32]


def test_an_object_that_a_device_function_gets_as_an_argument_is_found(numba):
    scale = Scale(numba)

    @numba.cuda.jit(device=True)
    def apply(called, value):
        return called(value)

    def kernel(data):
        data[0] = apply(scale, data[0])

    numba.cubin(kernel, numba.types.float32[::1])
    assert scale.asked == [numba.types.float32]


def test_equal_code_of_two_objects_is_linked_once(numba):
    one, other = Scale(numba), Scale(numba)

    def kernel(data):
        data[0] = one(data[0]) + other(data[0])

    numba.cubin(kernel, numba.types.float32[::1])
    assert one.asked == other.asked == [numba.types.float32]


class Given:
    """Links the code that it was made with."""

    def __init__(self, code, signature="float32(float32)"):
        self.code, self.signature = code, signature

    def __numba_cuda_signature__(self, *kinds):
        return "scale_float", self.signature

    def __numba_cuda_link__(self, *kinds):
        return self.code


SOURCE = SCALE.format(type="float", factor=3)


@pytest.mark.parametrize("kind", ["ltoir", "ptx", "cubin"])
def test_the_type_of_bytes_is_found_from_their_beginning(numba, kind):
    numba.cubin(kernel_of(Given(compiled(SOURCE, kind))), numba.types.float32[::1])


def test_cuda_source_is_compiled(numba):
    numba.cubin(kernel_of(Given(SOURCE.encode())), numba.types.float32[::1], lto=True)


@pytest.mark.parametrize("lto", [True, False])
def test_code_is_linked_into_kernels_with_and_without_optimization_at_link_time(numba, lto):
    code = compiled(SOURCE, "ltoir" if lto else "ptx")
    numba.cubin(kernel_of(Given(code)), numba.types.float32[::1], lto=lto)


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "Path"])
def test_the_type_of_a_path_is_found_from_its_extension(numba, tmp_path, as_path):
    file = tmp_path / "scale.ltoir"
    file.write_bytes(compiled(SOURCE))
    numba.cubin(kernel_of(Given(as_path(file))), numba.types.float32[::1])


def test_several_codes_and_linkable_code_are_linked(numba):
    helper = compiled('extern "C" __device__ float helper(float value) { return value + 1; }')
    code = compiled('extern "C" __device__ float helper(float); '
                    'extern "C" __device__ float scale_float(float value) { return helper(value); }')
    numba.cubin(kernel_of(Given([numba.linkable.LTOIR(code), helper])), numba.types.float32[::1])


def test_arguments_are_converted_to_the_types_of_the_signature(numba):
    given = Given(compiled('extern "C" __device__ float scale_float(double one, short other) { return one + other; }'),
                  "float32(float64, int16)")

    def kernel(data):
        data[0] = given(data[0], 3)

    numba.cubin(kernel, numba.types.float32[::1])


def with_typing_of_its_own(numba):
    function = numba.cuda.declare_device("scale_float", "float32(float32)", abi="c")

    class Declared(type(function)):
        def __numba_cuda_link__(self, *kinds):
            assert kinds == (numba.types.float32,)
            return compiled(SOURCE)

    function.__class__ = Declared
    return function


def test_an_object_with_its_own_typing_still_brings_code(numba):
    numba.cubin(kernel_of(with_typing_of_its_own(numba)), numba.types.float32[::1])


@pytest.mark.parametrize("numba", [BACKENDS["numba-cuda"]], ids=["numba-cuda"], indirect=True)
def test_an_object_with_its_own_typing_is_found_in_a_module(numba):
    module = python_types.ModuleType("module")
    module.function = with_typing_of_its_own(numba)

    def kernel(data):
        data[0] = module.function(data[0])

    numba.cubin(kernel, numba.types.float32[::1])


@pytest.mark.parametrize("numba", [BACKENDS["numba-cuda"]], ids=["numba-cuda"], indirect=True)
def test_the_example_of_the_guide_compiles(numba):
    text = (pathlib.Path(__file__).parents[2] / "docs/guide-numba-links.md").read_text()
    [example] = re.findall(r"^```python\n(.*?)^# On a GPU:", text, re.DOTALL | re.MULTILINE)
    scope = {}
    for text, stand_in in (("cccl_cache.numba.install()", ""), ("cuda.get_current_device()", "DEVICE"), ("cache=True", "")):
        example = example.replace(text, stand_in)
    exec(example, scope)
    scope["DEVICE"] = python_types.SimpleNamespace(compute_capability=(9, 0))
    assert numba.cubin(scope["f"], numba.types.complex64[::1])[:4] == b"\x7fELF"


def test_the_guide_installs_the_pinned_release():
    root = pathlib.Path(__file__).parents[2]
    pins = {pin for lock in ("numba", "cuda-python") for pin in
            re.findall(r"^([\w-]+==\S+)", (root / f"scripts/locks/{lock}.txt").read_text(), re.M)}
    named = re.findall(r'"([\w-]+)(?:\[\w+\])?==([\d.]+)"', (root / "docs/guide-numba-links.md").read_text())
    assert len(named) == 4 and all(f"{package}=={release}" in pins for package, release in named)


@pytest.mark.parametrize("takes_types", [True, False])
def test_the_key_and_the_code_of_an_object_are_requested_for_the_same_types(numba, report, takes_types):
    asked = []

    class Keyed(Given):
        def __numba_cuda_link_key__(self, kind):
            asked.append(kind)
            return b"key"

    class Plain(Given):
        def __numba_cuda_link_key__(self):
            return b"key"

    given = (Keyed if takes_types else Plain)(compiled(SOURCE))
    numba.cubin(kernel_of(given), numba.types.float32[::1])
    assert report.snapshot()["links_generated"] == 1
    assert asked == [numba.types.float32] * takes_types


def test_objects_that_no_kernel_called_lately_are_forgotten(numba, report):
    hooks = numba.hooks()(numba.release, report, Deposits("numba.link", Settings(no_daemon), report))
    given = [Given("scale.ltoir") for _ in range(300)]
    first, last = weakref.ref(given[0]), weakref.ref(given[-1])
    for each in given:
        hooks._links.codes(each, (numba.types.float32,), "9.0")
    del given, each
    assert first() is None and last() is not None


class Mine(Exception):
    pass


@pytest.mark.parametrize("method", ["__numba_cuda_signature__", "__numba_cuda_link__"])
def test_an_error_of_the_object_reaches_the_user(numba, method):
    def fail(self, *kinds):
        raise Mine

    given = type("Failing", (Given,), {method: fail})(b"")
    with pytest.raises(Mine):
        numba.cubin(kernel_of(given), numba.types.float32[::1])


@pytest.mark.parametrize("signature, said", [
    ("float32(float32, float32)", "takes 2 arguments"), ("float32(CPointer(float32))", "takes a float32\\*"),
    ("complex64(float32)", "numbers and pointers"), ("(float32,)", "no return type")])
def test_a_signature_that_does_not_fit_is_refused(numba, signature, said):
    with pytest.raises(TypeError, match=said):
        numba.cubin(kernel_of(Given(b"", signature)), numba.types.float32[::1])


@pytest.mark.parametrize("code, said", [(b"\xff\xfe\x00", "no code"), (7, "not a int"), ([None], "not a NoneType")])
def test_an_input_that_is_no_code_is_refused(numba, code, said):
    with pytest.raises(TypeError, match=said):
        numba.cubin(kernel_of(Given(code)), numba.types.float32[::1])


def test_the_error_of_an_object_without_typing_or_signature_names_the_missing_part(numba):
    class Untyped:
        def __numba_cuda_link__(self, kind):
            return b""

    with pytest.raises(Exception, match="__numba_cuda_signature__"):
        numba.cubin(kernel_of(Untyped()), numba.types.float32[::1])


def test_keywords_are_refused(numba):
    given = Given(b"")

    def kernel(data):
        data[0] = given(value=data[0])

    with pytest.raises(TypeError, match="keywords"):
        numba.cubin(kernel, numba.types.float32[::1])
