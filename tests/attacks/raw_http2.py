# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 frames that an attacker writes by hand, over connections of any uid."""

import os
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
FIRST_WINDOW = 65535


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def connect_as(uid, path):
    """Returns a connection of that uid after its preface, or None if the daemon does not accept it."""
    end = socket.socket(socket.AF_UNIX)
    os.setegid(uid)
    os.seteuid(uid)
    try:
        end.connect(path)
    finally:
        os.seteuid(0)
        os.setegid(0)
    try:
        end.sendall(PREFACE + frame(SETTINGS, 0, 0))
        end.settimeout(30)
        first = end.recv(1, socket.MSG_PEEK)
    except (BrokenPipeError, ConnectionResetError):
        first = b""
    if first:
        return end
    end.close()
    return None


def call_headers(stream, path):
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "te": "trailers",
              "content-type": "application/grpc"}
    block = b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items())
    return frame(HEADERS, 4, stream, block)


class UnfinishedMessages:
    """Sends all but the last bytes of a large message on each of several streams of one connection, as far as the
    daemon's window allows."""

    def __init__(self, end, streams, size):
        self.end = end
        self.left = {2 * i + 1: size - 100 for i in range(streams)}
        self.windows = dict.fromkeys([0, *self.left], FIRST_WINDOW)
        self.received = b""
        self.unsent = b"".join(
            call_headers(stream, "/cccl_cache.v1.Build/Build") + frame(DATA, 0, stream, b"\0" + struct.pack(">I", size))
            for stream in self.left)
        for stream in self.left:
            self.windows[0] -= 5
            self.windows[stream] -= 5
        self.sent = 0
        end.setblocking(False)

    def step(self):
        """Sends once. Returns whether the daemon took any bytes."""
        try:
            self.received += self.end.recv(1 << 16)
        except BlockingIOError:
            pass
        except OSError:
            self.left = {}
            return False
        self.read_frames()
        for stream, left in list(self.left.items()):
            count = min(self.windows[0], self.windows[stream], left, 16384)
            if count > 0 and len(self.unsent) < 1 << 18:
                self.unsent += frame(DATA, 0, stream, b"a" * count)
                self.windows[0] -= count
                self.windows[stream] -= count
                self.left[stream] -= count
        try:
            count = self.end.send(self.unsent) if self.unsent else 0
        except BlockingIOError:
            return False
        except OSError:
            self.left = {}
            return False
        self.unsent = self.unsent[count:]
        self.sent += count
        return count > 0

    def read_frames(self):
        while len(self.received) >= 9:
            size = int.from_bytes(self.received[:3], "big")
            if len(self.received) < 9 + size:
                return
            kind, stream = self.received[3], int.from_bytes(self.received[5:9], "big")
            payload, self.received = self.received[9:9 + size], self.received[9 + size:]
            if kind == WINDOW_UPDATE and stream in self.windows:
                self.windows[stream] += int.from_bytes(payload, "big")
            elif kind == RST_STREAM:
                self.left.pop(stream, None)


def send_all(senders, idle_seconds):
    """Sends until the daemon has taken nothing for so long, or until all is sent. Returns the bytes sent."""
    last = time.monotonic()
    while time.monotonic() - last < idle_seconds and any(sender.left for sender in senders):
        moved = [sender.step() for sender in senders if sender.left]
        if any(moved):
            last = time.monotonic()
        else:
            time.sleep(0.01)
    return sum(sender.sent for sender in senders)
