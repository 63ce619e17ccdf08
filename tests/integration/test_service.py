# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon as a service: passed sockets, the message of readiness, the drain at its end, and configuration."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import pytest
from conftest import PLACES, PATIENCE, run_cli, wait_for

HARDENED = pathlib.Path(__file__).with_name("hardened.py")
UNITS = pathlib.Path(__file__).resolve().parents[2] / "deploy/systemd"
UNIT_NAMES = ("cccl-cached.service.in", "user/cccl-cached.service.in")
FORBIDDEN = (
    "import socket; socket.socket(socket.AF_INET)", "import mmap; mmap.mmap(-1, 4096, prot=7)",
    "import os; os.sched_setaffinity(0, {0})",
)
KERNEL = 'extern "C" __global__ void k() {}\n'
CUB_KERNEL = """
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void reduce(const int* in, int* out) {
  using Block = cub::BlockReduce<int, 128>;
  __shared__ typename Block::TempStorage storage;
  *out = Block(storage).Sum(in[threadIdx.x]);
}
"""
MODULE = """
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define void @k() {
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void ()* @k, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
"""


def test_ready_and_stopping_are_reported(make_daemon, directory):
    daemon = make_daemon()
    address = str(directory / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(address)
        notify.settimeout(PATIENCE)
        process = subprocess.Popen(daemon.command(), env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": address},
                                   stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        seen = b""
        while b"READY=1" not in seen:
            seen += notify.recv(4096) + b"\n"
        process.send_signal(signal.SIGTERM)
        while b"STOPPING=1" not in seen:
            seen += notify.recv(4096) + b"\n"
        assert process.wait(PATIENCE) == 0
    assert not os.path.exists(daemon.socket)


def test_the_watchdog_gets_regular_notifications(make_daemon, directory):
    """deploy/check_systemd shows that systemd restarts a silent daemon."""
    daemon = make_daemon()
    address = str(directory / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(address)
        notify.settimeout(PATIENCE)
        process = subprocess.Popen(daemon.command(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"})
        told = [notify.recv(4096) for _ in range(4)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert sorted(told) == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]


def test_the_daemon_serves_a_listening_socket_that_systemd_passes(make_daemon, directory):
    """systemd passes sockets with LISTEN_FDS and LISTEN_PID, from descriptor 3."""
    daemon = make_daemon()
    path = str(directory / "handed")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        command = daemon.command()
        shell = f'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" 3<&{listener.fileno()}'
        process = subprocess.Popen(["bash", "-c", shell, "bash", *command], pass_fds=[listener.fileno()],
                                   env={"PATH": os.environ["PATH"]}, stderr=subprocess.DEVNULL)
        daemon.process = process
        daemon.socket = path
        assert daemon.build_json(KERNEL)["outcome"] == "built"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            told = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            assert int.from_bytes(told[:4], sys.byteorder) == process.pid  # the process whose secret clients read
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert os.path.exists(path)  # the daemon must not remove a socket that it did not make


@pytest.mark.parametrize("runtime", [False, True])
def test_a_user_s_daemon_and_clients_find_each_other_by_themselves(make_daemon, directory, runtime):
    """Without XDG_RUNTIME_DIR, as over ssh or in a container, the socket is below the home. A client needs only the
    home."""
    home = directory / "home"
    home.mkdir(mode=0o700)
    user = 54321 if os.geteuid() == 0 else None  # root's daemon would serve the node
    if user is not None:
        os.chown(home, user, user)
    around = {"HOME": str(home), **({"XDG_RUNTIME_DIR": str(home)} if runtime else {})}
    daemon = make_daemon(uid=user, environment=around)
    command = daemon.command()
    at = command.index("--socket")
    daemon.command = lambda: [*command[:at], "--state-dir", f"{home}/state", *command[at + 4:]]
    daemon.directory.chmod(0o777)  # the directory of its notify socket
    daemon.start()
    health = json.loads(run_cli("--json", "health", environment=around, user=user).stdout)
    place = pathlib.Path(health["socket"]).parent
    assert place == home / ("cccl-cached" if runtime else ".cccl-cached") and place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o770)
    assert run_cli("health", environment=around, user=user, check=False).returncode == 3
    place.chmod(0o700)
    assert daemon.stop() == 0
    assert not list(place.iterdir())


@pytest.mark.parametrize("unit", UNIT_NAMES)
def test_a_unit_bounds_the_memory_of_all_its_processes(unit):
    lines = (UNITS / unit).read_text().splitlines()
    for directive in ("MemoryHigh=", "MemoryMax=", "CPUWeight=", "OOMScoreAdjust=", "LimitCORE=0", "NoNewPrivileges=yes"):
        assert any(line.startswith(directive) for line in lines), directive


@pytest.mark.parametrize("unit", UNIT_NAMES)
def test_the_hardening_of_a_unit_lets_the_compilers_work(make_daemon, directory, unit):
    launcher = [sys.executable, str(HARDENED), str(UNITS / unit)]
    for forbidden in FORBIDDEN:
        stopped = subprocess.run([*launcher, sys.executable, "-c", forbidden], capture_output=True)
        assert b"PermissionError" in stopped.stderr or b"not supported" in stopped.stderr
    daemon = make_daemon(launcher=launcher, roots=(PLACES.cuda13,)).start()
    ltoir, cubin = directory / "k.ltoir", directory / "k.cubin"
    told, _ = daemon.build_bytes(CUB_KERNEL, "--std", "c++17")
    assert told["outcome"] == "built"
    daemon.cli("build", "-", "--arch", "sm_90", "--emit", "ltoir", "-o", str(ltoir), input=KERNEL)
    daemon.cli("link", str(ltoir), "--arch", "sm_90", "--option=-lto", "-o", str(cubin))
    (directory / "m.ll").write_text(MODULE)
    daemon.cli("nvvm", str(directory / "m.ll"), "--arch", "compute_90", "-o", str(directory / "m.ptx"))
    assert daemon.stats()["worker_crashes_total"] == 0
    assert daemon.stop() == 0


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_no_file_of_the_daemon_gets_the_number_of_a_closed_standard_descriptor(make_daemon, closed):
    """Otherwise the log would go into the lock file or the database."""
    daemon = make_daemon("--log-level", "debug", launcher=("sh", "-c", f'exec "$@" {closed}', "sh")).start()
    assert daemon.build_json(KERNEL)["outcome"] == "built"
    of_process = pathlib.Path(f"/proc/{daemon.process.pid}/fd")
    assert os.readlink(of_process / "2") == "/dev/null"
    assert daemon.stop() == 0
    for path in pathlib.Path(daemon.state).rglob("*"):
        assert not path.is_file() or b"listening" not in path.read_bytes(), path


def test_a_daemon_that_may_start_too_few_threads_does_not_start_and_names_the_limit(make_daemon):
    """gRPC would wait for ever for a thread that did not start, and no call would be answered."""
    user = 4127 if os.geteuid() == 0 else None  # root has no such limit
    daemon = make_daemon(launcher=("prlimit", "--nproc=1"))
    refused = subprocess.run(daemon.command(), user=user, stderr=subprocess.PIPE, timeout=PATIENCE,
                             env={"PATH": os.environ["PATH"]})
    assert refused.returncode == 3
    assert b"ulimit -u" in refused.stderr and b"--jobs" in refused.stderr


def test_each_thread_of_the_daemon_has_a_name(fake):
    fake.build_json(KERNEL)
    names = [task.read_text().strip() for task in pathlib.Path(f"/proc/{fake.process.pid}/task").glob("*/comm")]
    # The main thread, and RocksDB's timer, which RocksDB does not name.
    assert names.count("cccl-cached") == 2
    assert {"acceptor", "serving", "flight", "store writer", "log"} <= {*names}


def test_configuration_that_can_not_be_printed_is_an_error():
    words = ("sh", "-c", 'exec "$@" >&-', "sh", PLACES.daemon, "--print-config")
    assert subprocess.run(words, stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]}).returncode == 3
    # A reason that can't be logged does not end the process by a signal either.
    words = ("sh", "-c", 'exec "$@" 2>&-', "sh", PLACES.daemon, "--no-such-flag")
    assert subprocess.run(words, env={"PATH": os.environ["PATH"]}).returncode == 2


def test_sigterm_lets_a_build_in_progress_end(fake, toolkit):
    answers = []
    asker = threading.Thread(target=lambda: answers.append(fake.build_json("//fake: wait-for gate\n")))
    asker.start()
    toolkit.await_arrivals("gate", 1)
    fake.process.send_signal(signal.SIGTERM)
    wait_for(lambda: fake.cli("health", check=False).returncode != 0, "the daemon to drain")
    toolkit.open("gate")
    asker.join(PATIENCE)
    assert fake.process.wait(PATIENCE) == 0
    assert answers and answers[0]["outcome"] == "built"


def test_a_second_sigterm_ends_the_daemon_at_once(fake, toolkit):
    asker = threading.Thread(target=lambda: fake.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, check=False,
                                                     input="//fake: wait-for gate\n"))
    asker.start()
    toolkit.await_arrivals("gate", 1)
    fake.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "finishing what is under way" in fake.log_text(), "the stop")
    fake.process.send_signal(signal.SIGTERM)
    assert fake.process.wait(PATIENCE) == 4
    asker.join(PATIENCE)


