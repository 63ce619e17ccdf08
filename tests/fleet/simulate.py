# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""How large a cluster may be for one Redis: a simulation of many nodes that start cold with the same kernels.

Discrete events. Each node runs one program, which needs all kernels one after the other. It looks a kernel up, takes its
lease or waits for the node that has it, with the pauses of daemon/remote/remote_cluster.cc. Redis answers one command
after the other; the network adds a round trip. By default a command takes 10 us there, a kernel has 40 KiB and takes 1 s
on average. Prints a JSON object for each size: compiles, seconds until the last node is done, commands a second at most."""

import argparse
import collections
import heapq
import json
import random

FIRST_PAUSE, LAST_PAUSE = 0.005, 0.1  # seconds between two looks at a lease
PATIENCE = 0.02
SHORTEST_WAIT, LONGEST_WAIT, UNKNOWN_WAIT, USUAL_TIMES = 1, 60, 10, 2
VERIFY = 0.00013


class Redis:
    """One thread behind a network."""

    def __init__(self, arguments):
        self.round_trip = arguments.round_trip_us * 1e-6
        self.command = arguments.command_us * 1e-6
        self.second_per_byte = 8 / (arguments.gigabits * 1e9)
        self.free = 0.0
        self.commands = 0
        self.bytes = 0
        self.by_second = collections.Counter()

    def ask(self, now, commands, size=0):
        """When the answer to some commands that are sent now is there."""
        arrives = now + self.round_trip / 2
        self.free = max(self.free, arrives) + commands * self.command + size * self.second_per_byte
        self.commands += commands
        self.bytes += size
        self.by_second[int(arrives)] += commands
        return self.free + self.round_trip / 2


class Node:
    def __init__(self, order):
        self.order = order
        self.next = 0  # the place of the kernel that it needs
        self.pause = FIRST_PAUSE
        self.asked = 0.0
        self.most = 0.0  # seconds that its own compiles took


class Simulation:
    def __init__(self, arguments, nodes):
        self.arguments = arguments
        self.random = random.Random(arguments.seed)
        self.redis = Redis(arguments)
        self.times = [self.random.lognormvariate(-0.32, 0.8) * arguments.compile_seconds for _ in range(arguments.kernels)]
        self.written = {}  # kernel: when its artifact is in Redis
        self.leases = {}  # kernel: when its lease ends
        self.events = []
        self.numbers = iter(range(1 << 62))
        self.compiles = self.late = self.waits = 0
        self.last = 0.0
        same = list(range(arguments.kernels))
        for _ in range(nodes):
            order = same if arguments.same_order else self.random.sample(same, len(same))
            self.at(self.random.uniform(0, arguments.stagger_seconds), self.look, Node(order))

    def at(self, time, step, node):
        heapq.heappush(self.events, (time, next(self.numbers), step, node))

    def run(self):
        while self.events:
            time, _, step, node = heapq.heappop(self.events)
            step(time, node)

    def kernel(self, node):
        return node.order[node.next]

    def has(self, kernel, now):
        return self.written.get(kernel, float("inf")) <= now

    def look(self, now, node):
        node.asked, node.pause = now, FIRST_PAUSE
        found = self.has(self.kernel(node), now)
        answer = self.redis.ask(now, 2, self.arguments.kib * 1024 if found else 0)
        if answer - now > PATIENCE:
            self.late += 1
            return self.compile(now + PATIENCE, node, False)
        if found:
            return self.at(answer + VERIFY, self.have, node)
        self.at(answer, self.acquire, node)

    def acquire(self, now, node):
        kernel = self.kernel(node)
        if self.has(kernel, now):
            return self.at(self.redis.ask(now, 3, self.arguments.kib * 1024) + VERIFY, self.have, node)
        answer = self.redis.ask(now, 3)
        if self.leases.get(kernel, 0.0) <= now:
            self.leases[kernel] = float("inf")
            return self.compile(answer, node, True)
        self.waits += 1
        self.wait(answer, node)

    def wait(self, now, node):
        longest = min(max(USUAL_TIMES * node.most, SHORTEST_WAIT), LONGEST_WAIT) if node.most else UNKNOWN_WAIT
        if now - node.asked > longest:
            return self.compile(now, node, False)
        pause = self.random.uniform(node.pause / 2, node.pause)
        node.pause = min(node.pause * 1.5, LAST_PAUSE)
        self.at(now + pause, self.look_again, node)

    def look_again(self, now, node):
        answer = self.redis.ask(now, 1)
        if self.has(self.kernel(node), now):
            answer = self.redis.ask(answer, 2, self.arguments.kib * 1024)
            return self.at(answer + VERIFY, self.have, node)
        self.wait(answer, node)

    def compile(self, now, node, shares):
        self.compiles += 1
        time = self.times[self.kernel(node)]
        node.most = max(node.most, time)
        done = now + time
        if shares:
            self.at(done, self.write, node)
        self.at(done, self.have, node)

    def write(self, now, node):
        kernel = self.kernel(node)
        self.written[kernel] = self.redis.ask(now, 2, self.arguments.kib * 1024)

    def have(self, now, node):
        node.next += 1
        self.last = max(self.last, now)
        if node.next < len(node.order):
            self.at(now, self.look, node)

    def figures(self, nodes):
        return {
            "nodes": nodes,
            "compiles": self.compiles,
            "seconds": round(self.last, 1),
            "seconds_alone": round(sum(self.times), 1),
            "waits": self.waits,
            "late": self.late,
            "commands": self.redis.commands,
            "commands_a_second_at_most": max(self.redis.by_second.values()),
            "gigabytes": round(self.redis.bytes / 1e9, 2),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--same-order", action="store_true", help="all nodes need the kernels in one order")
    parser.add_argument("--stagger-seconds", type=float, default=0, help="nodes start within this time, not at once")
    parser.add_argument("--compile-seconds", type=float, default=1, help="on average")
    parser.add_argument("--round-trip-us", type=float, default=200)
    parser.add_argument("--command-us", type=float, default=10, help="that Redis takes for one command")
    parser.add_argument("--kib", type=int, default=40, help="size of an entry")
    parser.add_argument("--gigabits", type=float, default=10, help="of Redis' network, a second")
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    for nodes in arguments.nodes:
        simulation = Simulation(arguments, nodes)
        simulation.run()
        print(json.dumps(simulation.figures(nodes)))


if __name__ == "__main__":
    main()
