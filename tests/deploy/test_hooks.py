# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The hook for Enroot and the file for Apptainer, run as those programs and shells run them."""

import json
import os
import re
import subprocess

import pytest
from conftest import DEPLOY
from running_daemon import run_cli

HOOK, FILE = DEPLOY / "enroot/50-cccl-cached.sh", DEPLOY / "apptainer/environment.sh"
PLACE = "/run/cdi/cccl-cached.json"
FAKE_MOUNT = '#!/bin/sh\n[ "$1" = --root ] && [ "$3" = - ] || exit 1\necho "$2" >"$RECORD"\ncat >>"$RECORD"\nexit "${FAILURE-0}"\n'


@pytest.fixture
def specification(directory):
    """Writes the specification to a file, and returns it."""
    socket = directory / r"with a \040 blank/socket"
    socket.parent.mkdir()
    run_cli("cdi", "--container-socket", socket, "--output", directory / "cdi.json")
    return json.loads((directory / "cdi.json").read_text())


@pytest.fixture
def script(directory):
    """Returns a copy of the file that reads the specification of this test."""
    def copy(file):
        text = file.read_text()
        assert PLACE in text
        copied = directory / file.name
        copied.write_text(text.replace(PLACE, str(directory / "cdi.json")))
        return copied
    return copy


def variables(specification, device):
    [edits] = [each["containerEdits"] for each in specification["devices"] if each["name"] == device]
    return edits["env"]


def mounts(specification):
    return [(each["hostPath"], each["containerPath"]) for each in specification["containerEdits"]["mounts"]]


@pytest.fixture
def hooked(directory, script):
    """Runs the hook for an image with this environment. Returns the container's environment and the input of
    enroot-mount."""
    def run(image="", **environment):
        programs, record, environ = directory / "programs", directory / "record", directory / "environ"
        programs.mkdir()
        (programs / "enroot-mount").write_text(FAKE_MOUNT)
        (programs / "enroot-mount").chmod(0o755)
        environ.write_text(image)
        done = subprocess.run(["bash", script(HOOK)], capture_output=True, text=True, check=False, env={
            "PATH": f"{programs}:{os.environ['PATH']}", "RECORD": str(record), "ENROOT_ROOTFS": "/the/root",
            "ENROOT_ENVIRON": str(environ), **environment})
        assert (done.returncode, done.stderr) == (0, "")
        return environ.read_text(), record.read_text() if record.exists() else None
    return run


@pytest.mark.parametrize("image, device", [("HOME=/\n", "node"), ("LD_PRELOAD=libjemalloc.so.2\n", "client")])
def test_enroot_gives_a_container_the_mounts_and_variables_of_the_device(hooked, specification, image, device):
    environment, mounted = hooked(image)
    assert environment == image + "".join(each + "\n" for each in variables(specification, device))
    options = "none x-create=dir,bind,ro,nosuid,nodev,private"
    root, *lines = mounted.splitlines()
    assert root == "/the/root"
    assert [re.fullmatch(rf"(\S+) (\S+) {options}", line).groups() for line in lines] == [
        (source.replace("\\", r"\134").replace(" ", r"\040"), target) for source, target in mounts(specification)]


def test_enroot_starts_containers_as_before_on_a_node_without_the_device(hooked):
    assert hooked("HOME=/\n") == ("HOME=/\n", None)


def test_enroot_sets_no_variable_if_the_mounts_fail(hooked, specification):
    assert hooked("HOME=/\n", FAILURE="1")[0] == "HOME=/\n"


def environment_after(file, **before):
    """Returns the environment that the file adds to a shell's which reads it twice."""
    done = subprocess.run(["sh", "-euc", f". {file}; . {file}; env -0"], capture_output=True, text=True, check=True,
                          env={"PATH": os.environ["PATH"], **before})
    after = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    return {name: value for name, value in after.items() if name not in ("PATH", "PWD")}


@pytest.mark.parametrize("before, device", [({}, "node"), ({"APPTAINERENV_LD_PRELOAD": "libjemalloc.so.2"}, "client")])
def test_apptainer_gets_the_mounts_and_variables_of_the_device(script, specification, before, device):
    added = environment_after(script(FILE), APPTAINER_BIND="/data", **before)
    binds = ",".join(f"{source}:{target}:ro" for source, target in mounts(specification)) + ",/data"
    expected = dict(each.split("=", 1) for each in variables(specification, device))
    assert added == {"APPTAINER_BIND": binds, **{f"APPTAINERENV_{name}": value for name, value in expected.items()}, **before}


def test_apptainer_gets_nothing_on_a_node_without_the_device(script):
    assert environment_after(script(FILE)) == {}


@pytest.mark.parametrize("file", [HOOK, FILE], ids=lambda file: file.name)
def test_shellcheck_finds_nothing(file):
    done = subprocess.run(["shellcheck", file], capture_output=True, text=True, check=False)
    assert done.stdout == ""
