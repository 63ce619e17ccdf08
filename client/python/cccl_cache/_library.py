# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The structs and functions of libcccl_cache.so.1, the checks of their arguments, and the CUDA version for a build that
names no toolchain. client_c.h documents the structs and functions."""

from __future__ import annotations

import ctypes
import os
import reprlib
import sys
from ctypes import (CDLL, POINTER, Structure, byref, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64,
                    c_void_p, string_at)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


# cccl_cache_artifact_kind by name.
KINDS = {"ptx": 1, "cubin": 2, "ltoir": 3, "optixir": 4}
# cccl_cache_priority by name.
PRIORITIES = {"interactive": 1, "normal": 2, "warm-up": 3}

# cccl_cache_on_miss by name.
ON_MISS = {"wait": 0, "refuse": 1, "finish": 2}


class Given(Structure):
    """A cccl_cache_bytes that is an argument. It keeps its bytes object alive."""

    _fields_ = [("data", c_char_p), ("size", c_size_t)]


def _given(name: str) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """Returns the two fields of a cccl_cache_bytes. They are filled faster than a struct inside a struct."""
    return (name, c_char_p), (name + "_size", c_size_t)


class Received(Structure):
    """A cccl_cache_bytes that the library returns. Valid as long as the handle that owns the bytes."""

    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    def bytes(self) -> bytes:
        return string_at(self.data, self.size) if self.size else b""

    def text(self) -> str:
        """Returns the text for a person. Bytes that are not UTF-8 become escapes, so that the text can always be printed."""
        return self.bytes().decode("utf-8", "backslashreplace")

    def name(self) -> str:
        """Returns the text for which `encoded` returns these bytes."""
        return self.bytes().decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Returns the bytes of a name or option. The names of files may hold bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def texts(values: Any) -> Any:
    """Returns an array of texts and its length."""
    given = [encoded(value) if isinstance(value, str) else value for value in values]
    elements: Any = [(each, len(each)) for each in given]
    return (Given * len(elements))(*elements), len(elements)


class OpenOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        *_given("socket"),
        ("fallback", c_int),
        ("local_after_ms", c_uint32),
        *_given("local_compiler"),
        ("quiet_fallback", c_int32),
        ("process_cache_bytes", c_uint64),
        ("silence_ms", c_uint32),
    ]


class BuildOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        *_given("toolchain_id"),
        *_given("toolchain_version"),
        ("toolchain_major", c_uint32),
        ("driver_version", c_uint32),
        *_given("working_directory"),
        ("wanted", POINTER(c_int)),
        ("wanted_count", c_size_t),
        ("timeout_ms", c_uint32),
        ("as_this_process", c_uint64),
        ("priority", c_int),
        ("on_miss", c_int),
    ]


class NamedContents(Structure):
    """cccl_cache_header and cccl_cache_variable."""

    _fields_ = [*_given("name"), *_given("contents")]


def named(pairs: Any) -> tuple[Any, int]:
    """Returns an array of names with contents, and its length."""
    array = (NamedContents * len(pairs))()
    for each, (name, contents) in zip(array, pairs):
        each.__init__(encoded(name), len(encoded(name)), contents, len(contents))
    return array, len(pairs)


class NvrtcProgram(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        *_given("source"),
        *_given("name"),
        ("options", POINTER(Given)),
        ("option_count", c_size_t),
        ("headers", POINTER(NamedContents)),
        ("header_count", c_size_t),
        ("name_expressions", POINTER(Given)),
        ("name_expression_count", c_size_t),
        ("environment", POINTER(NamedContents)),
        ("environment_count", c_size_t),
        ("append_toolchain_headers", c_int32),
    ]


class LinkFile(Structure):
    _fields_ = [("type", c_int), *_given("name"), *_given("contents")]


class LinkProgram(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("inputs", POINTER(LinkFile)),
        ("input_count", c_size_t),
        ("options", POINTER(Given)),
        ("option_count", c_size_t),
    ]


class NvvmFile(Structure):
    _fields_ = [*_given("name"), *_given("contents"), ("lazy", c_int32)]


class NvvmProgram(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("modules", POINTER(NvvmFile)),
        ("module_count", c_size_t),
        ("options", POINTER(Given)),
        ("option_count", c_size_t),
        ("add_libdevice", c_int32),
    ]


class ResultInfo(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("outcome", c_int),
        ("tier", c_int),
        ("key", Received),
        ("fingerprint", Received),
        ("toolchain_id", Received),
        ("toolchain_version", Received),
        ("log", Received),
        ("reason", Received),
        ("native_code", c_int32),
        ("remembered", c_int32),
        ("precompiled_headers", c_int32),
        ("queue_us", c_uint64),
        ("compile_us", c_uint64),
        ("total_us", c_uint64),
        ("artifact_count", c_size_t),
        ("lowered_name_count", c_size_t),
        ("saved_us", c_uint64),
        ("request_id", c_uint64),
        ("hint", Received),
    ]


class Answer(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("result", c_void_p),
        ("error", c_void_p),
        ("outcome", c_int),
        ("kind", c_int),
        ("contents", Received),
    ]


class Artifact(Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int), ("contents", Received), ("sha256", Received)]


class LoweredName(Structure):
    _fields_ = [("struct_size", c_size_t), ("expression", Received), ("lowered", Received)]


class QueryOptions(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("arguments", POINTER(Given)),
        ("argument_count", c_size_t),
        ("timeout_ms", c_uint32),
        ("progress", c_void_p),
        ("context", c_void_p),
    ]


PLACE = os.path.dirname(os.path.abspath(__file__))
_library = CDLL(os.path.join(PLACE, "libcccl_cache.so.1"))


def function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Returns the library's function `cccl_cache_NAME`. A call releases the interpreter's lock."""
    found = _library["cccl_cache_" + name]
    found.restype = result
    found.argtypes = arguments
    return found


