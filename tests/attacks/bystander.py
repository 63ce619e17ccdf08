# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A user who requests the same hit in a loop while another user attacks the daemon.

bystander.py SOCKET LEAST runs as BYSTANDER. It requests the hit until its standard input has ended and it has LEAST
answers. Then it prints the milliseconds of each answer as a JSON list.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

ATTACKER, BYSTANDER = 54331, 54332
KERNEL = 'extern "C" __global__ void bystander() {}\n'


def memory(pid):
    """Returns the resident memory of a process in MiB: now, and at its peak."""
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return tuple(int(fields[name].split()[0]) >> 10 for name in ("VmRSS", "VmHWM"))


class Bystander:
    """The bystander's process, as a context. It has its first answer at the start of the block, and at least `least`
    answers at the end."""

    def __init__(self, daemon, least=1):
        self.daemon = daemon
        self.least = least
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, self.daemon.socket, str(self.least)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "begun\n"
        return self

    def end(self):
        """Returns the milliseconds of each answer. Fails if an answer is an error or no hit."""
        output, _ = self.process.communicate("")
        assert self.process.returncode == 0, "the other user was not served"
        return json.loads(output)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def report(self, name):
        """Ends the process and prints the cost of the attack: the daemon's memory, and the latency of the
        bystander's hits. Returns (peak memory in MiB, latencies)."""
        latencies = sorted(self.end())
        now, peak = memory(self.daemon.process.pid)
        print(f"{name}: daemon {now} MiB, peak {peak} MiB; {len(latencies)} hits of another user: median "
              f"{statistics.median(latencies):.2f} ms, p99 {latencies[len(latencies) * 99 // 100]:.2f} ms")
        return peak, latencies


def become(uid):
    """Becomes another user for good. Called after all imports, because that user may not be able to read this
    Python."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def ask(socket, least):
    # Only the bystander's process loads gRPC, because the tests fork.
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))
    import grpc
    from stock_requests import nvrtc_request

    from cccl_cache.v1 import build_pb2, build_pb2_grpc

    become(BYSTANDER)
    build = build_pb2_grpc.BuildStub(grpc.insecure_channel(f"unix:{socket}")).Build
    request = nvrtc_request(KERNEL)
    build(request)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    print("begun", flush=True)
    latencies = []
    while not ended.is_set() or len(latencies) < least:
        begun = time.monotonic()
        reply = build(request)
        latencies.append((time.monotonic() - begun) * 1e3)
        assert reply.outcome == build_pb2.OUTCOME_HIT, reply
    print(json.dumps(latencies))


if __name__ == "__main__":
    ask(sys.argv[1], int(sys.argv[2]))
