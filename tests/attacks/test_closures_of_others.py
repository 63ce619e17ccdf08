# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Two users build the same program, so that the closures of both are stored under one fingerprint. A closure must not
show the other user the names of files. It must not make the other user's client open or send files that its own compile
does not need."""

import json
import os
import pathlib
import re
import subprocess

import pytest
from places import PLACES

from bystander import ATTACKER
from sender import send

VICTIM = 54333
SOURCE = '#include "config.h"\nextern "C" __global__ void k(int* p) { *p = V; }\n'


@pytest.fixture
def daemon(make_daemon):
    return make_daemon("--socket-mode", "0666", roots=(PLACES.cuda13,)).start()


def asked_for(result):
    return {path for questions in result["rounds"] for path, _ in questions}


def holds(process, text):
    """Returns whether the memory of a process contains these bytes."""
    with open(f"/proc/{process.pid}/maps") as maps, open(f"/proc/{process.pid}/mem", "rb", 0) as memory:
        for begin, end in re.findall("^([0-9a-f]+)-([0-9a-f]+) rw", maps.read(), re.MULTILINE):
            memory.seek(int(begin, 16))
            try:
                if text in memory.read(int(end, 16) - int(begin, 16)):
                    return True
            except OSError:  # the mapping is gone, or no user may read it
                continue
    return False


def test_the_names_of_a_users_headers_are_not_disclosed_to_users_of_the_same_program(daemon):
    tree = {
        "/victim/config.h": '#include "project_titan/layout.h"\n#include "/home/victim/acme/limits.h"\n',
        "/victim/project_titan/layout.h": "#define V 42\n",
        "/home/victim/acme/limits.h": "\n",
    }
    assert send(daemon, VICTIM, SOURCE, tree, "-I/victim")["outcome"] == "OUTCOME_BUILT"
    curious = send(daemon, ATTACKER, SOURCE, {"/mine/config.h": "#define V 1\n"}, "-I/mine")
    assert {os.path.basename(path) for path in asked_for(curious)} == {"config.h"}


@pytest.fixture
def home(directory):
    """A closed home with a program, its header and a key."""
    home = directory / "home"
    (home / "inc").mkdir(parents=True)
    (home / "kernel.cu").write_text(SOURCE)
    (home / "inc" / "config.h").write_text("#define V 1\n")
    (home / "key").write_text("-----BEGIN KEY----- of the victim, " + "found " * 9)
    for path in (home, *home.rglob("*")):
        os.chown(path, VICTIM, VICTIM)
    home.chmod(0o700)
    return home


def build_at(daemon, home):
    done = subprocess.run(
        [PLACES.cli, "--socket", daemon.socket, "--json", "build", "kernel.cu", "--arch", "sm_90", "-I", "inc"], cwd=home, user=VICTIM, group=VICTIM, extra_groups=[], capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_a_users_closure_does_not_make_another_users_client_send_a_file(daemon, home):
    key = str(home / "key")
    # Once for each of the two directories that may hold the victim's files.
    for place in ("/x", str(home / "inc")):
        poison = {f"{place}/config.h": f'#define V 99\n#if __has_include("{key}")\n#endif\n', key: "x"}
        sent = send(daemon, ATTACKER, SOURCE, poison, f"-I{place}")
        assert key in asked_for(sent)
    code, out, err = build_at(daemon, home)
    assert code == 0, err
    assert (json.loads(out)["outcome"], json.loads(out)["fingerprint"]) == ("built", sent["fingerprint"])
    assert holds(daemon.process, b"#define V 1\n"), "the header was sent"
    assert not holds(daemon.process, (home / "key").read_bytes()[:40])


def test_a_client_sends_outside_files_that_its_own_headers_include(daemon, home, directory):
    outside = directory / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "a.h").write_text('#include "deep/b.h"\n')
    (outside / "deep" / "b.h").write_text('#include "../c.h"\n')
    (outside / "c.h").write_text("#define V 7\n")
    (home / "inc" / "config.h").write_text(f'#include "{outside}/a.h"\n#include "../../outside/c.h"\n')
    for path in (outside, *outside.rglob("*")):
        os.chown(path, VICTIM, VICTIM)
    outside.chmod(0o700)
    for outcome in ("built", "hit"):
        code, out, err = build_at(daemon, home)
        assert code == 0, err
        assert json.loads(out)["outcome"] == outcome


def test_for_another_users_closure_the_daemon_asks_one_include_search_per_round(daemon):
    """Measures the cost for an honest caller: 600 headers, each found in the last of five directories: 3,000 names."""
    names = [f"header_{i}.h" for i in range(600)]
    options = [f"-I/tree/{i}" for i in range(5)]
    tree = {f"/tree/4/{name}": f"#define X{i} {i}\n" for i, name in enumerate(names)}
    tree["/tree/4/config.h"] = "#define V 1\n" + "".join(f"#include <{name}>\n" for name in names)
    builds = {
        "another's build": send(daemon, VICTIM, SOURCE, tree, *options),
        "first hit": send(daemon, ATTACKER, SOURCE, tree, *options),
        "next hit": send(daemon, ATTACKER, SOURCE, tree, *options),
    }
    for name, build in builds.items():
        questions = sum(len(asked) for asked in build["rounds"])
        print(f"{name}: {questions} questions in {len(build['rounds'])} messages, {build['seconds']:.2f} s")
    first, later = builds["first hit"], builds["next hit"]
    assert (first["outcome"], later["outcome"]) == ("OUTCOME_HIT", "OUTCOME_HIT")
    # Each header costs a search and its contents. One message may hold several questions.
    assert len(first["rounds"]) <= 2 * (len(names) + 1) + 8
    assert len(later["rounds"]) <= 8
