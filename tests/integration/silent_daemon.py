# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon that is started and never answers."""

import os
import pathlib
import shutil
import signal
import socket
import struct
import sys

from places import PLACES

SILENT = """
import os, signal, socket, sys
path = sys.argv[sys.argv.index("--socket") + 1]
os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(path)
    listener.listen()
    signal.pause()
"""


def cli_with_silent_daemon(place):
    """Makes an installation of the command line whose daemon never answers. Returns the path of the command line."""
    for folder in "cli", "daemon":
        (place / folder).mkdir(parents=True)
    (place / "client").symlink_to(pathlib.Path(PLACES.cli).parents[1] / "client")
    daemon = place / "daemon/cccl-cached"
    daemon.write_text(f"#!{sys.executable}{SILENT}")
    daemon.chmod(0o755)
    return shutil.copy(PLACES.cli, place / "cli")


def end_silent_daemon(path):
    """Ends the daemon that listens at this path."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        pid, _, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    os.kill(pid, signal.SIGTERM)
