# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of this folder that compile without a GPU and whose packages scripts/setup fetches, and docs/programs.md."""

import json
import os
import pathlib
import subprocess
import sys

import page
import pytest
import run
from places import PLACES

TOOLCHAINS = run.HERE.parents[1] / ".toolchains"
RELEASES = {"cupy_kernels": "cupy", "triton_kernel": "triton", "cuda_core_link": "cuda-python", "numba_kernel": "numba",
            "cuda_tile_add": "tileiras"}  # below .toolchains


@pytest.mark.parametrize(("name", "release"), RELEASES.items())
def test_a_second_process_has_the_results_of_a_process_alone_and_only_hits(real, directory, name, release):
    real.cli("toolchains")  # waits until the daemon has read its toolchains
    [library] = {path.resolve().parent for path in pathlib.Path(PLACES.cuda13).resolve().rglob("libnvrtc.so.13")}
    record = directory / "record.json"
    done = subprocess.run(
        [sys.executable, run.HERE / "run.py", "--without-gpu", "--record", record, PLACES.cli, real.socket, name],
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{TOOLCHAINS / release}:{TOOLCHAINS / 'cuda-python'}", "CUDA_HOME": str(library.parent),
             "LD_LIBRARY_PATH": f"{os.environ['LD_LIBRARY_PATH']}:{library}"})
    assert done.returncode == 0, done.stdout + done.stderr
    row = json.loads(record.read_text())[name]["without_gpu"]
    assert row["first"]["compiled"] > 0 and row["first"]["forwarded"] == {}
    assert row["second"]["hits"] == row["second"]["calls"] == row["first"]["calls"]


def test_the_page_has_the_recorded_figures():
    assert page.main(["--check"]) == 0, "run tests/programs/page.py"


def test_each_program_of_the_folder_is_on_the_page():
    others = {"run", "page", "conftest", "test_programs"}
    assert {path.stem for path in run.HERE.glob("*.py")} - others == set(run.NAMES)


@pytest.fixture
def again(monkeypatch):
    """Lets the second process of a program compile again with nvcc and cicc."""
    monkeypatch.setitem(run.COMPILE_AGAIN, "pycuda_module", run.Again({"nvcc": 2, "cicc": 2}, 4, "a reason"))


def row(second, at_once):
    alone = {"digest": "0"}
    first = {**alone, "calls": 6, "compiled": 6}
    return {"alone": alone, "first": first, "second": {**first, "by": {name: {"compiled": n} for name, n in second.items()}},
            "at_once": {"count": 3, "compiled": at_once}}


@pytest.mark.parametrize(("second", "at_once", "good"), [
    ({"nvcc": 2, "cicc": 2}, 6 + 2 * 4, True),
    ({"nvcc": 2, "cicc": 3}, 6, False),
    ({"ptxas": 1}, 6, False),
    ({}, 6 + 2 * 4 + 1, False)])
@pytest.mark.usefixtures("again")
def test_a_program_that_compiles_more_again_than_the_table_says_fails(second, at_once, good):
    assert (run.wrong("pycuda_module", row(second, at_once)) == "") == good


@pytest.mark.usefixtures("again")
def test_words_of_the_page_about_what_is_not_served_are_those_of_the_report_and_the_table():
    measured = row({"nvcc": 2}, 6)
    measured["second"].update(forwarded={"call not served": 1}, refusal="nvcc: --keep [request 12ab]")
    assert page.not_served("pycuda_module", measured, "second") == (
        "1 call not served (nvcc: --keep); 2 nvcc compiled again: a reason")
