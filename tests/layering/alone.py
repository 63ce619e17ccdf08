# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Every product file compiles without the files that a unity build puts before it.

alone.py ROOT BUILD checks each file that is not the first of its unity source; the build already compiles first files without
others before them. It stops at the compiler's front end, and compiles neither tests nor generated files.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ("base", "proto", "daemon", "client", "cli")
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def commands(root, build):
    """Yields file and compiler command of each product file that is not the first of its unity source."""
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if not source.name.startswith("unity_") or source.suffix != ".cxx":
            continue
        command = shlex.split(entry["command"])
        at = command.index("-o")
        options = [each for each in command[:at] + command[at + 2:] if each not in ("-c", entry["file"])]
        for name in INCLUDE.findall(source.read_text())[1:]:
            file = pathlib.Path(name)
            if file in seen or not any(file.is_relative_to(root / folder) for folder in FOLDERS):
                continue
            seen.add(file)
            yield file, [*options, "-fsyntax-only", name]


def complaint(file, command, build):
    done = subprocess.run(command, cwd=build, stderr=subprocess.PIPE, text=True, check=False)
    return f"{file} does not compile alone:\n{done.stderr}" if done.returncode else None


def main(root, build):
    os.nice(10)  # other tests wait often, and leave processors to this one
    root, build = pathlib.Path(root), pathlib.Path(build)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = [pool.submit(complaint, file, command, build) for file, command in commands(root, build)]
        complaints = [text for text in (each.result() for each in found) if text]
    print(f"{len(found)} files")
    sys.exit("\n".join(complaints) or 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
