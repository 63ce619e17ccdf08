# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""If no daemon serves a build, the client compiles it itself, to the same result."""

import functools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from alone import Alone, children_of, gone, sleeps
from conftest import PATIENCE, PLACES, run_cli, wait_for
from library import Library
from test_same_bytes_as_raw import CALLER, MODULE, REDUCTION, USER_OP

GOOD = 'extern "C" __global__ void good() {}\n'
TEMPLATE = "template <typename T> __global__ void f(T* p) { *p = T(1); }\n"
SHOWN = "__device__ char here[] = __FILE__;\n__global__ void k(char* p) { *p = here[threadIdx.x]; }\n"


@pytest.fixture
def alone(directory):
    return Alone(directory, PLACES.cuda13)


@pytest.fixture
def alone_with_fake(directory, toolkit):
    return Alone(directory, toolkit.root)


def both(daemon, alone, command, files, *arguments, emit="cubin", arch="sm_90", cwd=None, behind=()):
    """Returns (output and result with a daemon, output and result without one). `behind` is a program that removes a
    feature of the kernel from the second run."""
    results = []
    for run in (daemon.cli, functools.partial(alone.cli, behind=behind)):
        output = alone.directory / "output"
        done = run("--json", command, *files, "--arch", arch, "--emit", emit, "-o", str(output), *arguments,
                   cwd=cwd or alone.directory)
        results.append((json.loads(done.stdout), output.read_bytes()))
    return results


def assert_same(results):
    (said, given), (said_alone, given_alone) = results
    assert given_alone == given
    assert said_alone.pop("outcome") == "local"
    assert "no cccl-cached listens" in said_alone.pop("reason")
    assert (said.pop("request") != "", said_alone.pop("request")) == (True, "")
    for each in (said, said_alone):
        for of_this_run in ("outcome", "reason", "tier", "timing", "precompiled_headers"):
            each.pop(of_this_run, None)
    assert said_alone == said


@pytest.mark.parametrize("emit", ["cubin", "ptx", "ltoir"])
def test_a_local_compile_over_cub_gives_the_same_result(lasting, alone, emit):
    source = alone.directory / "reduce.cu"
    source.write_text(REDUCTION)
    assert_same(both(lasting, alone, "build", [str(source)], "--std", "c++17", emit=emit))


@pytest.mark.parametrize("lacking", [[], ["--nor-seccomp"]], ids=["landlock", "landlock and seccomp"])
def test_a_local_compile_with_a_weaker_sandbox_gives_the_same_result(lasting, alone, lacking):
    """A user's own program needs no sandbox. With a weaker sandbox, the compiler sees the same files."""
    (alone.directory / "mine.h").write_text("#define MINE 3\n")
    source = alone.directory / "k.cu"
    source.write_text('#include "mine.h"\n' + REDUCTION)
    assert_same(both(lasting, alone, "build", [str(source)], "--std", "c++17",
                     behind=[PLACES.without_landlock, *lacking]))


def test_no_file_becomes_a_standard_descriptor_of_the_compiler():
    helper = pathlib.Path(PLACES.daemon).parent / "local/cccl-cache-compile"
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(["sh", "-c", 'exec "$0" >&- 2>&-', helper], stdin=theirs)
    theirs.close()
    descriptors = pathlib.Path(f"/proc/{process.pid}/fd")

    def leads_to(number):
        try:
            return os.readlink(descriptors / number)
        except FileNotFoundError:
            return None

    wait_for(lambda: leads_to("1") == leads_to("2") == "/dev/null", "the compiler to occupy them")
    ours.close()
    assert process.wait(PATIENCE) == 1


def test_a_local_compile_gives_the_same_lowered_names(lasting, alone):
    source = alone.directory / "f.cu"
    source.write_text(TEMPLATE)
    results = both(lasting, alone, "build", [str(source)], "--name-expression", "f<int>", "--name-expression",
                   "f<double>", emit="ptx")
    assert set(results[1][0]["lowered_names"]) == {"f<int>", "f<double>"}
    assert_same(results)


def test_a_local_compile_with_the_users_own_headers_gives_the_same_result(lasting, alone):
    """The headers are under -I and beside the program. The key is the same, because it covers the contents of
    outside files."""
    place = alone.directory / "project"
    (place / "include").mkdir(parents=True)
    (place / "include" / "near.h").write_text("#define NEAR 3\n")
    (place / "beside.h").write_text("#include <near.h>\n#define BESIDE NEAR\n")
    source = place / "k.cu"
    source.write_text('#include "beside.h"\n__global__ void k(int* p) { *p = BESIDE; }\n')
    assert_same(both(lasting, alone, "build", ["k.cu"], "-I", "include", emit="ptx", cwd=place))


