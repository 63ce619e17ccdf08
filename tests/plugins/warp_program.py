# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that compiles with Warp at a test's command, without a GPU. Answers each line with a line of JSON.
Exits at SIGTERM.

"compile FILE [NAME=VALUE...]": the digest of the cubin of the kernels in this file, or the error. The names are module
options, and "arch", "ptx", "include" (a directory, with the header "factor.h" that the compile then includes; "MACRO": the
compile includes a header by a macro), "into" (the directory of the results; the default is a new one).
"build FILE [NAME=VALUE...]": the digest of the cubin of a CUDA source, or the error. The names are arguments of build_cuda.
"key FILE [NAME=VALUE...]": the digest of the fields of such a compile, with texts in place of linked code.
"gated FILE GATE": the same, but the compile waits for a line from this FIFO, and fails if it is "fail".
"damaged FILE": deposits no cubin. "set NAME VALUE": sets a variable of the environment; without VALUE, removes it.
"config NAME VALUE": changes Warp's configuration. "chdir DIRECTORY": changes the working directory.
"install": turns the plug-in on. "status": the counts of the plug-in.

Each compile appends a line to $COMPILED.
"""

import hashlib
import importlib.util
import inspect
import json
import os
import pathlib
import signal
import sys
import tempfile

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Warp prints there

import warp as wp  # noqa: E402
from cccl_cache.steps import Step  # noqa: E402

wp.config.log_level = wp.LOG_WARNING
wp.init()
core = wp._src.context.runtime.core
compile_program = core.wp_cuda_compile_program
gate = None


def counted(*given):
    with open(os.environ["COMPILED"], "a") as compiled:
        compiled.write("one\n")
    if gate and pathlib.Path(gate).read_text() == "fail":
        return 6
    return compile_program(*given)


core.wp_cuda_compile_program = counted


def load(file):
    wp._src.context.user_modules.pop("kernels", None)  # or Warp compiles the kernels of earlier files again
    spec = importlib.util.spec_from_file_location("kernels", file)
    module = sys.modules["kernels"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile(file, *options):
    options = {name: json.loads(value) for name, value in (option.split("=") for option in options)}
    arch, ptx, into = options.pop("arch", 90), options.pop("ptx", False), options.pop("into", None)
    include = options.pop("include", None)
    if include == "MACRO":
        options["extra_build_options"] = wp.ModuleBuildOptions(extra_cuda_preamble='#define NAME "array.h"\n#include NAME')
    elif include:
        options["extra_build_options"] = wp.ModuleBuildOptions(
            extra_cuda_include_dirs=[include], extra_cuda_preamble='#include "factor.h"')
    module = load(file)
    wp.set_module_options(options, module)
    try:
        into = into or tempfile.mkdtemp(dir=os.environ["HOME"])
        [made] = wp.compile_aot_module(module, arch=[arch], module_dir=into, use_ptx=ptx)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return hashlib.sha256(made.read_bytes()).hexdigest()


def arguments_of(file, options):
    options = {name: json.loads(value) for name, value in (option.split("=") for option in options)}
    for name in ("ltoirs", "fatbins"):
        if name in options:
            options[name] = [each.encode() for each in options[name]]
    output = tempfile.mktemp(".cubin", dir=os.environ["HOME"])
    return {"cu_path": file, "arch": 90, "output_path": output, "pch_dir": None, **options}


def build(file, *options):
    arguments = arguments_of(file, options)
    try:
        wp._src.build.build_cuda(**arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return hashlib.sha256(pathlib.Path(arguments["output_path"]).read_bytes()).hexdigest()


def key(file, *options):
    from cccl_cache._plugin.canonical import digest
    from cccl_cache.warp._key import fields_of

    given = inspect.signature(wp._src.build.build_cuda).bind(**arguments_of(file, options))
    given.apply_defaults()
    return digest(tuple(sorted(fields_of(given.arguments).items())))


def gated(file, path):
    global gate
    gate = path
    try:
        return compile(file)
    finally:
        gate = None


def damaged(file):
    put = Step.put
    Step.put = lambda step, value: put(step, b"no cubin")
    try:
        return compile(file)
    finally:
        Step.put = put


def set_variable(name, value=None):
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value


def config(name, value):
    setattr(wp.config, name, json.loads(value))


def chdir(directory):
    os.chdir(directory)


def install():
    from cccl_cache import warp as plugin

    return plugin.install()


def status():
    from cccl_cache import warp as plugin

    return plugin.status()


COMMANDS = {"compile": compile, "build": build, "key": key, "gated": gated, "damaged": damaged, "set": set_variable,
            "config": config, "chdir": chdir, "install": install, "status": status}
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
print(json.dumps("ready"), file=answers, flush=True)
for line in sys.stdin:
    command, *given = line.split()
    print(json.dumps(COMMANDS[command](*given)), file=answers, flush=True)
