# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Many nodes on one machine: real daemons with separate states over the fake toolchain, and one real Redis.

All nodes start cold and at once. Each node builds the same kernels in its own order. Prints as JSON the number of compiles,
the time until the last node was done, and the load of Redis. Exits with 1 if a program failed, or got other bytes than
another program."""

import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from conftest import PLACES, Daemon, FakeToolkit, build_pb2, build_pb2_grpc, nvrtc_request, run_cli, wait_for  # noqa: E402
from redis_server import Redis  # noqa: E402

START_AT_ONCE = 8  # number of daemons


class Fleet:
    def __init__(self, place, arguments):
        on_shelf = getattr(arguments, "shelf", False)
        shared = not arguments.alone and not on_shelf
        place.mkdir(exist_ok=True)
        self.place = place
        self.toolkit = FakeToolkit(PLACES.fake13, place / "cuda")
        self.redis = Redis(place).start() if shared else None
        flags = ["--jobs", "1", "--memory-limit", "32MiB", "--pch-memory-limit", "0"]
        if shared or on_shelf:
            key, trusted = place / "site.key", place / "trusted"
            run_cli("remote", "keygen", "--out", str(key))
            run_cli("remote", "trust", f"{key}.pub", "--list", str(trusted))
            flags += ["--remote-trust", str(trusted), "--remote-patience", arguments.patience]
        if shared:
            flags += ["--remote-url", self.redis.url, "--remote-key", str(key)]
        if on_shelf:
            self.fill_shelf(arguments, key)
            flags += ["--shelf-path", str(place / "shelf")]
        self.nodes = []
        for number in range(arguments.nodes):
            directory = place / str(number)
            directory.mkdir()
            self.nodes.append(Daemon(directory, (self.toolkit.root,), *flags))
        with concurrent.futures.ThreadPoolExecutor(START_AT_ONCE) as threads:
            list(threads.map(Daemon.start, self.nodes))
        if shared:
            wait_for(lambda: all(node.stats()["remote_connected"] for node in self.nodes), "the connections")
        if on_shelf:
            wait_for(lambda: all(node.stats()["shelf_snapshots"] for node in self.nodes), "the looks at the shelf")

    def fill_shelf(self, arguments, key):
        """Puts all kernels on a shelf, as a warm node has them."""
        (self.place / "maker").mkdir()
        (self.place / "shelf").mkdir()
        maker = Daemon(self.place / "maker", (self.toolkit.root,)).start()
        with maker.channel() as channel:
            for kernel in range(arguments.kernels):
                build_pb2_grpc.BuildStub(channel).Build(nvrtc_request(source_of(kernel, arguments)), timeout=300)
        snapshot = self.place / "shelf" / "kernels.snap"
        maker.cli("snapshot", "create", str(snapshot))
        maker.stop()
        run_cli("snapshot", "sign", "--key", str(key), str(snapshot))

    def stop(self):
        for node in self.nodes:
            node.kill()
        if self.redis is not None:
            self.redis.stop()


def source_of(kernel, arguments):
    return f"//fake: last {arguments.compile_ms}\n//fake: output-size {arguments.kib}K\n// kernel {kernel}\n"


class Program:
    """The program of one node, which builds all kernels in its own order."""

    def __init__(self, node, number, arguments):
        self.node = node
        self.arguments = arguments
        self.order = random.Random(f"{arguments.seed} {number}").sample(range(arguments.kernels), arguments.kernels)
        self.outputs = {}
        self.outcomes = collections.Counter()
        self.hits = []  # milliseconds of each hit, including waits for another node's compile
        self.problems = []

    def run(self, start, done):
        with self.node.channel() as channel:
            stub = build_pb2_grpc.BuildStub(channel)
            start.wait()
            for kernel in self.order:
                began = time.monotonic()
                try:
                    reply = stub.Build(nvrtc_request(source_of(kernel, self.arguments)), timeout=300)
                except Exception as error:  # any error is a program that failed
                    self.problems.append(str(error))
                    continue
                self.outputs[kernel] = [artifact.contents for artifact in reply.artifacts]
                outcome, tier = build_pb2.Outcome.Name(reply.outcome), build_pb2.Tier.Name(reply.tier)
                self.outcomes[f"{outcome} {tier}"] += 1
                if reply.tier in (build_pb2.TIER_REMOTE, build_pb2.TIER_SHELF):
                    self.hits.append((time.monotonic() - began) * 1000)
                done()


class Countdown:
    """Makes a call once, when so many builds are done."""

    def __init__(self, builds, call):
        self.lock = threading.Lock()
        self.left, self.call = builds, call

    def __call__(self):
        with self.lock:
            self.left -= 1
            reached = self.left == 0
        if reached:
            self.call()


def run(arguments, meanwhile=contextlib.nullcontext):
    """Returns the figures of one fleet. `meanwhile` returns a context for the time in which the programs run."""
    with tempfile.TemporaryDirectory(prefix="cccl-fleet", dir="/tmp") as place:
        os.chmod(place, 0o755)
        fleet = Fleet(pathlib.Path(place), arguments)
        with contextlib.ExitStack() as stack:
            stack.callback(fleet.stop)
            programs = [Program(node, number, arguments) for number, node in enumerate(fleet.nodes)]
            builds = arguments.nodes * arguments.kernels
            killed = []

            def kill():
                if arguments.kill_redis:
                    fleet.redis.stop()
                    killed.append(time.monotonic())

            done = Countdown(builds // 2, kill)
            start = threading.Event()
            threads = [threading.Thread(target=program.run, args=(start, done)) for program in programs]
            for thread in threads:
                thread.start()
            before = redis_figures(fleet)
            began = time.monotonic()
            with meanwhile(fleet):
                start.set()
                for thread in threads:
                    thread.join()
            seconds = time.monotonic() - began
            figures = report(arguments, fleet, programs, seconds)
            figures |= {"redis_killed_after": round(at - began, 2) for at in killed}
            if fleet.redis is not None and not killed:
                after = redis_figures(fleet)
                figures["redis"] = {name: round(after[name] - before.get(name, 0), 3) for name in after}
            return figures


def redis_figures(fleet):
    """Returns Redis' totals: commands of each kind, bytes, seconds of its thread."""
    if fleet.redis is None:
        return {}
    info = dict(line.split(":", 1) for line in fleet.redis.ask("INFO", "everything").decode().splitlines() if ":" in line)
    calls = {name.removeprefix("cmdstat_"): int(text.split(",")[0].removeprefix("calls="))
             for name, text in info.items() if name.startswith("cmdstat_")}
    return {
        **{name: calls[name] for name in sorted(calls) if name not in ("info", "ping")},
        "bytes_in": int(info["total_net_input_bytes"]),
        "bytes_out": int(info["total_net_output_bytes"]),
        "thread_seconds": sum(float(info[f"used_cpu_{kind}_main_thread"]) for kind in ("user", "sys")),
    }


