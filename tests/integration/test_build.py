# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A build from the command line to the answer."""

import hashlib
import json
import os
import subprocess
import termios

from conftest import PATIENCE, PLACES, run_cli, wait_for
from terminal import at_a_terminal

KERNEL = 'extern "C" __global__ void k() {}\n'


def test_a_build_is_compiled_once_and_then_a_hit(fake, toolkit):
    first = fake.build_json(KERNEL)
    compiles = toolkit.count("nvrtc_compiles")  # this compile, probes, and the zygote's warm-up
    second = fake.build_json(KERNEL)
    assert (first["outcome"], first["tier"]) == ("built", "")
    assert (second["outcome"], second["tier"]) == ("hit", "memory")
    assert second["key"] == first["key"]
    assert second["artifacts"] == first["artifacts"]
    assert toolkit.count("nvrtc_compiles") == compiles
    statistics = fake.stats()
    assert statistics["builds_total"] == 2
    assert statistics["hits_total"]["memory"] == 1
    assert statistics["compiles_total"] == 1


def test_a_terminal_shows_the_outcome_and_a_script_does_not(fake, directory):
    (directory / "k.cu").write_text(KERNEL)
    build = ("build", "--", "k.cu", "--arch", "sm_90", "-o", os.devnull)
    assert fake.cli(*build, cwd=directory).stderr == b""
    assert fake.cli(*build, "-v", cwd=directory).stderr.startswith(b"hit (memory) ")
    person, terminal = os.openpty()
    for quiet in ((), ("-q",)):
        subprocess.run([PLACES.cli, "--socket", fake.socket, *build, *quiet], cwd=directory, stderr=terminal, check=True,
                       env={**os.environ, "NO_COLOR": "1"})
    os.close(terminal)
    said = os.read(person, 1000).decode()
    os.close(person)
    assert said.startswith("hit (memory) ") and said.count("\n") == 1


def test_a_build_with_a_closed_standard_output_fails_with_the_reason(fake, directory):
    (directory / "k.cu").write_text(KERNEL)
    build = (PLACES.cli, "--socket", fake.socket, "build", "k.cu", "--arch", "sm_90", "-o")
    for closed in (">&-", "<&- >&-"):
        for words in (("-",), (os.devnull, "--json")):
            done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *build, *words], cwd=directory,
                                  stderr=subprocess.PIPE)
            assert done.returncode == 5 and b"standard output: Bad file descriptor" in done.stderr
    assert "cut off" not in fake.log_text()


def test_success_is_green_and_failure_is_red_unless_colours_are_turned_off(fake, directory):
    (directory / "k.cu").write_text(KERNEL)
    build = ("--socket", fake.socket, "build", str(directory / "k.cu"), "--arch", "sm_90", "-o", os.devnull)
    wrong = ("--socket", str(directory / "none"), "health")
    assert at_a_terminal(*build)[2].startswith("\x1b[32mbuilt\x1b[0m ")
    assert at_a_terminal(*build)[2].startswith("\x1b[32mhit\x1b[0m (memory) ")
    assert at_a_terminal(*build, "--option=--no-cache")[2].startswith("\x1b[33muncacheable\x1b[0m ")
    assert at_a_terminal(*wrong)[2].startswith("\x1b[31mcccl-cache-cli:\x1b[0m ")
    for command in (build, wrong):
        assert "\x1b" not in at_a_terminal(*command, NO_COLOR="1")[2]
    assert b"\x1b" not in fake.cli("health").stdout


