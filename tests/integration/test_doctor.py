# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli doctor` with real daemons, and without a daemon."""

import json
import os
import subprocess
import sys

from conftest import PLACES, run_cli

OF_THE_DAEMON = ["daemon", "toolchains", "build", "store"]


def doctor(socket, cwd="/", behind=(), **environment):
    """Returns (exit code, the checks by name). There is no python3 unless PATH has one."""
    done = run_cli("--json", "--socket", str(socket), "doctor", check=False, cwd=cwd, behind=behind,
                   environment={"PATH": "/nowhere", **environment})
    told = json.loads(done.stdout)
    checks = {each["name"]: each for each in told["checks"]}
    failed = [name for name, each in checks.items() if each["verdict"] == "failure"]
    assert told["failed"] == len(failed)
    assert done.returncode == (1 if failed else 0)
    for each in checks.values():
        assert each["seen"]
        assert bool(each["way_out"]) == (each["verdict"] in ("warning", "failure"))
    return done.returncode, checks


def with_verdict(checks, verdict):
    return [name for name, each in checks.items() if each["verdict"] == verdict]


def test_all_checks_pass_for_a_daemon_that_caches(make_daemon):
    real = make_daemon(roots=(PLACES.cuda12,)).start()
    code, checks = doctor(real.socket)
    assert code == 0
    assert with_verdict(checks, "failure") == with_verdict(checks, "skipped") == []
    for name in ("socket", *OF_THE_DAEMON, "clock", "limits", "run", "python"):
        assert checks[name]["verdict"] == "pass", checks[name]
    assert "a hit (memory)" in checks["build"]["seen"]
    statistics = real.stats()
    assert (statistics["builds_total"], statistics["hits_total"]["memory"]) == (2, 1)


def test_each_run_builds_a_different_program(fake):
    for _ in range(2):
        assert doctor(fake.socket)[1]["build"]["verdict"] == "pass"
    assert fake.stats()["compiles_total"] == 2


def test_without_a_daemon_the_socket_fails_and_the_checks_of_a_daemon_are_skipped(directory):
    code, checks = doctor(directory / "socket")
    assert code == 1
    assert with_verdict(checks, "failure") == ["socket"]
    assert with_verdict(checks, "skipped") == OF_THE_DAEMON
    assert str(directory / "socket") in checks["socket"]["way_out"]


def test_a_daemon_that_hangs_fails_its_check_and_later_checks_of_it_are_skipped(fake):
    fake.freeze()
    code, checks = doctor(fake.socket)
    assert code == 1
    assert checks["socket"]["verdict"] == "pass"
    assert with_verdict(checks, "failure") == ["daemon"]
    assert with_verdict(checks, "skipped") == OF_THE_DAEMON[1:]


def test_a_daemon_without_a_toolchain_fails_the_checks_of_the_daemon_and_its_toolchains(make_daemon, directory):
    (directory / "empty").mkdir()
    daemon = make_daemon(roots=(str(directory / "empty"),)).start()
    code, checks = doctor(daemon.socket)
    assert code == 1
    assert with_verdict(checks, "failure") == ["daemon", "toolchains"]
    assert with_verdict(checks, "skipped") == ["build"]
    assert "no toolchain" in checks["daemon"]["seen"]


def test_the_origin_of_the_socket_path_is_shown(fake, directory):
    done = run_cli("--json", "doctor", environment={"PATH": "/nowhere", "CCCL_CACHE_SOCKET": fake.socket})
    assert f"{fake.socket} ($CCCL_CACHE_SOCKET)" in json.loads(done.stdout)["checks"][0]["seen"]
    (directory / "cccl-cached").mkdir()
    os.symlink(fake.socket, directory / "cccl-cached" / "socket")
    done = run_cli("--json", "doctor", environment={"PATH": "/nowhere", "XDG_RUNTIME_DIR": str(directory)})
    assert "(this user's)" in json.loads(done.stdout)["checks"][0]["seen"]


def test_a_process_under_run_is_recognised(directory):
    _, checks = doctor(directory / "socket", behind=(PLACES.cli, "run", "--"))
    assert "under it already" in checks["run"]["seen"]


def test_python_imports_the_installed_packages_and_nothing_of_the_working_directory(directory):
    for place, contents in (("site", "__version__ = '7.8.9'\n"), ("here", "raise RuntimeError('of the directory')\n")):
        (directory / place / "cccl_cache").mkdir(parents=True)
        (directory / place / "cccl_cache" / "__init__.py").write_text(contents)
    path = os.path.dirname(sys.executable)
    _, checks = doctor(directory / "socket", cwd=directory / "here", PATH=path, PYTHONPATH=str(directory / "site"))
    assert f"{path}/python3" in checks["python"]["seen"]
    assert "cccl_cache 7.8.9" in checks["python"]["seen"]
    _, checks = doctor(directory / "socket", cwd=directory / "here", PATH=path)
    assert "no cccl_cache" in checks["python"]["seen"]
    _, checks = doctor(directory / "socket", PATH=path, PYTHONPATH=str(directory / "here"))
    assert checks["python"]["verdict"] == "failure"
    assert "RuntimeError: of the directory" in checks["python"]["seen"]


def test_an_import_that_ends_python_is_a_failure(directory):
    (directory / "cccl_cache.py").write_text("import os; os._exit(3)\n")
    _, checks = doctor(directory / "socket", PATH=os.path.dirname(sys.executable), PYTHONPATH=str(directory))
    assert checks["python"]["verdict"] == "failure"
    assert "importing cccl_cache ended with 3" in checks["python"]["seen"]


def on_a_terminal(*arguments, **environment):
    person, terminal = os.openpty()
    subprocess.run([PLACES.cli, *arguments], stdout=terminal, env={"PATH": "/nowhere", **environment}, check=False)
    os.close(terminal)
    said = os.read(person, 1 << 16)
    os.close(person)
    return said


def test_colours_appear_only_on_terminals_without_no_color(directory):
    command = ("--socket", str(directory / "socket"), "doctor")
    assert b"\x1b[31mfailure" in on_a_terminal(*command, TERM="linux")
    assert b"\x1b" not in on_a_terminal(*command, TERM="linux", NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(*command, TERM="dumb")
    assert b"\x1b" not in run_cli(*command, check=False).stdout
