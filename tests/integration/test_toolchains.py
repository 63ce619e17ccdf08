# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Several toolchains side by side, and toolchains that change while the daemon runs."""

import json
import os
import pathlib
import shutil
import signal
import threading

from conftest import PATIENCE, PLACES, FakeToolkit, wait_for

KERNEL = 'extern "C" __global__ void k(int* p) { *p = 1; }\n'


def test_two_cuda_majors_give_different_cubins_under_different_keys(make_daemon):
    """One daemon has CUDA 12 and 13."""
    daemon = make_daemon(roots=(PLACES.cuda12, PLACES.cuda13)).start()
    told = {major: daemon.build_json(KERNEL, "--toolchain", str(major)) for major in (12, 13)}
    assert told[12]["toolchain"]["version"].startswith("12.")
    assert told[13]["toolchain"]["version"].startswith("13.")
    assert told[12]["key"] != told[13]["key"]
    digests = {
        major: next(each["sha256"] for each in answer["artifacts"] if each["kind"] == "cubin")
        for major, answer in told.items()
    }
    assert digests[12] != digests[13]
    assert daemon.build_json(KERNEL)["toolchain"]["version"].startswith("13.")  # the newest by default
    for major in (12, 13):
        assert daemon.build_json(KERNEL, "--toolchain", str(major))["outcome"] == "hit"


def test_a_changed_header_makes_another_toolchain_without_a_restart(fake, toolkit):
    """A build that does not read the header stays a hit."""
    include = ("-I", os.path.join(toolkit.root, "include"))
    user, other = "#include <cuda_runtime.h>\n" + KERNEL, KERNEL
    first, alone = fake.build_json(user, *include), fake.build_json(other, *include)
    header = pathlib.Path(toolkit.root, "include", "cuda_runtime.h")
    header.write_text(header.read_text() + "// patched\n")
    second = fake.build_json(user, *include)
    assert second["outcome"] == "built"
    assert second["toolchain"]["id"] != first["toolchain"]["id"]
    assert second["key"] != first["key"]
    again = fake.build_json(other, *include)  # reads no header
    assert again["outcome"] == "hit"
    assert again["key"] == alone["key"]


def test_the_same_compiler_at_two_places_shares_results_of_equal_headers(make_daemon, directory):
    """A wheel and a toolkit have equal libraries. One of them has more headers."""
    one, two = (FakeToolkit(PLACES.fake13, directory / name) for name in ("one", "two"))
    pathlib.Path(two.root, "include", "more.h").write_text("// more\n")
    source = "#include <cuda_runtime.h>\n" + KERNEL
    daemon = make_daemon(roots=(one.root, two.root)).start()
    known = json.loads(daemon.cli("--json", "toolchains").stdout)["toolchains"]
    assert len(known) == 2
    told = [
        daemon.build_json(source, "-I", os.path.join(each["root"], "include"), "--toolchain", each["id"]) for each in known
    ]
    assert [each["toolchain"]["id"] for each in told] == [each["id"] for each in known]
    assert [each["outcome"] for each in told] == ["built", "hit"]
    assert told[0]["key"] == told[1]["key"]


def test_a_library_that_is_replaced_by_a_rename_makes_another_toolchain(fake, toolkit, directory):
    """Package managers replace files in this way."""
    first = fake.build_json(KERNEL)
    library = pathlib.Path(toolkit.root, "lib", "libnvrtc.so.13")
    fresh = directory / "fresh"
    shutil.copy(library, fresh)
    with open(fresh, "ab") as file:
        file.write(b"another build of the same version")
    os.rename(fresh, library)
    second = fake.build_json(KERNEL)
    assert second["toolchain"]["id"] != first["toolchain"]["id"]
    assert second["outcome"] == "built"