def test_a_terminal_shows_the_reason_of_a_wait(fake, toolkit, directory):
    (directory / "k.cu").write_text("//fake: wait-for gate\n")
    fake.cli("health")  # its process was the first of this user
    person, terminal = os.openpty()
    columns = 18  # narrower than a line
    termios.tcsetwinsize(terminal, (24, columns))
    program = subprocess.Popen([PLACES.cli, "--socket", fake.socket, "build", "k.cu", "--arch", "sm_90", "-o", os.devnull],
                               cwd=directory, stderr=terminal, env={**os.environ, "NO_COLOR": "1"})
    os.close(terminal)
    said = b""
    while b"compiling for " not in said:
        said += os.read(person, 1000)
    toolkit.open("gate")
    while b"built " not in said:
        said += os.read(person, 1000)
    os.close(person)
    assert program.wait(PATIENCE) == 0
    line = said.decode().replace("\r\n", "\n").split("\r")
    assert max(map(len, line[:-1])) == columns - 1
    # Spaces overwrite the previous line.
    assert line[-2].strip() == "" and len(line[-2]) >= len(line[-3].rstrip())
    assert line[-1].startswith("built ")


def test_the_artifact_is_written_to_the_given_path_with_the_reported_digest(fake, directory):
    source = directory / "k.cu"
    source.write_text(KERNEL)
    told = json.loads(fake.cli("--json", "build", str(source), "--arch", "sm_90", "-o", str(directory / "o")).stdout)
    written = (directory / "o").read_bytes()
    cubin = next(each for each in told["artifacts"] if each["kind"] == "cubin")
    assert cubin["size"] == len(written)
    assert cubin["sha256"] == hashlib.sha256(written).hexdigest()


def test_code_that_does_not_compile_is_exit_1_with_the_log_and_is_remembered(fake):
    arguments = ("build", "-", "--arch", "sm_90", "-o", os.devnull)
    done = fake.cli(*arguments, input="//fake: fail no such thing\n", check=False)
    assert done.returncode == 1
    assert b"no such thing" in done.stderr
    told = json.loads(fake.cli("--json", *arguments, input="//fake: fail no such thing\n", check=False).stdout)
    assert told["outcome"] == "failed"
    assert told["remembered"]


def test_links_and_nvvm_builds_are_compiled_once_and_then_hits(fake, directory):
    source = directory / "k.cu"
    source.write_text(KERNEL)
    ltoir = directory / "k.ltoir"
    fake.cli("build", str(source), "--arch", "sm_90", "--emit", "ltoir", "-o", str(ltoir))
    for _ in range(2):
        fake.cli("link", str(ltoir), "--arch", "sm_90", "-o", str(directory / "linked"), "--option=-lto")
    module = directory / "m.ll"
    module.write_text("; a module\n")
    for _ in range(2):
        fake.cli("nvvm", str(module), "--arch", "compute_90", "-o", str(directory / "m.ptx"))
    statistics = fake.stats()
    assert statistics["compiles_total"] == 3
    assert statistics["hits_total"]["memory"] == 2
    assert (directory / "linked").stat().st_size > 0
    assert (directory / "m.ptx").stat().st_size > 0


def test_health_and_toolchains_answer(fake, toolkit):
    assert fake.cli("health").returncode == 0
    told = json.loads(fake.cli("--json", "toolchains").stdout)
    assert told["toolchains"][0]["root"].startswith(toolkit.root)


def test_a_daemon_that_dies_during_a_build_and_a_missing_daemon_are_different_errors(fake, toolkit, directory):
    (directory / "k.cu").write_text("//fake: wait-for gate\n")
    program = subprocess.Popen([PLACES.cli, "--socket", fake.socket, "build", "k.cu", "--arch", "sm_90", "-o", os.devnull],
                               cwd=directory, stderr=subprocess.PIPE)
    wait_for(lambda: fake.stats()["in_flight"], "the compile")
    fake.kill()
    said = program.communicate(timeout=PATIENCE)[1]
    assert program.returncode == 3
    assert b"was lost during this call" in said and os.fsencode(fake.socket) in said


def test_a_missing_daemon_is_exit_3_with_the_socket_named(make_daemon):
    daemon = make_daemon()
    done = daemon.cli("stats", check=False)
    assert done.returncode == 3
    assert daemon.socket.encode() in done.stderr


def test_the_command_without_arguments_prints_its_help_as_an_error():
    done = run_cli(check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == run_cli("--help").stdout
