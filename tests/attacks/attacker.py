# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""attacker.py SOCKET NAME: as ATTACKER, floods the daemon with frames that are no calls yet, or no more. Prints as JSON how many bytes
it could send, over how many connections, and how many of these were closed; then keeps the others open until its
standard input ends."""

import json
import struct
import subprocess
import sys
import time

from bystander import ATTACKER, become
from http2 import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RESET, SETTINGS, call_fields, connect, field, frame, integer,
    pour,
)

UNFINISHED = frame(HEADERS, 0, 1, b"\0" + integer(1, 7) + b"x" + integer(1 << 29, 7))


def open_to(path, count, first=b""):
    made = []
    for _ in range(count):
        made.append(connect(path))
        made[-1].sendall(first)
    return made


def unfinished_field(path):
    """One field that does not end, over many connections: gRPC would keep all of it."""
    connections = open_to(path, 100, UNFINISHED)
    return connections, pour(connections, [frame(CONTINUATION, 0, 1, b"a" * 16384)] * 128)


def small_fields(path):
    """A header block of many complete fields that does not end."""
    connections = open_to(path, 20, frame(HEADERS, 0, 1, call_fields()))
    return connections, pour(connections, [frame(CONTINUATION, 0, 1, field(b"x", b"y") * 2000)] * 500)


def empty_continuations(path):
    connections = open_to(path, 3, frame(HEADERS, 0, 1, call_fields()))
    return connections, pour(connections, [frame(CONTINUATION, 0, 1) * 1000] * 500)


def up_to_the_bound(path):
    """As many bytes of a field as an honest client may send, on many connections that stay."""
    begun = frame(HEADERS, 0, 1, b"\0" + integer(1, 7) + b"x" + integer(1 << 29, 7) + b"a" * 8000)
    connections = open_to(path, 300)
    return connections, pour(connections, [begun + frame(CONTINUATION, 0, 1, b"a" * 8000)])


def rapid_resets(first, count):
    """Calls that are cancelled as soon as they are made."""
    return b"".join(
        frame(HEADERS, END_HEADERS, stream, call_fields()) + frame(RESET, 0, stream, struct.pack(">I", 8))
        for stream in range(first, first + 2 * count, 2)
    )


def rapid_reset(path):
    connections = open_to(path, 1)
    return connections, pour(connections, [rapid_resets(1 + 200 * i, 100) for i in range(200)])


def rapid_reset_of_many(path):
    """As many on each connection as it may cancel alone."""
    connections = open_to(path, 60)
    return connections, pour(connections, [rapid_resets(1 + 200 * i, 100) for i in range(19)])


def pings(path):
    """None of the answers is read."""
    connections = open_to(path, 3)
    return connections, pour(connections, [frame(PING, 0, 0, b"12345678") * 1000] * 500)


def settings(path):
    connections = open_to(path, 3)
    return connections, pour(connections, [frame(SETTINGS, 0, 0, b"\0\3\0\0\0\1") * 1000] * 500)


def again_and_again(path):
    """Connects anew as soon as it was cut off, for two seconds."""
    connections, sent, closed = 0, 0, 0
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            (one,) = open_to(path, 1, UNFINISHED)
        except OSError:  # closed before the first frame
            closed += 1
        else:
            some, ended = pour([one], [frame(CONTINUATION, 0, 1, b"a" * 16384)] * 16)
            one.close()
            sent, closed = sent + some, closed + ended
        connections += 1
    return range(connections), (sent, closed)


def begun_message(size, path=b"/cccl_cache.v1.Build/Build"):
    """A call whose message is announced with this size."""
    return frame(HEADERS, END_HEADERS, 1, call_fields(**{":path": path})) + frame(
        DATA, 0, 1, b"\0" + struct.pack(">I", size))


def tiny_data(path):
    """A message in frames of one byte, as much of it as may be sent before the server reads."""
    connections = open_to(path, 100, begun_message(1 << 24))
    return connections, pour(connections, [frame(DATA, 0, 1, b"a") * 1000] * 65)


def tiny_messages(path):
    """Messages without a byte on a stream that may have many, each in frames of one byte. A user may have 32 such
    streams."""
    many = frame(HEADERS, END_HEADERS, 1, call_fields(**{":path": b"/cccl_cache.v1.Build/BuildMany"}))
    connections = open_to(path, 30, many)
    return connections, pour(connections, [frame(DATA, 0, 1, b"\0") * 1000] * 65)


def long_announcement(path):
    """A message of 3 GiB."""
    connections = open_to(path, 3, begun_message(3 << 30))
    return connections, pour(connections, [frame(DATA, 0, 1, b"a" * 16000)] * 200)


def unread_answers(path):
    """Calls that are answered at once, over connections that read nothing."""
    get = call_fields(**{":path": b"/cccl_cache.v1.Info/Get"})
    connections = open_to(path, 100)
    return connections, pour(connections, [
        b"".join(frame(HEADERS, END_HEADERS, stream, get) + frame(DATA, END_STREAM, stream, b"\0" * 5)
                 for stream in range(first, first + 200, 2))
        for first in range(1, 4001, 200)
    ])


def forged_lines(path):
    """Calls with a field that gRPC names in its log, and that holds what looks like a line of its own."""
    fields = call_fields(te=b"x\n2026-11-23T00:40:00.000+00:00 warning build: FORGED \x1b[31mline")
    connections = open_to(path, 10)
    return connections, pour(
        connections, [frame(HEADERS, END_HEADERS | END_STREAM, stream, fields) for stream in range(1, 2001, 2)]
    )


def attack(daemon, name):
    """Has the attacker do it. Returns what was printed."""
    attacker = subprocess.Popen(
        [sys.executable, __file__, daemon.socket, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    done = json.loads(attacker.stdout.readline())
    attacker.communicate("")
    return done


if __name__ == "__main__":
    become(ATTACKER)
    made, (taken, cut) = globals()[sys.argv[2]](sys.argv[1])
    print(json.dumps({"connections": len(made), "sent": taken, "closed": cut}), flush=True)
    sys.stdin.read()
