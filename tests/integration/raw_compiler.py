# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Calls NVRTC, nvJitLink or libNVVM directly, as a program without the daemon does. Reads one JSON object from standard
input, writes one to standard output; run as a process of its own, so that no compiler is loaded into the tests."""

import base64
import ctypes
import json
import pathlib
import sys


def library(root, pattern, preload=None):
    """Returns the only file below `root` that the pattern matches."""

    def only(glob):
        found = sorted(path for path in pathlib.Path(root).rglob(glob) if ".alt." not in path.name)
        assert found, f"no {glob} below {root}"
        return str(found[0])

    if preload:
        ctypes.CDLL(only(preload), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(only(pattern))


def strings(values):
    return (ctypes.c_char_p * len(values))(*[value.encode() for value in values])


def fetch(size_of, get, handle):
    size = ctypes.c_size_t()
    if size_of(handle, ctypes.byref(size)) != 0 or size.value <= 1:
        return None
    buffer = ctypes.create_string_buffer(size.value)
    assert get(handle, buffer) == 0
    return buffer.raw


def nvrtc(job):
    lib = library(job["root"], "libnvrtc.so.1[0-9]", "libnvrtc-builtins.so.1*")
    program = ctypes.c_void_p()
    headers = job.get("headers", {})
    assert lib.nvrtcCreateProgram(
        ctypes.byref(program), job["source"].encode(), job["name"].encode(), len(headers),
        strings(list(headers.values())), strings(list(headers)),
    ) == 0
    for expression in job.get("name_expressions", ()):
        assert lib.nvrtcAddNameExpression(program, expression.encode()) == 0
    code = lib.nvrtcCompileProgram(program, len(job["options"]), strings(job["options"]))
    outputs = {
        kind: fetch(getattr(lib, f"nvrtcGet{name}Size"), getattr(lib, f"nvrtcGet{name}"), program)
        for kind, name in (("ptx", "PTX"), ("cubin", "CUBIN"), ("ltoir", "LTOIR"), ("optixir", "OptiXIR"))
    }
    outputs["log"] = fetch(lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, program)
    for expression in job.get("name_expressions", ()) if code == 0 else ():
        lowered = ctypes.c_char_p()
        assert lib.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(lowered)) == 0
        outputs[f"lowered {expression}"] = lowered.value
    return code, outputs


def link(job):
    lib = library(job["root"], "libnvJitLink.so.1[0-9]")
    handle = ctypes.c_void_p()
    options = strings(job["options"])
    create = next(
        getattr(lib, name) for name in ("nvJitLinkCreate", "__nvJitLinkCreate_13_0", "__nvJitLinkCreate_12_9")
        if hasattr(lib, name)
    )
    assert create(ctypes.byref(handle), len(options), options) == 0
    for kind, data in job["inputs"]:  # 1 cubin, 2 PTX, 3 LTO-IR
        data = base64.b64decode(data)
        assert lib.nvJitLinkAddData(handle, kind, data, ctypes.c_size_t(len(data)), b"input") == 0
    code = lib.nvJitLinkComplete(handle)
    outputs = {
        kind: fetch(getattr(lib, f"nvJitLinkGetLinked{name}Size"), getattr(lib, f"nvJitLinkGetLinked{name}"), handle)
        for kind, name in (("cubin", "Cubin"), ("ptx", "Ptx"))
    }
    return code, outputs


def nvvm(job):
    lib = library(job["root"], "libnvvm.so*")
    program = ctypes.c_void_p()
    assert lib.nvvmCreateProgram(ctypes.byref(program)) == 0
    for name, text in job["modules"]:
        text = text.encode()
        assert lib.nvvmAddModuleToProgram(program, text, ctypes.c_size_t(len(text)), name.encode()) == 0
    code = lib.nvvmCompileProgram(program, len(job["options"]), strings(job["options"]))
    outputs = {"ptx": fetch(lib.nvvmGetCompiledResultSize, lib.nvvmGetCompiledResult, program)}
    return code, outputs


def main():
    job = json.load(sys.stdin)
    code, outputs = {"nvrtc": nvrtc, "link": link, "nvvm": nvvm}[job["kind"]](job)
    encoded = {kind: base64.b64encode(data).decode() for kind, data in outputs.items() if data is not None}
    json.dump({"code": code, "outputs": encoded}, sys.stdout)


main()
