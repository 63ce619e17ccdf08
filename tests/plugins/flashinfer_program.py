# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that build modules with FlashInfer and TVM-FFI at a test's command, without a GPU.

Usage: flashinfer_program.py SOCKET

Imports the packages once, which takes seconds, and serves each connection in a process of its own. The first line has the
number of that process, which exits at SIGTERM. Each further line is a command in JSON with its arguments, and the answer is a
line of JSON:

"set VARIABLES": sets environment variables, with null to delete one, and the workspaces of both packages if they are named.
"flashinfer NAME SOURCE OPTIONS", "tvm NAME SOURCE OPTIONS": the digest of the built and loaded library, or the error's name.
"inline TEXT": the same, for a function `given` in the text of a C++ source. "status PLUGIN": its counts.
"install PLUGIN", "uninstall PLUGIN": whether the functions that run ninja are the packages' own, and what the plug-in tells.
"replace MODULE NAME": puts another function in the place of one.
"""

import hashlib
import importlib
import json
import os
import pathlib
import signal
import socket
import sys

import tvm_ffi.cpp
from flashinfer.jit import core, env
from tvm_ffi.cpp import extension


def set(variables):
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "FLASHINFER_WORKSPACE_BASE" in variables:
        env.FLASHINFER_JIT_DIR = pathlib.Path(variables["FLASHINFER_WORKSPACE_BASE"]) / "cached_ops"


def flashinfer(name, source, options):
    spec = core.gen_jit_spec(name, [source], **options)
    return loaded(lambda: spec.build_and_load() and spec.jit_library_path)


def tvm(name, source, options):
    return loaded(lambda: tvm_ffi.cpp.build(name, sources=[source], **options))


def inline(text):
    return loaded(lambda: tvm_ffi.cpp.build_inline("inlined", cpp_sources=text, functions=["given"]))


def loaded(build):
    try:
        library = str(build())
        tvm_ffi.load_module(library)
    except Exception as error:
        return type(error).__name__
    return hashlib.sha256(pathlib.Path(library).read_bytes()).hexdigest()


def status(plugin):
    return plugin_of(plugin).status()


def install(plugin):
    plugin_of(plugin).install()
    return [own_functions(), plugin_of(plugin).switch.told()]


def uninstall(plugin):
    plugin_of(plugin).uninstall()
    return [own_functions(), plugin_of(plugin).switch.told()]


def replace(module, name):
    *owners, name = name.split(".")
    owner = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    setattr(owner, name, lambda self, more: None)


def plugin_of(name):
    return importlib.import_module(f"cccl_cache.{name}")


def own_functions():
    return [each.__module__ for each in (core.run_ninja, extension.build_ninja) if not hasattr(each, "__wrapped__")]


COMMANDS = {each.__name__: each for each in (set, flashinfer, tvm, inline, status, install, uninstall, replace)}


def serve(connection):
    os.setsid()
    lines = connection.makefile("rw")
    print(os.getpid(), file=lines, flush=True)
    for line in lines:
        command, *given = json.loads(line)
        print(json.dumps(COMMANDS[command](*given)), file=lines, flush=True)


def main():
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                try:
                    serve(connection)
                finally:
                    os._exit(0)
            connection.close()


signal.signal(signal.SIGTERM, lambda *_: sys.exit())
main()
