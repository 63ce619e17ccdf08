# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Read-only images with equal times, mounted in turn, like those of a site that replaces an image by its next
release."""

import errno
import os
import pathlib
import shutil
import subprocess

from patience import wait_for

LONG_AGO = 946684800  # the time of all files, as in reproducible images
NUMBER = "c1b9d5a2-f162-11cf-9ece-0020afc76f16"
BYTES = 32 << 20


class Images:
    """A mount point for images of one kind. All images use one loop device, so that only the contents of their files
    differ."""

    KINDS = ("squashfs", "erofs", "ext4", "overlay over squashfs", "overlay over erofs", "overlay over ext4")

    def __init__(self, directory, kind):
        assert os.geteuid() == 0, "run as root (scripts/test does): the test mounts file systems"
        self.directory = pathlib.Path(directory) / "images"
        self.kind = kind.rpartition(" ")[2]
        self.layered = kind != self.kind
        self.place = self.directory / "place"
        self._lower = self.directory / "lower" if self.layered else self.place
        self._medium = self.directory / "medium"
        self._mounted = []
        for each in (self.directory, self.place, self.directory / "lower"):
            each.mkdir(exist_ok=True)
        with open(self._medium, "wb") as medium:
            medium.truncate(BYTES)
        self._device = output("losetup", "--find", "--show", "--read-only", self._medium)

    def show(self, files):
        """Replaces the mounted image by an image with these files, {name: bytes}."""
        image = self._make(files)
        self._take_away()
        # If a file of the earlier image were open, or another namespace had a copy of the mount, the kernel would show
        # the earlier image again.
        wait_for(self._device_is_free, f"the end of all that use the image on {self._device}")
        with open(self._medium, "r+b") as medium:
            medium.write(image.read_bytes().ljust(BYTES, b"\0"))
        output("blockdev", "--flushbufs", self._device)
        self._mount(self._lower, "-t", self.kind, "-o", "ro", self._device)
        if self.layered:
            upper, work = (self.directory / name for name in ("upper", "work"))
            for layer in (upper, work):
                shutil.rmtree(layer, ignore_errors=True)
                layer.mkdir()
            self._mount(self.place, "-t", "overlay", "none", "-o",
                        f"lowerdir={self._lower},upperdir={upper},workdir={work}")

    def look(self, name):
        """Returns the parts of an older version's stamp that depend on the image."""
        status = os.stat(self.place / name)
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def close(self):
        self._take_away()
        output("losetup", "--detach", self._device)

    def _take_away(self):
        while self._mounted:
            output("umount", "--lazy", self._mounted.pop())

    def _device_is_free(self):
        try:
            os.close(os.open(self._device, os.O_RDONLY | os.O_EXCL))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    def _mount(self, place, *arguments):
        output("mount", *arguments, place)
        self._mounted.append(place)

    def _make(self, files):
        tree, image = self.directory / "tree", self.directory / "image"
        shutil.rmtree(tree, ignore_errors=True)
        image.unlink(missing_ok=True)
        tree.mkdir()
        for name, contents in files.items():
            file = tree / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(contents)
            file.chmod(0o755)
        paths = sorted([tree, *tree.rglob("*")])
        for path in paths:
            os.utime(path, (LONG_AGO, LONG_AGO))
        if self.kind == "squashfs":
            output("mksquashfs", tree, image, "-all-time", str(LONG_AGO), "-mkfs-time", str(LONG_AGO), "-noappend",
                   "-quiet", "-no-progress", "-noD", "-noF", "-noI")
        elif self.kind == "erofs":
            output("mkfs.erofs", "-T", str(LONG_AGO), "-U", NUMBER, image, tree)
        else:
            output("mkfs.ext4", "-q", "-U", NUMBER, "-E", f"hash_seed={NUMBER}", "-d", tree, image,
                   f"{BYTES >> 10}k")
            times = [f"set_inode_field /{path.relative_to(tree)} {field}\n" for path in paths
                     for field in (f"ctime @{LONG_AGO}", f"mtime @{LONG_AGO}", "ctime_extra 0", "mtime_extra 0")]
            output("debugfs", "-w", "-f", "-", image, input="".join(times))
        return image


def output(*command, **keywords):
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, **keywords)
    return done.stdout.strip()
