# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon refuses options with which the compiler reads or writes files. A build with such options is compiled
locally if that is allowed, with the results of a direct call."""

import json
import os

import pytest
from alone import Alone
from conftest import PLACES
from library import Library
from raw import raw
from test_same_bytes_as_raw import REDUCTION

PROGRAM = '#include "near.h"\nextern "C" __global__ void k(int* p) { *p = NEAR; }\n'
PTX = '.version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n'
MADE = "creating precompiled header file"


@pytest.fixture
def place(directory):
    """The directory of the program, in which the build runs."""
    place = directory / "project"
    place.mkdir()
    (place / "near.h").write_text("#define NEAR 3\n")
    (place / "k.cu").write_text(PROGRAM)
    return place


@pytest.fixture
def alone(directory):
    return Alone(directory, PLACES.cuda13)


def build(alone, place, *options, socket=None, source="k.cu"):
    """Runs a build in that directory. Returns (the `build --json`, the PTX)."""
    arguments = [f"--option={option}" for option in options]
    done = alone.cli("--json", "build", source, "--arch", "sm_90", "--emit", "ptx", "-o", "out.ptx", *arguments, cwd=place,
                     socket=socket)
    return json.loads(done.stdout), (place / "out.ptx").read_bytes()


@pytest.fixture(params=["no daemon", "a daemon that refuses"])
def socket(request):
    """A socket without a daemon, and that of a daemon."""
    return None if request.param == "no daemon" else request.getfixturevalue("lasting").socket


def test_a_last_option_without_its_value_does_not_swallow_an_added_directory(alone, place):
    said, made = build(alone, place, "--create-pch=k.pch", "-Xptxas")
    assert (said["outcome"], b".entry k" in made) == ("local", True)
    assert "-Xptxas expects a value" in said["log"]


def test_create_pch_writes_a_header_that_use_pch_can_name(alone, place, socket):
    said, made = build(alone, place, "--create-pch=k.pch", socket=socket)
    assert said["outcome"] == "local"
    if socket is not None:
        assert "--create-pch=k.pch" in said["reason"]
    assert said["key"] == "" and said["fingerprint"] == ""
    assert (place / "k.pch").stat().st_size > 0
    assert f'"k.cu": {MADE} "k.pch"' in said["log"]
    said, used = build(alone, place, "--use-pch=k.pch", socket=socket)
    assert said["outcome"] == "local"
    # The compiler's own message about a header of another process.
    assert "k.pch" in said["log"] and MADE not in said["log"]
    assert used == made


def test_the_time_option_writes_its_file(alone, place, socket):
    said, _ = build(alone, place, "--time=times.csv", socket=socket)
    assert said["outcome"] == "local"
    assert "k.cu" in (place / "times.csv").read_text()


def test_a_local_result_equals_that_of_the_compiler_itself(alone, place):
    """Bytes and log are equal, the log has the client's own names, and the file has the mode of the user's umask."""
    asked = dict(kind="nvrtc", root=PLACES.cuda13, source=PROGRAM, name="k.cu",
                 options=["--gpu-architecture=sm_90", "--create-pch=k.pch"])
    direct = raw(cwd=place, **asked)
    rights = (place / "k.pch").stat().st_mode
    (place / "k.pch").unlink()
    said, given = build(alone, place, "--create-pch=k.pch")
    assert given == direct["ptx"].rstrip(b"\0")
    assert said["log"].encode() == direct["log"].rstrip(b"\0")
    assert (place / "k.pch").stat().st_mode == rights


def test_results_of_options_with_files_are_not_kept(alone, place, lasting):
    for _ in range(2):
        said, _ = build(alone, place, "--time=times.csv", socket=lasting.socket)
        assert said["outcome"] == "local"
    assert len((place / "times.csv").read_text().splitlines()) > 2


def test_an_option_with_a_file_in_nvrtc_append_flags_is_compiled_locally(alone, place):
    alone.environment |= {"NVRTC_APPEND_FLAGS": "--time=times.csv", "NVRTCWIZ": "3153394"}
    said, _ = build(alone, place)
    assert said["outcome"] == "local"
    assert (place / "times.csv").exists()


def test_a_local_compile_finds_the_toolchains_headers(alone, place):
    (place / "cub.cu").write_text(REDUCTION)
    said, _ = build(alone, place, "--std=c++17", "--time=times.csv", source="cub.cu")
    assert said["outcome"] == "local"


def test_assembler_options_in_a_file_are_compiled_locally(alone, place):
    (place / "options").write_text("--maxrregcount=32")
    done = alone.cli("--json", "build", "k.cu", "--arch", "sm_90", "--option=-Xptxas=--options-file=options", cwd=place)
    assert json.loads(done.stdout)["outcome"] == "local"


def test_a_link_with_an_option_that_names_a_file_runs_locally(alone, place):
    """The linker reads the file and reports its errors."""
    (place / "k.ptx").write_text(PTX)
    done = alone.cli("--json", "link", "k.ptx", "--arch", "sm_90", "--option=-uidx=none", cwd=place, check=False)
    said = json.loads(done.stdout)
    assert done.returncode in (0, 1)
    assert said["outcome"] in ("local", "failed") and "call the linker itself" not in said["reason"] + said["log"]


def test_code_that_does_not_compile_fails_locally_with_its_log(alone, place):
    (place / "k.cu").write_text("__global__ void k() { return 1 + ; }\n")
    done = alone.cli("--json", "build", "k.cu", "--arch", "sm_90", "--option=--time=times.csv", cwd=place, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert said["outcome"] == "failed" and "k.cu(1)" in said["log"]


def test_a_time_file_that_can_not_be_written_fails_the_build(alone, place):
    done = alone.cli("--json", "build", "k.cu", "--arch", "sm_90", "--option=--time=missing/times.csv", cwd=place,
                     check=False)
    assert done.returncode == 1
    assert "NVRTC_ERROR_TIME_FILE_WRITE_FAILED" in json.loads(done.stdout)["reason"]


def test_without_local_compiles_such_options_are_refused(fake, place):
    done = fake.cli("build", "k.cu", "--arch", "sm_90", "-o", os.devnull, "--option=--create-pch=k.pch", cwd=place,
                    check=False)
    assert done.returncode == 4
    assert b"--create-pch" in done.stderr and b"--fallback local" in done.stderr
    assert not (place / "k.pch").exists()


def test_the_error_of_a_crashed_local_compile_names_the_signal(directory, toolkit, place):
    alone = Alone(directory, toolkit.root)
    (place / "k.cu").write_text("//fake: crash\n")
    done = alone.cli("build", "k.cu", "--arch", "sm_90", "--option=--time=times.csv", cwd=place, check=False)
    assert done.returncode == 5
    assert b"SIGSEGV" in done.stderr


def test_the_library_compiles_such_options_locally_too(alone, place, socket):
    """Relative names begin at the program's working directory."""
    with Library(alone.environment, socket=socket or place / "nobody", cwd=place) as library:
        said = library.build(PROGRAM, options=["--create-pch=k.pch"])
        assert said["outcome"] == "local"
        assert (place / "k.pch").stat().st_size > 0
        assert library.build(PROGRAM, options=["--use-pch=k.pch"])["outcome"] == "local"
