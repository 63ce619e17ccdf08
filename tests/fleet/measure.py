# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the costs that simulate.py needs. Two fleets that start cold, one with small and one with large results, show the
commands that builds send to Redis, and the time of its answers. The daemons of latencies.py show the node's own time for a
hit. redis-benchmark shows the time of Redis' thread for a command and for a KiB, without pauses: in a fleet on one machine
the thread mostly waits, and a command costs more. The JSON goes to --out. measured.json was made by

  scripts/fleet measure --out tests/fleet/measured.json"""

import argparse
import contextlib
import json
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import time

import fleet
import latencies
from redis_server import Connection, Redis

KINDS = ("get", "getrange", "set", "eval", "del", "pexpire")  # names of commands
PAUSE = 0.05  # seconds between two questions of the probe
LAST_BYTE = (8 << 20) - 1


class Probe:
    """A context in which a process of its own sends Redis the commands of a lookup and of a lease, again and again."""

    def __init__(self, of):
        context = multiprocessing.get_context("spawn")
        self.ended = context.Event()
        self.answers = context.SimpleQueue()
        self.process = context.Process(target=ask, args=(of.redis.path, self.ended, self.answers))
        self.lookups, self.leases = [], []

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.lookups, self.leases = self.answers.get()
        self.process.join()


def ask(path, ended, answers):
    taken = [], []
    with Connection(path) as connection:
        number = 0
        while not ended.wait(PAUSE):
            number += 1
            entries = [("GETRANGE", f"probe:{kind}:{number}", 0, LAST_BYTE) for kind in "am"]
            lease = ("SET", f"probe:l:{number}", "0" * 32, "NX", "PX", 100)
            for times, commands in zip(taken, (entries, [lease, *entries])):
                began = time.perf_counter()
                connection.ask_all(commands)
                times.append((time.perf_counter() - began) * 1e6)
    answers.put(taken)


def traffic(small, large):
    """Returns the traffic of builds with Redis, from two fleets: one with small results, one with large results."""
    def commands(figures):
        return sum(figures["redis"].get(kind, 0) for kind in KINDS)

    def beyond(direction):  # bytes beyond those of the small results
        return large["redis"][direction] - small["redis"][direction] * commands(large) / commands(small)

    hits = sum(count for name, count in large["outcomes"].items() if "REMOTE" in name)
    return {
        "bytes_in_a_command": round(small["redis"]["bytes_in"] / commands(small)),
        "bytes_out_a_command": round(small["redis"]["bytes_out"] / commands(small)),
        "bytes_a_hit": round(beyond("bytes_out") / hits),
        "bytes_a_write": round(beyond("bytes_in") / large["remote"]["remote_writes_total"]),
        "commands_a_build": round(commands(small) / (small["nodes"] * small["kernels"]), 3),
        "command_us_in_the_fleet": round(small["redis"]["thread_seconds"] / commands(small) * 1e6, 2),
    }


def thread_of_redis(connections, size):
    """Returns the microseconds of Redis' thread for a command of a lookup that finds nothing, and for a KiB of a
    found entry."""
    with tempfile.TemporaryDirectory(prefix="cccl-redis", dir="/tmp") as place, contextlib.ExitStack() as stack:
        redis = Redis(pathlib.Path(place)).start()
        stack.callback(redis.stop)
        redis.ask("SET", "entry", os.urandom(size))

        def each(name, number):
            def spent():
                info = dict(line.split(":") for line in redis.ask("INFO", "cpu").decode().split() if ":" in line)
                return sum(float(info[f"used_cpu_{kind}_main_thread"]) for kind in ("user", "sys"))

            before = spent()
            subprocess.run(["redis-benchmark", "-s", redis.path, "-c", str(connections), "-P", "2", "-q", "-n", str(number),
                            "GETRANGE", name, "0", str(LAST_BYTE)], check=True, stdout=subprocess.DEVNULL)
            return (spent() - before) / number * 1e6

        command = each("none", 200_000)
        return {"command_us": round(command, 2), "kib_us": round((each("entry", 50_000) - command) / (size / 1024), 3)}


def measure(arguments):
    given = vars(arguments) | {"alone": False, "kill_redis": False}
    small = fleet.run(argparse.Namespace(**given, kib=0))
    probes = []
    large = fleet.run(argparse.Namespace(**given, kib=arguments.result_kib),
                      lambda of: probes.append(Probe(of)) or probes[0])
    few = argparse.Namespace(kernels=200, rounds=200, kib=arguments.result_kib, patience="10s")
    with tempfile.TemporaryDirectory(prefix="cccl-fleet", dir="/tmp") as place, contextlib.ExitStack() as stack:
        os.chmod(place, 0o755)
        took = {name: each["median"] for name, each in latencies.measure(few, pathlib.Path(place), stack).items()}
    asked = traffic(small, large)
    node = took["hit from Redis"] - took["GET of the entry"] - took["hit of its own memory, with Redis"]
    return {
        "processors": os.cpu_count(),
        "nodes": arguments.nodes,
        "kernels": arguments.kernels,
        "compile_ms": arguments.compile_ms,
        "result_kib": arguments.result_kib,
        **thread_of_redis(arguments.nodes, asked["bytes_a_hit"]),
        **asked,
        "lookup_us": latencies.summary(probes[0].lookups),
        "lease_us": latencies.summary(probes[0].leases),
        "node_us_a_hit": round(node * 1000),
        "fleets": [small, large],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--compile-ms", type=int, default=2000)
    parser.add_argument("--result-kib", type=int, default=40)
    parser.add_argument("--patience", default="10s")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.out.write_text(json.dumps(measure(arguments), indent=1) + "\n")


if __name__ == "__main__":
    main()
