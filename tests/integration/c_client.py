# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""libcccl_cache.so.1 through its C interface, as far as tests need it: clients and batches."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

from places import PLACES

NO_TIMEOUT = 0xFFFFFFFF


class Bytes(ctypes.Structure):
    _fields_ = [("data", c_char_p), ("size", c_size_t)]

    @classmethod
    def of(cls, value):
        value = value.encode() if isinstance(value, str) else value
        return cls(value, len(value))


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("socket", Bytes), ("fallback", c_int)]


class BuildOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("toolchain_id", Bytes), ("toolchain_version", Bytes), ("toolchain_major", c_uint32),
        ("driver_version", c_uint32), ("working_directory", Bytes), ("wanted", c_void_p), ("wanted_count", c_size_t),
        ("timeout_ms", c_uint32),
    ]


class Nvrtc(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("source", Bytes), ("name", Bytes), ("options", POINTER(Bytes)),
        ("option_count", c_size_t), ("headers", c_void_p), ("header_count", c_size_t), ("name_expressions", c_void_p),
        ("name_expression_count", c_size_t), ("environment", c_void_p), ("environment_count", c_size_t),
        ("append_toolchain_headers", c_int32),
    ]


class ResultInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("outcome", c_int), ("tier", c_int)]


class Artifact(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int), ("contents", Bytes)]


class BuildFailed(Exception):
    """A failed call. `status` is the library's name of the error."""

    def __init__(self, status, message, tag=None):
        super().__init__(message)
        self.status = status
        self.tag = tag


class Result:
    """The answer to a build. Only the first artifact is read."""

    OUTCOMES = ("unknown", "hit", "built", "joined", "uncacheable", "failed")

    def __init__(self, library, handle):
        info = ResultInfo(ctypes.sizeof(ResultInfo))
        library.cccl_cache_result_describe(handle, byref(info))
        self.outcome = self.OUTCOMES[info.outcome]
        self.contents = None
        if self.outcome != "failed":
            artifact = Artifact(ctypes.sizeof(Artifact))
            library.cccl_cache_result_artifact(handle, c_size_t(0), byref(artifact))
            self.contents = ctypes.string_at(artifact.contents.data, artifact.contents.size)
        library.cccl_cache_result_free(handle)


class Client:
    """One cccl_cache_client that never compiles locally."""

    FALLBACK_ERROR = 1

    def __init__(self, socket):
        self.library = ctypes.CDLL(PLACES.library)
        self.library.cccl_cache_status_name.restype = c_char_p
        self.library.cccl_cache_error_message.restype = Bytes
        self.library.cccl_cache_batch_pending.restype = c_size_t
        for name in ("batch_free", "close", "result_free", "error_free"):
            getattr(self.library, f"cccl_cache_{name}").restype = None
        self.handle = c_void_p()
        error = c_void_p()
        options = OpenOptions(ctypes.sizeof(OpenOptions), Bytes.of(socket), self.FALLBACK_ERROR)
        self.check(self.library.cccl_cache_open(byref(options), byref(self.handle), byref(error)), error)

    def check(self, status, error, tag=None):
        if status == 0:
            return
        message = self.library.cccl_cache_error_message(error)
        text = ctypes.string_at(message.data, message.size).decode()
        self.library.cccl_cache_error_free(error)
        raise BuildFailed(self.library.cccl_cache_status_name(status).decode(), text, tag)

    def build(self, source, timeout=0):
        program, options = request(source, timeout)
        result, error = c_void_p(), c_void_p()
        self.check(
            self.library.cccl_cache_build_nvrtc(
                self.handle, byref(program), byref(options), byref(result), byref(error)), error)
        return Result(self.library, result)

    def close(self):
        self.library.cccl_cache_close(self.handle)


class Batch:
    """One cccl_cache_batch."""

    def __init__(self, client):
        self.client = client
        self.library = client.library
        self.handle = c_void_p()
        error = c_void_p()
        client.check(self.library.cccl_cache_batch_open(client.handle, byref(self.handle), byref(error)), error)

    def add(self, source, tag, timeout=0, options=()):
        program, build_options = request(source, timeout, options)
        error = c_void_p()
        self.client.check(
            self.library.cccl_cache_batch_add_nvrtc(
                self.handle, byref(program), byref(build_options), c_uint64(tag), byref(error)), error)

    def next(self, timeout=NO_TIMEOUT):
        """Returns (tag, result), or None. Raises BuildFailed for a build without a result."""
        tag, result, error = c_uint64(), c_void_p(), c_void_p()
        status = self.library.cccl_cache_batch_next(
            self.handle, c_uint32(timeout), byref(tag), byref(result), byref(error))
        self.client.check(status, error, tag.value)
        return (tag.value, Result(self.library, result)) if result else None

    def cancel(self, tag):
        self.library.cccl_cache_batch_cancel(self.handle, c_uint64(tag))

    @property
    def fd(self):
        return self.library.cccl_cache_batch_fd(self.handle)

    @property
    def pending(self):
        return self.library.cccl_cache_batch_pending(self.handle)

    def free(self):
        self.library.cccl_cache_batch_free(self.handle)


def request(source, timeout, options=()):
    """Returns the structs for a build of CUDA C++ for sm_90. `timeout` is in milliseconds."""
    texts = ["-arch=sm_90", *options]
    program = Nvrtc(struct_size=ctypes.sizeof(Nvrtc), source=Bytes.of(source), name=Bytes.of("kernel.cu"))
    program.options = (Bytes * len(texts))(*map(Bytes.of, texts))
    program.option_count = len(texts)
    program.append_toolchain_headers = 1
    wanted = (c_int * 1)(2)  # the cubin
    build_options = BuildOptions(struct_size=ctypes.sizeof(BuildOptions), timeout_ms=timeout)
    build_options.wanted = ctypes.cast(wanted, c_void_p)
    build_options.wanted_count = 1
    return program, build_options
