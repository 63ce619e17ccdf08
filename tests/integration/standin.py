# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for tools that count their runs."""

import os
import pathlib
import re
import subprocess
from typing import NamedTuple

from patience import PATIENCE
from places import PLACES

PTXAS13 = pathlib.Path(PLACES.cuda13) / "bin/ptxas"
TIME = re.compile(rb"Compile time = [0-9.]+ ms")


class Ended(NamedTuple):
    status: int
    out: bytes
    err: bytes


def ptx(kernel="k", body=""):
    return f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry {kernel}(.param .u64 p) {{
  .reg .b64 %rd<3>; .reg .f32 %f<3>; .reg .f64 %d<3>;
  ld.param.u64 %rd1, [p];
  ld.global.f32 %f1, [%rd1];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd1], %f2;
  {body}
  ret;
}}
"""


# The environment of a run one hour later, when no change of a file can still be on its way to the disk.
LATER = {"LD_PRELOAD": "/usr/$LIB/faketime/libfaketimeMT.so.1", "FAKETIME": "+1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
         "NO_FAKE_STAT": "1"}


class StandIn:
    """A stand-in in a directory of its own. It counts its runs and then runs a copy of the tool."""

    def __init__(self, directory, socket, real=PTXAS13, another=b""):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(exist_ok=True)
        self.runtime = self.directory / "runtime"
        self.runtime.mkdir(exist_ok=True)
        self.work = self.directory / "work"
        self.work.mkdir(exist_ok=True)
        self.real = str(real)
        name = pathlib.Path(real).name
        self.program = self.directory / name
        self.tool = self.directory / f"{name}.real"
        self._counted = self.directory / "counted"
        self.program.symlink_to(PLACES.standin)
        self.replace_tool(another)
        self.environment = {"PATH": os.environ["PATH"], "CCCL_CACHE_SOCKET": str(socket), "REAL": self.real,
                            "COUNTED": str(self._counted), "XDG_RUNTIME_DIR": str(self.runtime)}

    def replace_tool(self, another):
        """Replaces the tool by another file that does the same."""
        draft = self.directory / "draft"
        draft.write_bytes(pathlib.Path(PLACES.counted_tool).read_bytes() + another)
        draft.chmod(0o755)
        draft.rename(self.tool)

    def start(self, *words, cwd=None, program=None, **environment):
        return subprocess.Popen(
            [program or self.program, *map(str, words)], cwd=cwd or self.work, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**self.environment, **environment})

    def run(self, *words, **keywords):
        return ended(self.start(*words, **keywords))

    def run_real(self, *words, cwd=None):
        return ended(self.start(*words, cwd=cwd, program=self.real))

    def runs(self):
        """Returns the process ids of the tool's runs."""
        return [int(pid) for pid in self._counted.read_text().split()] if self._counted.exists() else []

    def facts(self, kind):
        return sorted((self.runtime / "cccl-cache").glob(f"{kind}-*"))


def ended(process):
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return Ended(process.returncode, out, err)


def without_time(said):
    """Returns the output of a tool without the one figure that differs in each run."""
    return said._replace(err=TIME.sub(b"Compile time = T", said.err))


def is_gone(pid):
    """Returns whether the process has ended. It may still be a zombie."""
    try:
        os.kill(pid, 0)
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return state == "Z"
    except (OSError, ValueError):
        return True
