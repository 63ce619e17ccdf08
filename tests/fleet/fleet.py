# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Many nodes on one machine: real daemons with states of their own over the fake toolchain, and one real Redis.

Each node builds the same kernels in an order of its own, all nodes cold and at once. Prints, as JSON, how many compiles
that took in all, the time until the last node was done, and what Redis had to do. Ends with 1 if a program failed or got
other bytes than the others."""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from conftest import PLACES, Daemon, FakeToolkit, build_pb2, build_pb2_grpc, nvrtc_request, run_cli  # noqa: E402
from redis_server import Redis  # noqa: E402

START_AT_ONCE = 8  # daemons


class Fleet:
    def __init__(self, place, arguments):
        shared = not arguments.alone
        place.mkdir(exist_ok=True)
        self.toolkit = FakeToolkit(PLACES.fake13, place / "cuda")
        self.redis = Redis(place).start() if shared else None
        flags = ["--jobs", "1", "--memory-limit", "32MiB", "--pch-memory-limit", "0"]
        if shared:
            key, trusted = place / "site.key", place / "trusted"
            run_cli("remote", "keygen", "--out", str(key))
            run_cli("remote", "trust", f"{key}.pub", "--list", str(trusted))
            flags += ["--remote-url", self.redis.url, "--remote-key", str(key), "--remote-trust", str(trusted),
                      "--remote-patience", arguments.patience]
        self.nodes = []
        for number in range(arguments.nodes):
            directory = place / str(number)
            directory.mkdir()
            self.nodes.append(Daemon(directory, (self.toolkit.root,), *flags))
        with concurrent.futures.ThreadPoolExecutor(START_AT_ONCE) as threads:
            list(threads.map(Daemon.start, self.nodes))

    def stop(self):
        for node in self.nodes:
            node.kill()
        if self.redis is not None:
            self.redis.stop()


class Program:
    """What one node runs: all kernels, in an order of its own."""

    def __init__(self, node, number, arguments):
        self.node = node
        self.compile_ms = arguments.compile_ms
        self.order = random.Random(f"{arguments.seed} {number}").sample(range(arguments.kernels), arguments.kernels)
        self.outputs = {}
        self.outcomes = collections.Counter()
        self.problems = []

    def run(self, start, done):
        with self.node.channel() as channel:
            stub = build_pb2_grpc.BuildStub(channel)
            start.wait()
            for kernel in self.order:
                try:
                    reply = stub.Build(nvrtc_request(f"//fake: last {self.compile_ms}\n// kernel {kernel}\n"), timeout=300)
                except Exception as error:  # each is a program that failed
                    self.problems.append(str(error))
                    continue
                self.outputs[kernel] = [artifact.contents for artifact in reply.artifacts]
                outcome, tier = build_pb2.Outcome.Name(reply.outcome), build_pb2.Tier.Name(reply.tier)
                self.outcomes[f"{outcome} {tier}"] += 1
                done()


class Countdown:
    """Calls once, when so many builds are done."""

    def __init__(self, builds, call):
        self.lock = threading.Lock()
        self.left, self.call = builds, call

    def __call__(self):
        with self.lock:
            self.left -= 1
            reached = self.left == 0
        if reached:
            self.call()


def run(arguments):
    with tempfile.TemporaryDirectory(prefix="cccl-fleet", dir="/tmp") as place:
        os.chmod(place, 0o755)
        fleet = Fleet(pathlib.Path(place), arguments)
        with contextlib.ExitStack() as stack:
            stack.callback(fleet.stop)
            programs = [Program(node, number, arguments) for number, node in enumerate(fleet.nodes)]
            builds = arguments.nodes * arguments.kernels
            done = Countdown(builds // 2, fleet.redis.stop if arguments.kill_redis else lambda: None)
            start = threading.Event()
            threads = [threading.Thread(target=program.run, args=(start, done)) for program in programs]
            for thread in threads:
                thread.start()
            probed = fleet.toolkit.count("nvrtc_compiles")  # at their start, daemons find out what a compiler can do
            began = time.monotonic()
            start.set()
            for thread in threads:
                thread.join()
            seconds = time.monotonic() - began
            return report(arguments, fleet, programs, fleet.toolkit.count("nvrtc_compiles") - probed, seconds)


def report(arguments, fleet, programs, compiles, seconds):
    problems = [problem for program in programs for problem in program.problems]
    wrong = sum(
        program.outputs.get(kernel) != programs[0].outputs.get(kernel)
        for program in programs for kernel in range(arguments.kernels))
    figures = {
        "nodes": arguments.nodes,
        "kernels": arguments.kernels,
        "compiles": compiles,
        "seconds": round(seconds, 2),
        "failed": len(problems),
        "wrong": wrong,
        "outcomes": dict(sum((program.outcomes for program in programs), collections.Counter())),
    }
    if fleet.redis is not None:
        names = [name for name in fleet.nodes[0].stats() if name.startswith("remote_") and name.endswith("_total")]
        stats = [node.stats() for node in fleet.nodes]
        figures["remote"] = {name: total for name in names if (total := sum(each[name] for each in stats))}
        if not arguments.kill_redis:
            info = fleet.redis.ask("INFO").decode()
            redis = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
            for name in ("total_commands_processed", "total_net_input_bytes", "total_net_output_bytes", "used_memory_peak"):
                figures[name] = int(redis[name])
    for problem in problems[:5]:
        print(problem, file=sys.stderr)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--compile-ms", type=int, default=2000, help="how long a compile takes")
    parser.add_argument("--patience", default="10s", help="as --remote-patience: the nodes share few processors")
    parser.add_argument("--seed", default="1", help="of the orders in which nodes build")
    parser.add_argument("--alone", action="store_true", help="without a Redis")
    parser.add_argument("--kill-redis", action="store_true", help="once half of the builds are done")
    arguments = parser.parse_args()
    figures = run(arguments)
    print(json.dumps(figures, indent=1))
    sys.exit(1 if figures["failed"] or figures["wrong"] else 0)


if __name__ == "__main__":
    main()
