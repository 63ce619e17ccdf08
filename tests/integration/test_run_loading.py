# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The library that a program under `cccl-cache-cli run` loads, by each way to load it. The program is served if
possible, and its bytes are right in any case."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import pytest
import ziglang
from conftest import PATIENCE, PLACES, run_cli
from daemon_fixtures import lasting_daemon
from test_run import alone, daemon, knowing, library_of, nvrtc, program, served, under_run  # noqa: F401
from test_run_tools import OWN_MOUNTS


@pytest.fixture(scope="module")
def daemon_of_both():
    """The same daemon for many tests, in any order."""
    with lasting_daemon(PLACES.cuda13, PLACES.cuda12) as daemon:
        yield knowing(daemon)


# Ways to load the library: options for the compiler, the file that the program opens, and the mechanism by which `run`
# serves it. `user` is the program as a library that is linked to libnvrtc. "apart" is in a namespace of its own.
DEEP, APART = ("-DOPEN(name)=dlopen(name, RTLD_NOW | RTLD_DEEPBIND)", "-DOPEN(name)=dlmopen(LM_ID_NEWLM, name, RTLD_NOW)")
IF_LOADED = "-DOPEN(name)=(dlopen(name, RTLD_NOW | RTLD_NOLOAD) ?: dlopen(name, RTLD_NOW))"
IF_THERE = '-DOPEN(name)=dlopen(dlsym(RTLD_DEFAULT, "nvrtcVersion") ? 0 : name, RTLD_NOW)'
BOTH = ("audit", "preload")
WAYS = {
    "linked by RPATH": (("-DLINKED", "-Wl,--disable-new-dtags"), None, BOTH),
    "linked by RUNPATH": (("-DLINKED", "-Wl,--enable-new-dtags"), None, BOTH),
    "a user": (("-DOPENS_USER",), "user", BOTH),
    "a user, deep": (("-DOPENS_USER", DEEP), "user", BOTH),
    "a user, apart": (("-DOPENS_USER", APART), "user", ("audit",)),
    "soname": ((), "soname", BOTH),
    "soname, if it is loaded": ((IF_LOADED,), "soname", BOTH),
    "soname, if its functions are not there": ((IF_THERE,), "soname", BOTH),
    "soname, apart": ((APART,), "soname", ("audit",)),
    "unversioned": ((), "unversioned", ("audit",)),
    "absolute": ((), "absolute", ("audit",)),
    "absolute, deep": ((DEEP,), "absolute", ("audit",)),
    "absolute, apart": ((APART,), "absolute", ()),  # the loader does not show it to the auditor
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_load_the_library_leads_to_the_daemon(daemon_of_both, program, nvrtc, directory, way):
    options, opened, served_by = WAYS[way]
    linked = (nvrtc, f"-Wl,-rpath,{nvrtc.parent}")
    (directory / "libnvrtc.so").symlink_to(nvrtc)
    names = {"soname": nvrtc.name, "unversioned": "libnvrtc.so", "absolute": nvrtc, "user": directory / "user.so"}
    program("-DLINKED", "-Dmain=user_main", "-shared", "-fPIC", *linked).rename(names["user"])
    words = (program(*options), names[opened]) if opened else (program(*options, *linked),)
    searched = {"LD_LIBRARY_PATH": f"{directory}:{nvrtc.parent}"}
    needed = searched if opened in ("soname", "unversioned") else {}
    expected = alone(*words, **needed)
    for how, environment in (("audit", needed), ("preload", searched)):
        made, report = under_run(daemon_of_both.socket, *words, how=how, **environment)
        calls = int(how in served_by)
        assert (how, made, report["calls"], sum(served(report))) == (how, expected, calls, calls)


def test_one_process_has_the_libraries_of_two_majors(daemon_of_both, program):
    words = (program(), library_of(PLACES.cuda12), library_of(PLACES.cuda13), "both")
    expected = alone(*words)
    assert expected.count(b".version") == 2
    made, report = under_run(daemon_of_both.socket, *words)
    assert (made, sum(served(report))) == (expected, 2)


def test_a_library_that_the_daemon_does_not_have_compiles_by_itself(make_daemon, program):
    daemon = knowing(make_daemon(roots=(PLACES.cuda13,)).start())
    words = (program(), library_of(PLACES.cuda12))
    ptx, report = under_run(daemon.socket, *words)
    assert ptx == alone(*words)
    assert report["forwarded"]["library unknown to daemon"] == 1


def test_a_copy_of_the_daemons_library_is_served(daemon, program, directory):
    nvrtc = library_of(PLACES.cuda12)
    copy = directory / "venv"
    copy.mkdir()
    for each in (nvrtc, *nvrtc.parent.glob("libnvrtc-builtins.so.*")):
        shutil.copy(each, copy)
    _, report = under_run(daemon.socket, program(), copy / nvrtc.name)
    assert served(report) == (0, 1)


OWN_DLOPEN = """#define _GNU_SOURCE
#include <dlfcn.h>
void* dlopen(const char* name, int how) {
  void* library = ((void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen"))(name, how);
  return library;
}
"""


@pytest.mark.parametrize("socket", ["of the daemon", "of none"])
def test_a_program_works_if_a_preloaded_library_defines_dlopen(daemon_of_both, program, directory, socket):
    own = directory / "own.so"
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", own], input=OWN_DLOPEN, text=True, check=True)
    words = (program(), library_of(PLACES.cuda12))
    asked = daemon_of_both.socket if socket == "of the daemon" else directory / "none"
    made, report = under_run(asked, *words, LD_PRELOAD=str(own))
    assert (made, report["calls"]) == (alone(*words), 1)


def test_a_library_for_another_machine_is_passed_over_as_without_run(daemon_of_both, program, directory):
    nvrtc = library_of(PLACES.cuda12)
    other = bytearray(nvrtc.read_bytes())
    other[18:20] = (183).to_bytes(2, "little")  # e_machine: aarch64
    (directory / nvrtc.name).write_bytes(other)
    words = (program(), nvrtc.name)
    searched = {"LD_LIBRARY_PATH": f"{directory}:{nvrtc.parent}"}
    made, report = under_run(daemon_of_both.socket, *words, **searched)
    assert (made, sum(served(report))) == (alone(*words, **searched), 1)


def test_a_program_over_an_older_c_library_starts_and_is_not_served(daemon_of_both, program):
    """A container with the installation mounted has such a C library."""
    nvrtc, older = library_of(PLACES.cuda13), pathlib.Path(__file__).parents[2] / ".toolchains/debian11"
    libc, stdcxx = (next(older.rglob(name)) for name in ("libc.so.6", "libstdc++.so.6"))
    searched = f"{libc.parent}:{stdcxx.parent}:{nvrtc.parent}"
    loader = next(libc.parent.glob("ld-linux*"))
    linked = (libc, libc.with_name("libdl.so.2"), libc.with_name("libpthread.so.0"), loader)
    words = (program("-nodefaultlibs", *linked, "-lc_nonshared", f"-Wl,--dynamic-linker={loader}"), nvrtc)
    expected = alone(*words, LD_LIBRARY_PATH=searched)
    made, report = under_run(daemon_of_both.socket, "env", f"LD_LIBRARY_PATH={searched}", *words, how="audit")
    assert (made, report["calls"]) == (expected, 0)


def test_the_library_that_redirects_tools_needs_no_function_that_musl_lacks():
    """Otherwise no program of musl would start under `run`."""
    texts = pathlib.Path(ziglang.__file__).parent / "lib/libc/musl/libc.S"
    of_musl = set(re.findall(r"^(?:\.globl|\.weak) (\w+)", texts.read_text(), re.MULTILINE))
    library = pathlib.Path(PLACES.standin).with_name("libcccl_cache_exec.so")
    needed = set(re.findall(r" U (\w+)", subprocess.check_output(["nm", "-D", library], text=True)))
    assert "dlsym" in needed and needed <= of_musl


@pytest.fixture
def other_builtins(directory):
    """Returns the builtins of CUDA 12 in another build."""
    [builtins] = library_of(PLACES.cuda12).parent.glob("libnvrtc-builtins.so.*")
    (directory / builtins.name).write_bytes(builtins.read_bytes() + b"another build")
    return directory / builtins.name


@pytest.mark.parametrize("separator", [":", ";"])
def test_a_library_that_would_load_other_builtins_compiles_by_itself(daemon, program, other_builtins, separator):
    nvrtc = library_of(PLACES.cuda12)
    for own, reason in ((nvrtc.parent, 0), ("/nowhere", 1)):
        environment = {"LD_LIBRARY_PATH": f"{own}{separator}{other_builtins.parent}"}
        words = (program(), nvrtc)
        ptx, report = under_run(daemon.socket, *words, **environment)
        assert (ptx, report["forwarded"]["library unknown to daemon"]) == (alone(*words, **environment), reason)


def test_a_library_that_finds_other_builtins_loaded_compiles_by_itself(daemon, program, other_builtins):
    nvrtc = library_of(PLACES.cuda12)
    for loaded, reason in ((nvrtc.parent / other_builtins.name, 0), (other_builtins, 1)):
        words = (program(f'-DOPEN(name)=(dlopen("{loaded}", RTLD_NOW), dlopen(name, RTLD_NOW))'), nvrtc)
        ptx, report = under_run(daemon.socket, *words)
        assert (ptx, report["forwarded"]["library unknown to daemon"]) == (alone(*words), reason)


@pytest.mark.parametrize("how", ["dlopen", "linked"])
def test_how_preload_serves_libraries_by_bare_names(daemon, program, nvrtc, how):
    linked = ("-DLINKED", nvrtc, f"-Wl,-rpath,{nvrtc.parent}")
    words = (program(*linked),) if how == "linked" else (program(), nvrtc.name)
    environment = {"LD_LIBRARY_PATH": str(nvrtc.parent)}
    done = run_cli("--socket", daemon.socket, "--json", "run", "--how=preload", "--report", *words, environment=environment)
    assert (done.stdout, served(json.loads(done.stderr))) == (alone(*words, **environment), (0, 1))


@pytest.mark.parametrize("lost", ["the list", "the list and LD_LIBRARY_PATH"])
def test_a_child_that_lost_its_variables_finds_the_preloaded_library(daemon, program, nvrtc, lost):
    if lost == "the list":
        scrubbed, words = ("-u", "CCCL_CACHE_RUN_LIBRARIES"), (program(), nvrtc.name)
    else:
        scrubbed = ("-u", "CCCL_CACHE_RUN_LIBRARIES", "-u", "LD_LIBRARY_PATH")
        words = (program("-DLINKED", nvrtc, f"-Wl,-rpath,{nvrtc.parent}"),)
    environment = {"LD_LIBRARY_PATH": str(nvrtc.parent)}
    for socket, reached in ((daemon.socket, True), ("/nowhere", False)):
        made, report = under_run(socket, "env", *scrubbed, *words, how="preload", **environment)
        assert made == alone(*words, **environment)
        assert report["calls"] == report["compiled"] + report["forwarded"]["no daemon"] == 1
        assert report["compiled"] == int(reached)


SHOUT = '#include <stdio.h>\n__attribute__((constructor)) static void shout(void) { fputs("of the directory\\n", stderr); }\n'
# Directories of an installation. With each, the directory below the working directory where the loader would look.
FOLDERS = {"my venv": "venv", "job:12": "12", "a;b": "b", "c$ORIGIN": "c", "of $LIB: a b": "of"}


@pytest.fixture(scope="module")
def installation():
    """Makes the files that `run` needs, as in a moved installation."""
    with tempfile.TemporaryDirectory(prefix="cccl", dir="/tmp") as place:
        libraries = pathlib.Path(PLACES.standin).parent
        for folder in ("cli", "client/interpose"):
            pathlib.Path(place, folder).mkdir(parents=True)
        shutil.copy(PLACES.cli, f"{place}/cli")
        shutil.copy(libraries.parent / "libcccl_cache.so.1", f"{place}/client")
        for name in ("libcccl_cache_audit.so", "libcccl_cache_exec.so", "cccl-cache-ptxas"):
            shutil.copy(libraries / name, f"{place}/client/interpose")
        for each in libraries.glob("nv*-13.*/"):
            shutil.copytree(each, f"{place}/client/interpose/{each.name}")
        yield place


@pytest.fixture(params=FOLDERS)
def installed(request, directory, installation):
    """Returns (an installation below this directory, a working directory with foreign libraries at the parts of its
    path)."""
    prefix, working = directory / request.param, directory / "working"
    shutil.copytree(installation, prefix, copy_function=os.link)
    part = working / FOLDERS[request.param] / "client/interpose"
    part.mkdir(parents=True)
    for name in ("libcccl_cache_exec.so", "libcccl_cache_audit.so"):
        subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", part / name], input=SHOUT, text=True, check=True)
    return prefix, working


@pytest.mark.parametrize("how", ["audit", "preload"])
def test_an_installation_in_a_path_that_the_loader_splits_loads_no_foreign_library(daemon_of_both, program, directory, installed, how):
    prefix, working = installed
    nvrtc = library_of(PLACES.cuda13)
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "LD_LIBRARY_PATH": str(nvrtc.parent),
                   "CCCL_CACHE_SOCKET": daemon_of_both.socket}
    words = list(map(str, (program(), nvrtc.name)))
    expected = alone(*words, LD_LIBRARY_PATH=str(nvrtc.parent))

    def made(*command):
        return subprocess.run([prefix / "cli/cccl-cache-cli", *command], cwd=working, env=environment, capture_output=True,
                              timeout=PATIENCE)

    done = made("--json", "run", "--how", how, "--report", "--", *words)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    assert sum(served(json.loads(done.stderr))) == 1
    calls = daemon_of_both.stats()["builds_total"]
    script = made("env", "--how", how).stdout.decode() + shlex.join(words)
    done = subprocess.run(["sh", "-c", script], cwd=working, env=environment, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")
    assert daemon_of_both.stats()["builds_total"] == calls + 1
    assert made("run", "--how", how, "--", prefix / "cli/cccl-cache-cli", "env").stdout == b""


@pytest.mark.parametrize("installed", ["my venv"], indirect=True)
@pytest.mark.parametrize("place", ["none", "of others", "below one of others", "with a blank"])
def test_run_and_env_refuse_if_no_safe_link_to_such_an_installation_is_possible(installed, directory, place):
    prefix, working = installed
    cache = directory / ("my cache" if place == "with a blank" else "cache")
    (cache / "cccl-cache-run").mkdir(parents=True, mode=0o700)
    if place == "of others":
        (cache / "cccl-cache-run").chmod(0o750)
    if place == "below one of others":
        cache.chmod(0o777)
    environment = {"PATH": os.environ["PATH"], **({} if place == "none" else {"XDG_CACHE_HOME": str(cache)})}
    for command in (("run", "--", "echo", "started"), ("env",)):
        done = subprocess.run([prefix / "cli/cccl-cache-cli", *command], cwd=working, env=environment, capture_output=True,
                              text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (5, "")
        assert str(prefix) in done.stderr and "of the directory" not in done.stderr
    done = subprocess.run([prefix / "cli/cccl-cache-cli", "--json", "--socket", directory / "nothing", "doctor"], cwd=working,
                          env={**environment, "PATH": "/nowhere"}, capture_output=True, text=True, timeout=PATIENCE)
    [check] = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "run"]
    assert check["verdict"] == "warning" and str(prefix) in check["seen"]


def test_a_program_that_may_not_read_the_installation_any_more_opens_the_library_as_without_run(daemon_of_both, installation):
    assert os.stat(installation).st_mode & 0o077 == 0
    code = f"import ctypes, os; os.seteuid(65534); ctypes.CDLL({str(library_of(PLACES.cuda13))!r})"
    done = subprocess.run([f"{installation}/cli/cccl-cache-cli", "--socket", daemon_of_both.socket, "run", "--", "python3", "-c", code],
                          capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_library_on_a_file_system_without_programs_is_refused_as_without_run(daemon_of_both):
    library = library_of(PLACES.cuda13)
    code = f"import ctypes\ntry: ctypes.CDLL({str(library)!r})\nexcept OSError as error: print(error)"
    mounts = 'mount --bind "$1" "$1" && mount -o remount,bind,noexec "$1" && exec "$2" -c "$3"'
    words = (*OWN_MOUNTS, "sh", "-c", mounts, "sh", library.parent, sys.executable, code)
    made, _ = under_run(daemon_of_both.socket, *words, how="audit")
    assert made == alone(*words) and b"failed to map segment" in made


# 3,000 bytes of static TLS. jemalloc 5.3 has 2,632.
ROOM = "__thread char room[3000] __attribute__((tls_model(\"initial-exec\")));\nchar* find(int at) { return room + at; }\n"
IN_USE = "char* find(int);\nint main(void) { return *find(2999); }\n"


@pytest.fixture
def allocator(directory):
    """Returns (a program that is linked with such a library, the library)."""
    library, linked = directory / "liballocator.so", directory / "linked"
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", library], input=ROOM, text=True, check=True)
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", library, f"-Wl,-rpath,{directory}", "-o", linked], input=IN_USE, text=True,
                   check=True)
    return linked, library


def test_programs_with_their_own_allocator_start(allocator):
    linked, library = allocator
    for words, preloaded in (([linked], ""), (["true"], library), (["true"], "libjemalloc.so.2")):
        environment = {"LD_PRELOAD": str(preloaded)} if preloaded else {}
        done = run_cli("run", "--", *words, environment=environment, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        lines = run_cli("env", environment=environment).stdout.decode()
        done = subprocess.run(["sh", "-c", f"{lines}exec {shlex.join(map(str, words))}"], capture_output=True, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("allocator, size", [("", 1700), ("libjemalloc.so.2", 1664)])
@pytest.mark.parametrize("how", ["audit", "preload"])
def test_a_library_that_a_program_opens_has_as_much_static_tls_as_without_run(directory, how, allocator, size):
    library, opens = directory / "library.so", directory / "opens"
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", library], input=ROOM.replace("3000", str(size)), text=True,
                   check=True)
    source = '#include <dlfcn.h>\nint main(int count, char** words) { return dlopen(words[1], RTLD_NOW) == 0; }\n'
    subprocess.run(["cc", "-x", "c", "-", "-o", opens, "-ldl"], input=source, text=True, check=True)
    preloaded = {"LD_PRELOAD": allocator} if allocator else {}
    subprocess.run([opens, library], env=preloaded, check=True)
    done = run_cli("run", "--how", how, "--", opens, library, check=False,
                   environment={"LD_LIBRARY_PATH": str(library_of(PLACES.cuda13).parent), **preloaded})
    assert done.returncode == 0


def test_the_user_s_tunables_stay_beside_those_that_run_adds(allocator):
    room, other = "glibc.rtld.optional_static_tls", "glibc.malloc.arena_max=2"
    for before, after in ((other, f"{other}:{room}=3200"), (f"{room}=100:{other}", f"{other}:{room}=3200"),
                          (f"{room}=1000000:{other}", f"{room}=1000000:{other}")):
        done = run_cli("run", "--", "sh", "-c", "echo $GLIBC_TUNABLES", environment={"GLIBC_TUNABLES": before})
        assert done.stdout.decode() == after + "\n"


def test_a_program_with_thread_sanitizer_starts_with_the_tunable_in_the_guide(directory):
    guide = (pathlib.Path(__file__).parents[2] / "docs/guide-run.md").read_text()
    [needed] = set(re.findall(r"GLIBC_TUNABLES=(glibc\.rtld\.optional_static_tls=[0-9]+)", guide))
    subprocess.run(["cc", "-x", "c", "-", "-fsanitize=thread", "-o", directory / "checked"], input="int main(void) { return 0; }\n",
                   text=True, check=True)
    done = run_cli("run", "--", directory / "checked", environment={"GLIBC_TUNABLES": needed}, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_doctor_tries_whether_a_program_starts_under_run(allocator, directory):
    _, library = allocator
    larger = directory / "liblarger.so"
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", larger], input=ROOM.replace("3000", "9000"), text=True, check=True)
    for preloaded, tunables, verdict in ((library, "", "pass"), (larger, "", "warning"),
                                         (larger, "glibc.rtld.optional_static_tls=20000", "pass")):
        done = run_cli("--json", "--socket", directory / "nothing", "doctor", check=False,
                       environment={"PATH": "/nowhere", "LD_PRELOAD": str(preloaded), "GLIBC_TUNABLES": tunables})
        [check] = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "run"]
        assert check["verdict"] == verdict and ("static TLS" in check["seen"]) == (verdict == "warning"), check


CRASHES = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void crash(void) {
  const char* libraries = getenv("LD_PRELOAD");
  if (libraries && strstr(libraries, "cccl_cache_exec")) raise(SIGSEGV);
}
"""


def test_doctor_warns_if_a_program_crashes_under_run(directory):
    library = directory / "libcrashes.so"
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", library], input=CRASHES, text=True, check=True)
    done = run_cli("--json", "--socket", directory / "nothing", "doctor", check=False,
                   environment={"PATH": "/nowhere", "LD_PRELOAD": str(library)})
    [check] = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "run"]
    assert check["verdict"] == "warning" and check["seen"].endswith("a program under it crashed (signal 11)"), check
