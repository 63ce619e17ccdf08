# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Clients that hold leases. Each is a process that obeys the commands of a test."""

import json
import os
import signal
import subprocess

from patience import PATIENCE, wait_for
from places import PLACES


class LeaseClient:
    """A process that acquires `value`, and waits if another process holds the lease. `behind` is a program that runs
    it, with that program's options. `how`: "replace" asks for the lease in place of its user's own deposit, "wait"
    only waits."""

    def __init__(self, daemon, value="v", of_group="", timeout_ms=int(PATIENCE * 1000), behind=(), how="",
                 **identity):
        self.process = subprocess.Popen(
            [*behind, PLACES.lease_client, daemon.socket, value, of_group, str(timeout_ms), *[how] * bool(how)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}, cwd="/", **identity)

    def hear(self):
        """Returns its next line of output."""
        return self.process.stdout.readline().decode().rstrip("\n")

    def tell(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, command):
        self.tell(command)
        return self.hear()

    def threads(self):
        """Returns its number of threads. It has one more thread while it holds the lease and does not publish."""
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def stop(self):
        """Stops the process with SIGSTOP. Returns when it is stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)


def deposit(daemon, value, contents, **keywords):
    """Deposits the value. Returns its key."""
    client = LeaseClient(daemon, value, **keywords)
    word, _, key = client.hear().split()
    assert word == "lease"
    assert client.ask(f"publish {contents}") == "published"
    client.end()
    return key


def wait_for_waiters(daemon, count):
    wait_for(lambda: daemon.stats()["lease_waiters"] == count, f"{count} callers that wait for a lease")


def listed(daemon, user=None):
    return json.loads(daemon.cli("--json", "deposits", "list", cwd="/", user=user).stdout)["deposits"]
