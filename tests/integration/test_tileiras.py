# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The stand-in behaves as tileiras with the ptxas and the libNVVM beside it, and runs it once for equal runs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
from conftest import PATIENCE, run_cli
from lease_client import wait_for_waiters
from places import PLACES
from standin import StandIn, ended

SITE = pathlib.Path(os.environ["CCCL_CACHED_TEST_TILEIRAS"])
CUDA = SITE / "nvidia/cu13"
PROGRAM = [sys.executable, pathlib.Path(__file__).with_name("tile_kernel.py")]
WORDS = ["a.bytecode", "--gpu-name", "sm_90", "-O3", "--lineinfo", "-o"]


def variables(directory):
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(SITE), "HOME": str(directory), "XDG_RUNTIME_DIR": str(directory),
            "CUDA_TILE_CACHE_DIR": "off"}


@pytest.fixture(scope="module")
def made():
    """Returns a tileiras that can be linked to, and the input that cuda.tile gives it."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        place = pathlib.Path(place)
        shutil.copy(CUDA / "bin/tileiras", place)
        subprocess.run([*PROGRAM, place / "a.bytecode", "tileir_bytecode"], env=variables(place), check=True, timeout=PATIENCE)
        yield place


@pytest.fixture
def standin(directory, fake, made):
    """The ptxas beside the real tool counts the runs of both."""
    cuda = directory / "tile"
    cuda.mkdir()
    standin = StandIn(cuda / "bin", fake.socket, real=CUDA / "bin/tileiras")
    standin.tool.unlink()
    standin.tool.hardlink_to(made / "tileiras")
    shutil.copy(PLACES.counted_tool, cuda / "bin/ptxas")
    (cuda / "lib").mkdir()
    (cuda / "lib/libnvvm.so.4").symlink_to(CUDA / "lib/libnvvm.so.4")
    standin.environment["REAL"] = str(CUDA / "bin/ptxas")
    shutil.copy(made / "a.bytecode", standin.work)
    return standin


OPTIONS = {
    "as cuda.tile": "--gpu-name sm_90 -O3 --lineinfo",
    "as cuda.tile for debugging": "--gpu-name sm_120 -O0 --device-debug",
    "spelled otherwise": "--arch=sm_80 --opt-level=1 --sanitize=memcheck",
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_bytes_log_and_status_are_those_of_the_real_tileiras_in_any_directory(standin, options):
    words = [*options.split(), "-o"]
    said = standin.run_real("a.bytecode", *words, "real")
    real = (standin.work / "real").read_bytes()
    assert said == (0, b"", b"") and real[:4] == b"\x7fELF"
    elsewhere = standin.directory / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(standin.work / "a.bytecode", elsewhere / "of another name")
    for place, name in [(standin.work, "a.bytecode"), (standin.work, "a.bytecode"), (elsewhere, "of another name")]:
        assert standin.run(name, *words, "ours", cwd=place) == said
        assert (place / "ours").read_bytes() == real
    assert len(standin.runs()) == 1


def test_every_input_of_the_tool_is_in_the_key(standin):
    cuda = standin.directory.parent

    def runs(**environment):
        assert standin.run(*WORDS, "o", **environment) == (0, b"", b"")
        return len(standin.runs())

    assert runs() == runs(UNRELATED="x") == 1
    assert runs(TILEIR_X="x") == 2
    assert runs(NVVM_X="x") == 3
    (cuda / "bin/ptxas").unlink()
    (cuda / "bin/ptxas").write_bytes(pathlib.Path(PLACES.counted_tool).read_bytes() + b"another release")
    (cuda / "bin/ptxas").chmod(0o755)
    assert runs() == runs() == 4
    (cuda / "nvvm/lib64").mkdir(parents=True)
    (cuda / "nvvm/lib64/libnvvm.so").symlink_to(CUDA / "lib/libnvvm.so.4")
    assert runs() == runs() == 5
    (cuda / "lib/libnvvm.so.4").unlink()
    (cuda / "lib/libnvvm.so.4").symlink_to(PLACES.counted_tool)
    assert runs() == runs() == 6
    with open(standin.work / "a.bytecode", "ab") as file:
        file.write(b"\0")
    said = standin.run(*WORDS, "o")
    assert said == standin.run_real(*WORDS, "o") and said.status != 0  # the entry is damaged


def test_a_run_that_uses_other_files_is_left_to_the_real_tileiras(standin, fake):
    cuda, link = standin.directory.parent, standin.directory / "link"
    link.symlink_to(cuda)
    for name in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"):
        assert standin.run(*WORDS, "o", **{name: str(link)}) == (0, b"", b"")
        assert standin.run(*WORDS, "o", **{name: "/nowhere"}).status != 0
    assert len(standin.runs()) == 1
    (cuda / "bin/ptxas").rename(cuda / "ptxas")
    for number in (2, 3):
        assert standin.run(*WORDS, "o", PATH=str(cuda)) == (0, b"", b"")
        assert len(standin.runs()) == number
    (cuda / "ptxas").rename(cuda / "bin/ptxas")
    (cuda / "lib/libnvvm.so.4").unlink()
    assert standin.run(*WORDS, "o").status != 0
    assert fake.stats()["leases_failed_total"] == 0


def test_an_unknown_use_is_left_to_the_real_tileiras(standin, fake):
    (standin.work / "options").write_text("-O2")
    inputs = set(standin.work.iterdir())

    def all_of(run, words):
        said, places = run(*words), (str(CUDA / "bin").encode(), str(standin.directory).encode())
        made = set(standin.work.iterdir()) - inputs
        found = {file.name: file.read_bytes() for file in made}
        for file in made:
            file.unlink()
        for place in places:
            said = said._replace(err=said.err.replace(place, b""))
        return said, found

    for words in ([], ["-V"], [*WORDS, "o", "-O", "3"], [*WORDS, "o", "@options"], [*WORDS, "o", "--remarks=tensorcore"],
                  [*WORDS, "o", "--remarks=tensorcore", "--remark-format=yaml", "--remarks-output-file=remarks"]):
        assert all_of(standin.run, words) == all_of(standin.run, words) == all_of(standin.run_real, words), words
    stats = fake.stats()
    assert (stats["deposits"], stats["leases_failed_total"]) == (0, 0)


def test_eight_concurrent_processes_run_tileiras_once(standin, fake):
    standin.run("a.bytecode", "--gpu-name", "sm_80", "-o", "other")  # reads its files first, which takes long
    gate = standin.directory / "gate"
    os.mkfifo(gate)
    processes = [standin.start(*WORDS, f"{number}.cubin", GATE=str(gate)) for number in range(8)]
    wait_for_waiters(fake, 7)
    gate.write_text("go")
    assert [ended(process) for process in processes] == [(0, b"", b"")] * 8
    assert len({(standin.work / f"{number}.cubin").read_bytes() for number in range(8)}) == 1
    assert len(standin.runs()) == 2


def test_under_run_a_second_cuda_tile_process_runs_neither_tileiras_nor_ptxas(directory, fake):
    def report(name, **environment):
        words = ["--socket", fake.socket, "--json", "run", "--report", "--", *PROGRAM, directory / name, "cubin"]
        done = run_cli(*map(str, words), environment={**variables(directory), **environment})
        found = json.loads(done.stderr)
        return [found[count] for count in ("calls", "hits", "compiled")], (directory / name).read_bytes()

    subprocess.run([*PROGRAM, directory / "real", "cubin"], env=variables(directory), check=True, timeout=PATIENCE)
    real = (directory / "real").read_bytes()
    # Each process compiles an empty module first.
    assert report("one") == ([2, 0, 2], real)
    assert report("two") == ([2, 2, 0], real)
    assert report("three", CUDA_TILE_CACHE_DIR=str(directory / "cache")) == ([2, 1, 0], real)  # the run has remarks written
