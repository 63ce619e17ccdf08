# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Which library a program under `cccl-cache-cli run` loads, and how: it is served where it can be, and its bytes are right
wherever it is not."""

import json
import shutil

import pytest
from conftest import PLACES, run_cli
from daemon_fixtures import lasting_daemon
from test_run import alone, daemon, knowing, library_of, nvrtc, program, served, under_run  # noqa: F401


@pytest.fixture(scope="module")
def daemon_of_both():
    """The same for many tests, which does not know which of them comes first."""
    with lasting_daemon(PLACES.cuda13, PLACES.cuda12) as daemon:
        yield knowing(daemon)


# Ways to load the library: options for the compiler, what the program opens, and by what `run` then serves it. `user` is
# the program as a library that is linked to libnvrtc; "apart" is in a namespace of its own.
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


def test_a_library_that_the_daemon_does_not_have_is_left_alone(make_daemon, program):
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


@pytest.fixture
def other_builtins(directory):
    """The builtins of CUDA 12 in another build."""
    [builtins] = library_of(PLACES.cuda12).parent.glob("libnvrtc-builtins.so.*")
    (directory / builtins.name).write_bytes(builtins.read_bytes() + b"another build")
    return directory / builtins.name


@pytest.mark.parametrize("separator", [":", ";"])
def test_a_library_that_would_load_other_builtins_is_left_alone(daemon, program, other_builtins, separator):
    nvrtc = library_of(PLACES.cuda12)
    for own, reason in ((nvrtc.parent, 0), ("/nowhere", 1)):
        environment = {"LD_LIBRARY_PATH": f"{own}{separator}{other_builtins.parent}"}
        words = (program(), nvrtc)
        ptx, report = under_run(daemon.socket, *words, **environment)
        assert (ptx, report["forwarded"]["library unknown to daemon"]) == (alone(*words, **environment), reason)


def test_a_library_that_finds_other_builtins_loaded_is_left_alone(daemon, program, other_builtins):
    nvrtc = library_of(PLACES.cuda12)
    for loaded, reason in ((nvrtc.parent / other_builtins.name, 0), (other_builtins, 1)):
        words = (program(f'-DOPEN(name)=(dlopen("{loaded}", RTLD_NOW), dlopen(name, RTLD_NOW))'), nvrtc)
        ptx, report = under_run(daemon.socket, *words)
        assert (ptx, report["forwarded"]["library unknown to daemon"]) == (alone(*words), reason)


@pytest.mark.parametrize("how", ["dlopen", "linked"])
def test_a_preloaded_library_serves_bare_names(daemon, program, nvrtc, how):
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
