# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of client/python and installs it into a fresh environment.

environment.py PLACE [PORTABLE]: PLACE/wheel has the wheel from pip, and PLACE/repaired the wheel from auditwheel. PLACE/venv
is an environment with the repaired wheel. It can import the tools of the tests too, after its own packages. PLACE/daemon has
the wheel of the portable daemon, if its build folder is given."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).parents[2]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


def run(*command):
    tools = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run([str(word) for word in command], check=True, env={**os.environ, "PATH": tools})


def made_anew(directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def make_wheel(package, setting, made, repaired):
    run(*PIP, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", made_anew(made),
        f"--config-settings={setting}", package)
    run(sys.executable, "-m", "auditwheel", "repair", "-w", made_anew(repaired), *made.glob("*.whl"))


def main():
    place = pathlib.Path(sys.argv[1]).resolve()
    repaired = place / "repaired"
    make_wheel(ROOT / "client/python", f"build-dir={place}/build", place / "wheel", repaired)
    for portable in map(os.path.abspath, sys.argv[2:]):
        make_wheel(ROOT / "deploy/wheel", f"cmake.define.PORTABLE={portable}", place / "unrepaired", place / "daemon")
    venv = made_anew(place / "venv")
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    run(*PIP, "--python", venv / "bin/python3", "install", "--no-deps", "--no-index", *repaired.glob("*.whl"))
    [site] = venv.glob("lib/python*/site-packages")
    (site / "tools_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")


main()
