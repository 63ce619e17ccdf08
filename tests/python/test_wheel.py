# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel: for every Python of an old system, small, quick to import."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from patience import PATIENCE

PLACE = pathlib.Path(sys.prefix).parent
HEAVY = {"asyncio", "cuda", "dataclasses", "grpc", "inspect", "numpy", "re", "subprocess", "typing"}


def runs(python):
    """A name that is on the PATH may be that of a version manager, which has no such Python."""
    return subprocess.run([python, "-c", ""], capture_output=True, timeout=PATIENCE).returncode == 0


# A Python of another version that is here is asked as well.
FOUND = filter(None, map(shutil.which, (f"python3.{minor}" for minor in range(9, 16))))
PYTHONS = sorted(filter(runs, FOUND))


def test_one_wheel_serves_every_python():
    [wheel] = (PLACE / "wheel").glob("*.whl")
    assert re.fullmatch(r"cccl_cache-[0-9.]+-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as contents:
        names = contents.namelist()
    assert "cccl_cache/libcccl_cache.so.1" in names
    assert "cccl_cache/py.typed" in names
    assert [name for name in names if ".so" in name] == ["cccl_cache/libcccl_cache.so.1"]


def test_auditwheel_finds_it_fit_for_the_glibc_of_2018():
    [wheel] = (PLACE / "repaired").glob("*.whl")
    assert "manylinux_2_28" in wheel.name
    with zipfile.ZipFile(wheel) as contents:
        assert not [name for name in contents.namelist() if ".libs/" in name], "it needs a library besides glibc's"


def imported_modules(python):
    """What `import cccl_cache` alone brings in."""
    site = next(pathlib.Path(sys.prefix).glob("lib/python*/site-packages"))
    program = f"import sys; sys.path.insert(0, {str(site)!r}); before = set(sys.modules); import cccl_cache; " \
              "print(*(set(sys.modules) - before))"
    done = subprocess.run([python, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_import_brings_nothing_heavy():
    modules = imported_modules(sys.executable)
    assert not modules & HEAVY
    assert "cccl_cache._client" in modules


@pytest.mark.parametrize("python", PYTHONS, ids=os.path.basename)
def test_every_python_that_is_here_imports_it(python):
    assert "cccl_cache._client" in imported_modules(python)
