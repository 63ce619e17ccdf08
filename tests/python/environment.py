# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of client/python and installs it into a fresh environment.

python_environment.py PLACE: PLACE/wheel holds the wheel as pip made it, PLACE/repaired the one that auditwheel has
judged, PLACE/venv has the latter installed. The tools of the tests can be imported there as well, after what it has."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

PACKAGE = pathlib.Path(__file__).parents[2] / "client/python"


def run(*command):
    tools = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run([str(word) for word in command], check=True, env={**os.environ, "PATH": tools})


def made_anew(directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def main():
    place = pathlib.Path(sys.argv[1]).resolve()
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    wheel = made_anew(place / "wheel")
    run(*pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", wheel,
        f"--config-settings=build-dir={place}/build", PACKAGE)
    repaired = made_anew(place / "repaired")
    run(sys.executable, "-m", "auditwheel", "repair", "-w", repaired, *wheel.glob("*.whl"))
    venv = made_anew(place / "venv")
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    run(*pip, "--python", venv / "bin/python3", "install", "--no-deps", "--no-index", *repaired.glob("*.whl"))
    [site] = venv.glob("lib/python*/site-packages")
    (site / "tools_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")


main()
