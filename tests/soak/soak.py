# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Four users build without a pause while everything on the node fails: see `scripts/soak --help`.

Each build is a separate process, which compiles locally if the daemon does not serve it. Each result is compared with that
of the compiler without a daemon. A wrong byte or a failed program ends the soak with exit code 1."""

import argparse
import collections
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "integration"), str(TESTS / "pictures")]
from daemon_fixtures import Daemon  # noqa: E402
from patience import wait_for  # noqa: E402
from places import PLACES  # noqa: E402
from plots import Plot, write_grid  # noqa: E402

USERS = (54321, 54322, 54323, 54324)
DAEMON_USER = 54320
DISK_BYTES = 192 << 20
CLIENTS_PER_USER = 2
KERNELS = 24
NEW_KERNELS = 0.03  # share of the builds whose program no earlier build had
MEASURED = ("rss_kib", "descriptors", "threads")  # of the daemon, once a second
LONGEST_BUILD = 150  # seconds: longer than the daemon lets a compile run


def kernel(number):
    return f'extern "C" __global__ void k(float* x) {{ x[threadIdx.x] = x[threadIdx.x] * {number}.0f + {number}; }}\n'


class Disk:
    """A small file system of the daemon's user. Its server can be stopped, so that any access waits. The file system is in
    the mount namespace of scripts/soak, and ends with that."""

    def __init__(self, place):
        behind, self.place = place / "behind", place / "disk"
        behind.mkdir()
        self.place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0755", "tmpfs", behind], check=True)
        os.chown(behind, DAEMON_USER, DAEMON_USER)
        self.server = subprocess.Popen(["bindfs", "-f", behind, self.place])
        wait_for(lambda: os.path.ismount(self.place), "the file system")

    def stall(self, seconds):
        self.server.send_signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            self.server.send_signal(signal.SIGCONT)

    def end(self):
        """Ends the file system. Returns whether no process used it any more."""
        free = subprocess.run(["umount", self.place]).returncode == 0
        if not free:
            self.server.kill()  # the server would outlive the soak; processes that still use it get errors
        self.server.wait()
        return free and subprocess.run(["umount", self.place.with_name("behind")]).returncode == 0


class Soak:
    def __init__(self, place, seconds, seed):
        self.place = place
        self.seconds = seconds
        self.seed = seed
        self.random = random.Random(seed)
        self.begin = self.end = 0  # set at the beginning
        self.toolchains = (PLACES.cuda13, PLACES.cuda12)
        self.cuda = place / "cuda"
        self.use_toolchain(0)
        self.disk = Disk(place)
        self.clock = place / "clock"
        self.set_clock(0)
        node = place / "node"
        (node / "run").mkdir(parents=True)
        os.chown(node / "run", DAEMON_USER, DAEMON_USER)
        self.daemon = Daemon(node, [str(self.cuda)], "--store-limit", "64MiB", "--memory-limit", "8MiB", uid=DAEMON_USER,
                             environment={"LD_PRELOAD": "/usr/$LIB/faketime/libfaketimeMT.so.1",
                                          "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_NO_CACHE": "1",
                                          "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"})
        # The socket and the log are elsewhere, as in /run and the journal.
        self.daemon.state = str(self.disk.place / "state")
        self.daemon.flags += ["--socket-mode", "0666"]
        self.expected = {}
        self.root_of = {}  # version of a toolchain: its path
        self.outcomes = collections.Counter()
        self.events = collections.Counter()
        self.wrong = []
        self.failed = []
        self.samples = []
        self.lives = 0

    def use_toolchain(self, index):
        draft = self.cuda.with_suffix(".draft")
        draft.symlink_to(self.toolchains[index])
        draft.rename(self.cuda)

    def set_clock(self, seconds):
        draft = self.clock.with_suffix(".draft")
        draft.write_text(f"{seconds:+d}s\n")
        draft.chmod(0o644)
        draft.rename(self.clock)

    def build(self, number, user, root, socket):
        """Runs one program. Returns (exit code, messages, bytes)."""
        output = self.place / f"out-{user}-{threading.get_ident()}"
        done = subprocess.run(
            [PLACES.cli, "--json", "--socket", socket, "build", "-", "--arch", "sm_90", "--fallback", "local", "-o", output],
            input=kernel(number).encode(), capture_output=True, user=user, group=user, extra_groups=[], cwd="/", timeout=LONGEST_BUILD,
            env={"PATH": os.environ["PATH"], "CCCL_CACHED_TOOLCHAIN_ROOT": str(root), "CCCL_CACHED_TOOLCHAIN_SEARCH": "roots",
                 "XDG_CACHE_HOME": str(self.place / f"home-{user}")})
        if done.returncode != 0:
            return done.returncode, done.stdout.decode() + done.stderr.decode(), b""
        contents = output.read_bytes()
        output.unlink()
        return 0, json.loads(done.stdout), contents

    def learn(self):
        """Compiles each program with each compiler, without a daemon, to learn its right bytes."""
        for root, number in itertools.product(self.toolchains, range(KERNELS)):
            code, told, contents = self.build(number, USERS[0], root, str(self.place / "none"))
            assert code == 0, told
            self.expected[told["toolchain"]["version"], number] = contents
            self.root_of[told["toolchain"]["version"]] = root

    def client(self, index):
        """Runs one user's programs, one after the other. A program that hangs has failed."""
        user = USERS[index % len(USERS)]
        try:
            self.build_until_the_end(user, random.Random(f"{self.seed} {index}"))
        except Exception as error:
            self.failed.append(f"user {user}: {error!r}")

    def build_until_the_end(self, user, choose):
        while time.monotonic() < self.end and not self.wrong and not self.failed:
            number = min(int(choose.paretovariate(0.7)) - 1, KERNELS - 1)  # a few programs are requested often
            if choose.random() < NEW_KERNELS:
                number = choose.randrange(KERNELS, 1 << 30)
            code, told, contents = self.build(number, user, self.cuda, self.daemon.socket)
            if code != 0:
                self.failed.append(f"user {user}, kernel {number}: exit {code}: {told}")
            elif contents != self.expected_of(told["toolchain"]["version"], number, user):
                self.wrong.append(f"user {user}, kernel {number}: {told}")
            else:
                self.outcomes[told["outcome"]] += 1

    def expected_of(self, version, number, user):
        if (version, number) in self.expected:
            return self.expected[version, number]
        code, told, contents = self.build(number, user, self.root_of[version], str(self.place / "none"))
        assert code == 0, f"kernel {number} without a daemon: {told}"
        return contents

    def sample(self):
        while time.monotonic() < self.end:
            process = self.daemon.process
            if process is not None and process.poll() is None:
                self.note(process.pid)
            time.sleep(1)

    def note(self, pid):
        try:
            status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
            self.samples.append((round(time.monotonic() - self.begin, 1), self.lives, int(status["VmRSS"].split()[0]),
                                 len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"])))
        except (OSError, KeyError):
            pass  # it ended meanwhile

    def start(self):
        self.lives += 1
        self.daemon.start()

    # The faults of a node.
    def kill_a_worker(self):
        workers = self.daemon.children()
        if workers:
            try:
                os.kill(self.random.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def kill_the_daemon(self):
        self.daemon.kill()
        self.start()

    def restart(self):
        assert self.daemon.stop() == 0, self.daemon.log_text()[-2000:]
        self.start()

    def reload(self):
        self.daemon.process.send_signal(signal.SIGHUP)

    def freeze(self):
        self.daemon.freeze()
        time.sleep(self.random.uniform(0.1, 3))  # a node that swaps
        self.daemon.process.send_signal(signal.SIGCONT)

    def flip_bits(self):
        files = [file for file in pathlib.Path(self.daemon.state).rglob("*") if file.suffix in (".sst", ".blob")]
        for file in self.random.sample(files, min(3, len(files))):
            try:
                with open(file, "r+b") as opened:
                    opened.seek(self.random.randrange(max(1, file.stat().st_size)))
                    byte = opened.read(1)
                    opened.seek(-len(byte), 1)
                    opened.write(bytes(each ^ (1 << self.random.randrange(8)) for each in byte))
            except OSError:
                pass  # RocksDB has compacted it away

    def fill_the_disk(self):
        filler = self.disk.place / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                pass
        time.sleep(self.random.uniform(0.5, 4))
        filler.unlink()

    def stall_the_disk(self):
        self.disk.stall(self.random.uniform(1, 10))  # sometimes longer than the daemon waits for a read

    def replace_the_toolchain(self):
        self.use_toolchain(self.random.randrange(2))

    def change_the_clock(self):
        self.set_clock(self.random.choice((-400_000, -3600, 0, 3600, 400_000)))

    def misfortune(self):
        events = (self.kill_a_worker, self.kill_the_daemon, self.restart, self.reload, self.freeze, self.flip_bits,
                  self.fill_the_disk, self.stall_the_disk, self.replace_the_toolchain, self.change_the_clock)
        while time.monotonic() < self.end and not self.wrong and not self.failed:
            time.sleep(self.random.uniform(0.2, 4))
            event = self.random.choice(events)
            event()
            self.events[event.__name__] += 1

    def run(self):
        for user in USERS:
            home = self.place / f"home-{user}"
            home.mkdir()
            os.chown(home, user, user)
        self.place.chmod(0o1777)
        self.learn()
        self.start()
        self.begin = time.monotonic()
        self.end = self.begin + self.seconds
        threads = [threading.Thread(target=self.client, args=(index,)) for index in range(len(USERS) * CLIENTS_PER_USER)]
        threads.append(threading.Thread(target=self.sample))
        for thread in threads:
            thread.start()
        try:
            self.misfortune()
        finally:
            self.end = 0
            for thread in threads:
                thread.join()
        # Checks that requests that were killed or cut off leave nothing behind.
        self.daemon.cli("stats")
        wait_for(lambda: not self.daemon.stats()["in_flight"], "the last compile to end")
        if not self.outcomes["hit"] or not self.outcomes["built"]:
            self.failed.append(f"the daemon served nothing: {dict(self.outcomes)}")
        code = self.daemon.stop()
        if code != 0:
            self.failed.append(f"the daemon ended with {code}: {self.daemon.log_text()[-2000:]}")

    def keep(self):
        """Saves the files of the disk, which ends with the soak."""
        kept = self.place / "state"
        copied = subprocess.run(["cp", "-a", self.daemon.state, kept]).returncode == 0
        print(f"kept {self.place}: log in {self.daemon.log}, state in {kept}{'' if copied else ', not all of it'}",
              file=sys.stderr)

    def report(self):
        print(json.dumps({
            "wrong": len(self.wrong), "failed": len(self.failed), "programs": sum(self.outcomes.values()),
            "outcomes": dict(self.outcomes), "events": dict(self.events), "lives": self.lives,
            "most": {name: max(values) for name, values in zip(MEASURED, list(zip(*self.samples))[2:])},
        }, indent=1))
        for line in self.wrong + self.failed:
            print(line, file=sys.stderr)

    def plot(self, path):
        """Plots the measurements over time, one below the other. A line is broken at a restart of the daemon."""
        placed = []
        for index, (title, scale) in enumerate((("resident memory, MiB", 1024), ("descriptors", 1), ("threads", 1))):
            points, before = {}, None
            for seconds, life, *values in self.samples:
                if before not in (None, life):
                    points[f"{life}"] = None
                points[seconds / 60], before = values[index] / scale, life
            plot = Plot(title, "minutes", "")
            plot.add("", points, marks=False)
            placed.append((plot, 0, index * 220, 900, 220))
        write_grid(path, 900, 660, placed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--samples", help="file for the samples: seconds, life, RSS in KiB, descriptors, threads")
    parser.add_argument("--plot", type=pathlib.Path, help="file for a plot of them, as SVG, by gnuplot")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    place = pathlib.Path(tempfile.mkdtemp(prefix="cccl-soak", dir="/tmp"))
    soak = Soak(place, given.seconds, seed)
    sound = False
    try:
        soak.run()
        sound = not soak.wrong and not soak.failed
    finally:
        if soak.daemon.process is not None and soak.daemon.process.poll() is None:
            soak.daemon.kill()
        soak.report()
        if given.samples:
            pathlib.Path(given.samples).write_text("".join(" ".join(map(str, each)) + "\n" for each in soak.samples))
        if not sound:
            soak.keep()
        if given.plot and soak.samples:
            soak.plot(given.plot)
        if soak.disk.end() and sound:
            shutil.rmtree(place)
    return 0 if sound else 1


sys.exit(main())