def test_a_local_compile_of_a_program_that_shows_a_path_gives_the_same_result(lasting, alone):
    source = alone.directory / "shown.cu"
    source.write_text(SHOWN)
    assert_same(both(lasting, alone, "build", [str(source)], emit="ptx"))


def test_a_local_link_gives_the_same_result(lasting, alone):
    parts = []
    for name, text in (("op", USER_OP), ("caller", CALLER)):
        source = alone.directory / f"{name}.cu"
        source.write_text(text)
        part = alone.directory / f"{name}.ltoir"
        lasting.cli("build", str(source), "--arch", "sm_90", "--emit", "ltoir", "--option=-rdc=true", "-o", str(part))
        parts.append(str(part))
    assert_same(both(lasting, alone, "link", parts, "--option=-lto"))


def test_a_local_compile_of_nvvm_ir_gives_the_same_result(lasting, alone):
    module = alone.directory / "k.ll"
    module.write_text(MODULE)
    assert_same(both(lasting, alone, "nvvm", [str(module)], emit="ptx", arch="compute_90"))


def test_code_that_does_not_compile_fails_locally_in_the_same_way(lasting, alone):
    """The failure is an answer, not an error: the same log with the same names, the same code, the same exit status."""
    source = alone.directory / "broken.cu"
    source.write_text("__global__ void k() { return 1 + ; }\n")
    told = []
    for run in (lasting.cli, alone.cli):
        done = run("--json", "build", str(source), "--arch", "sm_90", check=False)
        assert done.returncode == 1
        said = json.loads(done.stdout)
        assert said["outcome"] == "failed"
        assert str(source) in said["log"]
        told.append({name: said[name] for name in ("log", "native_code", "reason", "fingerprint")})
    assert told[0] == told[1]


def test_a_toolchain_is_hashed_and_probed_once(alone):
    """The toolchain is the real one, because nothing is kept about files that were just written."""
    alone.build(GOOD)
    facts = alone.facts()
    assert all(each.stat().st_mode & 0o777 == 0o700 for each in (alone.cache / "cccl-cache", alone.cache / "cccl-cache/toolchains"))
    assert any("files" in path.name for path in facts) and any("probe" in path.name for path in facts)
    assert alone.build(GOOD)["outcome"] == "local"
    assert alone.facts() == facts


def test_toolchain_facts_that_others_could_have_written_are_ignored(alone):
    first = alone.build(GOOD)
    for fact in alone.facts():
        fact.write_bytes(fact.read_bytes()[:-32] + bytes(32) if "files" in fact.name else b"000")
    assert alone.build(GOOD)["toolchain"]["id"] != first["toolchain"]["id"]  # the kept facts are used only if the user owns them
    (alone.cache / "cccl-cache/toolchains").chmod(0o777)
    assert alone.build(GOOD)["toolchain"]["id"] == first["toolchain"]["id"]


def test_the_first_local_build_writes_a_line_to_standard_error(alone_with_fake):
    done = alone_with_fake.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, input=GOOD)
    assert b"compiled without cccl-cached" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_without_the_option_a_missing_daemon_is_an_error(alone_with_fake):
    done = run_cli("--socket", str(alone_with_fake.directory / "nobody"), "build", "-", "--arch", "sm_90", "-o", os.devnull,
                   input=GOOD, check=False, environment=alone_with_fake.environment)
    assert done.returncode == 3


def test_a_missing_executable_is_named(directory):
    """A library lacks its companion. The error is that of the daemon and names the missing file."""
    build = pathlib.Path(PLACES.cli).parents[1]
    for part in (PLACES.cli, *map(str, (build / "client").glob("libcccl_cache.so*"))):
        copy = directory / pathlib.Path(part).relative_to(build)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(part, copy)
    done = subprocess.run(
        [directory / "cli" / "cccl-cache-cli", "--socket", directory / "nobody", "build", "-", "--arch", "sm_90",
         "--fallback", "local", "-o", os.devnull], input=GOOD.encode(), capture_output=True, timeout=PATIENCE)
    assert done.returncode == 3
    assert b"no cccl-cached listens" in done.stderr and b"cccl-cache-compile is missing" in done.stderr


