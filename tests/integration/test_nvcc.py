# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A second run of nvcc writes what the first one wrote, and nothing is looked up from what has changed."""

import concurrent.futures
import json
import os
import pathlib
import signal
import stat
import subprocess

import pytest
from conftest import wait_for
from lease_client import wait_for_waiters
from patience import PATIENCE
from nvcc_toolkit import STANDIN, Toolkit
from standin import TIME, ended, is_gone


@pytest.fixture
def daemon(make_daemon):
    return make_daemon().start()


@pytest.fixture
def toolkit(directory, daemon):
    return Toolkit(directory, daemon.socket)


def kept(daemon):
    """Returns the number of kept runs of nvcc. Runs of its steps are not counted."""
    rows = json.loads(daemon.cli("--json", "deposits", "list").stdout)["deposits"]
    return sum(row["namespace"] == "cccl.nvcc" for row in rows)


def test_a_second_run_is_a_hit_until_a_header_changes(toolkit):
    assert toolkit.how() == "made"
    made = (toolkit.work / "a.o").read_bytes()
    (toolkit.work / "a.o").unlink()
    assert toolkit.how() == "hit"
    assert (toolkit.work / "a.o").read_bytes() == made
    (toolkit.work / "second/value.h").write_text("#define VALUE 2\n")
    assert toolkit.how() == "made"
    assert toolkit.how() == "hit"
    (toolkit.work / "second/value.h").write_text("#define VALUE 1\n")
    assert toolkit.how() == "hit"
    assert (toolkit.work / "a.o").read_bytes() == made


def test_a_run_is_kept_if_its_steps_look_for_the_daemon_at_the_usual_places(toolkit, daemon):
    (toolkit.directory / "cccl-cached").symlink_to(pathlib.Path(daemon.socket).parent)
    toolkit.socket = ""
    assert [toolkit.how(), toolkit.how()] == ["made", "hit"]


def test_a_result_over_the_bound_of_a_user_is_not_kept_and_the_report_says_so(make_daemon, directory):
    daemon = make_daemon("--deposit-limit-per-uid", "16KiB").start()
    toolkit = Toolkit(directory, daemon.socket)
    for _ in range(2):
        assert "deposit_limit_per_uid" in toolkit.how()
    assert kept(daemon) == 0


def test_a_run_that_could_not_be_published_is_waited_for_again(make_daemon, directory):
    """The next one may well be kept, after an edit of a header or with a larger bound."""
    daemon = make_daemon("--deposit-limit-per-uid", "16KiB").start()
    toolkit = Toolkit(directory, daemon.socket)
    words = [*toolkit.words, *toolkit.gate()]

    def started():
        process = toolkit.start(*words)
        wait_for(toolkit.stopped, "a run of nvcc")
        return process

    first = started()
    toolkit.passed()
    assert ended(first).status == 0
    second = started()
    toolkit.options = ["--wait", "0"]
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        third = threads.submit(toolkit.under_run, *words)
        wait_for(lambda: len(toolkit.stopped()) == 2, "the run that waited in vain")
        wait_for(lambda: toolkit.passed() or third.done(), "its end")
        assert third.result().status == ended(second).status == 0
    assert toolkit.report()["forwarded"]["longer than --wait"] > 0


def test_a_header_that_was_looked_up_in_vain_makes_a_miss_once_it_is_there(toolkit):
    (toolkit.work / "a.cu").write_text("#if __has_include(<maybe.h>)\nint maybe() { return 1; }\n#endif\n#include <value.h>\n")
    assert [toolkit.how(), toolkit.how()] == ["made", "hit"]
    (toolkit.work / "first/value.h").write_text("int other() { return 2; }\n")
    assert toolkit.how() == "made"
    assert b"other" in (toolkit.work / "a.o").read_bytes()
    assert toolkit.how() == "hit"
    (toolkit.work / "second/maybe.h").write_text("")
    assert toolkit.how() == "made"
    assert b"maybe" in (toolkit.work / "a.o").read_bytes()
    (toolkit.work / "second/maybe.h").unlink()
    (toolkit.work / "first/value.h").unlink()
    assert toolkit.how() == "hit"
    assert b"maybe" not in (toolkit.work / "a.o").read_bytes()