def test_a_build_during_which_the_toolchain_changed_is_not_stored(fake, toolkit):
    answers = []
    source = "//fake: wait-for gate\n"
    asker = threading.Thread(target=lambda: answers.append(fake.build_json(source)))
    asker.start()
    toolkit.await_arrivals("gate", 1)
    header = pathlib.Path(toolkit.root, "include", "cuda_runtime.h")
    header.write_text(header.read_text() + "// patched\n")
    toolkit.open("gate")
    asker.join(60)
    again = fake.build_json(source)
    assert again["toolchain"]["id"] == answers[0]["toolchain"]["id"]  # the changed toolchain, for both builds
    assert again["outcome"] == "hit"


def scatter(toolkit, store):
    """Makes headers behind links that leave the toolkit, like the package managers of some systems."""
    include = pathlib.Path(toolkit.root, "include")
    (store / "parts" / "deep").mkdir(parents=True)
    (store / "parts" / "deep" / "far.h").write_text("#include <parts/deep/../near.h>\n")
    (store / "parts" / "near.h").write_text("// near\n")
    (store / "single.h").write_text("// single\n")
    (include / "parts").symlink_to(store / "parts")
    (include / "single.h").symlink_to(store / "single.h")
    return "#include <parts/deep/far.h>\n#include <single.h>\n" + KERNEL, ("-I", str(include))


def test_headers_behind_links_belong_to_the_toolchain(make_daemon, directory):
    toolkit = FakeToolkit(PLACES.fake13, directory / "linked")
    source, options = scatter(toolkit, directory / "store")
    daemon = make_daemon(roots=(toolkit.root,)).start()
    first = daemon.build_json(source, *options)
    assert first["outcome"] == "built"
    assert daemon.build_json(source, *options)["outcome"] == "hit"
    (directory / "store" / "parts" / "near.h").write_text("// another\n")
    second = daemon.build_json(source, *options)
    assert second["outcome"] == "built"
    assert second["toolchain"]["id"] != first["toolchain"]["id"]


def test_sigterm_ends_the_first_identification(make_daemon, directory):
    toolkit = FakeToolkit(PLACES.fake13, directory / "huge")
    header = os.path.join(toolkit.root, "include", "huge.h")
    with open(header, "wb") as file:
        file.truncate(1 << 40)  # a hole takes no space, but longer to read than any test waits
    daemon = make_daemon(roots=(toolkit.root,)).start()
    results = []
    asker = threading.Thread(target=lambda: results.append(
        daemon.cli("build", "-", "--arch", "sm_90", "-o", os.devnull, input=KERNEL, check=False)))
    asker.start()
    descriptors = pathlib.Path(f"/proc/{daemon.process.pid}/fd")

    def is_read():
        return any(os.path.realpath(each) == os.path.realpath(header) for each in descriptors.iterdir())

    wait_for(is_read, "the daemon to read the header")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(PATIENCE) == 0  # about one second on an idle machine
    asker.join(60)
    assert results[0].returncode != 0
    assert "is not used" not in daemon.log_text()
    assert "no CUDA toolchain was found" not in daemon.log_text()


def test_a_library_that_the_daemon_has_read_is_not_read_by_a_program_that_loads_it(real, package):
    """The stamp shows that it is the same file. In a home without a digest, reading it took 140 ms in each process."""
    code = """
import sys
from ctypes import byref, c_int, c_size_t, c_uint32, c_void_p
from cccl_cache import Client, _library
library = sys.argv[2].encode()
client = Client(sys.argv[1])
ask = _library.function("toolchain_with_library", c_int, c_void_p, _library.Given, c_uint32, c_void_p, c_void_p)
found = (c_size_t * 64)(512)  # a cccl_cache_library_toolchain
def bytes_read():
    return int(open("/proc/self/io").readline().split()[1])
before = bytes_read()
status = ask(client._handle, _library.Given(library, len(library)), 0, byref(found), None)
print(status, bytes_read() - before)
"""
    library = next(pathlib.Path(PLACES.cuda13).rglob("libnvrtc.so.13"))  # of a toolkit, or of wheels
    status, read = map(int, package(code, real.socket, library))
    assert status == 0
    assert read < library.stat().st_size // 100
