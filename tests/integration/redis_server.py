# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A real Redis on a Unix socket, and a peer that only talks nonsense."""

import contextlib
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
        command = ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no", *settings]
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
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.peer.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self._read()

    def _read(self):
        line = self.answers.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.answers.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        assert kind != b"-", rest
        return int(rest) if kind == b":" else rest


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
