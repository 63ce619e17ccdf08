# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The scripts for Slurm, run as Slurm runs them: without PATH, and with the output of a task's prolog passed on
unchanged."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import pytest
from conftest import DEPLOY
from places import PLACES

SCRIPTS = sorted((DEPLOY / "slurm").iterdir())
PROGRAM = '__global__ void kernel(int* at) { *at = 1; }'


@pytest.fixture
def run(directory):
    """Runs a script with the tested programs in place of installed programs."""
    def run(name, **environment):
        text = (DEPLOY / "slurm" / name).read_text()
        programs = [directory / "programs", *(pathlib.Path(program).parent for program in (PLACES.cli, PLACES.daemon))]
        path = ":".join(str(each) for each in programs)
        script = directory / name
        script.write_text(re.sub("^export PATH=(\"?)", rf"export PATH=\1{path}:", text, count=1, flags=re.M))
        done = subprocess.run(["sh", script], env={"HOME": str(directory), **environment}, capture_output=True, text=True,
                              check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout
    return run


@pytest.fixture
def program(directory):
    """Writes a program that the scripts find before any other of its name."""
    def write(name, text):
        path = directory / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path
    return write


def into_the_environment(printed):
    """Applies the lines of a task's prolog to an environment, as slurmstepd does."""
    environment = {}
    for line in printed.splitlines():
        command, variable = line.split(" ", 1)
        assert command == "export"
        name, value = variable.split("=", 1)
        environment[name] = value
    return environment


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda each: each.name)
def test_the_shell_checker_finds_nothing(script):
    assert os.access(script, os.X_OK)
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_task_runs_under_the_cache(run, fake):
    environment = into_the_environment(run("task_prolog", CCCL_CACHE_SOCKET=fake.socket))
    assert set(environment) == {"GLIBC_TUNABLES", "LD_AUDIT", "LD_PRELOAD"}
    for name in ("LD_AUDIT", "LD_PRELOAD"):
        assert pathlib.Path(environment[name]).is_file()
    maps = subprocess.run(["cat", "/proc/self/maps"], env=environment, capture_output=True, text=True, check=True).stdout
    assert environment["LD_PRELOAD"] in maps


def test_without_a_daemon_a_task_runs_as_without_the_cache(run, directory):
    assert run("task_prolog", CCCL_CACHE_SOCKET=str(directory / "none")) == ""


def test_a_library_that_the_user_preloads_stays(run, fake):
    assert run("task_prolog", CCCL_CACHE_SOCKET=fake.socket, LD_PRELOAD="libc.so.6") == ""


def test_the_prolog_inserts_the_snapshot_of_the_site_once(run, fake, make_daemon, toolkit, directory):
    snapshot, seen = directory / "site.snapshot", directory / "seen"
    fake.build_json(PROGRAM)
    fake.cli("snapshot", "create", str(snapshot))
    other = make_daemon(roots=(toolkit.root,), name="other").start()
    environment = {"CCCL_CACHE_SOCKET": other.socket, "CCCL_CACHED_SITE_SNAPSHOT": str(snapshot),
                   "CCCL_CACHED_SITE_SNAPSHOT_SEEN": str(seen)}
    run("prolog", **environment)
    assert other.build_json(PROGRAM)["outcome"] == "hit"
    other.cli("evict", "--all", "--yes")
    run("prolog", **environment)
    assert other.build_json(PROGRAM)["outcome"] == "built"


def test_the_prolog_tries_a_snapshot_only_once_if_the_insert_fails(run, program, directory):
    snapshot, tries = directory / "site.snapshot", directory / "tries"
    program("cccl-cache-cli", f"#!/bin/sh\necho >>{tries}\nexit 3\n")
    environment = {"CCCL_CACHED_SITE_SNAPSHOT": str(snapshot), "CCCL_CACHED_SITE_SNAPSHOT_SEEN": str(directory / "seen")}
    for tried, content in enumerate([b"no snapshot", b"another snapshot"], 1):
        snapshot.write_bytes(content)
        for _ in range(2):
            run("prolog", **environment)  # the failure must not drain a node
        assert len(tries.read_text()) == tried


def test_the_epilog_ends_the_daemons_of_its_job_alone(run, make_daemon):
    jobs = [make_daemon(name=job, environment={"SLURM_JOB_ID": job}).start() for job in ("41", "42", "421")]
    nodes = make_daemon(name="node").start()
    run("epilog", SLURM_JOB_ID="42", SLURM_JOB_UID=str(os.geteuid() + 1))
    assert all(daemon.process.poll() is None for daemon in [*jobs, nodes])
    # A thread reaps the job at its end, as init does. The script sees the job's end only then.
    ended = threading.Thread(target=jobs[1].process.wait)
    ended.start()
    run("epilog", SLURM_JOB_ID="42", SLURM_JOB_UID=str(os.geteuid()))
    ended.join()
    assert jobs[1].process.returncode == 0
    assert all(daemon.process.poll() is None for daemon in [jobs[0], jobs[2], nodes])


def test_the_epilog_waits_once_for_all_hung_daemons_and_leaves_none(run, program, make_daemon, directory):
    program("timeout", f'#!/bin/sh\necho "$1" >>{directory}/waits\nPATH=/usr/bin:/bin exec timeout "$@"\n')
    hanging = [make_daemon(name=name, environment={"SLURM_JOB_ID": "42"}).start() for name in ("one", "other")]
    for daemon in hanging:
        daemon.freeze()
    run("epilog", SLURM_JOB_ID="42", SLURM_JOB_UID=str(os.geteuid()), CCCL_CACHED_EPILOG_SECONDS="0.1")
    assert [daemon.process.wait() for daemon in hanging] == [-signal.SIGKILL] * 2
    assert (directory / "waits").read_text() == "0.1\n"


def test_the_epilog_kills_no_process_that_reuses_the_pid_of_a_daemon(run, program, directory):
    fifo = directory / "other"
    os.mkfifo(fifo)
    program("timeout", f"#!/bin/sh\nread -r _ <{fifo}\nexit 124\n")  # times out once another process has the pid
    becomes_another = program("cccl-cached", f"""#!{sys.executable}
import os, signal
signal.signal(signal.SIGTERM, lambda *_: os.execv("/bin/sh", ["sh", "-c", "echo >{fifo}; exec cat"]))
print("ready", flush=True)
while True: signal.pause()
""")
    with subprocess.Popen([becomes_another], env={"SLURM_JOB_ID": "42"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        run("epilog", SLURM_JOB_ID="42", SLURM_JOB_UID=str(os.geteuid()))
        process.stdin.close()
    assert process.returncode == 0
