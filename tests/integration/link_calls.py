# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Makes sequences of nvJitLink calls from a seed. Prints one line for each call, with all that a program can observe.

    link_calls.py LIBNVRTC LIBNVJITLINK SEED COUNT

Has no knowledge of the cache. Makes valid and invalid calls, except those that crash a real library."""

import ctypes
import hashlib
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

KERNEL = b'extern "C" __device__ float f(float); extern "C" __global__ void k(float* x) { *x = f(*x); }'
ALONE = b'extern "C" __global__ void k(float* x) { *x = 1; }'
OPERATOR = b'extern "C" __device__ float f(float x) { return x * 3; }'
CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, ANY = 1, 2, 3, 4, 5, 6, 10
OPTIONS = (b"-O3", b"-ptx", b"-lineinfo", b"-ftz=true", b"-fma=0", b"-verbose", b"-bogus", b"-g", b"-O1", b"-O0",
           b"-prec-div=false", b"-kernels-used=k", b"-optimize-unused-variables", b"-maxrregcount=32")


def strings(values):
    return (ctypes.c_char_p * max(1, len(values)))(*values)


def compiled(nvrtc, source, options, kind):
    """Returns the output of NVRTC for a source, as an input of links."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"a.cu", 0, None, None) == 0
    assert nvrtc.nvrtcCompileProgram(program, len(options), strings(options)) == 0
    assert getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)) == 0
    buffer = ctypes.create_string_buffer(size.value)
    assert getattr(nvrtc, f"nvrtcGet{kind}")(program, buffer) == 0
    return buffer.raw


def fatbin_of(cubin):
    """Returns a fatbin with a cubin of sm_90."""
    cubin += b"\0" * (-len(cubin) % 8)
    elf, header = 2, 64
    entry = struct.pack("<HHIQIIHHIIIQQQ", elf, 0x101, header, len(cubin), 0, 0, 0, 0, 90, 0, 0, 0x11, 0, 0) + cubin
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry


def object_and_library_of(fatbin):
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        (place / "f.fatbin").write_bytes(fatbin)
        subprocess.run(["cc", "-c", "-x", "assembler", "-", "-o", "f.o"], cwd=place, text=True, check=True,
                       input='.section __nv_relfatbin,"a"\n.align 8\nfatbin: .incbin "f.fatbin"\n'
                             '.section .nvFatBinSegment,"aw"\n.align 8\n.long 0x466243b1, 1\n.quad fatbin, 0\n')
        subprocess.run(["ar", "crD", "f.a", "f.o"], cwd=place, check=True)
        return (place / "f.o").read_bytes(), (place / "f.a").read_bytes()


def binaries_of(nvrtc):
    """Returns {name: (type, contents)}: the operator in each form but LTO-IR."""
    cubin = compiled(nvrtc, OPERATOR, [b"-arch=sm_90", b"-rdc=true"], "CUBIN")
    fatbin = fatbin_of(cubin)
    made, library = object_and_library_of(fatbin)
    ptx = compiled(nvrtc, OPERATOR, [b"-arch=compute_90", b"-rdc=true"], "PTX")
    forms = {"cubin": (CUBIN, cubin), "fatbin": (FATBIN, fatbin), "object": (OBJECT, made), "library": (LIBRARY, library),
             "ptx": (PTX, ptx)}
    return {**forms, **{f"any {name}": (ANY, contents) for name, (_, contents) in forms.items()}}


def inputs_of(nvrtc):
    """Returns {name: (type, contents)}."""
    lto = {name: compiled(nvrtc, source, [b"-arch=sm_90", b"-dlto"], "LTOIR")
           for name, source in (("kernel", KERNEL), ("alone", ALONE), ("operator", OPERATOR))}
    return {
        **{name: (LTOIR, contents) for name, contents in lto.items()},
        "any": (ANY, lto["operator"]),
        "cubin": (CUBIN, compiled(nvrtc, ALONE, [b"-arch=sm_90", b"-rdc=true"], "CUBIN")),
        "ptx": (PTX, compiled(nvrtc, OPERATOR, [b"-arch=compute_90", b"-rdc=true"], "PTX")),
        "garbage": (LTOIR, b"nothing of the kind"),
        **{f"operator's {name}": form for name, form in binaries_of(nvrtc).items()},
        "cubin of another architecture": (CUBIN, compiled(nvrtc, OPERATOR, [b"-arch=sm_100", b"-rdc=true"], "CUBIN")),
    }


