# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The scripts for Slurm, run as Slurm runs them: without PATH, and with what a task's prolog prints taken as it is."""

import os
import pathlib
import re
import signal
import subprocess
import threading

import pytest
from conftest import DEPLOY
from places import PLACES

SCRIPTS = sorted((DEPLOY / "slurm").iterdir())
PROGRAM = '__global__ void kernel(int* at) { *at = 1; }'


@pytest.fixture
def run(directory):
    """Runs a script with the programs under test in the place of installed ones."""
    def run(name, **environment):
        text = (DEPLOY / "slurm" / name).read_text()
        path = ":".join(str(pathlib.Path(program).parent) for program in (PLACES.cli, PLACES.daemon))
        script = directory / name
        script.write_text(re.sub("^export PATH=(\"?)", rf"export PATH=\1{path}:", text, count=1, flags=re.M))
        done = subprocess.run(["sh", script], env={"HOME": str(directory), **environment}, capture_output=True, text=True,
                              check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout
    return run


def into_the_environment(printed):
    """What slurmstepd does with the lines of a task's prolog."""
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
    assert set(environment) == {"LD_AUDIT", "LD_PRELOAD"}
    for path in environment.values():
        assert pathlib.Path(path).is_file()
    maps = subprocess.run(["cat", "/proc/self/maps"], env=environment, capture_output=True, text=True, check=True).stdout
    assert environment["LD_PRELOAD"] in maps


def test_without_a_daemon_a_task_runs_as_ever(run, directory):
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
    snapshot.write_bytes(b"no snapshot")
    run("prolog", **environment)  # no reason to drain a node


def test_the_epilog_ends_the_daemons_of_its_job_alone(run, make_daemon):
    jobs = [make_daemon(name=job, environment={"SLURM_JOB_ID": job}).start() for job in ("41", "42", "421")]
    nodes = make_daemon(name="node").start()
    run("epilog", SLURM_JOB_ID="42", SLURM_JOB_UID=str(os.geteuid() + 1))
    assert all(daemon.process.poll() is None for daemon in [*jobs, nodes])
    # Reaped as it ends, as by init: only then it is gone for the script.
    ended = threading.Thread(target=jobs[1].process.wait)
    ended.start()
    run("epilog", SLURM_JOB_ID="42", SLURM_JOB_UID=str(os.geteuid()))
    ended.join()
    assert jobs[1].process.returncode == 0
    assert all(daemon.process.poll() is None for daemon in [jobs[0], jobs[2], nodes])


def test_the_epilog_leaves_nothing_of_a_daemon_that_hangs(run, make_daemon):
    hanging = make_daemon(environment={"SLURM_JOB_ID": "42"}).start()
    hanging.freeze()
    run("epilog", SLURM_JOB_ID="42", SLURM_JOB_UID=str(os.geteuid()), CCCL_CACHED_EPILOG_SECONDS="0.1")
    assert hanging.process.wait() == -signal.SIGKILL