class Waiting:
    """A build in another thread that waits at a gate of the fake compiler."""

    def __init__(self, run):
        self.result = None
        self.thread = threading.Thread(target=self._run, args=(run,))
        self.thread.start()

    def _run(self, run):
        self.result = run()

    def end(self):
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return self.result


HELD = f"//fake: wait-for held\n{GOOD}"


def test_a_build_is_compiled_locally_if_the_daemon_is_killed_during_the_call(fake, alone_with_fake, toolkit):
    waiting = Waiting(lambda: alone_with_fake.build(HELD, socket=fake.socket))
    toolkit.await_arrivals("held", 1)
    fake.kill()
    toolkit.await_arrivals("held", 2)
    toolkit.open("held")
    assert waiting.end()["outcome"] == "local"


def test_a_daemon_that_is_started_again_is_asked_again(fake, alone_with_fake):
    with Library(alone_with_fake.environment, socket=fake.socket) as library:
        assert library.build(GOOD)["outcome"] == "built"
        fake.kill()
        assert library.build(GOOD)["outcome"] == "local"
        fake.start()
        assert library.build(GOOD)["outcome"] in ("hit", "built")


def test_a_build_waits_for_a_frozen_daemon_only_up_to_the_bound(fake, alone_with_fake):
    """The next builds do not wait for it either. Once it continues, it gets requests again."""
    with Library(alone_with_fake.environment, socket=fake.socket, local_after_ms=200) as library:
        fake.freeze()
        try:
            said = library.build(GOOD)
            assert said["outcome"] == "local"
            assert "in time" in said["reason"]
            assert library.build(GOOD)["outcome"] == "local"
        finally:
            fake.process.send_signal(signal.SIGCONT)
        wait_for(lambda: library.build(GOOD)["outcome"] in ("hit", "built"), "the daemon is asked again")


def test_a_frozen_daemon_is_given_up_while_there_is_time_to_compile(fake, alone_with_fake):
    with Library(alone_with_fake.environment, socket=fake.socket) as library:
        fake.freeze()
        try:
            said = library.build(GOOD, timeout_ms=10_000)
            assert said["outcome"] == "local"
            assert "does not respond to pings" in said["reason"]
        finally:
            fake.process.send_signal(signal.SIGCONT)


def test_a_build_with_a_toolchain_that_only_the_client_finds_is_compiled_locally(make_daemon, alone_with_fake):
    """The daemon refuses, because it has no toolchain. The client finds one."""
    daemon = make_daemon(roots=(alone_with_fake.directory / "empty",)).start()
    said = alone_with_fake.build(GOOD, socket=daemon.socket)
    assert said["outcome"] == "local"
    assert "toolchain" in said["reason"]


def test_a_local_compiler_that_crashes_is_an_error_with_the_signal(alone_with_fake):
    done = alone_with_fake.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, input="//fake: crash\n", check=False)
    assert done.returncode == 5
    assert b"SIGSEGV" in done.stderr


def all_below(pid):
    """Returns cccl-cache-compile, the zygote and the worker. There is no worker that waits for a next job."""
    wait_for(lambda: len(children_of(pid)) >= 3 and all(map(sleeps, children_of(pid))), "all are started")
    assert len(children_of(pid)) == 3
    return children_of(pid)


def test_a_deadline_ends_the_compiler_with_all_that_it_started(alone_with_fake, toolkit):
    with Library(alone_with_fake.environment, socket=alone_with_fake.directory / "nobody") as library:
        assert library.build(GOOD)["outcome"] == "local"  # leaves little to do before the gate
        waiting = Waiting(lambda: library.build(HELD, timeout_ms=10_000))
        toolkit.await_arrivals("held", 1)
        below = all_below(library.pid)
        assert waiting.end()["error"] == "deadline"
        wait_for(lambda: gone(below), "what was started is gone")


def test_a_program_that_is_killed_leaves_no_compiler_behind(alone_with_fake, toolkit):
    with Library(alone_with_fake.environment, socket=alone_with_fake.directory / "nobody") as library:
        waiting = Waiting(lambda: library.build(HELD))
        toolkit.await_arrivals("held", 1)
        below = all_below(library.pid)
        library.kill()
        waiting.end()
        wait_for(lambda: gone(below), "what was started is gone")