def describe(function: Callable[..., None], fields: Any, *place: Any) -> Any:
    """Returns a struct of class `fields` that `function` has filled."""
    described = fields(ctypes.sizeof(fields))
    function(*place, byref(described))
    return described


_version = function("version", c_char_p)


def version() -> str:
    return str(_version().decode())


# Checks of arguments. Each raises a TypeError that names the argument. A check runs at the first use of a value or after
# an error, so that it costs a repeated hit no time.


def milliseconds(timeout: float | None, name: str = "timeout") -> int:
    """Returns a time in seconds as the library takes it. None stands for the library's default."""
    if timeout is None:
        return 0
    try:
        return min(max(1, round(timeout * 1000)), 0xFFFFFFFF)
    except TypeError:
        raise wrong_type(name, "a number of seconds", timeout) from None


def wrong_type(name: str, wanted: str, given: object) -> TypeError:
    """Returns the error for the caller to raise."""
    return TypeError(f"{name} must be {wanted}, not {reprlib.repr(given)} ({type(given).__name__})")


def check_type(name: str, wanted: str, given: object, *kinds: type) -> None:
    if not isinstance(given, kinds):
        raise wrong_type(name, wanted, given) from None


def checked_sequence(name: str, wanted: str, given: Any, *kinds: type) -> tuple[Any, ...]:
    """Returns the elements, which must be of these types. Refuses a text, which Python would iterate by character."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__iter__"):
        raise wrong_type(name, f"a sequence of {wanted}", given) from None
    elements = tuple(given)
    for each in elements:
        check_type(f"each of {name}", wanted, each, *kinds)
    return elements


def checked_inputs(name: str, given: Any) -> tuple[Any, ...]:
    """Returns the inputs of a link, or the modules of NVVM IR."""
    return checked_sequence(name, "contents, or of tuples of a name and contents", given, object)


def checked_options(arch: Any, options: Any) -> tuple[Any, ...]:
    """Checks the type of the architecture. Returns the options."""
    check_type("arch", 'a str such as "sm_90", or "native"', arch, str)
    return checked_sequence("options", "str", options, str, bytes)


def arch_of(given: str, prefix: str = "sm_") -> str:
    """Returns the architecture as the compilers take it. ``"native"`` stands for that of the first GPU."""
    return prefix + _native_arch() if given == "native" else given


def check_build(arch: Any, emit: Any, include_dirs: Any, options: Any, name: Any, name_expressions: Any,
                working_directory: Any) -> None:
    """Checks the arguments of a build of CUDA C++, except the source and the headers."""
    checked_options(arch, options)
    checked_sequence("include_dirs", "str or path-like", include_dirs, str, os.PathLike)
    checked_sequence("name_expressions", "str", name_expressions, str, bytes)
    check_type("name", "a str", name, str, type(None))
    check_type("working_directory", "a str or path-like", working_directory, str, bytes, os.PathLike, type(None))
    if not isinstance(emit, str):
        checked_sequence("emit", "str", emit, str)


# The CUDA version of this process.

_loaded_major = function("loaded_cuda_major", c_uint32)
_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvmap", "/dev/nvgpu")
_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
_driver: int | None = None


def cuda_major() -> int:
    """Returns the major version of the CUDA libraries that this process has loaded, else that of the imported
    `cuda.bindings`, else 0."""
    found = int(_loaded_major())
    if found:
        return found
    bindings = sys.modules.get("cuda.bindings")
    version = getattr(bindings, "__version__", "").partition(".")[0]
    return int(version) if version.isdigit() else 0


def driver_version() -> int:
    """Returns the result of cuDriverGetVersion, which is called once per process. 0: this machine has no driver."""
    global _driver
    if _driver is None:
        _driver = _ask_driver()
    return _driver


def _native_arch() -> str:
    """Returns the compute capability of the first GPU: "90"."""
    numbers = c_int(), c_int()
    try:
        driver = CDLL("libcuda.so.1")
        failed = driver.cuInit(0) or any(driver.cuDeviceGetAttribute(byref(number), attribute, 0)
                                         for number, attribute in zip(numbers, _CAPABILITY))
    except (OSError, AttributeError) as error:
        failed = error
    if failed:
        raise ValueError(f'arch="native" asks the CUDA driver, which answers {failed}: name the architecture, such as "sm_90"')
    return "".join(str(number.value) for number in numbers)


def _ask_driver() -> int:
    # Without one of these devices there is no GPU. Loading libcuda to find that out would take milliseconds.
    if not any(map(os.path.exists, _DEVICES)):
        return 0
    version = c_int()
    try:
        failed = CDLL("libcuda.so.1").cuDriverGetVersion(byref(version))
    except (OSError, AttributeError):
        return 0
    return 0 if failed else version.value
