# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for ptxas behaves as the real ptxas, and runs it once for equal runs."""

import itertools
import json
import os
import pathlib
import stat

import pytest
from conftest import wait_for
from lease_client import wait_for_waiters
from places import PLACES
from standin import LATER, PTXAS13, StandIn, ended, ptx, without_time

TRITON = pathlib.Path(os.environ["CCCL_CACHED_TEST_TRITON"]) / "triton/backends/nvidia/bin"
TOOLS = {"13": PTXAS13, "triton": TRITON / "ptxas", "triton-blackwell": TRITON / "ptxas-blackwell"}
DOUBLES = ptx(body="ld.global.f64 %d1, [%rd1]; add.f64 %d2, %d1, %d1; st.global.f64 [%rd1], %d2;")


@pytest.fixture
def standin(directory, fake):
    return StandIn(directory / "standin", fake.socket)


OPTIONS = {
    "as Triton": "-lineinfo -v --gpu-name=sm_90a",
    "as Triton for debugging": "-g --opt-level 0 --fmad=false --gpu-name=sm_90",
    "as JAX": "-arch=sm_90a --warn-on-spills -v",
    "relocatable": "-c -arch sm_80 -O1 -m64 --maxrregcount=32",
    "with warnings": "-warn-double-usage -suppress-debug-info -arch=sm_86 -arch=sm_90",
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_bytes_log_status_and_file_equal_those_of_the_real_ptxas(directory, fake, tool, options):
    standin = StandIn(directory / "standin", fake.socket, real=TOOLS[tool])
    source, output = standin.work / "a b.ptx", standin.work / "out.cubin"
    source.write_text(DOUBLES)
    words = [source, "-o", output, *options.split()]

    def all_of(run):
        """Returns the output of a run, the contents of a new file, and those of a file that existed before."""
        output.unlink(missing_ok=True)
        said = run(*words)
        made = output.read_bytes(), stat.filemode(output.stat().st_mode)
        output.write_bytes(b"x" * 1_000_000)
        output.chmod(0o600)
        inode = output.stat().st_ino
        again = run(*words)
        status = output.stat()
        return [said, again], [*made, output.read_bytes(), stat.filemode(status.st_mode), status.st_ino == inode]

    real_said, real_made = all_of(standin.run_real)
    said, made = all_of(standin.run)
    later_said, later_made = all_of(standin.run)
    assert real_said[0].status == 0, real_said
    assert made == later_made == real_made
    assert list(map(without_time, said)) == list(map(without_time, real_said))
    assert later_said == said and said[0] == said[1]  # equal to the letter: the printed time is that of the only run
    assert len(standin.runs()) == 1


def test_runs_with_other_file_names_share_a_deposit_and_messages_have_the_callers_name(standin):
    words = ["-warn-double-usage", "-lineinfo", "-arch=sm_90"]
    for number, name in enumerate(["a.ptx", "./a.ptx", "with blanks .txt", "/tmp", "$&"]):
        place = standin.work / str(number)
        place.mkdir()
        source = place / "whole.path" if name == "/tmp" else name
        (place / source).write_text(DOUBLES)
        said = standin.run(source, "-o", f"{number}.cubin", *words, cwd=place)
        made = (place / f"{number}.cubin").read_bytes()
        assert said == standin.run_real(source, "-o", "real.cubin", *words, cwd=place)
        assert f"ptxas {source}, line".encode() in said.err
        assert made == (place / "real.cubin").read_bytes()
    assert len(standin.runs()) == 1


def test_a_run_with_the_file_name_at_an_unknown_place_of_its_log_is_not_kept(standin, fake):
    (standin.work / "info").write_text(ptx())
    for number in (1, 2):
        said = standin.run("-v", "-arch=sm_90", "-o", "o", "info")
        assert said.status == 0 and b"ptxas info " in said.err
        assert len(standin.runs()) == number
    assert fake.stats()["deposits"] == 0


def test_paths_are_in_the_key_if_the_output_shows_them(standin):
    places = [standin.work / name for name in ("one", "two")]
    for place in places:
        place.mkdir()
        for name in ("a.ptx", "b.ptx"):
            (place / name).write_text(ptx())
    ran = 0
    for place, name in [(places[0], "a.ptx"), (places[0], "b.ptx"), (places[1], "a.ptx")]:
        for _ in range(2):
            assert standin.run("-g", "-arch=sm_90", name, "-o", "o", cwd=place).status == 0
        ran += 1
        made = (place / "o").read_bytes()
        standin.run_real("-g", "-arch=sm_90", name, "-o", "o", cwd=place)
        assert (place / "o").read_bytes() == made
        assert len(standin.runs()) == ran


def test_every_input_of_the_tool_is_in_the_key(standin):
    source = standin.work / "a.ptx"

    def made(*words, **environment):
        said = standin.run(source, "-o", "o", *words, **environment)
        assert said.status == 0, said
        return len(standin.runs())

    source.write_text(ptx())
    assert made("-arch=sm_90") == made("-arch=sm_90") == 1
    assert made("-arch=sm_80") == 2
    assert made("-arch", "sm_90") == 3  # another spelling is another run
    assert made("-O1", "-arch=sm_90") == 4
    assert made("-arch=sm_90", "-O1") == 5
    assert made("-arch=sm_90", PTXAS_SOMETHING="x") == 6
    assert made("-arch=sm_90", PTXAS_SOMETHING="y") == 7
    assert made("-arch=sm_90", FINALIZER_USE_LEGACY_ELF_BUILDER="1") == 8
    assert made("-arch=sm_90", UNRELATED="y") == 8
    source.write_text(ptx("other"))
    assert made("-arch=sm_90") == 9
    standin.replace_tool(b"another release")
    assert made("-arch=sm_90") == 10
    standin.replace_tool(b"")
    assert made("-arch=sm_90") == 10  # the first tool again, in another file
    source.write_text(ptx())
    assert made("-arch=sm_90") == 10


def with_lines(*files, body=""):
    """Returns PTX whose line table names these files."""
    names = "".join(f'.file {number} "{file}"\n' for number, file in enumerate(files, 1))
    lines = "".join(f".loc {number} {number} 1\n add.f32 %f1, %f1, %f1;\n" for number in range(1, len(files) + 1))
    return ptx(body=lines + body).replace("}\n", "}\n" + names)


@pytest.mark.parametrize("tool", ["13", "triton"])
def test_a_hit_has_the_times_and_sizes_of_sources_that_the_real_ptxas_writes(directory, fake, tool):
    standin = StandIn(directory / "standin", fake.socket, real=TOOLS[tool])
    source, missing = standin.work / "k.py", standin.work / "missing.py"
    (standin.work / "a.ptx").write_text(with_lines(source, missing))
    words = ["-lineinfo", "-arch=sm_90", "a.ptx", "-o"]
    made, runs = set(), []
    for number, contents in enumerate(["x = 1\n", "x = 2\n", "x = 1_000\n", "x = 1\n" * 40, "x = 1\n"]):
        source.write_text(contents)
        os.utime(source, (1_700_000_000 + number, 1_700_000_000 + number))
        assert standin.run(*words, "o").status == standin.run_real(*words, "real").status == 0
        assert (standin.work / "o").read_bytes() == (standin.work / "real").read_bytes()
        made.add((standin.work / "o").read_bytes())
        runs.append(len(standin.runs()))
    assert len(made) == 5
    assert runs == [1, 1, 1, 2, 2]  # a size of two bytes does not fit
    missing.write_text("")
    assert standin.run(*words, "o").status == standin.run_real(*words, "real").status == 0
    assert (standin.work / "o").read_bytes() == (standin.work / "real").read_bytes()


@pytest.mark.parametrize("tool", ["13", "triton"])
def test_sources_in_another_fresh_directory_are_no_miss(directory, fake, tool):
    standin = StandIn(directory / "standin", fake.socket, real=TOOLS[tool])
    header = standin.work / "a.h"
    header.write_text("")
    words = ["-lineinfo", "-arch=sm_90", "a.ptx", "-o"]
    for body, name in itertools.product(["", "// tmpabcdefgh"], ["tmpabcdefgh", "tmp01_23_ab"]):
        place = standin.work / name
        place.mkdir(exist_ok=True)
        (place / "k.cu").write_text("source")
        os.utime(place / "k.cu", (1_700_000_000 + len(body), 1_700_000_000))
        (standin.work / "a.ptx").write_text(with_lines(place / "k.cu", header, body=body))
        assert standin.run(*words, "o").status == standin.run_real(*words, "real").status == 0
        assert (standin.work / "o").read_bytes() == (standin.work / "real").read_bytes()
        assert name.encode() in (standin.work / "o").read_bytes()
    assert len(standin.runs()) == 3  # a name in another line makes a miss


def test_the_name_by_which_the_tool_is_called_is_in_its_output(standin):
    (standin.work / "a.ptx").write_text(ptx())
    made = {}
    for name in ("ptxas", "other", "ptxas"):
        words = ["-c", f"exec -a /somewhere/{name} $PROGRAM a.ptx -arch=sm_90 -o o"]
        assert standin.run(*words, program="/bin/bash", PROGRAM=str(standin.program)).status == 0
        made[name] = (standin.work / "o").read_bytes()
        assert standin.run(*words, program="/bin/bash", PROGRAM=standin.real).status == 0
        assert (standin.work / "o").read_bytes() == made[name]
    assert made["ptxas"] != made["other"]
    assert len(standin.runs()) == 2


@pytest.mark.parametrize("words", [
    ["a.ptx", "-arch=sm_90"], ["a.ptx", "-arch=sm_90", "-o"], ["-arch=sm_90", "-o", "o"], ["--help"], [], ["-o", "o", "a.ptx,b.ptx"],
    ["a.ptx", "b.ptx", "-o", "o", "-arch=sm_90"], ["a.ptx", "-o", "o", "-o", "p", "-arch=sm_90"], ["--version", "-v"],
    ["--options-file", "options", "a.ptx", "-o", "o"], ["a.ptx", "-o", "/dev/stdout", "-arch=sm_90"],
    ["a.ptx", "-o", "o", "--no-such-option"], ["a.ptx", "-o", "o", "-O", "3", "-arch=sm_90"], ["a.ptx", "-o", "o", "-split-compile=2"],
    ["-ias", ptx(), "-o", "o"], ["--list-version"],
], ids=lambda words: " ".join(words)[:40])
def test_an_unknown_use_is_left_to_the_real_ptxas(standin, words):
    for name in ("a.ptx", "b.ptx"):
        (standin.work / name).write_text(ptx(name[0]))
    (standin.work / "options").write_text("-arch=sm_90")

    def all_of(run):
        said = without_time(run(*words))
        found = {file.name: file.read_bytes() for file in standin.work.iterdir()}
        for name in set(found) - {"a.ptx", "b.ptx", "options"}:
            (standin.work / name).unlink()
        return said, found

    assert all_of(standin.run) == all_of(standin.run) == all_of(standin.run_real)
    assert len(standin.runs()) == 2


def test_a_script_is_not_served_as_a_tool(standin):
    standin.tool.unlink()
    standin.tool.write_text(f'#!/bin/sh\nexec {PLACES.counted_tool} "$@"\n')
    standin.tool.chmod(0o755)
    (standin.work / "a.ptx").write_text(ptx())
    for number in (1, 2):
        assert standin.run("a.ptx", "-o", "o", "-arch=sm_90").status == 0
        assert standin.run("--version").status == 0
        assert len(standin.runs()) == 2 * number


@pytest.mark.parametrize("variable", ["DUMP_KNOBS_TO_FILE", "CAN_FINALIZE_DEBUG", "FINALIZER_CUBIE"])
def test_a_run_that_writes_more_files_is_left_to_the_real_ptxas(standin, variable):
    (standin.work / "a.ptx").write_text(ptx())
    for number in (1, 2):
        said = standin.run("a.ptx", "-o", "o", "-arch=sm_90", **{variable: str(standin.work / "more")})
        assert said.status == 0
        assert len(standin.runs()) == number


def test_eight_concurrent_processes_run_ptxas_once(standin, fake):
    (standin.work / "a.ptx").write_text(DOUBLES)
    gate = standin.directory / "gate"
    os.mkfifo(gate)
    words = ["-v", "-arch=sm_90", "a.ptx", "-o"]
    processes = [standin.start(*words, f"{number}.cubin", GATE=str(gate)) for number in range(8)]
    wait_for_waiters(fake, 7)
    gate.write_text("go")
    said = [ended(process) for process in processes]
    assert len(set(said)) == 1 and said[0].status == 0
    assert len({(standin.work / f"{number}.cubin").read_bytes() for number in range(8)}) == 1
    assert len(standin.runs()) == 1
    [user] = json.loads(fake.cli("--json", "stats", "--by", "user").stdout)["rows"]
    assert (user["builds"], user["deposits_made"], user["deposit_hits"]) == (0, 1, 7)
    assert b"Deposits  0 hits, 7 joined another's, 1 made" in fake.cli("stats").stdout


def test_a_run_whose_input_changes_meanwhile_is_not_kept(standin, fake):
    source, gate = standin.work / "a.ptx", standin.directory / "gate"
    source.write_text(ptx("first"))
    os.mkfifo(gate)
    running = standin.start("a.ptx", "-o", "o", "-arch=sm_90", GATE=str(gate))
    wait_for(standin.runs, "a run")
    source.write_text(ptx("other"))
    gate.write_text("go")
    assert ended(running).status == 0
    assert fake.stats()["deposits"] == 0
    source.write_text(ptx("first"))
    assert standin.run("a.ptx", "-o", "o", "-arch=sm_90").status == 0
    assert b"first" in (standin.work / "o").read_bytes()
    assert len(standin.runs()) == 2


def test_a_large_object_arrives_complete(standin):
    body = "".join(f".global .align 4 .b32 g{number}[65536] = {{{number}}};\n" for number in range(1, 5))
    (standin.work / "a.ptx").write_text(ptx().replace(".visible", body + ".visible", 1))
    for name in ("one", "two"):
        assert standin.run("a.ptx", "-o", name, "-arch=sm_90").status == 0
    one = (standin.work / "one").read_bytes()
    assert len(one) > 1_000_000 and one == (standin.work / "two").read_bytes()
    assert len(standin.runs()) == 1


@pytest.mark.parametrize("real", [PTXAS13, PTXAS13.with_name("nvlink"), TOOLS["triton-blackwell"]], ids=lambda path: path.name)
@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_kept_by_the_tools_stamp_and_needs_no_daemon(directory, real, flag):
    standin = StandIn(directory / "standin", directory / "nobody", real=real)
    told = [standin.run(flag, **LATER) for _ in range(3)]
    assert told == [standin.run_real(flag)] * 3 and b"release" in told[0].out
    assert len(standin.runs()) == 1
    os.utime(standin.tool, (1, 1))
    assert standin.run(flag, **LATER) == told[0]
    assert len(standin.runs()) == 2


def test_runs_of_a_tool_that_has_just_changed_are_not_kept(standin):
    (standin.work / "a.ptx").write_text(ptx())
    for number in (1, 2):
        standin.run("--version")
        assert standin.run("a.ptx", "-o", "o", "-arch=sm_90").status == 0
        assert len(standin.runs()) == number + 1  # the runs that asked for the version
    assert not standin.facts("version")


def test_nvlink_links_as_without_the_cache(directory, fake):
    standin = StandIn(directory / "standin", fake.socket, real=PTXAS13.with_name("nvlink"))
    (standin.work / "a.ptx").write_text(ptx())
    assert StandIn(directory / "other", fake.socket).run("-c", "-arch=sm_90", "a.ptx", "-o", "a.o", cwd=standin.work).status == 0
    for number in (1, 2):
        assert standin.run("-arch=sm_90", "a.o", "-o", "o").status == 0
        assert len(standin.runs()) == number


def test_facts_that_other_users_could_have_written_are_ignored(directory, standin):
    standin.run("--version", **LATER)
    [fact] = standin.facts("version")
    fact.parent.chmod(0o777)
    standin.run("--version", **LATER)  # keeps the version in another place
    standin.replace_tool(b"not known elsewhere")
    fact.parent.chmod(0o700)
    standin.run("--version", **LATER)
    [known] = set(standin.facts("version")) - {fact}
    wrong = bytearray(known.read_bytes())
    wrong[-1] ^= 1
    known.write_bytes(wrong)
    assert standin.run("--version", **LATER) == standin.run_real("--version")
    assert known.read_bytes() != wrong


def test_facts_are_in_the_users_cache_without_a_runtime_directory(directory, standin):
    del standin.environment["XDG_RUNTIME_DIR"]
    (standin.work / "a.ptx").write_text(ptx())
    for number in (1, 2):
        assert standin.run("--version", HOME=str(directory), **LATER) == standin.run_real("--version")
        assert standin.run("-arch=sm_90", "a.ptx", "-o", "o", HOME=str(directory)).status == 0
        assert len(standin.runs()) == 2
    cache = directory / ".cache/cccl-cache"
    [fact] = (cache / "facts").iterdir()
    assert fact.name.startswith("version-") and stat.S_IMODE(fact.parent.stat().st_mode) == 0o700


def test_without_a_directory_for_facts_runs_are_still_kept(standin):
    del standin.environment["XDG_RUNTIME_DIR"]
    (standin.work / "a.ptx").write_text(ptx())
    for _ in range(2):
        assert standin.run("-arch=sm_90", "a.ptx", "-o", "o").status == 0
    assert len(standin.runs()) == 1


def test_a_tool_that_may_write_no_files_prints_its_version(standin):
    standin.tool.unlink()
    standin.tool.symlink_to(PTXAS13)  # the counting tool writes a file
    said = standin.run("-c", f"ulimit -f 0; {standin.program} --version", program="/bin/bash")
    assert said == standin.run_real("--version")


def test_without_a_link_the_real_tool_is_the_next_one_of_its_name_in_path(standin, directory):
    one, two, tools = places = [directory / name for name in ("one", "two", "tools")]
    for place in places:
        place.mkdir()
        (place / "ptxas").symlink_to(standin.tool if place == tools else PLACES.standin)
    (standin.work / "a.ptx").write_text(ptx())
    real = standin.run_real("a.ptx", "-o", "o", "-arch=sm_90")

    def run(*path):
        words = ["ptxas", "a.ptx", "-o", "o", "-arch=sm_90"]
        return standin.run(*words, program="/usr/bin/env", PATH=":".join(map(str, path)))

    for path in [(one, tools), (one, two, one, tools), (one, "", two, "/nowhere", tools), (tools, one)]:
        assert (path, run(*path)) == (path, real)
    assert len(standin.runs()) == 2  # the last run started the tool directly
    (standin.work / "a.ptx").write_text(ptx("other"))
    said = run(one, two)
    assert said.status == 127 and b"/one/ptxas.real" in said.err
