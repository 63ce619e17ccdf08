# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""How large a cluster may be for one Redis: a simulation of many nodes that start cold with the same kernels.

The simulation has discrete events and is deterministic by its seed. Each node runs one program, which needs all kernels one
after the other. For each kernel, the node does the same as daemon/remote/remote_questions.cc: it looks the kernel up, and takes
its lease or waits for the node that has the lease. It compiles by itself if Redis is late or gone, or if the wait is too
long. Redis is one server or several, each with one thread and a network card. Each node reads the kernels on a shelf by
itself. Prints a JSON object for each size.

The cost of a command, the time of a compile and so on are options. --measured takes the costs from a file of measure.py,
which measures real daemons:

  python3 tests/fleet/simulate.py --measured tests/fleet/measured.json --stagger 60"""

import argparse
import binascii
import collections
import dataclasses
import hashlib
import heapq
import json
import math
import pathlib
import random

# The constants of daemon/remote/remote_questions.cc, in seconds.
FIRST_PAUSE, LAST_PAUSE, PAUSE_GROWTH = 0.005, 0.1, 1.5  # between two looks at a lease
MAX_SLOW = 3  # slow answers in a row, after which the connection is closed
USUAL_TIMES, SHORTEST_WAIT, UNKNOWN_WAIT, LONGEST_WAIT = 2, 1, 10, 60
MAX_IN_VAIN, IGNORE_LEASES, MAX_HOLDERS = 3, 60, 2
LEASE = 3
# The constants of daemon/remote/redis/redis_link.h.
FIRST_BACKOFF, LAST_BACKOFF, GOOD_CONNECTION, CONNECT_TIMEOUT = 0.1, 30, 10, 1
# From daemon/core/coordinator/flights.cc: the weight of a shorter compile against the remembered time.
WEIGHT = 16

SCRIPT = 3  # commands: EVAL, and the two that it calls
AFTERWARDS = 0.1  # seconds for the last writes of the nodes
PLACES = 16384  # hash slots of keys
NEVER = math.inf


@dataclasses.dataclass(frozen=True)
class Scenario:
    """The parameters of a simulation. Times are in seconds."""

    nodes: int = 64
    kernels: int = 200
    same_order: bool = False  # whether all nodes need the kernels in the same order
    stagger: float = 0.0  # seconds within which the nodes start
    compile_seconds: float = 1.0  # the average
    compile_spread: float = 0.8  # sigma of the logarithm; 0 for equal times
    patience: float = 0.02

    servers: int = 1
    round_trip: float = 200e-6
    command: float = 10e-6  # of a server's thread
    kib: float = 40.0  # of an entry
    copy_kib: float = 0.25e-6  # of a server's thread, per KiB of an entry
    gigabits: float = 10.0  # of a server's network
    bytes_in_a_command: int = 130
    bytes_out_a_command: int = 96
    node_hit: float = 600e-6  # a node's own time for a hit after the answer

    without_redis: bool = False
    shelf_share: float = 0.0  # share of the kernels that lie on a shelf
    shelf_read: float = 0.001

    dies_at: float = NEVER  # time at which the first server dies; it returns empty
    dies_for: float = 60.0
    slow_at: float = NEVER  # time from which the answers of the first server are delayed
    slow_for: float = 60.0
    slow_by: float = 1.0
    die_with_lease: float = 0.0  # share of the compiles under a lease during which the node dies

    seed: str = "1"


class Server:
    """One Redis: a thread that runs commands one after the other, and a network card that sends the answers."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.second_per_byte = 8 / (scenario.gigabits * 1e9)
        self.thread_free = self.network_free = 0.0
        self.dead = False
        self.slow_from = self.slow_until = NEVER
        self.commands = collections.defaultdict(int)  # count by second
        self.bytes = collections.defaultdict(int)

    def turn(self, arrives):
        """Returns the time at which commands that arrive at this time are run."""
        return self.thread_free if self.thread_free > arrives else arrives

    def serve(self, arrives, commands, kib_out=0.0, kib_in=0.0):
        """Returns the time at which the answer to commands is sent. Commands arrive in the order of time."""
        scenario = self.scenario
        done = self.turn(arrives) + commands * scenario.command + (kib_out + kib_in) * scenario.copy_kib
        bytes_out = commands * scenario.bytes_out_a_command + kib_out * 1024
        sent = self.network_free if self.network_free > done else done
        sent += bytes_out * self.second_per_byte
        self.thread_free, self.network_free = done, sent
        second = int(sent)
        self.commands[second] += commands
        self.bytes[second] += int(bytes_out + kib_in * 1024) + commands * scenario.bytes_in_a_command
        if self.slow_from <= arrives < self.slow_until:
            sent += scenario.slow_by
        return sent