def test_print_config_names_origins(directory):
    file = directory / "config.toml"
    file.write_text('store_limit = "1GiB"\n')
    done = subprocess.run(
        [PLACES.daemon, "--config", str(file), "--jobs", "3", "--print-config"], capture_output=True, check=True,
        env={"PATH": os.environ["PATH"], "CCCL_CACHED_MEMORY_LIMIT": "64MiB", "HOME": str(directory)},
    )
    lines = {line.split(" = ")[0].strip(): line for line in done.stdout.decode().splitlines() if " = " in line}
    assert "--jobs" in lines["jobs"]
    assert "CCCL_CACHED_MEMORY_LIMIT" in lines["memory_limit"]
    assert str(file) in lines["store_limit"]
    assert "default" in lines["log_level"]


def test_sighup_reloads_the_log_level(make_daemon, directory):
    file = directory / "config.toml"
    file.write_text('log_level = "error"\n')
    daemon = make_daemon("--config", str(file)).start()
    assert daemon.build_json(KERNEL)["outcome"] == "built"
    assert daemon.build_json(KERNEL)["outcome"] == "hit"
    assert "outcome=" not in daemon.log_text()
    file.write_text('log_level = "debug"\n')
    daemon.process.send_signal(signal.SIGHUP)
    # Hits are logged at this level only.
    wait_for(lambda: daemon.build_json(KERNEL) and "outcome=hit" in daemon.log_text(), "a line about a hit")
    wait_for(lambda: 'log_level is "debug" from now on was=' in daemon.log_text(), "a line about the reload")
    file.write_text('log_level = "debug"\njobs = 3\n')
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "jobs is 3 from the next start on was=" in daemon.log_text(), "a line about what needs a restart")
    file.write_text("log_level = 7\n")  # an error in the file must not end a running daemon
    daemon.process.send_signal(signal.SIGHUP)
    assert daemon.build_json(KERNEL)["outcome"] == "hit"


