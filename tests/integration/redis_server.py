# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A real Redis on a Unix socket or several as a cluster, a peer that only talks nonsense, and one that holds answers back."""

import contextlib
import itertools
import shutil
import signal
import socket
import subprocess
import threading

from patience import PATIENCE, wait_for


class Redis:
    """A server of the test's own, without files. Debian's package of the tools holds its program, under another name."""

    def __init__(self, place):
        self.path = str(place / "redis.sock")
        self.url = f"unix://{self.path}"
        self.log = place / "redis.log"
        self.process = None

    def start(self, *settings):
        command = ["redis-server", "--unixsocket", self.path, "--save", "", "--appendonly", "no"]
        command += settings if "--port" in settings else ("--port", "0", *settings)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                command, executable=shutil.which("redis-check-rdb"), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.log.parent)
        wait_for(self.responds, "Redis")
        return self

    def responds(self):
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError):
            return self.ask("PING") == b"PONG"
        return False

    def connection(self):
        return Connection(self.path)

    def ask(self, *words):
        """The answer to one command: bytes, a number, a list, or None."""
        with self.connection() as connection:
            return connection.ask(*words)

    def entries(self, kind="a"):
        return sorted(self.ask("KEYS", f"cccl-cached:{kind}:*"))

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.process = None

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


class Connection:
    """A context: one connection, for one command after the other."""

    def __init__(self, path):
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.settimeout(PATIENCE)
        self.peer.connect(path)
        self.answers = self.peer.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answers.close()
        self.peer.close()

    def ask(self, *words):
        return self.ask_all([words])[0]

    def ask_all(self, commands):
        """The answers to several commands, which are sent at once."""
        self.peer.sendall(b"".join(_encode(words) for words in commands))
        return [self._read() for _ in commands]

    def _read(self):
        line = self.answers.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.answers.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        if kind == b"-" and rest.split()[0] in (b"MOVED", b"ASK"):
            raise Redirected(rest)
        assert kind != b"-", rest
        return int(rest) if kind == b":" else rest


def _encode(words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


@contextlib.contextmanager
def free_ports(count):
    """Ports of the loopback that no other program is given meanwhile. A server that sets SO_REUSEADDR, as Redis does, can
    listen there."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]


class Master(Redis):
    """A node of a cluster, in a directory of its own."""

    def __init__(self, place, tls=()):
        place.mkdir()
        super().__init__(place)
        self.tls = tls
        self.port = self.bus = None

    def start(self):
        with free_ports(2) as (self.port, self.bus):
            port = ("--port", "0", "--tls-port", str(self.port), "--tls-cluster", "yes", *self.tls) if self.tls else ("--port", str(self.port))
            super().start(
                *port, "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port", str(self.bus),
                "--cluster-require-full-coverage", "no", "--cluster-node-timeout", "1000")
        self.id = self.ask("CLUSTER", "MYID").decode()
        return self

    def owns(self, key):
        """Whether it says that it has the slot of a key, which need not be there."""
        with contextlib.suppress(Redirected):
            self.ask("EXISTS", key)
            return True
        return False


class RedisCluster:
    """Three masters, each with a third of the slots. `tls`: the settings of each, where the cluster talks TLS alone."""

    SLOTS = ((0, 5460), (5461, 10922), (10923, 16383))

    def __init__(self, place, tls=()):
        self.place = place
        self.tls = tls
        self.masters = []
        self.started = []

    @property
    def url(self):
        return f"{'rediss' if self.tls else 'redis'}://127.0.0.1:{self.masters[0].port}"

    def add(self, name, tls=()):
        node = Master(self.place / name, tls)
        self.started.append(node)
        return node.start()

    def start(self):
        tls = self.tls or [()] * len(self.SLOTS)
        self.masters = [self.add(f"master{number}", each) for number, each in enumerate(tls)]
        for epoch, (master, slots) in enumerate(zip(self.masters, self.SLOTS), 1):
            master.ask("CLUSTER", "ADDSLOTSRANGE", *slots)
            master.ask("CLUSTER", "SET-CONFIG-EPOCH", epoch)
        for master in self.masters[1:]:
            self.meet(master)
        self.await_agreement()
        return self

    def meet(self, node):
        self.masters[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port, node.bus)

    def await_agreement(self):
        """Returns once each master knows who has what."""

        def agreed():
            maps = [sorted((first, last, master[1]) for first, last, master, *_ in each.ask("CLUSTER", "SLOTS")) for each in self.masters]
            up = all(b"cluster_state:ok" in each.ask("CLUSTER", "INFO") for each in self.masters)
            return up and len(maps[0]) >= len(self.masters) and all(each == maps[0] for each in maps)

        wait_for(agreed, "one view of the cluster")

    def add_replica(self, master):
        """A node with all that a master has."""
        replica = self.add(f"replica{len(self.started)}")
        self.meet(replica)
        wait_for(lambda: master.id.encode() in replica.ask("CLUSTER", "NODES"), "the replica in the cluster")
        replica.ask("CLUSTER", "REPLICATE", master.id)
        wait_for(lambda: b"master_link_status:up" in replica.ask("INFO", "replication"), "the replica's copy")
        return replica

    def holder(self, key):
        return next(master for master in self.masters if master.owns(key))

    def entries(self):
        return list(itertools.chain.from_iterable(master.entries() for master in self.masters))

    def begin_move(self, key, source, target):
        """Moves a key whose slot is still the source's."""
        slot = source.ask("CLUSTER", "KEYSLOT", key)
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        assert source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, int(PATIENCE * 1000)) == b"OK"

    def end_move(self, key, target):
        slot = target.ask("CLUSTER", "KEYSLOT", key)
        for master in (target, *(each for each in self.masters if each is not target)):
            master.ask("CLUSTER", "SETSLOT", slot, "NODE", target.id)

    def stop(self):
        for node in self.started:
            node.stop()


class Gate:
    """Stands before a Redis. Once it is closed no answer passes, until it is opened."""

    def __init__(self, place, redis):
        self.path = str(place / "gate.sock")
        self.url = f"unix://{self.path}"
        self.redis = redis
        self.passes = threading.Event()
        self.passes.set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self.passes.clear()

    def open(self):
        self.passes.set()

    def stop(self):
        self.open()
        self.listener.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self.redis.path)
                threading.Thread(target=self._pass, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near, True), daemon=True).start()

    def _pass(self, source, target, gated):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if gated:
                    self.passes.wait()
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Redirected(Exception):
    """The key is at another node of the cluster."""


class Nonsense:
    """Answers whatever it is asked with the same bytes, again and again."""

    def __init__(self, place, answer):
        self.path = str(place / "nonsense.sock")
        self.url = f"unix://{self.path}"
        self.answer = answer
        self.calls = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.listener.accept()
                self.calls += 1
                with peer, contextlib.suppress(OSError):
                    while peer.recv(4096):
                        peer.sendall(self.answer)

    def stop(self):
        self.listener.close()
