# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The output of the compilers without the daemon, for comparison."""

import base64
import json
import pathlib
import subprocess
import sys

from conftest import PATIENCE

RAW = pathlib.Path(__file__).with_name("raw_compiler.py")
SEED = "-frandom-seed=same"


def raw(cwd="/", **job):
    job["root"] = str(pathlib.Path(job["root"]).resolve())
    done = subprocess.run([sys.executable, RAW], input=json.dumps(job).encode(), capture_output=True, timeout=PATIENCE,
                          cwd=cwd)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["code"] == 0, base64.b64decode(told["outputs"].get("log", "")).decode()
    return {kind: base64.b64decode(data) for kind, data in told["outputs"].items()}


def header_directories(daemon):
    return json.loads(daemon.cli("--json", "toolchains").stdout)["toolchains"][0]["header_directories"]


def text_of(ptx):
    """Returns a text without the NUL at its end. The daemon keeps the text before it, up to the last newline."""
    return ptx.removesuffix(b"\0")