def report(arguments, fleet, programs, seconds):
    problems = [problem for program in programs for problem in program.problems]
    wrong = sum(
        program.outputs.get(kernel) != programs[0].outputs.get(kernel)
        for program in programs for kernel in range(arguments.kernels))
    stats = [node.stats() for node in fleet.nodes]
    figures = {
        "nodes": arguments.nodes,
        "kernels": arguments.kernels,
        # The toolkit's count is not used, because each daemon also compiles to test and to warm up a compiler.
        "compiles": sum(each["compiles_total"] for each in stats),
        "cancelled": sum(each["cancelled_total"] for each in stats),
        "seconds": round(seconds, 2),
        "failed": len(problems),
        "wrong": wrong,
        "outcomes": dict(sum((program.outcomes for program in programs), collections.Counter())),
    }
    if not arguments.alone:
        hits = [took for program in programs for took in program.hits]
        figures["hit_ms_median"] = round(statistics.median(hits), 2) if hits else None
        names = [name for name in stats[0] if name.startswith(("remote_", "shelf_")) and name.endswith("_total")]
        figures["remote"] = {name: total for name in names if (total := sum(each[name] for each in stats))}
    for problem in problems[:5]:
        print(problem, file=sys.stderr)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--compile-ms", type=int, default=2000, help="how long a compile takes")
    parser.add_argument("--kib", type=int, default=0, help="size of a result, which does not compress")
    parser.add_argument("--patience", default="10s", help="as --remote-patience: the nodes share few processors")
    parser.add_argument("--seed", default="1", help="of the orders in which nodes build")
    parser.add_argument("--alone", action="store_true", help="without a Redis")
    parser.add_argument("--shelf", action="store_true", help="with all kernels on a shelf, in place of a Redis")
    parser.add_argument("--kill-redis", action="store_true", help="once half of the builds are done")
    arguments = parser.parse_args()
    figures = run(arguments)
    print(json.dumps(figures, indent=1))
    sys.exit(1 if figures["failed"] or figures["wrong"] else 0)


if __name__ == "__main__":
    main()
