# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles a C file with the host's compiler, once for all processes of this user: python3 compile_step.py FILE.c

docs/guide-steps.md explains the calls. CI runs this file.
"""

import pathlib
import subprocess
import sys
import tempfile

from cccl_cache.steps import Steps

COMMAND = ["cc", "-O2", "-c", "-x", "cpp-output"]
steps = Steps("org.example.compile-step")


def compile(text):
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([*COMMAND, "-", "-o", f"{place}/made.o"], input=text, check=True)
        return pathlib.Path(place, "made.o").read_bytes()


if len(sys.argv) != 2 or not sys.argv[1].endswith(".c"):
    sys.exit("usage: compile_step.py FILE.c")
source = pathlib.Path(sys.argv[1])
# The fields are all that decides the result: here the text with its headers, the command and the compiler.
text = subprocess.run(["cc", "-E", "-P", source], check=True, capture_output=True).stdout
version = subprocess.run(["cc", "--version"], check=True, capture_output=True).stdout
with steps.get({"text": text, "command": tuple(COMMAND), "compiler": version}) as step:
    found = step.value is not None
    if not found:
        step.put(compile(text))
    source.with_suffix(".o").write_bytes(step.value)
print("found" if found else "made", source.with_suffix(".o"))
