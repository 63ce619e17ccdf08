# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Leases over a directory, in place of the daemon's, for tests of clients alone."""

import contextlib
import fcntl
import hashlib
import pathlib


class DirectoryLease:
    released = False

    def __init__(self, path):
        self._path, self.key = path, path.name
        self.contents = path.read_bytes() if path.exists() else None

    def publish(self, data):
        self._path.write_bytes(data)

    def fail(self):
        pass  # the next process gets the lease


class DirectoryLeases:
    """One file per key. The process that holds its lock has the lease."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)

    @contextlib.contextmanager
    def lease(self, namespace, fields, *, group=None, timeout=None, replace=False, wait_only=False, released_at_limit=False):
        name = hashlib.sha256((repr((namespace, sorted(fields.items())))).encode()).hexdigest()
        with open(self.directory / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield DirectoryLease(self.directory / name)

    def remove_deposit(self, key, *, timeout=None):
        (self.directory / key).unlink()
        return True
