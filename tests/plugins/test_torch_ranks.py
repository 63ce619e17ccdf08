# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job share a graph whose compile has no collectives. Any other compile holds no rank back."""

import os
import pathlib

import pytest
from asked_process import AskedProcess
from cccl_cache.torch import _ranks
from daemon_fixtures import lasting_daemon
from places import PLACES

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    directory = tmp_path_factory.mktemp("job")
    temporary = pathlib.Path(os.environ["XDG_CACHE_HOME"], "torch")  # for torch's precompiled headers
    temporary.mkdir(parents=True, exist_ok=True)
    with lasting_daemon(PLACES.fake13) as daemon:
        process = AskedProcess(
            {**os.environ, "CCCL_CACHE": "1", "CCCL_CACHE_SOCKET": daemon.socket, "HOME": str(directory), "TMPDIR": str(temporary),
             "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{HERE.parent / 'integration'}"},
            HERE / "torch_ranks_program.py")
        assert process.hear() == "ready"
        process.directory = directory
        yield process
        process.end()


def run(job, count, number, case):
    """Returns the values of all ranks, the reasons for which graphs were not shared, and the number of compiled graphs."""
    values, reasons, compiled = zip(*job.ask("ranks", count, number, case, job.directory / f"store{number}"))
    assert all(isinstance(value, float) for value in values), values
    of_graphs = {reason for each in reasons for reason in each if reason.startswith("of a job")}
    return set(values), of_graphs, sum(compiled)


@pytest.mark.parametrize("count, number", [(2, 3), (8, 4)])
def test_ranks_compile_a_step_once(job, count, number):
    values, reasons, compiled = run(job, count, number, "usual")
    assert len(values) == 1
    assert (reasons, compiled) == (set(), 2)


def test_ranks_of_distributed_data_parallel_compile_a_step_once(job):
    values, reasons, compiled = run(job, 2, 5, "parallel")
    assert len(values) == 1
    assert (reasons, compiled) == (set(), 2)


@pytest.mark.parametrize("case, count, number, graphs, reason", [
    ("collective", 2, 6, 2, "the operator _c10d_functional.all_reduce"),
    ("estimates", 2, 7, 2, "the option "), ("estimates", 8, 8, 8, "the option "),
    ("estimates-of-plain-graphs", 2, 9, 4, "the option "), ("partitions", 2, 10, 4, "the option _sync_decision_cross_ranks")])
def test_each_rank_compiles_what_may_have_collectives(job, case, count, number, graphs, reason):
    values, reasons, compiled = run(job, count, number, case)
    assert len(values) == 1
    assert compiled == graphs
    assert reasons and all(each.startswith(f"of a job with several ranks: {reason}") for each in reasons)


def test_nothing_is_shared_if_a_file_of_the_compiler_has_unknown_collectives(monkeypatch):
    assert _ranks.unknown_collectives.__wrapped__() == ""
    monkeypatch.setattr(_ranks, "_KNOWN", _ranks._KNOWN - {"comms.py"})
    assert _ranks.unknown_collectives.__wrapped__().endswith("torch/_inductor/comms.py")
