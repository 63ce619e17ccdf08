# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""connection_taker.py SOCKET MOST becomes many users, root among them, and opens as many connections as each may
have, MOST at most. Prints how many connections are served, and keeps them until its standard input ends."""

import contextlib
import os
import select
import sys

from http2 import connect

PATIENCE = 20
USERS = [*range(3001, 3011), 0]


def take(path, most):
    served = []
    for uid in USERS:
        os.seteuid(0)
        os.seteuid(uid)
        for _ in range(most):
            with contextlib.suppress(OSError):
                connection = connect(path)
                if select.select([connection], [], [], PATIENCE)[0] and connection.recv(100):
                    served.append(connection)
                    continue
            break
    return served


if __name__ == "__main__":
    held = take(sys.argv[1], int(sys.argv[2]))
    print(len(held), flush=True)
    sys.stdin.read()
