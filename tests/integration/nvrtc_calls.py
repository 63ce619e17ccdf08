# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Makes sequences of NVRTC calls from a seed. Prints one line for each call, with all that a program can observe.

    nvrtc_calls.py LIBRARY SEED COUNT

Has no knowledge of the cache. Makes valid and invalid calls, except those that crash a real library."""

import ctypes
import hashlib
import random
import sys

OK = b'extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2.0f; }\n'
SOURCES = (
    OK,
    b"template <typename T> __global__ void k(T* x) { x[0] = T(1); }\n",
    b'#include "a.h"\nextern "C" __global__ void k(int* x) { *x = VALUE; }\n',
    b'extern "C" __global__ void k(int* x) { int unused; *x = 1; }\n',
    b"__constant__ int table[4]; __device__ int f(int x) { return table[x]; }\n"
    b'extern "C" __global__ void k(int* x) { *x = f(*x); }\n',
    b'extern "C" __global__ void k(int* x) { *x = undeclared; }\n',
    b'extern "C" __global__ void k(int* x) { asm("no_such_instruction;"); }\n',  # the assembler refuses its PTX
    b"",
)
NAMES = (None, b"", b"a.cu", b"dir/b.cu", b"/a/name/that/is/longer/than/a/short/string.cu")
EXPRESSIONS = (b"k<float>", b"k<int>", b"&table", b"nothing<int>", b"k")
ARCHITECTURES = (b"-arch=sm_90", b"-arch=sm_80", b"--gpu-architecture=compute_90", b"-arch=sm_20", b"-arch=sm_90a")
OPTIONS = (
    b"--std=c++17", b"-std=c++20", b"-dlto", b"-lineinfo", b"-use_fast_math", b"-DVALUE=3", b"-bogus", b"-w",
    b"--relocatable-device-code=true", b"-fdevice-syntax-only", b"-optix-ir", b"-I/usr/include", b"--no-source-include",
    b"-maxrregcount=32", b"--minimal", b"-default-device", b"",
)
KINDS = ("ProgramLog", "PTX", "CUBIN", "LTOIR", "OptiXIR", "NVVM", "TileIR")
# Kinds of output that contain file names, which are canonical in the daemon's output.
OWN_BYTES = ("LTOIR", "NVVM", "OptiXIR")
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def strings(values):
    return (ctypes.c_char_p * max(1, len(values)))(*values)


class Session:
    """One sequence of calls. Prints a line for each call."""

    def __init__(self, library, choice, say):
        self.library = library
        self.choice = choice
        self.say = say
        self.program = ctypes.c_void_p()
        self.old = not self.has("nvrtcSetFlowCallback")  # the first releases crash at some wrong calls
        self.keep = []  # objects that the library may still point to

    def call(self, name, *arguments):
        return getattr(self.library, name)(*arguments)

    def has(self, name):
        return hasattr(self.library, name)

    def create(self):
        headers = self.choice.choice(((), ((b"a.h", b"#define VALUE 7\n"),), ((b"a.h", b"#define VALUE 8\n"), (b"b.h", b""))))
        source, name = self.choice.choice(SOURCES), self.choice.choice(NAMES)
        contents, names = strings([each[1] for each in headers]), strings([each[0] for each in headers])
        arguments = (ctypes.byref(self.program), source, name, len(headers), contents, names)
        if self.choice.random() < 0.1:
            code = self.call("__nvrtcCPEx", *arguments, 0, None, None)
        else:
            code = self.call("nvrtcCreateProgram", *arguments)
        self.say("create", code, self.program.value is not None)

    def create_wrongly(self):
        other = ctypes.c_void_p()
        arguments = self.choice.choice((
            (None, OK, None, 0, None, None), (ctypes.byref(other), None, None, 0, None, None),
            (ctypes.byref(other), OK, None, -1, None, None), (ctypes.byref(other), OK, None, 1, None, None),
            (ctypes.byref(other), OK, None, 2, strings([b"", b""]), strings([b"a.h", b"a.h"])),
        ))
        self.say("create wrongly", self.call("nvrtcCreateProgram", *arguments), other.value is not None)

    def add_expression(self):
        self.say("expression", self.call("nvrtcAddNameExpression", self.program, self.choice.choice(EXPRESSIONS)))

    def compile(self):
        options = [self.choice.choice(ARCHITECTURES)] if self.choice.random() < 0.9 else []
        options += self.choice.sample(OPTIONS, self.choice.choice((0, 0, 1, 1, 2)))
        self.say("compile", options, self.call("nvrtcCompileProgram", self.program, len(options), strings(options)))
        self.get_all()

    def compile_wrongly(self):
        arguments = self.choice.choice(((self.program, -1, None), (self.program, 1, None), (None, 0, None)))
        self.say("compile wrongly", self.call("nvrtcCompileProgram", *arguments))

    def get(self, kind):
        if not self.has(f"nvrtcGet{kind}"):
            return self.say(kind, "absent")
        size = ctypes.c_size_t(12345)
        code = self.call(f"nvrtcGet{kind}Size", self.program, ctypes.byref(size))
        if not self.program.value:
            return self.say(kind, code, size.value)
        buffer = ctypes.create_string_buffer(b"\xee" * (size.value + 1))
        got = self.call(f"nvrtcGet{kind}", self.program, buffer)
        contents = buffer.raw[:size.value + 1]
        if kind in OWN_BYTES and size.value:
            return self.say(kind, code, got, "some")
        if kind == "ProgramLog":  # after some failures the real library counts two NULs
            return self.say(kind, code, got, contents[:-1].rstrip(b"\0"), contents.endswith(b"\0\xee"))
        shown = contents if len(contents) < 200 else hashlib.sha256(contents).hexdigest()
        return self.say(kind, code, got, size.value, shown)

    def get_all(self):
        for kind in KINDS:
            self.get(kind)
        for expression in EXPRESSIONS if self.program.value or not self.old else ():
            name = ctypes.c_char_p()
            code = self.call("nvrtcGetLoweredName", self.program, expression, ctypes.byref(name))
            self.say("lowered", expression, code, name.value)
        if self.program.value and self.has("nvrtcGetPCHCreateStatus"):
            size = ctypes.c_size_t(12345)
            self.say("pch", self.call("nvrtcGetPCHCreateStatus", self.program),
                     self.call("nvrtcGetPCHHeapSizeRequired", self.program, ctypes.byref(size)), size.value)

    def get_wrongly(self):
        self.say("get wrongly", *(
            self.call(f"nvrtcGet{kind}Size", None, ctypes.byref(ctypes.c_size_t())) for kind in KINDS[1:5]))
        if not self.old:
            self.say("lowered wrongly", self.call("nvrtcGetLoweredName", None, b"k", ctypes.byref(ctypes.c_char_p())))
        if self.program.value:
            self.say("into nothing", self.call("nvrtcGetPTXSize", self.program, None),
                     self.call("nvrtcGetPTX", self.program, None), self.call("nvrtcGetCUBIN", self.program, None),
                     self.call("nvrtcGetProgramLog", self.program, None))

    def set_callback(self):
        if not self.has("nvrtcSetFlowCallback"):
            return
        calls = []
        callback = CALLBACK(lambda *_: calls.append(1) or 0)
        self.keep.append(callback)
        self.say("callback", self.call("nvrtcSetFlowCallback", self.program, callback, None))

    def ask_about_the_library(self):
        major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        self.say("version", self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor)), major.value, minor.value,
                 self.call("nvrtcVersion", None, ctypes.byref(minor)))
        self.say("count", self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count)), count.value,
                 self.call("nvrtcGetNumSupportedArchs", None), self.call("nvrtcGetSupportedArchs", None))
        numbers = (ctypes.c_int * max(1, count.value))()
        self.say("architectures", self.call("nvrtcGetSupportedArchs", numbers), list(numbers))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
        self.say("errors", [self.library.nvrtcGetErrorString(code) for code in range(-1, 20)])

    def destroy(self):
        self.say("destroy", self.call("nvrtcDestroyProgram", ctypes.byref(self.program)), self.program.value)

    def run(self):
        if self.choice.random() < 0.9:
            self.create()
        steps = (self.add_expression, self.compile, self.compile_wrongly, self.get_wrongly, self.get_all,
                 self.create_wrongly, self.set_callback)
        weights = (5, 6, 1, 1, 1, 1, 0.4)
        for step in self.choice.choices(steps, weights, k=self.choice.randint(1, 5)):
            if self.program.value or step in (self.compile_wrongly, self.get_wrongly, self.create_wrongly):
                step()
        self.get_all()
        self.destroy()
        self.destroy()


def main():
    path, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    library = ctypes.CDLL(path)
    for number in range(seed, seed + count):
        def say(*words, of=number):
            print(of, *words, flush=True)

        session = Session(library, random.Random(number), say)
        session.run()
        if number % 50 == 0:
            session.ask_about_the_library()


main()
