# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The library that records what nvcc's programs look up."""

import errno
import os
import pathlib
import shutil
import struct
import subprocess

import pytest
from places import PLACES

SOURCE = pathlib.Path(__file__).with_name("recorded_calls.c")
LIBRARY = pathlib.Path(PLACES.standin).with_name("libcccl_cache_record.so")
BEGIN, EXEC, EXEC_FAILED, START, LOOK, RESOLVE, LIST, MAKE, CHANGE, REMOVE, LOST = range(11)
SIZE = 256 << 20
HEAD = 24
RECORD = "<IIiiQQqBxxxxxxx"
RECORD_SIZE = struct.calcsize(RECORD)
TOKEN = 2 ** 64 - 3
BELOW = ("/glibc-hwcaps", "/tls", "/x86_64")  # directories in which the loader looks for libraries first


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    program = tmp_path_factory.mktemp("recorder") / "recorded_calls"
    subprocess.run(["cc", "-w", "-pthread", SOURCE, "-o", program, "-ldl"], check=True)
    return program


@pytest.fixture
def record(program, directory):
    (directory / "there").write_text("")
    (directory / "folder").mkdir()
    (directory / "link").symlink_to("there")

    def record(function, path, token=TOKEN, libraries=False, identities=None, **environment):
        """Returns the records of one call as (kind, text, errno), without those of the loader's search for libraries."""
        file = os.memfd_create("records")
        os.truncate(file, SIZE)
        os.pwrite(file, struct.pack("<Q", TOKEN), 16)
        done = subprocess.run(
            [program, function, path], cwd=directory, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LD_PRELOAD": str(LIBRARY),
                 "CCCL_CACHE_NVCC_RECORD": f"{token}:/proc/{os.getpid()}/fd/{file}", **environment})
        assert done.returncode >= 0, f"signal {-done.returncode}"
        used, lost, _, _ = struct.unpack("<QIIQ", os.pread(file, HEAD, 0))
        written = os.pread(file, used, HEAD)
        os.close(file)
        assert lost == 0
        found, at = [], 0
        while at < used:
            complete, size, error, process, device, inode, changed, kind = struct.unpack_from(RECORD, written, at)
            assert complete == 1 and (process > 0 or kind == START)
            text = written[at + RECORD_SIZE:at + RECORD_SIZE + size].decode()
            if not (".so" in text or text.endswith(BELOW)) or libraries:
                found.append((kind, text, error))
                if identities is not None:
                    identities.append((device, inode, changed))
            at += (RECORD_SIZE + size + 7) // 8 * 8
        return found

    return record


LOOKS = ["open", "open64", "openat", "openat64", "fopen", "fopen64", "freopen", "stat", "lstat", "fstatat", "statx", "access",
         "eaccess", "faccessat"]


@pytest.mark.parametrize("function", LOOKS)
def test_a_look_up_is_recorded_whether_it_finds_a_file_or_not(record, function):
    assert record(function, "there")[1:] == [(LOOK, "there", 0)]
    assert record(function, "missing")[1:] == [(LOOK, "missing", errno.ENOENT)]
    assert record(function, "there/below")[1:] == [(LOOK, "there/below", errno.ENOTDIR)]


@pytest.mark.parametrize("function", ["open", "openat64", "fopen", "freopen", "stat", "fstatat", "statx"])
def test_a_look_up_tells_which_file_it_found(record, directory, function):
    found = []
    record(function, "there", identities=found)
    status = (directory / "there").stat()
    assert found[1:] == [(status.st_dev, status.st_ino, status.st_ctime_ns)]
    directories = []
    record("open" if function in ("fopen", "freopen") else function, "folder", identities=directories)
    status = (directory / "folder").stat()
    assert directories[1:] == [(status.st_dev, status.st_ino, 0)]


def test_a_file_that_is_not_the_one_of_the_variable_stays_as_it_is(record, directory):
    assert record("stat", "there", CCCL_CACHE_NVCC_RECORD="") == []
    assert record("stat", "there", token=TOKEN - 1) == []
    linked = directory / "records"
    linked.write_bytes(struct.pack("<QIIQ", 0, 0, 0, TOKEN))
    os.truncate(linked, SIZE)
    assert record("stat", "there", CCCL_CACHE_NVCC_RECORD=f"{TOKEN}:{linked}") == []
    with open(linked, "rb") as file:
        assert file.read(8) == bytes(8)


@pytest.mark.parametrize("function", ["fdopendir", "ftw", "mkdirat"])
def test_other_ways_to_read_or_make_names_are_gaps(record, function):
    assert (LOST, function, 0) in record(function, "folder")


