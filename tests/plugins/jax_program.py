# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A process that compiles with JAX for the processor at a test's command. Answers each line with a line of JSON.
Exits at SIGTERM.

"compute FILE NUMBER [DEVICE [OPTION]]": the digest of the result of the file's function on a device, compiled with an option of
XLA, or the error's name.
"gated FILE NUMBER GATE": the same, but the compile waits for a line from this FIFO, and fails if it is "fail".
"damaged FILE NUMBER": deposits a damaged executable. "unpacked FILE NUMBER GATE": as "gated", but it can't be packed.
"threads FILE NUMBER": the results of four threads that compile at once.
"processors FILE NUMBER COUNT": as "compute", while the process may use so many processors.
"with NAME VALUE FILE NUMBER": as "compute", with this environment variable.
"callback NUMBER": calls Python from a compiled function. "partitioned NUMBER": partitions with Python.
"serialized FILE NUMBER PATH": compiles, then imports what serializes executables, and writes the executable to a file.
"loaded PATH": the result of such an executable. "readdressed FILE NUMBER OTHER": see the function.
"join ADDRESS RANK": makes this the process RANK of a job of two. "sum FILE NUMBER": computes over the devices of both.
"status": the counts of the plug-in.

Each compile appends a line to $COMPILED.
"""

import concurrent.futures
import gc
import hashlib
import importlib.util
import json
import os
import pathlib
import pickle
import signal
import sys
import threading

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import jax  # noqa: E402
import numpy  # noqa: E402
from cccl_cache.steps import Step  # noqa: E402
from jax._src import compiler  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jax.experimental.custom_partitioning import custom_partitioning  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

compile_module = compiler.backend_compile_and_load
gate = None


class Unmade(Exception):
    pass


def counted(*given, **named):
    with open(os.environ["COMPILED"], "a") as compiled:
        compiled.write("one\n")
    if gate and pathlib.Path(gate).read_text() == "fail":
        raise Unmade
    return compile_module(*given, **named)


compiler.backend_compile_and_load = counted


def load(file):
    spec = importlib.util.spec_from_file_location(f"functions{len(sys.modules)}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digest(result):
    return hashlib.sha256(numpy.asarray(result).tobytes()).hexdigest()


def jitted(file, number, option=None):
    """Returns a function of its own, which JAX has not compiled yet."""
    function = load(file).scale
    return jax.jit(lambda x: function(x, int(number)), compiler_options={option: True} if option else None)


def compute(file, number, device=0, option=None):
    x = jax.device_put(numpy.full((4, 4), 0.1, "f"), jax.local_devices()[int(device)])
    try:
        made = jitted(file, number, option)(x)
    except Exception as error:
        return type(error).__name__
    assert made.devices() == x.devices()
    return digest(made)


def gated(file, number, path):
    global gate
    gate = path
    try:
        return compute(file, number)
    finally:
        gate = None


def damaged(file, number):
    put = Step.put
    Step.put = lambda step, value: put(step, b"no executable")
    try:
        return compute(file, number)
    finally:
        Step.put = put


def unpacked(file, number, path):
    from jax._src import compilation_cache

    compress = compilation_cache.compress_executable
    compilation_cache.compress_executable = lambda entry: compress(entry if entry == b"" else entry.unknown)
    try:
        return gated(file, number, path)
    finally:
        compilation_cache.compress_executable = compress


def threads(file, number):
    begin = threading.Barrier(4)

    def run(function):
        begin.wait()
        return digest(function(numpy.full((4, 4), 0.1, "f")))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return sorted(set(pool.map(run, [jitted(file, number) for _ in range(4)])))


def processors(file, number, count):
    allowed = os.sched_getaffinity
    os.sched_getaffinity = lambda process: set(range(int(count)))
    try:
        return compute(file, number)
    finally:
        os.sched_getaffinity = allowed


def with_variable(name, value, file, number):
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        return compute(file, number)
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def callback(number):
    shape = jax.ShapeDtypeStruct((2,), "f")
    function = jax.jit(lambda x: jax.pure_callback(lambda y: numpy.asarray(y) * numpy.float32(number), shape, x))
    return numpy.asarray(function(numpy.ones(2, "f"))).tolist()


def partitioned(number):
    function = custom_partitioning(lambda x: x * int(number))
    function.def_partition(infer_sharding_from_operands=lambda mesh, given, made: given[0].sharding, sharding_rule="i -> i",
                           partition=lambda mesh, given, made: (mesh, lambda x: x * int(number), made.sharding, (given[0].sharding,)))
    everywhere = NamedSharding(jax.make_mesh((2,), ("all",)), PartitionSpec("all"))
    return numpy.asarray(jax.jit(function)(jax.device_put(numpy.ones(2, "f"), everywhere))).tolist()


def compiled(file, number):
    return jitted(file, number).lower(numpy.full((4, 4), 0.1, "f")).compile()


def serialized(file, number, path):
    made = compiled(file, number)
    assert "jax.experimental.serialize_executable" not in sys.modules
    from jax.experimental import serialize_executable

    pathlib.Path(path).write_bytes(pickle.dumps(serialize_executable.serialize(made)))
    return digest(made(numpy.full((4, 4), 0.1, "f")))


def loaded(path):
    from jax.experimental import serialize_executable

    packed = pickle.loads(pathlib.Path(path).read_bytes())
    function = serialize_executable.deserialize_and_load(*packed, execution_devices=jax.devices()[:1])
    return digest(function(numpy.full((4, 4), 0.1, "f")))


def readdressed(file, number, other):
    """Returns whether a new executable has the address of a dead one, and whether one is serialized as the dead one was."""
    dead = compiled(file, number).runtime_executable()
    client, serialized, address = dead.client, dead.serialize(), id(dead)
    own = compiled(file, other).runtime_executable().serialize()
    devices, options = xla_client.DeviceList(tuple(jax.devices()[:1])), xla_client.CompileOptions()
    del dead
    jax.clear_caches()
    gc.collect()
    made = [client.deserialize_executable(own, devices, options) for _ in range(64)]
    return [address in map(id, made), any(each.serialize() == serialized for each in made)]


def join(address, rank):
    jax.distributed.initialize(address, num_processes=2, process_id=int(rank))
    return [jax.process_count(), len(jax.devices())]


def sum(file, number):
    everywhere = NamedSharding(jax.make_mesh((len(jax.devices()),), ("all",)), PartitionSpec("all"))
    part = numpy.full((1, 4, 4), 0.1, "f")
    x = jax.make_array_from_process_local_data(everywhere, part)
    function = load(file).scale
    made = jax.jit(lambda x: function(x.sum(0), int(number)), out_shardings=NamedSharding(everywhere.mesh, PartitionSpec()))(x)
    return digest(made.addressable_data(0))


def status():
    from cccl_cache import jax as plugin

    return plugin.status()


COMMANDS = {"compute": compute, "gated": gated, "damaged": damaged, "unpacked": unpacked, "threads": threads,
            "processors": processors, "with": with_variable, "serialized": serialized, "loaded": loaded,
            "readdressed": readdressed, "callback": callback, "partitioned": partitioned, "join": join, "sum": sum,
            "status": status}
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
print(json.dumps("ready"), file=answers, flush=True)
for line in sys.stdin:
    command, *given = line.split()
    print(json.dumps(COMMANDS[command](*given)), file=answers, flush=True)
