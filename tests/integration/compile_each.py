# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles programs with NVRTC and prints all outputs of each. Has no knowledge of the cache.

    compile_each.py LIBRARY PROGRAMS

PROGRAMS is a file of JSON: a list of {source, name, options, headers, expressions}. A character stands for a byte."""

import ctypes
import hashlib
import json
import sys


def encoded(text):
    return text.encode("latin-1")


def strings(texts):
    return (ctypes.c_char_p * max(1, len(texts)))(*map(encoded, texts))


def fetch(library, name, program):
    size = ctypes.c_size_t()
    if getattr(library, f"nvrtcGet{name}Size")(program, ctypes.byref(size)) != 0:
        return b""
    buffer = ctypes.create_string_buffer(size.value + 1)
    getattr(library, f"nvrtcGet{name}")(program, buffer)
    return buffer.raw[: size.value]


def compiled(library, each):
    program = ctypes.c_void_p()
    headers, expressions = each.get("headers", {}), each.get("expressions", [])
    assert library.nvrtcCreateProgram(
        ctypes.byref(program), encoded(each["source"]), encoded(each["name"]), len(headers),
        strings(list(headers.values())), strings(list(headers))) == 0
    for expression in expressions:
        assert library.nvrtcAddNameExpression(program, encoded(expression)) == 0
    code = library.nvrtcCompileProgram(program, len(each["options"]), strings(each["options"]))
    lowered = {}
    for expression in expressions if code == 0 else ():
        name = ctypes.c_char_p()
        assert library.nvrtcGetLoweredName(program, encoded(expression), ctypes.byref(name)) == 0
        lowered[expression] = name.value.decode("latin-1")
    ptx = fetch(library, "PTX", program) if code == 0 else b""
    return {"code": code, "log": fetch(library, "ProgramLog", program).rstrip(b"\0").decode("latin-1"),
            "ptx": hashlib.sha256(ptx).hexdigest(), "lowered": lowered}


def main():
    library = ctypes.CDLL(sys.argv[1])
    with open(sys.argv[2], encoding="ascii") as programs:
        print(json.dumps([compiled(library, each) for each in json.load(programs)]))


main()
