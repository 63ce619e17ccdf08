# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A training step of JAX on a GPU with the plug-in: checks the numbers, and that each executable is compiled once.

Usage: jax_plugin.py [--processes N] [CASE...]

Trains a small model for some steps, in processes that begin at the same moment, over the unused daemon at CCCL_CACHE_SOCKET.
JAX's own cache has no directory unless the case says otherwise. Cases:

    alone       one process, without the plug-in           first       one process, with it
    again       one process, with it: the daemon has all   filled      the same, and an empty directory of JAX's own cache
    own         one process, without it, the directory of "filled"
    many_alone  N processes, without the plug-in           many        N processes with it, another model than before
    ranks       two processes of one job on two devices, with it: each trains on its own device, then both on both

Default: all cases, "ranks" if there are two devices. Prints a line for each. Exit status 1 if a number is wrong, or if an
executable is compiled twice with the plug-in. Needs JAX with CUDA, and the package installed with its .pth file.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

CASES = {  # name: (number of processes or None for N, plug-in, width of the model, whether JAX's own cache has a directory)
    "alone": (1, False, 256, False),
    "first": (1, True, 256, False),
    "again": (1, True, 256, False),
    "filled": (1, True, 256, True),
    "own": (1, False, 256, True),
    "many_alone": (None, False, 320, False),
    "many": (None, True, 320, False),
    "ranks": (2, True, 384, False),
}
NOTHING_TO_COMPILE = ("again", "filled", "own")  # the cases after "first"


def count_compiles():
    """Returns a list to which each compile of XLA in this process adds the module's name and text."""
    from jax._src import compiler

    compiled, compile = [], compiler.backend_compile_and_load

    def counted(backend, module, *given, **named):
        compiled.append(str(module))
        return compile(backend, module, *given, **named)

    compiler.backend_compile_and_load = counted
    return compiled


def train(width, sharding=None):
    """Trains a model from fixed numbers. Returns the loss after some steps."""
    import jax
    import jax.numpy as jnp
    import numpy

    def put(seed, *shape, sharding=None):
        numbers = numpy.random.default_rng(seed).standard_normal(shape, dtype=numpy.float32) / shape[-1] ** 0.5
        return jax.device_put(numbers) if sharding is None else jax.make_array_from_process_local_data(sharding, numbers)

    def loss(weights, x, y):
        for grow, shrink in weights:
            x = x + jax.nn.gelu(x @ grow) @ shrink
            x = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
        return jnp.mean((x - y) ** 2)

    @jax.jit
    def step(weights, x, y):
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        return value, jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients)

    weights = [(put(n, width, 4 * width), put(10 + n, 4 * width, width)) for n in range(3)]
    if sharding is not None:
        whole = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
        weights = jax.tree.map(lambda weight: jax.make_array_from_process_local_data(whole, numpy.asarray(weight)), weights)
    x, y = (put(seed, 64, width, sharding=sharding) for seed in (20, 21))
    for _ in range(3):
        value, weights = step(weights, x, y)
    return float(value.addressable_data(0))


def measure(width, rank, address):
    """Runs one process: reports that it is ready, waits for a line, trains, and reports."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print there
    import jax

    compiled = count_compiles()
    if address:
        jax.distributed.initialize(address, num_processes=2, process_id=rank)
    jax.devices()
    print("ready", file=answers, flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    losses = [train(width)]
    seconds = time.perf_counter() - began
    local = list(compiled)
    if address:
        mesh = jax.make_mesh((2,), ("all",))
        losses.append(train(width, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("all"))))
    import cccl_cache.jax

    status = cccl_cache.jax.status()
    print(json.dumps({"losses": losses, "seconds": seconds, "compiled": local, "on": status["on"], "hits": status["hits"],
                      "made": status["made"], "not_cached": status["not_cached"], "errors": status["errors"]}), file=answers, flush=True)


def run(place, processes, plugin, width, own, ranks):
    """Runs one case. Returns the answers of its processes."""
    environment = {**os.environ, "CCCL_CACHE_JAX": "1" if plugin else "0", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                   "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    if own:
        environment["JAX_COMPILATION_CACHE_DIR"] = str(place / "own")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}" if ranks else ""
    started = [
        subprocess.Popen([sys.executable, __file__, "--measure", str(rank), "--width", str(width), "--address", address],
                         env={**environment, "CUDA_VISIBLE_DEVICES": str(rank)} if ranks else environment,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for rank in range(processes)]
    for process in started:
        assert process.stdout.readline() == "ready\n", "a process ended before it compiled"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for process in started]
    for process in started:
        process.stdin.close()
        process.wait()
    return answers


def devices():
    return len(subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True).stdout.splitlines())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--measure", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--address", default="")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    if arguments.measure is not None:
        return measure(arguments.width, arguments.measure, arguments.address)
    chosen = arguments.cases or [name for name in CASES if name != "ranks" or devices() > 1]
    failed, losses = False, {}
    with tempfile.TemporaryDirectory() as place:
        for name in chosen:
            processes, plugin, width, own = CASES[name]
            answers = run(pathlib.Path(place), processes or arguments.processes, plugin, width, own, name == "ranks")
            compiled = [module for answer in answers for module in answer["compiled"]]
            reasons = sorted({reason for answer in answers for reason in answer["not_cached"]})
            print(f"{name:11} {len(answers)} processes: {max(answer['seconds'] for answer in answers):6.1f} s, "
                  f"{len(compiled):4} compiled, {len(set(compiled)):4} different, {sum(a['hits'] for a in answers):4} hits"
                  f"{', left to JAX: ' if reasons else ''}{', '.join(reasons)}", flush=True)
            expected = losses.setdefault(width, answers[0]["losses"][0])
            wrong = any(abs(loss - expected) > 1e-2 * abs(expected) for answer in answers for loss in answer["losses"])
            off = any(answer["on"] != plugin or answer["errors"] for answer in answers)
            again = name in NOTHING_TO_COMPILE and compiled and "first" in chosen
            twice = plugin and len(compiled) > len(set(compiled))
            if wrong or off or again or twice:
                failed = True
                told = [{key: value for key, value in answer.items() if key != "compiled"} for answer in answers]
                print(f"{name}: FAILED: {told}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
