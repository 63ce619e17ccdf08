# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli run --start`: the user's own daemon, where no daemon listens."""

import copy
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from conftest import PATIENCE, PLACES, run_cli
from silent_daemon import cli_with_silent_daemon, end_silent_daemon
from test_run import alone, library_of, program  # noqa: F401
from test_run_tools import OWN_MOUNTS
from watched_terminal import WatchedTerminal

STARTED = b"cccl-cache: started a daemon"


class Home:
    """A home without a daemon, and the environment of its user."""

    def __init__(self, path):
        self.path = path
        self.path.mkdir(mode=0o700)
        self.state = path / ".local/state/cccl-cached"
        self.answer = path / ".config/cccl-cache/start-own-daemon"
        self.environment = {
            "HOME": str(path), "XDG_RUNTIME_DIR": str(path), "CCCL_CACHED_TOOLCHAIN_ROOT": PLACES.cuda13,
            "CCCL_CACHED_TOOLCHAIN_SEARCH": "roots"}

    def run(self, *words, **keywords):
        return run_cli("run", *words, environment=self.environment, **keywords)

    def start(self, *words):
        """Starts `run` and does not wait for it."""
        return subprocess.Popen([PLACES.cli, "run", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"], **self.environment})

    def runs(self):
        """Returns how many daemons have used the state directory."""
        runs = self.state / "runs"
        return int(runs.read_text()) if runs.exists() else 0

    def on_another_node(self, runtime):
        """Returns the same home on another node, which has a runtime directory of its own."""
        runtime.mkdir(mode=0o700)
        node = copy.copy(self)
        node.state = self.state.with_name(f"cccl-cached-{os.uname().nodename}")
        node.environment = {**self.environment, "XDG_RUNTIME_DIR": str(runtime)}
        return node

    def daemon(self):
        """Returns a descriptor of the last daemon's process, or None if it has ended."""
        try:
            return os.pidfd_open(int((self.state / "lock").read_text().split()[0]))
        except (FileNotFoundError, ProcessLookupError):
            return None

    def end(self):
        if (process := self.daemon()) is not None:
            signal.pidfd_send_signal(process, signal.SIGTERM)
            await_end(process)

    def at_a_terminal(self, *words, **more):
        return WatchedTerminal(PLACES.cli, "run", *map(str, words), columns=200, **{**self.environment, **more})


def await_end(process):
    assert select.select([process], [], [], PATIENCE)[0], "the daemon goes on"
    os.close(process)


@pytest.fixture
def home(directory):
    made = Home(directory / "home")
    yield made
    made.end()


def counts(done):
    """Returns the report in JSON, which is at the end of standard error."""
    return json.loads(done.stderr[done.stderr.index(b"{"):])


def test_run_starts_a_daemon_that_serves_this_process_and_the_next(home, program):  # noqa: F811
    words = (program(), library_of(PLACES.cuda13))
    first = home.run("--start", "--json", "--", *words)
    assert first.stderr.startswith(STARTED) and counts(first)["compiled"] == 1
    second = home.run("--start", "--json", "--", *words)
    assert STARTED not in second.stderr and counts(second)["hits"] == 1
    assert first.stdout == second.stdout == alone(*words)
    assert (home.path / "cccl-cached/socket").is_socket() and home.runs() == 1
    assert str(home.state / "log").encode() in first.stderr and "listening" in (home.state / "log").read_text()


@pytest.mark.parametrize("runtime", ["missing", "that others can write"])
def test_a_runtime_directory_of_no_use_leads_to_the_socket_in_the_home(home, directory, runtime):
    home.environment["XDG_RUNTIME_DIR"] = str(directory / "runtime")
    if runtime != "missing":
        (directory / "runtime").mkdir()
        (directory / "runtime").chmod(0o777)
    home.run("--start", "--", "true")
    [place] = (home.path / ".cccl-cached").iterdir()
    assert place.is_socket()


def test_nothing_is_made_in_a_home_that_others_can_write(home):
    home.path.chmod(0o777)
    done = home.run("--start", "--", "echo", "made")
    assert done.stdout == b"made\n" and b"can be written by other users" in done.stderr
    assert not list(home.path.iterdir())


def test_two_at_once_start_one_daemon_also_while_another_user_locks_what_that_user_may_read(home):
    home.state.mkdir(parents=True)
    readable = os.open(home.state, os.O_RDONLY)
    fcntl.flock(readable, fcntl.LOCK_EX)
    both = [home.start("--start", "--", "true") for _ in range(2)]
    said = [each.communicate(timeout=2 * PATIENCE)[1] for each in both]
    assert [each.returncode for each in both] == [0, 0], said
    assert sum(each.startswith(STARTED) for each in said) == 1 and b"".join(said).count(b"\n") == 1
    assert home.runs() == 1
    os.close(readable)


def test_nodes_that_share_a_home_have_a_daemon_each(home, directory, program):  # noqa: F811
    words = (program(), library_of(PLACES.cuda13))
    home.run("--start", "--", *words)
    other = home.on_another_node(directory / "other")
    for outcome in ("compiled", "hits"):
        done = other.run("--start", "--json", "--", *words)
        assert counts(done)[outcome] == 1
        assert (f"its log: {other.state}/log".encode() in done.stderr) == (outcome == "compiled")
    other.end()
    assert (home.runs(), other.runs()) == (1, 1)
    home.end()
    assert counts(other.run("--start", "--json", "--", *words))["hits"] == 1
    assert (home.runs(), other.runs()) == (2, 1)


def test_a_started_daemon_is_no_child_of_the_program_and_holds_none_of_its_pipes(home):
    read, write = os.pipe()
    script = 'cat /proc/$$/task/$$/children; exec "$0" run --start -- sh -c \'cat /proc/$$/task/$$/children\''
    done = subprocess.run(["sh", "-c", script, PLACES.cli], pass_fds=[write], capture_output=True, timeout=PATIENCE,
                          env={"PATH": os.environ["PATH"], **home.environment})
    os.close(write)
    assert done.stderr.startswith(STARTED)
    assert len(done.stdout.split()) == 2  # the only child of either shell is `cat`
    assert select.select([read], [], [], PATIENCE)[0] and os.read(read, 1) == b""
    os.close(read)


NODE = """
import os, socket, subprocess, sys
listens, words = sys.argv[1] == "listens", sys.argv[2:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/run"], check=True)
os.mkdir("/run/cccl-cached")
node = socket.socket(socket.AF_UNIX)
node.bind("/run/cccl-cached/socket")
if listens:
    node.listen()
else:
    node.close()
os.execv(words[0], words) if not listens else sys.exit(subprocess.run(words).returncode)
"""


@pytest.mark.parametrize("node", ["listens", "refuses"])
def test_no_daemon_is_started_in_place_of_a_machine_s(home, directory, node):
    """systemd listens for a daemon that it has not started yet."""
    home.environment["XDG_RUNTIME_DIR"] = ""
    done = home.run("--start", "--", "echo", "of the program",
                    behind=(*OWN_MOUNTS, sys.executable, "-c", NODE, node))
    assert done.stdout == b"of the program\n" and STARTED not in done.stderr
    assert (b"none is started in its place" in done.stderr) == (node == "refuses")
    assert home.runs() == 0


@pytest.mark.parametrize("named", ["by an option", "by the environment"])
def test_no_daemon_is_started_for_a_socket_with_a_name(home, directory, named):
    nowhere = str(directory / "nowhere")
    if named == "by the environment":
        home.environment["CCCL_CACHE_SOCKET"] = nowhere
    done = home.run("--start", *(["--socket", nowhere] if named == "by an option" else []), "--", "echo", "made")
    assert done.stdout == b"made\n" and b"not cached: no daemon was started: a socket is named" in done.stderr
    assert home.runs() == 0


def test_a_daemon_that_cannot_start_names_its_reason_and_the_program_runs(home):
    """The caller may have ignored SIGCHLD, so that the kernel keeps no status."""
    home.environment["CCCL_CACHED_JOBS"] = "none"
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    done = home.run("--start", "--", "echo", "made", behind=(sys.executable, "-c", ignoring))
    assert done.stdout == b"made\n"
    assert b"no daemon was started: cccl-cached ended at its start (exit status 2)" in done.stderr
    assert b"CCCL_CACHED_JOBS" in done.stderr


def test_a_client_without_a_daemon_says_how_to_install_one(home, directory, program):  # noqa: F811
    """A report does not only advise to start one, and a comparison says so before the program runs."""
    (directory / "client").symlink_to(pathlib.Path(PLACES.cli).parents[1] / "client")
    (directory / "cli").mkdir()
    cli = shutil.copy(PLACES.cli, directory / "cli")

    def run(*words):
        return subprocess.run([cli, "run", *words], capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], **home.environment})

    reported = run("--report", "--", program(), library_of(PLACES.cuda13))
    assert reported.returncode == 0 and b"the daemon is not installed" in reported.stderr, reported.stderr
    compared = run("--compare", "--", "touch", directory / "started")
    assert compared.returncode == 5 and b"the daemon is not installed" in compared.stderr, compared.stderr
    assert not (directory / "started").exists()


