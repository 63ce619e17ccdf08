# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""`cccl-cache-cli run --compare`: a program without the cache, and twice with a new one."""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys

import described_json
import pytest
from conftest import PATIENCE, PLACES, run_cli, wait_for
from silent_daemon import cli_with_silent_daemon
from test_run import alone, library_of, program  # noqa: F401
from watched_terminal import WatchedTerminal

ROW = re.compile(r"(without|first|second) +([0-9.]+) s +([0-9.]+) s +(\S+) +(\S+) +(\S+) +(\S+)")


class Place:
    """A home and a directory for temporary files, which must be empty after each comparison."""

    def __init__(self, path):
        self.home = path / "home"
        self.home.mkdir(mode=0o700)
        self.temporary = path / "temporary"
        self.temporary.mkdir(mode=0o700)
        self.environment = {"HOME": str(self.home), "TMPDIR": str(self.temporary), "XDG_RUNTIME_DIR": str(self.home),
                            "CCCL_CACHED_TOOLCHAIN_ROOT": PLACES.cuda13, "CCCL_CACHED_TOOLCHAIN_SEARCH": "roots"}

    def compare(self, *words, options=(), **environment):
        done = run_cli("run", "--compare", *options, "--", *words, check=False,
                       environment={**self.environment, **environment})
        assert not any(self.temporary.iterdir())
        return done

    def start(self, *words, cli=PLACES.cli, **keywords):
        return subprocess.Popen([cli, "run", "--compare", "--", *map(str, words)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords,
                                env={"PATH": os.environ["PATH"], **self.environment})


@pytest.fixture
def place(directory):
    return Place(directory)


def test_a_table_shows_what_the_cache_does(place, program):  # noqa: F811
    words = (program(), library_of(PLACES.cuda13))
    done = place.compare(*words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == 3 * alone(*words)
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["wall", "processor", "time", "compiles", "hits", "made", "not", "served"]
    rows = [ROW.fullmatch(line).groups() for line in lines[1:4]]
    assert [(row[0], *row[3:]) for row in rows] == [
        ("without", "-", "-", "-", "-"), ("first", "1", "0", "1", "0"), ("second", "1", "1", "0", "0")]
    assert "second run" in lines[4] and "in place of" in lines[4] and len(lines) == 5


def test_a_terminal_shows_which_run_begins(place):
    words = ("run", "--compare", "--", "echo", "of the program")
    with WatchedTerminal(PLACES.cli, *words, columns=100, **place.environment) as terminal:
        assert terminal.await_end() == 0
        shown = [line for line in terminal.shown().splitlines() if "begins" in line or "of the program" in line]
    assert [name in line for name, line in zip(("without", "first", "second"), shown[::2])] == 3 * [True]
    assert [line.strip() for line in shown[1::2]] == 3 * ["of the program"]


def test_json_has_the_same_figures(place, program):  # noqa: F811
    words = (str(program()), str(library_of(PLACES.cuda13)), "forks")
    done = place.compare(*words, options=("--json",))
    described_json.check(("run",), done.stdout)
    told = json.loads(done.stdout)
    assert told["program"] == list(words) and (told["end"], told["notes"]) == ("exit status 0", [])
    without, first, second = told["runs"]
    assert "compiles" not in without
    assert [(run["compiles"]["hits"], run["compiles"]["compiled"], run["misses"]) for run in (first, second)][1] == (2, 0, "")
    assert first["compiles"]["compiled"] == 2 and "2 compiled" in first["misses"]
    assert all(run["wall_us"] > 0 and run["processor_us"] > 0 for run in told["runs"])
    # The daemon compiles in the first run alone.
    assert first["processor_us"] > second["processor_us"]


def test_the_first_run_has_no_stand_ins_and_no_variables_of_ours(place):
    script = "env | grep -c -e ^CCCL_CACHE -e ^LD_ ; true"
    done = place.compare("sh", "-c", script, CCCL_CACHE="1", CCCL_CACHE_SOCKET="/nowhere")
    numbers = [int(each) for each in done.stderr.split()]
    assert numbers[0] == len([name for name in place.environment if name.startswith("CCCL_CACHED_")])
    assert numbers[1] == numbers[2] > numbers[0]


def test_compiles_that_stay_cold_are_explained(place, program):  # noqa: F811
    done = place.compare(program(), library_of(PLACES.cuda12))
    text = done.stdout.decode()
    assert [ROW.fullmatch(line).group(7) for line in text.splitlines()[1:4]] == ["-", "1", "1"]
    assert re.search(r"\nIn the second run, not cached: 1 of 1 compile \(.*\): library unknown to daemon\.\n  name the directory of .*CCCL_CACHED_TOOLCHAIN_ROOT", text), text
    text = place.compare("true").stdout.decode()
    assert "this program compiled nothing that `run` serves" in text


def test_the_state_of_a_framework_s_cache_is_told(place):
    cache = place.home / ".cupy/kernel_cache"
    cache.mkdir(parents=True)
    (cache / "old").touch()
    base = place.home / "base"  # FlashInfer's variable names a directory above that of the cache
    (base / ".cache/flashinfer/old").mkdir(parents=True)
    done = place.compare("sh", "-c", f"touch {cache}/$$ {base}/other; mkdir -p {place.home}/.triton/cache/made",
                         FLASHINFER_WORKSPACE_BASE=str(base))
    notes = [line for line in done.stdout.decode().splitlines() if line.startswith("Note: ")]
    assert [(str(cache) in note, "had results before" in note) for note in notes] == [
        (True, True), (True, False), (False, False), (False, True)]
    assert "CUPY_CACHE_DIR" in notes[0] and "Triton" in notes[2] and "was filled by the run without" in notes[2]
    assert f"FlashInfer, {base}/.cache/flashinfer," in notes[3]
    assert (cache / "old").exists()


def test_a_program_that_fails_is_compared_and_its_exit_code_returned(place):
    done = place.compare("sh", "-c", "exit 3")
    assert done.returncode == 3 and done.stdout.count(b"\n") >= 5
    assert place.compare("/nowhere/program").returncode == 127


def test_a_program_that_a_signal_ends_ends_the_comparison_by_the_same(place):
    done = place.compare("sh", "-c", "kill -SEGV $$")
    assert done.returncode == -signal.SIGSEGV and len(ROW.findall(done.stdout.decode())) == 3


def test_runs_that_end_differently_fail(place):
    done = place.compare("sh", "-c", 'test -z "$LD_PRELOAD" || kill -ABRT $$')
    assert (done.returncode, done.stdout) == (5, b"")
    assert b"the program ended differently: exit status 0 without, SIGABRT in the first run" in done.stderr


def children_of(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_daemon_stays_if_a_comparison_is_ended(place, by):
    """The program of the first run with a daemon waits for the end."""
    code = "import os, signal; print('up', flush=True); signal.pause() if 'CCCL_CACHE_SOCKET' in os.environ else None"
    with place.start(sys.executable, "-c", code) as running:
        assert [running.stderr.readline() for _ in range(2)] == [b"up\n"] * 2
        below = [os.pidfd_open(child) for child in children_of(running.pid)]
        running.send_signal(by)
        assert running.wait(PATIENCE) == -by and len(below) == 2
        for process in below:
            assert select.select([process], [], [], PATIENCE)[0], "a process goes on"
            os.close(process)
        assert running.stdout.read() == b""
    assert by == signal.SIGKILL or not any(place.temporary.iterdir())


def test_an_interrupt_ends_a_comparison_whose_daemon_does_not_answer(place, directory):
    with place.start("true", cli=cli_with_silent_daemon(directory / "installed")) as running:
        wait_for(lambda: list(place.temporary.glob("*/socket")), "the daemon's socket")
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == -signal.SIGINT
        assert running.communicate()[0] == b""
    assert not any(place.temporary.iterdir())


def test_compare_refuses_a_report_and_a_daemon_of_others(place):
    for options in (["--report"], ["--start"], ["--socket", "/nowhere"]):
        done = place.compare("true", options=options)
        assert done.returncode == 2 and b"of its own" in done.stderr
