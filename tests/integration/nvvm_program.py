# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles NVVM IR with libNVVM. Prints one line for each call, with all that a program can observe.

    nvvm_program.py LIBNVVM LIBDEVICE once OPTIONS    compiles once, with options that blanks separate
    nvvm_program.py LIBNVVM LIBDEVICE all             calls each function, in valid and invalid ways
    nvvm_program.py LIBNVVM LIBDEVICE internal        compiles before and after it gets an internal function

Knows nothing of the cache."""

import ctypes
import hashlib
import sys

LAYOUT = ("e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-"
          "v64:64:64-v128:128:128-n16:32:64")
IR = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "{layout}"
declare double @__nv_sin(double)
define void @{name}(double* %x) {{
  %v = load double, double* %x
  %s = call double @__nv_sin(double %v)
  store double %s, double* %x
  ret void
}}
!nvvm.annotations = !{{!0}}
!0 = !{{void (double*)* @{name}, !"kernel", i32 1}}
!nvvmir.version = !{{!1}}
!1 = !{{i32 {version[0]}, i32 {version[1]}, i32 {version[2]}, i32 {version[3]}}}
"""
ARCH = b"-arch=compute_90"
INTERNAL = 0xFEED  # a function number of __nvvmHandle


def strings(values):
    return (ctypes.c_char_p * max(1, len(values)))(*values)


class Program:
    def __init__(self, library, libdevice):
        self.library, self.libdevice = library, libdevice
        version = (ctypes.c_int * 4)()
        places = [ctypes.byref(version, 4 * i) for i in range(4)]
        print("IRVersion", library.nvvmIRVersion(*places))
        self.version = list(version)
        self.handle = ctypes.c_void_p()

    def call(self, name, *arguments):
        """Calls a function. Returns null if the library lacks it."""
        if not hasattr(self.library, f"nvvm{name}"):
            return print(name, "absent")
        code = getattr(self.library, f"nvvm{name}")(*arguments)
        print(name, code, flush=True)
        return code

    def create(self, name="k", lazy=True):
        self.call("CreateProgram", ctypes.byref(self.handle))
        self.add(IR.format(layout=LAYOUT, name=name, version=self.version).encode())
        if lazy:
            self.add(self.libdevice, "LazyAddModuleToProgram", b"libdevice")

    def add(self, contents, function="AddModuleToProgram", name=b"m"):
        self.call(function, self.handle, contents, ctypes.c_size_t(len(contents)), name)

    def run(self, function, *options):
        self.call(f"{function}Program", self.handle, len(options), strings(options))
        self.get("ProgramLog")

    def get(self, kind):
        size = ctypes.c_size_t(12345)
        self.call(f"Get{kind}Size", self.handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(b"\xee" * (size.value + 1))
        self.call(f"Get{kind}", self.handle, buffer)
        print(size.value, hashlib.sha256(buffer.raw).hexdigest() if kind == "CompiledResult" else buffer.raw)

    def compiled(self, *options):
        self.run("Compile", *options)
        self.get("CompiledResult")

    def destroy(self):
        self.call("DestroyProgram", ctypes.byref(self.handle))
        print(self.handle.value)


def once(program, *options):
    program.create()
    program.run("Verify", *options)
    program.compiled(*options)
    program.destroy()


def all_calls(program):
    for options in ((ARCH,), (ARCH, b"-opt=0"), (ARCH, b"-gen-lto"), (ARCH, b"-bogus"), (b"-arch=compute_1",), (ARCH, b"-g")):
        program.create()
        program.get("CompiledResult")
        program.compiled(*options)
        program.compiled(*options)  # the real library compiles twice
        program.run("Verify", ARCH)
        program.add(b"no module")
        program.compiled(ARCH)
        program.destroy()
    program.create(lazy=False)
    program.run("Verify", ARCH, b"-bogus")
    program.compiled(ARCH)  # __nv_sin stays external
    if hasattr(program.library, "nvvmDisableConcurrentAPI"):  # the first releases crash
        program.call("GetCompiledResultSize", program.handle, None)
    program.call("CompileProgram", program.handle, -1, None)
    program.call("CompileProgram", program.handle, 1, None)
    program.destroy()
    program.create("broken(")
    program.run("Verify", ARCH)
    program.compiled(ARCH)
    program.destroy()
    program.call("CreateProgram", ctypes.byref(program.handle))
    program.compiled(ARCH)
    program.add(b"", name=None)
    program.destroy()
    program.call("CompileProgram", None, 0, None)
    program.call("DestroyProgram", ctypes.byref(ctypes.c_void_p()))
    program.library.nvvmGetErrorString.restype = ctypes.c_char_p
    print("GetErrorString", [program.library.nvvmGetErrorString(code) for code in range(12)])
    major, minor = ctypes.c_int(), ctypes.c_int()
    program.call("Version", ctypes.byref(major), ctypes.byref(minor))
    print(major, minor, program.version)
    program.call("LLVMVersion", b"compute_90", ctypes.byref(major))
    print(major)
    program.call("DisableConcurrentAPI")
    for name in ("__nvvmHandle", "__nvvmHandleTarget"):
        if hasattr(program.library, name):
            function = getattr(program.library, name)
            function.restype = ctypes.c_void_p
            print(name, function(0xABCDEF, 0))
        else:
            print(name, "absent")


def internal(program):
    for name in ("before", "after"):
        program.create(name)
        program.compiled(ARCH)
        function = getattr(program.library, "__nvvmHandle")
        function.restype = ctypes.c_void_p
        print(function(0xABCDEF), function(INTERNAL) is None)
        program.get("CompiledResult")
        program.destroy()


def main():
    with open(sys.argv[2], "rb") as libdevice:
        program = Program(ctypes.CDLL(sys.argv[1]), libdevice.read())
    if sys.argv[3] == "once":
        once(program, *(each.encode() for each in sys.argv[4].split()))
    else:
        {"all": all_calls, "internal": internal}[sys.argv[3]](program)


main()
