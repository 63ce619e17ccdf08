# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Real Redis servers on a Unix socket or on ports, a peer that sends only nonsense, and a gate that delays answers."""

import contextlib
import shutil
import signal
import socket
import subprocess
import threading

from patience import PATIENCE, wait_for


class Redis:
    """A server for one test, without files. In Debian's package of the tools, its program has another name."""

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
        """Returns the answer to one command: bytes, a number, a list, or None."""
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
    """One connection for several commands, as a context."""

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
        """Returns the answers to several commands, which are sent at once."""
        self.peer.sendall(b"".join(_encode(words) for words in commands))
        return [self._read() for _ in commands]

    def _read(self):
        line = self.answers.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.answers.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        assert kind != b"-", rest
        return int(rest) if kind == b":" else rest


def _encode(words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


@contextlib.contextmanager
def free_ports(count):
    """Returns ports of the loopback that no other program gets meanwhile. A server that sets SO_REUSEADDR, as Redis
    does, can listen on them."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]


class RedisServers:
    """Three servers on the loopback, over which nodes distribute the keys. `tls`: the settings of each server that
    speaks only TLS."""

    def __init__(self, place, tls=((), (), ())):
        self.place = place
        self.tls = tls
        self.ports = []
        self.all = []

    @property
    def urls(self):
        return [f"{'rediss' if any(self.tls) else 'redis'}://127.0.0.1:{port}" for port in self.ports]

    @property
    def url(self):
        return ",".join([self.urls[0], *(f"127.0.0.1:{port}" for port in self.ports[1:])])

    def start(self):
        with free_ports(len(self.tls)) as self.ports:
            for port, tls in zip(self.ports, self.tls):
                place = self.place / str(port)
                place.mkdir()
                listens = ("--port", "0", "--tls-port", str(port), *tls) if tls else ("--port", str(port))
                self.all.append(Redis(place))
                self.all[-1].start(*listens, "--bind", "127.0.0.1")
        return self

    def holder(self, key):
        """Returns the server that has a key, or None."""
        return next((each for each in self.all if each.process and each.ask("EXISTS", key)), None)

    def entries(self):
        return [each.entries() for each in self.all]

    def stop(self):
        for each in self.all:
            each.stop()


class Gate:
    """A gate before a Redis. While it is closed, no answer passes."""

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


class Nonsense:
    """A peer that answers every request with the same bytes."""

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
