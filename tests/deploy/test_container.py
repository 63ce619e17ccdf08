# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The entry point of the image and the containers of the manifests, in namespaces like those of pods. The tests run
as root. The daemon is the user of the image."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest
from patience import PATIENCE, wait_for
from places import PLACES

PATH = ":".join([*(str(pathlib.Path(program).parent) for program in (PLACES.cli, PLACES.daemon)), os.environ["PATH"]])
PROGRAM = '__global__ void kernel(int* at) { *at = 1; }'


@pytest.fixture(autouse=True)
def as_root():
    assert os.geteuid() == 0, "run as root (scripts/test does): the test must become other users, and mount"


def mounts(pod, container, node):
    """Returns shell lines that mount the directories that a container gets of the node, which lie below `node`, over an
    empty /run and /var/lib."""
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume}
    lines = ["set -e", "mount -t tmpfs -o mode=0755 tmpfs /run", "mount -t tmpfs -o mode=0755 tmpfs /var/lib"]
    for mount in container["volumeMounts"]:
        path = paths.get(mount["name"], "")
        if path.startswith(("/run/", "/var/lib/")):
            # kubelet makes the directories in this way.
            (node / path[1:]).mkdir(parents=True, exist_ok=True)
            options = ",ro" if mount.get("readOnly") else ""
            lines += [f"mkdir {mount['mountPath']}", f"mount -o bind{options} {node}{path} {mount['mountPath']}"]
    return lines


def in_a_pod(lines, command, uid):
    """Returns the command line of a container: without capabilities, and in a pid namespace of its own."""
    script = "\n".join([*lines, "mount -t proc proc /proc", f'exec setpriv --reuid {uid} --regid {uid} --clear-groups '
                        '--no-new-privs --bounding-set -all --inh-caps -all "$@"'])
    return ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", *command]


@pytest.fixture
def node(directory):
    return directory / "node"


@pytest.fixture
def daemon(node, directory, image, pods, manifests):
    """Starts the container of the DaemonSet on a node. Returns the pid of the daemon."""
    pod = pods["daemon"]
    (first, _), [container] = pod["initContainers"], pod["containers"]
    config = directory / "config.toml"
    config.write_text(manifests["ConfigMap"]["data"]["config.toml"])
    made = subprocess.run(["unshare", "--mount", "sh", "-c", "\n".join([*mounts(pod, first, node), 'exec "$@"']), "sh",
                           *first["command"]], check=False)
    assert made.returncode == 0
    arguments = [str(config) if each == "/etc/cccl-cached/config.toml" else each for each in container["args"]]
    command = [*image.entry_point, *arguments, "--toolchain-root", PLACES.fake13, "--toolchain-search", "roots"]
    log = directory / "log"
    with open(log, "w") as output:
        process = subprocess.Popen(in_a_pod(mounts(pod, container, node), command, image.uid), stdout=output, stderr=output,
                                   env={"PATH": PATH})

    def child():
        assert process.poll() is None, log.read_text()
        return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()

    [pid] = wait_for(child, "the first process of the pod")
    try:
        wait_for(lambda: child() and within(pid, image.uid, *container["startupProbe"]["exec"]["command"]).returncode == 0,
                 "the startup probe")
        yield pid
    finally:
        # All processes of a pod end with its first process. unshare can't arrange that, because a change of user clears
        # the setting.
        os.kill(int(pid), signal.SIGTERM)
        try:
            assert process.wait(PATIENCE) == 0
        except subprocess.TimeoutExpired:
            os.kill(int(pid), signal.SIGKILL)
            raise


def test_the_device_is_offered_with_a_client_on_the_node(daemon, pods, node, directory):
    """The container runs twice, as after a restart of the pod."""
    [_, container] = pods["daemon"]["initContainers"]
    image = directory / "image"
    standins = pathlib.Path(PLACES.standin).parent
    for folder, *files in (("bin", PLACES.cli), ("client", standins.parent / "libcccl_cache.so.1"),
                           ("lib/cccl-cached", *standins.glob("*.so"))):
        (image / folder).mkdir(parents=True)
        for file in files:
            shutil.copy(file, image / folder)
    lines = [*mounts(pods["daemon"], container, node), "mount -t tmpfs tmpfs /opt", "mkdir /opt/cccl-cached",
             f"mount --bind {image} /opt/cccl-cached"]
    for _ in range(2):
        subprocess.run(in_a_pod(lines, container["command"], 0), env={"PATH": f"/opt/cccl-cached/bin:{PATH}"}, check=True)
    offered = json.loads((node / "run/cdi/cccl-cached.json").read_text())
    sockets, client = (node / each["hostPath"][1:] for each in offered["containerEdits"]["mounts"])
    assert (sockets / "socket").is_socket() and (client / "libcccl_cache_audit.so").exists()


def within(pid, uid, *command):
    """Runs a command in the container as kubectl exec does."""
    return subprocess.run(["nsenter", "--target", pid, "--mount", "--pid", "setpriv", "--reuid", str(uid), "--clear-groups",
                           *command], env={"PATH": PATH}, capture_output=True, text=True, check=False, timeout=PATIENCE)


def by_the_pod(pods, node, uid, *arguments, input=None):
    """Runs the command line as a user of the pod in the manifest."""
    pod = pods["program"]
    [container] = pod["containers"]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    return subprocess.run(in_a_pod(mounts(pod, container, node), [PLACES.cli, *arguments], uid), cwd="/", input=input,
                          env={"PATH": PATH, **environment}, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_a_pod_is_served_for_any_user_in_it(daemon, pods, node):
    outcomes = []
    for uid in (0, 1234):
        done = by_the_pod(pods, node, uid, "build", "-", "--arch", "sm_90", "-o", "/dev/null", "--json", input=PROGRAM)
        assert done.returncode == 0, done.stderr
        outcomes.append(json.loads(done.stdout)["outcome"])
    assert outcomes == ["built", "hit"]


def test_root_in_a_pod_is_no_administrator_but_exec_in_the_daemons_pod_is(daemon, pods, node, image):
    assert by_the_pod(pods, node, 0, "evict", "--all", "--yes").returncode == 4
    assert within(daemon, image.uid, "cccl-cache-cli", "evict", "--all", "--yes").returncode == 0


def test_the_store_of_the_node_is_closed_to_others(daemon, node, image):
    status = (node / "var/lib/cccl-cached").stat()
    assert (status.st_uid, status.st_mode & 0o777) == (image.uid, 0o700)
    assert list((node / "var/lib/cccl-cached").iterdir())
