# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon under load: many entries, many users, many connections, many requests at once."""

import json
import pathlib
import signal
import statistics
import subprocess
import sys
import time

from figures import Row, microseconds, milliseconds, percentile, ratio, run

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "integration"), str(TESTS / "pictures")]
from fake_toolkit import FakeToolkit  # noqa: E402
from plots import Plot  # noqa: E402

KEYS, SIZE = 1_000, 2 << 10  # number and size of the requested entries
USERS, CONNECTIONS, RATE = 8, 4, 500  # a load that any daemon can take
STREAMS = 64  # calls of BuildMany: half of the daemon's bound
RSS_BAR = 300 << 20  # bytes, besides the memory in the configuration
CONFIGURED = (256 << 20, 64 << 20)  # --memory-limit, and RocksDB's cache of the disk tier


def load(servers, fake_root, effort):
    """Returns all rows of this file, and the plots."""
    bench = servers.build / "tests/bench/bench_load"

    def ask(socket, users=USERS, connections=CONNECTIONS, rate=RATE):
        return run(bench, socket, "ask", users, connections, rate, effort.load_seconds, KEYS, SIZE)["ours"]

    def daemon(name, entries):
        """Starts a daemon over a store with so many entries, which a killed process has left. KEYS of the entries can be
        requested."""
        if entries > KEYS:
            fill(servers, name, entries - KEYS)
        socket = servers.daemon(name, fake_root, "--memory-limit", f"{CONFIGURED[0] >> 20}MiB")
        subprocess.run([str(bench), socket, "fill", str(KEYS), str(SIZE)], check=True)
        servers.kill_and_start(name)
        return socket

    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= effort.most_entries]
    sockets = {entries: daemon(f"entries{entries}", entries) for entries in sizes}
    times = {entries: [] for entries in sizes}
    for _ in range(effort.load_rounds):  # in turn, because the speed of the machine varies
        for entries, socket in sockets.items():
            times[entries] += ask(socket)
    few, most = times[sizes[0]], times[sizes[-1]]
    value = ratio(most, few)
    yield Row(
        f"hit, {sizes[-1]:,} entries: {sizes[0]:,} entries", microseconds(most), microseconds(few), f"{value:.2f}x",
        "", "1.25x", None,
    )
    held = servers.memory(f"entries{sizes[-1]}")
    yield Row(
        f"RSS, {sizes[-1]:,} entries, after these hits", f"{held >> 20} MiB", "", "",
        "", f"{(RSS_BAR + sum(CONFIGURED)) >> 20} MiB",
    )
    plot("entries", "Hit by entries in the store", "entries", times, servers, log=True)

    socket = sockets[sizes[-1]]
    many = effort.connections
    busy = ask(socket, USERS, many // USERS)
    yield Row(f"hit, {many:,} connections: {USERS * CONNECTIONS}", microseconds(busy), microseconds(most),
              f"{ratio(busy, most):.2f}x")

    times = {rate: ask(socket, rate=rate) for rate in effort.rates}
    yield Row(
        f"hit, {effort.rates[-1]:,} a second: {effort.rates[0]:,}", microseconds(times[effort.rates[-1]]),
        microseconds(times[effort.rates[0]]), f"{ratio(times[effort.rates[-1]], times[effort.rates[0]]):.2f}x",
    )
    plot("load", "Hit by load", "hits a second", times, servers)
    times = {users: ask(socket, users, 1) for users in effort.users}
    plot("processes", f"Hit by processes, {RATE} hits a second in all", "processes", times, servers, log=True)
    yield from in_flight(servers, fake_root, effort, bench)


def fill(servers, name, entries):
    """Makes a store that was never closed."""
    done = subprocess.run(
        [servers.build / "tests/unit/store/store_child", "fill-and-die", servers.state(name), str(entries), str(SIZE)]
    )
    assert done.returncode == -signal.SIGKILL  # the program kills itself after it has written all entries


def in_flight(servers, fake_root, effort, bench):
    """Makes requests that all wait for one compile. Measures their cost meanwhile, and the time until all have its
    result."""
    toolkit = FakeToolkit(fake_root, servers.place / "gated")
    socket = servers.daemon("in flight", toolkit.root)
    before = servers.memory("in flight")
    connections = STREAMS // USERS
    builds = effort.in_flight // STREAMS
    source = f"//fake: wait-for gate\n//fake: output-size {180 << 10}\n"
    command = [str(bench), socket, "wait", str(USERS), str(connections), str(builds), source]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
        while stats(servers, socket)["waiting"] < USERS * connections * builds:
            assert waiting.poll() is None, "requests failed"
            time.sleep(0.1)
        held = servers.memory("in flight") - before
        toolkit.open("gate")
        told = waiting.communicate()[0]
    assert waiting.returncode == 0
    took = float(told.split()[1])
    count = USERS * connections * builds
    yield Row(f"{count:,} requests in flight: memory", f"{held >> 20} MiB", "", f"{held / count / 1024:.1f} KiB each")
    yield Row(f"{count:,} requests in flight: from the first with its 180 KB to the last", milliseconds([took]), "",
              f"{took / count:.0f} us each")


def stats(servers, socket):
    done = subprocess.run(
        [servers.build / "cli/cccl-cache-cli", "--socket", socket, "--json", "stats"], stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def plot(name, title, what, times, servers, log=False):
    """Draws a plot of times over their parameter, if plots are requested."""
    if servers.plots:
        drawn = Plot(title, what, "microseconds", log_x=log, log_y=True)
        drawn.add("p50", {x: statistics.median(each) for x, each in times.items()})
        drawn.add("p99", {x: percentile(each, 0.99) for x, each in times.items()})
        drawn.write(servers.plots / f"{name}.svg")