def test_existing_outputs_are_replaced_or_overwritten_as_by_nvcc(toolkit, daemon):
    """The assembler removes an object first, unless it is empty. Other programs keep the file and its mode."""
    words = ["a.cu", "-Isecond", "-arch=sm_90"]
    target, link = toolkit.work / "target", toolkit.work / "link"

    def written(run, form, name, contents):
        output = toolkit.work / name
        for file in (output, link):
            file.unlink(missing_ok=True)
        output.write_bytes(contents)
        output.chmod(0o600)
        os.link(output, link)
        assert run(form, *words, "-o", name).status == 0
        yield stat.filemode(output.stat().st_mode), output.stat().st_size, os.path.samefile(output, link)
        link.unlink()
        output.unlink()
        target.write_bytes(contents)
        output.symlink_to("target")
        assert run(form, *words, "-o", name).status == 0
        yield output.is_symlink(), target.stat().st_size

    def all_of(run):
        return [each for form, name in (("-c", "a.o"), ("-cubin", "a.cubin"), ("-ptx", "a.ptx"))
                for contents in (b"x" * 100_000, b"") for each in written(run, form, name, contents)]

    alone = all_of(toolkit.alone)
    assert [all_of(toolkit.launch), all_of(toolkit.launch)] == [alone, alone]
    # Each of the three forms was made once.
    assert daemon.stats()["deposit_hits_total"] == 21


def test_a_new_file_has_the_mode_that_the_umask_allows(toolkit):
    assert toolkit.how() == "made"
    for mask in (0o022, 0o077):
        (toolkit.work / "a.o").unlink()
        before = os.umask(mask)
        try:
            assert toolkit.how() == "hit"
        finally:
            os.umask(before)
        assert stat.S_IMODE((toolkit.work / "a.o").stat().st_mode) == 0o666 & ~mask


def test_a_program_that_was_made_without_the_right_to_execute_is_not_kept(toolkit, daemon):
    """A later umask may allow the right, and only the linker knows whether the file should have it."""
    (toolkit.work / "a.cc").write_text("int main() { return 0; }\n")
    words = ["a.cc", "-o", "a.out", "-cudart", "none"]
    before = os.umask(0o133)
    try:
        assert toolkit.launch(*words).status == 0
    finally:
        os.umask(before)
    assert kept(daemon) == 0
    assert toolkit.launch(*words).status == 0
    assert os.access(toolkit.work / "a.out", os.X_OK)


def both(toolkit):
    """Runs the launcher with one pipe for its output and its errors."""
    words = [STANDIN, toolkit.nvcc, *toolkit.words, "-Xptxas", "-v", "-DWARNED"]
    return subprocess.run(words, cwd=toolkit.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
                          env={**toolkit.environment, "CCCL_CACHE_SOCKET": toolkit.socket}).stdout


def test_messages_in_one_pipe_keep_their_order_and_are_not_given_to_two(toolkit, daemon):
    made = both(toolkit)
    assert made and both(toolkit) == made
    assert daemon.stats()["deposit_hits_total"] == 1
    said = toolkit.launch(*toolkit.words, "-Xptxas", "-v", "-DWARNED")
    assert TIME.sub(b"", said.out + said.err) == TIME.sub(b"", made) and said.err