def test_a_daemon_that_does_not_answer_in_time_is_started_all_the_same(home, directory):
    """The clock of `run` is fast."""
    home.environment.update({"LD_PRELOAD": "/usr/$LIB/faketime/libfaketime.so.1", "FAKETIME": "+0 x60"})
    cli = cli_with_silent_daemon(directory / "installed")
    done = subprocess.run([cli, "run", "--start", "--", "echo", "made"], capture_output=True, timeout=PATIENCE,
                          env={"PATH": os.environ["PATH"], **home.environment})
    end_silent_daemon(home.path / "cccl-cached/socket")
    assert done.stdout == b"made\n" and done.stderr.startswith(STARTED) and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("configured", [False, True])
def test_a_daemon_searches_the_python_environment_of_the_program_unless_it_is_configured(home, directory, configured):
    environment = directory / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    (environment / "bin/program").symlink_to("/bin/true")
    del home.environment["CCCL_CACHED_TOOLCHAIN_ROOT"]
    if configured:
        (directory / "config.toml").touch()
        home.environment["CCCL_CACHED_CONFIG"] = str(directory / "config.toml")
    home.run("--start", "--", environment / "bin/program")
    variables = pathlib.Path("/proc", (home.state / "lock").read_text().split()[0], "environ").read_bytes()
    assert (f"CCCL_CACHED_TOOLCHAIN_ROOT={environment}\0".encode() in variables) != configured


