# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Two processes make the same algorithms in different orders. The second builds nothing, and both have the same
algorithms."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import cuda.compute

PROGRAM = pathlib.Path(__file__).with_name("compute_program.py")
NAMES = ["struct", "reduce", "transform", "iterator", "select"]


def start(daemon, *names, path=(), behind=(), **variables):
    """Starts a process. `path` is the first place for packages."""
    places = ":".join([*map(str, path), os.environ["PYTHONPATH"]])
    environment = {**os.environ, "PYTHONPATH": places, "CCCL_CACHE_SOCKET": str(daemon.socket), **variables}
    return subprocess.Popen([*behind, sys.executable, PROGRAM, *names], stdout=subprocess.PIPE, text=True, env=environment)


def finish(process):
    answer, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    return json.loads(answer)


@pytest.mark.parametrize("restarted", [False, True])
def test_the_second_process_builds_nothing(fake, restarted):
    first = finish(start(fake, *NAMES))
    if restarted:
        fake.stop()
        fake.start()
    second = finish(start(fake, *reversed(NAMES)))
    assert first["status"]["builds"] == first["status"]["published"] == first["calls"].count("build_for_ccs") == len(NAMES)
    assert second["calls"] == [] and second["status"]["hits"] == len(NAMES) and second["status"]["builds"] == 0
    assert second["made"] == first["made"]
    assert not second["status"]["errors"] and not second["status"]["not_cached"]


def test_a_build_for_a_capability_serves_a_device_that_has_it(fake):
    first = finish(start(fake, "transform"))
    second = finish(start(fake, "here"))
    assert second["calls"] == [] and second["status"]["hits"] == 1
    assert second["made"]["here"] == first["made"]["transform"]


def test_a_build_for_another_device_is_not_made_again(fake):
    first = finish(start(fake, "transform"))
    second = finish(start(fake, "elsewhere"))
    assert second["status"]["errors"] == {}
    assert second["calls"] == [] and second["status"]["hits"] == 1
    assert second["made"]["elsewhere"] == first["made"]["transform"]


def test_two_concurrent_processes_build_once(fake):
    answers = [finish(process) for process in [start(fake, "transform") for _ in range(2)]]
    assert sorted(answer["status"]["builds"] for answer in answers) == [0, 1]
    assert answers[0]["made"] == answers[1]["made"]


def package_at(site):
    """Makes a copy of these tests' cuda.compute in another directory."""
    installed = pathlib.Path(cuda.compute.__file__).parent
    return pathlib.Path(shutil.copytree(installed, site / "cuda/compute", copy_function=os.symlink))


def test_another_build_of_the_package_builds_again(fake, tmp_path):
    assert finish(start(fake, "transform"))["status"]["builds"] == 1
    package_at(tmp_path / "same")
    assert finish(start(fake, "transform", path=[tmp_path / "same"]))["status"]["hits"] == 1
    altered = package_at(tmp_path / "altered") / "op.py"
    text = altered.read_text()
    altered.unlink()
    altered.write_text(f"{text}# built again\n")
    anew = finish(start(fake, "transform", path=[tmp_path / "altered"]))["status"]
    assert (anew["builds"], anew["published"], anew["hits"]) == (1, 1, 0)


ACTIVATED = """
import sys
assert "cuda.compute" not in sys.modules and "numpy" not in sys.modules
import cuda.compute
from cccl_cache.compute import status
print(status()["on"])
"""


def turned_on(program, **variables):
    environment = {name: text for name, text in os.environ.items() if name not in ("CCCL_CACHE", "CCCL_CACHE_COMPUTE")}
    environment.update(variables)
    answer = subprocess.run([sys.executable, "-c", program], env=environment, check=True, text=True, capture_output=True)
    return answer.stdout.split()


@pytest.mark.parametrize("variables, on", [
    ({"CCCL_CACHE_COMPUTE": "1"}, "True"), ({"CCCL_CACHE_COMPUTE": "0"}, "False"), ({}, "False"),
    ({"CCCL_CACHE": "1"}, "True"), ({"CCCL_CACHE": "1", "CCCL_CACHE_COMPUTE": "0"}, "False"),
    ({"CCCL_CACHE": "1", "CCCL_CACHE_COMPUTE": "Off"}, "False")])
def test_the_environment_turns_the_plug_in_on_at_import(variables, on):
    assert turned_on(ACTIVATED, **variables) == [on]


@pytest.mark.parametrize("variables, on", [({"CCCL_CACHE": "0"}, "True"), ({"CCCL_CACHE_COMPUTE": "0"}, "False")])
def test_the_plug_ins_own_variable_turns_it_off_also_for_install(variables, on):
    assert turned_on("import cccl_cache.compute as plugin; print(plugin.install())", **variables) == [on]


def test_a_program_that_imports_nothing_that_is_served_does_not_load_the_package():
    told = "import sys; print([name for name in sys.modules if name == 'cccl_cache' or name.startswith('cccl_cache.')])"
    assert turned_on(told, CCCL_CACHE="1") == ["[]"]


PROBED = """
import importlib.util
assert all(importlib.util.find_spec("cuda.compute") for _ in range(2))
"""


def test_a_search_for_the_package_does_not_keep_the_plug_in_off():
    assert turned_on(PROBED + ACTIVATED, CCCL_CACHE="1") == ["True"]


@pytest.mark.parametrize("value, told", [
    ("1", "on, for cuda-cccl 1.2."), ("off", "off: CCCL_CACHE_COMPUTE is off"), ("", "off until cccl_cache.compute.install() is called or CCCL_CACHE_COMPUTE=1 is set")])
def test_python_m_cccl_cache_shows_whether_the_plug_in_is_on(tmp_path, value, told):
    environment = {**os.environ, "CCCL_CACHE_COMPUTE": value, "CCCL_CACHE_SOCKET": str(tmp_path / "nobody")}
    answer = subprocess.run([sys.executable, "-m", "cccl_cache"], env=environment, text=True, capture_output=True)
    assert f"  cuda.compute: {told}" in answer.stdout
