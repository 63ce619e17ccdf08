# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""libcccl_cache.so.1 as it is: its structs, its functions, its errors. What they mean is said in client_c.h."""

from __future__ import annotations

import ctypes
import os
from ctypes import (CDLL, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint32, c_uint64,
                    c_void_p, string_at)

from . import _arguments
from ._errors import Error, error_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


# cccl_cache_artifact_kind by name.
KINDS = {"ptx": 1, "cubin": 2, "ltoir": 3, "optixir": 4}


class Given(Structure):
    """A cccl_cache_bytes that goes in: keeps its bytes object alive."""

    _fields_ = [("data", c_char_p), ("size", c_size_t)]


def _given(name: str) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """The same as two fields of a struct, which is quicker to fill."""
    return (name, c_char_p), (name + "_size", c_size_t)


class Received(Structure):
    """A cccl_cache_bytes that comes out: lives as long as the handle that it was asked from."""

    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    def bytes(self) -> bytes:
        return string_at(self.data, self.size) if self.size else b""

    def text(self) -> str:
        return self.bytes().decode("utf-8", "replace")


def texts(values: Any) -> Any:
    """An array of texts and its length, as a program wants its options."""
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    elements: Any = [(each, len(each)) for each in encoded]
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
    ]


class NamedContents(Structure):
    """cccl_cache_header and cccl_cache_variable."""

    _fields_ = [*_given("name"), *_given("contents")]


def named(pairs: Any) -> tuple[Any, int]:
    """An array of names with contents, and its length."""
    array = (NamedContents * len(pairs))()
    for each, (name, contents) in zip(array, pairs):
        each.__init__(name.encode(), len(name.encode()), contents, len(contents))
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


class ExplanationInfo(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("verdict", c_int),
        ("tier", c_int),
        ("reason", Received),
        ("since_ms", c_uint64),
        ("nearest_key", Received),
        ("nearest_outcome", c_int),
        ("nearest_time_ms", c_uint64),
        ("difference_count", c_size_t),
        ("more_differences", c_uint64),
    ]


class Difference(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("field", c_int),
        ("name", Received),
        ("was", Received),
        ("is_", Received),
        ("was_lines", c_uint64),
        ("is_lines", c_uint64),
    ]


class Statistic(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", Received),
        ("label", Received),
        ("value", c_double),
        ("gauge", c_int32),
        ("help", Received),
    ]


class ToolchainFields(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("id", Received),
        ("version", Received),
        ("root", Received),
        ("selected_by_default", c_int32),
        ("component_count", c_size_t),
        ("header_directory_count", c_size_t),
        ("accepted_option_count", c_size_t),
    ]


class ComponentFields(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", Received),
        ("version", Received),
        ("id", Received),
        ("path", Received),
    ]


class RejectedFields(Structure):
    _fields_ = [("struct_size", c_size_t), ("root", Received), ("reason", Received)]


class DaemonFields(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("version", Received),
        ("api_minor", c_uint32),
        ("fingerprint_layout", c_uint32),
        ("uid", c_uint32),
        ("message_bytes", c_uint64),
        ("source_bytes", c_uint64),
        ("headers", c_uint64),
        ("upload_bytes_per_uid", c_uint64),
        ("connections_per_uid", c_uint64),
        ("calls_per_uid", c_uint64),
        ("calls", c_uint64),
        ("build_seconds", c_uint64),
        ("worker_bytes", c_uint64),
        ("failures_remembered_seconds", c_uint64),
        ("deposit_bytes", c_uint64),
        ("deposit_bytes_per_uid", c_uint64),
        ("leases_per_uid", c_uint64),
        ("lease_heartbeat_ms", c_uint64),
        ("queued", c_uint64),
        ("queued_per_uid", c_uint64),
        ("bytes_in_flight", c_uint64),
        ("bytes_in_flight_per_uid", c_uint64),
        ("connections", c_uint64),
        ("upload_bytes", c_uint64),
        ("lease_seconds", c_uint64),
        ("problem", Received),
    ]


PLACE = os.path.dirname(os.path.abspath(__file__))
_library = CDLL(os.path.join(PLACE, "libcccl_cache.so.1"))


def function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """The library's function `cccl_cache_NAME`. Calls release the interpreter's lock."""
    found = _library["cccl_cache_" + name]
    found.restype = result
    found.argtypes = arguments
    return found


_error_status = function("error_status", c_int, c_void_p)
_error_message = function("error_message", Received, c_void_p)
_error_retry_after_ms = function("error_retry_after_ms", c_uint32, c_void_p)
_error_free = function("error_free", None, c_void_p)
_status_name = function("status_name", c_char_p, c_int)


def name_of(status: int) -> str:
    return str(_status_name(status).decode())


def take_error(error: c_void_p) -> Error:
    """The exception for an error of the library, which is freed."""
    try:
        return error_of(name_of(_error_status(error)), _error_message(error).text(), _error_retry_after_ms(error))
    finally:
        _error_free(error)


def call(function: Callable[..., int], *arguments: Any) -> int:
    """Calls a function that takes a place for its handle and one for its error last; the handle, or raises."""
    handle, error = c_void_p(), c_void_p()
    if function(*arguments, byref(handle), byref(error)):
        raise take_error(error)
    return handle.value or 0


def describe(function: Callable[..., None], fields: Any, *place: Any) -> Any:
    """What a function says that fills a struct of this class."""
    described = fields(ctypes.sizeof(fields))
    function(*place, byref(described))
    return described


def milliseconds(timeout: float | None, name: str = "timeout") -> int:
    """A time in seconds as the library takes it; None: the library's own."""
    if timeout is None:
        return 0
    try:
        return min(max(1, round(timeout * 1000)), 0xFFFFFFFF)
    except TypeError:
        raise _arguments.wrong(name, "a number of seconds", timeout) from None


_version = function("version", c_char_p)


def version() -> str:
    return str(_version().decode())