class Session:
    def __init__(self, library, inputs, choice, say):
        self.library, self.inputs, self.choice, self.say = library, inputs, choice, say
        self.link = ctypes.c_void_p()
        self.definitions = {b"k": [], b"f": []}  # whether each is LTO-IR

    def call(self, name, *arguments):
        return getattr(self.library, f"nvJitLink{name}")(*arguments)

    def create(self):
        options = [self.choice.choice((b"-arch=sm_90", b"-arch=sm_90", b"-arch=sm_90a", b"-arch=sm_80", b"-arch=sm_17"))]
        options += [b"-lto"] if self.choice.random() < 0.85 else []
        options += self.choice.sample(OPTIONS, self.choice.choice((0, 0, 0, 1, 1, 2)))
        self.choice.shuffle(options)
        code = self.call("Create", ctypes.byref(self.link), len(options), strings(options))
        self.say("create", options, code, self.link.value is not None)
        return code == 0

    def add(self):
        name = self.choice.choices(list(self.inputs), (8, 6, 8, 4, 2, 2, *[1] * (len(self.inputs) - 6)))[0]
        # After a second definition outside of LTO-IR, the real library reads freed memory.
        defined = self.definitions[b"k" if name in ("kernel", "alone", "cubin") else b"f"]
        defined.append(name in ("kernel", "alone", "operator", "any"))
        if len(defined) > 1 and not all(defined):
            return
        kind, contents = self.inputs[name]
        self.say("add", name, self.call("AddData", self.link, kind, contents, ctypes.c_size_t(len(contents)),
                                         self.choice.choice((name.encode(), b"a name that is longer than a short string"))))

    def complete(self):
        self.say("complete", self.call("Complete", self.link))
        self.get_all()

    def get_all(self, kinds=("LinkedCubin", "LinkedPtx", "ErrorLog", "InfoLog")):
        for kind in kinds:
            size = ctypes.c_size_t(12345)
            code = self.call(f"Get{kind}Size", self.link, ctypes.byref(size))
            if size.value == 12345:
                self.say(kind, code, "untouched")
                continue
            buffer = ctypes.create_string_buffer(b"\xee" * (size.value + 1))
            got = self.call(f"Get{kind}", self.link, buffer)
            if "Log" in kind:
                # Leaves out the size of LTO-IR, which contains file names. Leaves out the place of a first definition,
                # which nvJitLink has forgotten.
                text = buffer.raw.partition(b"first defined in")[0]
                self.say(kind, code, got, [line for line in text.split(b"\n") if b"NVVM70 LTOIR Container" not in line])
            else:
                self.say(kind, code, got, size.value, hashlib.sha256(buffer.raw).hexdigest())

    def run(self):
        if self.create():
            for step in self.choice.choices((self.add, self.complete, self.get_all), (6, 1, 1), k=self.choice.randint(1, 4)):
                step()
            self.complete()
        elif self.link.value:  # some releases crash if the link is used again or destroyed
            return self.get_all(("ErrorLog", "InfoLog"))
        self.say("destroy", self.call("Destroy", ctypes.byref(self.link)), self.link.value)


def main():
    nvrtc, library = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
    inputs = inputs_of(nvrtc)
    seed, count = int(sys.argv[3]), int(sys.argv[4])
    major, minor = ctypes.c_uint(), ctypes.c_uint()
    print(library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor)), major.value, minor.value)
    print([library.nvJitLinkComplete(None), library.nvJitLinkDestroy(None)])
    for number in range(seed, seed + count):
        Session(library, inputs, random.Random(number), lambda *words, of=number: print(of, *words, flush=True)).run()


if __name__ == "__main__":
    main()
