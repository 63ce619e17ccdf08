# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Two versions of the daemon take turns behind one listening socket, as with upgrades and downgrades under systemd.
Clients of both versions build meanwhile. scripts/versions runs this with the programs of an earlier commit."""

import os
import pathlib
import socket
import subprocess
import threading

import pytest
from conftest import PATIENCE, PLACES, run_cli, wait_for

OTHER = os.environ.get("CCCL_CACHED_TEST_OTHER_VERSION")  # the build directory of the other version
DAEMONS = (f"{OTHER}/daemon/cccl-cached" if OTHER else PLACES.upgraded_daemon, PLACES.daemon)
CLIS = (f"{OTHER}/cli/cccl-cache-cli" if OTHER else PLACES.cli, PLACES.cli)
TURNS, BUILDS_A_TURN = 6, 10


class Client(threading.Thread):
    """Builds one program after the other, some new and some old. Records each failure and each wrong byte."""

    def __init__(self, cli, number, path, directory, contents):
        super().__init__(daemon=True)
        self.cli, self.number, self.path = cli, number, path
        self.output = pathlib.Path(directory) / f"out{number}"
        self.contents = contents  # of each program, shared by all clients
        self.done, self.wrong, self.stopped = 0, [], False

    def run(self):
        try:
            self.build_until_stopped()
        except Exception as error:  # an exception in a thread would be lost
            self.wrong.append(repr(error))

    def build_until_stopped(self):
        while not self.stopped:
            program = f"// program {self.done % 7 if self.done % 2 else self.done}\n"
            done = subprocess.run(
                [self.cli, "--socket", self.path, "build", "-", "--arch", "sm_90", "-o", self.output],
                input=program.encode(), capture_output=True, env={"PATH": os.environ["PATH"]}, timeout=PATIENCE)
            made = self.output.read_bytes() if done.returncode == 0 else done.stderr
            if done.returncode != 0 or self.contents.setdefault(program, made) != made:
                self.wrong.append((program, done.returncode, made[:200]))
            self.done += 1


@pytest.fixture
def listener(directory):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "socket"))
        os.chmod(directory / "socket", 0o666)
        listener.listen(128)
        yield listener


def start_behind(daemon, listener, program):
    daemon.program = program
    daemon.launcher = ["bash", "-c", f'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&{listener.fileno()}', "bash"]
    daemon.start(inherited=[listener.fileno()])


def await_builds(clients, turn):
    reached = {client: client.done + BUILDS_A_TURN for client in clients}
    wait_for(lambda: all(client.done >= reached[client] or client.wrong for client in clients), f"builds of turn {turn}")


def test_no_request_is_lost_while_versions_take_turns(make_daemon, toolkit, directory, listener):
    daemon = make_daemon(roots=(toolkit.root,))
    path = listener.getsockname()
    contents = {}
    clients = [Client(cli, number, path, directory, contents) for number, cli in enumerate(CLIS * 2)]
    start_behind(daemon, listener, DAEMONS[0])
    for client in clients:
        client.start()
    await_builds(clients, 0)
    for turn in range(1, TURNS + 1):
        assert daemon.stop() == 0
        start_behind(daemon, listener, DAEMONS[turn % 2])
        await_builds(clients, turn)
    for client in clients:
        client.stopped = True
    for client in clients:
        client.join(PATIENCE)
        assert not client.is_alive()
    assert [client.wrong for client in clients] == [[]] * len(clients)
    told = run_cli("--socket", path, "health").stdout.decode()
    print(f"{sum(client.done for client in clients)} builds in {TURNS + 1} turns, the last of {told}")
