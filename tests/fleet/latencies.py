# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Measures hits from Redis and from memory, in milliseconds: medians and 99th percentiles of one run.

A hit from Redis stands beside a compile and a GET of the same entry. A hit from the node's own memory is measured with a
Redis, without one, and with a dead one. The kernels are those of the fake toolchain, with outputs of --kib; a compile takes
a fork and the time of the fake compiler. A small kernel is also compiled by NVRTC itself."""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from fleet import Fleet
from conftest import PLACES, Daemon, build_pb2, build_pb2_grpc, nvrtc_request, wait_for


def milliseconds(call):
    start = time.perf_counter()
    answer = call()
    return answer, (time.perf_counter() - start) * 1000


def summary(latencies):
    ordered = sorted(latencies)
    return {"median": round(statistics.median(ordered), 3), "p99": round(ordered[len(ordered) * 99 // 100], 3), "of": len(ordered)}


def small_kernel(number):
    return f'extern "C" __global__ void scale(float* values) {{ values[threadIdx.x] *= {number}.5f; }}\n'


class Client:
    def __init__(self, node, stack):
        self.stub = build_pb2_grpc.BuildStub(stack.enter_context(node.channel()))

    def build(self, source):
        return milliseconds(lambda: self.stub.Build(nvrtc_request(source), timeout=60))


def measure(arguments, place, stack):
    arguments.nodes, arguments.alone = 3, False
    fleet = Fleet(place, arguments)
    stack.callback(fleet.stop)
    without = Fleet(place / "without", argparse.Namespace(nodes=1, alone=True))
    stack.callback(without.stop)
    writer, reader, _ = (Client(node, stack) for node in fleet.nodes)
    apart = Client(without.nodes[0], stack)
    sources = [f"//fake: output-size {arguments.kib}K\n// kernel {number}\n" for number in range(arguments.kernels)]
    figures = {}
    compiled = [writer.build(source) for source in sources]
    figures["compile"] = summary([each[1] for each in compiled])
    wait_for(lambda: fleet.nodes[0].stats()["remote_writes_total"] == len(sources), "all entries in Redis")
    found = [reader.build(source) for source in sources]
    remote = [each[1] for each in found if each[0].tier == build_pb2.TIER_REMOTE]
    figures["hit from Redis"] = summary(remote)
    names = [f"cccl-cached:a:{reply.key}" for reply, _ in compiled]
    with fleet.redis.connection() as connection:
        figures["GET of the entry"] = summary([milliseconds(lambda: connection.ask("GET", name))[1] for name in names])
    took = milliseconds(lambda: subprocess.run(
        ["redis-cli", "-s", fleet.redis.path, "-r", str(len(names)), "GET", names[0]], check=True, stdout=subprocess.DEVNULL))[1]
    figures["GET by redis-cli"] = {"mean": round(took / len(names), 3), "of": len(names)}
    if arguments.real_kernels:
        (place / "real").mkdir()
        real = Daemon(place / "real", (PLACES.cuda13,), "--pch-memory-limit", "0").start()
        stack.callback(real.kill)
        compiler = Client(real, stack)
        compiler.build(small_kernel(-1))  # loads NVRTC
        figures["compile of a small kernel by NVRTC"] = summary(
            [compiler.build(small_kernel(number))[1] for number in range(arguments.real_kernels)])
    for source in sources:
        apart.build(source)
    hits = {"with Redis": [], "without": [], "with a dead Redis": []}
    rounds = arguments.rounds

    def ask(name, client):
        for source in sources[:rounds]:
            reply, took = client.build(source)
            assert reply.tier == build_pb2.TIER_MEMORY
            hits[name].append(took)

    for _ in range(5):
        ask("with Redis", reader)
        ask("without", apart)
    fleet.redis.stop()
    wait_for(lambda: not fleet.nodes[1].stats()["remote_connected"], "the loss of the connection")
    for _ in range(5):
        ask("with a dead Redis", reader)
        ask("without", apart)
    for name, latencies in hits.items():
        figures[f"hit of its own memory, {name}"] = summary(latencies)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=400, help="hits of each kind, five times")
    parser.add_argument("--kib", type=int, default=40)
    parser.add_argument("--real-kernels", type=int, default=20, help="that NVRTC compiles, to compare with")
    parser.add_argument("--patience", default="20ms")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cccl-fleet", dir="/tmp") as place, contextlib.ExitStack() as stack:
        os.chmod(place, 0o755)
        print(json.dumps(measure(arguments, pathlib.Path(place), stack), indent=1))


if __name__ == "__main__":
    main()