def test_root_s_daemon_has_no_socket_for_containers(home, directory):
    """The settings that root's daemon reads are those of the machine's, which has one."""
    socket_for_containers = directory / "containers/socket"
    socket_for_containers.parent.mkdir()
    (directory / "config.toml").write_text(f'container_socket = ["{socket_for_containers}"]')
    home.environment["CCCL_CACHED_CONFIG"] = str(directory / "config.toml")
    assert home.run("--start", "--", "true").stderr.startswith(STARTED)
    assert socket_for_containers.exists() == (os.geteuid() != 0)


def test_a_daemon_does_not_get_the_places_of_a_surrounding_service(home, directory):
    home.environment.update({"STATE_DIRECTORY": str(directory / "service"), "RUNTIME_DIRECTORY": str(directory / "service"),
                             "NOTIFY_SOCKET": str(directory / "notify"), "LD_PRELOAD": "missing.so"})
    home.run("--start", "--", "true")
    assert (home.path / "cccl-cached/socket").is_socket() and not (directory / "service").exists()
    assert b"LD_PRELOAD" not in pathlib.Path("/proc", (home.state / "lock").read_text().split()[0], "environ").read_bytes()


def test_a_daemon_ends_when_it_is_idle_and_the_next_one_has_its_results(home, program):  # noqa: F811
    home.environment["CCCL_CACHED_IDLE_TIMEOUT"] = "1s"
    words = (program(), library_of(PLACES.cuda13))
    home.run("--start", "--", *words)
    await_end(home.daemon())
    assert not (home.path / "cccl-cached/socket").exists()
    assert "idle_timeout" in (home.state / "log").read_text()
    assert counts(home.run("--start", "--json", "--", *words))["hits"] == 1


