# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel of client/python and installs it into a fresh environment.

environment.py PLACE [PORTABLE] [--processor PROCESSOR]: PLACE/wheel has the wheel from pip, and PLACE/repaired the wheel from
auditwheel. PLACE/venv is an environment with the repaired wheel. It can import the tools of the tests too, after its own
packages. If the build folder of the portable daemon is given, PLACE/daemon has its wheel, and PLACE/build all other files of
packages. With --processor, the wheels are for that processor (scripts/setup --for cross), and there is no environment."""

import argparse
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


def make_wheel(package, settings, made, repaired):
    run(*PIP, "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", made_anew(made),
        *(f"--config-settings={setting}" for setting in settings), package)
    run(sys.executable, "-m", "auditwheel", "repair", "-w", made_anew(repaired), *made.glob("*.whl"))


def main():
    words = argparse.ArgumentParser()
    words.add_argument("place", type=lambda word: pathlib.Path(word).resolve())
    words.add_argument("portable", nargs="?", type=os.path.abspath)
    words.add_argument("--processor")
    given = words.parse_args()
    place, repaired = given.place, given.place / "repaired"
    tags, processor = [], []
    if given.processor:
        tags = [f"wheel.tags=py3-none-linux_{given.processor}"]
        processor = [f"cmake.define.CCCL_CACHE_PROCESSOR={given.processor}"]
    make_wheel(ROOT / "client/python", [f"build-dir={place}/build", *tags, *processor], place / "wheel", repaired)
    if given.portable:
        make_wheel(ROOT / "deploy/wheel", [f"cmake.define.PORTABLE={given.portable}", *tags], place / "unrepaired",
                   place / "daemon")
        run("cmake", "--build", place / "build", "--target", "texts")
    if given.processor:
        return
    venv = made_anew(place / "venv")
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    run(*PIP, "--python", venv / "bin/python3", "install", "--no-deps", "--no-index", *repaired.glob("*.whl"))
    [site] = venv.glob("lib/python*/site-packages")
    (site / "tools_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")


main()