@pytest.mark.parametrize("function, path, kind", [
    ("opendir", "folder", LIST), ("scandir", "folder", LIST), ("write", "new", MAKE), ("creat", "there", MAKE),
    ("fopen_write", "there", MAKE), ("fopen_append", "there", CHANGE), ("update", "there", CHANGE), ("mkdir", "new", MAKE),
    ("chmod", "there", CHANGE), ("truncate", "there", CHANGE), ("utime", "there", CHANGE), ("utimes", "there", CHANGE),
    ("unlink", "there", REMOVE), ("remove", "there", REMOVE), ("rmdir", "folder", REMOVE), ("symlink", "new", MAKE),
])
def test_a_change_is_recorded_and_a_failed_one_is_a_look_up(record, function, path, kind):
    assert record(function, path)[1:] == [(kind, path, 0)]
    if function != "symlink":
        [(failed, _, error)] = record(function, "missing/below")[1:]
        assert (failed, error) == (LOOK, errno.ENOENT)


def test_a_temporary_file_is_recorded_under_the_name_that_it_got(record, directory):
    for function in ("mkstemp", "mkdtemp"):
        [(kind, name, _)] = record(function, "temporary")[1:]
        assert kind == MAKE and (directory / name).exists()


def test_both_names_of_a_renamed_or_linked_file_are_recorded(record):
    assert record("link", "second")[1:] == [(CHANGE, "there", 0), (MAKE, "second", 0)]
    assert record("rename", "there")[1:] == [(REMOVE, "there", 0), (MAKE, "renamed", 0)]


@pytest.mark.parametrize("function", ["realpath", "canonicalize_file_name"])
def test_a_real_name_is_recorded(record, directory, function):
    assert record(function, "link")[1:] == [(RESOLVE, f"link\0{directory}/there", 0)]
    assert record(function, "missing")[1:] == [(LOOK, "missing", errno.ENOENT)]


def test_the_text_of_a_link_is_recorded(record):
    assert record("readlink", "link")[1:] == [(RESOLVE, "link\0there", 0)]
    assert record("readlink", "there")[1:] == [(LOOK, "there", 0)]


def test_a_change_of_the_working_directory_is_a_gap(record):
    assert (LOST, "chdir", 0) in record("chdir", "folder")


@pytest.mark.parametrize("function", ["execv", "execl"])
def test_a_program_begins_where_it_is_started(record, program, function):
    assert record(function, "/bin/true") == [(BEGIN, str(program), 0), (EXEC, "/bin/true", 0), (BEGIN, "/bin/true", 0)]
    assert record(function, "missing")[1:] == [(EXEC, "missing", 0), (EXEC_FAILED, "missing", errno.ENOENT)]


def test_a_search_in_path_is_recorded_up_to_the_program(record, directory):
    (directory / "bin").mkdir()
    (directory / "bin/tool").symlink_to("/bin/true")
    found = record("execvp", "tool", PATH=f"/nowhere:{directory}/bin:/usr/bin")
    assert found[1:3] == [(LOOK, "/nowhere/tool", errno.ENOENT), (LOOK, f"{directory}/bin/tool", 0)]
    assert [kind for kind, _, _ in found[3:]] == [EXEC, BEGIN]


@pytest.mark.parametrize("function, path", [("posix_spawn", "/bin/true"), ("system", "exit 0"), ("popen", "exit 0")])
def test_a_child_begins_once_for_each_start(record, function, path):
    kinds = [kind for kind, _, _ in record(function, path)]
    assert (kinds.count(START), kinds.count(BEGIN)) == (1, 2)


def test_a_program_without_the_recorder_does_not_begin(record):
    kinds = [kind for kind, _, _ in record("emptied", "/bin/true")]
    assert (kinds.count(EXEC), kinds.count(BEGIN)) == (1, 1)


def test_the_loaders_search_for_libraries_is_recorded(record, directory):
    (directory / "folder/tls").mkdir()
    found = record("stat", "there", libraries=True, LD_LIBRARY_PATH=f"{directory}/folder")
    for name in ("libc.so.6", "glibc-hwcaps", "x86_64", "tls/libc.so.6", "tls/x86_64/libc.so.6"):
        assert (LOOK, f"{directory}/folder/{name}", errno.ENOENT) in found
    assert (LOOK, f"{directory}/folder/tls", 0) in found
    assert "/etc/ld.so.cache" in [text for _, text, _ in found]


def test_the_search_in_the_directories_that_a_program_names_is_recorded(record, directory):
    program = directory / "program"
    subprocess.run(["cc", "-w", "-pthread", SOURCE, "-o", program, "-ldl", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/folder"], check=True)
    found = record("execv", program, libraries=True)
    assert (LOOK, f"{directory}/folder/libc.so.6", errno.ENOENT) in found


def test_a_program_ends_well_while_a_thread_loads_and_unloads_libraries(record, directory):
    library = directory / "some.so"
    subprocess.run(["cc", "-xc", "-", "-shared", "-fPIC", "-o", library], input="int some;\n", text=True, check=True)
    shutil.copy(library, f"{library}2")
    # The recorder repeats the loader's search, so that it is at the library for long.
    search = ":".join(f"/nowhere/{number}" for number in range(40))
    for _ in range(100):
        found = record("load", library, libraries=True, LD_LIBRARY_PATH=search)
        assert (LOOK, "/nowhere/39/libc.so.6", errno.ENOENT) in found