class Kernel:
    """One kernel, and its keys on the servers. Entry, manifest and lease are separate keys, each on one server."""

    def __init__(self, number, seconds, servers):
        name = hashlib.sha256(str(number).encode()).hexdigest()
        self.seconds = seconds
        self.on_shelf = False
        self.entry, self.manifest, self.lease = (servers[place(f"cccl-cached:{kind}:{name}") * len(servers) // PLACES]
                                                 for kind in "aml")
        # server: number of commands
        self.for_entries = collections.Counter([self.entry, self.manifest])
        self.for_lease = collections.Counter([self.lease])
        self.for_both = self.for_entries + self.for_lease
        self.forget_entry()
        self.forget_lease()

    def forget_entry(self):
        self.written = NEVER  # time at which a server has it

    def forget_lease(self):
        self.holder, self.held_until = None, 0.0


def place(key):
    """Distributes keys as evenly as the daemon's rendezvous hashing."""
    return binascii.crc_hqx(key.encode(), 0) % PLACES


class Link:
    """A node's connection to one server."""

    __slots__ = ("backoff", "connected", "last_slow", "slow_in_a_row", "up_since")

    def __init__(self):
        self.connected, self.up_since = True, -NEVER
        self.backoff = FIRST_BACKOFF
        self.slow_in_a_row, self.last_slow = 0, -NEVER


class Node:
    __slots__ = ("deadline", "holders", "holds", "ignores_until", "in_vain_in_a_row", "links", "lost", "next", "order",
                 "pause", "since", "usual", "waits")

    def __init__(self, order, servers):
        self.order, self.next = order, 0  # the kernels that the node needs, and the index of the present kernel
        self.links = {server: Link() for server in servers}
        self.lost = 0  # links that are not connected
        self.usual = 0.0  # longest usual time of its compiles; 0 if unknown
        self.in_vain_in_a_row, self.ignores_until = 0, 0.0
        # The present question: its start, the deadline of its answer, the pause before the next look at a lease,
        # whether the node waits for another node's compile, the number of such waits, and whether it holds the lease.
        self.since = self.deadline = self.pause = 0.0
        self.waits = self.holds = False
        self.holders = 0


class Simulation:
    """One run of a scenario. Each step gets its time, and may schedule later steps. A step with `arrives` as its
    time runs when commands arrive at a server. Servers thus serve in that order, and the time of the answer is known
    at once. A node does one thing at a time, so decisions that concern one node alone are made ahead of their time."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.random = random.Random(scenario.seed)
        self.half_trip = scenario.round_trip / 2
        self.events = []
        self.numbers = iter(range(1 << 62))
        self.servers = [Server(scenario) for _ in range(scenario.servers)]
        self.kernels = [Kernel(number, self.compile_time(), self.servers) for number in range(scenario.kernels)]
        for kernel in self.random.sample(self.kernels, round(scenario.shelf_share * scenario.kernels)):
            kernel.on_shelf = True
        self.nodes = [self.make_node() for _ in range(scenario.nodes)]
        self.counts = collections.Counter()
        self.at_work = scenario.nodes
        self.last_first_kernel = self.last_kernel = 0.0
        self.plan()

    def compile_time(self):
        """Returns a random time with the scenario's average."""
        spread = self.scenario.compile_spread
        return self.scenario.compile_seconds * self.random.lognormvariate(-spread * spread / 2, spread)

    def make_node(self):
        order = self.kernels if self.scenario.same_order else self.random.sample(self.kernels, len(self.kernels))
        node = Node(order, self.servers)
        if self.scenario.without_redis:
            node.lost = len(node.links)
            for link in node.links.values():
                link.connected = False
        return node

    def plan(self):
        first, scenario = self.servers[0], self.scenario
        for node in self.nodes:
            self.at(self.random.uniform(0, scenario.stagger), self.want, node)
        first.slow_from, first.slow_until = scenario.slow_at, scenario.slow_at + scenario.slow_for
        if scenario.dies_at < NEVER:
            self.at(scenario.dies_at, self.die, first)
            self.at(scenario.dies_at + scenario.dies_for, self.come_back, first)

    # The event loop.

    def at(self, time, step, *arguments):
        heapq.heappush(self.events, (time, next(self.numbers), step, arguments))

    def run(self):
        """Runs until all programs are done."""
        while self.events and (self.at_work or self.events[0][0] <= self.last_kernel + AFTERWARDS):
            time, _, step, arguments = heapq.heappop(self.events)
            step(time, *arguments)
        return self

    # A node and its question, as in RemoteCluster.

    def want(self, now, node):
        """The node begins with its next kernel. Kernels on the shelf are handled apart."""
        while node.order[node.next].on_shelf:
            now += self.scenario.shelf_read
            if self.has_got(now, node):
                return
        node.since, node.pause, node.waits, node.holders, node.holds = now, 0.0, False, 0, False
        patience = self.scenario.patience
        node.deadline = now + (max(0.001, min(node.usual / 10, patience)) if node.usual else patience)
        self.at(now + self.half_trip, self.look, node, False)

    def look(self, arrives, node, acquires, after_lease=False):
        """Looks for the entries, and first takes the lease if it is wanted and free. Several servers have no common
        order, so the node asks for the lease alone, then for the entries. It does not ask for a key on a dead
        server."""
        kernel = node.order[node.next]
        alone = acquires and len(self.servers) > 1
        questions = kernel.for_lease if alone else kernel.for_both if acquires else kernel.for_entries
        gone = [server for server, link in node.links.items() if not link.connected] if node.lost else ()
        if gone:
            questions = {server: commands for server, commands in questions.items() if server not in gone}
        if not questions:
            return self.compile(arrives, node)
        lost = (kernel.lease if alone else kernel.entry) in gone
        found = not alone and not lost and kernel.written <= kernel.entry.turn(arrives)
        if acquires and not lost and kernel.held_until <= (turn := kernel.lease.turn(arrives)):
            kernel.holder, kernel.held_until = node, turn + LEASE
            node.holds = True
        answered, entry_answered, broken = 0.0, 0.0, False
        for server, commands in questions.items():
            kib = self.scenario.kib if found and server is kernel.entry else 0.0
            answer = server.serve(arrives, commands, kib_out=kib) + self.half_trip
            if answer > answered:
                answered = answer
            if server is kernel.entry:
                entry_answered = answer
            broken |= self.is_too_slow(arrives - self.half_trip, answer, node, server)
        if found and entry_answered <= node.deadline < answered:
            answered = node.deadline  # the entry serves without the manifest
        if answered > node.deadline:
            self.counts["late"] += 1
            self.compile(node.deadline, node, answered + self.scenario.node_hit if found and not broken else NEVER)
        elif found:
            if node.holds:
                self.at(answered + self.half_trip, self.release, node, kernel)
            if node.waits:
                node.in_vain_in_a_row = 0
            self.have(answered + self.scenario.node_hit, node)
        elif alone and not lost:
            node.deadline = answered + self.scenario.patience
            self.at(answered + self.half_trip, self.look, node, False, True)
        elif lost or node.holds or arrives < node.ignores_until:
            self.compile(answered, node)
        elif not acquires and not after_lease:
            node.pause = FIRST_PAUSE
            self.at(answered + self.half_trip, self.look, node, True)
        else:
            node.holders += 1
            if node.holders > (1 if kernel.manifest in gone else MAX_HOLDERS):
                return self.compile(answered, node)
            self.await_other(answered, node)

    def await_other(self, now, node):
        """Waits for the node that has the lease."""
        if not node.waits:
            node.waits = True
            self.counts["waits"] += 1
        longest = min(max(USUAL_TIMES * node.usual, SHORTEST_WAIT), LONGEST_WAIT) if node.usual else UNKNOWN_WAIT
        if now >= node.since + longest:
            self.counts["waits_in_vain"] += 1
            node.in_vain_in_a_row += 1
            if node.in_vain_in_a_row >= MAX_IN_VAIN:
                node.ignores_until = now + IGNORE_LEASES
            return self.compile(now, node)
        looks = now + self.random.uniform(node.pause / 2, node.pause)
        node.deadline = looks + self.scenario.patience
        node.pause = min(node.pause * PAUSE_GROWTH, LAST_PAUSE)
        self.at(looks + self.half_trip, self.look_at_lease, node)

    def look_at_lease(self, arrives, node):
        kernel = node.order[node.next]
        server = kernel.lease
        if not node.links[server].connected:
            return self.compile(arrives, node)
        held = kernel.held_until > server.turn(arrives)
        answered = server.serve(arrives, 1) + self.half_trip
        if answered > node.deadline:
            self.counts["late"] += 1
            self.compile(node.deadline, node)
        elif held:
            self.await_other(answered, node)
        else:
            node.deadline = answered + self.scenario.patience
            self.at(answered + self.half_trip, self.look, node, True)

    def compile(self, now, node, comes=NEVER):
        """Compiles. `comes` is the time of a late answer, which ends a longer compile."""
        kernel, holds = node.order[node.next], node.holds
        self.counts["compiles"] += 1
        done = now + kernel.seconds
        dies = holds and self.random.random() < self.scenario.die_with_lease
        if dies:
            self.counts["nodes_died"] += 1
            self.at_work -= 1
            done = now + kernel.seconds / 2
        if holds:
            self.at(now + LEASE / 3, self.renew, node, kernel, min(done, comes))
        if dies:
            return
        if comes >= done:
            node.usual = max(kernel.seconds, node.usual - (node.usual - kernel.seconds) / WEIGHT)
            self.at(done + self.half_trip, self.write, node, kernel)
        done = min(done, comes)
        if holds:
            self.at(done + self.half_trip, self.release, node, kernel)
        self.have(done, node)

    def have(self, now, node):
        if not self.has_got(now, node):
            self.want(now, node)

    def has_got(self, now, node):
        """Records a kernel. Returns whether it was the node's last kernel."""
        node.next += 1
        if node.next == 1:
            self.last_first_kernel = max(self.last_first_kernel, now)
        if node.next < len(node.order):
            return False
        self.at_work -= 1
        self.last_kernel = max(self.last_kernel, now)
        return True

    # The other traffic of a node.

    def write(self, arrives, node, kernel):
        server = kernel.entry
        if node.links[server].connected:
            server.serve(arrives, 1, kib_in=self.scenario.kib)
            kernel.written = min(kernel.written, server.thread_free)
            self.counts["writes"] += 1

    def renew(self, arrives, node, kernel, until):
        if arrives >= until or kernel.holder is not node:
            return
        if node.links[kernel.lease].connected:
            turn = kernel.lease.turn(arrives)
            kernel.lease.serve(arrives, SCRIPT)
            if kernel.held_until > turn:
                kernel.held_until = turn + LEASE
        self.at(arrives + LEASE / 3, self.renew, node, kernel, until)

    def release(self, arrives, node, kernel):
        if node.links[kernel.lease].connected:
            kernel.lease.serve(arrives, SCRIPT)
            if kernel.holder is node:
                kernel.holder, kernel.held_until = None, min(kernel.held_until, kernel.lease.thread_free)

    # Connections and their ends, as in RedisLink.

    def is_too_slow(self, sent, answered, node, server):
        """Returns whether this answer closes the connection."""
        link = node.links[server]
        late = sent + self.scenario.patience
        if answered <= late:
            link.slow_in_a_row = 0
        elif late >= link.last_slow + self.scenario.patience:
            link.last_slow = late
            link.slow_in_a_row += 1
            if link.slow_in_a_row >= MAX_SLOW:
                self.counts["broken_off"] += 1
                link.slow_in_a_row = 0
                self.lose(late, node, server)
                return True
        return False

    def lose(self, now, node, server):
        link = node.links[server]
        if link.connected:
            link.connected = False
            node.lost += 1
            if now - link.up_since >= GOOD_CONNECTION:
                link.backoff = FIRST_BACKOFF
        wait = link.backoff / 2 + self.random.uniform(0.001, link.backoff / 2)
        link.backoff = min(2 * link.backoff, LAST_BACKOFF)
        self.at(now + wait, self.connect, node, server)

    def connect(self, now, node, server):
        if server.dead:
            return self.lose(now, node, server)
        answered = server.serve(now + 1.5 * self.scenario.round_trip, 1) + self.half_trip
        if answered > now + CONNECT_TIMEOUT:
            return self.lose(now + CONNECT_TIMEOUT, node, server)
        self.at(answered, self.be_connected, node, server)

    def be_connected(self, now, node, server):
        if server.dead:
            return self.lose(now, node, server)
        link = node.links[server]
        link.connected, link.up_since = True, now
        node.lost -= 1

    def die(self, now, server):
        server.dead = True
        for kernel in self.kernels:
            if kernel.entry is server:
                kernel.forget_entry()
            if kernel.lease is server:
                kernel.forget_lease()
        for node in self.nodes:
            if node.links[server].connected:
                self.lose(now, node, server)

    def come_back(self, now, server):
        server.dead = False

    # The figures.

    def figures(self):
        mib = 1 << 20
        took = max(self.last_kernel, 1.0)
        return {
            "nodes": self.scenario.nodes,
            "compiles": self.counts["compiles"],
            "last_first_kernel": round(self.last_first_kernel, 1),
            "last_kernel": round(self.last_kernel, 1),
            "alone": round(sum(kernel.seconds for kernel in self.kernels), 1),
            **{name: self.counts[name] for name in
               ("writes", "waits", "waits_in_vain", "late", "broken_off", "nodes_died")},
            "commands": sum(sum(server.commands.values()) for server in self.servers),
            "mib": round(sum(sum(server.bytes.values()) for server in self.servers) / mib),
            # of the busiest server
            "commands_a_second_peak": max(max(server.commands.values(), default=0) for server in self.servers),
            "commands_a_second_mean": round(max(sum(server.commands.values()) for server in self.servers) / took),
            "mib_a_second_peak": round(max(max(server.bytes.values(), default=0) for server in self.servers) / mib),
            "mib_a_second_mean": round(max(sum(server.bytes.values()) for server in self.servers) / mib / took, 1),
        }


def play(scenario):
    return Simulation(scenario).run().figures()


def measured(path):
    """Returns the costs in a file of measure.py, as fields of a scenario."""
    found = json.loads(pathlib.Path(path).read_text())
    return {
        "command": found["command_us"] * 1e-6,
        "copy_kib": found["kib_us"] * 1e-6,
        "bytes_in_a_command": found["bytes_in_a_command"],
        "bytes_out_a_command": found["bytes_out_a_command"],
        "kib": found["bytes_a_hit"] / 1024,
        "node_hit": found["node_us_a_hit"] * 1e-6,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="All times are in seconds.")
    parser.add_argument("--nodes", type=int, nargs="+", default=[64, 1000, 10000])
    parser.add_argument("--measured", type=pathlib.Path, metavar="FILE", help="costs; options that are given go before")
    for field in dataclasses.fields(Scenario)[1:]:
        option, default = "--" + field.name.replace("_", "-"), field.default
        if isinstance(default, bool):
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=type(default), default=argparse.SUPPRESS, help=f"by default {default}")
    given = vars(parser.parse_args())
    sizes, costs = given.pop("nodes"), given.pop("measured")
    for nodes in sizes:
        options = (measured(costs) if costs else {}) | given
        print(json.dumps(play(Scenario(nodes=nodes, **options))), flush=True)


if __name__ == "__main__":
    main()
