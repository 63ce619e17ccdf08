# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel works on every Python of an old system, is small, and is fast to import."""

import email
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata

import pytest
from elftools.elf.elffile import ELFFile
from packaging.requirements import Requirement
from packaging.version import Version
from patience import PATIENCE

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = pathlib.Path(sys.prefix).parent
HEAVY = {"asyncio", "cuda", "dataclasses", "grpc", "inspect", "numpy", "re", "subprocess", "typing"}


def runs(python):
    """Returns whether a name on the PATH is a Python. It may be a version manager without that Python."""
    return subprocess.run([python, "-c", ""], capture_output=True, timeout=PATIENCE).returncode == 0


# The tests also run on each Python of another version that is installed.
FOUND = filter(None, map(shutil.which, (f"python3.{minor}" for minor in range(9, 16))))
PYTHONS = sorted(filter(runs, FOUND))


def test_one_wheel_serves_every_python():
    [wheel] = (PLACE / "wheel").glob("*.whl")
    assert re.fullmatch(r"cccl_cache-[0-9.]+-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as contents:
        names = contents.namelist()
    assert "cccl_cache/py.typed" in names
    libraries = {name for name in names if ".so" in name}
    assert {name for name in libraries if name.count("/") < 2} == {"cccl_cache/libcccl_cache.so.1"}
    loaded = {f"cccl_cache/cccl-cached/libcccl_cache_{name}.so" for name in ("audit", "exec", "record")}
    assert loaded <= libraries and "cccl_cache/cccl-cached/nvrtc-13.0/libnvrtc.so.13" in libraries
    assert wheel.stat().st_size < 17_500_000  # 25 libraries and two programs stand in, each with the client


def test_the_wheel_contains_programs_and_licences():
    [wheel] = (PLACE / "repaired").glob("*.whl")
    with zipfile.ZipFile(wheel) as contents:
        for program in ("cccl-cache-cli", "cccl-cache-compile", "cccl-cached-worker", "cccl-cached/cccl-cache-ptxas",
                        "cccl-cached/cccl-cache-nvcc"):
            assert contents.getinfo(f"cccl_cache/{program}").external_attr >> 16 & 0o111 == 0o111
        licences = {name.rsplit("/", 1)[1]: contents.read(name).decode() for name in contents.namelist()
                    if ".dist-info/licenses/" in name and not name.endswith("/")}
    assert set(licences) == {"LICENSE", "cli11", "fmt", "gmp", "libcxx", "libevent", "libnghttp2", "libseccomp", "ncurses",
                             "nettle", "nlohmann-json3", "tomlplusplus", "zig"}
    assert all(len(text) > 500 for text in licences.values())


def test_the_metadata_of_the_wheels_has_authors_keywords_and_a_readme():
    for folder in ("repaired", "daemon"):
        [wheel] = (PLACE / folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as contents:
            [name] = [name for name in contents.namelist() if name.endswith(".dist-info/METADATA")]
            shown = email.message_from_string(contents.read(name).decode())
        assert shown["Author"] == "the cccl-cached authors" and "CUDA" in shown["Keywords"]
        assert shown["Description-Content-Type"] == "text/markdown" and "python -m cccl_cache" in shown.get_payload()


def test_the_library_exports_its_interface_and_all_released_functions():
    """auditwheel may have rewritten the library, so the check of the build is run on it again."""
    [site] = pathlib.Path(sys.prefix).glob("lib/python*/site-packages")
    root = pathlib.Path(__file__).parents[2]
    check = ["sh", root / "tests/integration/check_symbols.sh", site / "cccl_cache/libcccl_cache.so.1",
             root / "client/libcccl_cache.symbols", *sorted((root / "client/include/cccl_cache/c").glob("*.h"))]
    told = subprocess.run(check, capture_output=True, text=True, timeout=PATIENCE)
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_worker_replaces_the_file_functions_and_nothing_else():
    [site] = pathlib.Path(sys.prefix).glob("lib/python*/site-packages")
    with open(site / "cccl_cache/cccl-cached-worker", "rb") as worker:
        symbols = ELFFile(worker).get_section_by_name(".dynsym").iter_symbols()
        shown = {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}
    wanted = pathlib.Path(__file__).parents[2] / "daemon/worker/file_functions.list"
    assert shown == set(re.findall(r"\w+", wanted.read_text()))


def test_no_file_names_the_place_of_its_build():
    """That of the daemon's wheel is of the preset system, which keeps such names: deploy/check_programs looks at a release's."""
    [wheel] = (PLACE / "repaired").glob("*.whl")
    with zipfile.ZipFile(wheel) as contents:
        assert [name for name in contents.namelist() if os.fsencode(f"{ROOT}/") in contents.read(name)] == []


def test_auditwheel_accepts_the_wheel_for_glibc_2_28():
    [wheel] = (PLACE / "repaired").glob("*.whl")
    assert "manylinux_2_28" in wheel.name
    with zipfile.ZipFile(wheel) as contents:
        assert not [name for name in contents.namelist() if ".libs/" in name], "it needs a library besides glibc's"


def test_no_line_needs_a_python_above_the_oldest_supported_one():
    """Checks the release in which each construct and each function of the standard library appeared, so that no old
    Python is needed."""
    [site] = pathlib.Path(sys.prefix).glob("lib/python*/site-packages")
    promised = metadata.metadata("cccl-cache")["Requires-Python"]
    assert re.fullmatch(r">=3\.\d+", promised)
    judged = subprocess.run(
        [sys.executable, "-c", "import vermin; vermin.main()", f"--target={promised.lstrip('>=')}-", "--violations",
         "--no-tips", site / "cccl_cache"], capture_output=True, text=True, timeout=PATIENCE)
    assert judged.returncode == 0 and "Analyzing" in judged.stdout, judged.stdout + judged.stderr


def imported_modules(python):
    """Returns the modules that `import cccl_cache` alone imports."""
    site = next(pathlib.Path(sys.prefix).glob("lib/python*/site-packages"))
    program = f"import sys; sys.path.insert(0, {str(site)!r}); before = set(sys.modules); import cccl_cache; " \
              "print(*(set(sys.modules) - before))"
    done = subprocess.run([python, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_import_loads_no_large_package():
    modules = imported_modules(sys.executable)
    assert not modules & HEAVY
    assert "cccl_cache._client" in modules


@pytest.mark.parametrize("python", PYTHONS, ids=os.path.basename)
def test_every_installed_python_imports_the_package(python):
    assert "cccl_cache._client" in imported_modules(python)


@pytest.mark.parametrize("extra, package, releases", [
    ("compute", "cuda-cccl", "compute._release"), ("cupy", "cupy-cuda13x", "cupy._release"),
    ("numba", "numba-cuda", "numba._release"), ("numba-mlir", "numba-cuda-mlir", "numba_mlir._release")])
def test_an_extra_requires_the_tested_releases_of_its_plug_in(extra, package, releases):
    [wanted] = [each.specifier for each in map(Requirement, metadata.requires("cccl-cache"))
                if each.name == package and each.marker.evaluate({"extra": extra})]
    tested = importlib.import_module(f"cccl_cache.{releases}").TESTED
    assert set(wanted.filter(tested)) == set(tested)
    assert f"{max(tested, key=Version)}.1" not in wanted
