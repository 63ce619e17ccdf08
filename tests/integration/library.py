# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A program that makes several builds: libcccl_cache through its C interface, in a process of its own."""

import ctypes
import json
import pathlib
import subprocess
import sys


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

    @staticmethod
    def of(text):
        data = str(text).encode()
        return Bytes(data, len(data))


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("socket", Bytes), ("fallback", ctypes.c_int),
                ("local_after_ms", ctypes.c_uint32), ("local_compiler", Bytes), ("quiet_fallback", ctypes.c_int32)]


class Nvrtc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("source", Bytes), ("name", Bytes),
                ("options", ctypes.POINTER(Bytes)), ("option_count", ctypes.c_size_t)]


class BuildOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("toolchain_id", Bytes), ("toolchain_version", Bytes),
                ("toolchain_major", ctypes.c_uint32), ("driver_version", ctypes.c_uint32),
                ("working_directory", Bytes), ("wanted", ctypes.c_void_p), ("wanted_count", ctypes.c_size_t),
                ("timeout_ms", ctypes.c_uint32)]


class ResultInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("outcome", ctypes.c_int), ("tier", ctypes.c_int), ("key", Bytes),
                ("fingerprint", Bytes), ("toolchain_id", Bytes), ("toolchain_version", Bytes), ("log", Bytes),
                ("reason", Bytes)]


def text_of(value):
    return value.data[:value.size].decode()


def main():
    """Opens a client with the settings of the first line, then makes one build for each line. Answers each with a
    line."""
    opened = json.loads(sys.stdin.readline())
    library = ctypes.CDLL(opened["library"])
    library.cccl_cache_outcome_name.restype = ctypes.c_char_p
    library.cccl_cache_status_name.restype = ctypes.c_char_p
    library.cccl_cache_error_message.restype = Bytes
    options = OpenOptions(ctypes.sizeof(OpenOptions), Bytes.of(opened["socket"]), 0, opened["local_after_ms"],
                          Bytes.of(""), 0)
    client, error = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.cccl_cache_open(ctypes.byref(options), ctypes.byref(client), ctypes.byref(error)) == 0
    for line in sys.stdin:
        asked = json.loads(line)
        options = ["-arch=sm_90", *asked["options"]]
        flags = (Bytes * len(options))(*map(Bytes.of, options))
        program = Nvrtc(ctypes.sizeof(Nvrtc), Bytes.of(asked["source"]), Bytes.of("k.cu"), flags, len(options))
        build = BuildOptions(ctypes.sizeof(BuildOptions), timeout_ms=asked["timeout_ms"])
        result = ctypes.c_void_p()
        status = library.cccl_cache_build_nvrtc(client, ctypes.byref(program), ctypes.byref(build),
                                                ctypes.byref(result), ctypes.byref(error))
        if status != 0:
            answer = {"error": library.cccl_cache_status_name(status).decode(),
                      "message": text_of(library.cccl_cache_error_message(error))}
        else:
            info = ResultInfo(ctypes.sizeof(ResultInfo))
            library.cccl_cache_result_describe(result, ctypes.byref(info))
            answer = {"outcome": library.cccl_cache_outcome_name(info.outcome).decode(), "reason": text_of(info.reason)}
        print(json.dumps(answer), flush=True)


class Library:
    """That program, controlled by a test. Its client keeps no results, so each build shows its origin."""

    def __init__(self, environment, socket, local_after_ms=0, cwd=None):
        from places import PLACES

        library = next((pathlib.Path(PLACES.cli).parents[1] / "client").glob("libcccl_cache.so.1"))
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cwd,
            env={"PATH": "/usr/bin:/bin", "CCCL_CACHE_PROCESS_BYTES": "off", **environment})
        self.pid = self.process.pid
        self._say({"library": str(library), "socket": str(socket), "local_after_ms": local_after_ms})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def build(self, source, timeout_ms=0, options=()):
        """Returns {"outcome", "reason"} or {"error", "message"}. None if the program has ended."""
        self._say({"source": source, "timeout_ms": timeout_ms, "options": list(options)})
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def kill(self):
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    main()
