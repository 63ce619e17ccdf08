# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that compiles with TileLang at a test's command, without a GPU. Answers each line with a line of JSON.
Exits at SIGTERM.

"compile FILE NUMBER [NAME=VALUE...]": compiles the kernel of this number in this file, and answers with the digests of the
files in TileLang's directory, or the error's name. A NAME with a dot is an option of TileLang's passes, "flag" is a flag of
nvcc, "backend" the execution backend, and "real=1" lets nvcc run.
"gated GATE FILE NUMBER ...": the same, but nvcc waits for a line from this FIFO, and fails if it is "fail".
"damaged FILE NUMBER ...": deposits a damaged directory. "unpacked FILE NUMBER ...": with a directory that can't be packed.
"rewritten FILE NUMBER ...": with a function of the program that changes the code.
"forget": removes all kernels from TileLang's directory and from memory, but not the cubins. "status": the counts of the
plug-in.

"run FILE": the output of a program. "set NAME VALUE": sets an environment variable, or removes it if there is no VALUE.

Each compile of device code appends a line to $COMPILED. Without the option "real" there is no nvcc: the cubin is the source.
"""

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import runpy
import shutil
import signal
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # TileLang logs there

import tilelang  # noqa: E402
import tvm_ffi  # noqa: E402
from tilelang.cache import _dispatch_map  # noqa: E402
from tilelang.contrib import nvcc  # noqa: E402

compile_cuda = nvcc.compile_cuda
gate, real = None, False


def counted(code, *given, **named):
    with open(os.environ["COMPILED"], "a") as compiled:
        compiled.write("one\n")
    if gate and pathlib.Path(gate).read_text() == "fail":
        raise RuntimeError
    return compile_cuda(code, *given, **named) if real else bytearray(code.encode())


nvcc.compile_cuda = counted


def load(file):
    spec = importlib.util.spec_from_file_location(f"kernels{len(sys.modules)}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile(file, number, *options):
    global real
    given = dict(option.split("=", 1) for option in options)
    flags = [given.pop("flag")] if "flag" in given else None
    backend = given.pop("backend", "tvm_ffi")
    real = bool(given.pop("real", ""))
    try:
        made = tilelang.compile(load(file).scale(int(number)), out_idx=[-1], target={"kind": "cuda", "arch": "sm_90a"},
                                execution_backend=backend, compile_flags=flags,
                                pass_configs={name: json.loads(value) for name, value in given.items()})
    except Exception as error:
        return type(error).__name__
    place = pathlib.Path(made._tilelang_cache_path)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(place.iterdir())}


def gated(path, *given):
    global gate
    gate = path
    try:
        return compile(*given)
    finally:
        gate = None


def with_packing(pack, *given):
    from cccl_cache.tilelang import _hooks

    pack_tree = _hooks.pack_tree
    _hooks.pack_tree = pack
    try:
        return compile(*given)
    finally:
        _hooks.pack_tree = pack_tree


def damaged(*given):
    return with_packing(lambda directory: b"no directory", *given)


def unpacked(*given):
    return with_packing(lambda directory: directory.unknown, *given)


def rewritten(*given):
    tilelang.register_cuda_postproc(lambda code, target: f"{code}\n// rewritten")
    try:
        return compile(*given)
    finally:
        tvm_ffi.registry.remove_global_func("tilelang_callback_cuda_postproc")


def forget():
    for cache in _dispatch_map.values():
        cache._memory_cache.clear()
    shutil.rmtree(_dispatch_map["tvm_ffi"]._get_cache_root())
    return True


def set_variable(name, *value):
    os.environ.pop(name, None)
    os.environ.update({name: each for each in value})
    return True


def run(file):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        runpy.run_path(file)
    return said.getvalue()


def status():
    from cccl_cache import tilelang as plugin

    return plugin.status()


COMMANDS = {"compile": compile, "gated": gated, "damaged": damaged, "unpacked": unpacked, "rewritten": rewritten,
            "forget": forget, "run": run, "set": set_variable, "status": status}
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # an error would be that of the compile
print(json.dumps("ready"), file=answers, flush=True)
for line in sys.stdin:
    command, *given = line.split()
    print(json.dumps(COMMANDS[command](*given)), file=answers, flush=True)
