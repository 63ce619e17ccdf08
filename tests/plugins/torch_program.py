# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that compiles with torch.compile at a test's command, on the CPU. Answers each line with a line of JSON.

"infer FILE NUMBER": the value of the compiled function of this file, or the error's name. Each command has empty directories.
"train FILE NUMBER": the same with the sum of the gradient. "own FILE NUMBER": as "infer", with the directories of the process.
"gated FILE NUMBER GATE": as "infer", but the compile waits for a line from this FIFO, and fails if it is "fail".
"shapes FILE NUMBER SIZE...": as "infer", for these sizes with dynamic shapes.
"child FILE NUMBER GATE": starts a child that does "gated", and returns its id; with "exit" from the FIFO, it ends there.
"set MODULE NAME VALUE": sets an option. "variable NAME VALUE|none": sets a variable. "backend FILE NUMBER": as "infer" with a
remote cache of the program; returns what that was asked. "status": the plug-in's counts. "install", "uninstall": turn the
plug-in on and off. "hooked": whether functions of torch are changed. "libdevice": Triton's settings in the key, without an
option of torch, with it, and after torch has set the device library as the option says.
"without MODULE NAME": why the plug-in is off without it.

Each compile of a graph appends a line to $COMPILED.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import pathlib
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import torch  # noqa: E402

loaded_by_torch = "cccl_cache" in sys.modules

from torch._inductor import codecache, compile_fx, config, cpp_builder, remote_cache  # noqa: E402
from torch._inductor.utils import fresh_cache  # noqa: E402

torch.set_num_threads(1)
compile_graph = compile_fx.fx_codegen_and_compile
gate = None


class Unmade(Exception):
    pass


def counted(*given, **named):
    with open(os.environ["COMPILED"], "a") as compiled:
        compiled.write("one\n")
    told = pathlib.Path(gate).read_text() if gate else ""
    if told == "fail":
        raise Unmade
    if told == "exit":
        os._exit(0)
    return compile_graph(*given, **named)


compile_fx.fx_codegen_and_compile = counted


def load(file):
    spec = importlib.util.spec_from_file_location(f"steps{len(sys.modules)}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.scale


def run(file, number, sizes=(64,), dynamic=None, train=False, directories=fresh_cache):
    torch._dynamo.reset()
    with directories():
        try:
            made = torch.compile(load(file), dynamic=dynamic)
            values = []
            for size in sizes:
                x = torch.linspace(0, 1, size, requires_grad=train)
                value = made(x, float(number))
                values.append(value.item())
                if train:
                    value.backward()
                    values.append(x.grad.sum().item())
            return values
        except Exception as error:
            while error.__cause__ or getattr(error, "inner_exception", None):
                error = error.__cause__ or error.inner_exception
            return type(error).__name__


def infer(file, number):
    return run(file, number)


def train(file, number):
    return run(file, number, train=True)


def own(file, number):
    return run(file, number, directories=contextlib.nullcontext)


def gated(file, number, path):
    global gate
    gate = path
    try:
        return run(file, number)
    finally:
        gate = None


def shapes(file, number, *sizes):
    return run(file, number, map(int, sizes), dynamic=True)


def child(file, number, path):
    made = os.fork()
    if made == 0:
        gated(file, number, path)
        os._exit(0)
    return made


def set_option(module, name, value):
    setattr(importlib.import_module(module), name, json.loads(value))


def variable(name, value):
    os.environ.pop(name, None)
    if value != "none":
        os.environ[name] = value


def backend(file, number):
    asked = []

    class Own(remote_cache.RemoteCacheBackend):
        def _get(self, key):
            asked.append("get")

        def _put(self, key, data):
            asked.append("put")

    remote_cache.RemoteFxGraphCache.backend_override_cls = Own
    config.fx_graph_remote_cache = True
    try:
        run(file, number)
    finally:
        remote_cache.RemoteFxGraphCache.backend_override_cls = None
        config.fx_graph_remote_cache = None
    return asked


def install():
    from cccl_cache import torch as plugin

    return plugin.install() and plugin.install()


def uninstall():
    from cccl_cache import torch as plugin

    plugin.uninstall()


def status():
    from cccl_cache import torch as plugin

    return plugin.status()


def hooked():
    changed = (codecache.FxGraphCache.get_remote_cache, cpp_builder.CppBuilder.build, compile_fx._compile_fx_inner,
               compile_fx.should_use_remote_fx_graph_cache, codecache._worker_compile_cpp)
    return ["cccl_cache" in str(getattr(function, "__code__", "")) for function in changed]


def libdevice():
    from cccl_cache.torch import _key
    from torch._inductor.runtime import compile_tasks
    from triton import knobs

    settings = [_key.triton_settings()]
    with config.patch("eager_numerics.use_pytorch_libdevice", True), knobs.nvidia.scope():
        settings.append(_key.triton_settings())
        compile_tasks._set_triton_libdevice_path()
        assert knobs.nvidia.libdevice_path
        settings.append(_key.triton_settings())
    return settings


def without(module, name):
    owner = importlib.import_module(module)
    original = getattr(owner, name)
    delattr(owner, name)
    try:
        return [install(), status()["why_off"]]
    finally:
        setattr(owner, name, original)


COMMANDS = {"infer": infer, "train": train, "own": own, "gated": gated, "shapes": shapes, "child": child, "set": set_option,
            "variable": variable, "backend": backend, "status": status, "install": install, "uninstall": uninstall,
            "hooked": hooked, "libdevice": libdevice, "without": without}
print(json.dumps("loaded by torch" if loaded_by_torch else "ready"), file=answers, flush=True)
for line in sys.stdin:
    command, *given = line.split()
    print(json.dumps(COMMANDS[command](*given)), file=answers, flush=True)
