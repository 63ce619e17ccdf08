# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 frames that an attacker writes by hand, over a socket of its own."""

import select
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS = 1, 4
LIMIT = 20  # seconds of an attack


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def integer(number, bits, first=0):
    """Returns an integer in HPACK's encoding."""
    most = (1 << bits) - 1
    if number < most:
        return bytes([first | number])
    out = bytes([first | most])
    number -= most
    while number >= 128:
        out += bytes([number % 128 + 128])
        number //= 128
    return out + bytes([number])


def field(name, value):
    return b"\0" + integer(len(name), 7) + name + integer(len(value), 7) + value


def call_fields(**changed):
    fields = {
        ":method": b"POST", ":scheme": b"http", ":path": b"/cccl_cache.v1.Build/Build", ":authority": b"x",
        "te": b"trailers", "content-type": b"application/grpc", **changed,
    }
    return b"".join(field(name.encode(), value) for name, value in fields.items())


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
    return connection


def pour(connections, pieces):
    """Sends the pieces to all connections, as fast as each takes them. Returns the number of sent bytes, and of
    connections that the other side closed."""
    waiting = {each: list(pieces) for each in connections}
    sent = closed = 0
    end = time.monotonic() + LIMIT
    for each in connections:
        each.setblocking(False)
    while waiting and time.monotonic() < end:
        _, writable, _ = select.select([], list(waiting), [], 1)
        for each in writable:
            try:
                count = each.send(waiting[each][0])
            except BlockingIOError:
                continue
            except OSError:
                closed += 1
                del waiting[each]
                continue
            sent += count
            waiting[each][0] = waiting[each][0][count:]
            if not waiting[each][0]:
                waiting[each].pop(0)
                if not waiting[each]:
                    del waiting[each]
    return sent, closed
