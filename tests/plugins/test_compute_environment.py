# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The compilers of a process are identified by its loaded libraries. Without certainty, nothing is cached."""

import mmap
import os
import subprocess
import sys

import pytest

from cccl_cache._plugin.canonical import Refused
from cccl_cache._plugin.loaded import loaded_copies, nvrtc_builtins


@pytest.fixture
def loaded(tmp_path):
    """Maps files into this process, as the loader does."""
    mapped = []

    def load(path, contents):
        path = tmp_path / path
        path.parent.mkdir()
        path.write_text(contents)
        with open(path) as file:
            mapped.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return str(path)

    yield load
    for each in mapped:
        each.close()


def test_a_library_that_is_loaded_is_found_by_its_name(loaded):
    path = loaded("one/libplain.so.12", "1")
    assert loaded_copies("libplain.so") == [path]


def test_a_library_that_is_not_loaded_is_refused():
    with pytest.raises(Refused, match="libnowhere.so is not loaded"):
        loaded_copies("libnowhere.so")


def test_two_libraries_of_one_name_are_refused_with_their_paths(loaded):
    paths = loaded("one/libtwo.so.12", "1"), loaded("other/libtwo.so.13", "2")
    with pytest.raises(Refused, match="more than one libtwo.so is loaded") as refused:
        loaded_copies("libtwo.so")
    assert all(path in str(refused.value) for path in paths)


def test_two_copies_of_one_library_are_both_found(loaded):
    paths = {loaded("one/libsame.so.12", "1"), loaded("other/libsame.so.12", "1")}
    assert set(loaded_copies("libsame.so")) == paths


BUILTINS = "libnvrtc-builtins.so.77.0"  # of a CUDA version that no process has loaded


@pytest.fixture
def nvrtc(tmp_path):
    place = tmp_path / "cuda"
    place.mkdir()
    (place / BUILTINS).write_text("its own")
    return str(place / "libnvrtc.so.77")


@pytest.fixture
def elsewhere(tmp_path):
    """Returns a directory with builtins in it, and their path."""

    def put(contents):
        place = tmp_path / "elsewhere"
        place.mkdir()
        (place / BUILTINS).write_text(contents)
        return str(place), str(place / BUILTINS)

    return put


def asked_by_a_process(nvrtc, library_path):
    """Returns the output of a process that started with this LD_LIBRARY_PATH and has changed it since."""
    code = (
        "import os, sys; os.environ.pop('LD_LIBRARY_PATH')\n"
        "from cccl_cache._plugin.loaded import nvrtc_builtins\n"
        "print(nvrtc_builtins(sys.argv[1:]))"
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path}
    done = subprocess.run([sys.executable, "-c", code, nvrtc], env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_the_builtins_of_a_compiler_are_those_beside_it(nvrtc, elsewhere):
    place, _ = elsewhere("its own")
    assert asked_by_a_process(nvrtc, place) == f"{nvrtc_builtins([nvrtc])}\n"


def test_builtins_that_the_loader_would_prefer_are_refused(nvrtc, elsewhere):
    place, path = elsewhere("others")
    assert f"NVRTC's builtins come from {path}" in asked_by_a_process(nvrtc, f"/nowhere:{place}")


def test_a_path_that_is_set_later_is_not_used_by_the_loader(nvrtc, elsewhere, monkeypatch):
    place, _ = elsewhere("others")
    before = nvrtc_builtins([nvrtc])
    monkeypatch.setenv("LD_LIBRARY_PATH", place)
    assert nvrtc_builtins([nvrtc]) == before


def test_builtins_that_are_loaded_from_elsewhere_are_refused(nvrtc, loaded):
    path = loaded(f"loaded/{BUILTINS}", "others")
    with pytest.raises(Refused, match=f"come from {path}"):
        nvrtc_builtins([nvrtc])


def test_a_compiler_without_its_builtins_is_refused(tmp_path):
    with pytest.raises(Refused, match="do not lie beside"):
        nvrtc_builtins([str(tmp_path / "libnvrtc.so.77")])


@pytest.fixture
def copy_of_nvrtc(tmp_path):
    """Returns a copy of the compiler as another package installs it: with more names, and the builtins of its other
    variant."""

    def put(contents):
        place = tmp_path / "package"
        place.mkdir()
        (place / f"{BUILTINS}.88").write_text(contents)
        (place / BUILTINS).symlink_to(f"{BUILTINS}.88")
        (place / "libnvrtc-builtins.so").symlink_to(BUILTINS)
        (place / BUILTINS.replace(".so", ".alt.so")).write_text("the variant's")
        return str(place / "libnvrtc.so.77")

    return put


def test_copies_of_a_compiler_have_the_same_builtins_under_any_name(nvrtc, copy_of_nvrtc):
    copy = copy_of_nvrtc("its own")
    alone = nvrtc_builtins([nvrtc])
    assert len(alone) == 1
    assert alone == nvrtc_builtins([copy]) == nvrtc_builtins([nvrtc, copy]) == nvrtc_builtins([copy, nvrtc])


def test_copies_of_a_compiler_with_other_builtins_beside_them_are_refused(nvrtc, copy_of_nvrtc):
    copy = copy_of_nvrtc("others")
    assert nvrtc_builtins([nvrtc]) != nvrtc_builtins([copy])
    with pytest.raises(Refused, match="other builtins beside them"):
        nvrtc_builtins([nvrtc, copy])