def test_a_server_that_holds_the_output_does_not_delay_the_end(toolkit):
    host = toolkit.directory / "host/g++"
    host.parent.mkdir()
    server = toolkit.directory / "server"
    host.write_text(f'#!/bin/sh\n[ -e {server} ] || {{ sleep 1000 & echo $! > {server}; }}\nexec /usr/bin/g++ "$@"\n')
    host.chmod(0o755)
    try:
        assert toolkit.start(*toolkit.words, "-ccbin", host).wait(PATIENCE) == 0
    finally:
        os.kill(int(server.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_nvcc_and_its_launcher_in_the_same_way(toolkit, number):
    words = [*toolkit.words, *toolkit.gate()]

    def end(program):
        running = subprocess.Popen([*program, *words], cwd=toolkit.work, start_new_session=True, stdin=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL,
                                   env={**toolkit.environment, "CCCL_CACHE_SOCKET": toolkit.socket})
        wait_for(toolkit.stopped, "a run of nvcc")
        os.killpg(running.pid, number)
        toolkit.passed()
        return running.wait(PATIENCE), len(list((toolkit.work / "temporary").iterdir()))

    status, left = end([toolkit.nvcc])
    assert end([STANDIN, toolkit.nvcc]) == (status, 2 * left)


def test_an_error_is_passed_on_and_not_kept(toolkit, daemon):
    (toolkit.work / "a.cu").write_text("#error no\n")
    real = toolkit.alone()
    assert real.status != 0 and b"#error no" in real.err
    for _ in range(2):
        assert toolkit.under_run() == real
        assert toolkit.report()["failed"] == 1
    assert kept(daemon) == 0


def test_eight_concurrent_processes_run_nvcc_once(toolkit, daemon):
    words = [*toolkit.words, *toolkit.gate()]
    processes = [toolkit.start(*words) for _ in range(8)]
    wait_for_waiters(daemon, 7)
    wait_for(toolkit.stopped, "the only run of nvcc")
    toolkit.passed()
    assert [ended(process) for process in processes] == [(0, b"", b"")] * 8
    assert not toolkit.stopped()
    [user] = json.loads(daemon.cli("--json", "stats", "--by", "user").stdout)["rows"]
    assert (user["deposits_made"], user["deposit_hits"]) == (1, 7)


def test_a_killed_run_leaves_its_place_to_the_next_one(toolkit, daemon):
    words = [*toolkit.words, *toolkit.gate()]
    first = toolkit.start(*words)
    wait_for(toolkit.stopped, "a run of nvcc")
    second = toolkit.start(*words)
    wait_for_waiters(daemon, 1)
    first.kill()
    toolkit.passed()  # the host compiler of the killed run goes on alone
    assert first.wait() == -signal.SIGKILL
    wait_for(toolkit.stopped, "the second run of nvcc")
    toolkit.passed()
    assert ended(second) == (0, b"", b"")
    assert toolkit.how(*words) == "hit"


def test_a_run_below_another_run_does_not_wait_for_an_equal_one(toolkit):
    """Such as one that a host compiler starts: the run above it holds a lease."""
    words = [*toolkit.words, *toolkit.gate()]
    processes = [toolkit.start(*words)]
    wait_for(toolkit.stopped, "a run of nvcc")
    processes.append(toolkit.start(*words, CCCL_CACHE_STEP_OF="1"))
    wait_for(lambda: len(toolkit.stopped()) == 2, "two runs of nvcc at once")
    toolkit.passed()
    assert [ended(process).status for process in processes] == [0] * 2


@pytest.mark.parametrize("change", ["another text", "the same text", "a new header", "another directory"])
def test_a_run_whose_inputs_change_meanwhile_is_not_kept(toolkit, daemon, change):
    second = toolkit.work / "second"
    second.rename(toolkit.work / "one")
    second.symlink_to("one")
    (toolkit.work / "two").mkdir()
    (toolkit.work / "two/value.h").write_text("#define VALUE 2\n")
    running = toolkit.start(*toolkit.words, *toolkit.gate())
    wait_for(toolkit.stopped, "a run of nvcc")
    if change == "another directory":
        second.unlink()
        second.symlink_to("two")
    else:
        header = toolkit.work / ("first/value.h" if change == "a new header" else "second/value.h")
        header.write_text("#define VALUE 2\n" if change == "another text" else "#define VALUE 1\n")
    toolkit.passed()
    assert ended(running).status == 0
    assert kept(daemon) == 0


def test_a_run_with_a_wrapper_of_the_host_compiler_is_not_kept(toolkit, daemon):
    """It may read any variable."""
    wrapper = toolkit.directory / "gw"
    wrapper.write_text('#!/bin/sh\nexec g++ $MYFLAGS "$@"\n')
    wrapper.chmod(0o755)
    assert "environment" in toolkit.how(*toolkit.words, "-ccbin", str(wrapper))
    assert kept(daemon) == 0


def test_a_limit_of_the_address_space_leaves_no_room_for_the_recorder(toolkit, daemon):
    words = ["sh", "-c", 'ulimit -v 1000000000; exec "$@"', "sh", STANDIN, toolkit.nvcc, *toolkit.words]
    assert ended(toolkit.start_words(words)) == (0, b"", b"")
    assert kept(daemon) == 0


def test_an_output_that_another_program_writes_after_nvcc_is_not_kept(toolkit, daemon):
    running = toolkit.start(*toolkit.words, *toolkit.gate())
    wait_for(toolkit.stopped, "a run of nvcc")
    [nvcc] = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    toolkit.passed()
    wait_for(lambda: is_gone(int(nvcc)), "the end of nvcc")
    while running.poll() is None:
        (toolkit.work / "a.o").write_text("other")
    assert running.returncode == 0
    assert kept(daemon) == 0


UNKEPT = {
    "relocatable code with a process number": ("a.cu", "static __global__ void f() {}\n", "-dc"),
    "a header that asks for the time": ("second/value.h", "#define VALUE sizeof(__TIME__)\n", ""),
    "a word in which a shell puts in a variable": ("a.cu", "int f() { return 1; }\n", "-Xcompiler -DY=$HOME"),
    "a header that is an output": ("a.cu", '#if __has_include("a.o")\n#endif\n', ""),
    "a file written elsewhere": ("a.cu", "int f() { return 1; }\n", "-Xcompiler -fdump-tree-gimple"),
}


@pytest.mark.parametrize("file, text, more", UNKEPT.values(), ids=UNKEPT)
def test_a_run_that_depends_on_more_or_leaves_more_is_not_kept(toolkit, daemon, file, text, more):
    (toolkit.work / file).write_text(text)
    for _ in range(2):
        assert toolkit.how(*toolkit.words, *more.split()) not in ("made", "hit")


def test_equal_runs_do_not_wait_for_each_other_once_one_was_not_kept(toolkit):
    (toolkit.work / "second/value.h").write_text("#define VALUE sizeof(__TIME__)\n")
    words = [*toolkit.words, *toolkit.gate()]
    first = toolkit.start(*words)
    wait_for(toolkit.stopped, "a run of nvcc")
    toolkit.passed()
    assert ended(first).status == 0
    processes = [toolkit.start(*words) for _ in range(3)]
    wait_for(lambda: len(toolkit.stopped()) == 3, "three runs of nvcc at once")
    toolkit.passed()
    assert [ended(process).status for process in processes] == [0] * 3
    # A run that is kept ends this.
    (toolkit.work / "second/value.h").write_text("#define VALUE 1\n")
    running = toolkit.start(*words)
    wait_for(toolkit.stopped, "a run of nvcc")
    toolkit.passed()
    assert ended(running).status == 0
    assert toolkit.how(*words) == "hit"


def test_everything_that_decides_the_result_is_in_the_key(toolkit, directory):
    made = [toolkit.how(), toolkit.how("-c", "a.cu", "-o", "b.o", *toolkit.words[4:]), toolkit.how(*toolkit.words, "-O1"),
            toolkit.how(CPATH=str(directory)), toolkit.how(NVCC_APPEND_FLAGS="-DOTHER"), toolkit.how(PTXAS_FLAGS="-O1"),
            toolkit.how(LD_PRELOAD="libm.so.6")]
    assert made == ["made"] * 7
    assert [toolkit.how(), toolkit.how(CPATH=str(directory)), toolkit.how(UNRELATED="1")] == ["hit"] * 3
    (toolkit.work / "a.cu").write_text("int other;\n")
    assert [toolkit.how(), toolkit.how()] == ["made", "hit"]


def test_a_changed_part_of_nvcc_makes_a_miss(toolkit):
    """Also if the run of that part was kept, so that it did not run itself."""
    words = ["-c", "a.cu", "-o", "b.o", *toolkit.words[4:]]
    assert [toolkit.how(), toolkit.how(*words), toolkit.how(*words)] == ["made", "made", "hit"]
    assert toolkit.how() == "hit"
    part = toolkit.root / "bin/cudafe++"
    contents = part.read_bytes()
    part.unlink()
    part.write_bytes(contents + b"another release")
    part.chmod(0o755)
    assert [toolkit.how(*words), toolkit.how(), toolkit.how()] == ["made", "made", "hit"]
    profile = toolkit.root / "bin/nvcc.profile"
    text = profile.read_text()
    profile.unlink()
    profile.write_text(text + "\nPTXAS_FLAGS += -O2\n")
    assert toolkit.how() == "made"


def test_the_oldest_of_many_states_is_replaced(toolkit, daemon):
    states = 10
    (toolkit.work / "a.cu").write_text("#include <value.h>\n")
    for number in range(states):
        (toolkit.work / "second/value.h").write_text(f"int value() {{ return {number}; }}\n")
        assert toolkit.how() == "made"
    assert toolkit.how() == "hit"
    assert kept(daemon) == 8
    for number, how in ((2, "hit"), (0, "made")):  # 0 and 1 were replaced
        (toolkit.work / "second/value.h").write_text(f"int value() {{ return {number}; }}\n")
        assert toolkit.how() == how


def test_without_a_daemon_nvcc_runs(toolkit, daemon):
    daemon.stop()
    assert toolkit.launch() == toolkit.alone()
    assert toolkit.under_run().status == 0
    assert toolkit.report()["forwarded"]["no daemon"] == toolkit.report()["calls"]


def test_a_script_is_not_served_as_nvcc(toolkit, daemon):
    script = toolkit.directory / "nvcc"
    script.write_text(f'#!/bin/sh\nexec {toolkit.nvcc} "$@"\n')
    script.chmod(0o755)
    assert ended(toolkit.start(program=script)).status == 0
    assert kept(daemon) == 0


@pytest.mark.parametrize("name,remedy", [("launcher", b"put its directory into PATH"), ("link", b"nvcc.real to it")])
def test_a_missing_nvcc_is_said_with_the_way_out(toolkit, name, remedy):
    link = toolkit.directory / "nvcc"
    link.symlink_to(STANDIN)
    command = {"launcher": [STANDIN, "nvcc"], "link": [link]}[name]
    done = ended(toolkit.start_words([*command, "-c", "a.cu"], PATH="/nowhere"))
    assert done.status == 127
    assert remedy in done.err


def test_the_launcher_without_an_nvcc_says_how_to_call_it(toolkit):
    for words in [], ["--help"], ["-c", "a.cu"]:
        done = ended(toolkit.start_words([STANDIN, *words]))
        assert done.status == 1
        assert b"usage: cccl-cache-nvcc NVCC ARGUMENT" in done.err


@pytest.mark.parametrize("name", ["path", "bare name", "link"])
def test_the_launcher_needs_no_run(toolkit, daemon, name):
    environment = {"PATH": f"{toolkit.root}/bin:{toolkit.environment['PATH']}"}
    link = toolkit.directory / "nvcc"
    if name == "link":
        link.symlink_to(STANDIN)
        link.with_name("nvcc.real").symlink_to(toolkit.nvcc)
    command = {"path": [STANDIN, toolkit.nvcc], "bare name": [STANDIN, "nvcc"], "link": [link]}[name]
    for _ in range(2):
        assert ended(toolkit.start_words([*command, *toolkit.words], **environment)) == (0, b"", b"")
    stats = daemon.stats()
    assert (stats["deposits"], stats["deposit_hits_total"]) == (1, 1)