def test_an_open_connection_keeps_a_daemon(home):
    home.environment["CCCL_CACHED_IDLE_TIMEOUT"] = "1s"
    with socket.socket(socket.AF_UNIX) as held:
        script = 'echo; read line'
        with subprocess.Popen([PLACES.cli, "run", "--start", "--", "sh", "-c", script], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], **home.environment}) as running:
            running.stdout.readline()
            held.connect(str(home.path / "cccl-cached/socket"))
            running.communicate(b"\n", timeout=PATIENCE)
        process = home.daemon()
        assert not select.select([process], [], [], 2)[0], "it ended in spite of a connection"
    await_end(process)


def test_no_request_is_lost_at_the_end_of_an_idle_daemon(home, program):  # noqa: F811
    """Each program comes about when the daemon of the one before it ends."""
    home.environment["CCCL_CACHED_IDLE_TIMEOUT"] = "20ms"
    words = (program(), library_of(PLACES.cuda13))
    expected = alone(*words)
    for _ in range(5):
        done = home.run("--start", "--json", "--", *words)
        report = counts(done)
        assert done.stdout == expected and report["failed"] == 0
        assert report["hits"] + report["compiled"] + sum(report["forwarded"].values()) == 1, report


@pytest.mark.parametrize(("typed", "started"), [(b"n\n", False), (b"\n", True)])
def test_a_person_is_asked_once(home, typed, started):
    with home.at_a_terminal("--", "echo", "of the program") as terminal:
        terminal.await_shown("[Y/n]", "the question")
        terminal.press(typed)
        assert terminal.await_end() == 0
        assert f"delete {home.answer} to be asked again" in terminal.shown().replace("\n", "")
        assert "of the program" in terminal.shown()
    assert home.answer.read_text() == ("yes\n" if started else "no\n")
    assert (home.runs() == 1) == started
    with home.at_a_terminal("--", "echo", "of the program") as terminal:
        assert terminal.await_end() == 0
        assert "[Y/n]" not in terminal.shown() and "of the program" in terminal.shown()
    assert (home.runs() == 1) == started
    if not started:
        assert home.run("--start", "--", "true").stderr.startswith(STARTED)


def test_no_answer_is_kept_where_other_users_can_write(home, directory):
    (directory / "theirs").mkdir()
    (directory / "theirs").chmod(0o777)
    with home.at_a_terminal("--", "echo", "of the program", XDG_CONFIG_HOME=str(directory / "theirs")) as terminal:
        terminal.await_shown("[Y/n]", "the question")
        terminal.press(b"\n")
        assert terminal.await_end() == 0 and "of the program" in terminal.shown()
    assert home.runs() == 1 and not list((directory / "theirs").iterdir())


def test_an_unclear_answer_is_a_no_for_this_time(home):
    for typed in (b"perhaps\n", b"\x04"):
        with home.at_a_terminal("--", "echo", "of the program") as terminal:
            terminal.await_shown("[Y/n]", "the question")
            terminal.press(typed)
            assert terminal.await_end() == 0 and "of the program" in terminal.shown()
        assert not home.answer.exists() and home.runs() == 0


def test_a_script_is_never_asked_and_starts_nothing(home):
    home.answer.parent.mkdir(parents=True, mode=0o700)
    home.answer.write_text("yes\n")
    done = home.run("--", "echo", "made")
    assert (done.stdout, done.stderr, home.runs()) == (b"made\n", b"", 0)
    with home.at_a_terminal("--", "echo", "made", CI="true") as terminal:
        assert terminal.await_end() == 0 and "[Y/n]" not in terminal.shown()
    assert home.runs() == 0