def test_a_failed_reload_is_not_logged_as_done(make_daemon, directory):
    file = directory / "config.toml"
    file.write_text("")
    daemon = make_daemon("--config", str(file)).start()
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "reload: done" in daemon.log_text(), "the end of a reload that works")
    file.write_text("log_level = 7\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "reload: failed" in daemon.log_text(), "the end of a reload that fails")
    assert "kept the old configuration" in daemon.log_text()
    assert daemon.log_text().count("reload: done") == 1


def test_health_shows_the_limits_in_force(make_daemon):
    given = {
        "queue_limit": ("queued", 7), "queue_limit_per_uid": ("queued_per_uid", 5), "call_limit": ("calls", 40),
        "call_limit_per_uid": ("calls_per_uid", 30), "connection_limit": ("connections", 20),
        "connection_limit_per_uid": ("connections_per_uid", 10), "message_limit": ("message_bytes", 8 << 20),
        "source_limit": ("source_bytes", 9 << 20), "header_limit": ("headers", 11),
        "header_set_limit": ("header_set_bytes", 10 << 20),
        "in_flight_limit": ("bytes_in_flight", 13 << 20), "in_flight_limit_per_uid": ("bytes_in_flight_per_uid", 12 << 20),
        "upload_limit": ("upload_bytes", 15 << 20), "upload_limit_per_uid": ("upload_bytes_per_uid", 14 << 20),
        "build_timeout": ("build_seconds", 17), "lease_limit": ("lease_seconds", 18),
    }
    units = {"bytes": "B", "seconds": "s"}
    flags = []
    for name, (limit, value) in given.items():
        unit = next((unit for word, unit in units.items() if word in limit), "")
        flags += ["--" + name.replace("_", "-"), f"{value}{unit}"]
    limits = json.loads(make_daemon(*flags).start().cli("health", "--json").stdout)["limits"]
    assert {name: limits[name] for name, _ in given.values()} == dict(given.values())
