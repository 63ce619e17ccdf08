# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Calls every function of NVRTC and nvJitLink, undocumented ones too. Prints one line for each call, with all that a program
can observe.

    every_name_calls.py LIBNVRTC LIBNVJITLINK

Knows nothing of the cache."""

import ctypes
import hashlib
import pathlib
import re
import sys
import tempfile

POINTER, SIZE, TEXT = ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_char_p
TEXTS, NUMBER, NUMBERS = ctypes.POINTER(TEXT), ctypes.c_int, ctypes.POINTER(ctypes.c_int)
HANDLE = ctypes.POINTER(POINTER)  # the place of a handle
CALLBACK = ctypes.CFUNCTYPE(NUMBER, POINTER, POINTER)
DECODE = ctypes.CFUNCTYPE(POINTER, TEXT, POINTER)

ARTIFACTS = ("PTX", "CUBIN", "LTOIR", "OptiXIR", "NVVM", "TileIR")
LINKED = ("LinkedCubin", "LinkedPtx", "LinkedLTOIR", "ErrorLog", "InfoLog")
PROGRAM = (HANDLE, TEXT, TEXT, NUMBER, TEXTS, TEXTS)
NVRTC = {
    "nvrtcVersion": (NUMBERS, NUMBERS), "nvrtcGetErrorString": (NUMBER,), "nvrtcGetNumSupportedArchs": (NUMBERS,),
    "nvrtcGetSupportedArchs": (NUMBERS,), "nvrtcCreateProgram": PROGRAM, "nvrtcDestroyProgram": (HANDLE,),
    "nvrtcCompileProgram": (POINTER, NUMBER, TEXTS), "nvrtcAddNameExpression": (POINTER, TEXT),
    "nvrtcGetLoweredName": (POINTER, TEXT, TEXTS),
    **{f"nvrtcGet{kind}Size": (POINTER, SIZE) for kind in (*ARTIFACTS, "ProgramLog")},
    **{f"nvrtcGet{kind}": (POINTER, POINTER) for kind in (*ARTIFACTS, "ProgramLog")},
    "nvrtcSetFlowCallback": (POINTER, CALLBACK, POINTER), "nvrtcGetPCHCreateStatus": (POINTER,),
    "nvrtcGetPCHHeapSizeRequired": (POINTER, SIZE), "nvrtcGetPCHHeapSize": (SIZE,), "nvrtcSetPCHHeapSize": (ctypes.c_size_t,),
    "nvrtcInstallBundledHeaders": (TEXT, ctypes.c_uint, TEXTS), "nvrtcGetBundledHeadersInfo": (POINTER, TEXTS),
    "nvrtcRemoveBundledHeaders": (TEXT, TEXTS),
    "__nvrtcCPEx": (*PROGRAM, NUMBER, NUMBERS, ctypes.POINTER(POINTER)), "__nvrtcNvvmHandle": (ctypes.c_uint,),
}
LINK = {
    "Create": (HANDLE, ctypes.c_uint32, TEXTS), "Destroy": (HANDLE,), "Complete": (POINTER,),
    "AddData": (POINTER, NUMBER, TEXT, ctypes.c_size_t, TEXT), "AddFile": (POINTER, NUMBER, TEXT),
    **{f"Get{kind}Size": (POINTER, SIZE) for kind in LINKED}, **{f"Get{kind}": (POINTER, POINTER) for kind in LINKED},
}
RESULTS = {"nvrtcGetErrorString": TEXT, "__nvrtcNvvmHandle": POINTER, "__nvJitLinkAPI": POINTER}
ADDS_BITCODE = 0xC0FD  # a function number of __nvJitLinkAPI
BITCODE = b"BC\xc0\xde" + bytes(124)  # only the beginning of bitcode
LTOIR = 3

SOURCE = b"#include <scale.h>\ntemplate <typename T> __global__ void k(T* p) { p[threadIdx.x] *= SCALE; }\n"
HEADER = b"#define SCALE 3\n"
ENCODED = b"\x01"  # the first byte of an encoded text


def texts(*values):
    return (TEXT * max(1, len(values)))(*values)


def say(*words):
    print(*words, flush=True)


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def has(self, name):
        return hasattr(self.library, name)

    def call(self, name, *arguments):
        """Calls a function. Returns null if the library lacks it."""
        if not self.has(name):
            return say(name, "absent")
        function = getattr(self.library, name)
        plain = re.sub(r"^(?:__)?nvJitLink|(_\d+){2}$", "", name)
        function.argtypes = NVRTC.get(name) or LINK.get(plain)
        function.restype = RESULTS.get(name, NUMBER)
        result = function(*arguments)
        say(name, bool(result) if function.restype == POINTER else result)
        return result

    def get(self, name, program, own_bytes=False):
        """Gets a size and as many bytes. `own_bytes`: they contain file names, which are canonical in the daemon's output."""
        size = ctypes.c_size_t(12345)
        self.call(name.replace("#", "Size"), program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(b"\xee" * (size.value + 1))
        self.call(name.replace("#", ""), program, buffer)
        if size.value != 12345:
            say(size.value and (own_bytes or (size.value, hashlib.sha256(buffer.raw).hexdigest())))
        return buffer.raw[:size.value]


def program_is_used(nvrtc, program, *more):
    nvrtc.call("nvrtcAddNameExpression", program, b"k<float>")
    options = (b"-arch=sm_90", *more)
    nvrtc.call("nvrtcCompileProgram", program, len(options), texts(*options))
    for kind in (*ARTIFACTS, "ProgramLog"):
        nvrtc.get(f"nvrtcGet{kind}#", program, kind in ("LTOIR", "NVVM", "OptiXIR"))
    lowered = texts(None)
    nvrtc.call("nvrtcGetLoweredName", program, b"k<float>", lowered)
    nvrtc.call("nvrtcGetPCHCreateStatus", program)
    nvrtc.call("nvrtcGetPCHHeapSizeRequired", program, ctypes.byref(ctypes.c_size_t()))
    say(lowered[0])
    nvrtc.call("nvrtcDestroyProgram", ctypes.byref(program))
    say(program.value)


def encoded(text):
    return ENCODED + bytes(each ^ 0x80 for each in text)


def programs_of_all_kinds(nvrtc):
    decoded = []  # memory that the library points to

    @DECODE
    def decode(text, _):
        plain = bytes(each ^ 0x80 for each in text[1:]) if text.startswith(ENCODED) else text
        copy = ctypes.CDLL(None).strdup
        copy.restype = POINTER
        decoded.append(text)
        return copy(plain)

    @CALLBACK
    def go_on(*_):
        return 0

    extensions = (NUMBER * 2)(1, 2)
    values = (POINTER * 2)(ctypes.cast(decode, POINTER), None)
    headers = (b"scale.h",)
    for flow in (False, True):
        program = POINTER()
        nvrtc.call("nvrtcCreateProgram", ctypes.byref(program), SOURCE, b"x.cu", 1, texts(HEADER), texts(*headers))
        if flow:
            nvrtc.call("nvrtcSetFlowCallback", program, go_on, None)
        program_is_used(nvrtc, program)
    program = POINTER()
    nvrtc.call("__nvrtcCPEx", ctypes.byref(program), SOURCE, b"x.cu", 1, texts(HEADER), texts(*headers), 0, None, None)
    program_is_used(nvrtc, program)
    program = POINTER()
    nvrtc.call("__nvrtcCPEx", ctypes.byref(program), encoded(SOURCE), b"x.cu", 1, texts(encoded(HEADER)), texts(*headers),
               2, extensions, values)
    nvrtc.call("nvrtcSetFlowCallback", program, go_on, None)
    program_is_used(nvrtc, program, b"-DX=1")
    say("decoded", len(decoded))
    nvrtc.call("__nvrtcCPEx", ctypes.byref(program), SOURCE, b"x.cu", 0, None, None, -1, None, None)


def functions_without_a_program(nvrtc):
    major, minor, count, numbers = NUMBER(), NUMBER(), NUMBER(), (NUMBER * 100)()
    size = ctypes.c_size_t()
    nvrtc.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
    nvrtc.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
    nvrtc.call("nvrtcGetSupportedArchs", numbers)
    say(major, minor, count, list(numbers))
    nvrtc.call("nvrtcGetErrorString", 5)
    nvrtc.call("nvrtcGetPCHHeapSize", ctypes.byref(size))
    nvrtc.call("nvrtcSetPCHHeapSize", size.value // 2)
    nvrtc.call("nvrtcGetPCHHeapSize", ctypes.byref(size))
    say(size.value)
    nvrtc.call("__nvrtcNvvmHandle", 0)
    nvrtc.call("__nvrtcNvvmHandle", 0xBEEF)
    info = (ctypes.c_uint64 * 8)()
    log = texts(None)
    nvrtc.call("nvrtcGetBundledHeadersInfo", info, log)
    say(list(info), log[0])
    with tempfile.TemporaryDirectory() as directory:
        nvrtc.call("nvrtcInstallBundledHeaders", directory.encode(), 0, log)
        say(log[0], len(list(pathlib.Path(directory).rglob("*"))))
        nvrtc.call("nvrtcRemoveBundledHeaders", directory.encode(), log)
        say(log[0], len(list(pathlib.Path(directory).rglob("*"))))


def input_of(nvrtc):
    program, size = POINTER(), ctypes.c_size_t()
    call = nvrtc.library
    assert call.nvrtcCreateProgram(ctypes.byref(program), b'extern "C" __global__ void k(int* x) { *x = 1; }', b"a.cu", 0,
                                   None, None) == 0
    assert call.nvrtcCompileProgram(program, 2, texts(b"-arch=sm_90", b"-dlto")) == 0
    assert call.nvrtcGetLTOIRSize(program, ctypes.byref(size)) == 0
    contents = ctypes.create_string_buffer(size.value)
    assert call.nvrtcGetLTOIR(program, contents) == 0
    return contents.raw


def link_by(linker, named, contents, *options, bitcode=None, path=None):
    """Links with a function. `named` gives its name in one release."""
    link = POINTER()
    linker.call(named("Create"), ctypes.byref(link), 2 + len(options), texts(b"-arch=sm_90", b"-lto", *options))
    linker.call(named("AddData"), link, LTOIR, contents, len(contents), b"a")
    if path:
        linker.call(named("AddFile"), link, LTOIR, path)
    if bitcode:
        say("bitcode", bitcode(link, BITCODE, len(BITCODE), b"b"))
    linker.call(named("Complete"), link)
    for kind in LINKED:
        linker.get(named(f"Get{kind}#"), link, kind == "LinkedLTOIR")
    linker.call(named("Destroy"), ctypes.byref(link))
    say(link.value)


def links_by_all_names(linker, contents):
    suffixes = [f"_{major}_{minor}" for major in (12, 13) for minor in range(10)]
    for suffix in suffixes:
        if linker.has(f"__nvJitLinkCreate{suffix}"):
            link_by(linker, lambda name, suffix=suffix: f"__nvJitLink{name}{suffix}", contents)
    if not linker.has("nvJitLinkCreate"):
        return

    def plain(name):
        return f"nvJitLink{name}"

    link_by(linker, plain, contents, b"-ptx", path=b"/absent")
    major, minor = NUMBER(), NUMBER()
    say("nvJitLinkVersion", linker.library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor)), major, minor)
    if linker.has("__nvJitLinkAPI"):
        function = linker.library.__getattr__("__nvJitLinkAPI")
        function.restype, function.argtypes = POINTER, (ctypes.c_uint,)
        say("__nvJitLinkAPI", function(0))
        adds = ctypes.CFUNCTYPE(NUMBER, POINTER, TEXT, ctypes.c_size_t, TEXT)
        link_by(linker, plain, contents, bitcode=adds(function(ADDS_BITCODE)))
        say(function(ADDS_BITCODE) == function(ADDS_BITCODE))


def main():
    nvrtc, linker = Library(sys.argv[1]), Library(sys.argv[2])
    programs_of_all_kinds(nvrtc)
    functions_without_a_program(nvrtc)
    links_by_all_names(linker, input_of(nvrtc))


main()
