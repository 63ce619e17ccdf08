# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A compiler, a library or a header in a read-only image is replaced by that of another image with the same size,
times and inode numbers. The daemon does not use its knowledge of the first file for the second."""

import os
import pathlib

import pytest
from images import Images, output
from places import PLACES
from standin import StandIn, ptx

ONE, TWO = b"release 1", b"release 2"
PROGRAM = 'extern "C" __global__ void k() {}\n'


@pytest.fixture(params=Images.KINDS)
def images(directory, request):
    made = Images(directory, request.param)
    yield made
    made.close()


def toolkit(release):
    """Makes a fake CUDA whose libraries and headers end with this text."""
    root = pathlib.Path(PLACES.fake13)
    return {str(file.relative_to(root)): file.read_bytes() + (release if ".so" in file.name else b"")
            for file in root.rglob("*") if file.is_file()}


def test_the_daemon_has_a_separate_toolchain_for_each_image(make_daemon, images):
    daemon = make_daemon(roots=(str(images.place),))
    images.show(toolkit(ONE))
    daemon.start()
    looked = images.look("lib/libnvrtc.so.13")
    first = daemon.build_json(PROGRAM)
    assert first["outcome"] == "built"
    assert daemon.stop() == 0
    images.show(toolkit(TWO))
    assert images.look("lib/libnvrtc.so.13") == looked
    daemon.start()
    second = daemon.build_json(PROGRAM)
    assert second["outcome"] == "built"
    assert second["key"] != first["key"]
    assert daemon.stop() == 0
    images.show(toolkit(ONE))
    daemon.start()
    assert daemon.build_json(PROGRAM)["key"] == first["key"]


@pytest.mark.parametrize("part", ("include", "lib/libnvrtc.so.13"))
def test_a_mount_over_a_part_of_a_toolchain_makes_another_toolchain_at_once(make_daemon, directory, part):
    """With the earlier contents, the daemon has the earlier toolchain again."""
    for name, contents in toolkit(ONE).items():
        for place in ("root", "other"):
            file = directory / place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents)
    root, other = directory / "root", directory / "other"
    header, library = other / "include/cuda_runtime.h", other / "lib/libnvrtc.so.13"
    header.write_bytes(header.read_bytes() + b"#define OTHER\n")
    library.write_bytes(library.read_bytes() + TWO)
    source = f"#include <cuda_runtime.h>\n{PROGRAM}"
    daemon = make_daemon(roots=(str(root),)).start()
    first = daemon.build_json(source)
    assert first["outcome"] == "built"
    output("mount", "--bind", other / part, root / part)
    try:
        second = daemon.build_json(source)
    finally:
        output("umount", "--lazy", root / part)
    assert second["outcome"] == "built" and second["key"] != first["key"]
    third = daemon.build_json(source)
    assert (third["outcome"], third["key"]) == ("hit", first["key"])


def test_a_program_gets_the_header_of_the_mounted_image(lasting, images, directory):
    source = f"#include <a.h>\n{PROGRAM}// {directory.name}\n"  # unique to this test

    def build():
        told = lasting.build_json(source, "-I", images.place)
        return told["outcome"], told["key"]

    images.show({"a.h": b"#define N 1\n"})
    looked = images.look("a.h")
    outcome, first = build()
    assert outcome == "built" and build() == ("hit", first)
    images.show({"a.h": b"#define N 2\n"})
    assert images.look("a.h") == looked
    outcome, second = build()
    assert outcome == "built" and second != first
    images.show({"b.h": b"#define N 2\n"})
    failed = lasting.cli("build", "-", "-o", os.devnull, "--arch", "sm_90", "-I", str(images.place), check=False,
                         input=source)
    assert failed.returncode == 1
    images.show({"a.h": b"#define N 1\n"})
    assert build() == ("hit", first)


def test_the_python_package_reads_a_file_of_each_image(package, images):
    code = """
import sys
from cccl_cache._plugin.file_digests import contents_digest, file_digest
print(file_digest(sys.argv[1] + "/a.so"), contents_digest(sys.argv[1]))
"""
    told = {}
    for contents in (ONE, TWO, ONE):
        images.show({"a.so": contents})
        assert told.setdefault(contents, package(code, images.place)) == package(code, images.place)
    assert not set(told[ONE]) & set(told[TWO])


TOOLCHAIN_NOT_FOUND = "4"  # of cccl_cache_status


def test_the_client_finds_no_toolchain_for_the_library_of_the_next_image(make_daemon, package, directory, images):
    """Programs under `run` ask for the daemon's toolchain that has the bytes of the library that they load."""
    code = """
import sys
from ctypes import byref, c_int, c_size_t, c_uint32, c_void_p
from cccl_cache import Client, _library
library = sys.argv[2].encode()
client = Client(sys.argv[1])
ask = _library.function("toolchain_with_library", c_int, c_void_p, _library.Given, c_uint32, c_void_p, c_void_p)
found = (c_size_t * 64)(512)  # a cccl_cache_library_toolchain
print(ask(client._handle, _library.Given(library, len(library)), 0, byref(found), None))
"""
    root = directory / "toolkit"
    for name, contents in toolkit(ONE).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(contents)
    daemon = make_daemon(roots=(str(root),)).start()
    for release, expected in ((ONE, "0"), (TWO, TOOLCHAIN_NOT_FOUND), (ONE, "0")):
        images.show(toolkit(release))
        for _ in range(2):
            assert package(code, daemon.socket, images.place / "lib/libnvrtc.so.13") == [expected], release


def test_the_stand_in_for_ptxas_runs_the_tool_of_each_image(directory, fake, images):
    standin = StandIn(directory / "standin", fake.socket)
    tool = standin.tool.read_bytes()
    standin.tool.unlink()
    standin.tool.symlink_to(images.place / "ptxas")
    (standin.work / "a.ptx").write_text(ptx())
    for runs, release in ((1, ONE), (2, TWO), (2, ONE)):
        images.show({"ptxas": tool + release + bytes(8192)})
        for _ in range(2):
            assert standin.run("a.ptx", "-o", "o", "-arch=sm_90").status == 0
            assert len(standin.runs()) == runs
