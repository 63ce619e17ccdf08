# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ and C programs of the guides, compiled and run unchanged."""

import os
import pathlib
import re
import subprocess

import pytest
from conftest import PLACES

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = "".join((ROOT / "docs" / name).read_text() for name in ("guide-cpp.md", "guide-graphs.md", "guide-steps.md"))
LANGUAGES = {"cpp": ("c++", "-std=c++20", "cc"), "c": ("cc", "-std=c11", "c")}
STEPS = "cccl_cache/steps.h"
PROGRAMS = re.findall(r"```(cpp|c)\n(.*?)```", GUIDES, re.S)


def compiled(language, text, directory, *flags):
    compiler, standard, suffix = LANGUAGES[language]
    source, program = directory / f"program.{suffix}", directory / "program"
    source.write_text(text)
    library = pathlib.Path(PLACES.library)
    subprocess.run(
        [compiler, standard, "-Wall", "-Werror", *flags, f"-I{ROOT}/client/include", f"-I{ROOT}/client/graph/include", source,
         library, "-ldl", f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
    return program


def run(program, daemon, **environment):
    return subprocess.run(
        [program], cwd=program.parent, capture_output=True, text=True, timeout=120,
        env={"PATH": os.environ["PATH"], "CCCL_CACHE_SOCKET": daemon.socket, **environment})


def test_the_tests_have_programs_in_both_languages():
    assert {language for language, _ in PROGRAMS} == set(LANGUAGES)


@pytest.mark.parametrize("language, text", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_guide_runs(fake, directory, language, text):
    program = compiled(language, text, directory)
    launches = "cccl_cache/driver.h" in text or "cccl_cache/graph.h" in text
    done = run(program, fake, **({"LD_LIBRARY_PATH": PLACES.fake_driver} if launches else {}))
    assert done.returncode == 0, done.stderr
    assert done.stdout and not done.stderr
    if "cccl_cache/graph.h" in text:
        assert done.stdout == "the host sees 9\nthe host sees 29\n"
    if "Acquire(" not in text and STEPS not in text:
        assert fake.stats()["builds_total"] > 0
        return
    assert done.stdout in ("made: what was made\n", "made 1000\n")
    assert run(program, fake).stdout == done.stdout.replace("made", "found", 1)


def test_a_program_without_exceptions_makes_steps(fake, directory):
    [text] = [text for _, text in PROGRAMS if STEPS in text]
    program = compiled("cpp", text, directory, "-fno-exceptions")
    assert [run(program, fake).stdout for _ in range(2)] == ["made 1000\n", "found 1000\n"]


def test_a_program_that_launches_names_the_missing_driver(fake, directory):
    text = next(text for _, text in PROGRAMS if "cccl_cache/driver.h" in text)
    nothing = directory / "nothing"
    nothing.mkdir()
    (nothing / "libcuda.so.1").write_text("no library")
    done = run(compiled("cpp", text, directory), fake, LD_LIBRARY_PATH=str(nothing))
    assert done.returncode == 1
    assert "no CUDA driver" in done.stderr
