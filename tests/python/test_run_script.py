# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m cccl_cache run``: an unchanged script compiles through the daemon."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import cccl_cache
import pytest
from patience import PATIENCE
from places import PLACES
from standin import PTXAS13, ptx

NVRTC = next(path.resolve() for path in pathlib.Path(PLACES.cuda13).resolve().rglob("libnvrtc.so.1?"))
SCRIPT = """
import ctypes, sys
nvrtc = ctypes.CDLL(sys.argv[1])
program, size = ctypes.c_void_p(), ctypes.c_size_t()
source = b'extern "C" __global__ void k(int* x) { *x = 1; }'
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None) == 0
assert nvrtc.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(b"-arch=sm_90")) == 0
assert nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
made = ctypes.create_string_buffer(size.value)
assert nvrtc.nvrtcGetCUBIN(program, made) == 0
print(made.raw)
"""
TELLING = "import sys; print(sys.executable, sys.prefix, sys.argv, sys.flags.optimize, sys.path[0], __name__); sys.exit(7)"


def python(*words, cwd=None, **environment):
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, cwd=cwd,
                          env={"PATH": os.environ["PATH"], **environment})


def run(*words, module="cccl_cache", **keywords):
    return python("-m", module, "run", *words, **keywords)


def reported(done):
    """Returns the output of a script, and the report of its run."""
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(done.stderr)


@pytest.fixture
def daemon(make_daemon):
    daemon = make_daemon(roots=(PLACES.cuda13,)).start()
    daemon.cli("toolchains")  # waits until the daemon has read its toolchains; programs don't wait for that
    return daemon


@pytest.fixture
def script(directory):
    path = directory / "script.py"
    path.write_text(SCRIPT)
    return path


def test_a_second_process_compiles_nothing_and_prints_the_same(daemon, script):
    alone = python(script, NVRTC)
    assert alone.returncode == 0 and len(alone.stdout) > 100, alone.stderr
    for served in ((0, 1), (1, 0)):
        printed, report = reported(run("--report", "--json", "--socket", daemon.socket, script, NVRTC))
        assert printed == alone.stdout
        assert (report["hits"], report["compiled"], sum(report["forwarded"].values())) == (*served, 0)


def test_a_ptxas_that_a_script_starts_goes_to_the_daemon(daemon, directory):
    (directory / "k.ptx").write_text(ptx())
    code = f"import subprocess; subprocess.run([{str(PTXAS13)!r}, '-arch=sm_90', 'k.ptx', '-o', 'made'], check=True)"
    for outcome in ("compiled", "hits"):
        _, report = reported(run("--report", "--json", f"--socket={daemon.socket}", "-c", code, cwd=directory))
        assert report["calls"] == report[outcome] == 1


def test_without_a_daemon_a_script_still_runs(directory, script):
    printed, report = reported(run("--report", "--json", "--socket", directory / "nothing", script, NVRTC))
    assert printed == python(script, NVRTC).stdout
    assert report["forwarded"]["no daemon"] == 1


def test_the_group_of_a_script_is_no_script(directory):
    (directory / "telling.py").write_text(TELLING)
    assert run("--group", str(os.getgid()), "telling.py", cwd=directory).returncode == 7


def test_help_shows_the_command_line_for_python():
    done = run("--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: python -m cccl_cache run [OPTION...]")
    assert "--wait DURATION" in done.stdout


@pytest.mark.parametrize("words", [
    ["telling.py", "--report", "-x", "--", ""], ["-m", "telling", "--how"], ["-c", TELLING, "a"],
    ["-O", "-X", "utf8", "telling.py"], ["--", "telling.py", "a"]],
    ids=["a script", "a module", "code", "options of Python", "behind a mark"])
def test_arguments_and_exit_status_are_as_without_run(directory, words):
    (directory / "telling.py").write_text(TELLING)
    alone = python(*words, cwd=directory)
    assert alone.returncode == 7
    for report in ((), ("--report=each",)):
        under = run(*report, *words, cwd=directory)
        assert (under.returncode, under.stdout) == (7, alone.stdout), under.stderr


def test_env_prints_the_variables_of_run(daemon, script):
    lines = python("-m", "cccl_cache", "env", "--socket", daemon.socket).stdout
    done = subprocess.run(["sh", "-c", lines + 'exec "$@"', "sh", sys.executable, script, NVRTC], capture_output=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert daemon.stats()["builds_total"] == 1


@pytest.mark.parametrize("missing", ["cccl-cached", "cccl-cache-cli"])
def test_a_package_that_lacks_a_part_names_it(directory, missing):
    package = directory / "site/cccl_cache"
    shutil.copytree(pathlib.Path(cccl_cache.__file__).parent, package, ignore=shutil.ignore_patterns(missing))
    done = run("-c", "print('started')", PYTHONPATH=str(package.parent))
    assert (done.returncode, done.stdout) == (5, "")
    assert str(package / missing) in done.stderr and "install" in done.stderr


def test_a_wrong_option_is_named(directory):
    done = run("--reprot", "script.py")
    assert done.returncode == 2 and "--reprot" in done.stderr and "--report" in done.stderr
