# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Containers of podman and crun, over this system's /usr."""

import contextlib
import pathlib
import subprocess

from patience import PATIENCE

# The namespace has control groups of version 2 alone, because crun refuses a mixture with version 1.
NAMESPACE = """
mount -t tmpfs -o mode=0755 none /run
if mountpoint -q /sys/fs/cgroup; then umount -R /sys/fs/cgroup; fi
mount -t cgroup2 none /sys/fs/cgroup
mkdir "/sys/fs/cgroup/$0"
echo ready
exec cat
"""
# The locks are files: podman's other locks are one shared memory segment for the whole machine.
CONFIGURATION = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "none"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "crun"
static_dir = "{place}/static"
tmp_dir = "/run/libpod"
volume_path = "{place}/volumes"
"""


class Podman:
    """A podman with its own files, mounts and locks, as a context. Its containers and control groups end with the
    block."""

    def __init__(self, place):
        self.place = place
        self.group = place.parent.name
        self.ends = contextlib.ExitStack()

    def __enter__(self):
        self.place.mkdir()
        configuration = self.place / "containers.conf"
        configuration.write_text(CONFIGURATION.format(place=self.place))
        shell = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-ec", NAMESPACE, self.group],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ends.callback(shell.communicate)
        assert shell.stdout.readline() == "ready\n"
        self.behind = ("nsenter", f"--target={shell.pid}", "--mount")
        self.command = (
            *self.behind, "env", f"CONTAINERS_CONF={configuration}", "podman", "--storage-driver=vfs",
            f"--root={self.place}/root", f"--runroot={self.place}/runroot")
        self.ends.callback(self.remove_groups)
        return self

    def __exit__(self, *_):
        self.ends.close()

    def remove_groups(self):
        subprocess.run([*self.behind, "find", f"/sys/fs/cgroup/{self.group}", "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"],
                       check=True)

    def options(self, cgroups):
        """Returns the options of a container. `enabled`: it has a control group, all privileges and no limit of
        processes, because version 2 can limit neither if version 1 has the controllers. `disabled`: it stays in the
        test's control group."""
        if cgroups == "disabled":
            return ["--cgroups=disabled"]
        return ["--cgroups=enabled", f"--cgroup-parent=/{self.group}", "--privileged", "--pids-limit=0"]

    def offer(self, specification):
        """Offers the devices of a CDI specification to containers."""
        subprocess.run([*self.behind, "sh", "-c", "mkdir -p /run/cdi && cat >/run/cdi/cccl-cached.json"], input=specification,
                       check=True)

    def root_over_usr(self, name):
        """Makes a root directory over this system's /usr."""
        root = self.place / name
        (root / "tmp").mkdir(parents=True)
        (root / "tmp").chmod(0o1777)
        for link in "bin", "lib", "lib64", "sbin":
            (root / link).symlink_to(f"usr/{link}")
        return root

    def words(self, root, *options, mounts=None):
        """Returns the beginning of a command line that runs in a new container. `mounts` has its read-only mounts by their
        path in the container."""
        binds = [f"--volume={source}:{target}:ro" for target, source in (mounts or {}).items()]
        return [*self.command, "run", "--rm", "--interactive", *options, *binds, "--rootfs", root]

    def start(self, name, cgroups, mounts, *options):
        """Starts a container over this system's /usr and returns it."""
        words = self.words(self.root_over_usr(name), f"--name={name}", *self.options(cgroups), *options,
                           mounts={"/usr": "/usr", **mounts})
        process = subprocess.Popen([*words, "sh", "-c", "echo ready && exec cat"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.ends.callback(process.communicate, timeout=PATIENCE)
        assert process.stdout.readline() == "ready\n"
        return Container(self, name)


class Container:
    def __init__(self, podman, name):
        self.podman = podman
        self.name = name

    def behind(self, uid=0):
        """Returns the beginning of a command line that runs in the container as this user."""
        return (*self.podman.command, "exec", "--interactive", f"--user={uid}", self.name)
