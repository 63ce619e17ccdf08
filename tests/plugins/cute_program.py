# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that compiles with CuTe DSL at a test's command, without a GPU. Answers each line with a line of JSON.
Exits at SIGTERM.

"compile FILE NUMBER [OPTIONS]": the digest of the object of the kernel in this file, or the error's name.
"gated FILE NUMBER GATE": the same, but the compile waits for a line from this FIFO, and fails if it is "fail".
"damaged FILE NUMBER": deposits a damaged module. "unpacked FILE NUMBER GATE": as "gated", with a module that can't be packed.
"odd FILE NUMBER": compiles with a field of an unknown type. "hooked FILE NUMBER": compiles with a hook that adds a function. "status": the counts of the plug-in.

Each compile appends a line to $COMPILED.
"""

import hashlib
import importlib.util
import json
import os
import pathlib
import signal
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # CuTe DSL prints warnings there

import cutlass  # noqa: E402
import cutlass.cute as cute  # noqa: E402
from cutlass._mlir import ir  # noqa: E402
from cutlass.base_dsl.compiler import PostCompileHookContext  # noqa: E402
from cutlass.base_dsl.dsl import BaseDSL  # noqa: E402
from cutlass.cute.runtime import make_fake_compact_tensor  # noqa: E402
from cccl_cache.steps import Step  # noqa: E402
from cutlass.cutlass_dsl import CuTeDSL  # noqa: E402

compile_module = BaseDSL._compile_or_jit_module
gate = None


class Unmade(Exception):
    pass


def counted(*given, **named):
    with open(os.environ["COMPILED"], "a") as compiled:
        compiled.write("one\n")
    if gate and pathlib.Path(gate).read_text() == "fail":
        raise Unmade
    return compile_module(*given, **named)


BaseDSL._compile_or_jit_module = counted


def load(file):
    spec = importlib.util.spec_from_file_location(f"kernels{len(sys.modules)}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile(file, number, options=""):
    tensors = [make_fake_compact_tensor(cutlass.Float32, (4096,)) for _ in range(2)]
    named = {"options": options} if options else {}
    try:
        made = cute.compile(load(file).scale, *tensors, int(number), **named)
    except Exception as error:
        return type(error).__name__
    return hashlib.sha256(made.dump_to_object("scale")).hexdigest()


def gated(file, number, path):
    global gate
    gate = path
    try:
        return compile(file, number)
    finally:
        gate = None


def hooked(file, number):
    def add(module):
        with module.context, ir.InsertionPoint(module.body):
            ir.Operation.parse("llvm.func @added() { llvm.return }")

    with PostCompileHookContext(CuTeDSL._get_dsl().compiler_provider, add):
        return compile(file, number)


def damaged(file, number):
    put = Step.put
    Step.put = lambda step, value: put(step, b"no module")
    try:
        return compile(file, number)
    finally:
        Step.put = put


def unpacked(file, number, path):
    from cccl_cache.cute import _hooks

    packed = _hooks._packed
    _hooks._packed = lambda module: module.unknown
    try:
        return gated(file, number, path)
    finally:
        _hooks._packed = packed


def odd(file, number):
    from cccl_cache.cute import _hooks

    fields_of = _hooks.fields_of
    _hooks.fields_of = lambda *given: {"odd": []}
    try:
        return compile(file, number)
    finally:
        _hooks.fields_of = fields_of


def status():
    from cccl_cache import cute as plugin

    return plugin.status()


COMMANDS = {"compile": compile, "gated": gated, "hooked": hooked, "damaged": damaged, "unpacked": unpacked, "odd": odd, "status": status}
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
print(json.dumps("ready"), file=answers, flush=True)
for line in sys.stdin:
    command, *given = line.split()
    print(json.dumps(COMMANDS[command](*given)), file=answers, flush=True)
