# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The close of a passed descriptor can block: that of a TCP socket that lingers ends when the client reads the other end.
On Linux 6.16 and later the daemon refuses descriptors; on earlier kernels it interrupts such a close."""

import contextlib
import encodings.idna  # noqa: F401  asked for by socket, when the attacker can read no Python any more
import os
import socket
import struct
import subprocess
import sys

from bystander import ATTACKER, become
from http2 import connect

NEWCOMER = 54_333
TOO_LONG = b"\0\x40\1\1\0\0\0\0\1"  # the head of a frame of more than 16 KiB


def lingering():
    """Returns both ends of a TCP connection over loopback. The first end lingers at its close, because the second
    end reads nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        end = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1_000_000))
    end.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            end.send(b"x" * 4096)
    return end, other


def send_descriptors(path):
    """Sends descriptors over connections that are served, then over connections that are cut off, and over those
    that are refused after that. Returns the objects that must stay open, and the number of descriptors that the
    daemon took."""
    kept, taken = [], 0
    for i in range(80):
        end, other = lingering()
        kept.append(other)
        try:
            connection = connect(path)
            kept.append(connection)
            socket.send_fds(connection, [b"x" if i < 40 else TOO_LONG], [end.fileno()])
        except OSError:  # the daemon refuses descriptors, or has closed the connection
            kept.append(end)  # closing the end would block this process
        else:
            taken += 1
            end.close()
    return kept, taken


def test_passed_descriptors_that_linger_at_their_close_block_no_other_client(shared, bystander):
    command = [sys.executable, __file__, shared.socket]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as attacker:
        taken = int(attacker.stdout.readline())
        assert shared.cli("toolchains", check=False, user=NEWCOMER).returncode == 0
        bystander.report(f"{taken} of 80 descriptors taken")
        attacker.stdin.close()
        attacker.wait(30)
    assert shared.cli("toolchains", check=False, user=NEWCOMER + 1).returncode == 0
    assert shared.stop() == 0


if __name__ == "__main__":
    become(ATTACKER)
    held, count = send_descriptors(sys.argv[1])
    print(count, flush=True)
    sys.stdin.read()
    os._exit(0)  # an ordinary exit would close the ends and wait
